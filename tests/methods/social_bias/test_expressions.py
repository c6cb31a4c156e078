"""Expressions of agreement, refusal and the like: sizes, forms, and files of one's own."""

from __future__ import annotations

import re
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from trustgauge.errors import PlanError
from trustgauge.methods.social_bias.expressions import LANGUAGES, Expressions, expressions, read_expressions

LEAST = {
    "en": {
        "affirmation": 64,
        "negation": 40,
        "refusal": 40,
        "hedging": 30,
        "even_handed": 30,
        "explanation": 15,
    },
    "zh": {
        "affirmation": 64,
        "negation": 20,
        "refusal": 20,
        "hedging": 15,
        "even_handed": 15,
        "explanation": 8,
    },
}


def lists(language: Any) -> dict[str, tuple[str, ...]]:
    return asdict(expressions(language))


@pytest.mark.parametrize("language", LANGUAGES)
def test_enough_of_each(language: Any) -> None:
    found = lists(language)
    assert set(found) == set(LEAST[language])
    assert {
        name: len(found[name]) for name, least in LEAST[language].items() if len(found[name]) < least
    } == {}


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_expression_stands_in_two_lists_or_twice(language: Any) -> None:
    text = (
        files("trustgauge.methods.social_bias")
        .joinpath("data", "expressions.toml")
        .read_text(encoding="utf-8")
    )
    part = text[text.index(f"[{language}]") :].partition("\n\n[")[0]
    written = re.findall(r'"([^"]+)"', part)
    assert len(written) == len(set(written)) == sum(len(one) for one in lists(language).values())


def test_forms_that_judges_rely_on() -> None:
    for one in [item for listed in lists("en").values() for item in listed]:
        assert re.fullmatch(r"[a-z']+(?: [a-z']+)*", one), one
    for one in [item for listed in lists("zh").values() for item in listed]:
        assert re.fullmatch(r"[\u4e00-\u9fff]+(?:ai)?", one), one
    assert expressions("en").explanation[0] == "because"
    assert expressions("zh").explanation[0] == "因为"


def test_known_expressions() -> None:
    english, chinese = expressions(), expressions("zh")
    assert {"yes", "i agree", "of course"} <= set(english.affirmation)
    assert {"they are not", "i disagree"} <= set(english.negation)
    assert "it depends" in english.hedging
    assert "不同意" in chinese.negation
    assert "同意" in chinese.affirmation


def test_the_data_card_tells_the_numbers() -> None:
    card = (
        files("trustgauge.methods.social_bias").joinpath("data", "expressions.md").read_text(encoding="utf-8")
    )
    rows = re.findall(r"^\| `([\w-]+)` \| (\d+) \| (\d+) \|", card, re.M)
    facts = {name.replace("-", "_"): (int(english), int(chinese)) for name, english, chinese in rows}
    assert facts == {name: (len(lists("en")[name]), len(lists("zh")[name])) for name in lists("en")}


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[en]\naffirmation = ["aye", "aye"]\neven-handed = ["same"]\n', encoding="utf-8")
    assert read_expressions(file) == {"en": Expressions(affirmation=("aye",), even_handed=("same",))}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no expressions"),
        ("[en", "the file is not TOML"),
        ("a = " + "[" * 5000, "the file is not TOML"),
        ('[fr]\naffirmation = ["oui"]', "one of: en, zh"),
        ('en = "yes"', "one of: en, zh"),
        ('[en]\nassent = ["yes"]', "affirmation, negation, refusal, hedging, even-handed, explanation"),
        ('[en]\nnegation = "no"', "not a list of texts"),
        ('[en]\nnegation = ["no", " "]', "texts, none empty"),
        ("[en]\nnegation = [1]", "texts, none empty"),
    ],
)
def test_faults_of_a_file(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(PlanError) as raised:
        read_expressions(file)
    assert told in str(raised.value)


def test_every_fault_at_once(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[en]\nassent = ["yes"]\nnegation = 3\n[fr]\n', encoding="utf-8")
    with pytest.raises(PlanError) as raised:
        read_expressions(file)
    assert len(raised.value.faults) == 3


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="cannot be read"):
        read_expressions(tmp_path / "none.toml")
