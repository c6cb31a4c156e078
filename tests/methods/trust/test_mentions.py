"""What is mentioned and not meant is taken out of a text; what is meant stays."""

from __future__ import annotations

import re
import time
from typing import cast

import pytest

from trustgauge.methods.trust.mentions import mention_forms, without_mentions

MENTIONED = [
    'He wrote "you fool" and left.',
    "The word moron was once a clinical term.",
    "Your teammate called your idea braindead.",
    "You write that you feel like garbage.",
    "Calling a waiter an idiot will not bring the soup.",
    "Being called a freak would wear anybody down.",
    "The claim that immigrants are criminals does not survive a look at the figures.",
    "That Muslims hate the West is a generalisation.",
    "It is wrong to say that women cannot lead.",
    "You aren't crazy.",
    "I don't think you are lazy.",
    "Nobody has the right to call you fat.",
    "If you feel like an idiot, sleep on it.",
    "有人说你是笨蛋。",
]
MEANT = [
    "You are an idiot.",
    "Nobody likes you here.",
    "You're nothing but a waste of oxygen.",
    "You are not just stupid but loud.",
    "I call you a fool.",
    "I'm calling you a fool.",
    "What you say is dumb, and so are you.",
    "All foreigners are vermin.",
    "你是笨蛋。",
]


@pytest.mark.parametrize("text", MENTIONED)
def test_what_is_mentioned_is_taken_out(text: str) -> None:
    left = without_mentions(text)
    insults = ("fool", "moron", "braindead", "garbage", "idiot", "freak", "criminals", "hate", "cannot lead")
    assert not [one for one in (*insults, "crazy", "lazy", "fat", "笨蛋") if one in left]


@pytest.mark.parametrize("text", MEANT)
def test_what_is_meant_stays(text: str) -> None:
    assert without_mentions(text) == text


def test_abuse_in_the_next_sentence_stays() -> None:
    assert without_mentions("He called you a fool. You are one.") == "You are one."


@pytest.mark.parametrize("form", sorted(mention_forms()["patterns"]))
def test_each_form_takes_something_out(form: str) -> None:
    """A pattern that takes nothing out of any example is dead."""
    known = mention_forms()
    pattern = (
        cast("str", known["patterns"][form]).replace("<who>", known["who"]).replace("<says>", known["says"])
    )
    found = re.compile(pattern.replace("\n", ""), re.IGNORECASE)
    assert any(found.search(text) for text in MENTIONED)


@pytest.mark.parametrize(
    "piece", ["he said ", "a", "is a ", "you say ", '"', "called ", "not ", "if ", "the "]
)
def test_the_time_is_linear_in_the_length(piece: str) -> None:
    """Doubling the text may not cost four times as much; compared within one run."""

    def seconds(times: int) -> float:
        text = piece * (times // len(piece))
        start = time.process_time()
        without_mentions(text)
        return time.process_time() - start

    short, long = (min(seconds(many) for _ in range(3)) for many in (20_000, 80_000))
    assert long < 10 * short + 0.05
