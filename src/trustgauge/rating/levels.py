"""Levels in resamples: their shares, the most likely one, and several parts as one (methods 0.5).

A level is its place on the scale: 0 is the best one, the last the worst.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Levels = NDArray[np.integer[Any]]
Floats = NDArray[np.float64]
HowToAggregate = Literal["worst", "mean", "vote"]

EQUAL = 1e-9  # means that lie this near above a level are that level


def level_shares(levels: Levels, kinds: int = 3) -> Floats:
    """Share of the resamples at each level, [..., R] -> [..., kinds].

    >>> level_shares(np.array([0, 2, 2, 2]), 3).tolist()
    [0.25, 0.0, 0.75]
    """
    return np.stack([(levels == kind).mean(axis=-1) for kind in range(kinds)], axis=-1)


def certainty_of(levels: Levels, names: Sequence[str]) -> dict[str, float]:
    """Name of each level, best first, -> share of the resamples [R] that have it."""
    return dict(zip(names, level_shares(levels, len(names)).tolist(), strict=True))


def most_likely(levels: Levels) -> int:
    """The level of most resamples [R], the worse of equals.

    >>> most_likely(np.array([0, 0, 1, 1]))
    1
    """
    return worse_of_equals(np.bincount(levels, minlength=1))


def worse_of_equals(shares: NDArray[Any]) -> int:
    """The place of the largest share [kinds], the worse of equals."""
    return int(len(shares) - 1 - np.argmax(shares[::-1]))


def aggregate_levels(levels: Levels, how: HowToAggregate) -> Levels:
    """One level of several along the last axis, [..., parts] -> [...] (methods 0.5).

    Args:
        levels: levels of the parts.
        how: `worst`; `mean`, rounded to the worse level; `vote`, the most frequent, the worse of equals.

    >>> [aggregate_levels(np.array([0, 0, 1, 2]), how).item() for how in ("worst", "mean", "vote")]
    [2, 1, 0]
    """
    if how == "worst":
        return np.asarray(levels.max(axis=-1))
    if how == "mean":
        return np.asarray(np.ceil(levels.mean(axis=-1) - EQUAL), dtype=np.int64)
    names = np.unique(levels)[::-1]
    votes = np.stack([(levels == name).sum(axis=-1) for name in names], axis=-1)
    return np.asarray(names[votes.argmax(axis=-1)])


def cap_certainty(certainty: dict[str, float], level: str, most: float) -> dict[str, float]:
    """Certainty of a level at most `most`; the surplus is shared by the other levels (methods 0.5 (d))."""
    over = certainty[level] - most
    if over <= 0:
        return certainty
    others = len(certainty) - 1
    return {name: most if name == level else share + over / others for name, share in certainty.items()}


def least_certain(level: int, levels: Levels, readings: Iterable[tuple[int | None, Levels]]) -> Levels | None:
    """The least certain of several readings of the same gaps; None unless all have one level (methods 0.4).

    Args:
        level: most likely without the gaps.
        levels: the resamples without the gaps, [R].
        readings: the level of each reading, None if undefined, and its resamples.
    """
    least = levels
    for found, drawn in readings:
        if found != level:
            return None
        least = min(least, drawn, key=lambda one: float((one == level).mean()))
    return least


def fewest_that_suffice(most: int, suffices: Callable[[int], bool]) -> int:
    """The smallest number from 1 to `most` that suffices, by bisection; `most` is taken to suffice."""
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return high


def worst_draws(parts: Sequence[Floats]) -> Floats:
    """The largest value of the parts in each resample, [R] of each -> [R]; the fewest resamples count."""
    fewest = min(len(one) for one in parts)
    return np.asarray(np.max([one[:fewest] for one in parts], axis=0))
