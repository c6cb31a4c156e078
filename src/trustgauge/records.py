"""What is kept and passed on: scales, ratings, reasons, labels, profiles, and the columns of the tables.

Rows where rows are many travel as Polars frames; their columns are named here, as plain
dictionaries, so that importing this module loads no data library. Only the few final things
are objects.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any, Literal, Protocol, runtime_checkable

Json = Any
"""Anything `json.dumps` can write without help."""

State = Literal["rated", "not settled", "incomplete", "inferred", "assumed", "not applicable", "not tested"]
Status = Literal["answered", "refused", "empty", "unreadable", "failed"]
"""What became of a call. A method that reads answers may add "unread": it came, and the reader abstains."""
Rule = Literal["sound", "published", "released"]
Task = Literal["translate", "score", "chat"]
Relationship = Literal["third party", "first party", "customer", "not stated"]
SCHEMA: Literal["trustgauge.rating/1"] = "trustgauge.rating/1"
"""The form of `rating.json`."""
RunState = Literal["complete", "incomplete", "void"]

PROBE = {
    "id": "str",  # readable and unique within the experiment: "u1-007"
    "message": "str",  # the text sent (for a session: the user turn)
    "session": "str",  # "" unless the message is a turn of a session
    "turn": "int",  # 0 for the first turn
    "draw": "int",  # (occurrence of the message in the experiment) x repeats + repeat
    "block": "str",  # what shares one input distribution or setting
}
"""Columns of every probe frame. A method adds its own factors as further typed columns.

Two of them mean something to asking: `user` and `talk` say who says a turn of a session, and in which of
its conversations (see Message.cast).
"""

RESPONSE = {
    "status": "str",  # a Status
    "output": "str",  # text of the answer; a score is written with repr(); null if failed
    "trail": "str",  # JSON list of intermediate texts of a composite
    "error": "str",  # error code when failed; `CUT` or `TOO_LONG` of an answer that came; else ""
    "millis": "float",  # latency of the successful attempt
    "attempts": "int",
    "tokens": "int",
    "usd": "float",
    "at": "str",  # ISO 8601, UTC
}
"""Columns that asking adds to a probe frame; before them stand `service` and `part`."""

UNNAMED = "unnamed"
"""The title of a plan that has none."""


@dataclass(frozen=True, slots=True)
class Message:
    """What one call asks: a text, or the next user turn of a session.

    `draw` tells repeated calls with one text apart. `turns` are the (user, bot) exchanges of
    the conversation so far; `script` holds all user turns of the session as planned, and `turn` is the
    place of this one among them.

    A session may be a scene of several users and conversations, asked in order: `cast` then holds the
    (user, talk) of each turn of the script, and `turns` the exchanges of this turn's talk only.
    """

    text: str
    draw: int = 0
    session: str = ""
    user: str = ""
    turns: tuple[tuple[str, str], ...] = ()
    script: tuple[str, ...] = ()
    turn: int = 0
    cast: tuple[tuple[str, str], ...] = ()

    @property
    def talk(self) -> str:
        """The conversation this turn belongs to: what a service must not mix with another."""
        return f"{self.session}/{self.cast[self.turn][1]}" if self.cast else self.session

    @property
    def place(self) -> Json:
        """What the key of a turn follows from: script, who says what, and which turn it is."""
        return _place_of(self.script, self.cast or self.user, self.turn)

    @property
    def key(self) -> str:
        """Content key: the text alone, or the whole script, its users and the turn of a session."""
        if self.session:
            return _turn_key(self.script, self.cast or self.user, self.turn)
        return _message_key(self.text)


def _place_of(script: tuple[str, ...], said: str | tuple[tuple[str, str], ...], turn: int) -> Json:
    return [list(script), said if isinstance(said, str) else [list(one) for one in said], turn]


# Kept, since the same texts and turns go to every service of a run, and are looked up by their keys there.
@lru_cache(maxsize=1 << 16)
def _turn_key(script: tuple[str, ...], said: str | tuple[tuple[str, str], ...], turn: int) -> str:
    return digest("turn", _place_of(script, said, turn))


@lru_cache(maxsize=1 << 16)
def _message_key(text: str) -> str:
    return digest("message", text)


ANSWERED_AS = "answered as "
"""How the `detail` of an answer begins whose service says what it answered with (`Reply.answered_as`)."""
ESTIMATED = " (tokens estimated)"
"""How the `detail` of an answer ends whose service does not count its tokens (`Reply.estimated`)."""
LOST_OUTPUT = "lost_output"
"""Column of answers: what was said in a turn of a session that broke off later; null else.

