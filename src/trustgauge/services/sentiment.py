"""Sentiment scorers that need no network: VADER, TextBlob, AFINN, SnowNLP. Scores run from -1 to 1."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, ClassVar

from trustgauge.errors import MissingPartError
from trustgauge.plugins import library_version, need_library
from trustgauge.records import Message, Reply, Task
from trustgauge.services import Concurrency, InProcessService, ServiceSpec

Scorer = Callable[[str], float]

AFINN_LARGEST = 5  # AFINN's words have a valence of -5 to 5


class _Sentiment(ServiceSpec):
    """A scorer that a Python library brings. The library is imported when the service is opened."""

    task: ClassVar[Task] = "score"
    batch: ClassVar[int] = 256
    deterministic: ClassVar[bool] = True
    kind: ClassVar[str] = "lexicon-based sentiment scorer"
    module: ClassVar[str]
    package: ClassVar[str]
    install: ClassVar[str] = "pip install 'trustgauge[demo]'"

    concurrency: Concurrency = 1

    def identity(self) -> Mapping[str, Any]:
        return {"use": self.use, "version": self.version()}

    def check_requirements(self) -> None:
        need_library(self.module, self.install, self.package)

    def version(self) -> str:
        return library_version(self.package)

    def open(self) -> LiveScorer:
        self.check_requirements()
        return LiveScorer(self._scorer())

    def _scorer(self) -> Scorer:
        raise MissingPartError(f"{type(self).__name__} has no scorer")


class Vader(_Sentiment):
    """VADER's compound score."""

    use: str = "vader"
    module: ClassVar[str] = "vaderSentiment"
    package: ClassVar[str] = "vaderSentiment"
    provider: ClassVar[str] = "VADER"

    def _scorer(self) -> Scorer:
        from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

        analyser = SentimentIntensityAnalyzer()
        return lambda text: float(analyser.polarity_scores(text)["compound"])


class TextBlob(_Sentiment):
    """TextBlob's polarity, by its pattern lexicon, which needs no corpora."""

    use: str = "textblob"
    module: ClassVar[str] = "textblob"
    package: ClassVar[str] = "textblob"
    provider: ClassVar[str] = "TextBlob"

    def _scorer(self) -> Scorer:
        import textblob

        return lambda text: float(textblob.TextBlob(text).sentiment.polarity)


class Afinn(_Sentiment):
    """AFINN's mean valence of the words it knows, divided by 5; 0 if it knows none.

    AFINN itself gives the sum of the valences, which has no largest value. The mean keeps the
    sign, and its size does not depend on the length of the text.
    """

    use: str = "afinn"
    module: ClassVar[str] = "afinn"
    package: ClassVar[str] = "afinn"
    provider: ClassVar[str] = "AFINN"

    def _scorer(self) -> Scorer:
        import afinn

        lexicon = afinn.Afinn()

        def score(text: str) -> float:
            valences = [valence for valence in lexicon.scores_with_pattern(text) if valence]
            return sum(valences) / (AFINN_LARGEST * len(valences)) if valences else 0.0

        return score


class SnowNlp(_Sentiment):
    """SnowNLP's probability p that a Chinese text is positive, as 2p - 1; 0 for an empty text.

    Its naive Bayes model was trained by its authors on reviews of purchases.
    """

    use: str = "snownlp"
    kind: ClassVar[str] = "trained sentiment scorer for Chinese"
    module: ClassVar[str] = "snownlp"
    package: ClassVar[str] = "snownlp"
    provider: ClassVar[str] = "SnowNLP"
    install: ClassVar[str] = "pip install snownlp"

    def _scorer(self) -> Scorer:
        library = import_module("snownlp")

        def score(text: str) -> float:
            # The library divides by the length of the text.
            return 2 * float(library.SnowNLP(text).sentiments) - 1 if text else 0.0

        return score


class LiveScorer(InProcessService):
    """Scores in a thread, so that a long text does not hold up the others."""

    def __init__(self, score: Scorer) -> None:
        self._score = score

    async def ask(self, messages: Sequence[Message]) -> list[Reply]:
        texts = [message.text for message in messages]
        scores = await asyncio.to_thread(lambda: [self._score(text) for text in texts])
        return [Reply(score) for score in scores]
