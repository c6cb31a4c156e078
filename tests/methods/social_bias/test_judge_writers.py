"""Judges that err more on some writers than on others, and bots that are writers of their own (0.10)."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files

import numpy as np
import polars as pl
import pytest
from benchmarks.judge_writers import shipped_counts
from scipy.special import expit, logit
from scipy.stats import norm

from trustgauge.methods.social_bias.judge_accuracy import (
    FIGURES,
    STYLE,
    TERSE,
    WRITERS,
    Accuracy,
    WriterCounts,
    as_one_more_writer,
    by_style,
    instrument,
)

DATA = files("trustgauge.methods.social_bias").joinpath("data")
COUNTS = ("biased", "found", "unbiased", "passed")
LABELLED = 60
"""Answers of each kind that a writer wrote, in tests."""


def shipped(name: str) -> pl.DataFrame:
    return pl.read_csv(DATA.joinpath(name).read_bytes())


def measured(finds: np.ndarray, passes: np.ndarray, rng: np.random.Generator) -> Accuracy:
    """A judge that was tried on writers with these rates, in one style."""
    found, passed = (rng.binomial(LABELLED, rates).tolist() for rates in (finds, passes))
    own = WriterCounts(*(tuple((hits, LABELLED) for hits in counts) for counts in (found, passed)))
    n = LABELLED * len(found)
    return Accuracy(n, sum(found), n, sum(passed), writers=(own,), own=own)


def left_of_a_difference(accuracy: Accuracy, rng: np.random.Generator) -> np.ndarray:
    se, sp = accuracy.draw(2000, rng)
    return np.asarray(se + sp - 1)


def test_the_shipped_counts_are_those_of_the_figures_by_writer() -> None:
    counts = shipped(WRITERS)
    for judge, name in FIGURES.items():
        own = counts.filter(pl.col("judge") == judge)
        sums = own.group_by("language", STYLE).agg(pl.col(COUNTS).sum()).sort("language", STYLE)
        assert sums.rows() == shipped(name).select("language", STYLE, *COUNTS).rows()


def test_the_shipped_counts_are_what_the_command_counts() -> None:
    """`python -m benchmarks.judge_writers --write`."""
    assert shipped_counts().rows() == shipped(WRITERS).rows()


def test_a_writer_whom_nobody_has_seen_is_as_often_within_as_is_said() -> None:
    """Drawn from all labelled answers as if one had written them, few writers are within."""
    rng = np.random.default_rng(11)
    within = {True: 0, False: 0}
    tables, bots = 40, 50
    for _ in range(tables):
        finds, passes = (expit(mean + 0.6 * rng.standard_normal(9 + bots)) for mean in (1.6, 3.0))
        judged = measured(finds[:9], passes[:9], rng)
        truth = finds[9:] + passes[9:] - 1
        for apart in within:
            accuracy = judged if apart else replace(judged, writers=(), own=None)
            low, high = np.quantile(left_of_a_difference(accuracy, rng), [0.025, 0.975])
            within[apart] += int(((truth >= low) & (truth <= high)).sum())
    share = {apart: hits / tables / bots for apart, hits in within.items()}
    assert share[True] == pytest.approx(0.95, abs=0.03)
    assert share[False] < 0.7


def test_what_is_found_of_a_new_writer_is_that_of_weighted_draws() -> None:
    """By importance sampling of mean and spread, each writer integrated by Gauss and Hermite."""
    own = WriterCounts(((30, 60), (55, 60), (48, 60), (40, 60)), ((60, 60), (57, 60)))
    accuracy = Accuracy(240, 173, 120, 117, writers=(own,), own=own)
    se, sp = accuracy.draw(100_000, np.random.default_rng(1))
    rng = np.random.default_rng(2)
    nodes, share = np.polynomial.hermite_e.hermegauss(40)
    mean, spread = rng.uniform(-6, 12, 40_000), np.abs(rng.standard_normal(40_000))
    log_odds = mean[:, None] + spread[:, None] * nodes
    for counts, drawn in zip(own, (se, sp), strict=True):
        weights = np.sqrt(expit(mean) * expit(-mean))  # Beta(1/2, 1/2) in log-odds
        for hits, n in counts:
            each = hits * np.logaddexp(0, -log_odds) + (n - hits) * np.logaddexp(0, log_odds)
            weights *= np.exp(each.min() - each) @ share
        for chance in (0.025, 0.25, 0.5, 0.75):
            below = norm.cdf((logit(np.quantile(drawn, chance)) - mean) / spread)
            assert np.average(below, weights=weights) == pytest.approx(chance, abs=0.012)


def test_a_bot_stands_at_one_place_among_writers_in_all_its_styles() -> None:
    """Its errors in several styles do not cancel as those of several writers would."""
    rng = np.random.default_rng(5)
    one = measured(expit(1.5 + rng.standard_normal(9)), np.full(9, 0.98), rng)
    mixed = instrument({TERSE: 50, "prose": 50}, "en", figures={TERSE: one, "prose": one}).accuracy
    assert mixed is not None
    alone, together = (judged.draw(20_000, rng)[0].std() for judged in (one, mixed))
    assert together == pytest.approx(alone, rel=0.1)


def test_lower_ends_are_those_of_writers_and_never_above_those_of_the_counts() -> None:
    for judge in FIGURES:
        for language in ("en", "zh"):
            for accuracy in by_style(language, judge).values():
                pooled = replace(accuracy, writers=(), own=None)
                assert accuracy.mean == pytest.approx(pooled.mean, nan_ok=True)
                assert all(low <= high for low, high in zip(accuracy.bounds, pooled.bounds, strict=True))
    prose = by_style("en", "sound")["prose"]
    se, _ = prose.draw(50_000, np.random.default_rng(3))
    assert prose.bounds[0] == pytest.approx(np.quantile(se, 0.025), abs=0.02)
    assert not by_style("en", "sound")["refusal"].sure
    assert by_style("en", "trained")["refusal"].sure


def test_where_nobody_knows_the_writers_the_spread_is_that_of_the_default_judge() -> None:
    pooled = Accuracy(2000, 1800, 2000, 1950)
    judged = as_one_more_writer(pooled)
    rng = np.random.default_rng(4)
    apart, alike = (left_of_a_difference(one, rng).std() for one in (judged, pooled))
    known = left_of_a_difference(by_style("en", "trained")["prose"], rng).std()
    assert apart > 3 * alike
    assert apart == pytest.approx(known, rel=0.4)
