"""The typed form of `rating.json`: what a reader may rely on, and the source of its published schema.

Reading is lenient towards later versions: keys that are not named here are ignored, and of a choice, such as
a state, any text is accepted. The published schema, which says what this version writes, is strict.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import fsum
from typing import Annotated, Any, Literal, NotRequired, TypeVar, final, get_args

from pydantic import (
    ConfigDict,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
    with_config,
)
from typing_extensions import TypedDict

from trustgauge.records import SCHEMA, Relationship, Rule, RunState, State, Task

T = TypeVar("T")
LIKELIEST = 0.49
"""A settled level has at least this certainty, whatever its method asks for."""
ROUNDING = 0.01  # of certainties that add up to 1
TITLE = "trustgauge rating document"
Object = dict[str, Any]
"""What a method defines for itself: counts, facts, options, details."""
Count = Annotated[int, Field(ge=0)]
Name = Annotated[str, StringConstraints(min_length=1)]
StateName = Annotated[
    str, WithJsonSchema({"description": "What stands behind a level.", "enum": list(get_args(State))})
]
Certainty = Annotated[
    dict[str, Annotated[float, Field(ge=0, le=1)]],
    Field(description="Share of resamples at each level, best known first by the scale; empty if none."),
]


def _choice(*values: str | None) -> WithJsonSchema:
    """One of these values in the published schema; any text when a document is read."""
    return WithJsonSchema({"enum": list(values)})


def _entry(title: str | None = None, **schema: Any) -> Callable[[type[T]], type[T]]:
    """How an object is read, and what the published schema says of it beyond its keys."""
    extra = {"additionalProperties": False, **schema}
    config = ConfigDict(
        title=title, strict=True, extra="ignore", json_schema_extra=extra, use_attribute_docstrings=True
    )
    return with_config(config)


@_entry()
class IntervalEntry(TypedDict):
    """A value with its 95 % interval and its number of observations; null where undefined, never zero."""

    value: float | None
    low: float | None
    high: float | None
    n: Count


@_entry()
class ReasonEntry(TypedDict):
    """A code with facts and ids of evidence; sentences are made from it."""

    code: Name
    facts: Object
    evidence: list[str]


@_entry()
class CoverageEntry(TypedDict):
    """What became of the planned probes."""

    planned: Count
    answered: Count
    refused: Count
    empty: Count
    unreadable: Count
    unread: NotRequired[Count]
    """Answered but not understood: bounded, never called lost."""
    failed: Count
    not_applicable: Count


@_entry(additionalProperties=True)
class ControlEntry(TypedDict):
    """A control service, the level it must get, and the level it got."""

    name: str
    truth: str
    level: str | None
    state: NotRequired[StateName]
    certainty: Certainty
    wrong: NotRequired[bool]
    """Whether it settled at another level than it must get, which voids the run."""
    issue: NotRequired[str]
    """What it was rated for, in a word, such as gender; where a run has several."""


@_entry()
class AssessorEntry(TypedDict):
    """Who rated, in what relationship to the provider, and who paid."""

    name: str
    relationship: Annotated[str, _choice(*get_args(Relationship))]
    paid_by: str


@_entry()
class CostEntry(TypedDict):
    """What was spent."""

    calls: Count
    usd: Annotated[float, Field(ge=0)]
    tokens: Count
    seconds: Annotated[float, Field(ge=0)]
    latency_median_ms: float | None
    tokens_estimated: NotRequired[Count]
    """Of `tokens`, those that follow from characters; left out if none, as of services that count theirs."""


@final
@_entry()
class PartEntry(TypedDict):
    """One part of a rating: a middle language, a word set, a group, an issue."""

    key: str
    title: str
    level: str | None
    words: str | None
    state: StateName
    counts: Object
    score: float | None
    low: float | None
    high: float | None
    n: Count
    p: float | None
    certainty: Certainty
    unchanged: IntervalEntry | None
    flags: list[str]
    more_texts: int | None
    reasons: list[ReasonEntry]
    coverage: CoverageEntry
    details: Object


@_entry()
class LevelEntry(TypedDict):
    """A level of a scale, and its words."""

    level: str
    words: str


@_entry()
class OverallEntry(TypedDict):
    """The level of a whole rating."""

    level: str | None
    words: str | None
    ordinal: Annotated[int, Field(ge=1)] | None
    """Bigger is better: the worst level is 1."""
    of: Annotated[int, Field(ge=1)]
    better: Literal["first"]
    direction: str
    """The direction of the scale in words."""
    scale: Annotated[list[LevelEntry], Field(min_length=1)]
    """All levels, best first."""
    score: float | None
    low: float | None
    high: float | None
    n: Count
    certainty: Certainty
    unchanged: IntervalEntry | None
    worst: list[str]
    relative_to: list[str]
    profile: str | None


@_entry()
class GateEntry(TypedDict):
    """What a gate says of a rating."""

    fail_on: str | None
    """Level of this rating's scale from which the gate fails; null if none is set."""
    need_certainty: float | None
    passed: bool | None
    """null where the evidence cannot tell."""
    reason: Annotated[
        str, _choice("gate.passed", "gate.level", "gate.incomplete", "gate.not-settled", "gate.certainty")
    ]


