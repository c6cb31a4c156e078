"""The two-way clustered variance of effects: against statsmodels, and the coverage it gives."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.sandwich_covariance import cov_cluster_2groups

from tests.methods.causal.truths import by_word, designed, experiment, scored
from trustgauge.methods.causal import effects
from trustgauge.methods.causal.measures import respread
from trustgauge.methods.causal.panel import Floats, Grouping, Ints, Panel, panel
from trustgauge.methods.causal.segments import Influences, influences

FRAMES, PERSONS = 20, 10
SIZES: dict[str, Any] = {"groups": [1], "words": {"one": ["grim"]}, "frames": FRAMES, "persons": PERSONS}


@cache
def clusters() -> list[Ints]:
    """The person of each probe, and its frame and gender."""
    probes = designed(experiment({"a": by_word}, **SIZES))
    keys = (["person"], ["frame", "gender"])
    ranks = (probes.select(pl.struct(one).rank("dense").cast(pl.Int64)).to_series() for one in keys)
    return [rank.to_numpy() - 1 for rank in ranks]


def asked(rng: np.random.Generator, persons: float, frames: float, noise: float) -> pl.DataFrame:
    """The summary of a scorer without an effect, whose persons, frames and answers vary."""
    method, places = experiment({"a": by_word}, **SIZES), clusters()
    score = rng.normal(0, noise, len(places[0]))
    for place, spread in zip(places, (persons, frames), strict=True):
        score = score + rng.normal(0, spread, int(place.max()) + 1)[place]
    return scored(method, np.clip(score, -1, 1))


def parts(rows: pl.DataFrame) -> tuple[Panel, Grouping, Influences]:
    whole = panel(rows)
    grouping = whole.grouping("gender", na=False)
    found = influences(rows, whole, grouping, "rejection")
    assert found is not None
    return whole, grouping, found


@pytest.mark.parametrize("spreads", [(0.0, 0.0, 0.2), (0.1, 0.1, 0.1), (0.3, 0.0, 0.02)])
def test_the_variance_is_that_of_a_regression_with_two_kinds_of_clusters(
    spreads: tuple[float, float, float],
) -> None:
    """Of the class in scores on class and frame; ours has K / (K - 1) of its clusters besides."""
    rows = asked(np.random.default_rng(3), *spreads)
    whole, grouping, found = parts(rows)
    label = grouping.of[found.person]
    design = np.column_stack([label, found.frame[:, None] == np.arange(FRAMES)]).astype(float)
    held = rows.filter(pl.col("n") > 0)
    fit = OLS(held["y"].cast(pl.Float64).to_numpy() * 1e-9, design).fit()
    reference = cov_cluster_2groups(fit, found.frame, found.person, use_correction=False)
    both, frames, persons = (one[0, 0] for one in reference)
    cells = frames + persons - both
    frames, persons = frames * FRAMES / (FRAMES - 1), persons * PERSONS / (PERSONS - 1)
    cells *= 2 * PERSONS / (2 * PERSONS - 1)
    due = max(frames + persons - cells, frames, persons)
    two_way = found.two_way_variance(whole, grouping)
    assert two_way is not None
    assert two_way[0, 0] == pytest.approx(due, rel=1e-6)


@pytest.mark.parametrize(
    ("spreads", "least", "most"),
    [((0.0, 0.0, 0.2), 0.92, 0.98), ((0.2, 0.0, 0.1), 0.90, 0.98), ((0.0, 0.2, 0.1), 0.90, 0.98)],
    ids=["answers", "persons", "frames"],
)
def test_intervals_contain_the_truth_as_often_as_they_say(
    spreads: tuple[float, float, float], least: float, most: float
) -> None:
    """150 runs; the product of weights alone gives 99 % and more where single answers vary."""
    rng = np.random.default_rng(5)
    hits = products = 0
    for _ in range(150):
        whole, grouping, found = parts(asked(rng, *spreads))
        weights = whole.weights(grouping, 400, rng)
        value = effects.ate(whole, grouping).value
        draws = effects.resample_ates(whole, grouping, *weights)
        hits += covers(respread(value, draws, None, found.two_way_variance(whole, grouping)))
        products += covers(draws)
    assert least <= hits / 150 <= most
    assert spreads[0] or spreads[1] or products / 150 > 0.98


def covers(draws: Floats) -> bool:
    low, high = np.quantile(draws[:, 0, 0], [0.025, 0.975])
    return bool(low <= 0.0 <= high)


def test_resamples_of_one_kind_of_clusters_keep_their_spread() -> None:
    """With one person of a class only frames are resampled, and there is no product to take out."""
    rows = asked(np.random.default_rng(1), 0.0, 0.0, 0.1)
    one = rows.filter(
        pl.col("person").is_in(sorted(rows.group_by("gender").agg(pl.col("person").min())["person"]))
    )
    whole, grouping, found = parts(one)
    assert found.two_way_variance(whole, grouping) is None
