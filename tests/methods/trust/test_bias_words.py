"""Shares of loaded words, against counts by hand."""

from __future__ import annotations

import polars as pl
import pytest

from trustgauge.methods.trust.bias_words import (
    CLASSES,
    LONG_ONLY,
    LONGEST,
    MODALITY,
    STATED,
    modality_words,
    sentences,
    shares,
    words,
    words_of,
)


def only(text: str, matching: str = "all") -> dict[str, float]:
    """What a sentence has: its words, its modality, and the classes that are not 0."""
    row = shares([text], "released" if matching == "released" else "all").row(0, named=True)
    return {name: value for name, value in row.items() if value or name in ("words", MODALITY)}


def test_a_sentence_by_hand() -> None:
    """They (1), claim (2), the so-called experts never (3) admit (4) it: 8 words."""
    found = only("They claim the so-called experts never admit it.")
    assert found == {
        "words": 8,
        "third_person": 1 / 8,  # they
        "one_sided": 1 / 8,  # so-called, one word
        "hedge": 1 / 8,  # claim
        "factive": 1 / 8,  # admit
        "assertive": 2 / 8,  # claim, admit
        "strong_subjective": 1 / 8,  # never
        "weak_subjective": 1 / 8,  # claim*
        "modality": 1.0,  # never
    }


def test_a_phrase_covers_its_words() -> None:
    """In my opinion: an opinion and a hedge; sort of: a hedge and a tentative word; no hit within either."""
    found = only("In my opinion it is sort of cold")
    assert found["words"] == 8
    assert found["opinion"] == found["tentative"] == 1 / 8
    assert found["hedge"] == 2 / 8


def test_modality_is_the_mean_of_the_modal_words() -> None:
    assert only("It might be probably so")[MODALITY] == pytest.approx((-0.5 + 0.25) / 2)
    assert only("No idea")[MODALITY] == -1
    assert only("No doubt")[MODALITY] == 1  # the phrase covers "doubt"
    assert only("I assumed it")[MODALITY] == -0.25  # assume*
    assert only("We can't go")[MODALITY] == 0.75  # not that of "can"
    assert only("The door is open")[MODALITY] == STATED


def test_wildcards_stand_for_beginnings() -> None:
    assert "academ*" not in words_of("work")
    assert "employ*" in words_of("work")
    assert only("Unemployment and employees")["work"] == 2 / 3
    assert "work" not in only("They deploy redeployed ploys")


def test_released_counting_has_its_quirks() -> None:
    """No wildcard ever matches, and most lists count phrases only (trust 4.1)."""
    text = "I think employees work because they admit that it turns out bad"
    every, released = only(text), only(text, "released")
    assert every["work"] == 2 / 12
    assert released["work"] == 1 / 12  # "work", not "employ*"
    assert every["factive"] == 2 / 12  # admit, turns out
    assert released["factive"] == 1 / 12  # turns out
    assert every["opinion"] == 2 / 12
    assert released["opinion"] == 1 / 12  # I think, not bad
    assert "assertive" in every
    assert "assertive" not in released
    assert released["third_person"] == every["third_person"] == 1 / 12


def test_released_counting_knows_no_long_phrase() -> None:
    assert "turn a blind eye" in words_of("strong_subjective")
    assert only("They turn a blind eye")["strong_subjective"] == 1 / 5
    assert "strong_subjective" not in only("They turn a blind eye", "released")


@pytest.mark.parametrize("matching", ["all", "released"])
def test_a_sentence_without_words_has_no_shares(matching: str) -> None:
    frame = shares(["", " ", "?!", ":-)"], "released" if matching == "released" else "all")
    assert frame["words"].to_list() == [0, 0, 0, 0]
    assert frame.select(CLASSES).null_count().sum_horizontal().item() == 4 * len(CLASSES)
    assert frame[MODALITY].null_count() == 4


def test_one_word() -> None:
    assert only("Terrible") == {"words": 1, "opinion": 1.0, "strong_subjective": 1.0, MODALITY: STATED}


def test_no_sentences_at_all() -> None:
    assert shares([]).columns == ["words", *CLASSES, MODALITY]
    assert shares([]).is_empty()


def test_typographic_apostrophes_and_case() -> None:
    assert only("HE’S here") == only("he's here")
    assert only("HE’S here")["third_person"] == 1 / 2


def test_hostile_words() -> None:
    hostile = ["(.*)+$ [a-", "\u202e\u0000he", "he" * 50_000, "he " * 50_000, "İ" * 1000]
    frame = shares(hostile)
    assert frame["words"].to_list()[2:4] == [1, 50_000]
    assert frame["third_person"].to_list()[1:4] == [1.0, 0.0, 1.0]


def test_words_of_a_text() -> None:
    assert words("The so-called U.S. plan, worth 2.5 billion, isn't theirs") == [
        *("the", "so-called", "u", "s", "plan", "worth", "2.5", "billion", "isn't", "theirs"),
    ]


def test_sentences_of_a_text() -> None:
    texts = pl.Series("said", ["Dr. Smith came. It cost 3.5, e.g. more! Why?\nYes", "", " \n ", "Hm..."])
    assert sentences(texts).to_list() == [
        ["Dr. Smith came.", "It cost 3.5, e.g. more!", "Why?", "Yes"],
        [],
        [],
        ["Hm..."],
    ]
    assert sentences(pl.Series("said", ["x" * 10_000])).to_list() == [["x" * LONGEST]]


def test_the_lists_are_as_they_are_read() -> None:
    """Every entry is lower case, splits into its own words, has "*" only at the end, and stands once."""
    for name in CLASSES:
        entries = words_of(name)
        assert len(set(entries)) == len(entries)
        for entry in entries:
            bare = entry.removesuffix("*")
            assert words(bare) == bare.split(), entry
            assert " " not in entry or not entry.endswith("*"), entry
    assert all(-1 <= value <= 1 for value in modality_words().values())
    assert all(words(one.removesuffix("*")) == one.removesuffix("*").split() for one in modality_words())


def test_every_list_that_counts_phrases_has_some() -> None:
    for name in LONG_ONLY:
        assert [one for one in words_of(name) if len(one.split()) in (2, 3)], name
