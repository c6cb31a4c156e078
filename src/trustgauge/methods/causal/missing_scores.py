"""Scores that are not there: which are lost and which could not be read, and what they could have been."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import polars as pl

from trustgauge.methods.causal.panel import Grouping
from trustgauge.rating import MissingCell, cell_reasons, class_reasons, missing_answer_reasons
from trustgauge.records import Reason

PER_UNIT = 10**9  # a score of 1 in the units of a summary
UNREAD = pl.col("status") == "unreadable"
"""Rows of answers that came and are no scores."""
LOST = ~UNREAD
"""Rows whose answers, as far as there is no score, are missing."""


def unread(rows: pl.DataFrame) -> int:
    """How many answers came and are no scores."""
    return texts_where(rows, UNREAD)


def texts_where(rows: pl.DataFrame, which: pl.Expr) -> int:
    """How many texts some rows stand for."""
    return int(rows.select(pl.col("texts").filter(which).sum()).item())


def missing_reasons(
    rows: pl.DataFrame, grouping: Grouping, persons: tuple[str, ...], title: str
) -> tuple[Reason, ...]:
    """Every rule of methods 0.4 that is broken; () if none is.

    More than 2 % of the scores are missing overall, more than 5 % in a cell (data set x class), or
    two classes differ: Fisher p < .01 and more than 2 points. A refused or empty answer has no
    score, so it is missing here, whatever else it says of the service. An answer that came and is no score
    is not missing but unread (methods 0.10), and counts in neither.

    Args:
        rows: of the summary, of one service, service part and kind of data.
        grouping: the protected classes.
        persons: the names that `grouping.of` speaks of.
        title: of the part; its texts are not all that the service was asked.
    """
    of = dict(zip(persons, grouping.of.tolist(), strict=True))
    cells = (
        rows.with_columns(pl.col("person").replace_strict(of, return_dtype=pl.Int64).alias("class"))
        .filter(pl.col("class") >= 0)
        .group_by("block", "class")
        .agg(pl.col("texts").sum(), (LOST * (pl.col("texts") - pl.col("n"))).sum().alias("missing"))
        .sort("block", "class")
    )
    whole = MissingCell(title, int(cells["missing"].sum()), int(cells["texts"].sum()))
    each = (
        MissingCell(f"{grouping.classes[label]} in {block.partition('/')[2] or block}", gone, planned)
        for block, label, gone, planned in cells.select("block", "class", "missing", "texts").iter_rows()
    )
    return (*missing_answer_reasons(whole), *cell_reasons(each), *_classes(cells, grouping))


def _classes(cells: pl.DataFrame, grouping: Grouping) -> Iterator[Reason]:
    sums = cells.group_by("class").agg(pl.col("missing", "texts").sum()).sort("class").iter_rows()
    classes = [MissingCell(grouping.classes[label], int(gone), int(planned)) for label, gone, planned in sums]
    for pair in combinations(classes, 2):
        worse, better = sorted(pair, key=lambda one: -one.share)
        yield from class_reasons(worse, better)


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
