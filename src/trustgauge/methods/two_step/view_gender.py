"""The gender of nouns in a translation as it is seen: the figures of WinoMT, and what the reader is worth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from trustgauge.data.noun_gender import LANGUAGES, ReaderAccuracy, reader_accuracy
from trustgauge.reports import numbers
from trustgauge.reports.components import Cell, Head, Piece, Section, Table, Words, read_messages

if TYPE_CHECKING:
    from trustgauge.reports.document_model import RatingEntry

WORDS = read_messages(__package__).table("one-way")


def _difference(value: float) -> str:
    """A difference of two shares, in points with their sign."""
    return f"{numbers.signed_number(100 * value, 1)} points"


FIGURES = {
    "accuracy": numbers.percent,
    "f1_difference": _difference,
    "stereotype_difference": _difference,
}


def section(rating: RatingEntry, language: str) -> Section | None:
    """The figures of each part, and how often the reader is right; None for a language without a table."""
    if language not in LANGUAGES:
        return None
    named = LANGUAGES[language]
    pieces: list[Piece] = [
        _table(facts) for part in rating["parts"] if (facts := part["details"].get("gender_accuracy"))
    ]
    reader = WORDS["reader"].format(language=named, **reader_counts(reader_accuracy(language)))
    heading = WORDS["heading"].format(language=named)
    return Section("nouns", heading, [*pieces, Words(reader)], WORDS["note"].format(language=named))


def reader_counts(known: ReaderAccuracy) -> dict[str, str]:
    """How a reader does on held-out translations, in words of the message `reader`."""
    return {
        "right": numbers.count(known.right),
        "decided": numbers.count(known.decided),
        "open": numbers.count(known.labelled - known.decided),
        "labelled": numbers.count(known.labelled),
    }


def _table(facts: Mapping[str, Any]) -> Table:
    rows = [
        [Cell(WORDS[name]), Cell(say(one["value"])), Cell(f"{say(one['low'])} to {say(one['high'])}")]
        for name, say in FIGURES.items()
        if (one := facts.get(name))
    ]
    heads = (Head(WORDS["figure"]), Head("Value", number=True), Head("95 % interval", number=True))
    return Table(WORDS["table"].format(n=numbers.count(facts["n"])), heads, rows)
