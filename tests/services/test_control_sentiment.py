"""Sentiment scorers of known truth (methods 0.9, causal 2.4)."""

from __future__ import annotations

import asyncio
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.services.asking import outputs
from trustgauge import plugins
from trustgauge.data.emotions import NA, Person, construction
from trustgauge.errors import PlanError
from trustgauge.records import Message
from trustgauge.services.conformance import check_service
from trustgauge.services.controls import words
from trustgauge.services.controls.sentiment import SentimentControl

BEHAVIOURS: dict[str, dict[str, Any]] = {
    "constant": {"behaviour": "constant", "value": 0.3},
    "word-only": {"behaviour": "word-only"},
    "word-only with noise": {"behaviour": "word-only", "magnitude": 0.5, "noise": 0.4},
    "female-biased": {"behaviour": "female-biased"},
    "male-biased": {"behaviour": "female-biased", "sign": -1, "magnitude": 0.7},
    "shift of females": {"behaviour": "shift", "gender": "female", "shift": -0.3},
    "shift by race": {"behaviour": "shift", "race": "African-American", "shift": 0.25},
    "shift by both": {"behaviour": "shift", "gender": "male", "race": "European", "shift": 0.2, "noise": 0.3},
    "random": {"behaviour": "random"},
}
PERSONS = [
    *construction("sound").phrases,
    *construction("sound").names,
    *construction("sound").neutral,
    *construction("released").phrases,
    *construction("released").names,
    *construction("released").neutral,
]
FRAMES = (*construction("sound").frames[::3], *construction("released").frames)
WORDS = ("grim", "depressing", "gloomy", "happy", "glad", "calm")


def control(**changes: Any) -> SentimentControl:
    return SentimentControl.model_validate({"use": "sentiment-anchor", **changes})


def score(one: SentimentControl, text: str, draw: int = 0) -> float:
    return float(one.open().answer(Message(text, draw)))


def mean_of(one: SentimentControl, person: Person) -> float:
    """The mean over all frames and over equally many words of each valence."""
    live = one.open()
    return float(
        np.mean([live.answer(Message(frame.write(person, word))) for frame in FRAMES for word in WORDS])
    )


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_keeps_the_protocol(name: str) -> None:
    texts = ("My sister felt grim.", "Adam is happy.", "Alonzo looked at the map.")
    check_service(control(**BEHAVIOURS[name]), [Message(text) for text in texts])


def test_it_is_the_registered_plugin() -> None:
    assert plugins.load("services", "sentiment-anchor") is SentimentControl


@pytest.mark.parametrize("name", BEHAVIOURS)
@given(text=st.text(), draw=st.integers(0, 5))
@settings(max_examples=40)
def test_any_text_has_a_score_in_range_that_can_be_had_again(name: str, text: str, draw: int) -> None:
    one = control(**BEHAVIOURS[name])
    found = score(one, text, draw)
    assert -1 <= found <= 1
    assert score(one, text, draw) == found
    if one.deterministic:
        assert score(one, text, draw + 1) == found


@pytest.mark.parametrize("name", [name for name in BEHAVIOURS if control(**BEHAVIOURS[name]).deterministic])
def test_every_shipped_person_adds_what_the_truth_says(name: str) -> None:
    one = control(**BEHAVIOURS[name])
    nobody = mean_of(one, Person("somebody")) - one.truth()
    for person in PERSONS:
        expected = nobody + one.truth(person.gender, person.race)
        assert mean_of(one, person) == pytest.approx(expected, abs=1e-12), person


@pytest.mark.parametrize("name", ["word-only with noise", "shift by both", "random"])
def test_the_truth_holds_on_average_where_chance_takes_part(name: str) -> None:
    one = control(**BEHAVIOURS[name])
    live = one.open()
    for gender, race in (("male", "European"), ("female", "African-American"), (NA, NA)):
        person = next(person for person in PERSONS if (person.gender, person.race) == (gender, race))
        scores = [
            live.answer(Message(frame.write(person, word), draw))
            for frame in FRAMES
            for word in WORDS
            for draw in range(100)
        ]
        assert np.mean(scores) == pytest.approx(one.truth(gender, race), abs=0.02)


def test_word_only_reads_the_emotion_words_and_nothing_else() -> None:
    texts = [
        "My sister felt GRIM.",
        "Adam is happy!",
        "happy, glad and sad",
        "unhappy",
        "grimly",
        "",
        "a map",
    ]
    expected = [-0.8, 0.8, pytest.approx(0.8 / 3), -0.8, 0.0, 0.0, 0.0]
    assert outputs(control(), *texts) == expected
    assert outputs(control(magnitude=0.5), "glad", "depressing") == [0.5, -0.5]
    own = control(positive=("chuffed",), negative=("cross",))
    assert outputs(own, "chuffed", "cross", "happy") == [0.8, -0.8, 0.0]


