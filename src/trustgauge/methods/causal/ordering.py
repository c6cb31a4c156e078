"""From raw scores to ratings: orders and levels of systems (causal 2.9); ranks are in `stats.ranking`.

The order of systems is relative: it depends on who else is rated. The absolute levels are not.
Lower scores are better; "X", a division by zero, is `inf` and worst.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustgauge.records import Rule
from trustgauge.stats.ranking import EQUAL

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def partial_order(raw: Mapping[str, float | None]) -> list[list[str]]:
    """Systems from best to worst, tied ones in one group.

    Args:
        raw: score of each system; `inf` is "X" and worst. A system without a score (None, NaN)
            has no place in the order and is left out.

    Returns:
        Groups of names by ascending score; within a group in the order of `raw`.
    """
    scored = [(name, score) for name, score in raw.items() if score is not None and not math.isnan(score)]
    groups: list[list[str]] = []
    last = -math.inf
    for name, score in sorted(scored, key=lambda pair: pair[1]):
        if groups and _tied(score, last):
            groups[-1].append(name)
        else:
            groups.append([name])
            last = score
    return groups


def _tied(first: float, second: float) -> bool:
    if math.isinf(first) or math.isinf(second):
        return first == second
    return abs(first - second) <= EQUAL * max(1.0, abs(first))


def complete_order(raw: Mapping[str, float | None], levels: int, rule: Rule) -> dict[str, int]:
    """The relative rating of every system that has a score, 1 best to `levels` worst.

    `published` and `sound`: the distinct scores, ascending, are split into `levels` runs of nearly
    equal length, the longer ones first; the rating is the number of the run. If there are several
    scores but fewer than levels, the worst gets the last level. One score only: all are rated 1
    (the scores have no spread). `released`: the scores are split with their repetitions, and a
    system gets the first run that holds its score.

    Args:
        raw: as of `partial_order`.
        levels: how many levels there are, L.
        rule: the rule set.
    """
    groups = partial_order(raw)
    if rule == "released":
        groups_of = [place for place, group in enumerate(groups) for _ in group]
        runs = np.array_split(np.array(groups_of), levels)
        rating_of = {int(place): run for run in range(levels, 0, -1) for place in runs[run - 1]}
    else:
        runs = np.array_split(np.arange(len(groups)), levels)
        rating_of = {int(place): number for number, run in enumerate(runs, start=1) for place in run}
        if 1 < len(groups) < levels:
            rating_of[len(groups) - 1] = levels
    return {name: rating_of[place] for place, group in enumerate(groups) for name in group}


def bias_of_maximum(resampled: ArrayLike, effect: float) -> float:
    """How far resamples [R] of the largest absolute effect lie above it: b = mean(e*) - e."""
    return float(np.mean(np.asarray(resampled, dtype=np.float64)) - effect)


def absolute_levels(effects: ArrayLike, bias: float, cuts: tuple[float, float]) -> Ints:
    """Levels 0 (none), 1 (some), 2 (strong) of resampled largest effects, of any shape.

    A maximum of absolute values is biased upward, in the data as in every resample again; so
    levels are read from max(0, e* - 2b). An effect on a cut has the level above it.

    Args:
        effects: e*, shares of the score range.
        bias: b; 0 to read effects as they are.
        cuts: from which effects are some, and strong.
    """
    corrected = np.maximum(0.0, np.asarray(effects, dtype=np.float64) - 2.0 * bias)
    if np.isnan(corrected).any():
        raise ValueError("an undefined effect has no level")
    return np.asarray(np.searchsorted(np.array(cuts), corrected + EQUAL, side="right"), dtype=np.int64)
