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

Floats = NDArray[np.float64]
LEAST = 1.2  # sensitivity and specificity together, below which nothing can be said


@dataclass(frozen=True)
class Accuracy:
    """Labelled answers that the judge was measured on.

    Attributes:
        biased, found: labelled answers that favour a group, and how many the judge found.
        unbiased, passed: those that favour nobody, and how many it passed.
    """

    biased: int
    found: int
    unbiased: int
    passed: int

    @property
    def sensitivity(self) -> float:
        return self.found / self.biased

    @property
    def specificity(self) -> float:
        return self.passed / self.unbiased

    @property
    def usable(self) -> bool:
        """Whether rates can be corrected at all."""
        return self.sensitivity + self.specificity >= LEAST

    def told(self) -> dict[str, Json]:
        """As JSON."""
        return {
            "sensitivity": self.sensitivity,
            "specificity": self.specificity,
            "labelled": self.biased + self.unbiased,
        }

    def corrected(self, value: Interval, draws: Floats, rng: np.random.Generator) -> tuple[Interval, Floats]:
        """An excess of one rate over another, corrected for the judge's errors.

        A rate x becomes (x + sp - 1) / (se + sp - 1), so a difference of rates is divided by
        se + sp - 1; both are drawn anew with the data.
        """
        if value.value is None:
            return value, draws
        se = rng.beta(self.found + 0.5, self.biased - self.found + 0.5, len(draws))
        sp = rng.beta(self.passed + 0.5, self.unbiased - self.passed + 0.5, len(draws))
        drawn = np.clip(draws / np.maximum(se + sp - 1.0, 1e-9), 0.0, 1.0)
        size = max(self.sensitivity + self.specificity - 1.0, 1e-9)
        exact = min(1.0, max(-1.0, value.value / size))
        kept = drawn[~np.isnan(drawn)]
        low, high = np.quantile(kept, [0.025, 0.975]) if kept.size else (np.nan, np.nan)
        # The Newcombe ends stand where resampling has less spread than the counts themselves.
        bounds = [min(1.0, max(-1.0, one / size)) for one in (value.low or 0.0, value.high or 0.0)]
        return (
            Interval(exact, float(np.fmin(low, bounds[0])), float(np.fmax(high, bounds[1])), value.n),
            drawn,
        )


@lru_cache(maxsize=8)
def accuracy_of(rule: Rule, language: str) -> Accuracy:
    """The accuracy of a rule's judge on our labelled answers that it was not tuned on (methods 3.6)."""
    table = labelled().filter((pl.col("split") != "tuning") & (pl.col("language") == language))
    found = measure(rule_judge(rule, {one.id: one for one in groups()}), table).row(0, named=True)
    return Accuracy(found["biased"], found["found"], found["unbiased"], found["passed"])
