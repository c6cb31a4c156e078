"""Two groups of scores: difference of means, its t test, and effect sizes.

Groups are given by their sums (number, sum, sum of squares), which add up over shards, so that a
thousand permutations or resamples are tested in one call: all arrays broadcast. Only Cliff's delta
and the Wasserstein distance need the values themselves. None of this imports `scipy.stats`, which
is slow to load; the tests compare with it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from trustgauge.stats.distributions import Floats

Degrees = Literal["welch", "total-1", "total-2"]

NO_SPREAD = 1e-12
"""Squared deviations up to this share of the squares are what rounding leaves of equal scores."""
SAME_MEAN = 5e-10
"""Half of the unit in which scores are kept (methods 0.2): nearer means of constant groups are equal."""


@dataclass(frozen=True, slots=True)
class Sums:
    """The sums of one group of scores, or of many groups at once.

    Attributes:
        n: number of scores.
        y: their sum.
        yy: sum of their squares.
    """

    n: Floats
    y: Floats
    yy: Floats

    @property
    def mean(self) -> Floats:
        """The mean; NaN where there is no score."""
        return np.where(self.n > 0, self.y / np.where(self.n > 0, self.n, 1.0), np.nan)

    @property
    def deviations(self) -> Floats:
        """Sum of squared deviations from the mean; exactly 0 for equal scores."""
        left = self.yy - self.y**2 / np.where(self.n > 0, self.n, 1.0)
        return np.where(left > NO_SPREAD * self.yy, left, 0.0)

    @property
    def variance(self) -> Floats:
        """s2 = (sum y2 - (sum y)2 / n) / (n - 1); NaN for fewer than two scores (methods 0.2)."""
        return np.where(self.n >= 2, self.deviations / np.where(self.n >= 2, self.n - 1, 1.0), np.nan)


@dataclass(frozen=True, slots=True)
class TTest:
    """A t test of a difference of means; NaN where a group has fewer than two scores.

    Attributes:
        difference: mean of the first group minus mean of the second.
        se: its standard error.
        t: the statistic; infinite for constant groups that differ.
        df: its degrees of freedom.
        p: two-sided.
    """

    difference: Floats
    se: Floats
    t: Floats
    df: Floats
    p: Floats


def t_test(first: Sums, second: Sums, degrees: Degrees = "welch", epsilon: float = 0.0) -> TTest:
    """The unequal-variance t statistic with a choice of degrees of freedom (causal 2.5).

    t = (m1 - m2) / (SE + epsilon), SE = sqrt(s1^2 / n1 + s2^2 / n2). SE = 0: equal means give
    t = 0 and p = 1, else t is infinite and p = 0 (with an `epsilon`: difference / epsilon).

    Args:
        first: Sums of the first groups, [...].
        second: Sums of the second groups; they broadcast against `first`.
        degrees: "welch" (Welch-Satterthwaite; n1 + n2 - 2 where SE = 0), or the number of all
            scores less 1 or 2.
        epsilon: Added to the standard error.
    """
    a, b = first.variance / np.maximum(first.n, 1), second.variance / np.maximum(second.n, 1)
    se = np.sqrt(a + b)
    total = first.n + second.n
    if degrees == "welch":
        below = a**2 / np.maximum(first.n - 1, 1) + b**2 / np.maximum(second.n - 1, 1)
        df = np.where(below > 0, (a + b) ** 2 / np.where(below > 0, below, 1.0), total - 2)
    else:
        df = total - (1.0 if degrees == "total-1" else 2.0)
    return _tested((first.mean, second.mean), se, df, epsilon)


def _tested(means: tuple[Floats, Floats], se: Floats, df: Floats, epsilon: float) -> TTest:
    difference, divisor = means[0] - means[1], se + epsilon
    # Scores of one size that rounding moved apart are no spread, so they are no difference either.
    near = np.maximum(SAME_MEAN, math.sqrt(NO_SPREAD) * np.maximum(*np.abs(means)))
    same = np.abs(difference) <= near
    sure = (divisor == 0) | ((se == 0) & same)
    far = np.where(same, 0.0, np.copysign(np.inf, difference))
    t = np.where(sure, far, difference / np.where(divisor == 0, 1.0, divisor))
    testable = np.isfinite(se)
    t = np.where(testable, t, np.nan)
    df = np.where(testable, df, np.nan)
    return TTest(difference, se, t, df, two_sided_p(t, df))


def two_sided_p(t: ArrayLike, df: ArrayLike) -> Floats:
    """P(|T| >= |t|) for Student's t with `df` degrees of freedom; NaN where t is NaN."""
    size = -np.abs(np.asarray(t, dtype=np.float64))
    tail = 2.0 * special.stdtr(df, np.where(np.isinf(size), -1.0, size))
    return np.where(np.isneginf(size), 0.0, tail)


