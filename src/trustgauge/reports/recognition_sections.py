"""Sections of the report on what differs where a service recognises the test (methods 0.12).

Imported only for plans that disguise some of their probes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from trustgauge.reports import numbers, sentences, views
from trustgauge.reports.components import (
    Cell,
    Head,
    Piece,
    Section,
    Table,
    Title,
    Words,
    exchanges,
    heads_of,
    quotation,
    view_of,
)

if TYPE_CHECKING:
    import polars as pl

    from trustgauge.reports.document_model import RatingEntry, RecognitionEntry

DISGUISE = "disguise"
"""Column of evidence: whether a probe was disguised."""
DIFFERS = 0.01  # p below which plain and disguised probes differ significantly
EXCHANGES = 4
"""Plain exchanges, and disguised ones, that are shown of a service."""


def recognition_section(rating: RatingEntry) -> Iterator[Section]:
    """Plain and disguised probes side by side."""
    known = views.recognition(rating)
    if known is None:
        return
    if known["plain"] is None or known["disguised"] is None:
        yield _recognised([Words(views.NOTES["recognition-unread"])])
        return
    about = view_of(rating).fact_words(views.RECOGNISED, known, rating)
    ends = [numbers.signed_number(100 * end, 0) for end in (known["low"], known["high"]) if end is not None]
    row = [
        Cell(str(about.get("figure", "what differs most"))),
        *map(Cell, views.halves(known)),
        Cell(numbers.points(known["difference"]), under=" to ".join(ends)),
        Cell(numbers.p_value(known["p"])),
    ]
    first = "What differs most"
    heads = heads_of(first, "Plain", "In disguise", "Difference", "p", texts=(first,))
    if known["sure"]:
        said = views.NOTES["recognition-sure"]
    else:
        said = views.NOTES["recognition-small"] if known["p"] < DIFFERS else views.NOTES["recognition-unsure"]
    yield _recognised([Words(said), Table("Plain and disguised probes", heads, [row])])


def _recognised(pieces: list[Piece]) -> Section:
    return Section("recognition", "When the test is recognisable", pieces, rank="60 46 31")


def recognition_examples(ratings: Sequence[RatingEntry], rows: pl.DataFrame) -> list[Piece]:
    """Exchanges of both kinds, of services that answer them differently for sure."""
    sure = [
        (rating, recognition)
        for rating in ratings
        if (recognition := views.recognition(rating)) and recognition["sure"]
    ]
    if not sure or DISGUISE not in rows.columns:
        return []
    drawn: list[list[Cell]] = []
    once = {rating["service"]["key"]: (rating, recognition) for rating, recognition in reversed(sure)}
    for rating, recognition in reversed(once.values()):
        mine = _compared(rows.filter(rows["service"] == rating["service"]["key"]), recognition)
        disguise_is_more = abs(recognition["disguised"] or 0.0) > abs(recognition["plain"] or 0.0)
        if recognition.get("value") == recognition.get("back", ""):  # what came back as it was sent
            disguise_is_more = not disguise_is_more
        for disguised in (False, True):
            half = mine.filter((mine[DISGUISE] == disguised) & (mine["status"] == "answered"))
            more = disguised == disguise_is_more
            typical = half.sort("changed", descending=more, maintain_order=True)
            for row in exchanges(typical.head(EXCHANGES)):
                quoted = quotation(row, "")
                who = sentences.name(rating["service"]["name"])
                drawn.append(
                    [Cell(who), Cell("in disguise" if disguised else "plain"), quoted.sent, quoted.back]
                )
    heads = [Head("Service"), Head("Asked how"), Head("Asked"), Head("Answered")]
    return [
        Title("Plain and in disguise", views.NOTES["exchanges"]),
        Table("Plain and disguised exchanges", heads, drawn),
    ]


def _compared(rows: pl.DataFrame, recognition: RecognitionEntry) -> pl.DataFrame:
    """The exchanges that the figure is about: of classes, a group of an attribute, a value, or a purpose."""
    if "classes" in recognition and "frame" in rows.columns:
        return _side_by_side(rows, recognition)
    if "purpose" in recognition and {"purpose", "step"} <= set(rows.columns):
        rows = rows.filter(rows["purpose"] == recognition["purpose"])
        return rows.filter(rows["step"] == recognition["step"]) if "step" in recognition else rows
    if "value" in recognition and "values_in" in rows.columns:
        return rows.filter(rows["values_in"].list.contains(recognition["value"]))
    if "attribute" in recognition and "attribute" in rows.columns:
        rows = rows.filter((rows["attribute"] == recognition["attribute"]) & ~rows["control"])
        if "group" in recognition:
            rows = rows.filter(
                (rows["group_a"] == recognition["group"]) | (rows["group_b"] == recognition["group"])
            )
    return rows


def _side_by_side(rows: pl.DataFrame, recognition: RecognitionEntry) -> pl.DataFrame:
    """A text of each of two classes in every frame, with the same word."""
    of_data = rows["block"].str.starts_with(f"{recognition['data']}/")
    rows = rows.filter(
        of_data & (rows["part"] == recognition["part"]) & rows["word"].is_in(recognition["words"])
    )
    sides = []
    for of in recognition["classes"]:
        mine = rows
        for single in of.split():
            mine = mine.filter(mine["values_in"].list.contains(single))
        sides.append(mine.unique(["frame", "word"], keep="first", maintain_order=True))
    first, second = sides
    both = first.join(second, on=["frame", "word"], how="semi").unique("frame", maintain_order=True)
    other = second.join(both, on=["frame", "word"], how="semi")
    return both.vstack(other).sort("frame", maintain_order=True)
