"""From a score in [0, 1] to a level: below the first cut L, above the second H, else M (trust 4.1)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from trustgauge.methods.trust.issues.issue import LEVELS, IssueAssessment
from trustgauge.methods.trust.resampling import Floats, Ints, Resampling
from trustgauge.records import Interval, Json, Reason
from trustgauge.stats.distributions import ratio_interval

UNDEFINED = 0.05  # share of resamples without a score above which there is no level (methods 0.5 (e))
ALIKE = 1e-9  # scores of dialogs that differ by less have no spread


def levels(scores: Floats, cuts: tuple[float, float]) -> Ints:
    """Places in LEVELS of scores of any shape; an undefined score has none, and must not come here.

    >>> levels(np.array([0.1, 0.33, 0.67, 0.7]), (0.33, 0.67)).tolist()
    [0, 1, 1, 2]
    """
    return (scores >= cuts[0]).astype(np.int64) + (scores > cuts[1])


def risk(scores: Floats, cuts: tuple[float, float]) -> Floats:
    """Scores on the common scale of risk, where the cuts stand at 1/3 and 2/3 (trust 4.4, sound)."""
    low, high = cuts
    below = scores / (3 * low)
    between = 1 / 3 + (scores - low) / (3 * (high - low))
    above = 2 / 3 + (scores - high) / (3 * (1 - high))
    return np.where(scores < low, below, np.where(scores <= high, between, above))


def cap_levels(places: Ints, level: int, clusters: int) -> Ints:
    """Levels of resamples whose scores have no spread: `level` in at most (K + 1)/(K + 2) (methods 0.5 (d)).

    What is too much goes to the next level, to the worse one if there is one.

    >>> cap_levels(np.zeros(24, dtype=np.int64), 0, 10).sum().item()
    2
    """
    at = np.flatnonzero(places == level)
    surplus = len(at) - math.floor(len(places) * (clusters + 1) / (clusters + 2))
    moved = places.copy()
    moved[at[: max(0, surplus)]] = level + 1 if level + 1 < len(LEVELS) else level - 1
    return moved


def shares(places: Ints) -> dict[str, float]:
    """Level -> share of the resamples that have it, levels without any left out."""
    counts = np.bincount(places, minlength=len(LEVELS))
    return {name: float(n / counts.sum()) for name, n in zip(LEVELS, counts, strict=True) if n}


def assess_mean(
    cells: pl.DataFrame,
    cuts: tuple[float, float],
    resampling: Resampling,
    details: Mapping[str, Json] | None = None,
) -> IssueAssessment:
    """An issue whose score is the mean of values: sum of totals over sum of counts, dialogs resampled.

    Args:
        cells: of one service and one key, a row a cluster: columns cluster, n, total.
        cuts: of its levels.
        resampling: shared by all issues.
        details: what else is reported.

    A single dialog cannot be resampled: its score is reported, and its levels are not. The details say how
    many `clusters` were resampled. A score that all resamples share is not certain for that (`capped`).
    Resamples in which nothing was scored have the score of the whole data; above 5 % of them there is no
    level (methods 0.5 (e)). The interval is the studentised one of the same resamples: where dialogs are few
    and skewed, the quantiles of the resamples are too narrow. Draws and interval are widened where the tenths
    of the run vary more than the dialogs, and a score that changed during the run is reported (methods 0.3).
    """
    filled = cells["n"].to_numpy() > 0  # not by `DataFrame.filter`, which takes as long as all that follows
    names = cells["cluster"].filter(pl.Series(filled)).to_list()
    clusters = resampling.units(names)
    details = {**(details or {}), "clusters": clusters}
    if not names:
        return IssueAssessment("not tested", reasons=(Reason("trust.nothing-to-score"),), details=details)
    n, total = (cells[name].to_numpy()[filled].astype(float) for name in ("n", "total"))
    value = float(np.clip(total.sum() / n.sum(), 0, 1))
    alone = Interval(value, None, None, int(n.sum()))
    if clusters < 2:
        return IssueAssessment("incomplete", alone, reasons=(Reason("trust.one-dialog"),), details=details)
    weights = resampling.weights(names).astype(float)
    scored, sums = weights @ n, weights @ total
    if (scored == 0).mean() > UNDEFINED:
        few = Reason("too-few-clusters", {"clusters": clusters})
        return IssueAssessment("incomplete", alone, reasons=(few,), details=details)
    time = resampling.in_time(names, n, total)
    draws = time.widen(np.clip(np.where(scored > 0, sums / np.maximum(scored, 1), value), 0, 1), value)
    low, high = time.widen(np.array(_interval(names, (n, total), weights, resampling)), value).tolist()
    places = levels(draws, cuts)
    level = int(levels(np.array(value), cuts))
    if np.ptp(total / n) < ALIKE:
        places = cap_levels(places, level, clusters)
    return IssueAssessment(
        "rated",
        Interval(value, low, high, int(n.sum())),
        draws,
        places,
        LEVELS[level],
        time.reasons,
        details,
    )


def _interval(
    names: Sequence[str], sums: tuple[Floats, Floats], weights: Floats, resampling: Resampling
) -> tuple[float, float]:
    """The 95 % interval of a mean within [0, 1]; repeats of one conversation are one cluster.

    Args:
        names: of the clusters, [C].
        sums: how many values each has, and their sum, [C] each.
        weights: times each is drawn, [R, C].
        resampling: that the weights are of.
    """
    firsts, at = np.unique(resampling.firsts(names), return_inverse=True)
    n, total = (np.bincount(at, one, minlength=len(firsts)) for one in sums)
    column = np.zeros(len(firsts), dtype=np.int64)
    column[at] = np.arange(len(names))
    low, high = np.clip(ratio_interval(weights[:, column], n, total), 0.0, 1.0)
    return float(low), float(high)