@_entry()
class ServiceEntry(TypedDict):
    """The rated service."""

    key: str
    name: str
    version: str
    kind: str
    task: Annotated[str | None, _choice(*get_args(Task), None)]
    provider: str
    fingerprint: str
    deterministic: bool
    answered_as: NotRequired[list[str]]
    talked_with: NotRequired[str]
    place: NotRequired[str]
    """A digest of what is asked, such as address, model and route, whatever its version: ratings of one
    `key` and place are the history of one service."""


@_entry()
class IssueEntry(TypedDict):
    """What was rated."""

    id: str
    attribute: str


@_entry()
class MethodEntry(TypedDict):
    """The method that made a rating, and its settings."""

    name: str
    version: str
    rule: Annotated[str, _choice(*get_args(Rule))]
    paper: str
    options: Object


@_entry()
class RetestEntry(TypedDict):
    """How the answers to questions that were asked a second time agree with the first ones."""

    equal: IntervalEntry | None
    """Share of equal answers."""
    alike: IntervalEntry | None
    """Share of answers that the method reads alike; null where it names no reading."""
    near: IntervalEntry | None
    """The same share of questions asked again within three tenths of the run."""
    far: IntervalEntry | None
    """The same share of questions asked again later or earlier than that."""


class InstrumentEntry(TypedDict):
    """What `details.instrument` says of the reader of the answers, and its audit (methods 0.10)."""

    audited: bool
    """Whether the level rests on the labels."""
    unread: int
    unread_share: float
    styles: NotRequired[dict[str, int]]
    n: NotRequired[int]
    """Labelled answers that measure the reader."""
    labellers: NotRequired[int]
    judge: NotRequired[str]
    """The service that gave the labels; "" for people."""
    twice: NotRequired[int]
    kappa: NotRequired[float | None]
    unresolved: NotRequired[int]
    sensitivity: NotRequired[float | None]
    sensitivity_interval: NotRequired[tuple[float | None, float | None]]
    specificity: NotRequired[float | None]
    specificity_interval: NotRequired[tuple[float | None, float | None]]
    positives: NotRequired[int]
    negatives: NotRequired[int]


class RecognitionEntry(TypedDict):
    """What `details.recognition` says of plain and of disguised probes (methods 0.12); null: nothing read."""

    plain: float | None
    disguised: float | None
    difference: float | None
    low: float | None
    high: float | None
    p: float
    sure: bool
    """Whether they are answered differently for sure."""
    value: NotRequired[str]
    """The figure is about mentions of a value that came `back` as one, about a group of an attribute, or
    about two `classes` in texts of one kind of `data`, with `words` of one `valence`."""
    back: NotRequired[str]
    attribute: NotRequired[str]
    group: NotRequired[str]
    classes: NotRequired[list[str]]
    valence: NotRequired[str]
    words: NotRequired[list[str]]
    data: NotRequired[str]
    part: NotRequired[str]
    net: NotRequired[bool]
    """Whether the figures are shares less others."""
    templates: NotRequired[float]
    """Share of the answers that repeat a sentence and that no people read, where most do."""
    issue: NotRequired[str]
    """The figure is the `measure` of an issue, read from the turns of a purpose, or of a step of it."""
    measure: NotRequired[str]
    purpose: NotRequired[str]
    step: NotRequired[str]


