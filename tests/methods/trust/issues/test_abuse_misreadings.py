"""What a checker may misread in a bot that says the same sentences again and again."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from tests.methods.trust.issues.test_abuse import RESAMPLING, shares
from trustgauge.methods.trust.abuse_checkers import TWEET, checker
from trustgauge.methods.trust.issues.abuse import Abuse
from trustgauge.methods.trust.issues.abuse_misreadings import SaidSentences, sentence_marks
from trustgauge.methods.trust.issues.abuse_rates import detection
from trustgauge.methods.trust.issues.issue import CELLS, IssueAssessment
from trustgauge.reports import sentences

WORDS = Abuse(issue="abuse")
ALARMS = 1 - detection(checker("words").styles[TWEET]).specificity


def cells(said: list[tuple[str, bool]], dialogs: int = 200) -> pl.DataFrame:
    """Cells of a bot that says these utterances, marks of sentences and whether flagged, dealt to dialogs."""
    rows = [
        (
            "bot",
            "",
            f"d{at % dialogs:05d}",
            f"talk:{'offensive' if bad else 'neither'}:{TWEET}::{marks}",
            1,
            bad / 2,
        )
        for at, (marks, bad) in enumerate(said)
    ]
    names = list(CELLS[:4])
    table = pl.DataFrame(rows, schema=list(CELLS), orient="row", schema_overrides={"total": pl.Float64})
    return table.group_by(names).agg(pl.col("n", "total").sum()).sort(names)


def recombined(misread: np.ndarray, rng: np.random.Generator, answers: int = 800) -> list[tuple[str, bool]]:
    """Answers of an opener and a piece of advice, [2, phrases] of which are misread."""
    phrases = misread.shape[1]
    picked = rng.integers(phrases, size=(answers, 2))
    return [
        (f"a{one:03d}-b{two:03d}", bool(misread[0, one] or misread[1, two])) for one, two in picked.tolist()
    ]


def assessed(said: list[tuple[str, bool]]) -> IssueAssessment:
    return WORDS.assess(cells(said), "sound", RESAMPLING)


def test_a_harmless_bot_that_recombines_phrases_is_hardly_ever_settled_as_abusive() -> None:
    """As texts of their own as many false alarms would be abuse for certain."""
    rng = np.random.default_rng(20261130)
    chance = 1 - (1 - ALARMS) ** 0.5
    wrong = settled = 0
    for _ in range(120):
        said = recombined(rng.random((2, 5)) < chance, rng)
        wrong += max(shares(assessed(said))[1:]) >= 0.95
        apart = [(f"t{place:06d}", bad) for place, (_, bad) in enumerate(said)]
        settled += max(shares(assessed(apart))[1:]) >= 0.95
    assert wrong <= 4
    assert settled >= 15


def test_abuse_in_many_words_is_settled_whatever_phrases_stand_around_it() -> None:
    rng = np.random.default_rng(1)
    said = [
        (f"o{opener}-{place:06d}" if place % 2 else f"o{opener}-c{opener}", bool(place % 2))
        for place, opener in enumerate(rng.integers(8, size=800).tolist())
    ]
    assert shares(assessed(said))[2] >= 0.95


def test_where_few_phrases_are_flagged_the_report_says_how_many() -> None:
    found = assessed([(f"a{place % 10}-b{place % 2}", place % 10 == 3) for place in range(800)])
    (reason,) = [one for one in found.reasons if one.code == "trust.perhaps-false-alarms"]
    assert (reason.facts["flagged"], reason.facts["sentences"]) == (80, 1)
    assert "for only about 1 different sentence;" in sentences.reason(reason)


def test_what_the_user_said_and_numbers_make_no_sentence_of_its_own() -> None:
    said = [
        sentence_marks(f"I'd love to talk about {one}. Here are {n} ideas!", f"tell me about {one}")
        for n, one in enumerate(("gardening", "kettles"))
    ]
    assert said[0] == said[1]
    assert len(said[0].split("-")) == 2
    assert sentence_marks("Go away.", "") != sentence_marks("Go on.", "")
    assert sentence_marks("No. No.", "") == sentence_marks("No.", "")


def test_false_alarms_are_drawn_as_bots_are_misread() -> None:
    """Mean and spread of the share that is flagged, against bots of which each sentence is misread or not."""
    rng = np.random.default_rng(5)
    said = recombined(np.zeros((2, 6), dtype=bool), rng, answers=300) + [(f"u{n}", False) for n in range(100)]
    of_bot = SaidSentences.from_utterances((marks, bad, 1) for marks, bad in said)
    assert (of_bot.several, of_bot.decisive) == (12, 0)
    assert of_bot.length == pytest.approx(1.75)
    drawn = of_bot.draw_alarms(np.full(20_000, 0.1), 1.0, rng)
    names = sorted({one for marks, _ in said for one in marks.split("-")})
    at = [[names.index(one) for one in marks.split("-")] for marks, _ in said]
    bots = rng.random((4000, len(names))) < 0.1
    seen = np.mean([bots[:, places].any(axis=1) for places in at], axis=0)
    assert drawn.mean() == pytest.approx(seen.mean(), abs=0.005)
    assert drawn.mean() == pytest.approx(of_bot.expected_alarms(0.1, 1.0), abs=0.003)
    assert drawn.std() == pytest.approx(seen.std(), rel=0.06)


@pytest.mark.parametrize(("length", "alarms"), [(None, 0.1), (2.0, 0.1), (3.0, 0.1), (1.0, 0.19)])
def test_longer_answers_than_the_labelled_ones_have_more_false_alarms(
    length: float | None, alarms: float
) -> None:
    said = SaidSentences.from_utterances((f"a{n}-b{n}", False, 1) for n in range(50))
    assert said.expected_alarms(0.1, length) == pytest.approx(alarms)
    assert said.draw_alarms(np.full(3, 0.1), length, np.random.default_rng(1)) == pytest.approx([alarms] * 3)


def test_without_texts_each_utterance_is_its_own() -> None:
    said = SaidSentences.from_utterances([("", False, 7), ("", True, 3), ("a1", True, 2)])
    assert (said.n.sum(), said.several, said.decisive, said.length) == (12, 1, 4, 1.0)
    assert SaidSentences.apart(5).expected_alarms(0.2, None) == pytest.approx(0.2)
