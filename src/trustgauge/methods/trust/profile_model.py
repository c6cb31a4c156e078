"""The typed form of chatbots compared for one kind of user (`trustgauge compare --profile NAME --json`)."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from pydantic import TypeAdapter, with_config
from typing_extensions import TypedDict

from trustgauge.reports.comparison_model import READ, ComparisonRow, RemarkEntry
from trustgauge.reports.document_model import published_schema


@with_config(READ)
class IssueOutcome(TypedDict):
    """What a rating says of one issue."""

    state: str
    score: float | None
    low: float | None
    high: float | None
    n: int
    level: str | None
    cuts: list[float] | None
    risk: float | None
    """From 0 to 1 on the scale that rules of combining average; null without a level."""
    value: float | None


@with_config(READ)
class IssueShare(TypedDict):
    """What a rule gives an issue of the order."""

    issue: str
    rank: float
    level: str | None
    points: NotRequired[float]
    weight: NotRequired[float]
    share: NotRequired[float]
    risk: NotRequired[float | None]
    score: NotRequired[float | None]


@with_config(READ)
class BoundEntry(TypedDict):
    """A level that the sound rule never goes below, and the issues that set it."""

    by: str
    issues: list[str]
    level: str


@with_config(READ)
class Arithmetic(TypedDict):
    """How one row came to its level (trust 4.4); what a rule does not use is absent."""

    rule: str
    order: list[Any]
    levels: list[str]
    missing: list[str]
    issues: list[IssueShare]
    points: NotRequired[dict[str, float]]
    tied: NotRequired[list[str]]
    ties: NotRequired[str]
    not_counted: NotRequired[list[str]]
    cuts: NotRequired[list[float]]
    mean: NotRequired[float]
    mean_level: NotRequired[str]
    bounds: NotRequired[list[BoundEntry]]
    bound: NotRequired[str]
    looked_at: NotRequired[list[str]]
    first: NotRequired[int]
    sequence: NotRequired[list[list[str | None]]]


@with_config(READ)
class OrdersEntry(TypedDict):
    """How many of all strict orders of the issues give each level."""

    orders: int
    of: int
    sampled: bool
    levels: dict[str, int]
    open: int


@with_config(READ)
class ProfileOutcome(TypedDict):
    """What the issues of one service come to for one order and rule."""

    levels: list[str]
    """The possible ones, best first."""
    level: str | None
    state: str
    hangs_on: list[str]


@with_config(READ)
class CombinedIssues(ProfileOutcome):
    """An outcome with what it was made from."""

    issues: dict[str, IssueOutcome]
    explained: Arithmetic
    orders: OrdersEntry
    worst: int
    """Place of the worst possible level; 0 is the best level."""


@with_config(READ)
class ProfileRow(ComparisonRow, CombinedIssues):
    """One service."""

    place: int | None
    """1 is the best; null where the level is open or not settled."""
    shown: str
    """As printed; "=" stands before a place that services share."""


@with_config(READ)
class ProfileGroup(TypedDict):
    """One ranking of services that were measured alike."""

    made_by: str
    version: str
    rule: str
    combination: dict[str, Any]
    rows: list[ProfileRow]
    unmeasured: list[str]


@with_config(READ)
class NamedOrder(TypedDict):
    """The order of issues that was asked for."""

    name: str
    title: str
    written: str
    places: list[list[str]]


@with_config(READ)
class ProfileEntry(TypedDict):
    """A profile that the ratings know."""

    name: str
    title: str
    places: list[list[str]]


@with_config(READ)
class ProfileDocument(TypedDict):
    """Chatbots beside each other for one kind of user."""

    schema: Literal["trustgauge.by-profile/1"]
    date: str
    order: NamedOrder
    groups: list[ProfileGroup]
    """Never ranked together; the largest first."""
    profiles: list[ProfileEntry]
    issues: list[str]
    notes: list[RemarkEntry]


@with_config(READ)
class ProfileRanking(TypedDict):
    """The services of the first group for one profile."""

    title: str
    rows: list[ProfileOutcome]


def profile_schema() -> dict[str, Any]:
    """The published JSON Schema (2020-12) of `compare --profile --json`."""
    return published_schema(TypeAdapter(ProfileDocument), "trustgauge.by-profile/1")
