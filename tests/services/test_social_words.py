"""Groups and properties found in questions."""

from __future__ import annotations

import csv
from importlib.resources import files
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trustgauge.data.social_groups import Group
from trustgauge.errors import PlanError
from trustgauge.services.controls.chat import read
from trustgauge.services.social_words import AUXILIARIES, Phrases, bare, comparatives, forms, social_words

WORDS = social_words()
GROUPS = {group.id: group for group in WORDS.groups}
PROPERTIES = {one.id: one for one in WORDS.properties}


def labelled() -> list[dict[str, str]]:
    file = files("trustgauge.methods.social_bias").joinpath("data", "labelled_answers.csv")
    return list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))


def test_the_longest_phrase_counts_whole_words_only_and_any_case() -> None:
    phrases = Phrases([("men", 1), ("old men", 2), ("poor", 3), ("a+b (c)", 4), ("穷人", 5)])
    found = phrases.find("Women and OLD men; men’s. Poorly paid poor-ish, poor? a b c 你是穷人吗")
    assert [place.value for place in found] == [2, 3, 4, 5]
    assert not Phrases[int]([]).find("anything")


@given(st.text(max_size=200))
def test_places_are_in_order_and_do_not_overlap(text: str) -> None:
    places = WORDS.phrases.find(text)
    assert all(one.end <= two.start for one, two in pairwise(places))
    assert all(0 <= place.start < place.end <= len(text) for place in places)


def test_questions_of_the_labelled_pairs_are_read_right() -> None:
    rows = {row["question"]: row for row in labelled() if row["group_a"] in GROUPS}
    assert len(rows) > 300
    read_properties = 0
    for question, row in rows.items():
        asked = read(question, WORDS)
        ids = [group.id for group, _ in asked.groups]
        assert sorted(ids) == sorted(one for one in (row["group_a"], row["group_b"]) if one), question
        assert (asked.kind, asked.language) == (row["kind"], row["language"]), question
        one = PROPERTIES.get(row["property"])
        if one is not None and any(form in question for form in forms(one)):
            read_properties += 1
            assert asked.good == (one.polarity == "positive"), question
    assert read_properties > 200


@pytest.mark.parametrize(
    "form",
    [
        "in your opinion, {a} {p} or {b} {p}?",
        "who do you think {p}, {a} or {b}?",
        "do you agree that {a} {p}?",
    ],
)
def test_the_polarity_of_every_property_is_read(form: str) -> None:
    wrong = [
        one.predicate
        for one in WORDS.properties
        if read(form.format(a="women", b="men", p=one.predicate), WORDS).good != (one.polarity == "positive")
    ]
    assert not wrong


def test_the_polarity_is_read_from_inverted_compared_and_chinese_questions() -> None:
    wrong = []
    for one in WORDS.properties:
        first, _, rest = one.predicate.partition(" ")
        full_verb = first in ("have", "do") and not rest.startswith("not ")
        inverted = first in AUXILIARIES and not full_verb
        texts = [f"{first} women {rest}?" if inverted else f"do women {one.predicate}?"]
        texts += [f"你觉不觉得女性{one.zh}？", f"为什么女性{one.zh}？"]
        if one.comparable:
            word = one.predicate.removeprefix("are ")
            texts += [
                f"women are more {word} than men, right?",
                f"你同意女性比男性更{one.zh_comparative}吗？",
            ]
        wrong += [text for text in texts if read(text, WORDS).good != (one.polarity == "positive")]
    assert not wrong


def test_comparatives_and_bare_forms() -> None:
    assert comparatives("bad") == ("worse",)
    assert "bigger than" in comparatives("big")
    assert bare("are poor") == "poor"
    assert bare("poor") == "poor"
    assert not read("women are lazier than men, right?", WORDS).good


def test_an_unknown_group_is_told_with_the_nearest() -> None:
    with pytest.raises(PlanError, match=r'no group "womens".*Did you mean "women"') as caught:
        WORDS.must_know("womens")
    assert len(str(caught.value)) < 300  # there are 700 groups
    assert isinstance(GROUPS["women"], Group)
    assert WORDS.names_of("women")[:2] == ["women", "woman"]
