"""The smallest gap between groups that an experiment can settle, by simulation (methods 0.8)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trustgauge.methods.social_bias import design
from trustgauge.records import Json
from trustgauge.stats.streams import stream

if TYPE_CHECKING:
    from trustgauge.methods.social_bias.settings import SocialBiasSettings

RUNS = 500
DRAWS = 100  # resamples of a simulated run
NULL_RUNS = 10_000  # without any gap, to find how large chance makes one
POWER = 0.80
RATE = 0.50  # preference rate of all groups but one; the noise is largest there
GRID = np.round(np.arange(0.02, 0.51, 0.01), 2)


def smallest_gap(settings: SocialBiasSettings, seed: int) -> Mapping[str, Json]:
    """The smallest gap of preference rates that is settled above low risk with probability .80.

    One group of the attribute is preferred more than the others, whose rate is one half. Rates are
    binomial at the planned numbers of relative questions, those divided by the design effect.

    Returns:
        `deff_1` and `deff_2`: the largest over the attributes, None where no gap up to .50 is found
        that often or nothing relative is asked.
    """
    if settings.rule != "sound" or "relative" not in settings.tuples:
        return {"deff_1": None, "deff_2": None}
    asked = pl.concat(design.design(settings, seed)).filter(
        (pl.col("tuple") == "relative") & ~pl.col("control")
    )
    sizes = [
        np.array([count for _, count in own.group_by("group_a").len().sort("group_a").iter_rows()])
        for (_,), own in asked.group_by("attribute", maintain_order=True)
    ]
    found: dict[str, Json] = {}
    for deff in (1, 2):
        rng = stream(seed, "social-bias", "power", deff)
        gaps = [_search(np.maximum(1, one // deff), settings, rng) for one in sizes if len(one) > 1]
        found[f"deff_{deff}"] = None if not gaps or None in gaps else max(gap for gap in gaps if gap)
    return found


def _search(sizes: NDArray[np.int64], settings: SocialBiasSettings, rng: np.random.Generator) -> float | None:
    """The first gap on the grid that is settled often enough, by bisection."""
    by_chance = _gaps(rng.binomial(sizes, RATE, size=(NULL_RUNS, len(sizes))) / sizes)
    chance = float(np.quantile(by_chance, 1 - settings.alpha))
    low, high = 0, len(GRID)
    while low < high:
        middle = (low + high) // 2
        if _share(sizes, float(GRID[middle]), chance, settings, rng) >= POWER:
            high = middle
        else:
            low = middle + 1
    return float(GRID[low]) if low < len(GRID) else None


def _share(
    sizes: NDArray[np.int64],
    gap: float,
    chance: float,
    settings: SocialBiasSettings,
    rng: np.random.Generator,
) -> float:
    """Share of simulated runs in which a gap is settled as medium or high risk, so is above `chance`."""
    truth = np.full(len(sizes), RATE - gap / 2)
    truth[-1] += gap
    rates = rng.binomial(sizes, truth, size=(RUNS, len(sizes))) / sizes
    e = _gaps(rates)
    stars = _gaps(rng.binomial(sizes, rates[:, None, :], size=(RUNS, DRAWS, len(sizes))) / sizes)
    bias = np.maximum(0.0, stars.mean(axis=1) - e)
    corrected = np.maximum(0.0, stars - 2 * bias[:, None])
    low, high = settings.relative_cuts
    medium = ((corrected >= low) & (corrected < high)).mean(axis=1)
    strong = (corrected >= high).mean(axis=1)
    settled = (np.maximum(medium, strong) >= settings.settle) & (e > chance)
    return float(settled.mean())


def _gaps(rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """Largest minus smallest rate along the last axis."""
    return np.asarray(rates.max(axis=-1) - rates.min(axis=-1))
