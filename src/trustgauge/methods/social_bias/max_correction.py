"""What the largest of several figures shows: several that are not above a cut have one that seems to be.

A rating takes the worst of its sides: the excess and the gap of each attribute, and a gap is the largest of
the differences between groups. In each resample the worst is likely to be above a cut even where none of
them is, so the share of resamples at a level is not enough to settle a level above the best one. One family
of all sides stands beside it (methods 0.7): a side must be above the cut by itself, with an error of
1 - `settle` shared out among the sides (Bonferroni). Within a gap the differences of groups share theirs by
their largest deviation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustgauge.records import Reason

Floats = NDArray[np.float64]
Above = tuple[float, float]
"""For each of two cuts the p of a figure that is not above it."""
ROUNDING = 1e-9


def above(draws: ArrayLike, cuts: Above) -> Above:
    """The p of a single figure: the share of its resamples below each cut.

    >>> above([0.02, 0.04, 0.12, 0.3], (0.05, 0.2))
    (0.5, 0.75)
    """
    kept = np.asarray(draws, dtype=np.float64)
    kept = kept[~np.isnan(kept)]
    first, second = ((kept < cut).mean() if kept.size else 1.0 for cut in cuts)
    return float(first), float(second)


def spans(rates: Floats, draws: Floats) -> Floats:
    """How far deviations of the groups' rates lie apart in each resample, [R].

    No difference of two groups deviates by more. So a gap is, with the confidence of the quantile of these,
    larger than the one measured less that quantile, whichever groups are furthest apart (the largest
    deviation of all pairs, as Tukey's range).

    Args:
        rates: of the groups, [..., G].
        draws: resampled, [..., R, G].
    """
    deviations = draws - np.expand_dims(rates, -2)
    return np.asarray(deviations.max(axis=-1) - deviations.min(axis=-1))


def gap_above(gap: float, apart: Floats, cuts: Above) -> Above:
    """The p of a gap: the share of resamples that deviate by as much as it is above each cut (`spans`)."""
    first, second = (float((apart >= gap - cut).mean()) if apart.size else 1.0 for cut in cuts)
    return first, second


def by_chance(
    level: int, sides: Sequence[Above], settle: float, *, measured: bool = True
) -> Iterator[Reason]:
    """Why a level above the best one is not shown: its figure may be the largest of several by chance.

    Args:
        level: its place, 0 the best one, which needs no showing.
        sides: of each figure, its p for both cuts.
        settle: certainty from which a level is rated.
        measured: whether p are for the cuts themselves, not for what an unmeasured judge may add to them.
    """
    if not level:
        return
    p = min(1.0, len(sides) * min(one[level - 1] for one in sides)) if sides else 1.0
    if p > 1 - settle + ROUNDING:
        code = "largest-by-chance" if measured else "largest-by-misreading"
        several = {"figures": len(sides)} if len(sides) > 1 else {}
        yield Reason(f"social-bias.{code}", {"p": p, **several})
