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
    told = views.recognition(rating)
    if told is None:
        return
    if told["plain"] is None or told["disguised"] is None:
        yield _recognised([Words(views.NOTES["recognition-unread"])])
        return
    about = view_of(rating).fact_words(views.RECOGNISED, told, rating)
    ends = [numbers.signed_number(100 * end, 0) for end in (told["low"], told["high"]) if end is not None]
    row = [
        Cell(str(about.get("figure", "what differs most"))),
        *map(Cell, views.halves(told)),
        Cell(numbers.points(told["difference"]), under=" to ".join(ends)),
        Cell(numbers.p_value(told["p"])),
    ]
    heads = [
        Head("What differs most"),
        Head("Plain", number=True),
        Head("In disguise", number=True),
        Head("Difference", number=True),
        Head("p", number=True),
    ]
    if told["sure"]:
        said = views.NOTES["recognition-sure"]
    else:
        said = views.NOTES["recognition-small"] if told["p"] < DIFFERS else views.NOTES["recognition-unsure"]
    yield _recognised([Words(said), Table("Plain and disguised probes", heads, [row])])


def _recognised(pieces: list[Piece]) -> Section:
    return Section("recognition", "When the test is recognisable", pieces, rank="60 46 31")


def recognition_examples(ratings: Sequence[RatingEntry], rows: pl.DataFrame) -> list[Piece]:
    """Exchanges of both kinds, of services that answer them differently for sure."""
    sure = [(rating, told) for rating in ratings if (told := views.recognition(rating)) and told["sure"]]
    if not sure or DISGUISE not in rows.columns:
        return []
    drawn: list[list[Cell]] = []
    once = {rating["service"]["key"]: (rating, told) for rating, told in reversed(sure)}
    for rating, told in reversed(once.values()):
        mine = _compared(rows.filter(rows["service"] == rating["service"]["key"]), told)
        disguise_is_more = abs(told["disguised"] or 0.0) > abs(told["plain"] or 0.0)
        if told.get("value") == told.get("back", ""):  # what came back as it was sent
            disguise_is_more = not disguise_is_more
        for disguised in (False, True):
            half = mine.filter((mine[DISGUISE] == disguised) & (mine["status"] == "answered"))
            more = disguised == disguise_is_more
            typical = half.sort("changed", descending=more, maintain_order=True)
            for row in exchanges(typical.head(EXCHANGES)):
                quoted = quotation({**row, "sent": " ".join((row["sent"] or "").split())}, "")
                who = sentences.name(rating["service"]["name"])
                drawn.append(
                    [Cell(who), Cell("in disguise" if disguised else "plain"), quoted.sent, quoted.back]
                )
    heads = [Head("Service"), Head("Asked how"), Head("Asked"), Head("Answered")]
    return [
        Title("Plain and in disguise", views.NOTES["exchanges"]),
        Table("Plain and disguised exchanges", heads, drawn),
    ]


def _compared(rows: pl.DataFrame, told: RecognitionEntry) -> pl.DataFrame:
    """The exchanges that the figure is about: of classes, a group of an attribute, a value, or a purpose."""
    if "classes" in told and "frame" in rows.columns:
        return _side_by_side(rows, told)
    if "purpose" in told and {"purpose", "step"} <= set(rows.columns):
        rows = rows.filter(rows["purpose"] == told["purpose"])
        return rows.filter(rows["step"] == told["step"]) if "step" in told else rows
    if "value" in told and "values_in" in rows.columns:
        return rows.filter(rows["values_in"].list.contains(told["value"]))
    if "attribute" in told and "attribute" in rows.columns:
        rows = rows.filter((rows["attribute"] == told["attribute"]) & ~rows["control"])
        if "group" in told:
            rows = rows.filter((rows["group_a"] == told["group"]) | (rows["group_b"] == told["group"]))
    return rows


def _side_by_side(rows: pl.DataFrame, told: RecognitionEntry) -> pl.DataFrame:
    """A text of each of two classes in every frame, with the same word."""
    of_data = rows["block"].str.starts_with(f"{told['data']}/")
    rows = rows.filter(of_data & (rows["part"] == told["part"]) & rows["word"].is_in(told["words"]))
    sides = []
    for of in told["classes"]:
        mine = rows
        for single in of.split():
            mine = mine.filter(mine["values_in"].list.contains(single))
        sides.append(mine.unique(["frame", "word"], keep="first", maintain_order=True))
    first, second = sides
    both = first.join(second, on=["frame", "word"], how="semi").unique("frame", maintain_order=True)
    other = second.join(both, on=["frame", "word"], how="semi")
    return both.vstack(other).sort("frame", maintain_order=True)
