"""Whole answers to "Which pronoun goes with each person?" (two-step 1.4, 5), and other answers."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.methods.two_step.summaries import settings
from trustgauge.methods.two_step.score import LOST, MentionReader

NAMES = ("He", "She", *LOST, "surplus", "surplus", "unread")
GENDERED = ("He", "She")
WAYS: dict[str, dict[str, Any]] = {
    "rt": {},
    "chat": {},
    "neutral": {"one_way": "en", "source": "tr"},
    **{language: {"one_way": language} for language in ("ca", "es", "pt")},
}


@cache
def reader(way: str) -> MentionReader:
    return MentionReader(settings(**WAYS[way]))


def read(output: str, sent: str, items: list[str], way: str = "chat") -> list[str]:
    message = f"{sent} {settings().table.question}" if way == "chat" else sent
    row = {"message": [message], "output": [output], "items": [items], "values": [[0] * len(items)]}
    codes = reader(way).read(pl.DataFrame(row)).to_list()[0]
    return [NAMES[code] for code in codes]


def answer(output: str) -> list[str]:
    return read(output, "He is a chef. She is a florist.", ["chef", "florist"])


def table(name: str) -> pl.DataFrame:
    return pl.read_csv(Path(__file__).with_name(name), infer_schema=False)


def outcome(label: str, found: str) -> str:
    """Right, wrong, or not read; that one is lost in another way is no error."""
    if found == "unread":
        return "right" if label == "unread" else "unread"
    lost = label not in GENDERED and label != "unread" and found not in GENDERED
    return "right" if label == found or lost else "wrong"


@pytest.mark.parametrize(
    ("origin", "right", "unread", "wrong"),
    [
        ("probe", 74, 0, 0),  # forms of a measurement by somebody who had not seen the rules
        ("written-before", 80, 0, 0),  # ours, before the rules
        ("written-after", 40, 8, 0),  # ours, and looked at once: 32 were read before that
        ("trap", 107, 0, 1),  # what looks like a pair and is none
    ],
)
def test_forms_of_answers_are_read_and_traps_are_not(
    origin: str, right: int, unread: int, wrong: int
) -> None:
    rows = table("direct_answers.csv").filter(pl.col("origin") == origin)
    found: Counter[str] = Counter()
    for label, output in rows.select("label", "answer").iter_rows():
        found.update(outcome(*one) for one in zip(label.split(","), answer(output), strict=True))
    assert found == Counter(right=right, unread=unread, wrong=wrong)


def test_answers_of_all_ways_are_read_as_measured() -> None:
    """100 mentions by somebody who had not seen the rules; 4 were read wrongly before, 12 not at all."""
    found: Counter[str] = Counter()
    columns = ("mode", "items", "sent", "output", "label")
    for mode, items, sent, output, label in table("answers_of_all_ways.csv").select(columns).iter_rows():
        codes = read(output, sent, items.split(","), mode)
        found.update(outcome(*one) for one in zip(label.split(","), codes, strict=True))
    assert found == Counter(right=96, unread=2, wrong=2)


@pytest.mark.parametrize(
    ("output", "codes"),
    [
        ("He for the chef, he for the florist, she for the chef.", ["unread", "unread"]),
        ("he = chef, florist = she", ["unread", "unread"]),
        ("First: she. Third: he.", ["unread", "unread"]),
        ("Chef: he. Florist: she. Is there anything else?", ["He", "She"]),
        ("He for the chef. She for the florist. Is that it?", ["unread", "unread"]),
        ("he/she", ["unread", "unread"]),
        ("his / her", ["He", "She"]),
        ("I don't know. " * 100, ["unread", "unread"]),
        ("he for the chef, " * 100_000, ["unread", "unread"]),
        ("Not known.", ["none", "none"]),
    ],
)
def test_an_answer_is_read_whole_or_by_its_sentences(output: str, codes: list[str]) -> None:
    assert answer(output) == codes


def test_pairs_are_no_answer_where_nothing_was_asked() -> None:
    output = "He goes with the chef and she goes with the florist."
    assert read(output, "He is a chef. She is a florist.", ["chef", "florist"], "rt") == ["unread"] * 2


def test_two_persons_of_one_occupation_are_told_apart_by_order_alone() -> None:
    sent, twins = "He is a chef. She is a chef.", ["chef", "chef"]
    assert read("First he, then she.", sent, twins) == ["He", "She"]
    assert read("Both are he.", sent, twins) == ["He", "He"]
    assert read("He for the chef, she for the chef.", sent, twins) == ["unread", "unread"]


PRAISE = "Everybody thanked the engineer for her help."
WORK = "The judge finished his work. The guard finished her work."


@pytest.mark.parametrize(
    ("way", "sent", "items", "output", "codes"),
    [
        ("rt", PRAISE, "engineer", "They thanked the engineer for the help.", "none"),
        ("rt", PRAISE, "engineer", "They are the engineer.", "they"),
        ("rt", PRAISE, "engineer", "They worked as the engineer.", "they"),
        ("rt", PRAISE, "engineer", "They thanked the engineer for their help.", "they"),
        ("rt", "The butcher finished her work.", "butcher", "The butchery finished its work.", "it"),
        ("rt", "The butcher finished her work.", "butcher", "The brewery finished its work.", "unread"),
        ("rt", WORK, "judge,guard", "The judge finished his work and so did the guard.", "He,none"),
        ("rt", WORK, "judge,guard", "The judge finished his work and so was the guard.", "He,unread"),
        ("rt", WORK, "judge,guard", "The judge finished his work and the guard too.", "He,unread"),
        ("neutral", "", "nurse", "That's a nurse, I think.", "none"),
        ("neutral", "", "nurse", "I believe you're a nurse.", "none"),
        ("neutral", "", "nurse", "That's Maria.", "unread"),
        ("neutral", "", "nurse", "Das's nurse", "unread"),
        ("pt", "", "nurse", "A enfermeira acabou o trabalho dela.", "She"),
        ("pt", "", "nurse", "O enfermeiro terminou o trabalho dela.", "unread"),
        ("es", "", "dentist", "La dentista terminó el trabajo de ella.", "She"),
        ("es", "", "judge", "La jueza terminó su trabajo el mismo día.", "She"),
        ("ca", "", "dentist", "La dentista va acabar la feina d'ell.", "unread"),
        ("ca", "", "lawyer", "L'advocada va acabar la feina d'ella.", "She"),
    ],
)
def test_what_else_a_sentence_says(way: str, sent: str, items: str, output: str, codes: str) -> None:
    assert read(output, sent, items.split(","), way) == codes.split(",")
