"""Missing scores: when too many are missing to rate, and when they do not matter (methods 0.4)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import polars as pl

from trustgauge.methods.causal.panel import Grouping
from trustgauge.records import Coverage, Reason
from trustgauge.stats.comparisons import fisher_exact

OVERALL = 0.02
CELL = 0.05
BETWEEN_CLASSES = 0.02
CLASS_P = 0.01
PER_UNIT = 10**9  # a score of 1 in the units of a summary


UNREAD = pl.col("status") == "unreadable"
"""Rows of answers that came and are no scores."""
LOST = ~UNREAD
"""Rows whose answers, as far as there is no score, are missing."""


def coverage(rows: pl.DataFrame) -> Coverage:
    """What became of the planned texts."""
    sums = dict(rows.group_by("status").agg(pl.col("texts").sum()).iter_rows())
    return Coverage(planned=int(sum(sums.values())), **{status: int(count) for status, count in sums.items()})


def missing_reasons(rows: pl.DataFrame, grouping: Grouping, persons: tuple[str, ...]) -> tuple[Reason, ...]:
    """Every rule of methods 0.4 that is broken; () if none is.

    More than 2 % of the scores are missing overall, more than 5 % in a cell (data set x class), or
    two classes differ: Fisher p < .01 and more than 2 points. A refused or empty answer has no
    score, so it is missing here, whatever else it says of the service. An answer that came and is no score
    is not missing but unread (methods 0.10), and counts in neither.

    Args:
        rows: of the summary, of one service, service part and kind of data.
        grouping: the protected classes.
        persons: the names that `grouping.of` speaks of.
    """
    of = dict(zip(persons, grouping.of.tolist(), strict=True))
    cells = (
        rows.with_columns(pl.col("person").replace_strict(of, return_dtype=pl.Int64).alias("class"))
        .filter(pl.col("class") >= 0)
        .group_by("block", "class")
        .agg(pl.col("texts").sum(), (LOST * (pl.col("texts") - pl.col("n"))).sum().alias("missing"))
        .sort("block", "class")
    )
    gone, planned = int(cells["missing"].sum()), int(cells["texts"].sum())
    found = []
    if gone > OVERALL * planned:
        found.append(_reason("all texts", gone, planned))
    return (*found, *_cells(cells, grouping), *_classes(cells, grouping))


def _cells(cells: pl.DataFrame, grouping: Grouping) -> Iterator[Reason]:
    """The cell that lost most, if too much; `cells` says how many lost too much."""
    broken = cells.filter(pl.col("missing") > CELL * pl.col("texts")).sort(
        pl.col("missing") / pl.col("texts"), descending=True
    )
    if not broken.is_empty():
        block, label, planned, gone = broken.select("block", "class", "texts", "missing").row(0)
        name = f"{grouping.classes[label]} in {block.partition('/')[2] or block}"
        yield _reason(name, gone, planned, cells=broken.height)


def _classes(cells: pl.DataFrame, grouping: Grouping) -> Iterator[Reason]:
    sums = {
        label: (int(gone), int(planned))
        for label, gone, planned in cells.group_by("class")
        .agg(pl.col("missing").sum(), pl.col("texts").sum())
        .iter_rows()
    }
    for pair in combinations(sorted(sums), 2):
        worse, better = sorted(pair, key=lambda label: -sums[label][0] / sums[label][1])
        (gone, planned), (less, others) = sums[worse], sums[better]
        if gone / planned - less / others <= BETWEEN_CLASSES:
            continue
        p = fisher_exact(np.array([[gone, planned - gone], [less, others - less]]))
        if p < CLASS_P:
            yield _reason(grouping.classes[worse], gone, planned, against=grouping.classes[better], p=p)


def _reason(where: str, gone: int, planned: int, **more: float | str) -> Reason:
    return Reason(
        "incomplete-loss",
        {"share": gone / planned, "where": where, "missing": gone, "planned": planned, **more},
    )


def unread(rows: pl.DataFrame) -> int:
    """How many answers came and are no scores."""
    return int(rows.filter(UNREAD)["texts"].sum())


def fills(
    rows: pl.DataFrame, grouping: Grouping, persons: tuple[str, ...], gaps: pl.Expr, known: float = 0.0
) -> Iterator[pl.DataFrame]:
    """The summary with gaps filled: with the mean of their word, and as badly as can be (methods 0.4).

    As badly: the gaps of one class are all 1 and those of the others all -1, and the other way round,
    for each class in turn.

    Args:
        rows: of the summary.
        grouping: the protected classes.
        persons: the names that `grouping.of` speaks of.
        gaps: rows whose texts without a score are filled.
        known: share of the gaps that turn out as the scores of their class with the same word do.
    """
    of = dict(zip(persons, grouping.of.tolist(), strict=True))
    label = pl.col("person").replace_strict(of, return_dtype=pl.Int64)
    yield _filled(rows, _mean("block", "word").round().cast(pl.Int64), gaps)
    usual = _mean("block", "word", label)
    for index in range(len(grouping.classes)):
        for high in (PER_UNIT, -PER_UNIT):
            worst = pl.when(label == index).then(pl.lit(high)).otherwise(pl.lit(-high))
            mixed = worst if not known else (known * usual + (1.0 - known) * worst).round().cast(pl.Int64)
            yield _filled(rows, mixed, gaps)


def _mean(*alike: pl.Expr | str) -> pl.Expr:
    """The mean score of rows that are alike, in the units of a summary; 0 where there is none."""
    scores = pl.col("n").sum().over(alike)
    return pl.when(scores > 0).then(pl.col("y").cast(pl.Float64).sum().over(alike) / scores).otherwise(0.0)


def _filled(rows: pl.DataFrame, value: pl.Expr, gaps: pl.Expr) -> pl.DataFrame:
    gone = pl.when(gaps).then(pl.col("texts") - pl.col("n")).otherwise(0).cast(pl.Int128)
    units = value.cast(pl.Int128)
    return rows.with_columns(
        n=pl.col("n") + gone.cast(pl.Int64),
        y=pl.col("y") + gone * units,
        yy=pl.col("yy") + gone * units * units,
    )
