"""What the views of a method and its evidence are made of: plain values that the templates only place.

A section holds pieces: paragraphs, headings, figures, tables, and folds that hold pieces again.
Texts are unescaped; the templates and `svg` escape them.

Evidence is rows of texts sent and received. Beyond service, part and block it can be filtered by the facets
that a method declares. A row may hold several values of a facet: two groups, several categories. Its marks
hold their places, so that a page's script finds rows without reading their texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from markupsafe import Markup

from trustgauge.reports.sanitize import short, visible

QUOTED = 200
"""Characters of a text in a quotation."""


WITHIN = "-"
"""Between the places of one facet in the marks of a row."""
KEPT = 2_000
"""Characters of a text in the page at all; the store and the exports have the whole."""


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a column; `number` columns stand at the right."""

    text: str
    number: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell: a text, or a drawing; what stands small below; what symbols mean in words.

    Attributes:
        text: what is read.
        under: a second, quiet line.
        drawing: a figure in place of the text, escaped where it was drawn.
        symbols: marks such as dots, hidden from screen readers.
        spoken: what the symbols mean, for screen readers only.
        target: id of a row on the page that the text leads to.
        quote: a foreign text in the place of `text`.
        language: of the quote, where it is known.
        offensive: the quote is hidden until the reader asks for it.
    """

    text: str = ""
    under: str = ""
    drawing: Markup | None = None
    symbols: str = ""
    spoken: str = ""
    target: str = ""
    quote: str = ""
    language: str = ""
    offensive: bool = False


@dataclass(frozen=True, slots=True)
class Quotation:
    """One exchange that counted for the level: what was sent, what was answered, and why it counts."""

    sent: Cell
    back: Cell
    why: str


def quotation(row: Mapping[str, Any], why: str) -> Quotation:
    """A row of the evidence as a quotation: control characters visible, cut, hidden if it may offend."""
    sent, back = (
        Cell(
            quote=short(visible(str(row[column] or "")), QUOTED),
            offensive=bool(row.get("offensive")),
        )
        for column in ("sent", "back")
    )
    return Quotation(sent, back, why)


@dataclass(frozen=True, slots=True)
class Words:
    """A paragraph."""

    kind: ClassVar[str] = "words"
    text: str
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class Title:
    """A heading below that of the section, and its lead."""

    kind: ClassVar[str] = "title"
    text: str
    lead: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing in a region of its own; `label` names the region and must differ from all others."""

    kind: ClassVar[str] = "figure"
    drawing: Markup
    label: str
    words: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table in a region of its own; the first cell of a row is its head.

    `marks` hold the places of each row in the facets of the evidence, where its filters work here too.
    """

    kind: ClassVar[str] = "table"
    label: str
    heads: Sequence[Head]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    marks: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Fold:
    """Pieces behind a line that opens them."""

    kind: ClassVar[str] = "fold"
    summary: str
    pieces: Sequence[Words | Title | Figure | Table]
    shown: bool = False


Piece = Words | Title | Figure | Table | Fold


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the page: `rank` is its place when read as chooser, developer, auditor."""

    key: str
    heading: str
    pieces: Sequence[Piece]
    lead: str = ""
    rank: str = "40 40 40"


@dataclass(frozen=True, slots=True)
class PartRow:
    """A part of a rating in the table of parts."""

    title: str
    code: str
    notes: Sequence[str]
    before: Sequence[Cell]
    level: str | None
    state: str
    certainty: Mapping[str, float]
    after: Sequence[str]


@dataclass(frozen=True, slots=True)
class PartTable:
    """The table of parts: columns before the rating, the rating and its certainty, columns after them."""

    heading: str
    first: str
    before: Sequence[str]
    after: Sequence[Head]
    rows: Sequence[PartRow]
    legend: Sequence[str] = ()  # names of output values, in the order of their colours


@dataclass(frozen=True, slots=True)
class Heads:
    """Names of the columns of a plain table, before and after the certainty."""

    before: Sequence[str]
    after: Sequence[str]


@dataclass(frozen=True, slots=True)
class Cells:
    """What stands in those columns."""

    before: Sequence[str]
    after: Sequence[str]


@dataclass(frozen=True, slots=True)
class EvidenceWords:
    """What the evidence table calls what a method sends and reads."""

    back: str = "Came back"
    read: str = "Read: in → out"
    changed: str = "only changed"


@dataclass(frozen=True, slots=True)
class Value:
    """A value to choose. `key` stands in addresses, so it tells no name that may offend."""

    key: str
    title: str


@dataclass(frozen=True, slots=True)
class Facet:
    """A filter: its values in order, the place of each, and the columns of the evidence that hold them."""

    key: str
    columns: Sequence[str]
    values: Sequence[Value]
    places: Mapping[str, int]

    @property
    def label(self) -> str:
        return self.key.capitalize()

    def marks(self, facts: Mapping[str, Any]) -> str:
        """The places of a row's values: "3", "0-2", or "" if it has none."""
        told = [one for column in self.columns for one in values(facts.get(column))]
        found = {self.places[one] for one in told if one in self.places}
        return WITHIN.join(map(str, sorted(found)))


def marks(found: Sequence[Facet], facts: Mapping[str, Any]) -> list[str]:
    """The places of a row in each facet.

    Args:
        found: the facets of the evidence.
        facts: values in the columns of the facets; those that are not there are none.
    """
    return [facet.marks(facts) for facet in found]


def values(cell: Any) -> list[str]:
    """The values in a cell: a text, or a list of texts."""
    many = cell if isinstance(cell, list) else [cell]
    return [str(one) for one in many if one]


@dataclass(frozen=True, slots=True)
class Text:
    """A text to show: its beginning as words with the changed ones marked, the rest, its length."""

    words: tuple[tuple[str, bool], ...]
    rest: str
    length: int
    language: str
    offensive: bool = False

    @property
    def whole(self) -> bool:
        """Whether the text stands there as it is, with nothing to open."""
        return not self.rest and not self.offensive

    @property
    def cut(self) -> bool:
        return self.length > KEPT


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """One row of the evidence table.

    `anchor`, `marks` and the language of a text hold letters, digits, `-`, `_` and commas only,
    whatever a service or plan says, so they may stand in the page without quotes.
    """

    anchor: str
    name: str
    service: str
    part: str
    marks: str  # places of service, part, block, letter of the status, changed, facets: what filters read
    sent: Text
    trail: tuple[Text, ...]
    back: Text
    values: str
    lost: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the page carries: rows in it, rows packed, and how many there are in all."""

    rows: Sequence[EvidenceRow] = ()
    packed: str = ""
    packed_rows: int = 0
    total: int = 0
    sampled: bool = False
    services: Mapping[str, str] = field(default_factory=dict)  # key -> name
    parts: Mapping[str, str] = field(default_factory=dict)  # key -> title
    language: str = "en"  # of the texts sent
    blocks: Sequence[str] = ()
    facets: Sequence[Facet] = ()
    trail: bool = False
    offensive: bool = False
