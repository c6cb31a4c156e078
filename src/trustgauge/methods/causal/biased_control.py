"""The level that the control S_b is built as: it depends on the plan (methods 0.9, causal 2.6)."""

from __future__ import annotations

import numpy as np
import polars as pl

from trustgauge.methods.causal import design
from trustgauge.methods.causal.deconfounding import impact_of_sums
from trustgauge.methods.causal.measures import RANGE
from trustgauge.methods.causal.ordering import absolute_levels
from trustgauge.methods.causal.part_assessment import LEVELS
from trustgauge.methods.causal.power import planned_texts
from trustgauge.methods.causal.settings import CausalSettings, Measurand
from trustgauge.rating import aggregate_levels
from trustgauge.records import Json

SAMPLED = 0.5
"""By how much the effect may lie off where shares of positive words are drawn."""


def biased_truth(settings: CausalSettings) -> str:
    """The levels that +1 for female words and names, else -1, may have: "3", or "1 or 2".

    Where classes are crossed with words the effect is the whole range. That of deconfounding depends on how
    strongly the class determines the word, on who takes part and on what is counted: persons without a class
    leave 13 % of the range in Group 4, and of neutral scores there are none.
    """
    crossed = any(one.measure == "rejection" and "gender" in one.grouping for one in settings.measured)
    if crossed and settings.aggregate == "worst":
        return LEVELS[-1]
    probes = pl.concat(design.design(settings, 0))
    effects = np.array([_effect(settings, one, probes) for one in settings.measured])
    slack = SAMPLED if settings.counts == "sampled" else 0.0
    low, high = (
        int(aggregate_levels(absolute_levels(effects * times, 0.0, settings.cuts), settings.aggregate))
        for times in (1 - slack, 1 + slack)
    )
    return " or ".join(LEVELS[low : high + 1])


def _effect(settings: CausalSettings, measured: Measurand, probes: pl.DataFrame) -> float:
    """The largest effect of S_b on a part, a share of the range."""
    if measured.measure != "deconfounding":
        return float("gender" in measured.grouping)
    classes, n = planned_texts(probes, measured, na=settings.na)
    score = np.array([1.0 if name.endswith("female") else -1.0 for name in classes])
    signs: dict[str, Json] = {"negative": -1.0, "neutral": 0.0, "positive": 1.0}
    by_score = settings.outcome == "score"
    value = score if by_score else (score == signs[settings.outcome]).astype(np.float64)
    impact = impact_of_sums(n, n * value[:, None], settings.positivity).delta
    return float(np.nan_to_num(np.abs(impact)).max()) / (RANGE if by_score else 1.0)