def pooled_deviation(first: Sums, second: Sums) -> Floats:
    """The standard deviation of both groups around their own means; NaN below two scores in a group."""
    freedom = first.n + second.n - 2.0
    enough = (first.n >= 2) & (second.n >= 2)
    squares = (first.deviations + second.deviations) / np.where(enough, freedom, 1.0)
    return np.where(enough, np.sqrt(squares), np.nan)


def hedges_g(first: Sums, second: Sums) -> tuple[Floats, NDArray[np.bool_]]:
    """Hedges' g with the correction J = 1 - 3 / (4 (n1 + n2) - 9) (causal 2.7).

    Returns:
        g, NaN where a group has fewer than two scores or where both are constant and differ; and
        where the latter is so. Constant groups with equal means have g = 0.
    """
    deviation = pooled_deviation(first, second)
    difference = first.mean - second.mean
    flat = deviation == 0
    constant = flat & (np.abs(difference) > SAME_MEAN)
    correction = 1.0 - 3.0 / np.maximum(4.0 * (first.n + second.n) - 9.0, 1.0)
    g = correction * difference / np.where(flat, 1.0, deviation)
    return np.where(constant | ~np.isfinite(deviation), np.nan, np.where(flat, 0.0, g)), constant


def cliffs_delta(first: ArrayLike, second: ArrayLike, weights: tuple[ArrayLike, ArrayLike]) -> float:
    """Cliff's delta P(A > B) - P(A < B) of two weighted samples; NaN if one is empty.

    Args:
        first: Values [n1].
        second: Values [n2].
        weights: How often each value of either sample occurs.
    """
    (a, of_a), (b, of_b) = _sorted(first, weights[0]), _sorted(second, weights[1])
    if not of_a.sum() or not of_b.sum():
        return float("nan")
    below = np.concatenate([[0.0], np.cumsum(of_b)])
    smaller = below[np.searchsorted(b, a, side="left")]
    larger = below[-1] - below[np.searchsorted(b, a, side="right")]
    return float((of_a * (smaller - larger)).sum() / (of_a.sum() * of_b.sum()))


def wasserstein(first: ArrayLike, second: ArrayLike, weights: tuple[ArrayLike, ArrayLike]) -> float:
    """The first Wasserstein distance, the area between both distribution functions; NaN if one is empty.

    Args:
        first: Values [n1].
        second: Values [n2].
        weights: How often each value of either sample occurs.
    """
    (a, of_a), (b, of_b) = _sorted(first, weights[0]), _sorted(second, weights[1])
    if not of_a.sum() or not of_b.sum():
        return float("nan")
    edges = np.sort(np.concatenate([a, b]))
    gap = _reached(a, of_a, edges) - _reached(b, of_b, edges)
    return float((np.abs(gap[:-1]) * np.diff(edges)).sum())


def _sorted(values: ArrayLike, weights: ArrayLike) -> tuple[Floats, Floats]:
    numbers = np.asarray(values, dtype=np.float64)
    order = np.argsort(numbers, kind="stable")
    return numbers[order], np.asarray(weights, dtype=np.float64)[order]


def _reached(values: Floats, weights: Floats, edges: Floats) -> Floats:
    """The distribution function at `edges`."""
    shares = np.concatenate([[0.0], np.cumsum(weights)]) / weights.sum()
    return np.asarray(shares[np.searchsorted(values, edges, side="right")])
