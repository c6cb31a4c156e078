"""Codes and names of languages."""

from __future__ import annotations

import pytest

from trustgauge.services import languages


def test_the_table_is_whole() -> None:
    names = languages.language_names()
    assert len(names) > 200
    assert len({code for code in names if len(code) == 2}) == 184  # ISO 639-1 and the retired `sh`
    assert all(code.islower() and words.strip() == words and words for code, words in names.items())
    shown = list(names.values())
    assert len(set(shown)) == len(shown), "two codes with one name"


@pytest.mark.parametrize("code", [code for code in languages.language_names() if len(code) == 2])
def test_two_and_three_letters_are_one_language(code: str) -> None:
    three = languages.long(code)
    assert len(three) == 3
    assert languages.short(three) == code
    assert languages.name(three) == languages.name(code)


@pytest.mark.parametrize(
    ("code", "short", "long", "name"),
    [
        ("tr", "tr", "tur", "Turkish"),
        ("hin", "hi", "hin", "Hindi"),
        ("no", "no", "nor", "Norwegian"),
        ("cmn", "zh", "cmn", "Chinese"),
        ("ast", "ast", "ast", "Asturian"),
        ("pt-BR", "pt-BR", "por-BR", "Portuguese (BR)"),
        ("zho-Hant", "zh-Hant", "zho-Hant", "Chinese (Hant)"),
        ("qaa", "qaa", "qaa", "qaa"),
    ],
)
def test_codes(code: str, short: str, long: str, name: str) -> None:
    assert languages.short(code) == short
    assert languages.long(code) == long
    assert languages.name(code) == name
    assert languages.check(code) == code


@pytest.mark.parametrize(
    "code", ["", "e", "EN", "engl", "english", "e1", "qq", "en-", "en_12", "en US", "en\n"]
)
def test_what_is_no_code(code: str) -> None:
    with pytest.raises(ValueError, match="ISO 639"):
        languages.check(code)


@pytest.mark.parametrize(("word", "near"), [("turkish", "tr"), ("Esperanto", "eo"), ("espagnol", None)])
def test_the_nearest_code_is_named(word: str, near: str | None) -> None:
    with pytest.raises(ValueError, match="no language") as caught:
        languages.check(word)
    assert (f'Did you mean "{near}"' in str(caught.value)) is (near is not None)


def test_three_letters_may_be_a_language_we_do_not_know() -> None:
    assert languages.check("itt") == "itt"


def test_a_services_own_codes_come_first() -> None:
    own = {"zh": "zh-CN", "pt-BR": "pb"}
    assert languages.native("cmn", own) == "zh-CN"
    assert languages.native("por-BR", own) == "pb"
    assert languages.native("pt", own) == "pt"
    assert languages.native("pt", own, letters=3) == "por"
    assert languages.native("ast", own, letters=3) == "ast"
