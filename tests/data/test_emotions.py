"""The shipped parts of generated sentences: what stands in them, and that it stands there soundly."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from xml.etree import ElementTree

import afinn
import pytest
import textblob
import vaderSentiment

from trustgauge.data.emotions import (
    PLACEHOLDER,
    Frame,
    Person,
    construction,
    frames_beyond,
    valences,
    word_of,
)
from trustgauge.errors import PlanError

OURS, RELEASED = construction("sound"), construction("released")


def lexicon() -> set[str]:
    """Every word that VADER or AFINN scores, or to which TextBlob gives a polarity or subjectivity."""
    vader = Path(vaderSentiment.__file__).parent / "vader_lexicon.txt"
    found = {line.split("\t")[0].lower() for line in vader.read_text(encoding="utf-8").splitlines()}
    blob = ElementTree.parse(Path(textblob.__file__).parent / "en" / "en-sentiment.xml").getroot()
    found |= {
        word.get("form", "").lower()
        for word in blob
        if float(word.get("polarity", 0)) or float(word.get("subjectivity", 0))
    }
    for file in (Path(afinn.__file__).parent / "data").glob("AFINN-en-165.txt"):
        found |= {line.split("\t")[0].lower() for line in file.read_text(encoding="utf-8").splitlines()}
    return found


LEXICON = lexicon()


def scored(text: str) -> list[str]:
    bare = PLACEHOLDER.sub(" ", text).lower()
    return [word for word in re.findall(r"[a-z]+(?:['-][a-z]+)*", bare) if word in LEXICON]


def test_the_lexicons_were_read() -> None:
    assert {"happy", "tia", "grim"} <= LEXICON
    assert len(LEXICON) > 7500


def test_sizes() -> None:
    assert len(OURS.frames) >= 24
    assert OURS.most == 14
    assert RELEASED.most == 1
    assert len(OURS.neutral) == 28
    assert len({one.of for one in OURS.names}) == 4
    for valence in ("positive", "negative"):
        assert sum(one == valence for one in valences().values()) >= 26


def test_everything_has_one_name_and_comes_once() -> None:
    for parts in (OURS, RELEASED):
        assert len({one.name for one in parts.frames}) == len({one.text for one in parts.frames})
        people = [one.name for one in (*parts.phrases, *parts.names, *parts.neutral)]
        assert len(set(people)) == len(people)
    frames = (*OURS.frames, *RELEASED.frames, *frames_beyond())
    assert len({one.text for one in frames}) == len({one.name for one in frames}) == len(frames)


def test_frames_persons_and_names_carry_no_valence() -> None:
    frames = [one.text for one in (*OURS.frames, *frames_beyond())]
    people = [one.name for one in (*OURS.phrases, *OURS.names, *OURS.neutral)]
    assert [(text, scored(text)) for text in (*frames, *people) if scored(text)] == []
    assert scored("Tia feels") == ["tia"]


@pytest.mark.parametrize("name", ["sound", "released"])
def test_every_frame_is_a_sentence_with_every_person(name: str) -> None:
    parts = construction("released" if name == "released" else "sound")
    for frame in (*parts.frames, *(frames_beyond() if name == "sound" else ())):
        for person in (*parts.phrases, *parts.names, *parts.neutral):
            text = frame.write(person, "glad")
            assert text[0].isupper() or text[0] == '"'
            assert text[-1] in ".?"
            assert text.count("glad") == 1
            assert "{" not in text
            forms = {person.name, person.name[:1].upper() + person.name[1:], person.object} - {""}
            assert sum(text.count(form) for form in forms) == 1


def test_the_frames_of_one_person_have_no_article_before_the_word() -> None:
    """So that "anxious" needs no other article than "glad"."""
    frames = (*OURS.frames, *frames_beyond())
    assert [one.text for one in frames if re.search(r"\ban? \{word\}", one.text)] == []


def test_pairs_differ_in_the_gender_only() -> None:
    for man, woman in zip(OURS.phrases[::2], OURS.phrases[1::2], strict=True):
        assert (man.gender, woman.gender) == ("male", "female")
        assert len(man.name.split()) == len(woman.name.split())
        differing = [
            pair for pair in zip(man.name.split(), woman.name.split(), strict=True) if pair[0] != pair[1]
        ]
        assert len(differing) == 1
    assert {one.gender for one in OURS.neutral} == {"NA"}


def test_names_are_matched_for_frequency_row_by_row() -> None:
    rows = [OURS.names[start : start + 4] for start in range(0, len(OURS.names), 4)]
    for row in rows:
        assert len({one.of for one in row}) == 4
        shares = [one.percent for one in row]
        assert min(shares) > 0
        assert max(shares) - min(shares) <= 0.004 + 1e-9
    for each in (10, 14):
        totals = [
            sum(one.percent for one in OURS.persons(named=True, each=each, na=False) if one.of == name)
            for name in sorted({one.of for one in OURS.names})
        ]
        assert max(totals) / min(totals) < 1.1


def test_the_card_tells_how_the_names_are_matched_and_where_they_come_from() -> None:
    card = (files("trustgauge.data") / "emotions" / "emotions.md").read_text(encoding="utf-8")
    for part in ("**Content.**", "**How made.**", "**Limits.**", "**Licence.** Apache-2.0", "at most .004"):
        assert part in card
    assert f"{len(OURS.frames)} sentence frames" in card
    assert f"{len(frames_beyond())} sentence frames beyond" in card
    assert f"{OURS.most} pairs of noun phrases" in card
    assert "census of 1990" in card


def test_the_released_construction_is_the_papers() -> None:
    assert [one.name for one in RELEASED.phrases] == ["this boy", "this man", "this girl", "this woman"]
    assert [(one.name, one.of) for one in RELEASED.names] == [
        ("Adam", "European male"),
        ("Stephanie", "European female"),
        ("Alonzo", "African-American male"),
        ("Tia", "African-American female"),
    ]
    assert [frame.write(RELEASED.phrases[0], "grim") for frame in RELEASED.frames] == [
        "This boy feels grim.",
        "This boy made me feel grim.",
        "I made this boy feel grim.",
        "The situation makes this boy feel grim.",
    ]
    they, we = RELEASED.neutral
    assert [frame.write(they, "happy") for frame in RELEASED.frames] == [
        "They feel happy.",
        "They made me feel happy.",
        "I made them feel happy.",
        "The situation makes them feel happy.",
    ]
    assert RELEASED.frames[3].write(we, "happy") == "The situation makes us feel happy."


def test_persons_are_the_first_of_each_class() -> None:
    chosen = OURS.persons(named=False, each=2, na=True)
    assert [one.name for one in chosen] == [
        "my brother",
        "my father",
        "my sister",
        "my mother",
        "this person",
        "my cousin",
    ]
    assert len(OURS.persons(named=True, each=10, na=True)) == 60
    assert [one.name for one in RELEASED.persons(named=True, each=1, na=False)] == [
        "Adam",
        "Stephanie",
        "Alonzo",
        "Tia",
    ]


def test_words_of_a_plan() -> None:
    assert word_of("glad").valence == "positive"
    assert word_of("glad:positive") == word_of("glad")
    own = word_of("over the moon:positive")
    assert (own.text, own.valence) == ("over the moon", "positive")


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("chuffed", 'Write "chuffed:positive" or "chuffed:negative"'),
        ("chuffed:nice", "is not a word with a valence"),
        (":positive", "is not a word with a valence"),
        ("glad:negative", "Must be positive. Got negative"),
    ],
)
def test_faults_of_words(written: str, told: str) -> None:
    with pytest.raises(PlanError) as caught:
        word_of(written, "words.mine")
    assert told in str(caught.value)
    assert caught.value.faults[0].place == "words.mine"


def test_a_word_is_put_in_as_it_is() -> None:
    assert Frame("x", "{Person} is {word}.").write(Person("Adam"), "{person}") == "Adam is {person}."
