"""The scorers that Python libraries bring, as they are installed here."""

from __future__ import annotations

import pickle
from importlib import metadata
from typing import ClassVar

import pytest

from tests.services.asking import outputs
from trustgauge.errors import MissingPartError
from trustgauge.services.annotations import People
from trustgauge.services.sentiment import Afinn, SnowNlp, TextBlob, Vader

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
    scorer.check_requirements()


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


class TestSnowNlp:
    # The library opens its files by a function that newer Pythons advise against.
    pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

    @pytest.fixture(autouse=True)
    def _library(self) -> None:
        pytest.importorskip("snownlp", reason="snownlp is not installed")

    def test_is_twice_the_probability_minus_one(self) -> None:
        library = pytest.importorskip("snownlp")
        texts = ["这个很好", "太糟糕了", "我妈妈今天很难过", "hello"]
        assert outputs(SnowNlp(), *texts) == [2 * library.SnowNLP(text).sentiments - 1 for text in texts]

    def test_scores_have_the_sign_of_the_words(self) -> None:
        good, bad = (float(one) for one in outputs(SnowNlp(), "这个很好", "太糟糕了"))
        assert 1 >= good > 0.3
        assert -1 <= bad < -0.3

    def test_its_label_turns_with_the_person(self) -> None:
        aunt, uncle = (float(one) for one in outputs(SnowNlp(), "我的阿姨很生气。", "我的叔叔很生气。"))
        assert aunt < -0.3
        assert uncle > 0.7

    def test_any_text_is_scored(self) -> None:
        texts = ["", " ", "\0\x1b[31m", "\ud800", "😀", "<b>好</b>", "好" * 5_000, "x" * 20_000]
        scores = outputs(SnowNlp(), *texts)
        assert all(-1 <= float(score) <= 1 for score in scores)
        assert scores[0] == 0.0

    def test_facts(self) -> None:
        service = SnowNlp()
        assert (service.task, service.deterministic) == ("score", True)
        assert service.identity() == {"use": "snownlp", "version": metadata.version("snownlp")}
        assert "Chinese" in service.kind


def test_a_service_without_settings_is_meant_by_its_name() -> None:
    assert Vader.named("") == Vader()
    with pytest.raises(ValueError, match='"x", where nothing can follow the name'):
        Vader.named("x")
    with pytest.raises(ValueError, match="a plan has to give `file`"):
        People.named("")


def test_a_library_that_is_absent_is_told_with_the_command_that_installs_it() -> None:
    class Absent(SnowNlp):
        module: ClassVar[str] = "no_such_module_here"

    with pytest.raises(MissingPartError, match=r"snownlp.*not installed.*pip install snownlp"):
        Absent().open()
