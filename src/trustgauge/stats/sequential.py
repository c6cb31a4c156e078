"""Looking again and again: has a service changed, although looking often finds chance?

Each look gives the share g of resamples that lie beyond a cut. Its probit has, as long as nothing changes,
one and the same mean and about unit variance from look to look, whatever the mean is and wherever the cut
lies: so the difference of two looks needs no null value, and is as good for a service that stands right on
a cut as for any other. `scan` compares the last 1, 2, 4, 8, ... looks with all before them, and the largest
of these differences counts; `threshold` is what the largest of all looks exceeds by chance with the
error that is allowed to the whole watch (the likelihood-ratio scan of Siegmund and Venkatraman 1995,
"Using the generalized likelihood ratio statistic for sequential detection of a change-point", Annals of
Statistics 23, with lengths that double).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from trustgauge.stats import stream
from trustgauge.stats.distributions import Floats

LEAST = 0.001
"""A share is never taken as smaller: a thousand resamples, the fewest there may be, tell no more."""
PATHS = 40_000
"""Simulated watches behind a threshold."""
SEED = 20260101  # of thresholds: the same on every machine


@dataclass(frozen=True, slots=True)
class LargestStep:
    """The largest step up that ends at the last look. `last` looks stand against those before them."""

    height: float
    last: int


def probit(share: float, clusters: int | None = None) -> float:
    """The normal score of a share of resamples.

    Args:
        share: of the resamples, in [0, 1].
        clusters: that were resampled, if it is known. The bootstrap of a mean of K clusters follows the
            normal law with the deviation of the sample, so that its tails are too short by what the t law
            with K - 1 degrees of freedom has more; that is taken back here.

    >>> round(probit(0.975), 2), round(probit(0.975, 10), 2)
    (1.96, 1.67)
    """
    score = float(special.ndtri(min(1 - LEAST, max(LEAST, share))))
    if clusters is None:
        return score
    freedom = max(1, clusters - 1)
    tail = special.stdtr(freedom, -abs(score) * math.sqrt(freedom / (freedom + 1)))
    return math.copysign(float(-special.ndtri(tail)), score)


def lengths(looks: int) -> Iterator[int]:
    """How many of the last looks are compared with those before them, of which one must be left."""
    length = 1
    while length < looks:
        yield length
        length *= 2


def scan(scores: ArrayLike, sizes: ArrayLike) -> LargestStep:
    """The largest standardised step up between the last looks and those before them.

    Args:
        scores: probits of the looks in order, two at least.
        sizes: of the looks, such as numbers of answers. A look with more of them is more precise, so its
            probit lies farther from 0 for the same truth: score / sqrt(size) is what is compared.
    """
    weight = np.asarray(sizes, dtype=np.float64)
    total = np.concatenate([[0.0], np.cumsum(np.asarray(scores, dtype=np.float64) * np.sqrt(weight))])
    grown = np.concatenate([[0.0], np.cumsum(weight)])
    looks, best = len(weight), LargestStep(-math.inf, 1)
    for last in lengths(looks):
        early, late = grown[looks - last], grown[looks] - grown[looks - last]
        gap = (total[looks] - total[looks - last]) / late - total[looks - last] / early
        height = float(gap / math.sqrt(1 / early + 1 / late))
        best = LargestStep(height, last) if height > best.height else best
    return best


@lru_cache(maxsize=64)
def threshold(looks: int, error: float) -> float:
    """What a step, up or down, exceeds at any of so many looks with probability `error` at most.

    From simulated watches of a service that does not change: the least height h with
    (1 + number of paths that reach h) / (1 + PATHS) <= error.
    """
    highest = np.sort(_highest(stream(SEED, "watch", looks).standard_normal((PATHS, looks))))[::-1]
    allowed = int(error * (1 + PATHS)) - 1
    if allowed < 1:
        raise ValueError(f"an error of {error:g} is too small for {PATHS:,} simulated watches")
    return float(highest[allowed])


def _highest(scores: Floats) -> Floats:
    """The highest step, up or down, of each path [P, N] at any of its looks, all of one size."""
    paths, looks = scores.shape
    total = np.concatenate([np.zeros((paths, 1)), np.cumsum(scores, axis=1)], axis=1)
    best = np.zeros(paths)
    for now in range(2, looks + 1):
        for last in lengths(now):
            early = total[:, now - last]
            gap = (total[:, now] - early) / last - early / (now - last)
            np.maximum(best, np.abs(gap) / math.sqrt(1 / last + 1 / (now - last)), out=best)
    return best


@lru_cache(maxsize=64)
def look_certainties(looks: int, settle: float) -> tuple[float, ...]:
    """The certainty that settles a level at each of several planned looks (methods 0.11).

    The boundaries of O'Brien and Fleming (1979, A multiple testing procedure for clinical trials, Biometrics
    35): at look l of L the normal score of the certainty must reach b sqrt(L / l), with b such that a level
    that is on its cut is settled at any look with probability 1 - settle, as at one look at full size. From
    simulated sums of equal independent parts.

    >>> [round(one, 3) for one in look_certainties(5, 0.95)]
    [1.0, 0.997, 0.988, 0.974, 0.959]
    """
    parts = stream(SEED, "looks", looks).standard_normal((5 * PATHS, looks))
    shares = np.arange(1, looks + 1) / looks
    highest = (np.cumsum(parts, axis=1) / math.sqrt(looks)).max(axis=1)  # score times sqrt of the share
    bound = float(np.quantile(highest, settle))
    return tuple(float(one) for one in special.ndtr(bound / np.sqrt(shares)))