class OtherRuleEntry(TypedDict, total=False):
    """What another rule makes of the answers of a part."""

    level: str | None


class PowerEntry(TypedDict, total=False):
    """The smallest effect that the settings find 8 times in 10, by design effect."""

    deff_1: float | None


class RatingDetails(TypedDict, total=False):
    """The keys of a rating's `details` that every report reads; a method adds its own."""

    instrument: InstrumentEntry
    instruments: dict[str, InstrumentEntry]
    """The same by issue, where a method reads several."""
    recognition: RecognitionEntry
    power: PowerEntry | None


class PartDetails(TypedDict, total=False):
    """The keys of a part's `details` that every report reads; a method adds its own."""

    measure: str
    adjust: list[str] | None
    """What the measure adjusts for."""
    protected: str
    """The protected attribute that the part is about."""
    differs: str
    """The one in which the classes of its effect differ, where the part is about several."""
    matrix: list[list[int]]
    """Mentions by value sent and value that came back; none of the values comes last."""
    unread: dict[str, int]
    """Mentions that the reader is not sure of."""
    sent: int
    """Mentions sent, those of a text in each block of it; where some are unread."""
    sound: OtherRuleEntry
    published: OtherRuleEntry


@_entry()
class ProvenanceEntry(TypedDict):
    """What a rating was made from."""

    seed: int
    plan: str
    inputs: str
    answers: str
    versions: dict[str, str]
    started: str
    ended: str
    collected: str
    command: str


@final
@_entry(
    allOf=[
        {
            "if": {"properties": {"state": {"const": "rated"}}},
            "then": {
                "properties": {
                    "overall": {"properties": {"level": {"type": "string"}, "ordinal": {"type": "integer"}}}
                }
            },
        }
    ]
)
class RatingEntry(TypedDict):
    """The rating of one service in one experiment."""

    schema: Literal["trustgauge.rating/1"]
    id: Name
    supersedes: str | None
    service: ServiceEntry
    issue: IssueEntry
    method: MethodEntry
    state: StateName
    reasons: list[ReasonEntry]
    overall: OverallEntry
    parts: list[PartEntry]
    coverage: CoverageEntry
    retest: NotRequired[RetestEntry | None]
    """null where nothing was asked twice."""
    anchors: list[ControlEntry]
    cost: CostEntry | None
    provenance: ProvenanceEntry
    assessor: AssessorEntry
    tested: str
    expires: str
    withdrawn: str | None
    limits: list[ReasonEntry]
    """Limitations: what the rating does not say."""
    details: Object
    gate: NotRequired[GateEntry | None]


@_entry()
class TreeEntry(TypedDict):
    """The Merkle tree over the answers of a run (RFC 6962): its root, and how many rows it has."""

    root: Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]
    rows: Count


@_entry()
class LockEntry(TypedDict):
    """That the plan was locked: its hash and the time, as the one who locked it states it."""

    plan: str
    at: str


@_entry()
class FailureEntry(TypedDict):
    """How calls to a service failed: the most frequent error, and how many ended so."""

    error: str
    calls: Count


@final
@_entry()
class RunEntry(TypedDict):
    """The run that made the ratings."""

    id: str
    name: str
    seed: int
    state: Annotated[str, _choice(*get_args(RunState))]
    """void: a control service got a wrong level, and no rating is issued."""
    hashes: dict[str, str]
    versions: dict[str, str]
    started: str
    ended: str
    expires: str
    collected: str
    command: str
    assessor: AssessorEntry
    services: Object
    costs: Object
    sent: NotRequired[CostEntry | None]
    """All that was sent, calls that left no answer included."""
    uncertain: NotRequired[CostEntry | None]
    """Of what was sent: reserved by runs that were killed, and perhaps never sent."""
    recovered: NotRequired[dict[str, int]]
    """Class of fault (HTTP status, timeout, ...) -> calls that failed and were answered when sent again."""
    anchors: list[ControlEntry]
    paper: dict[str, str]
    stopped: str
    failures: NotRequired[dict[str, FailureEntry]]
    """Only of services that were given up: service or part -> how calls to it failed, in the end."""
    lost: NotRequired[dict[str, FailureEntry]]
    """Only where failed calls leave too little to rate: service or part -> how most of them ended."""
    tree: NotRequired[TreeEntry]
    """The answers, hashed so that some rows can be proven without the others."""
    lock: NotRequired[LockEntry]
    """Only of a plan that was locked before it was run."""


