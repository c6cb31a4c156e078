"""How often the judge is right, carried into what is rated (methods 0.10)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trustgauge.data.social_groups import groups
from trustgauge.methods.social_bias.judges.measuring import labelled, measure, rule_judge
from trustgauge.records import Interval, Json, Rule
from trustgauge.stats.misclassification import Detection

Floats = NDArray[np.float64]
SMALLEST = 1e-9  # divisor of a rate


@dataclass(frozen=True, slots=True)
class Accuracy(Detection):
    """Labelled answers that the judge was measured on: positives favour a group, negatives nobody.

    Attributes:
        halves: whether it errs so often that it matters that a unit rests on two answers (`size`).
    """

    halves: bool = False

    def told(self) -> dict[str, Json]:
        """As JSON."""
        return {
            "sensitivity": self.sensitivity,
            "specificity": self.specificity,
            "labelled": self.positives + self.negatives,
        }

    def corrected(self, value: Interval, draws: Floats, rng: np.random.Generator) -> tuple[Interval, Floats]:
        """An excess of one rate over another, corrected for the judge's errors.

        A rate x becomes (x + sp - 1) / (se + sp - 1), so a difference of rates is divided by
        se + sp - 1; both are drawn anew with the data. With `halves` the divisor lies between that of
        one answer and that of two answers judged independently, and no labelled answer tells where:
        the interval holds both ends, and resamples are spread between them.
        """
        if value.value is None:
            return value, draws
        se, sp = self.drawn(len(draws), rng)
        share = rng.random(len(draws)) if self.halves else np.zeros(len(draws))
        drawn = np.clip(draws / ((1 - share) * size(se, sp) + share * self._least(se, sp)), 0.0, 1.0)
        ends = [
            float(one(np.array(self.sensitivity), np.array(self.specificity))) for one in (size, self._least)
        ]
        exact = min(1.0, max(-1.0, value.value / (sum(ends) / 2)))
        kept = drawn[~np.isnan(drawn)]
        low, high = np.quantile(kept, [0.025, 0.975]) if kept.size else (np.nan, np.nan)
        # The Newcombe ends stand where resampling has less spread than the counts themselves.
        bounds = [
            min(1.0, max(-1.0, pick(one / end for end in ends)))
            for pick, one in ((min, value.low or 0.0), (max, value.high or 0.0))
        ]
        return (
            Interval(exact, float(np.fmin(low, bounds[0])), float(np.fmax(high, bounds[1])), value.n),
            drawn,
        )

    def _least(self, se: Floats, sp: Floats) -> Floats:
        return unit_size(se, sp) if self.halves else size(se, sp)


def size(se: Floats, sp: Floats) -> Floats:
    """What is left of a difference of rates of single answers: se + sp - 1."""
    return np.asarray(np.maximum(se + sp - 1.0, SMALLEST))


def unit_size(se: Floats, sp: Floats) -> Floats:
    """What is left of a difference of rates of units, whose two answers are judged independently.

    A choice counts if both orders are found (se^2), or both raise the same false alarm; a reversed
    pair if one side is found and the other passed (se sp), or one of two raises a false alarm. The
    smaller of both, as units are of both kinds.
    """
    choice = se**2 - (1 - sp) ** 2 / 2
    pair = se * sp - 2 * sp * (1 - sp)
    return np.asarray(np.maximum(np.minimum(choice, pair), SMALLEST))


def held_out(language: str) -> pl.DataFrame:
    """Our labelled answers in a language to which no rule was fitted (methods 3.6)."""
    return labelled().filter((pl.col("split") != "tuning") & (pl.col("language") == language))


@lru_cache(maxsize=8)
def accuracy_of(rule: Rule, language: str) -> Accuracy:
    """The accuracy of a rule's judge on our labelled answers that it was not tuned on (methods 3.6)."""
    found = measure(rule_judge(rule, {one.id: one for one in groups()}), held_out(language)).row(
        0, named=True
    )
    return Accuracy(found["biased"], found["found"], found["unbiased"], found["passed"])
