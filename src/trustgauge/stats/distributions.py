"""Probabilities of counts, from `scipy.special` alone.

Arrays broadcast; the last axis of a count vector is its cells.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


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
