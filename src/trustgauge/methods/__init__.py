"""Rating methods: the protocol of a method, and one room a paper, independent of each other."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, NamedTuple, Protocol, Self, runtime_checkable

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PrivateAttr
from typing_extensions import get_protocol_members

from trustgauge.errors import Fault
from trustgauge.records import CUT, Control, Json, JudgeChoice, Rating, Reason, Rule, Scale, Task

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from trustgauge.data.social_groups import GroupSource
    from trustgauge.rating.audit import AuditLabels, Choice

    Schema = Mapping[str, pl.DataType | type[pl.DataType]]


DESIGN_EFFECTS = (1, 2, 5)
"""For which `plan` says what a plan can find; the true one is known after a run only (methods 0.8)."""
Share = Annotated[float, Field(gt=0, lt=1)]


Resamples = Annotated[int, Field(ge=1000, le=1_000_000, description="Resamples behind a certainty")]
"""Resamples behind a certainty (methods 0.5)."""


def _rising(cuts: tuple[float, float]) -> tuple[float, float]:
    if cuts[0] >= cuts[1]:
        raise ValueError("input should be two shares, the smaller first")
    return cuts


Cuts = Annotated[tuple[Share, Share], AfterValidator(_rising)]
"""The shares that separate the best level from the middle one, and the middle one from the worst."""


class MethodSettings(BaseModel):
    """The settings that every experiment has. A method adds its own."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: ClassVar[str]
    paper: ClassVar[str]
    issue_id: ClassVar[str] = ""  # what it rates: the `issue` of its ratings; "": its own name
    version: ClassVar[str]
    scale: ClassVar[Scale]
    tasks: ClassVar[tuple[Task, ...]]

    method: str = Field(description="Name of the method")
    services: tuple[str, ...] = Field(min_length=1, description="Names of services of this plan")
    rule: Rule = Field(
        "sound", description="Our corrections (sound), the paper as printed, or its authors' released code"
    )
    settle: float = Field(0.95, gt=0.5, lt=1, description="Certainty from which a level is settled")
    aggregate: Literal["worst", "mean", "vote"] = Field(
        "worst",
        description="How parts make the overall level: the worst, the mean rounded up, the most frequent",
    )
    constant_services: tuple[str, ...] = Field(
        (), description="Names of services that are meant to give one and the same answer to everything"
    )

    @property
    def scale_in_use(self) -> Scale:
        """The scale of the levels under this rule."""
        return self.scale

    @property
    def score_columns(self) -> tuple[str, ...]:
        """None, unless the method names some; see `Method`."""
        return ()

    def one_answer_is_behaviour(self, scores: pl.DataFrame) -> bool:
        """Never, unless the method can tell; see `Method`."""
        return False

    def identity(self) -> Mapping[str, Json]:
        """All settings that may change a rating: not where a file lies, but what it holds."""
        return self.model_dump(mode="json")

    def in_plan_order(self, ratings: Sequence[Rating]) -> list[Rating]:
        """The ratings of the plan's services in its order, then any others."""
        places = {service: place for place, service in enumerate(self.services)}
        return sorted(ratings, key=lambda one: places.get(one.service, len(places)))


