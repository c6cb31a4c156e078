"""The lexicon scorers, as their libraries are installed here."""

from __future__ import annotations

import pickle
from importlib import metadata

import pytest

from tests.services.asking import outputs
from trustgauge.services.sentiment import Afinn, TextBlob, Vader

ALL = [Vader(), TextBlob(), Afinn()]
IDS = ["vader", "textblob", "afinn"]


@pytest.fixture(params=ALL, ids=IDS)
def scorer(request: pytest.FixtureRequest) -> Vader | TextBlob | Afinn:
    service: Vader | TextBlob | Afinn = request.param
    pytest.importorskip(service.module, reason=f"{service.package} is not installed")
    return service


def test_scores_have_the_sign_of_the_words_and_stay_in_range(scorer: Vader | TextBlob | Afinn) -> None:
    texts = ["This is wonderful and great.", "This is terrible and horrible.", "The table is in the room."]
    good, bad, neutral = outputs(scorer, *texts)
    assert 1 >= float(good) > 0.3
    assert -1 <= float(bad) < -0.3
    assert neutral == 0.0
    assert all(isinstance(one, float) for one in outputs(scorer, "good " * 50, "bad " * 50))


def test_any_text_is_scored(scorer: Vader | TextBlob | Afinn) -> None:
    texts = [
        "",
        "\0\x1b[31m",
        "<b>good</b>",
        "\ud800",
        "😀 中文",
        "%s {} \\",
        "good " * 20_000,
        "x" * 200_000,
    ]
    scores = outputs(scorer, *texts)
    assert len(scores) == len(texts)
    assert all(-1 <= float(score) <= 1 for score in scores)


def test_facts(scorer: Vader | TextBlob | Afinn) -> None:
    assert (scorer.task, scorer.deterministic) == ("score", True)
    assert scorer.version() == metadata.version(scorer.package)
    assert scorer.identity() == {"use": scorer.use, "version": scorer.version()}
    assert pickle.loads(pickle.dumps(scorer)) == scorer
    assert outputs(scorer, "a good day") == outputs(scorer, "a good day")
    scorer.needs()


def test_afinn_is_the_mean_valence_over_five() -> None:
    afinn = pytest.importorskip("afinn")
    text = "good good bad breathtaking"  # 3, 3, -3 and 5 in AFINN's list
    assert afinn.Afinn().score(text) == 8.0
    assert outputs(Afinn(), text) == [8.0 / (4 * 5)]


def test_vader_is_the_compound_score() -> None:
    vader = pytest.importorskip("vaderSentiment.vaderSentiment")
    text = "The food was not very good!"
    assert outputs(Vader(), text) == [vader.SentimentIntensityAnalyzer().polarity_scores(text)["compound"]]


def test_textblob_is_the_polarity() -> None:
    textblob = pytest.importorskip("textblob")
    text = "A beautiful but slow film"
    assert outputs(TextBlob(), text) == [textblob.TextBlob(text).sentiment.polarity]
