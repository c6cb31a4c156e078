"""Evidence as views get it: rows of texts sent and received, ready to show, and the facets that filter them.

A method declares its facets, beyond service, part and block. A row may hold several values of a facet: two
groups, several categories. Its marks hold their places, so that a page's script finds rows without reading
their texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

WITHIN = "-"
"""Between the places of one facet in the marks of a row."""


KEPT = 2_000
"""Characters of a text in the page at all; the store and the exports have the whole."""


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
