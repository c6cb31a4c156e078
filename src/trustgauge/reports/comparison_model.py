"""The typed form of a comparison (`trustgauge compare --json`): what its views may rely on.

A comparison holds rankings (groups) of services, the changes of a service between two dates, and remarks.
"""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from pydantic import ConfigDict, SkipValidation, with_config
from typing_extensions import TypedDict

from trustgauge.reports.document_model import RatingEntry

READ = ConfigDict(extra="ignore", use_attribute_docstrings=True)


@with_config(READ)
class RemarkEntry(TypedDict):
    """What must be said with a comparison: a code with its facts, as a reason is."""

    code: str
    facts: dict[str, Any]
    evidence: list[str]


@with_config(READ)
class RankEntry(TypedDict):
    """The rank of a settled rating: 1 is the best."""

    rank: int
    shown: str
    """As printed; "=" stands before a rank that services share."""
    low: int
    high: int
    of: int
    badness: float


@with_config(READ)
class ComparisonRow(TypedDict):
    """A rating in a comparison, without the tables behind it."""

    id: str
    run: str
    rating: Annotated[RatingEntry, SkipValidation]
    """Without its details, counts and evidence."""
    expired: bool
    stopped: str | None
    usd_per_1000: float | None
    latency_median_ms: float | None
    report: str | None
    rank: RankEntry | None


@with_config(READ)
class DifferenceEntry(TypedDict):
    """First minus second badness, with its 95 % interval and verdict (methods 0.6)."""

    difference: float
    low: float
    high: float
    p_worse: float
    p_better: float
    found: bool
    verdict: str | None
    """Null where the method declares no margin."""
    sign: str
    settled: bool
    margin: NotRequired[float | None]


@with_config(READ)
class PairEntry(DifferenceEntry):
    """The difference of two ratings of a ranking, by their ids."""

    first: str
    second: str


@with_config(READ)
class GroupEntry(TypedDict):
    """One ranking: ratings of one method, version, rule and set of texts."""

    method: str
    version: str
    rule: str
    attribute: str
    inputs: str
    texts: int | None
    direction: str
    margin: float | None
    beyond_doubt: float
    ranked: bool
    rows: list[ComparisonRow]
    pairs: list[PairEntry]
    notes: list[RemarkEntry]
    differs: list[str]
    """In what it is unlike the first ranking of its method and attribute."""


@with_config(READ)
class SideEntry(TypedDict):
    """A part at one of two dates."""

    level: str | None
    state: str
    score: float | None


@with_config(READ)
class PartChangeEntry(TypedDict):
    """A part at two dates; null where it was not tested."""

    key: str
    title: str
    before: SideEntry | None
    after: SideEntry | None
    changed: bool


@with_config(READ)
class ExampleEntry(TypedDict):
    """A text that was read otherwise at the later date."""

    part: str
    id: str
    direction: str
    offensive: bool
    sent: str
    before: str | None
    after: str | None
    read_before: list[Any]
    read_after: list[Any]


@with_config(READ)
class ReadingsEntry(TypedDict):
    """The texts that were read otherwise at the later date."""

    compared: int
    unread: int
    flipped: int
    directions: dict[str, int]
    examples: list[ExampleEntry]


@with_config(READ)
class DateEntry(TypedDict):
    """What changed between two ratings of one service."""

    service: str
    method: str
    attribute: str
    before: ComparisonRow
    after: ComparisonRow
    changed: bool
    parts: list[PartChangeEntry]
    same_texts: bool
    same_service: bool
    differs: list[str]
    difference: DifferenceEntry | None
    readings: ReadingsEntry | None


@with_config(READ)
class FiltersEntry(TypedDict):
    """Which ratings were compared."""

    rule: str
    states: list[str]


@with_config(READ)
class ComparisonDocument(TypedDict):
    """Ratings beside each other."""

    schema: str
    date: str
    filters: FiltersEntry
    groups: list[GroupEntry]
    dates: list[DateEntry]
    notes: list[RemarkEntry]
