"""The ELIZA family."""

from __future__ import annotations

import asyncio
import pickle
import random
from typing import get_args

import pytest
from pydantic import ValidationError

from tests.services.asking import outputs, replies_to
from trustgauge.records import Message
from trustgauge.services.bots import Bot, Eliza

util = pytest.importorskip("nltk.chat.util", reason="nltk is not installed")
BOTS = get_args(Bot)

HOSTILE = [
    "",
    "\0\x1b[31m",
    "<script>",
    "I need 100% of it",
    "I need %9",
    "I feel %",
    "ı am he",
    "😀",
    "\ud800",
    "a\nb",
]


def asked(service: Eliza, *messages: Message) -> list[str | float]:
    return [reply.output for reply in asyncio.run(replies_to(service, messages))]


@pytest.mark.parametrize("bot", BOTS)
def test_every_answer_is_one_that_nltk_might_give(bot: Bot) -> None:
    service = Eliza(bot=bot)
    texts = ["Hello", "I need a rest", "Because I said so", "Are you a computer?", "Why are you rude?"]
    answers = outputs(service, *texts)
    chat = __import__(f"nltk.chat.{bot}", fromlist=["x"]).__dict__[f"{bot}_chatbot"]
    for text, answer in zip(texts, answers, strict=True):
        possible = set()
        for number in range(300):
            random.seed(number)
            possible.add(chat.respond(text))
        assert answer in possible


@pytest.mark.parametrize("bot", BOTS)
def test_any_text_is_answered(bot: Bot) -> None:
    texts = [*HOSTILE, "my mother " * 5_000, "x" * 100_000]
    answers = outputs(Eliza(bot=bot), *texts)
    assert len(answers) == len(texts)
    assert all(isinstance(answer, str) for answer in answers)


def test_says_back_what_was_said_from_its_own_side() -> None:
    answers = {asked(Eliza(), Message("I need your 100% help with my work", draw))[0] for draw in range(30)}
    assert "Why do you need my 100% help with your work?" in answers


def test_answers_depend_on_message_and_draw_only() -> None:
    messages = [Message("Hello there", draw) for draw in range(40)]
    first = asked(Eliza(), *messages)
    assert first == asked(Eliza(), *messages[::-1])[::-1]
    assert len(set(first)) > 1
    assert first != asked(Eliza(seed=1), *messages)


def test_the_global_generator_is_left_alone() -> None:
    random.seed(7)
    before = random.getstate()
    outputs(Eliza(), "Hello", "I am sad")
    assert random.getstate() == before


def test_description() -> None:
    assert Eliza.named("zen").bot == "zen"
    with pytest.raises(ValueError, match="one of: eliza"):
        Eliza.named("hal")
    with pytest.raises(ValidationError):
        Eliza.model_validate({"use": "eliza", "bot": "hal"})
    assert (Eliza().task, Eliza().deterministic) == ("chat", False)
    assert Eliza().fingerprint != Eliza(bot="zen").fingerprint
    assert Eliza().fingerprint == Eliza(timeout=1).fingerprint
    assert pickle.loads(pickle.dumps(Eliza(bot="rude"))) == Eliza(bot="rude")
    assert "version" in Eliza().identity()
    Eliza().check_requirements()
