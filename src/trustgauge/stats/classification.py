"""Classification accuracy: counts of true and given classes, and the shares that follow from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from trustgauge.stats.distributions import newcombe, wilson

Counts = Sequence[Sequence[int]]
"""A row for each true class, a column for each class given."""


class Share(TypedDict):
    """A share with its 95 % interval; undefined without observations."""

    value: float | None
    low: float | None
    high: float | None
    n: int


class Hits(TypedDict):
    """Hits among the trials of one member of a family."""

    family: str
    member: str
    hits: int
    n: int


def confusion_matrix(truth: Iterable[str], given: Iterable[str], classes: Sequence[str]) -> list[list[int]]:
    """True classes by given ones, [K, K]; raises ValueError for a class that is not listed."""
    place = {name: number for number, name in enumerate(classes)}
    table: NDArray[np.int64] = np.zeros((len(classes), len(classes)), np.int64)
    try:
        pairs = [(place[one], place[other]) for one, other in zip(truth, given, strict=True)]
    except KeyError as error:
        raise ValueError(f"a class must be one of {', '.join(classes)}; got {error}") from None
    if pairs:
        np.add.at(table, tuple(np.array(pairs, np.int64).T), 1)
    return [[int(one) for one in row] for row in table]


def share(hits: float, n: float) -> Share:
    """A share with Wilson's interval."""
    if n <= 0:
        return {"value": None, "low": None, "high": None, "n": 0}
    low, high = wilson(hits, n)
    return {"value": hits / n, "low": low, "high": high, "n": int(n)}


def f1(hits: int, false_alarms: int, misses: int) -> Share:
    """F1 = 2 TP / (2 TP + FP + FN) with an interval.

    F1 = 2 J / (1 + J) rises with J = TP / (TP + FP + FN), which is a share of the texts that are, or are
    said to be, of the class; the ends of Wilson's interval of J are carried over.
    """
    found = share(hits, hits + false_alarms + misses)
    ends = {name: None if one is None else 2 * one / (1 + one) for name, one in _ends(found).items()}
    return {"value": ends["value"], "low": ends["low"], "high": ends["high"], "n": found["n"]}


def _ends(found: Share) -> dict[str, float | None]:
    return {"value": found["value"], "low": found["low"], "high": found["high"]}


def figures(table: Counts, classes: Sequence[str]) -> dict[str, object]:
    """Accuracy, and of each class precision, recall and F1.

    Args:
        table: true classes by given ones, as `counted` gives them.
        classes: names of rows and columns.
    """
    counts: NDArray[np.int64] = np.array(table, np.int64)
    right, truth, given = np.diag(counts).tolist(), counts.sum(axis=1).tolist(), counts.sum(axis=0).tolist()
    return {
        "accuracy": share(sum(right), int(counts.sum())),
        "commonest": share(max(truth), int(counts.sum())),  # what one constant answer would reach
        "classes": {
            name: {
                "precision": share(right[at], given[at]),
                "recall": share(right[at], truth[at]),
                "f1": f1(right[at], given[at] - right[at], truth[at] - right[at]),
            }
            for at, name in enumerate(classes)
        },
    }


def gaps(rows: Sequence[Hits]) -> dict[str, object]:
    """How far the members of each family are apart.

    Args:
        rows: one a member.

    Returns:
        `all`: the share of hits of all; `families`: of each family its share, its members, and `gap`, the
        largest difference between two of them, {highest, lowest, value, low, high} with Newcombe's
        interval (None with less than two members); `largest`: the widest gap of all, with its family. The
        interval of a gap is that of its two members, not corrected for being the widest of many. Of
        equally high members the first by name is given.
    """
    families = sorted({row["family"] for row in rows})
    found: dict[str, dict[str, object]] = {}
    widest: dict[str, object] | None = None
    for family in families:
        mine = sorted((row for row in rows if row["family"] == family), key=lambda row: row["member"])
        gap = _gap([row for row in mine if row["n"] > 0])
        hits, n = sum(row["hits"] for row in mine), sum(row["n"] for row in mine)
        found[family] = {**share(hits, n), "members": len(mine), "gap": gap}
        if gap is not None and (widest is None or float(str(gap["value"])) > float(str(widest["value"]))):
            widest = {"family": family, **gap}
    every = share(sum(row["hits"] for row in rows), sum(row["n"] for row in rows))
    return {"all": every, "families": found, "largest": widest}


def _gap(mine: Sequence[Hits]) -> dict[str, object] | None:
    if len(mine) < 2:
        return None
    rates = [row["hits"] / row["n"] for row in mine]
    high, low = mine[rates.index(max(rates))], mine[rates.index(min(rates))]
    ends = newcombe((high["hits"], high["n"]), (low["hits"], low["n"]))
    return {
        "highest": {"name": high["member"], **share(high["hits"], high["n"])},
        "lowest": {"name": low["member"], **share(low["hits"], low["n"])},
        "value": max(rates) - min(rates),
        "low": ends[0],
        "high": ends[1],
    }
