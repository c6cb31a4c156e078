"""The two-step method as a plug-in: settings, and the functions that every method has.

Is output unlike a balanced input (BS), is the input's imbalance passed on (DSBS), or is even
skewed input balanced (UCS)? See *Towards Composable Bias Rating of AI Services*, AIES 2018.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trustgauge.methods.two_step import design, rating, score
from trustgauge.methods.two_step.settings import Spec, TwoStepSettings
from trustgauge.methods.two_step.transition_model import LEVELS, deviations, level_of
from trustgauge.records import Control, Json, Rating, Scale, Task

if TYPE_CHECKING:
    from trustgauge.rating.audit import Choice

NEAR = 0.02  # a control whose largest deviation is this near to the margin is not used
ONE_LOOK = 1  # of an experiment that is rated at one look, with its certainty
SHIFT = 0.60  # of the one-way control (methods 0.9)


class TwoStep(TwoStepSettings):
    """The two-step method; an instance is one experiment of a plan."""

    name: ClassVar[str] = "two-step"
    issue_id: ClassVar[str] = "bias"
    paper: ClassVar[str] = "Towards Composable Bias Rating of AI Services (AIES 2018)"
    version: ClassVar[str] = "1.0"
    scale: ClassVar[Scale] = Scale("two-step", LEVELS, ("compensates", "follows", "adds bias"))
    tasks: ClassVar[tuple[Task, ...]] = ("translate", "score", "chat")

    @property
    def issue(self) -> str:
        """The attribute's name."""
        return self.table.name

    @property
    def score_columns(self) -> tuple[str, ...]:
        """The value that came back for each mention."""
        return ("read",)

    def design(self, seed: int, task: Task) -> Iterator[pl.DataFrame]:
        """Probe frames in batches; see `design.design`."""
        return design.design(self, seed, task)

    def log_probes(self, probes: pl.DataFrame) -> pl.DataFrame:
        """The probes of recorded round trips with this method's columns; see `recorded_texts.log_probes`."""
        from trustgauge.methods.two_step import recorded_texts

        return recorded_texts.log_probes(self, probes)

    def score(self, answers: pl.DataFrame) -> pl.DataFrame:
        """Answers with the values read; see `score.score_answers`."""
        marks = score.score_answers(self, design.count_once(answers) if self.stop == "settled" else answers)
        if not self.labels:
            return marks
        from trustgauge.methods.two_step import audit

        return audit.with_labels(self, marks)

    def summarise(self, scores: pl.DataFrame) -> pl.DataFrame:
        """Counts that add up; see `score.summarise`."""
        return score.summarise(scores)

    def merge(self, summaries: Sequence[pl.DataFrame]) -> pl.DataFrame:
        """A sum over equal keys; see `score.merge`."""
        return score.merge(summaries)

    def rate(self, summary: pl.DataFrame, seed: int) -> list[Rating]:
        """Ratings by `rating.rate`: the plan's services in its order, then any others."""
        settings: TwoStepSettings = self
        if (
            self.stop == "settled" and self.looks != ONE_LOOK
        ):  # every part stopped at its look, or at the last
            from trustgauge.stats.sequential import look_certainties

            settings = self.model_copy(update={"settle": look_certainties(self.looks, self.settle)[-1]})
        return self.in_plan_order(rating.rate(summary, settings, seed))

    @property
    def audit_choices(self) -> Mapping[str, Sequence[Choice]]:
        """The values that a mention can come back as; none where scores are read."""
        from trustgauge.methods.two_step import audit

        return audit.choices(self)

    @property
    def fills_unread(self) -> bool:
        """Whether people can read what the reader abstained from, and nothing else."""
        return self.reads_words

    def audit_frame(self, scores: pl.DataFrame, rating: Rating) -> pl.DataFrame:
        """Every mention that came back; see `audit.audit_frame`."""
        from trustgauge.methods.two_step import audit

        return audit.audit_frame(self, scores, rating)

    def evidence(self, scores: pl.DataFrame) -> pl.DataFrame:
        """Every text sent and received; see `score.evidence`."""
        table = score.evidence(scores, self.table.values)
        if score.LABELS not in scores.columns:
            return table
        from trustgauge.methods.two_step import audit

        return table.with_columns(audit.evidence(scores, self.table.values).get_columns())

    def one_answer_is_behaviour(self, scores: pl.DataFrame) -> bool:
        """A constant score is behaviour; a text that never changes is no translation of anything."""
        return self.table.scored

    def controls(self, task: Task) -> tuple[Control, ...]:
        """The five controls of methods 0.9, for this attribute: () if the task cannot ask about it.

        The first two values stand for He and She, the coin draws from the first balanced
        distribution, and the level due follows from the control's true rates (two-step 1.7 step 5).
        """
        table = self.table
        if task not in table.tasks:
            return ()
        spec = self.spec
        attribute: Json = self.attribute if isinstance(self.attribute, str) else table.model_dump(mode="json")
        shared: dict[str, Json] = {"use": "anchor", "task": task, "attribute": attribute}
        if self.span != (-1.0, 1.0):
            shared["span"] = list(self.span)
        if self.one_way:
            shared["into"] = self.one_way
        if self.source:
            shared["source"] = self.source
        first, second, other = spec.values[0], spec.values[min(1, table.other)], spec.values[-1]
        shares = {value: float(share) for value, share in zip(spec.values, spec.unbiased[0], strict=True)}
        shift = {"behaviour": "shift", "from_value": second, "to_value": first, "share": SHIFT}
        kinds: list[tuple[str, dict[str, Json]]] = [
            ("identity", {"behaviour": "identity"}),
            (f"all-{first.lower()}", {"behaviour": "all", "value": first}),
            (f"all-{other.lower()}", {"behaviour": "all", "value": other}),
            (f"shift-{SHIFT:.2f}", shift),
            ("coin", {"behaviour": "coin", "distribution": shares}),
        ]
        return tuple(
            Control(f"anchor/{name}", {**shared, **settings}, self._due(spec, true))
            for (name, settings), true in zip(kinds, _true_rates(spec), strict=True)
            if not self._on_margin(spec, true)
        )

    def power(self, seed: int) -> Mapping[str, Json]:
        """The smallest effect that these settings can settle; see `power.smallest_effect`."""
        from trustgauge.methods.two_step import power

        return power.smallest_effect(self, seed)

    def power_at(self, seed: int, deff: float) -> float | None:
        """The smallest effect at a design effect that was measured; see `power.smallest_effect`."""
        from trustgauge.methods.two_step import power

        return power.smallest_effect(self, seed, (deff,))[f"deff_{deff:g}"]

    def look_of(self, probes: pl.DataFrame) -> pl.Series:
        """The look of each probe; see `design.look_of`."""
        return design.look_of(probes, self.looks)

    def expected_calls(self, seed: int) -> float:
        """The share of the calls that is expected to go out; see `power.expected_calls`."""
        from trustgauge.methods.two_step import power

        return power.expected_calls(self, seed)

    def at_look(self, look: int) -> Self:
        """The experiment with the certainty that settles a level at a look (methods 0.11)."""
        from trustgauge.stats.sequential import look_certainties

        certainty = look_certainties(self.looks, self.settle)[look - 1]
        return self.model_copy(update={"settle": certainty, "looks": ONE_LOOK})

    def badness_draws(self, summary: pl.DataFrame, seed: int) -> dict[str, NDArray[np.float64]]:
        """How far from balanced each service is in each resample; see `badness.badness_draws`."""
        from trustgauge.methods.two_step import badness

        if not self.disguise:
            return badness.badness_draws(summary, self, seed)
        from trustgauge.methods.two_step import disguise
        from trustgauge.rating.recognition import badness_by_recognition

        return badness_by_recognition(
            lambda rows: badness.badness_draws(rows, self, seed),
            summary,
            lambda rows: disguise.recognition_gap(rows, self, seed),
        )

    def badness_bounds(
        self, summary: pl.DataFrame, seed: int
    ) -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """The same with all gaps at their best, and at their worst; see `badness.badness_bounds`."""
        from trustgauge.methods.two_step import badness

        if not self.disguise:
            return badness.badness_bounds(summary, self, seed)
        from trustgauge.methods.two_step import disguise
        from trustgauge.rating.recognition import bounds_by_recognition

        return bounds_by_recognition(
            lambda rows: badness.badness_bounds(rows, self, seed),
            summary,
            lambda rows: disguise.recognition_gap(rows, self, seed),
        )

    def _on_margin(self, spec: Spec, true: NDArray[np.float64]) -> bool:
        """Whether chance decides the level of true rates: such a control would void faultless runs."""
        devs = deviations(true[None], spec.distributions, spec.unbiased, choice=bool(self.source))
        return bool((np.abs(devs - self.margin) < NEAR).any())

    def _due(self, spec: Spec, true: NDArray[np.float64]) -> str:
        """The level of true rates [C, C] (two-step 1.7 steps 5 and 6)."""
        devs = deviations(true[None], spec.distributions, spec.unbiased, choice=bool(self.source))
        return LEVELS[int(level_of(devs, len(spec.unbiased), self.margin)[0])]


def _true_rates(spec: Spec) -> Iterator[NDArray[np.float64]]:
    """True P(out | in), [C, C]: identity, all to the first, all to the residual, shift, coin."""
    size = len(spec.values)
    eye = np.eye(size)
    shift = eye.copy()
    shift[min(1, size - 1)] = (1 - SHIFT) * eye[min(1, size - 1)] + SHIFT * eye[0]
    yield eye
    yield np.tile(eye[0], (size, 1))
    yield np.tile(eye[-1], (size, 1))
    yield shift
    yield np.tile(spec.unbiased[0], (size, 1))