class AuditedSettings(MethodSettings):
    """The settings of a method whose readings of answers people can check; see `AuditUser`."""

    _labels: Mapping[str, AuditLabels] = PrivateAttr(default_factory=dict)

    def with_labels(self, labels: Mapping[str, AuditLabels]) -> Self:
        """This experiment, knowing what was read in an audit of its services' answers."""
        known = self.model_copy()
        known._labels = labels if self.rule == "sound" else {}
        return known

    @property
    def labels(self) -> Mapping[str, AuditLabels]:
        """Service -> what was read in an audit of its answers."""
        return self._labels


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

    `score` takes probe columns joined with `service`, `part`, `segment` and the columns of
    records.RESPONSE, and returns a frame of the same height with scores. `segment` is the tenth of
    the run, 0 to 9, in which the probe was planned to be sent; 0 throughout for a service that shares
    answers (methods 0.3).

    `summarise` turns scores into a summary whose rows add up: merging is a sum over equal keys,
    so shards may be merged in any order (`merge`).

    `rate` turns the summaries of all services of an experiment into ratings.

    `evidence` picks from the scores what a report shows of every text sent and received: service,
    part, id, block, sent, trail, back, status, values_in, values_out, kinds, changed.

    `one_answer_is_behaviour` says of the scores of a part that gave one and the same answer to different
    questions whether this is behaviour to be rated, such as a refusal or a constant score. Where it is not,
    the part is not rated unless `constant_services` of the plan names its service.

    `power` says before a run what the plan can settle with probability .80 (methods 0.8): `deff_1` is the
    smallest effect, None if there is none; other design effects may follow (`DESIGN_EFFECTS`). Nothing if the
    method cannot say.

    What a method may offer beyond this is a protocol of its own: `ServiceComparer`, `GapBounder`,
    `LogRater`, `RatingConsumer`, `ProfileRater`, `SecondJudgeUser`, `AuditUser`, `PartExcluder`,
    `BeforeAfterComparer`, `FigureDoubter`, `LongRater`, `MarginUser`, `WorseThreshold`, `GroupTableUser`,
    `SeedUser`, `PowerAtDesignEffect`, `BestCaseRater`, `LookUser`.
    """

    name: ClassVar[str]
    paper: ClassVar[str]
    issue_id: ClassVar[str]
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
    def score_columns(self) -> tuple[str, ...]:
        """Columns of scores that are equal for two answers which are scored alike; () if there are none."""

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

    def score(self, answers: pl.DataFrame) -> pl.DataFrame: ...

    def summarise(self, scores: pl.DataFrame) -> pl.DataFrame: ...

    def merge(self, summaries: Sequence[pl.DataFrame]) -> pl.DataFrame: ...

    def rate(self, summary: pl.DataFrame, seed: int) -> list[Rating]: ...

    def evidence(self, scores: pl.DataFrame) -> pl.DataFrame: ...

    def one_answer_is_behaviour(self, scores: pl.DataFrame) -> bool: ...

    def controls(self, task: Task) -> tuple[Control, ...]: ...

    def power(self, seed: int) -> Mapping[str, Json]: ...


def absent_members(kind: type) -> list[str]:
    """Members of `Method` that a class lacks, by name; its settings are members too."""
    settings = getattr(kind, "model_fields", {}).keys()
    return sorted(name for name in get_protocol_members(Method) - settings if not hasattr(kind, name))


def method_fault(kind: type, name: str, place: str) -> Fault | None:
    """Why the class of a plug-in cannot rate; None if it has all that a method must have.

    Args:
        kind: the class.
        name: of the plug-in.
        place: of the fault.
    """
    absent = absent_members(kind)
    if not absent:
        return None
    package = kind.__module__.partition(".")[0]
    what, must = f'the method "{name}" is incomplete', "a class with all members of trustgauge.methods.Method"
    do = f"Add it to {kind.__name__}, or mend or remove the package {package}"
    return Fault(place, what, must, f"none called {', '.join(absent)}", do)


@runtime_checkable
class LookUser(Protocol):
    """A method that can stop asking a part at a planned look that settles its level (methods 0.11).

    `stop` is "settled" if the plan wants that, and `looks` says how many there are.
    """

    stop: str
    looks: int

    def look_of(self, probes: pl.DataFrame) -> pl.Series:
        """The look of each probe of one task, from 1 to `looks`; the probes up to each are a design."""

    def expected_calls(self, seed: int) -> float:
        """The share of the calls of all looks that is expected to go out, by simulation."""

    def at_look(self, look: int) -> Method:
        """The experiment as it rates at a look: with the certainty that settles a level there."""


@runtime_checkable
class BestCaseRater(Protocol):
    """A method that knows before anything is asked whether a plan is too small for the best level."""

    def best_case(self, seed: int) -> Reason | None:
        """What keeps a service without any fault from being settled at the best level; None if nothing."""


@runtime_checkable
class PowerAtDesignEffect(Protocol):
    """A method that can say what a plan finds at a design effect that an earlier run measured.

    Its ratings tell the design effect under `deff` in the details of their parts.
    """

    def power_at(self, seed: int, deff: float) -> float | None:
        """The smallest effect that is settled with probability .80 (methods 0.8); None if there is none."""


@runtime_checkable
class LongRater(Protocol):
    """A method whose ratings may take much longer than reading the answers."""

    @property
    def rating_effort(self) -> float:
        """How many times as long as usual rating an answer takes."""


@runtime_checkable
class ServiceComparer(Protocol):
    """A method that compares services beyond their levels.

    Without it services are compared by their levels only, and not ranked.
    """

    def badness_draws(self, summary: pl.DataFrame, seed: int) -> Mapping[str, NDArray[np.float64]]:
        """Service -> how bad it is in each of R resamples, [R]: bigger is worse, NaN is undefined.

        It is the quantity that the level rests on first. Services that were asked the same texts share
        the resamples, so that differences are paired; a service whose badness is unknown is left out.
        """


@runtime_checkable
class GapBounder(Protocol):
    """A method that says how bad a service may be, whatever its missing and unread answers would have said.

    Of other methods a difference counts only where next to nothing is missing or unread.
    """

    def badness_bounds(
        self, summary: pl.DataFrame, seed: int
    ) -> Mapping[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Service -> how bad it is in each of R resamples with all gaps at their best, and at their worst.

        Services that were asked the same texts, and both ends, share the resamples. A service without gaps
        has one badness.
        """


