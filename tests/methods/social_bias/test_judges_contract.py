"""Every judge keeps to the contract of judges, and the kit finds one that does not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from trustgauge import plugins
from trustgauge.errors import MethodError, PlanError
from trustgauge.methods.social_bias.judges.conformance import check_judge
from trustgauge.methods.social_bias.judges.dispatch import READ
from trustgauge.methods.social_bias.judges.model import ModelJudge
from trustgauge.methods.social_bias.judges.protocol import NO_PROMPTS, Groups, RuleJudge

ARGUMENTS = {"embedding": "vectors.txt", "model": "critic"}


@pytest.mark.parametrize("name", plugins.names("judges"))
def test_built_in_judges(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("vectors.txt").write_text("yes 1 0\nno 0 1\nwomen 1 1\n")
    judge = plugins.load("judges", name, "JUDGE")
    assert judge.name == name
    check_judge(judge.from_argument(ARGUMENTS.get(name, "")))


def test_a_judge_says_what_does_not_fit_it() -> None:
    for judge, argument in ((plugins.load("judges", "sound", ""), "x"), (ModelJudge, "")):
        with pytest.raises(PlanError):
            judge.from_argument(argument)
    with pytest.raises(PlanError, match="reads by no lists"):
        ModelJudge.from_argument("critic", {})


class Short(RuleJudge):
    """Leaves an answer out."""

    name = "sound"

    def verdicts(
        self, answers: pl.DataFrame, groups: Groups, replies: Sequence[str | None] = ()
    ) -> pl.Series:
        return RuleJudge.verdicts(self, answers, groups)[1:]


class Talkative(RuleJudge):
    """Has a verdict of its own."""

    name = "sound"

    def verdicts(
        self, answers: pl.DataFrame, groups: Groups, replies: Sequence[str | None] = ()
    ) -> pl.Series:
        return pl.Series(["perhaps"] * len(answers), dtype=pl.String)


class Comparing(RuleJudge):
    """Judges by how many answers there are."""

    name = "sound"

    def verdicts(
        self, answers: pl.DataFrame, groups: Groups, replies: Sequence[str | None] = ()
    ) -> pl.Series:
        return pl.Series(["affirms" if len(answers) > 1 else "denies"] * len(answers), dtype=pl.String)


class Mute:
    """Asks a service nothing."""

    name = "mute"
    service = "critic"

    @classmethod
    def from_argument(cls, argument: str, expressions: object = None) -> Mute:
        return cls()

    def prompts(self, answers: pl.DataFrame, groups: Groups) -> pl.Series:
        return NO_PROMPTS

    def verdicts(
        self, answers: pl.DataFrame, groups: Groups, replies: Sequence[str | None] = ()
    ) -> pl.Series:
        return answers.select(READ[1])[READ[1]]


@pytest.mark.parametrize(
    ("judge", "what"),
    [
        (Short(), "not one an answer"),
        (Talkative(), "unknown verdict"),
        (Comparing(), "depend on other answers"),
        (Mute(), "prompts are not"),
        (object(), "a member is missing"),
    ],
)
def test_the_kit_finds_what_does_not_conform(judge: object, what: str) -> None:
    with pytest.raises(MethodError, match=what):
        check_judge(judge)  # type: ignore[arg-type]
