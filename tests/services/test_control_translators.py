"""Services of known truth (methods 0.9)."""

from __future__ import annotations

import asyncio
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from trustgauge import plugins
from trustgauge.errors import PlanError
from trustgauge.records import Message
from trustgauge.services.controls.translators import WORDLESS, TranslatorControl

TEXT = "She is ill. HE met her when she ran. Ann lost her hat. He cut himself. Is it hers?"


def control(**changes: Any) -> TranslatorControl:
    return TranslatorControl.model_validate({"use": "anchor", **changes})


def ask(one: TranslatorControl, text: str, draw: int = 0) -> str | float:
    async def answer() -> str | float:
        service = one.open()
        [reply] = await service.ask([Message(text, draw)])
        await service.close()
        return reply.output

    return asyncio.run(answer())


def test_it_is_the_registered_plugin() -> None:
    assert plugins.load("services", "anchor") is TranslatorControl


@given(st.text())
def test_identity_gives_the_very_text_back(text: str) -> None:
    assert control().open().answer(Message(text, 0)) == text


@given(st.text())
def test_any_text_can_be_sent(text: str) -> None:
    assert isinstance(TranslatorControl.named("coin").open().answer(Message(text, 3)), str)
    assert -1 <= float(TranslatorControl.named("valence/coin").open().answer(Message(text, 3))) <= 1


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("identity", TEXT),
        ("all-he", "He is ill. HE met him when he ran. Ann lost his hat. He cut himself. Is it his?"),
        ("all-she", "She is ill. SHE met her when she ran. Ann lost her hat. She cut herself. Is it hers?"),
        ("lost", "They is ill. THEY met them when they ran. Ann lost their hat. They cut themselves. Is it"
                 " theirs?"),
    ],
)  # fmt: skip
def test_words_change_in_their_place_and_case(name: str, expected: str) -> None:
    assert ask(TranslatorControl.named(name), TEXT) == expected


def test_worship_and_a_residual_without_words() -> None:
    text = "The cook lives near a Mosque. The chef has painted many temples."
    assert (
        ask(TranslatorControl.named("all-church"), text)
        == "The cook lives near a Church. The chef has painted many churches."
    )
    table = {
        "values": ["Tea", "Coffee", "Other"],
        "words": {"Tea": "tea", "Coffee": "coffee"},
        "patterns": ["The {item} drinks {word}."],
    }
    lost = control(behaviour="lose", attribute=table)
    assert ask(lost, "The baker drinks tea.") == f"The baker drinks {WORDLESS}."


def test_scores() -> None:
    text = "The baker is miserable."
    assert ask(TranslatorControl.named("valence/identity"), text) == -0.8
    assert ask(TranslatorControl.named("all-positive"), text) == 0.8
    assert ask(TranslatorControl.named("all-neutral"), text) == 0.0
    assert ask(TranslatorControl.named("valence/identity"), "Nothing is said here.") == 0.0
    assert ask(
        TranslatorControl.named("valence/identity"), "The happy baker is miserable and sad."
    ) == pytest.approx(-0.8 / 3)


def test_a_mention_is_drawn_once_and_can_be_had_again() -> None:
    one = TranslatorControl.named("coin").open()
    text = "I met her when she was a poet. " * 300
    answer = one.answer(Message(text, 0))
    sentences = answer.split(". ")
    he = [sentence for sentence in sentences if sentence.startswith("I met him when he")]
    she = [sentence for sentence in sentences if sentence.startswith("I met her when she")]
    assert len(he) + len(she) == 300
    assert abs(len(he) - 150) < 6 * np.sqrt(75)
    assert one.answer(Message(text, 0)) == answer
    assert one.answer(Message(text, 1)) != answer
    assert control(behaviour="coin", seed=1).open().answer(Message(text, 0)) != answer


@pytest.mark.parametrize(
    ("changes", "rates"),
    [
        ({"behaviour": "shift", "share": 0.6}, [[1, 0, 0], [0.6, 0.4, 0], [0, 0, 1]]),
        ({"behaviour": "swap", "share": 0.2}, [[0.8, 0.2, 0], [0.2, 0.8, 0], [0, 0, 1]]),
        ({"behaviour": "lose", "share": 0.3}, [[0.7, 0, 0.3], [0, 0.7, 0.3], [0, 0, 1]]),
        ({"behaviour": "lose"}, [[0, 0, 1], [0, 0, 1], [0, 0, 1]]),
        ({"behaviour": "all", "value": "She"}, [[0, 1, 0], [0, 1, 0], [0, 1, 0]]),
        ({"behaviour": "coin", "distribution": {"He": 0.7, "Other": 0.3}}, [[0.7, 0, 0.3]] * 3),
        ({"behaviour": "shift", "from_value": "He", "to_value": "She", "share": 0.0}, np.eye(3).tolist()),
    ],
)
def test_planted_rates_are_the_rates_shown(changes: dict[str, Any], rates: list[list[float]]) -> None:
    one = control(**changes)
    np.testing.assert_allclose(one.rates(), rates)
    live = one.open()
    words = ("he", "she", "they")
    for given_, word in enumerate(words):
        text = f"Today {word} came. " * 2000
        answer = live.answer(Message(text, 0))
        for value, other in enumerate(words):
            share = answer.count(f"Today {other} came.") / 2000
            assert abs(share - rates[given_][value]) < 0.05
            if rates[given_][value] in (0, 1):
                assert share == rates[given_][value]


def test_identity_of_a_description() -> None:
    assert control(behaviour="coin").fingerprint != control(behaviour="coin", seed=1).fingerprint
    assert control(concurrency=2, share=0.5).fingerprint != control(share=0.6).fingerprint
    assert control(concurrency=2, rate=5.0).fingerprint == control().fingerprint
    assert control(task="score").fingerprint != control().fingerprint
    assert pickle.loads(pickle.dumps(control())) == control()


def test_short_forms() -> None:
    assert TranslatorControl.named("shift-0.60") == control(behaviour="shift", share=0.6)
    assert TranslatorControl.named("swap-.2") == control(behaviour="swap", share=0.2)
    assert TranslatorControl.named("all-He").value == "He"
    assert TranslatorControl.named("worship/all-other").attribute == "worship"
    assert TranslatorControl.named("valence/coin").task == "score"


@pytest.mark.parametrize(
    "name", ["", "coni", "all-", "all-hi", "shift", "shift-1.5", "shift--1", "race/coin"]
)
def test_unknown_short_forms_list_the_valid_ones(name: str) -> None:
    with pytest.raises(ValueError, match="one of"):
        TranslatorControl.named(name)


def test_faults() -> None:
    with pytest.raises(PlanError) as caught:
        control(value="Hee", to_value="Shee", distribution={"He": 0.4})
    assert [fault.place for fault in caught.value.faults] == ["distribution[0]", "value", "to_value"]
    with pytest.raises(ValidationError):
        control(share=1.2)
    with pytest.raises(ValidationError, match="Did you mean"):
        control(attribute="gendre")