@runtime_checkable
class ChanceBounder(Protocol):
    """A method whose badness is a largest effect, and so above 0 by chance alone."""

    def badness_ends(
        self, summary: pl.DataFrame, seed: int
    ) -> Mapping[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Service -> its badness in each of R resamples without effects that may be none, and with them.

        The latter are `badness_draws`.
        """


class Growth(NamedTuple):
    """How often something bad was recognised in two runs.

    Attributes:
        part: key of the part of the rating that it belongs to.
        before, after: how often, of how many answers or utterances.
        draws: by how much the later share is larger than the earlier one, and than error may be, in each of R
            resamples, [R].
        score_before: what the earlier share adds to the score of its part, at least.
    """

    part: str
    before: tuple[int, int]
    after: tuple[int, int]
    draws: NDArray[np.float64]
    score_before: float


@runtime_checkable
class GrowthFinder(Protocol):
    """A method without `ServiceComparer` that sees whether a service became worse in one thing."""

    def growth(self, before: pl.DataFrame, after: pl.DataFrame, seed: int) -> Growth | None:
        """What is recognised more often in the later of two runs that asked the same; None if nobody can say.

        Args:
            before: summary of one service in the earlier run.
            after: in the later one.
            seed: of the experiment.
        """


@runtime_checkable
class FigureDoubter(Protocol):
    """A method whose reasons may say that its figure shows little of a service, whatever its level."""

    figure_doubts: ClassVar[Mapping[str, str]]
    """What such a reason says of a service, by its code: "gave every text the same score". Where it is given
    for one of two ratings only, they are not subtracted."""


@runtime_checkable
class LogRater(Protocol):
    """A method that rates logs: answers which somebody else asked for."""

    def log_probes(self, probes: pl.DataFrame) -> pl.DataFrame:
        """The probes of a log with the factors of `design`.

        Args:
            probes: columns of records.PROBE, and user, talk, purpose, step, facts.
        """


@runtime_checkable
class RatingConsumer(Protocol):
    """A method that takes the ratings of earlier experiments of the run into account."""

    def with_ratings(self, ratings: Sequence[Rating]) -> Method:
        """A copy that knows these ratings; control services are rated without."""


@runtime_checkable
class ProfileRater(Protocol):
    """A method that gives a service several ratings, one for each profile of users."""

    @property
    def profiles(self) -> tuple[str, ...]:
        """Names of the profiles; a rating names its profile as `attribute`."""


@runtime_checkable
class SecondJudgeUser(JudgeChoice, Protocol):
    """A method that may have a second judge, a service of the plan, score what its own rules leave open."""

    def evaluation_prompts(self) -> list[str]:
        """What the judge is asked so that its errors can be measured (methods 0.10)."""

    def referral_prompts(self, scores: pl.DataFrame) -> list[str]:
        """What it is asked about scored answers, each prompt once."""

    def pending_prompts(self, scores: pl.DataFrame) -> int:
        """How many of its prompts have no reply yet."""

    def with_replies(self, replies: Mapping[str, str | None]) -> Method:
        """A copy that knows the judge's replies, by prompt."""


@runtime_checkable
class AuditUser(Protocol):
    """A method whose readings of answers can be checked by people, and corrected by it (methods 0.10 (4))."""

    @property
    def audit_choices(self) -> Mapping[str, Sequence[Choice]]:
        """Kind of answer -> the labels that it can have."""

    def audit_frame(self, scores: pl.DataFrame, rating: Rating) -> pl.DataFrame:
        """What can be labelled of one service: columns `rating.audit.AUDIT_FRAME`.

        Args:
            scores: all scored answers of the service.
            rating: its rating without an audit, which says what the level rests on.
        """

    def with_labels(self, labels: Mapping[str, AuditLabels]) -> Method:
        """A copy that knows the labels, by service; scores and ratings then follow from them too."""


@runtime_checkable
class LabelUser(Protocol):
    """An `AuditUser` that says which labels it knows."""

    @property
    def labels(self) -> Mapping[str, AuditLabels]:
        """Service -> what was read in an audit of its answers."""

    def with_labels(self, labels: Mapping[str, AuditLabels]) -> Method:
        """As `AuditUser` has it."""


@runtime_checkable
class UnreadLabelUser(Protocol):
    """A method that takes labels of answers it could not read in place of a reading (methods 0.10 (4))."""

    @property
    def fills_unread(self) -> bool: ...


@runtime_checkable
class OneWayRater(Protocol):
    """A method that may read translations in the language that they are in; "" where it reads round trips.

    `source` is the language that it asks in, "" for English.
    """

    @property
    def one_way(self) -> str: ...

    @property
    def source(self) -> str: ...


@runtime_checkable
class PartExcluder(Protocol):
    """A method that leaves parts of a service out of a second overall level: their keys."""

    @property
    def excluding(self) -> Sequence[str]: ...


@runtime_checkable
class BeforeAfterComparer(Protocol):
    """A method that compares services with what they were before: service after -> service before."""

    @property
    def before(self) -> Mapping[str, str]: ...


@runtime_checkable
class MarginUser(Protocol):
    """A method with a margin: the largest effect that is none, in the unit of its levels."""

    @property
    def margin(self) -> float: ...


@runtime_checkable
class WorseThreshold(Protocol):
    """A method that says from which P(A worse than B) on A is placed behind B."""

    @property
    def worse(self) -> float: ...


@runtime_checkable
class SeedUser(Protocol):
    """A method whose texts hold what is made for every seed (methods 0.12)."""

    def with_seed(self, seed: int) -> Method:
        """A copy that knows the seed of its experiment; itself where it needs none."""


@runtime_checkable
class GroupTableUser(Protocol):
    """A method that may have its own table of social groups; None for the shipped one."""

    @property
    def group_table(self) -> GroupSource | None: ...


def sum_by_keys(
    rows: pl.DataFrame, keys: Collection[str], sums: Mapping[str, pl.Expr], schema: Schema
) -> pl.DataFrame:
    """Sums over equal keys, sorted by the keys.

    Keys that are the same in all rows, as most are of one service, change neither groups nor order, but
    would cost most of the time: they are left out and put back.

    Args:
        rows: any number of them.
        keys: names of columns; null is a value like others.
        sums: what is added up in each group, by name.
        schema: columns of the result and their types, in order: the keys and the sums.

    >>> import polars as pl
    >>> rows = pl.DataFrame({"a": ["x", "x"], "b": [2, 1], "n": [3, 4]})
    >>> sum_by_keys(rows, ["a", "b"], {"n": pl.col("n").sum()}, rows.schema).rows()
    [('x', 1, 4), ('x', 2, 3)]
    """
    import polars as pl

    if rows.is_empty():
        return pl.DataFrame(schema=schema)
    first = rows.select(*keys).row(0, named=True)
    alike = rows.select(pl.col(name).eq_missing(pl.col(name).first()).all() for name in keys).row(0)
    varying = [name for name, same in zip(keys, alike, strict=True) if not same]
    constant = {name: pl.lit(first[name], schema[name]) for name in keys if name not in varying}
    if varying:
        found = rows.lazy().group_by(varying).agg(**sums).sort(varying).collect()
    else:
        found = rows.select(**sums)
    return found.with_columns(**constant).cast(dict(schema)).select(list(schema))  # type: ignore[arg-type]