The turn counts as failed, as the session is asked again; what the service gave away in it was given away.
"""
CUT = "cut"
"""The `error` of an answer that came but ended at the most tokens: each method says how far it reads it."""
TOO_LONG = "too-long"
"""The `error` of an answer that came but has too many characters to be judged."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a service answered. `trail` holds the intermediate texts of a composite.

    `cut`: the answer ended at the most tokens (`max_tokens`), not where the service would have ended it.
    `answered_as`: what the service says it answered with, in words: model, fingerprint, version; or "".
    `estimated`: its tokens follow from characters, as the service does not count them.
    """

    output: str | float
    trail: tuple[str, ...] = ()
    refused: bool = False
    tokens: int = 0
    usd: float = 0.0
    cut: bool = False
    answered_as: str = ""
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """One row of the response table: the outcome of asking one message, after all retries."""

    fingerprint: str
    message: str  # Message.key
    draw: int
    text: str  # the text that was sent
    status: Status
    output: str | None
    trail: tuple[str, ...] = ()
    error: str = ""
    detail: str = ""  # error in words, secrets redacted; of an answer, who gave it, as far as it is known
    millis: float = 0.0
    attempts: int = 1
    tokens: int = 0
    usd: float = 0.0
    at: str = ""
    script: str = ""  # of a session turn: canonical JSON [script, user, turn], from which its key follows


@dataclass(frozen=True, slots=True)
class Scale:
    """Levels from best to worst, each with its words. Direction is never left to the reader."""

    name: str
    levels: tuple[str, ...]
    words: tuple[str, ...]

    @property
    def words_by_level(self) -> dict[str, str]:
        """The words of each level, best first."""
        return dict(zip(self.levels, self.words, strict=True))

    def ordinal(self, level: str) -> int:
        """Bigger is better: the worst level is 1."""
        return len(self.levels) - self.levels.index(level)

    def worst(self, levels: list[str] | tuple[str, ...]) -> str:
        return max(levels, key=self.levels.index)


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with its 95 % interval and the number of observations. Undefined values are None."""

    value: float | None
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True, slots=True)
class Retest:
    """How the answers to questions that were asked a second time in a run agree with the first ones.

    Shares with Wilson's intervals, of n questions that were answered both times: `equal` answers, `alike`
    as the method reads them (None if it names no reading), and of these the ones that were asked again
    `near` in time, within three tenths of the run, and `far`. Near ones that agree more tell that answers
    depend on what was answered shortly before.
    """

    equal: Interval
    alike: Interval | None
    near: Interval
    far: Interval


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a rating is as it is: a code, facts and ids of evidence. Sentences are made in `reports`."""

    code: str
    facts: Mapping[str, Json] = field(default_factory=dict)
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Coverage:
    """What became of the planned probes (methods 0.4)."""

    planned: int = 0
    answered: int = 0
    refused: int = 0
    empty: int = 0
    unreadable: int = 0
    failed: int = 0
    unread: int = 0  # came, and the reader abstains: bounded, never called missing (methods 0.10)
    not_applicable: int = 0


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a rating: a middle language, a word set, a group, an issue."""

    key: str
    state: State
    level: str | None = None
    certainty: Mapping[str, float] = field(default_factory=dict)  # level -> share, empty if none
    score: Interval | None = None
    unchanged: Interval | None = None
    p: float | None = None
    counts: Mapping[str, Json] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    more_texts: int | None = None  # texts that would settle it
    reasons: tuple[Reason, ...] = ()
    coverage: Coverage = field(default_factory=Coverage)
    details: Mapping[str, Json] = field(default_factory=dict)  # what the method wants kept


@dataclass(frozen=True, slots=True)
class Rating:
    """What one method says of one service under one rule. The overall level follows from the parts."""

    service: str
    method: str
    version: str
    rule: Rule
    attribute: str
    scale: Scale
    state: State
    level: str | None
    certainty: Mapping[str, float]
    parts: tuple[Part, ...]
    score: Interval | None = None
    unchanged: Interval | None = None
    worst: tuple[str, ...] = ()
    retest: Retest | None = None  # of a service that varies
    reasons: tuple[Reason, ...] = ()
    limits: tuple[Reason, ...] = ()  # what the rating does not say
    options: Mapping[str, Json] = field(default_factory=dict)
    details: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Profile:
    """A kind of user: a name and an order of issues, most important first."""

    name: str
    order: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Control:
    """A control service that a method wants beside every target, and the level it must get (methods 0.9)."""

    name: str
    settings: Mapping[str, Json]  # of the service plug-in named by its key "use"
    truth: str  # a level; or several, "1 or 2", where chance may give either
    part: str = ""  # of the rating, whose level it is; "" for the rating's own


