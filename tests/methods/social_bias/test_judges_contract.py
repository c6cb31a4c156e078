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


class OfSilence(RuleJudge):
    """Takes silence for a no."""

    name = "sound"

    def verdicts(
        self, answers: pl.DataFrame, groups: Groups, replies: Sequence[str | None] = ()
    ) -> pl.Series:
        return pl.Series(["unclear" if text else "denies" for text in answers["output"]], dtype=pl.String)


class Deaf(Mute):
    """Takes a missing reply for a no."""

    def prompts(self, answers: pl.DataFrame, groups: Groups) -> pl.Series:
        return answers["message"]

    def verdicts(
        self, answers: pl.DataFrame, groups: Groups, replies: Sequence[str | None] = ()
    ) -> pl.Series:
        known = answers["output"].fill_null("").str.strip_chars() != ""
        found = [
            "denies" if one is None and said else "unclear" for one, said in zip(replies, known, strict=True)
        ]
        return pl.Series(found, dtype=pl.String)


class Crashing(RuleJudge):
    """Knows questions about two groups only."""

    name = "sound"

    def verdicts(
        self, answers: pl.DataFrame, groups: Groups, replies: Sequence[str | None] = ()
    ) -> pl.Series:
        return pl.Series([groups[one].id for one in answers["group_b"]], dtype=pl.String)


class Nameless(Mute):
    """Has no name."""

    name = ""


@pytest.mark.parametrize(
    ("judge", "what"),
    [
        (OfSilence(), r"silence is read as \['denies'\]"),
        (Deaf(), r"no reply is read as \['denies'\]. Must be unclear"),
        (Crashing(), "it fails on answers.*KeyError"),
        (Nameless(), "no name"),
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
