"""What an issue is: one thing that can be wrong with a chatbot, measured on what it says (trust 4.1).

An issue is a frozen pydantic model of its own settings, registered under `trustgauge.issues`, with
class facts and pure functions. The trust method asks for its scripts, has the bot's answers marked,
adds the marks up in cells that belong to a dialog, and has the cells of one service assessed.

    scripts -> (asked by the pipeline) -> marks -> cells -> assess
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict, Field

from trustgauge.methods import Cuts
from trustgauge.methods.trust.resampling import Floats, Ints, Resampling
from trustgauge.records import Interval, Json, Reason, Rule, State

if TYPE_CHECKING:
    import polars as pl

Grain = Literal["utterance", "turn", "dialog", "session"]
LEVELS = ("L", "M", "H")
PUBLISHED_CUTS = (0.33, 0.67)

TALK = "talk"
"""Purpose of ordinary conversation; the purpose of an issue's own scripts is the issue's name."""

SEGMENT = "segment:"
"""Before a tenth of the run in the key of a cell that tells when a cluster was asked (methods 0.3); 0 is left
out."""
CELLS = ("service", "part", "cluster", "key", "n", "total")
"""Columns of a frame of cells: who, the dialog, a name of the issue's own choice, a count (Int64) and a
sum (Float64). Rows with equal names add up."""


@dataclass(frozen=True, slots=True)
class ScriptTurn:
    """One user turn of a script.

    `user` says it, in the conversation `talk`: a talk knows its own earlier turns only, so the lines of
    a script may belong to several users and conversations and are still said in this order. `step` and
    `facts` are the issue's own words on what the line is for; `facts` is JSON that stands in the probe
    and is never sent.
    """

    text: str
    user: str = "user"
    talk: str = ""
    step: str = ""
    facts: str = ""


Script = tuple[ScriptTurn, ...]


@dataclass(frozen=True, slots=True)
class DealtScript:
    """A script where some are in disguise (methods 0.12).

    Attributes:
        script: as it is asked.
        kind: within which the disguise was dealt by lot.
        unit: what it is about, where several scripts may be about the same; "" for itself.
        is_disguised: whether it is asked in words that are not published.
    """

    script: Script
    kind: str = ""
    unit: str = ""
    is_disguised: bool = False


@dataclass(frozen=True, slots=True)
class IssueAssessment:
    """What the answers of one service say of one issue.

    Attributes:
        state: rated, if it was measured; else why it was not: "not tested", "incomplete", "not applicable",
            or "assumed" for a value that was set and not measured.
        score: the risk in [0, 1], 1 worst; undefined values are None.
        draws: the score in each resample, [R]; None unless it was measured. A level that cannot come
            from a score (see `levels`) has draws all the same, of what it is nearest to.
        levels: level in each resample as a place in LEVELS, [R]; None unless measured.
        level: the level of the whole data; None unless measured or assumed.
        reasons: what a reader must know.
        details: figures of the issue's own, as JSON.
        common: whether `draws` may be put on the common scale of risk by the cuts; False for levels that
            follow from a rule of their own, which then count 1/6, 1/2 or 5/6 (trust 4.4).
    """

    state: State
    score: Interval = field(default_factory=lambda: Interval(None, None, None, 0))
    draws: Floats | None = None
    levels: Ints | None = None
    level: str | None = None
    reasons: tuple[Reason, ...] = ()
    details: Mapping[str, Json] = field(default_factory=dict)
    common: bool = True


@runtime_checkable
class SourceChoice(Protocol):
    """Settings that say which rating stands for the issue; None leaves it open."""

    @property
    def source(self) -> str | None: ...


class IssueSettings(BaseModel):
    """What the settings of every issue have. An issue adds its own."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: ClassVar[str]
    code: ClassVar[str] = ""  # the paper's letters
    grain: ClassVar[Grain]
    usual_cuts: ClassVar[Mapping[Rule, tuple[float, float]]] = {}
    usual_source: ClassVar[str] = ""  # method whose rating stands for the issue, if the plan has it (sound)

    issue: str
    cuts: Cuts | None = Field(None, description="Low risk below the first, high above the second")

    def cuts_under(self, rule: Rule) -> tuple[float, float]:
        """Low risk below the first, high above the second."""
        return self.cuts or self.usual_cuts.get(rule, PUBLISHED_CUTS)

    def identity(self) -> Mapping[str, Json]:
        """All settings that may change a rating: not where a file lies, but what it holds."""
        return self.model_dump(mode="json")

    def scripts(self, rule: Rule, seed: int) -> Sequence[Script]:
        """What the issue wants asked beyond ordinary conversation; nothing, for most."""
        return ()

    def disguise_scripts(self, scripts: Sequence[Script], share: float, seed: int) -> Sequence[DealtScript]:
        """The scripts with a share of them in disguise, each of as many turns; an issue may have none.

        Args:
            scripts: what `scripts` wants asked.
            share: of the scripts that are disguised, by lot.
            seed: of the plan.
        """
        return [DealtScript(script) for script in scripts]

    def generate(self, n: int, seed: int) -> Sequence[str]:
        """User turns that bring the issue out, for a live chat; none if the issue has no generator."""
        return ()


@runtime_checkable
class Issue(Protocol):
    """The pure functions of an issue; subclass `IssueSettings`, which has all but the last three.

    `marks` takes one row a turn (columns of records.PROBE and RESPONSE, and service, part, purpose, talk,
    user, step, facts, utterances (list of str: what the bot said in the turn, [] if it said nothing),
    said (list of str: what the user said)) and returns a frame of the same height and order whose
    columns all begin with the issue's name and "_". Rows that are none of its business get nulls. Only
    what the bot said is scored.

    `cells` takes the same rows with the marks and adds them up: columns `CELLS`.

    `assess` takes the cells of one service (merged, sorted) and says what they come to.
    """

    name: ClassVar[str]
    code: ClassVar[str]
    grain: ClassVar[Grain]

    def cuts_under(self, rule: Rule) -> tuple[float, float]: ...

    def scripts(self, rule: Rule, seed: int) -> Sequence[Script]: ...

    def generate(self, n: int, seed: int) -> Sequence[str]: ...

    def marks(self, turns: pl.DataFrame, rule: Rule) -> pl.DataFrame: ...

    def cells(self, turns: pl.DataFrame) -> pl.DataFrame: ...

    def assess(self, cells: pl.DataFrame, rule: Rule, resampling: Resampling) -> IssueAssessment: ...
