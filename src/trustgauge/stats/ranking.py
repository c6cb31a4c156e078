"""Ranks of systems over resamples that they share, and their paired differences (causal 2.9, methods 0.6)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustgauge.stats.distributions import Floats, Ints, draws_interval
from trustgauge.stats.equivalence import Verdict, excludes_zero, verdict

EQUAL = 1e-9  # scores this close, relative to their size, are tied


@dataclass(frozen=True, slots=True)
class Ranks:
    """Ranks of systems over resamples, [systems] or [systems, systems].

    Attributes:
        rank: 1 + number of systems that are better beyond doubt.
        shared: whether another system has the same rank ("=3").
        low, high: 95 % interval of the rank over resamples, best and worst.
        worse: P(row is worse than column); equal scores are not worse.
        tied: neither of the pair is worse than the other beyond doubt.
    """

    rank: Ints
    shared: NDArray[np.bool_]
    low: Ints
    high: Ints
    worse: Floats
    tied: NDArray[np.bool_]

    def as_text(self, system: int) -> str:
        """The rank of a system as it is shown: "3", or "=3" where it is shared."""
        return f"{'=' if self.shared[system] else ''}{self.rank[system]}"


def ranks(
    scores: ArrayLike,
    *,
    beyond_doubt: float = 0.95,
    bounds: tuple[ArrayLike, ArrayLike] | None = None,
) -> Ranks:
    """Ranks of systems whose scores were resampled with the same draws (causal 2.9).

    B is better than A beyond doubt if P(A worse than B) > `beyond_doubt`; what follows from two
    such statements holds too, so that a system never shares its rank with one that is better
    beyond doubt. The rank of a system is 1 + number of systems better than it in this sense.
    Two systems that cannot be distinguished may have different ranks, if only one of them is worse
    than a third; `tied` tells each pair.

    Args:
        scores: [R, systems], lower is better, `inf` worst. A resample in which a score is
            undefined (NaN) is left out.
        beyond_doubt: share of resamples.
        bounds: the least and the largest that each score may be, [R, systems] each: a system is worse than
            another only if it is at its least, and the other at its largest. None: they are the scores.

    Raises:
        ValueError: if no resample has all scores.
    """
    least, largest = (np.asarray(one, dtype=np.float64) for one in bounds or (scores, scores))
    known = ~(np.isnan(least) | np.isnan(largest)).any(axis=1)
    least, largest = least[known], largest[known]
    if not len(least):
        raise ValueError("no resample in which every system has a score")
    systems = least.shape[1]
    worse = np.empty((systems, systems))
    # places among the others at worst, and at best
    first, last = (np.ones(least.shape, dtype=np.int64) for _ in range(2))
    for one in range(systems):
        beats = _beats(least[:, [one]], largest)
        worse[one] = beats.mean(axis=0)
        first[:, one] += beats.sum(axis=1)
        others = np.arange(systems) != one
        last[:, one] += _beats(largest[:, [one]], least[:, others]).sum(axis=1)
    sure = worse > beyond_doubt
    rank = 1 + _closed(sure).sum(axis=1)
    low, high = (
        np.quantile(places, end, axis=0, method="inverted_cdf")
        for places, end in ((first, 0.025), (last, 0.975))
    )
    return Ranks(
        rank=rank,
        shared=(rank[:, None] == rank).sum(axis=1) > 1,
        low=low.astype(np.int64),
        high=high.astype(np.int64),
        worse=worse,
        tied=~(sure | sure.T),
    )


def _beats(mine: Floats, others: Floats) -> NDArray[np.bool_]:
    """Where a score is larger than others, resample by resample; equal ones are not."""
    with np.errstate(invalid="ignore"):  # inf - inf: two X are tied
        beats = mine - others > EQUAL * np.maximum(1.0, np.abs(others))
    return np.asarray(beats | (np.isinf(mine) & ~np.isinf(others)))


def _closed(worse: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The transitive closure; systems in a circle are not worse than each other.

    Statements of 95 % can run in a circle only among twenty systems or more.
    """
    closed = worse.copy()
    for middle in range(len(closed)):
        closed |= closed[:, [middle]] & closed[middle]
    return np.asarray(closed & ~closed.T)


@dataclass(frozen=True, slots=True)
class Difference:
    """First minus second of two scores that were resampled with the same draws.

    Attributes:
        value: the median over the resamples.
        low, high: 95 % interval.
        worse, better: P(first is worse), P(first is better) than the second; ties are in neither.
        found: whether the interval excludes 0.
        verdict: same, different or undetermined by the margin; None without a margin.
    """

    value: float
    low: float
    high: float
    worse: float
    better: float
    found: bool
    verdict: Verdict | None


def difference(
    first: ArrayLike,
    second: ArrayLike,
    margin: float | None,
    bounds: tuple[ArrayLike, ArrayLike] | None = None,
) -> Difference:
    """How far two systems lie apart, resample by resample (methods 0.6).

    With bounds the intervals hold both, and what is said of the difference holds for both (methods 0.4).

    Args:
        first: finite scores by the same draws, [R], lower is better. A resample in which one of
            the two is undefined (NaN) is left out.
        second: likewise, [R].
        margin: differences up to this count as none; None if no margin was declared.
        bounds: the least and the largest that the difference may be, by the same draws, [R] each; None: it is
            known.

    Raises:
        ValueError: if no resample has both scores.
    """
    one, other = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    apart = one - other
    least, largest = (np.asarray(each, dtype=np.float64) for each in bounds or (apart, apart))
    apart, least, largest = (each[~np.isnan(each)] for each in (apart, least, largest))
    if not (len(apart) and len(least) and len(largest)):
        raise ValueError("no resample in which both systems have a score")
    value = float(np.median(apart))
    sides = [
        (float(draws_interval(least, level)[0]), float(draws_interval(largest, level)[1]))
        for level in (0.90, 0.95)
    ]
    ninety, whole = sides
    tied = EQUAL * max(1.0, float(np.nanmax(np.abs([one, other]))))
    return Difference(
        value=value,
        low=whole[0],
        high=whole[1],
        worse=float((least > tied).mean()),
        better=float((largest < -tied).mean()),
        found=excludes_zero(whole),
        verdict=None if margin is None else verdict(ninety, whole, margin),
    )
