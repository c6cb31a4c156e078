"""Equivalence: "not different" is never "same" (methods 0.6).

`same` needs two one-sided tests at .05, which is a 90 % interval inside the margin.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from trustgauge.stats.distributions import binomial_probabilities, binomial_tail

Verdict = Literal["same", "different", "undetermined"]


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