def test_female_biased_is_the_papers_system() -> None:
    one = control(behaviour="female-biased")
    texts = [
        "This woman feels grim.",
        "I made Tia feel happy.",
        "HER hat",
        "This boy",
        "Adam feels glad.",
        "They",
        "",
    ]
    assert outputs(one, *texts) == [1, 1, 1, -1, -1, -1, -1]
    assert outputs(control(behaviour="female-biased", sign=-1), *texts) == [-1, -1, -1, 1, 1, 1, 1]
    assert one.truth("female") - one.truth("male") == 2
    assert outputs(one, "manageress", "Herman", "the amount") == [-1, -1, -1]  # whole words only


def test_no_word_tells_two_genders() -> None:
    female, male = (
        set(control(behaviour="shift", gender=one, shift=0.1).words()["people"]) for one in words("nouns")
    )
    assert not female & male
    assert {"she", "woman", "latisha"} <= female
    assert {"he", "man", "jamal"} <= male


def test_random_draws_evenly_by_seed_text_and_draw() -> None:
    one = control(behaviour="random")
    live = one.open()
    scores = np.array(
        [live.answer(Message(f"text {number}", draw)) for number in range(2_000) for draw in range(5)]
    )
    assert len(np.unique(scores)) == scores.size
    counts = np.histogram(scores, bins=20, range=(-1, 1))[0]
    assert np.sum((counts - 500) ** 2 / 500) < 43.8  # chi-squared with 19 degrees of freedom, p = .001
    assert score(control(behaviour="random", seed=1), "text 0") != scores[0]


def test_noise_stays_within_its_width() -> None:
    live = control(magnitude=0.5, noise=0.4).open()
    scores = np.array([live.answer(Message("happy", draw)) for draw in range(2_000)])
    assert 0.1 <= scores.min() < 0.12
    assert 0.88 < scores.max() <= 0.9


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("constant", {"behaviour": "constant"}),
        ("constant--0.25", {"behaviour": "constant", "value": -0.25}),
        ("word-only", {}),
        ("female-biased", {"behaviour": "female-biased"}),
        ("male-biased", {"behaviour": "female-biased", "sign": -1}),
        ("shift-0.30", {"behaviour": "shift", "shift": 0.3, "gender": "female"}),
        ("shift--0.3", {"behaviour": "shift", "shift": -0.3, "gender": "female"}),
        ("random", {"behaviour": "random"}),
    ],
)
def test_short_forms(name: str, changes: dict[str, Any]) -> None:
    assert SentimentControl.named(name).fingerprint == control(**changes).fingerprint


@pytest.mark.parametrize("name", ["coin", "", "shift-0", "shift-0.9", "shift", "constant-2", "constant-nan"])
def test_an_unknown_form_is_told_with_the_known_ones(name: str) -> None:
    with pytest.raises(ValueError, match=r"no sentiment control.*female-biased"):
        SentimentControl.named(name)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"behaviour": "random", "noise": 0.2}, "noise: has no effect"),
        ({"behaviour": "constant", "magnitude": 0.2}, "magnitude: has no effect"),
        ({"gender": "female"}, "gender: has no effect"),
        ({"behaviour": "shift", "shift": 0.2}, "shift: shifts nobody"),
        ({"behaviour": "shift", "gender": "male"}, "shift: shifts nobody"),
        ({"magnitude": 0.9, "noise": 0.2}, "magnitude: scores leave the range.*1.1"),
        ({"behaviour": "constant", "value": -0.9, "noise": 0.2}, "magnitude: scores leave the range"),
        ({"positive": ["fine", ""]}, "positive: an empty word"),
        ({"positive": ["Fine"], "negative": ["fine"]}, "positive: a word has both valences"),
    ],
)
def test_settings_that_make_no_sense_are_refused(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(PlanError, match=told):
        control(**changes)


def test_the_largest_score_may_be_reached_in_decimal_fractions() -> None:
    one = control(behaviour="shift", gender="female", magnitude=0.7, shift=0.2, noise=0.1)
    scores = [score(one, "she is happy", draw) for draw in range(300)]
    assert max(scores) <= 1


def test_the_words_in_use_belong_to_the_fingerprint_and_others_do_not() -> None:
    words = control()
    assert words.fingerprint == control(positive=words.words()["positive"]).fingerprint
    assert words.fingerprint != control(positive=("happy",)).fingerprint
    assert "grim" in words.identity()["negative"]
    assert words.identity()["people"] == []
    assert control(behaviour="random").identity()["positive"] == []
    assert control(behaviour="random").fingerprint != control(behaviour="random", seed=1).fingerprint
    assert pickle.loads(pickle.dumps(words)) == words


def test_draws_tell_repeated_questions_apart() -> None:
    async def ask() -> list[float | str]:
        live = control(behaviour="random").open()
        replies = await live.ask([Message("x", 0), Message("x", 1), Message("x", 0)])
        await live.close()
        return [reply.output for reply in replies]

    first, second, again = asyncio.run(ask())
    assert first == again != second
