"""Intervals of proportions, and of draws.

All take counts that may be divided by a design effect, so they need not be whole numbers.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from trustgauge.stats.distributions import Floats, normal_quantile

ALIKE = 1e-12  # a standard error below it is none
UNKNOWN = 0.05  # share of resamples without a standard error above which they are not studentised


def wilson(successes: float, trials: float, level: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a proportion (social-bias 3.8); (0, 1) without trials."""
    if trials <= 0:
        return 0.0, 1.0
    z = normal_quantile((1 + level) / 2)
    share = successes / trials
    scale = 1 + z * z / trials
    centre = (share + z * z / (2 * trials)) / scale
    half = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials)) / scale
    low = 0.0 if successes <= 0 else max(0.0, centre - half)
    high = 1.0 if successes >= trials else min(1.0, centre + half)
    return low, high


def newcombe(
    first: tuple[float, float], second: tuple[float, float], level: float = 0.95
) -> tuple[float, float]:
    """Newcombe's interval of the difference of two proportions, each (successes, trials).

    From Wilson's intervals of both (Newcombe 1998, Interval estimation for the difference between
    independent proportions, Statistics in Medicine 17, method 10). (-1, 1) if one has no trials.
    """
    if first[1] <= 0 or second[1] <= 0:
        return -1.0, 1.0
    p, q = first[0] / first[1], second[0] / second[1]
    (low_p, high_p), (low_q, high_q) = wilson(*first, level), wilson(*second, level)
    apart = p - q
    return (
        apart - math.sqrt((p - low_p) ** 2 + (high_q - q) ** 2),
        apart + math.sqrt((high_p - p) ** 2 + (q - low_q) ** 2),
    )


def clopper_pearson(successes: float, trials: float, level: float = 0.95) -> tuple[float, float]:
    """The exact interval of a proportion, by quantiles of Beta; (0, 1) without trials."""
    if trials <= 0:
        return 0.0, 1.0
    tail = (1 - level) / 2
    misses = trials - successes
    low = 0.0 if successes <= 0 else float(special.betaincinv(successes, misses + 1, tail))
    high = 1.0 if misses <= 0 else float(special.betaincinv(successes + 1, misses, 1 - tail))
    return low, high


def beta_interval(successes: float, trials: float, level: float = 0.95) -> tuple[float, float]:
    """Equal-tailed interval of Beta(k + 1/2, n - k + 1/2), the draw of methods 0.5 (c)."""
    tail = (1 - level) / 2
    a, b = successes + 0.5, trials - successes + 0.5
    return float(special.betaincinv(a, b, tail)), float(special.betaincinv(a, b, 1 - tail))


def draws_interval(draws: ArrayLike, level: float = 0.95, axis: int = 0) -> tuple[Floats, Floats]:
    """Equal-tailed interval of draws along `axis`: (low, high), each without that axis."""
    tail = (1 - level) / 2
    low, high = np.quantile(np.asarray(draws, dtype=np.float64), [tail, 1 - tail], axis=axis)
    return low, high


def ratio_interval(
    weights: ArrayLike, n: ArrayLike, total: ArrayLike, level: float = 0.95
) -> tuple[float, float]:
    """Studentised bootstrap interval of sum(total) / sum(n), independent clusters resampled.

    Quantiles of (r* - r) / se* over the resamples, each with its own standard error, the linearised one of
    a ratio of sums (bootstrap-t; Efron and Tibshirani 1993, An Introduction to the Bootstrap, chapter 12).
    Where clusters are few and skewed it holds the truth more often than quantiles of r*. Those are
    returned where more than one resample in twenty has no spread to be measured by.

    Args:
        weights: How often each cluster is drawn in each resample, [R, K].
        n: Observations of each cluster, [K]; their sum is positive.
        total: Sum of the values of each cluster, [K].
        level: Of the interval.

    Returns:
        (low, high), not clipped to the range of the values.
    """
    drawn, count, values = (np.asarray(one, dtype=np.float64) for one in (weights, n, total))
    sizes = drawn @ count
    kept = sizes > 0
    sizes, drawn = sizes[kept], drawn[kept]
    ratios = drawn @ values / sizes
    squares = np.stack([values**2, values * count, count**2], axis=1)
    own, shared, sizes_squared = (drawn @ squares).T
    deviations = own - 2 * ratios * shared + ratios**2 * sizes_squared
    errors = np.sqrt(np.maximum(deviations, 0.0)) / sizes
    ratio = values.sum() / count.sum()
    error = math.sqrt(float(((values - ratio * count) ** 2).sum())) / float(count.sum())
    tail = (1 - level) / 2
    known = errors > ALIKE * max(1.0, abs(ratio))
    if known.mean() < 1 - UNKNOWN:
        low, high = np.quantile(ratios, [tail, 1 - tail])
        return float(low), float(high)
    most, least = np.quantile((ratios[known] - ratio) / errors[known], [1 - tail, tail])
    return float(ratio - most * error), float(ratio - least * error)
