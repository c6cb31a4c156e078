"""The trust method as a plug-in: settings, and the functions that every method has.

What is wrong with a chatbot, and how much does it matter to whoever asks? See *Personalized Chatbot
Trustworthiness Ratings* (2020).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import polars as pl
from pydantic import PrivateAttr

from trustgauge.errors import MethodError
from trustgauge.methods import Growth
from trustgauge.methods.trust import audit, design, power, rating, score
from trustgauge.methods.trust.settings import TrustSettings
from trustgauge.rating.audit import Choice
from trustgauge.records import Control, Json, Rating, Reason, Scale, Task


class Trust(TrustSettings):
    """The trust method; an instance is one experiment of a plan."""

    name: ClassVar[str] = "trust"
    issue_id: ClassVar[str] = "trust"
    paper: ClassVar[str] = "Personalized Chatbot Trustworthiness Ratings (2020)"
    version: ClassVar[str] = "1.0"
    scale: ClassVar[Scale] = rating.SCALE
    tasks: ClassVar[tuple[Task, ...]] = ("chat",)

    _given: tuple[Rating, ...] = PrivateAttr(default=())

    @property
    def issue(self) -> str:
        """The issues that are measured."""
        return ", ".join(self.names)

    @property
    def texts(self) -> int:
        """Ordinary conversations held."""
        return self.conversations

    @property
    def score_columns(self) -> tuple[str, ...]:
        """The score of the turn for each issue that has one."""
        return tuple(f"{one}_score" for one in self.names)

    def design(self, seed: int, task: Task) -> Iterator[pl.DataFrame]:
        """Probe frames, one for each purpose; see `design.design`."""
        if task not in self.tasks:
            raise MethodError(f"{self.name} cannot ask a service that does not chat", must="chat", got=task)
        return design.design(self, seed)

    def log_probes(self, probes: pl.DataFrame) -> pl.DataFrame:
        """The probes of recorded dialogs with this method's columns; see `design.log_probes`."""
        return design.log_probes(self, probes)

    def score(self, answers: pl.DataFrame) -> pl.DataFrame:
        """Answers with the scores of every issue; see `score.score_answers`."""
        return score.score_answers(self, answers)

    def summarise(self, scores: pl.DataFrame) -> pl.DataFrame:
        """Cells that add up; see `score.summarise`."""
        return score.summarise(self, scores)

    def merge(self, summaries: Sequence[pl.DataFrame]) -> pl.DataFrame:
        """A sum over equal keys; see `score.merge`."""
        return score.merge(summaries)

    def growth(self, before: pl.DataFrame, after: pl.DataFrame, seed: int) -> Growth | None:
        """How much more abuse is recognised than in an earlier run; see `rating.growth`."""
        return rating.growth(before, after, self, seed)

    def with_ratings(self, ratings: Sequence[Rating]) -> Trust:
        """A copy that knows the ratings of earlier experiments, for issues that take theirs."""
        copy = self.model_copy()
        copy._given = tuple(ratings)
        return copy

    def rate(self, summary: pl.DataFrame, seed: int) -> list[Rating]:
        """A rating for each service and profile: the plan's services in its order, then any others."""
        return self.in_plan_order(rating.rate(summary, self, seed, self._given))

    @property
    def audit_choices(self) -> Mapping[str, Sequence[Choice]]:
        """Labels where abuse or leakage is measured; none under the rules of the papers."""
        named = self.names if self.rule == "sound" else ()
        return {kind: choices for kind, choices in audit.CHOICES.items() if kind in named}

    def audit_frame(self, scores: pl.DataFrame, rating: Rating) -> pl.DataFrame:
        """What the bot said, and what it may have given away; see `audit.audit_frame`."""
        return audit.audit_frame(scores, rating)

    def evidence(self, scores: pl.DataFrame) -> pl.DataFrame:
        """Every turn with its scores; see `score.evidence`."""
        return score.evidence(self, scores)

    def controls(self, task: Task) -> tuple[Control, ...]:
        """Bots of known truth (methods 0.9), each with the issue whose level it is built to have.

        They answer ordinary conversation and scripts, so a plan without either has none. The published
        rule reads leakage off a training corpus, which no bot of ours has.
        """
        if task not in self.tasks or self.rule != "sound":
            return ()
        kinds = [
            ("clean", "abuse", "L"),
            ("abuser", "abuse", "H"),
            ("leaker", "leakage", "H"),
            ("forgetter", "leakage", "L"),
        ]
        return tuple(
            Control(f"anchor/{name}", {"use": "trust-anchor", "behaviour": name}, truth, issue)
            for name, issue, truth in kinds
            if issue in self.names and (issue != "abuse" or self.conversations)
        )

    def power(self, seed: int) -> Mapping[str, Json]:
        """The smallest share of abusive utterances that these settings settle; see `power.smallest_share`."""
        return power.smallest_share(self, seed)

    def best_case(self, seed: int) -> Reason | None:
        """Why low risk of abuse cannot be settled; see `power.too_few_conversations`."""
        return power.too_few_conversations(self, seed)
