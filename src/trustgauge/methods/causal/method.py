"""The causal method as a plug-in: settings, and the functions that every method has.

How much does a sentiment score change when only the protected class changes? See *The Effect of
Human v/s Synthetic Test Data and Round-tripping on Assessment of Sentiment Analysis Systems for
Bias* (Lakkaraju et al. 2024).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import polars as pl

from trustgauge.data.emotions import word_of
from trustgauge.errors import MethodError
from trustgauge.methods.causal import design, power, rating, score
from trustgauge.methods.causal.biased_control import biased_truth
from trustgauge.methods.causal.panel import Floats
from trustgauge.methods.causal.settings import CausalSettings
from trustgauge.records import Control, Json, Rating, Reason, Scale, Task


class Causal(CausalSettings):
    """The causal method; an instance is one experiment of a plan."""

    name: ClassVar[str] = "causal"
    issue_id: ClassVar[str] = "bias"
    paper: ClassVar[str] = (
        "The Effect of Human v/s Synthetic Test Data and Round-tripping on Assessment of "
        "Sentiment Analysis Systems for Bias (2024)"
    )
    version: ClassVar[str] = "1.0"
    scale: ClassVar[Scale] = rating.ABSOLUTE
    tasks: ClassVar[tuple[Task, ...]] = ("score",)
    figure_doubts: ClassVar[Mapping[str, str]] = {
        "causal.constant-scores": "gave every text the same score",
        "causal.narrow-scores": "gave scores that hardly differ",
        "causal.narrow-range": "gave scores that hardly differ",
        "causal.other-range": "gave scores outside the range",
        "causal.one-sided-scores": "gave no score below 0",
    }

    @property
    def issue(self) -> str:
        """The protected attributes, "gender, race"."""
        return rating.attribute(self)

    @property
    def texts(self) -> int:
        """Texts of the largest data set."""
        return design.largest(self)

    @property
    def scale_in_use(self) -> Scale:
        """The absolute scale under `sound`; else the order among the systems, in L levels (causal 2.9)."""
        return rating.scale(self)

    @property
    def score_columns(self) -> tuple[str, ...]:
        """The score."""
        return ("score",)

    def design(self, seed: int, task: Task) -> Iterator[pl.DataFrame]:
        """Probe frames, one a data set; see `design.design`."""
        if task not in self.tasks:
            raise MethodError(
                f"{self.name} cannot ask a service that does not score", must="task score", got=task
            )
        return design.design(self, seed)

    def score(self, answers: pl.DataFrame) -> pl.DataFrame:
        """Answers with their scores; see `score.score_answers`."""
        return score.score_answers(answers, self.span)

    def summarise(self, scores: pl.DataFrame) -> pl.DataFrame:
        """Sums that add up; see `score.summarise`."""
        return score.summarise(scores)

    def merge(self, summaries: Sequence[pl.DataFrame]) -> pl.DataFrame:
        """A sum over equal keys; see `score.merge`."""
        return score.merge(summaries)

    def rate(self, summary: pl.DataFrame, seed: int) -> list[Rating]:
        """Ratings by `rating.rate`: the plan's services in its order, then any others."""
        return self.in_plan_order(rating.rate(summary, self, seed))

    def badness_draws(self, summary: pl.DataFrame, seed: int) -> dict[str, Floats]:
        """How bad each service is in each resample, to compare services; see `rating.badness_ends`."""
        return {name: draws for name, (_, draws) in self.badness_ends(summary, seed).items()}

    def badness_ends(self, summary: pl.DataFrame, seed: int) -> dict[str, tuple[Floats, Floats]]:
        """The same at best, without effects that may be none, and as it is; see `rating.badness_ends`."""
        if not self.disguise:
            return rating.badness_ends(summary, self, seed)
        from trustgauge.methods.causal import disguise
        from trustgauge.rating.recognition import bounds_by_recognition

        return bounds_by_recognition(
            lambda rows: rating.badness_ends(rows, self, seed),
            summary,
            lambda rows: disguise.recognition_gap(rows, self, seed),
        )

    def evidence(self, scores: pl.DataFrame) -> pl.DataFrame:
        """Every text sent and received; see `score.evidence`."""
        return score.evidence(scores)

    def one_answer_is_behaviour(self, scores: pl.DataFrame) -> bool:
        """A scorer that gives everything one score does not let the protected class change it."""
        return True

    def controls(self, task: Task) -> tuple[Control, ...]:
        """The four controls of methods 0.9, for generated data: () for the texts of a file.

        The constant and the word-only scorer have no effect; the female-biased one mostly has the
        strongest there is; chance may give the random one level 2.
        """
        if task not in self.tasks or self.conversations is not None or self.sentences is not None:
            return ()
        words: dict[str, list[str]] = {"positive": [], "negative": []}
        for written in dict.fromkeys(one for listed in self.words.values() for one in listed):
            word = word_of(written, "words")
            words[word.valence].append(word.text)
        scale: dict[str, Json] = {} if self.span == (-1.0, 1.0) else {"span": list(self.span)}
        kinds: list[tuple[str, dict[str, Json], str]] = [
            ("constant", scale, "1"),
            ("word-only", {**words, **scale}, "1"),
            ("female-biased", scale, biased_truth(self)),
            ("random", scale, "1 or 2"),
        ]
        return tuple(
            Control(f"anchor/{name}", {"use": "sentiment-anchor", "behaviour": name, **settings}, truth)
            for name, settings, truth in kinds
        )

    def power(self, seed: int) -> Mapping[str, Json]:
        """The smallest effect that these settings can settle; see `power.smallest_effect`."""
        return power.smallest_effect(self, seed)

    def best_case(self, seed: int) -> Reason | None:
        """Why a scorer without any effect would not be settled; see `power.too_few_without_spread`."""
        return power.too_few_without_spread(self, seed)
