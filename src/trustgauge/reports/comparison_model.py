"""The typed forms of comparisons (`trustgauge compare --json`), and the source of their published schemas.

A comparison holds rankings (groups) of services, the changes of a service between two dates, and remarks. A
paired comparison holds the differences of two systems on the same items, or of the ratings of two runs.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, final

from pydantic import ConfigDict, SkipValidation, TypeAdapter, WithJsonSchema, with_config
from typing_extensions import TypedDict

from trustgauge.reports.document_model import RatingEntry, published_schema

READ = ConfigDict(extra="ignore", use_attribute_docstrings=True)
SHORTENED = (
    "id", "service", "issue", "method", "state", "overall", "coverage", "tested", "expires", "reasons",
    "parts", "details",
)  # fmt: skip
"""What is left of a rating that stands in a comparison."""
NO_DIFFERENCE = "its method gives no difference of two services"
"""Why two ratings that were made alike cannot be subtracted."""
OTHER_TEXTS = "the two runs asked different texts or had different settings"
"""Why two ratings of one method cannot be subtracted."""
ShortRating = Annotated[
    RatingEntry,
    SkipValidation,
    WithJsonSchema(
        {
            "type": "object",
            "description": "As in rating.json, without the tables behind it.",
            "required": list(SHORTENED),
            "properties": {
                "id": {"type": "string"},
                "state": {"type": "string"},
                "tested": {"type": "string"},
                "expires": {"type": "string"},
                "parts": {"type": "array", "items": {"type": "object"}},
            },
        }
    ),
]
"""A rating as a comparison holds it."""


@with_config(READ)
class RemarkEntry(TypedDict):
    """What must be said with a comparison: a code with its facts, as a reason is."""

    code: str
    facts: dict[str, object]
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
    rating: ShortRating
    verdict: str
    """What was measured, in the words of the report: they may need the tables that are left out."""
    expired: bool
    stopped: str | None
    usd_estimated: NotRequired[bool]
    """Whether the service does not count its tokens, so that they follow from characters."""
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
    """Whether the text may offend; then its answers may, too."""
    offensive_before: bool
    offensive_after: bool
    """Whether the answer then, and now, may offend."""
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
    identical: NotRequired[int]
    """Answers that are the same word for word, read or not; fewer than what was not read otherwise."""
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

    schema: Literal["trustgauge.comparison/1"]
    date: str
    filters: FiltersEntry
    groups: list[GroupEntry]
    dates: list[DateEntry]
    notes: list[RemarkEntry]


@with_config(READ)
class FiguresEntry(TypedDict):
    """After minus before on a metric, positive is better, with 95 % and 90 % intervals."""

    difference: float
    low: float
    high: float
    low_90: float
    high_90: float
    p: float
    clusters: int
    deviation: float
    """Standard deviation of an item's difference."""


@with_config(READ)
class FlippedItem(TypedDict):
    """An item whose value changed."""

    item: str
    label: str | None
    before: float
    after: float


@with_config(READ)
class FlipsEntry(TypedDict):
    """How many items changed in one direction, and the largest changes."""

    items: int
    examples: list[FlippedItem]


@with_config(READ)
class FlipSides(TypedDict):
    """Items that became worse, and items that became better."""

    worse: FlipsEntry
    better: FlipsEntry


@with_config(READ)
class NoiseEntry(TypedDict):
    """Standard deviation of the difference between two runs of one system; null with one run an item."""

    before: float | None
    after: float | None


@with_config(READ)
class LostEntry(TypedDict):
    """The values that one side should have, every run of an item counted, and how many it lacks."""

    values: int
    missing: int


@with_config(READ)
class LostSides(TypedDict):
    """What is missing on each side."""

    before: LostEntry
    after: LostEntry


