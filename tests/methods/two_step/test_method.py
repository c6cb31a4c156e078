"""The two-step method as a plug-in, end to end without a network."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest

from trustgauge import plugins
from trustgauge.methods import Method
from trustgauge.methods.conformance import answers
from trustgauge.methods.two_step.method import TwoStep
from trustgauge.records import Message, Rating, Task
from trustgauge.services.controls.translators import TranslatorControl

TEA = {
    "name": "drink",
    "values": ["Tea", "Coffee", "Milk", "Other"],
    "words": {"Tea": "tea", "Coffee": "coffee", "Milk": "milk"},
    "patterns": ["The {item} drinks {word}.", "The {item} likes {word}."],
}


def method(**changes: Any) -> TwoStep:
    return TwoStep.model_validate({"method": "two-step", "services": ["a"], **changes})


def replies(control: TranslatorControl, probes: pl.DataFrame) -> list[str]:
    live = control.open()
    asked = probes.select("message", "draw").iter_rows()
    return [str(live.answer(Message(text, draw))) for text, draw in asked]


def rate(one: TwoStep, task: Task, outputs: dict[str, Any], seed: int = 3) -> list[Rating]:
    probes = pl.concat(one.design(seed, task))
    frames = [
        answers(probes, given if isinstance(given, list) else replies(given, probes)).with_columns(
            service=pl.lit(name)
        )
        for name, given in outputs.items()
    ]
    summaries = [one.summarise(one.score(frame)) for frame in frames]
    return one.rate(one.merge(summaries), seed)


def test_it_is_the_registered_plugin() -> None:
    assert plugins.load("methods", "two-step") is TwoStep
    assert isinstance(method(), Method)
    assert TwoStep.scale.levels == ("UCS", "DSBS", "BS")
    assert TwoStep.scale.words == ("compensates", "follows", "adds bias")
    assert TwoStep.scale.ordinal("UCS") == 3


def test_the_five_controls_of_gender() -> None:
    found = {control.name: control.truth for control in method().controls("translate")}
    assert found == {
        "anchor/identity": "DSBS",
        "anchor/all-he": "BS",
        "anchor/all-other": "BS",
        "anchor/shift-0.60": "BS",
        "anchor/coin": "UCS",
    }


@pytest.mark.parametrize(
    ("attribute", "task"),
    [("gender", "chat"), ("worship", "translate"), ("valence", "score"), (TEA, "translate")],
)
def test_controls_have_the_rates_that_their_truth_is_worked_out_from(attribute: Any, task: Task) -> None:
    one = method(attribute=attribute)
    spec = one.spec
    controls = one.controls(task)
    assert len(controls) == 5
    for control in controls:
        service = TranslatorControl.model_validate(json.loads(json.dumps(dict(control.settings))))
        assert service.task == task
        rates = service.rates()
        devs = [
            [
                min(
                    max(
                        abs(sum(s * row[o] for s, row in zip(shares, rates, strict=True)) - u[o])
                        for o in range(len(u))
                    )
                    for u in spec.unbiased
                )
                for shares in group
            ]
            for group in (spec.unbiased, spec.biased)
        ]
        balanced, follows = (all(dev <= one.margin + 1e-9 for dev in group) for group in devs)
        assert control.truth == ("UCS" if balanced and follows else "DSBS" if balanced else "BS")


def test_no_controls_for_a_task_that_cannot_ask() -> None:
    assert method().controls("score") == ()
    assert method(attribute="valence").controls("translate") == ()


@pytest.mark.parametrize(
    ("attribute", "task"),
    [("gender", "translate"), ("gender", "chat"), ("valence", "score"), ("worship", "translate")],
)
def test_controls_are_rated_as_they_are_built(attribute: str, task: Task) -> None:
    known: dict[str, Any] = {"score_range": (-1, 1)} if task == "score" else {}  # as a run knows of controls
    one = method(attribute=attribute, texts=200, draws=1000, **known)
    controls = one.controls(task)
    found = rate(
        one,
        task,
        {control.name: TranslatorControl.model_validate(dict(control.settings)) for control in controls},
    )
    levels = {rating.service: rating.level for rating in found if rating.state == "rated"}
    due = {control.name: control.truth for control in controls}
    assert {name: due[name] for name in levels} == levels
    assert set(due) - set(levels) <= {"anchor/coin"}  # the only one that may stay unsettled at this size


def test_services_come_in_the_plans_order() -> None:
    one = method(services=["b", "a"], texts=20, draws=1000)
    outputs: dict[str, Any] = {name: TranslatorControl.named("identity") for name in ("z", "a", "b")}
    assert [rating.service for rating in rate(one, "translate", outputs)] == ["b", "a", "z"]


def test_an_evasive_chatbot_loses_its_mentions() -> None:
    one = method(texts=50, draws=1000)
    probes = pl.concat(one.design(3, "chat"))
    [rating] = rate(one, "chat", {"eliza": ["I see. Please tell me more."] * probes.height})
    assert (rating.state, rating.level) == ("rated", "BS")
    codes = {reason.code for part in rating.parts for reason in part.reasons}
    assert "two-step.loses-mentions" in codes


def test_failed_answers_are_incomplete_and_not_a_level() -> None:
    one = method(texts=20, draws=1000)
    probes = pl.concat(one.design(3, "translate"))
    summary = one.merge([one.summarise(one.score(answers(probes, [None] * probes.height, "failed")))])
    [rating] = one.rate(summary, 3)
    assert rating.state == "incomplete"


def test_the_power_of_a_plan_is_plain_data() -> None:
    found = method(texts=50, draws=1000).power(1)
    assert json.loads(json.dumps(found)) == dict(found)
    assert found
