"""Evidence as views get it: rows of texts sent and received, ready to show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from trustgauge.reports.facets import Facet

KEPT = 2_000
"""Characters of a text in the page at all; the store and the exports have the whole."""


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
