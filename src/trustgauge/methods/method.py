"""What a rating method is: the protocol that every room follows.

A method is a frozen pydantic model of its own settings (registered under `trustgauge.methods`),
with class facts and pure functions. It knows nothing of networks, stores, clocks or screens.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Protocol, runtime_checkable

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from trustgauge.records import CUT, Control, Json, Rating, Rule, Scale, Task

if TYPE_CHECKING:
    import polars as pl


Share = Annotated[float, Field(gt=0, lt=1)]


def _rising(cuts: tuple[float, float]) -> tuple[float, float]:
    if cuts[0] >= cuts[1]:
        raise ValueError("input should be two shares, the smaller first")
    return cuts


Cuts = Annotated[tuple[Share, Share], AfterValidator(_rising)]
"""The shares that separate the best level from the middle one, and the middle one from the worst."""
Resamples = Annotated[int, Field(ge=1000, le=1_000_000)]
"""Resamples behind a certainty (methods 0.5)."""


class MethodSettings(BaseModel):
    """The settings that every experiment has. A method adds its own."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: ClassVar[str]
    paper: ClassVar[str]
    version: ClassVar[str]
    scale: ClassVar[Scale]
    tasks: ClassVar[tuple[Task, ...]]

    method: str
    services: tuple[str, ...]
    rule: Rule = "sound"
    settle: float = Field(0.95, gt=0.5, lt=1, description="Certainty from which a level is settled")
    aggregate: Literal["worst", "mean", "vote"] = "worst"
    constant_services: tuple[str, ...] = ()  # that are meant to give one answer to everything

    @property
    def scale_in_use(self) -> Scale:
        """The scale of the levels under this rule."""
        return self.scale

    @property
    def reading(self) -> tuple[str, ...]:
        """None, unless the method names some; see `Method`."""
        return ()

    def one_answer_is_behaviour(self, marks: pl.DataFrame) -> bool:
        """Never, unless the method can tell; see `Method`."""
        del marks
        return False

    def identity(self) -> Mapping[str, Json]:
        """All settings that may change a rating: not where a file lies, but what it holds."""
        return self.model_dump(mode="json")


def cut_short(answers: pl.DataFrame) -> pl.Series:
    """Which answers ended at the most tokens (`records.CUT`); none of a frame that does not tell."""
    if "error" not in answers.columns:
        return answers["status"].is_null() & answers["status"].is_not_null()
    return answers["error"].fill_null("") == CUT


@runtime_checkable
class Method(Protocol):
    """The pure functions of a method.

    `design` yields probe frames: the columns of records.PROBE and the method's factors. It is
    lazy and depends on settings and seed only.

    `check` takes probe columns joined with `service`, `part`, `segment` and the columns of
    records.RESPONSE, and returns a frame of the same height with marks. `segment` is the tenth of
    the run, 0 to 9, in which the probe was planned to be sent; 0 throughout for a service that shares
    answers (methods 0.3).

    `summarise` turns marks into a summary whose rows add up: merging is a sum over equal keys,
    so shards may be merged in any order (`merge`).

    `rate` turns the summaries of all services of an experiment into ratings.

    `evidence` picks from the marks what a report shows of every text sent and received: service,
    part, id, block, sent, trail, back, status, values_in, values_out, kinds, changed.

    `one_answer_is_behaviour` says of the marks of a part that gave one and the same answer to different
    questions whether this is behaviour to be rated, such as a refusal or a constant score. Where it is not,
    the part is not rated unless `constant_services` of the plan names its service.

    A method may also have `standing(summary, seed) -> dict[str, array]`: service -> how bad it is in
    each of R resamples [R] (bigger is worse, NaN undefined), in the quantity that its level rests
    on. Services that were asked the same texts share the resamples, so that their differences are
    paired. A service whose badness is unknown is left out. Without this function services are
    compared by their levels only, and not ranked.

    And it may have
    - `scripted(probes) -> frame`: the probes of a log (columns of records.PROBE, user, talk, purpose, step,
      facts) with the factors of `design`; without it the method rates no logs.
    - `given(ratings) -> Method`: a copy that knows what earlier experiments of the run came to; controls are
      rated without.
    - `rated_for`: a sequence of what it rates each service for (profiles of users), a rating each; without
      it there is one rating a service.
    """

    name: ClassVar[str]
    paper: ClassVar[str]
    version: ClassVar[str]
    scale: ClassVar[Scale]
    tasks: ClassVar[tuple[Task, ...]]

    @property
    def rule(self) -> Rule:
        """The rule set in use."""

    @property
    def scale_in_use(self) -> Scale:
        """The scale of the levels under this rule: `scale` unless the rule has one of its own."""

    @property
    def reading(self) -> tuple[str, ...]:
        """Columns of marks, where there are such, that are equal for two answers which are read alike."""

    @property
    def constant_services(self) -> tuple[str, ...]:
        """Services that are meant to give one answer to everything."""

    @property
    def texts(self) -> int:
        """Texts (or questions) of a block, for the lines that announce a run."""

    @property
    def issue(self) -> str:
        """What is rated, in a word: the attribute, such as gender."""

    def design(self, seed: int, task: Task) -> Iterator[pl.DataFrame]: ...

    def check(self, answers: pl.DataFrame) -> pl.DataFrame: ...

    def summarise(self, marks: pl.DataFrame) -> pl.DataFrame: ...

    def merge(self, summaries: Sequence[pl.DataFrame]) -> pl.DataFrame: ...

    def rate(self, summary: pl.DataFrame, seed: int) -> list[Rating]: ...

    def evidence(self, marks: pl.DataFrame) -> pl.DataFrame: ...

    def one_answer_is_behaviour(self, marks: pl.DataFrame) -> bool: ...

    def controls(self, task: Task) -> tuple[Control, ...]: ...

    def power(self, seed: int) -> Mapping[str, Json]: ...
