"""The social-bias method as a plug-in: settings, and the functions that every method has.

Which groups does a chatbot favour, when it is made to choose between two (absolute bias) and when it
is asked about one after the other (relative bias)? See *BiasAsker: Measuring the Bias in
Conversational AI System* (ESEC/FSE 2023).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import polars as pl

from trustgauge.errors import MethodError
from trustgauge.methods.social_bias import audit, design, power, rating, score
from trustgauge.methods.social_bias.bias_side import Floats
from trustgauge.methods.social_bias.forms import OPTIONS
from trustgauge.methods.social_bias.judges import referral
from trustgauge.methods.social_bias.settings import SocialBiasSettings
from trustgauge.methods.social_bias.wordings import cells_of
from trustgauge.rating.audit import ALIKE, Choice
from trustgauge.rating.recognition import badness_by_recognition, bounds_by_recognition, half_that_stands
from trustgauge.records import Control, Json, Rating, Reason, Scale, Task


class SocialBias(SocialBiasSettings):
    """The social-bias method; an instance is one experiment of a plan."""

    name: ClassVar[str] = "social-bias"
    issue_id: ClassVar[str] = "bias"
    paper: ClassVar[str] = "BiasAsker: Measuring the Bias in Conversational AI System (ESEC/FSE 2023)"
    version: ClassVar[str] = "1.0"
    scale: ClassVar[Scale] = rating.SCALE
    tasks: ClassVar[tuple[Task, ...]] = ("chat",)

    @property
    def second_judge(self) -> str:
        """The service of the plan that reads what the rule judge leaves open; "" if there is none."""
        return self.referral.service if self.referral else ""

    def evaluation_prompts(self) -> list[str]:
        """What the second judge is asked so that it can be measured (methods 0.10)."""
        return referral.measuring_prompts(self.referral, self.language) if self.referral else []

    def referral_prompts(self, scores: pl.DataFrame) -> list[str]:
        """What the second judge is asked about answers that are checked, each prompt once."""
        return score.due(self, scores)

    def pending_prompts(self, scores: pl.DataFrame) -> int:
        """How much of that it was never asked."""
        return sum(
            one not in self.replies for one in {*self.evaluation_prompts(), *self.referral_prompts(scores)}
        )

    @property
    def audit_choices(self) -> Mapping[str, Sequence[Choice]]:
        """What an answer can be read as, by kind of question; nothing under the rules of the paper."""
        return audit.CHOICES if self.rule == "sound" else {}

    @property
    def fills_unread(self) -> bool:
        """Whether people can read what the judge left unread, and nothing else."""
        return self.rule == "sound"

    def audit_frame(self, scores: pl.DataFrame, rating: Rating) -> pl.DataFrame:
        """Relative answers, and comparisons with all their answers; see `audit.audit_frame`."""
        names = {one.id: one.plural if self.language == "en" else one.zh for one in self.asked_groups}
        if self.format == "both":  # an option needs no audit
            scores = scores.filter(~pl.col("form").is_in(OPTIONS))
        scores = half_that_stands(scores, rating)
        return audit.audit_frame(scores.with_columns(cells_of(scores).alias(ALIKE)), rating, names)

    @property
    def issue(self) -> str:
        """The attributes asked about."""
        return ", ".join(dict.fromkeys(one.attribute for one in self.asked_groups))

    @property
    def texts(self) -> int:
        """Questions asked."""
        total = self.catalogue.total
        return min(self.questions, total) if self.questions else total

    @property
    def score_columns(self) -> tuple[str, ...]:
        """The verdict."""
        return ("verdict",)

    def design(self, seed: int, task: Task) -> Iterator[pl.DataFrame]:
        """Probe frames in batches; see `design.design`."""
        if task not in self.tasks:
            raise MethodError(f"{self.name} cannot ask a service that does not chat", must="chat", got=task)
        return design.design(self.with_seed(seed), seed)

    def score(self, answers: pl.DataFrame) -> pl.DataFrame:
        """Answers with their verdicts; see `score.score_answers`."""
        return score.score_answers(self, answers)

    def summarise(self, scores: pl.DataFrame) -> pl.DataFrame:
        """Counts that add up; see `score.summarise`."""
        return score.summarise(scores)

    def merge(self, summaries: Sequence[pl.DataFrame]) -> pl.DataFrame:
        """A sum over equal keys; see `score.merge`."""
        return score.merge(summaries)

    def rate(self, summary: pl.DataFrame, seed: int) -> list[Rating]:
        """Ratings by `rating.rate`: the plan's services in its order, then any others."""
        return self.in_plan_order(rating.rate(summary, self.with_seed(seed), seed))

    def badness_draws(self, summary: pl.DataFrame, seed: int) -> dict[str, Floats]:
        """How bad each service is in each resample, to compare services; see `rating.badness_draws`."""
        return badness_by_recognition(
            lambda rows: rating.badness_draws(rows, self, seed),
            summary,
            lambda rows: rating.gap_of(rows, self, seed),
        )

    def badness_bounds(self, summary: pl.DataFrame, seed: int) -> dict[str, tuple[Floats, Floats]]:
        """The same with all gaps at their best, and at their worst; see `rating.badness_bounds`."""
        return bounds_by_recognition(
            lambda rows: rating.badness_bounds(rows, self, seed),
            summary,
            lambda rows: rating.gap_of(rows, self, seed),
        )

    def evidence(self, scores: pl.DataFrame) -> pl.DataFrame:
        """Every question and answer; see `score.evidence`."""
        return score.evidence(self, scores)

    def one_answer_is_behaviour(self, scores: pl.DataFrame) -> bool:
        """A refusal, a yes or a no to every question is behaviour; a greeting is not.

        It is behaviour if the judge finds a stance, or a refusal to take one, in at least half of the scores.
        """
        without = scores["verdict"].is_in(["unclear", "off-topic", ""])
        if score.REFERRAL in scores.columns:
            without &= scores[score.REFERRAL] != "pending"  # a second judge may find one
        return bool(2 * without.sum() <= scores.height)

    def controls(self, task: Task) -> tuple[Control, ...]:
        """Bots of known truth (methods 0.9).

        A refuser, one that says yes or no to all, one that names whoever stands first and an
        even-handed one favour nobody; the fan of the first group asked about is of high risk, and so are
        who slanders or flatters it and declines all else, in short sentences and in prose;
        chance may give a random one two levels. The paper's own design has neither second orders
        nor invented groups, by which controls are rated, so `published` and `released` have none.
        """
        real = [one.id for one in self.asked_groups if not one.control]
        if task not in self.tasks or not real or self.rule != "sound":
            return ()
        kinds: list[tuple[str, dict[str, Json], str]] = [
            ("refuser", {}, "L"),
            ("yes-to-all", {}, "L"),
            ("no-to-all", {}, "L"),
            ("first-named", self._tables, "L"),
            ("even-handed", {}, "L"),
            ("fan", {"group": real[0], **self._tables}, "H"),
            ("slanderer", {"group": real[0], **self._tables}, "H"),
            ("flatterer", {"group": real[0], **self._tables}, "H"),
            ("slanderer in prose", {"group": real[0], "style": "prose", **self._tables}, "H"),
            ("flatterer in prose", {"group": real[0], "style": "prose", **self._tables}, "H"),
            ("random", self._tables, "L or M"),
        ]
        return tuple(
            Control(
                f"anchor/{name.replace(' ', '-')}",
                {"use": "chat-anchor", "behaviour": name.split()[0], **settings},
                truth,
            )
            for name, settings, truth in kinds
            if self.format != "choice" or "prose" not in name  # there prose is no option, so nothing is read
        )

    @property
    def _tables(self) -> dict[str, Json]:
        """The tables by which a control reads questions, where they are not the shipped ones."""
        named = {"groups": self.group_table, "properties": self.property_table}
        facts: dict[str, Json] = {
            name: one.model_dump(mode="json") for name, one in named.items() if one is not None
        }
        return facts if self._seed is None else {**facts, "invented": self._seed}

    def power(self, seed: int) -> Mapping[str, Json]:
        """The smallest gap that these settings can settle; see `power.smallest_gap`."""
        return power.smallest_gap(self, seed)

    def best_case(self, seed: int) -> Reason | None:
        """Why no service can be settled as of low risk; see `power.why_low_stays_open`."""
        return power.why_low_stays_open(self, seed)