@with_config(READ)
class MetricFacts(TypedDict):
    """A metric of two systems: what could be paired."""

    metric: str
    verdicts: bool
    """Whether its values are 0 or 1."""
    better: str
    """Which values are better, higher or lower."""
    span: float
    """Length of its scale."""
    items: int
    lost: LostSides
    only_before: int
    """Items that the new one does not have: their values are missing."""
    only_after: int
    names_before: list[str]
    """The first items that only the baseline has."""
    names_after: list[str]
    repeats: int
    """Runs of an item, on the side that has fewer."""


@final
@with_config(READ)
class MetricDifference(MetricFacts, FiguresEntry):
    """The paired difference of two systems on one metric (methods 0.4 to 0.7)."""

    mean_before: float
    mean_after: float
    flips: FlipSides
    noise: NoiseEntry
    filled: list[FiguresEntry] | None
    """The difference with all missing values at their worst and at their best; null if few are missing."""
    p_holm: float
    verdict: str
    more_items: int | None
    """Items that would find a difference of the margin 8 times in 10."""


@with_config(READ)
class SystemEntry(TypedDict):
    """One side of a paired comparison of imported results."""

    name: str
    system: str
    source: dict[str, object]


@with_config(READ)
class RunName(TypedDict):
    """One side of a paired comparison of ratings: the id of a run or rating."""

    name: str


Basis = Literal["figure", "level", "readings", "gaps", "exchange", "answers", "issues", "growth"]
"""What a verdict of two ratings rests on."""


@final
@with_config(READ)
class IssuesEntry(TypedDict):
    """The issues of two ratings by name: which are no worse, worse, open, or settled in neither."""

    verdict: Literal["same", "worse", "undetermined"]
    margin: float
    same: list[str]
    worse: list[str]
    open: list[str]
    unsettled: list[str]


@final
@with_config(READ)
class GrowthEntry(TypedDict):
    """How often something bad was recognised in two runs, of how many answers or utterances."""

    title: str
    """Of the part of the rating."""
    before: int
    n_before: int
    after: int
    n: int


@final
@with_config(READ)
class RatingDifference(TypedDict):
    """Two ratings, their difference of badness (after minus before), and the answers read otherwise."""

    before: ComparisonRow
    after: ComparisonRow
    why: str
    """Why they cannot be subtracted; "" if they can."""
    verdict: str
    basis: Basis
    """What the verdict rests on: the figure that was subtracted, the levels, what was read otherwise, what
    is missing or unread, values that are exchanged now, answers that are all the same, the issues, or
    something bad that is recognised more often."""
    issues: IssuesEntry | None
    """Of two settled ratings at one level by a method that gives no difference, else null."""
    growth: GrowthEntry | None
    """Of a method that gives no difference, where it can say so; `p` is of it."""
    readings: ReadingsEntry | None
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    p_holm: float | None
    labels: int
    """Answers that were labelled in audits of the two, none of whose labels is in the difference."""


@final
@with_config(READ)
class PairedResults(TypedDict):
    """Two systems on the same items, metric by metric."""

    schema: Literal["trustgauge.paired/1"]
    kind: Literal["results"]
    before: SystemEntry
    after: SystemEntry
    margin: float
    error: float
    metrics: list[MetricDifference]
    unpaired: list[str]
    """Metrics of the baseline without an item that has a value on both sides."""


@final
@with_config(READ)
class PairedRatings(TypedDict):
    """The ratings of two runs, pair by pair."""

    schema: Literal["trustgauge.paired/1"]
    kind: Literal["ratings"]
    before: RunName
    after: RunName
    error: float
    ratings: list[RatingDifference]


PairedEntry = MetricDifference | RatingDifference
PairedDocument = PairedResults | PairedRatings


def comparison_schema() -> dict[str, object]:
    """The published JSON Schema (2020-12) of `compare --json`."""
    return published_schema(TypeAdapter(ComparisonDocument), "trustgauge.comparison/1")


def paired_schema() -> dict[str, object]:
    """The published JSON Schema (2020-12) of `compare --paired --json`."""
    return published_schema(TypeAdapter(PairedDocument), "trustgauge.paired/1")
