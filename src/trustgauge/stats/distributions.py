"""Probabilities of counts, and intervals of proportions and draws, from `scipy.special` alone.

Arrays broadcast; the last axis of a count vector is its cells.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


ALIKE = 1e-12  # a standard error below it is none
UNKNOWN = 0.05  # share of resamples without a standard error above which they are not studentised


def normal_quantile(share: float) -> float:
    """The value below which a standard normal variable falls with probability `share`."""
    return float(special.ndtri(share))


def chi_squared_tail(statistic: ArrayLike, df: ArrayLike) -> Floats:
    """P(X >= statistic) for chi-squared with `df` degrees of freedom; 1 where df is 0."""
    freedom = np.asarray(df, dtype=np.float64)
    tail = special.chdtrc(np.maximum(freedom, 1.0), np.asarray(statistic, dtype=np.float64))
    return np.where(freedom > 0, tail, 1.0)


def binomial_tail(successes: ArrayLike, trials: ArrayLike, share: float) -> Floats:
    """P(X >= successes) for X ~ Binomial(trials, share); 1 for successes <= 0."""
    k = np.asarray(successes, dtype=np.float64)
    n = np.asarray(trials, dtype=np.float64)
    inside = (k > 0) & (k <= n)
    tail = special.betainc(np.where(inside, k, 1), np.where(inside, n - k + 1, 1), share)
    return np.where(k <= 0, 1.0, np.where(inside, tail, 0.0))


def binomial_probabilities(trials: int, share: float) -> Floats:
    """P(X = 0), ..., P(X = trials) for X ~ Binomial(trials, share)."""
    k = np.arange(trials + 1, dtype=np.float64)
    logs = log_choose(trials, k) + special.xlogy(k, share) + special.xlog1py(trials - k, -share)
    return np.asarray(np.exp(logs))


def log_choose(total: ArrayLike, taken: ArrayLike) -> Floats:
    """Logarithm of the number of ways to take `taken` of `total`."""
    n = np.asarray(total, dtype=np.float64)
    k = np.asarray(taken, dtype=np.float64)
    return np.asarray(special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1))


def log_multinomial(counts: ArrayLike, shares: ArrayLike) -> Floats:
    """Logarithm of the multinomial probability of `counts` [..., C] under `shares` [C].

    A count in a cell of share 0 is impossible: minus infinity.
    """
    c = np.asarray(counts, dtype=np.float64)
    terms = special.xlogy(c, np.asarray(shares, dtype=np.float64)) - special.gammaln(c + 1)
    return np.asarray(special.gammaln(c.sum(axis=-1) + 1) + terms.sum(axis=-1))


def outcome_count(total: int, cells: int) -> int:
    """How many ways there are to distribute `total` over `cells`."""
    return round(float(special.comb(total + cells - 1, cells - 1, exact=True))) if cells else int(total == 0)


def outcomes(total: int, cells: int) -> Ints:
    """Every way to distribute `total` over `cells`: [outcome_count(total, cells), cells]."""
    if cells == 1:
        return np.array([[total]], dtype=np.int64)
    if cells == 2:
        first = np.arange(total + 1, dtype=np.int64)
        return np.stack([first, total - first], axis=1)
    return np.concatenate(
        [np.insert(outcomes(total - first, cells - 1), 0, first, axis=1) for first in range(total + 1)]
    )


def bounded_outcomes(total: int, limits: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Every way to distribute `total` over cells that hold at most `limits` each."""
    if len(limits) == 1:
        if total <= limits[0]:
            yield (total,)
        return
    rest = sum(limits[1:])
    for first in range(max(0, total - rest), min(limits[0], total) + 1):
        for others in bounded_outcomes(total - first, limits[1:]):
            yield (first, *others)


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
