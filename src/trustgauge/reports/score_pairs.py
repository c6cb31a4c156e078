"""Pairs of texts with one frame and word about persons of different classes: how far their scores differ.

Imported only for evidence with scores of such texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from trustgauge.reports import numbers, sentences
from trustgauge.reports.components import (
    Cell,
    Evidence,
    EvidenceExchange,
    Piece,
    Table,
    Title,
    Words,
    exchanges,
    heads_of,
)
from trustgauge.reports.sanitize import short, visible

SHOWN_PAIRS = 20
EACH = 5
"""Pairs on the page: of one service, and of each of several."""

TEXT = 280
_CELL = ("service", "part", "block", "frame", "word")
_ABSENT = "NA"


def table(frame: pl.DataFrame, shown: Evidence, blocks: Mapping[str, str]) -> list[Piece]:
    """The pairs with the largest differences, and how many of the comparable texts differ at all.

    Args:
        frame: the whole evidence.
        shown: the rows on the page; a pair leads to them where they are.
        blocks: names of data sets, by key.

    Returns:
        A heading and a table; nothing if the evidence has no scores to compare.
    """
    if not {"frame", "word", "score"} <= set(frame.columns):
        return []
    found = widest(frame)
    if found.is_empty():
        return []
    several = len(shown.services) > 1
    differ = int((found["difference"] > 1e-9).sum())
    said = (
        "Two texts with the same frame and word, about persons of different classes. Of "
        f"{numbers.count(found.height)} such groups of texts, {numbers.count(differ)} contain a pair whose "
        "scores differ; the widest pairs are shown here, all texts below."
    )
    pieces: list[Piece] = [Title("Same sentence, another class", said)]
    if not differ:
        return [*pieces, Words("No pair differs.")]
    top = found.filter(found["difference"] > 1e-9)
    top = top.group_by("service", maintain_order=True).head(EACH) if several else top.head(SHOWN_PAIRS)
    return [*pieces, _pairs(frame, top, shown, blocks)]


def widest(frame: pl.DataFrame, alike: Sequence[str] = ()) -> pl.DataFrame:
    """For each service, data set, frame and word the pair of different classes that lies widest apart.

    Args:
        frame: evidence.
        alike: further columns in which the texts of a pair are alike; there is a pair for each value.

    Returns:
        Columns service, part, block, frame, word, high and low (numbers of rows), difference;
        widest first, equals in the order of the frame. Persons without a class are left out.
    """
    import polars as pl

    classes = (
        pl.col("values_in")
        .list.head(2)
        .list.eval(
            pl.element().filter(pl.element().is_not_null() & (pl.element() != _ABSENT) & (pl.element() != ""))
        )
    )
    cell = (*_CELL, *alike)
    rows = (
        frame.select(*cell, "score", of=classes.list.join(" "))
        .with_row_index("row")
        .filter(pl.col("score").is_finite() & (pl.col("of") != ""))
    )
    by_class = rows.group_by(*cell, "of", maintain_order=True).agg(
        high=pl.col("row").get(pl.col("score").arg_max()),
        low=pl.col("row").get(pl.col("score").arg_min()),
        most=pl.col("score").max(),
        least=pl.col("score").min(),
    )
    return (
        by_class.join(by_class, on=cell, suffix="_other", nulls_equal=True)
        .filter(pl.col("of") != pl.col("of_other"))
        .select(*cell, "high", low="low_other", difference=pl.col("most") - pl.col("least_other"))
        .sort(-pl.col("difference"), "high", "low")
        .unique(cell, keep="first", maintain_order=True)
    )


def _pairs(frame: pl.DataFrame, top: pl.DataFrame, shown: Evidence, blocks: Mapping[str, str]) -> Table:
    several = len(shown.services) > 1
    anchors = {(row.service, row.part, row.name): row.anchor for row in shown.rows}
    texts = ("Data set", *(["Service"] if several else []), "Text", "Text of another class")
    heads = heads_of(*texts[:-1], "Score", texts[-1], "Score", "Difference", texts=texts)
    rows = []
    for pair in top.iter_rows(named=True):
        high, low = exchanges(frame[[pair["high"], pair["low"]]])
        cells = [Cell(sentences.name(blocks.get(str(pair["block"]), str(pair["block"]))))]
        if several:
            cells.append(Cell(shown.services.get(pair["service"], sentences.name(pair["service"]))))
        for one in (high, low):
            name = short(visible(str(one["id"])), 60)
            cells.append(
                Cell(
                    name,
                    under=shown_text(one),
                    target=anchors.get((one["service"], one["part"], name), ""),
                )
            )
            cells.append(Cell(numbers.signed_number(one["score"])))
        cells.append(Cell(numbers.signed_number(pair["difference"])))
        rows.append(cells)
    return Table("Sentence pairs", heads, rows)


def shown_text(row: EvidenceExchange) -> str:
    """What was sent, cut and with control characters visible; a bar if it may offend."""
    sent = row["sent"] or ""
    return sentences.mask_text(sent) if row.get("offensive") else short(visible(sent), TEXT)
