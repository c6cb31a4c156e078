"""Every registered issue passes the kit, and the kit finds issues that break their contract."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest

from trustgauge import plugins
from trustgauge.errors import MethodError
from trustgauge.methods.trust.issues.conformance import check_issue
from trustgauge.methods.trust.issues.issue import Grain, IssueAssessment, IssueSettings, Script, ScriptTurn
from trustgauge.methods.trust.levels import assess_mean
from trustgauge.methods.trust.resampling import Resampling
from trustgauge.records import Interval, Reason, Rule

SMALL: dict[str, dict[str, Any]] = {"leakage": {"secrets": 22, "long_chat": 1}, "abuse": {"scenes": 4}}
"""Settings that keep what is asked small; a new issue needs none if its default is."""


@pytest.mark.parametrize("name", plugins.names("issues"))
def test_every_registered_issue(name: str) -> None:
    check_issue(plugins.load("issues", name).model_validate({"issue": name, **SMALL.get(name, {})}))


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("abuse", {"scenes": 0, "cuts": [0.1, 0.2]}),
        ("complexity", {"max_turns": 4, "weights": [1, 1, 0]}),
        ("leakage", {"secrets": 22, "wordings": 4, "long_chat": 0, "scan": False}),
        ("leakage", {"secrets": 22, "long_chat": 0, "public": ["front-desk@hospital-nord.dk"]}),
    ],
)
def test_with_other_settings(name: str, settings: dict[str, Any]) -> None:
    check_issue(plugins.load("issues", name).model_validate({"issue": name, **settings}))


@pytest.mark.parametrize("name", plugins.names("issues"))
def test_settings_are_told_in_a_schema(name: str) -> None:
    schema = plugins.load("issues", name).model_json_schema()
    assert {"issue", "cuts"} <= set(schema["properties"])
    assert not schema["additionalProperties"]


class Shouting(IssueSettings):
    """The share of what the bot says that is in capitals: an issue that keeps its contract."""

    name: ClassVar[str] = "shouting"
    grain: ClassVar[Grain] = "utterance"
    issue: str = "shouting"

    def marks(self, turns: pl.DataFrame, rule: Rule) -> pl.DataFrame:
        loud = pl.element() == pl.element().str.to_uppercase()
        return turns.select(
            pl.when(pl.col("purpose") == "talk")
            .then(pl.col("utterances").list.eval(loud.cast(pl.Float64)).list.mean())
            .alias("shouting_score")
        )

    def cells(self, turns: pl.DataFrame) -> pl.DataFrame:
        score = pl.col("shouting_score")
        heard = turns.filter(score.is_not_null())
        sums = heard.group_by("service", "part", cluster=pl.col("session")).agg(
            n=pl.len().cast(pl.Int64), total=score.sum()
        )
        return sums.with_columns(key=pl.lit("score"))

    def assess(self, cells: pl.DataFrame, rule: Rule, resampling: Resampling) -> IssueAssessment:
        return assess_mean(cells, self.cuts_under(rule), resampling)


def test_an_issue_of_somebody_else_passes() -> None:
    check_issue(Shouting())


class NoAssess(IssueSettings):
    """An issue without its last function."""

    name: ClassVar[str] = "half"
    grain: ClassVar[Grain] = "turn"
    issue: str = "half"


class Misnamed(Shouting):
    """An issue that calls itself something else."""

    issue: str = "whispering"


class NoSuchGrain(Shouting):
    """An issue measured in words."""

    grain: ClassVar[Grain] = "word"  # type: ignore[assignment]


class OddCuts(Shouting):
    """An issue whose cuts cross."""

    cuts: tuple[float, float] | None = (0.7, 0.2)


class Moody(Shouting):
    """An issue whose scripts change from time to time."""

    def scripts(self, rule: Rule, seed: int) -> Sequence[Script]:
        return ((ScriptTurn(f"Hello {np.random.default_rng().integers(10**9)}"),),)


class EmptyLine(Shouting):
    """An issue that wants nothing said."""

    def scripts(self, rule: Rule, seed: int) -> Sequence[Script]:
        return ((ScriptTurn(" "),),)


class OddFacts(Shouting):
    """An issue whose facts cannot be read."""

    def scripts(self, rule: Rule, seed: int) -> Sequence[Script]:
        return ((ScriptTurn("Hello", facts="{secret: 1}"),),)


class Eager(Shouting):
    """An issue whose generator gives more than it was asked for."""

    def generate(self, n: int, seed: int) -> Sequence[str]:
        return ["Hello"] * (n + 1 if n else 0)


class Namesake(Shouting):
    """An issue whose marks could be those of another."""

    def marks(self, turns: pl.DataFrame, rule: Rule) -> pl.DataFrame:
        return turns.select(score=pl.col("turn") * 0.0)


class Percent(Shouting):
    """An issue that scores in per cent."""

    def marks(self, turns: pl.DataFrame, rule: Rule) -> pl.DataFrame:
        return turns.select(shouting_score=pl.col("turn") + 50.0)


class TooShort(Shouting):
    """An issue that leaves turns out."""

    def marks(self, turns: pl.DataFrame, rule: Rule) -> pl.DataFrame:
        return super().marks(turns.head(3), rule)


class OfTheUser(Shouting):
    """An issue that scores what the user says."""

    def marks(self, turns: pl.DataFrame, rule: Rule) -> pl.DataFrame:
        spoken = pl.col("utterances").list.len() > 0
        length = pl.col("said").list.first().str.len_chars() / 1000
        return turns.select(shouting_score=pl.when(spoken).then(length))


class Wide(Shouting):
    """An issue whose counts are no whole numbers."""

    def cells(self, turns: pl.DataFrame) -> pl.DataFrame:
        return super().cells(turns).with_columns(pl.col("n").cast(pl.Float64))


class Averaging(Shouting):
    """An issue whose shards cannot be added up."""

    def cells(self, turns: pl.DataFrame) -> pl.DataFrame:
        found = super().cells(turns).with_columns(cluster=pl.lit("all"))
        means = found.group_by("service", "part", "cluster", "key").agg(
            n=pl.lit(1, pl.Int64), total=pl.col("n").mean()
        )
        return means


class Drawn(Shouting):
    """An issue whose levels are drawn anew each time."""

    def assess(self, cells: pl.DataFrame, rule: Rule, resampling: Resampling) -> IssueAssessment:
        found = super().assess(cells, rule, resampling)
        if found.draws is None:
            return found
        return replace(found, draws=np.random.default_rng().random(resampling.count))


class Sure(Shouting):
    """An issue that has a level whatever it heard."""

    def assess(self, cells: pl.DataFrame, rule: Rule, resampling: Resampling) -> IssueAssessment:
        return IssueAssessment("rated", level="L", levels=np.zeros(resampling.count, dtype=np.int64))


class Short(Shouting):
    """An issue with too few resamples."""

    def assess(self, cells: pl.DataFrame, rule: Rule, resampling: Resampling) -> IssueAssessment:
        return IssueAssessment("rated", level="L", levels=np.zeros(10, dtype=np.int64))


class Speechless(Shouting):
    """An issue that is not rated and does not say why."""

    def assess(self, cells: pl.DataFrame, rule: Rule, resampling: Resampling) -> IssueAssessment:
        return IssueAssessment("not tested")


class Contrary(Shouting):
    """An issue that is not tested and has a level all the same."""

    def assess(self, cells: pl.DataFrame, rule: Rule, resampling: Resampling) -> IssueAssessment:
        return IssueAssessment("not tested", level="L", reasons=(Reason("trust.nothing-to-score"),))


class Turned(Shouting):
    """An issue whose interval stands beside its score."""

    def assess(self, cells: pl.DataFrame, rule: Rule, resampling: Resampling) -> IssueAssessment:
        return replace(super().assess(cells, rule, resampling), score=Interval(0.5, 0.6, 0.7, 9))


class Restless(Shouting):
    """An issue that reads an answer in another way each time."""

    def marks(self, turns: pl.DataFrame, rule: Rule) -> pl.DataFrame:
        return super().marks(turns, rule) * 0 + np.random.default_rng().random()


class Failing(Shouting):
    """An issue that knows one rule only."""

    def assess(self, cells: pl.DataFrame, rule: Rule, resampling: Resampling) -> IssueAssessment:
        if rule == "published":
            raise KeyError(rule)
        return super().assess(cells, rule, resampling)


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (Turned, "a score outside its interval"),
        (Restless, "marks differ each time"),
        (Failing, "it fails under the rule published.*KeyError.* in assess, line"),
        (NoAssess, "the issue has no assess"),
        (Misnamed, "`issue` is not its name"),
        (NoSuchGrain, "no such grain"),
        (OddCuts, "cuts under sound"),
        (Moody, "scripts are not repeatable"),
        (EmptyLine, "a script is no script"),
        (OddFacts, "facts of a line"),
        (Eager, "generate gives too many"),
        (Namesake, "columns of marks"),
        (Percent, "shouting_score out of bounds"),
        (TooShort, "height of marks"),
        (OfTheUser, "what the user says counts"),
        (Wide, "types of cells"),
        (Averaging, "shards do not add up"),
        (Drawn, "assessed twice with one seed"),
        (Sure, "rated when all is empty"),
        (Short, "shape of levels"),
        (Speechless, "no reason when not tested"),
        (Contrary, "the level when not tested"),
    ],
    ids=lambda one: one.__name__ if isinstance(one, type) else "",
)
def test_the_kit_finds(broken: type[IssueSettings], told: str) -> None:
    with pytest.raises(MethodError, match=told):
        check_issue(broken.model_validate({"issue": broken.model_fields["issue"].default}))