@dataclass(frozen=True, slots=True)
class ServiceFacts:
    """What a label says of the rated service."""

    name: str
    kind: str
    task: Task
    version: str = ""
    provider: str = ""
    fingerprint: str = ""
    parts: Mapping[str, str] = field(default_factory=dict)  # part key -> fingerprint
    deterministic: bool = False
    answered_as: tuple[str, ...] = ()  # what its answers say they came from: model, fingerprint, version
    talked_with: str = ""  # of answers recorded in live chat: fingerprint of the service that gave them
    place: str = ""  # digest of what is asked, whatever its version: one history in a catalogue


@dataclass(frozen=True, slots=True)
class Cost:
    """What was spent on one service. `calls` counts every attempt of this and earlier sittings."""

    calls: int = 0
    usd: float = 0.0
    tokens: int = 0
    seconds: float = 0.0
    latency_median_ms: float | None = None
    tokens_estimated: int = 0
    """Of `tokens`, those that follow from characters, as the service does not count them."""


@dataclass(frozen=True, slots=True)
class ControlResult:
    """How a control of known truth was rated in this run."""

    name: str
    truth: str
    state: State
    level: str | None
    certainty: Mapping[str, float]
    also: Mapping[str, str] = field(default_factory=dict)  # other rule -> its level
    issue: str = ""
    """What it was rated for, in a word: controls of one name in two experiments may differ in it."""

    @property
    def wrong(self) -> bool:
        """Whether it was settled at a level that it is not built as; `truth` may allow several: "1 or 2"."""
        return self.state == "rated" and self.level not in self.truth.split(" or ")


@dataclass(frozen=True, slots=True)
class ServiceFailure:
    """How calls to a service failed: the most frequent error, and how many ended so."""

    error: str
    calls: int


@dataclass(frozen=True, slots=True)
class Assessor:
    """Who rated, in what relationship to the provider, and who paid."""

    name: str = "not stated"
    relationship: Relationship = "not stated"
    paid_by: str = "not stated"


@dataclass(frozen=True, slots=True)
class RunFacts:
    """The facts of a run that stand beside its ratings in `rating.json`."""

    id: str
    name: str
    seed: int
    state: RunState
    hashes: Mapping[str, str]  # plan, inputs, answers
    versions: Mapping[str, str]
    started: str
    ended: str
    expires: str  # a date
    collected: str  # "by API", "from a log", "by hand"
    command: str  # that runs it again
    assessor: Assessor
    services: Mapping[str, ServiceFacts]
    costs: Mapping[str, Cost]
    controls: tuple[ControlResult, ...]
    paper: Mapping[str, str] = field(default_factory=dict)  # method -> paper
    issues: Mapping[str, str] = field(default_factory=dict)  # method -> what it rates
    sent: Cost = Cost()  # all that went out, the calls that left no answer too; seconds are not counted here
    uncertain: Cost = Cost()  # of these: reserved by sittings that were killed, and perhaps never sent
    recovered: Mapping[str, int] = field(default_factory=dict)  # class of fault -> calls answered when resent
    stopped: str = ""  # why an incomplete run stopped: "limit reached: calls 8000"
    failures: Mapping[str, ServiceFailure] = field(default_factory=dict)  # part that was given up -> how
    lost: Mapping[str, ServiceFailure] = field(default_factory=dict)  # part that misses too much -> why
    tree: Mapping[str, Any] = field(default_factory=dict)  # root and rows of the Merkle tree over the answers
    lock: Mapping[str, str] = field(default_factory=dict)  # plan and time, if the plan was locked


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def canonical(value: Json) -> str:
    """The one way of writing a value as JSON: sorted keys, no spaces, no NaN, UTF-8."""
    return _ENCODER.encode(value)


def json_or_none(text: str | bytes) -> Any:
    """What a JSON text of anybody holds; None where it is no JSON, or nested too deeply."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def whole_characters(text: str) -> str:
    """The text with half characters (lone surrogates), which can be neither stored nor sent, as U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def digest(tag: str, value: Json) -> str:
    """BLAKE2b of the canonical JSON of `value`, tagged by what it is: 32 hex digits."""
    data = f"{tag}\0{canonical(value)}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def is_json(value: Any) -> bool:
    """Whether a value can be written as JSON."""
    try:
        canonical(value)
    except (TypeError, ValueError):
        return False
    return True


def plain(record: Any) -> Json:
    """A record as dictionaries, lists and scalars, ready for JSON."""
    return _plain(asdict(record))


def _plain(value: Any) -> Json:
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value


@runtime_checkable
class JudgeChoice(Protocol):
    """An experiment that may name a service of its plan as a second judge; "" if it has none."""

    @property
    def second_judge(self) -> str: ...