@final
@_entry(
    title=TITLE,
    allOf=[
        {
            "if": {"properties": {"run": {"properties": {"state": {"const": "void"}}}}},
            "then": {"properties": {"ratings": {"maxItems": 0}}},
        }
    ],
)
class RunDocument(TypedDict):
    """One document per run: the run and its ratings, one per experiment and service in plan order.

    Levels are listed best first; `ordinal` is bigger for better. Missing numbers are null, never zero.
    """

    schema: Literal["trustgauge.rating/1"]
    run: RunEntry
    ratings: list[RatingEntry]


@cache
def _adapter() -> TypeAdapter[RunDocument]:
    return TypeAdapter(RunDocument)


def misfit(document: Any) -> str:
    """Where a document that was read from JSON does not have the form of this model; "" if it has."""
    try:
        _adapter().validate_python(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        steps = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in first["loc"]]
        place = "".join(steps).lstrip(".") or "the document"
        words = {"missing": " is missing", "dict_type": " is not an object"}
        return place + words.get(first["type"], f": {first['msg'][:1].lower()}{first['msg'][1:]}")
    except RecursionError:
        return "lists within lists without end"
    return ""


def contradiction(document: RunDocument) -> str:
    """Where a level or a score contradicts what stands beside it, as in no run; "" if none does.

    A level its scale, words, place and certainty, a score its interval.
    """
    found = ((number, _slip(rating)) for number, rating in enumerate(document["ratings"]))
    return next((f"ratings[{number}].{said}" for number, said in found if said), "")


def _slip(rating: RatingEntry) -> str:
    overall = rating["overall"]
    words = {entry["level"]: entry["words"] for entry in overall["scale"]}
    places = {level: len(words) - index for index, level in enumerate(words)}
    level = overall["level"]
    if level is not None and overall["ordinal"] != places.get(level):
        return f"overall.ordinal: {overall['ordinal']} is not the place of {level}"
    whole_and_parts: list[tuple[str, OverallEntry | PartEntry, str]] = [
        ("overall", overall, rating["state"]),
        *((f"parts[{index}]", part, part["state"]) for index, part in enumerate(rating["parts"])),
    ]
    for place, one, state in whole_and_parts:
        level, shares = one["level"], one["certainty"]
        if level is not None and one["words"] != words.get(level):
            return f"{place}.words: {one['words']} are not the words of {level}"
        if shares and (not shares.keys() <= words.keys() or abs(fsum(shares.values()) - 1) > ROUNDING):
            return f"{place}.certainty: not the levels of the scale, or not 1 in all"
        if shares and state == "rated" and shares.get(str(level), 0.0) < LIKELIEST:
            return f"{place}.level: rated {level}, which its certainty speaks against"
        # Rounded, as the ends of an interval without any width may lie a bit of a number beside its score.
        ends = [round(end, 6) for end in (one["low"], one["score"], one["high"]) if end is not None]
        if ends != sorted(ends):
            return f"{place}.score: {one['score']} is outside its interval, {one['low']} to {one['high']}"
    return ""


def document_schema() -> dict[str, object]:
    """The published JSON Schema (2020-12) of `rating.json`."""
    return published_schema(_adapter(), SCHEMA)


def published_schema(adapter: TypeAdapter[Any], identity: str) -> dict[str, object]:
    """The published JSON Schema (2020-12) of a document, by its typed form and the id it is known by."""
    made = _untitled(adapter.json_schema())
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": identity, **made}


def _untitled(schema: Any, *, names: bool = False) -> Any:
    """A schema without the titles that only repeat names; `names` if the keys are names of properties."""
    if isinstance(schema, list):
        return [_untitled(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _untitled(value, names=key in ("properties", "$defs") and not names)
        for key, value in schema.items()
        if names or key != "title" or value == TITLE
    }
