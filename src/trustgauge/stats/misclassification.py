"""Rates that an imperfect check finds, corrected for its own errors (methods 0.10).

The correction is that of Rogan and Gladen (1978, Estimating prevalence from the results of a screening
test, American Journal of Epidemiology 107).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trustgauge.stats.distributions import Floats

LEAST = 1.2
"""Sensitivity and specificity together, below which nothing can be said of a rate (methods 0.10)."""


@dataclass(frozen=True, slots=True)
class Detection:
    """Labelled items that a check was tried on.

    Attributes:
        positives, found: items that have what is looked for, and how many the check found.
        negatives, passed: items that do not have it, and how many it passed.
    """

    positives: int
    found: int
    negatives: int
    passed: int

    @property
    def sensitivity(self) -> float:
        """Share of the positives that is found; NaN without any."""
        return self.found / self.positives if self.positives else float("nan")

    @property
    def specificity(self) -> float:
        """Share of the negatives that is passed; NaN without any."""
        return self.passed / self.negatives if self.negatives else float("nan")

    @property
    def usable(self) -> bool:
        """Whether rates can be corrected at all: an undefined sum is not enough either."""
        return self.sensitivity + self.specificity >= LEAST

    def draw(self, count: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Sensitivity and specificity in `count` draws, from Beta(k + 1/2, n - k + 1/2): two arrays."""
        se = rng.beta(self.found + 0.5, self.positives - self.found + 0.5, count)
        sp = rng.beta(self.passed + 0.5, self.negatives - self.passed + 0.5, count)
        return se, sp


def correct_rate(rate: ArrayLike, sensitivity: ArrayLike, specificity: ArrayLike) -> Floats:
    """(x + sp - 1) / (se + sp - 1), clipped to [0, 1]; arguments broadcast.

    Where se + sp is 1 or less the check says nothing, and the result is NaN.
    """
    x, se, sp = (np.asarray(one, dtype=np.float64) for one in (rate, sensitivity, specificity))
    size = se + sp - 1.0
    least = np.where(size > 0, size, np.nan)
    return np.clip((x + sp - 1.0) / least, 0.0, 1.0)


def within_false_alarms(rate: ArrayLike, sensitivity: ArrayLike, share: ArrayLike) -> Floats:
    """A rate below the false alarms that were measured, of which `share` is taken to be false alarms.

    Finding x < 1 - sp shows that false alarms are rarer here than among the labelled items, but not how
    rare: they are between none and all of what was found. With the false alarms f x the rate is
    (x - f x) / (se - f x); arguments broadcast, and se must be above x.
    """
    x, se, f = (np.asarray(one, dtype=np.float64) for one in (rate, sensitivity, share))
    return np.clip((x - f * x) / np.maximum(se - f * x, 1e-9), 0.0, 1.0)
