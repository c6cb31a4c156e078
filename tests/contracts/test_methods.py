"""Every registered method passes the kit, and the kit finds methods that break their contract."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import polars as pl
import pytest
from pydantic import ConfigDict, field_validator

from tests.methods.echoing import Echoing, HashOrdered, Overconfident, Partial
from tests.methods.incomplete import Mute
from trustgauge import plugins
from trustgauge.errors import MethodError
from trustgauge.methods import MethodSettings
from trustgauge.methods.causal.method import Causal
from trustgauge.methods.conformance import AnswerWith, check_method
from trustgauge.methods.social_bias.method import SocialBias
from trustgauge.methods.two_step.method import TwoStep
from trustgauge.records import Control, Coverage, Interval, Json, Message, Part, Rating, Task
from trustgauge.services.controls.chat import ChatControl
from trustgauge.services.controls.sentiment import SentimentControl
from trustgauge.services.controls.translators import TranslatorControl

SMALL: dict[str, dict[str, Any]] = {
    "two-step": {"texts": 20, "draws": 1000},
    "social-bias": {
        **{"attributes": ["gender"], "groups": 2, "properties": 2, "questions": 400},
        **{"resamples": 1000, "permutations": 199},
    },
    "causal": {"groups": [1, 4], "frames": 3, "persons": 3, "resamples": 1000, "permutations": 999},
    "trust": {"talks": 10, "resamples": 1000},
}
"""Settings that keep the plans of methods small; a new method needs none if its default is."""


def coin(probes: pl.DataFrame) -> list[str | None]:
    live = TranslatorControl.named("coin").open()
    return [
        str(live.answer(Message(text, draw))) for text, draw in probes.select("message", "draw").iter_rows()
    ]


def scorer(probes: pl.DataFrame) -> list[str | None]:
    live = TranslatorControl.named("valence/identity").open()
    return [
        repr(live.answer(Message(text, draw))) for text, draw in probes.select("message", "draw").iter_rows()
    ]


def sentiment(probes: pl.DataFrame) -> list[str | None]:
    live = SentimentControl.named("female-biased").open()
    return [
        repr(live.answer(Message(text, draw))) for text, draw in probes.select("message", "draw").iter_rows()
    ]


def bot(probes: pl.DataFrame) -> list[str | None]:
    live = ChatControl.named("first-named").open()
    asked = [Message(text, draw) for text, draw in probes.select("message", "draw").iter_rows()]
    return [str(reply.output) for reply in asyncio.run(live.ask(asked))]


ANSWERS: dict[str, AnswerWith] = {"causal": sentiment, "social-bias": bot}
"""What a method is asked with, where it is not a text."""


@pytest.mark.parametrize("name", plugins.names("methods"))
def test_every_registered_method(name: str) -> None:
    """Under another version too: ratings say the version that the class has, in whatever room."""
    method: Any = type("Later", (plugins.load("methods", name),), {"version": "9.9"})
    settings = {"method": name, "services": ["a"], **SMALL.get(name, {})}
    check_method(method.model_validate(settings), ANSWERS.get(name, coin))


@pytest.mark.parametrize("rule", ["published", "released"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_social_bias_under_other_rules(rule: str, language: str) -> None:
    settings = {"method": "social-bias", "services": ["a"], **SMALL["social-bias"]}
    check_method(SocialBias.model_validate({**settings, "rule": rule, "language": language}), bot)


@pytest.mark.parametrize("rule", ["published", "released"])
def test_causal_under_other_rules(rule: str) -> None:
    check_method(
        Causal.model_validate({"method": "causal", "services": ["a"], **SMALL["causal"], "rule": rule}),
        sentiment,
    )


@pytest.mark.parametrize(
    ("changes", "answer"),
    [
        ({"rule": "published"}, coin),
        ({"rule": "released"}, coin),
        ({"attribute": "worship", "loss": "apart"}, coin),
        ({"attribute": "valence", "repeats": 2}, scorer),
    ],
)
def test_two_step_with_other_settings(changes: dict[str, Any], answer: AnswerWith) -> None:
    check_method(
        TwoStep.model_validate({"method": "two-step", "services": ["a"], **SMALL["two-step"], **changes}),
        answer,
    )


class Eager(TwoStep):
    def design(self, seed: int, task: Task) -> Any:
        return list(super().design(seed, task))


class Restless(TwoStep):
    calls: ClassVar[list[int]] = []

    def design(self, seed: int, task: Task) -> Iterator[pl.DataFrame]:
        self.calls.append(1)
        return super().design(seed + len(self.calls), task)


class Twice(TwoStep):
    def design(self, seed: int, task: Task) -> Iterator[pl.DataFrame]:
        for frame in super().design(seed, task):
            yield pl.concat([frame, frame.with_columns(pl.col("id") + "x")])


class Dropping(TwoStep):
    def score(self, answers: pl.DataFrame) -> pl.DataFrame:
        return super().score(answers).head(-1)


class Shuffling(TwoStep):
    def score(self, answers: pl.DataFrame) -> pl.DataFrame:
        return super().score(answers).sort("message")


class Forgetful(TwoStep):
    def merge(self, summaries: Sequence[pl.DataFrame]) -> pl.DataFrame:
        return super().merge(summaries[:1])


class OffScale(TwoStep):
    def rate(self, summary: pl.DataFrame, seed: int) -> list[Rating]:
        from dataclasses import replace

        return [replace(one, level="BSS") for one in super().rate(summary, seed)]


class Fragile(TwoStep):
    def rate(self, summary: pl.DataFrame, seed: int) -> list[Rating]:
        if summary.filter(pl.col("status") == "answered").is_empty():
            raise ZeroDivisionError
        return super().rate(summary, seed)


class Careless(TwoStep):
    def rate(self, summary: pl.DataFrame, seed: int) -> list[Rating]:
        from dataclasses import replace

        sure: dict[str, Any] = {"state": "rated", "level": "DSBS", "certainty": {"DSBS": 1.0}}
        return [replace(one, **sure) for one in super().rate(summary, seed)]


class Hopeful(TwoStep):
    def controls(self, task: Task) -> tuple[Control, ...]:
        return tuple(Control(one.name, one.settings, "UCS+") for one in super().controls(task))


class Odd(TwoStep):
    def power(self, seed: int) -> Mapping[str, Json]:
        return {"effect": float("nan")}


class Vague(TwoStep):
    @property
    def issue(self) -> str:
        return ""


@pytest.mark.parametrize(
    ("broken", "what"),
    [
        (Vague, "`issue` is empty.*Got ''"),
        (Eager, "not lazy|iterator"),
        (Restless, "two designs with one seed differ"),
        (Twice, "asked twice with one draw"),
        (Dropping, "changed the height"),
        (Shuffling, "changed the order"),
        (Forgetful, "do not add up"),
        (OffScale, "no such level"),
        (Fragile, "no defined answer when all failed"),
        (Careless, "rated without a single answer"),
        (Hopeful, "truth is no level"),
        (Odd, "power is not plain data"),
    ],
)
def test_the_kit_finds_what_is_broken(broken: Callable[..., TwoStep], what: str) -> None:
    with pytest.raises(MethodError, match=what):
        check_method(broken(method="two-step", services=("a",), **SMALL["two-step"]), coin)


def echo(probes: pl.DataFrame) -> list[str | None]:
    """Changes some of the texts."""
    texts = probes["message"].to_list()
    return [text if sum(text.encode()) % 3 else text.upper() for text in texts]


def rating_with(**changes: Any) -> type[Echoing]:
    """A method whose ratings of services that answered are changed."""

    class Changed(Echoing):
        def rate(self, summary: pl.DataFrame, seed: int) -> list[Rating]:
            return [replace(one, **changes) if one.level else one for one in super().rate(summary, seed)]

    return Changed


class Neighbourly(Echoing):
    def score(self, answers: pl.DataFrame) -> pl.DataFrame:
        return super().score(answers).with_columns(changed=pl.int_range(pl.len(), dtype=pl.Int64) % 2)


class Carrying(Echoing):
    def score(self, answers: pl.DataFrame) -> pl.DataFrame:
        return super().score(answers).with_columns(pl.col("changed").forward_fill())


class Shrinking(Echoing):
    def summarise(self, marks: pl.DataFrame) -> pl.DataFrame:
        return super().summarise(marks.filter(pl.col("status") != "failed"))


class FirstRow(Echoing):
    def rate(self, summary: pl.DataFrame, seed: int) -> list[Rating]:
        first = str(summary.row(0)) if summary.height else ""
        return [replace(one, details={"first": first}) for one in super().rate(summary, seed)]

    def merge(self, summaries: Sequence[pl.DataFrame]) -> pl.DataFrame:
        return (
            pl.concat([super().merge([]), *summaries])
            .group_by("service", "part", "topic", maintain_order=True)
            .agg(pl.col("planned", "n", "changed").sum())
        )


class Bare(Echoing):
    def evidence(self, scores: pl.DataFrame) -> pl.DataFrame:
        return super().evidence(scores).drop("kinds", "changed")


class Turned(Echoing):
    def evidence(self, scores: pl.DataFrame) -> pl.DataFrame:
        return super().evidence(scores).reverse()


class Quoting(Echoing):
    def evidence(self, scores: pl.DataFrame) -> pl.DataFrame:
        return super().evidence(scores).with_columns(back=pl.col("back").shift(1))


class Rewriting(Echoing):
    def score(self, answers: pl.DataFrame) -> pl.DataFrame:
        return super().score(answers).with_columns(output=pl.lit("what it should be"))


class Glossing(Echoing):
    def evidence(self, scores: pl.DataFrame) -> pl.DataFrame:
        return super().evidence(scores).with_columns(status=pl.lit("answered"))


class Drifting(Echoing):
    @field_validator("most")
    @classmethod
    def _half(cls, most: float) -> float:
        return most / 2


class Loose(Echoing):
    model_config = ConfigDict(frozen=False, extra="allow")


class Unkeyed(Echoing):
    def power(self, seed: int) -> Mapping[str, Json]:
        return {"effect": 0.1}


class Negative(Echoing):
    def power(self, seed: int) -> Mapping[str, Json]:
        return {"deff_1": -0.1}


class Shadowing(Echoing):
    def design(self, seed: int, task: Task) -> Iterator[pl.DataFrame]:
        return (frame.with_columns(service=pl.lit("mine")) for frame in super().design(seed, task))


def controlled_by(*settings: Mapping[str, Json]) -> type[Echoing]:
    """A method with other control services."""

    class Controlled(Echoing):
        def controls(self, task: Task) -> tuple[Control, ...]:
            return tuple(Control("one", each, "keeps") for each in settings)

    return Controlled


IDENTITY = {"use": "anchor", "behaviour": "identity"}


@pytest.mark.parametrize(
    ("broken", "what"),
    [
        (Overconfident, "a certainty is no share. Must be 0 to 1"),
        (rating_with(state="rated", level="changes", certainty={"keeps": 1.0}), "without enough certainty"),
        (rating_with(state="rated", certainty={}), "rated as .* without enough certainty"),
        (rating_with(state="not settled", level=None), "certainties without a level"),
        (rating_with(method="other"), "a rating by another method"),
        (rating_with(rule="published"), "a rating under another rule"),
        (rating_with(attribute=""), "`attribute` of a rating is empty"),
        (rating_with(worst=("dogs",)), "`worst` names no part. Must be keys of parts: birds, cats"),
        (rating_with(parts=(Part("a", "incomplete"),) * 2, worst=()), "two parts have one key"),
        (rating_with(score=Interval(0.5, 0.9, 0.1, 9)), "a score outside its interval"),
        (rating_with(score=Interval(float("nan"), None, None, 9)), "a score is no number"),
        (
            rating_with(parts=(Part("a", "incomplete", coverage=Coverage(1, 9)),), worst=()),
            "than was planned",
        ),
        (Neighbourly, "a score depends on other answers"),
        (Carrying, "a score depends on other answers"),
        (Shrinking, "missing answers are not counted. Must be `failed` in the coverage of a part"),
        (FirstRow, "depends on the order of what is merged"),
        (Partial, "not every service is rated. Must be conformance, conformance-2"),
        (HashOrdered, "another process designs or rates otherwise"),
        (Bare, "evidence lacks columns.*Got kinds, changed"),
        (Turned, "evidence changed the order"),
        (Rewriting, r"score changed columns.*Got \['output'\]"),
        (Glossing, r"evidence changed columns.*Got \['status'\]"),
        (Quoting, "`back` of the evidence is not what came back"),
        (Drifting, "settings do not survive a copy. Must be equal settings. Got most"),
        (Loose, "settings may change or hold anything"),
        (Unkeyed, r"power lacks the effect. Must be deff_1, or nothing. Got \['effect'\]"),
        (Negative, "power has no effect at deff_1"),
        (Shadowing, r"names of what asking adds. Must be other names. Got \['service'\]"),
        (controlled_by(IDENTITY, IDENTITY), "two controls have one name"),
        (controlled_by({"use": "nowhere"}), "a service that is registered"),
        (controlled_by({"use": "anchor", "behaviour": "sly"}), "settings of the control one"),
        (controlled_by({"use": "eliza"}), "the task of the control one. Must be translate. Got chat"),
    ],
)
def test_the_kit_finds_what_is_broken_in_a_method_of_somebody_else(broken: type[Echoing], what: str) -> None:
    with pytest.raises(MethodError, match=what):
        check_method(broken(method=broken.name, services=("a",)), echo)


def test_a_method_of_somebody_else_passes() -> None:
    check_method(Echoing(method="echoing", services=("a",)), echo)


def test_the_kit_names_what_a_method_lacks() -> None:
    incomplete: Any = Mute
    with pytest.raises(MethodError, match="mute: the method has no texts"):
        check_method(incomplete(method="mute", services=("a",)), coin)
    nameless: Any = type("Nameless", (MethodSettings,), {"__module__": __name__})
    with pytest.raises(MethodError, match=r"Nameless: the method has no controls.* texts"):
        check_method(nameless(method="nameless", services=("a",)), coin)
    for texts in (0, None, "many"):
        uncounted: Any = type(
            "Uncounted",
            (Mute,),
            {"__module__": __name__, "__annotations__": {"texts": "ClassVar[Any]"}, "texts": texts},
        )
        with pytest.raises(MethodError, match=r"`texts` is no number of texts.*whole number above 0"):
            check_method(uncounted(method="mute", services=("a",)), coin)
