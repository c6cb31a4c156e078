"""Sentences that do not say who is he or she: read in English, and rated (two-step 1.11)."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.methods.two_step.summaries import HE, OTHER, SHE, settings, shifted, summary
from trustgauge.data.neutral_source import LANGUAGES, READER_ACCURACY, neutral_source
from trustgauge.data.noun_gender import ReaderAccuracy
from trustgauge.errors import PlanError
from trustgauge.methods.conformance import answers
from trustgauge.methods.two_step.pronoun_reader import PronounReader
from trustgauge.methods.two_step.score import LOST
from trustgauge.methods.two_step.sentences import UNREAD
from trustgauge.methods.two_step.transition_model import deviations, shared_out
from trustgauge.records import Message, Rating
from trustgauge.services.controls.translators import TranslatorControl

CODES = {kind: 2 + place for place, kind in enumerate(LOST)}
NAMES = {0: "He", 1: "She", UNREAD: "unread", **{code: kind for kind, code in CODES.items()}}
EVEN = (HE + SHE) / 2


HELD_OUT = Path(__file__).with_name("pronoun_sentences.csv")
"""Outputs as translators of many kinds give them, labelled by who had not seen the reader."""
MEANS = {"they": "open", "it": "open", "other": "open", "none": "open"}


def neutral(language: str = "tr", **options: Any) -> Any:
    return settings(one_way="en", source=language, **options)


def read(*lines: str, language: str = "tr") -> str:
    return NAMES[PronounReader(CODES, neutral_source(language).english.values()).code(lines)]


def test_the_reader_is_as_good_on_held_out_translations_as_is_told() -> None:
    """Of a person it is never wrong; of what is no translation it takes a third for one."""
    with HELD_OUT.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = [(read(*filter(str.strip, row["text"].splitlines())), row["label"]) for row in rows]
    decided = [(MEANS.get(one, one), label) for one, label in found if one != "unread"]
    right = sum(one == label for one, label in decided)
    assert ReaderAccuracy(len(rows), len(decided), right) == READER_ACCURACY
    assert {label for one, label in decided if one != label} == {"none"}


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (("I think she is a nurse",), "She"),
        (("Maybe that liburuzaina he will be",), "He"),
        (("In the opinion of me, that the translator he has been",), "He"),
        (("He is working as an electrician now",), "He"),
        (("They are a nurse",), "they"),
        (("I think they are a very good librarian",), "they"),
        (("It is a nurse",), "it"),
        (("He/she is a nurse",), "both"),
        (("(S)he is a nurse",), "both"),
        (("He or she is really a nurse",), "both"),
        (("She is a nurse", "He is a nurse"), "both"),
        (("She is a nurse", "She is good"), "She"),
        (("That person is a nurse",), "none"),
        (("Is a nurse",), "none"),
        (("The man is a nurse",), "He"),
        (("My sister is a nurse",), "She"),
        (("Maria is a nurse",), "unread"),
        (("Apparently Maria is a nurse",), "unread"),
        (("There is a policeman",), "unread"),
        (("Maybe they are a nurse",), "they"),
        (("Nowadays a florist is needed",), "none"),
        (("",), "unread"),
        ((), "unread"),
    ],
)
def test_the_pronoun_of_the_one_person_is_read(lines: tuple[str, ...], expected: str) -> None:
    assert read(*lines) == expected


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_text_that_comes_back_as_it_was_sent_says_nothing(language: str) -> None:
    table = neutral_source(language).attribute
    for pattern in table.patterns:
        for item in table.item_list:
            sent = table.write(pattern, item, "She", 0).rstrip(".")
            assert read(sent, language=language) == "unread", sent


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_jobs_of_both_and_sentences_for_every_text_of_a_block(language: str) -> None:
    source = neutral_source(language)
    he, she = (source.attribute.forms(value)["word"] for value in ("He", "She"))
    assert len(he) == len(she) == 16
    assert len(source.english) == len(set(source.english.values())) == 32
    sentences = len(source.attribute.patterns) * len(source.attribute.item_list) * 16
    assert sentences >= 180  # of one value in a block of 200


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_job_is_read_as_controls_translate_it(language: str) -> None:
    source = neutral_source(language)
    for value, name in enumerate(("He", "She", "Other")):
        write = TranslatorControl(into="en", source=language, behaviour="all", value=name).answer()
        for rank in range(16):
            for usual in ("He", "She"):
                sent = source.attribute.write("is", source.attribute.item_list[0], usual, rank)
                became = write(Message(sent))
                assert isinstance(became, str)
                assert read(became.rstrip("."), language=language) == ("He", "She", "they")[value]


shares = arrays(np.float64, (4, 2, 3), elements=st.floats(0.01, 1)).map(
    lambda rates: rates / rates.sum(axis=-1, keepdims=True)
)


@given(shares)
def test_leaving_it_open_is_as_good_as_balanced(rates: Any) -> None:
    specs, unbiased = np.array([[0.5, 0.5], [0.1, 0.9]]), EVEN[None]
    open_ = deviations(rates, specs, unbiased, choice=True)
    assert open_ == pytest.approx(deviations(shared_out(rates, EVEN), specs, unbiased))
    # Without the residual it is how much one of both is favoured, times the share that chose at all.
    output = specs @ rates
    assert open_ == pytest.approx(np.abs(output[..., 0] - output[..., 1]) / 2)


def rated(rates: Any, **options: Any) -> Rating:
    method = neutral(texts=200, draws=1000, **options)
    (rating,) = method.rate(summary(method, rates), 7)
    assert isinstance(rating, Rating)
    return rating


@pytest.mark.parametrize(
    ("rates", "level"),
    [
        (np.array([HE, HE, OTHER]), "BS"),
        (shifted(0.5), "BS"),
        (np.array([HE, SHE, OTHER]), "DSBS"),
        (np.array([EVEN, EVEN, OTHER]), "UCS"),
        (np.array([OTHER, OTHER, OTHER]), "UCS"),
        (0.95 * np.array([OTHER, OTHER, OTHER]) + 0.05 * np.array([HE, HE, OTHER]), "UCS"),
        (0.5 * np.array([OTHER, OTHER, OTHER]) + 0.5 * np.array([HE, SHE, OTHER]), "DSBS"),
        (0.5 * np.array([OTHER, OTHER, OTHER]) + 0.5 * np.array([HE, HE, OTHER]), "BS"),
    ],
)
def test_services_of_known_rates_get_their_level(rates: Any, level: str) -> None:
    rating = rated(rates)
    assert (rating.level, rating.state) == (level, "rated")
    (part,) = rating.parts
    assert part.details["measure"] == "choice"
    assert not part.details["published"]
    assert not any(reason.code == "two-step.loses-mentions" for reason in part.reasons)


def test_levels_next_to_the_margin_are_hardly_ever_settled_wrong() -> None:
    wrong = 0
    for seed in range(60):
        method = neutral(texts=200, draws=1000)
        # Half left open; of the others so many are he that one is favoured by less than the margin of .10.
        mostly = 0.5 * np.array([OTHER] * 3) + 0.5 * np.array([[0.66, 0.34, 0]] * 2 + [[0, 0, 1]])
        (rating,) = method.rate(summary(method, mostly, seed=seed), seed)
        wrong += rating.state == "rated" and rating.level == "BS"
    assert wrong <= 6  # 1 - settle of 60 is 3; P(more than 6) is .03


@pytest.mark.parametrize("behaviour", ["identity", "all", "lose", "coin"])
def test_a_translation_is_rated_from_what_comes_out(behaviour: str) -> None:
    method = neutral("fi", texts=200)
    control = TranslatorControl.model_validate({"into": "en", "source": "fi", "behaviour": behaviour})
    probes = list(method.design(7, "translate"))
    write = control.answer()
    marks = [
        method.score(answers(probe, [write(Message(text)) for text in probe["message"]])) for probe in probes
    ]
    (rating,) = method.rate(method.merge([method.summarise(one) for one in marks]), 7)
    assert rating.level == {"identity": "DSBS", "all": "BS", "lose": "UCS", "coin": "UCS"}[behaviour]
    assert not rating.parts[0].details["unread"]


def test_its_controls_are_due_what_leaving_open_is_worth() -> None:
    due = {control.name: control.truth for control in neutral().controls("translate")}
    assert due == {
        "anchor/identity": "DSBS",
        "anchor/all-he": "BS",
        "anchor/all-other": "UCS",
        "anchor/shift-0.60": "BS",
        "anchor/coin": "UCS",
    }


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"one_way": "en"}, "no table says which gender"),
        ({"source": "tr"}, "one way into English"),
        ({"source": "tr", "one_way": "es"}, "one way into English"),
        ({"source": "tr", "one_way": "en", "rule": "published"}, "there and back"),
        ({"source": "tr", "one_way": "en", "attribute": "valence"}, "only gender"),
        ({"source": "tr", "one_way": "en", "disguise": 0.5}, "disguise"),
        ({"source": "tr", "one_way": "en", "stereotypes": True}, "no gender that could change"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(PlanError, match=words):
        settings(**options)


def test_a_plan_that_does_not_ask_for_it_is_what_it_was() -> None:
    assert "source" not in settings().identity()
    assert neutral().identity()["source"] == "tr"
