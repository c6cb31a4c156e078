"""Shipped attributes, word lists and data cards; attributes written in a plan."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import polars as pl
import pytest
from pydantic import ValidationError

from trustgauge.data import (
    ATTRIBUTES,
    ITEMS,
    Attribute,
    article,
    item_words,
    load_attribute,
    share_faults,
    word_pattern,
)
from trustgauge.errors import PlanError
from trustgauge.methods.two_step.design import design
from trustgauge.methods.two_step.settings import TwoStepSettings

GENDERED = (
    "woman",
    "women",
    "female",
    "male",
    "lady",
    "girl",
    "boy",
    "maid",
    "lord",
    "father",
    "mother",
    "king",
)


def drinks(**changes: Any) -> dict[str, Any]:
    """An attribute as a plan would write it."""
    table: dict[str, Any] = {
        "name": "drink",
        "values": ["Tea", "Coffee", "Other"],
        "words": {"Tea": ["tea"], "Coffee": "coffee"},
        "patterns": ["The {item} drinks {word}.", "{An_item} ordered {word}."],
    }
    return {**table, **changes}


def test_every_data_file_has_a_card_and_is_known() -> None:
    folder = files("trustgauge.data")
    names = {one.name for one in folder.iterdir()}
    tables = {name.removesuffix(".toml") for name in names if name.endswith(".toml")}
    assert tables == {*ATTRIBUTES, *ITEMS, "terms", "answer_style", "disguises"}
    for table in tables:
        card = (folder / f"{table}.md").read_text(encoding="utf-8")
        for part in ("**Content.**", "**How made.**", "**Limits.**", "**Licence.** Apache-2.0"):
            assert part in card, (table, part)


def test_occupations() -> None:
    occupations = item_words("occupations")
    assert len(occupations) >= 120
    assert len(set(occupations)) == len(occupations)
    assert all(word.isascii() and word.isalpha() and word.islower() for word in occupations)
    assert not [word for word in occupations if word.endswith(("man", "ess", "wife", *GENDERED))]


def test_the_card_of_the_occupations_tells_their_number() -> None:
    card = (files("trustgauge.data") / "occupations.md").read_text(encoding="utf-8")
    assert f"{len(item_words('occupations'))} English nouns" in card


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("engineer", "an"),
        ("nurse", "a"),
        ("honest", "an"),
        ("hourly", "an"),
        ("hospital", "a"),
        ("heir", "an"),
        ("university", "a"),
        ("unimportant", "an"),
        ("uninformed", "an"),
        ("unit", "a"),
        ("useful", "a"),
        ("usher", "an"),
        ("European", "a"),
        ("one", "a"),
        ("onerous", "an"),
        ("urban", "an"),
        ("Umpire", "an"),
        ("utter", "an"),
        ("", "a"),
    ],
)
def test_article(word: str, expected: str) -> None:
    assert article(word) == expected


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_shipped_attributes_are_whole(name: str) -> None:
    one = load_attribute(name)
    assert one.name == name
    assert len(one.patterns) >= 4
    assert not share_faults("unbiased", one.default_unbiased(), one.values)
    assert not share_faults("biased", one.default_biased(), one.values)
    for pattern in one.patterns:
        for value in one.values:
            for item in ("engineer", "nurse"):
                text = one.write(pattern, item, value)
                assert "{" not in text
                assert item in text
                assert text[0].isupper()
                assert f" a {item}" not in text if item == "engineer" else f" an {item}" not in text
                assert any(word in text.lower() for word in one.read_words(value))


def test_the_question_to_a_chatbot_gives_no_value_away() -> None:
    for name in ATTRIBUTES:
        one = load_attribute(name)
        asked = one.question.lower().replace("?", " ").replace(".", " ").split()
        spoken = {word for value in one.values for word in one.read_words(value)}
        spoken |= {word for group in one.kind_words().values() for word in group}
        assert not spoken & set(asked)


def test_valence_has_enough_words_and_shares_none() -> None:
    one = load_attribute("valence")
    positive, negative = one.read_words("Positive"), one.read_words("Negative")
    assert len(positive) >= 20
    assert len(negative) >= 20
    assert not set(positive) & set(negative)


def test_gender_forms_by_role() -> None:
    one = load_attribute("gender")
    assert one.write("object", "engineer", "She") == "I met her when she was an engineer."
    assert one.write("possessive", "nurse", "He") == "The nurse finished his work."
    assert one.write("subject", "nurse", "Other") == "They are a nurse."
    assert one.first_role() == "subject"


def test_an_attribute_of_a_plan() -> None:
    one = Attribute.model_validate(drinks())
    assert one.write("1", "baker", "Tea") == "The baker drinks tea."
    assert one.write("2", "engineer", "Coffee") == "An engineer ordered coffee."
    assert one.default_unbiased() == ({"Tea": 0.5, "Coffee": 0.5},)
    assert [max(shares, key=lambda value: shares[value]) for shares in one.default_biased()] == [
        "Tea",
        "Coffee",
    ]
    again = Attribute.model_validate(json.loads(one.model_dump_json()))
    assert again == one


def test_words_given_as_a_list_stand_equally() -> None:
    one = Attribute.model_validate(
        drinks(words={"Tea": ["tea", "chai"], "Coffee": ["coffee", "mocha", "latte"]})
    )
    assert one.alternatives() == 6
    assert one.write("1", "baker", "Coffee", 1) == "The baker drinks mocha."


def test_every_word_of_a_value_is_sent_however_few_the_others_have() -> None:
    one = Attribute.model_validate(drinks(words={"Tea": "tea", "Coffee": ["coffee", "mocha", "latte"]}))
    experiment = {"method": "two-step", "services": ["x"], "attribute": one.model_dump(mode="json")}
    settings = TwoStepSettings.model_validate({**experiment, "texts": 60})
    texts = pl.concat(design(settings, 7, "translate"))["message"]
    sent = {word: int(texts.str.count_matches(rf"\b{word}\b").sum()) for word in one.words["Coffee"]}
    assert min(sent.values()) > 0.8 * max(sent.values())


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"words": {"Tea": ["tea"], "Coffee": ["tea"]}}, "attribute.words.Coffee"),
        ({"words": {"Tea": ["tea"]}}, "attribute.words.Coffee"),
        ({"words": {"Tea": "tea", "Coffee": "coffee", "Milk": "milk"}}, "attribute.words"),
        ({"residual": {"other": ["tea"]}}, "attribute.words"),
        ({"values": ["Tea", "tea", "Other"]}, "attribute.values"),
        ({"patterns": ["The {item} drinks."]}, "attribute.patterns.1"),
        ({"patterns": ["We drink {word}."]}, "attribute.patterns.1"),
        ({"patterns": ["The {item} drinks {wrod}."]}, "attribute.patterns.1"),
        ({"patterns": ["The {item} came. It drank {word}."]}, "attribute.patterns.1"),
        ({"patterns": ["The {item} drinks {word}"]}, "attribute.patterns.1"),
        ({"items": ["baker"]}, "attribute.items"),
        ({"items": ["baker", "Baker"]}, "attribute.items"),
        ({"items": "jobs"}, "attribute.items"),
        ({"unbiased": [{"Tea": 0.5, "Coffe": 0.5}]}, "attribute.unbiased[0]"),
        ({"biased": [{"Tea": 0.5, "Coffee": 0.6}]}, "attribute.biased[0]"),
        ({"tasks": ["score", "chat"]}, "attribute.tasks"),
    ],
)
def test_faults_say_where(changes: dict[str, Any], place: str) -> None:
    with pytest.raises(PlanError) as caught:
        Attribute.model_validate(drinks(**changes))
    assert place in [fault.place for fault in caught.value.faults]


def test_all_faults_at_once() -> None:
    with pytest.raises(PlanError) as caught:
        Attribute.model_validate(drinks(items="jobs", patterns=["The {item} drinks."], biased=[{"Milk": 1}]))
    assert len(caught.value.faults) == 3


def test_an_unknown_setting_is_refused() -> None:
    with pytest.raises(ValidationError, match="Extra inputs"):
        Attribute.model_validate(drinks(valeus=["a"]))


def test_an_unknown_attribute_names_the_nearest() -> None:
    with pytest.raises(PlanError, match='Did you mean "gender"'):
        load_attribute("gendre")


def test_word_patterns_keep_to_whole_words_where_there_are_spaces() -> None:
    import re

    assert re.findall(word_pattern(["he", "her"]), "he hers the her shepherd") == ["he", "her"]
    assert re.findall(word_pattern(["left-handed", "left"]), "left-handed left") == ["left-handed", "left"]
    assert re.findall(word_pattern(["她"]), "我认识她吗") == ["她"]
