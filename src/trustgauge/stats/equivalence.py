"""Equivalence: "not different" is never "same" (methods 0.6).

`same` needs two one-sided tests at .05, which is a 90 % interval inside the margin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from trustgauge.stats.distributions import binomial_probabilities, binomial_tail

Verdict = Literal["same", "different", "undetermined"]


@dataclass(frozen=True, slots=True)
class Tost:
    """Two one-sided tests of a proportion: `p` is the larger of both."""

    p_low: float  # of "the share is at least the margin below the target"
    p_high: float  # of "the share is at least the margin above the target"

    @property
    def p(self) -> float:
        return max(self.p_low, self.p_high)


def tost_proportion(successes: int, trials: int, target: float, margin: float) -> Tost:
    """Exact binomial TOST that a share lies within `margin` of `target`.

    A side that the unit interval makes impossible (target - margin < 0, say) needs no
    evidence: its p is 0. Without trials both are 1.
    """
    if trials == 0:
        return Tost(1.0, 1.0)
    low, high = target - margin, target + margin
    p_low = 0.0 if low < 0 else float(binomial_tail(successes, trials, low))
    p_high = 0.0 if high > 1 else float(binomial_tail(trials - successes, trials, 1 - high))
    return Tost(p_low, p_high)


def tost_power(trials: int, target: float, margin: float, alpha: float = 0.05) -> float:
    """Probability that the exact TOST says `same` when the share is exactly `target`."""
    k = np.arange(trials + 1)
    low, high = target - margin, target + margin
    above = np.zeros(trials + 1) if low < 0 else binomial_tail(k, trials, low)
    below = np.zeros(trials + 1) if high > 1 else binomial_tail(trials - k, trials, 1 - high)
    passes = (above <= alpha) & (below <= alpha)
    return float(binomial_probabilities(trials, target)[passes].sum())


def trials_for_equivalence(
    target: float, margin: float, *, power: float = 0.80, alpha: float = 0.05, step: int = 1
) -> int:
    """Fewest trials, a multiple of `step`, with which the exact TOST says `same` with `power`.

    Exact power is a saw-tooth in the number of trials; this is its first crossing, the figure
    of methods 0.8 (with step = 2 for texts of two mentions).
    """
    trials = step
    while tost_power(trials, target, margin, alpha) < power:
        trials += step
        if trials > 1_000_000:
            raise ValueError(f"no number of trials up to 1,000,000 settles a margin of {margin}")
    return trials


def verdict(interval_90: tuple[float, float], interval_95: tuple[float, float], margin: float) -> Verdict:
    """Same, different or undetermined, of a difference with its 90 % and 95 % intervals (methods 0.6)."""
    if -margin < interval_90[0] and interval_90[1] < margin:
        return "same"
    if interval_95[0] > margin or interval_95[1] < -margin:
        return "different"
    return "undetermined"


def excludes_zero(interval_95: tuple[float, float]) -> bool:
    """Whether the 95 % interval of a difference excludes 0 (methods 0.6)."""
    return interval_95[0] > 0 or interval_95[1] < 0
