"""Intervals of proportions and ratios against statsmodels, scipy.stats and loops."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from trustgauge.stats import distributions


@st.composite
def proportions(draw: st.DrawFn) -> tuple[int, int]:
    trials = draw(st.integers(1, 2000))
    return draw(st.integers(0, trials)), trials


@given(proportions(), st.floats(0.5, 0.999))
def test_wilson_agrees_with_statsmodels(case: tuple[int, int], level: float) -> None:
    expected = proportion_confint(*case, alpha=1 - level, method="wilson")
    assert distributions.wilson(*case, level) == pytest.approx(expected, abs=1e-9)


@given(proportions())
def test_beta_interval_agrees_with_scipy(case: tuple[int, int]) -> None:
    k, n = case
    expected = scipy.stats.beta.ppf([0.025, 0.975], k + 0.5, n - k + 0.5)
    assert distributions.beta_interval(k, n) == pytest.approx(expected, abs=1e-9)


@given(proportions())
def test_intervals_hold_the_share_and_stay_in_the_unit_interval(case: tuple[int, int]) -> None:
    share = case[0] / case[1]
    low, high = distributions.wilson(*case)
    assert 0 <= low <= share <= high <= 1


def test_no_trials_say_nothing() -> None:
    assert distributions.wilson(0, 0) == (0.0, 1.0)


def test_a_design_effect_widens() -> None:
    low, high = distributions.wilson(50, 100)
    wide_low, wide_high = distributions.wilson(25, 50)
    assert wide_low < low < high < wide_high


def test_draws_interval_takes_the_axis_away() -> None:
    draws = np.random.default_rng(1).normal(size=(5000, 2))
    low, high = distributions.draws_interval(draws)
    assert low.shape == (2,)
    assert low == pytest.approx([-1.96, -1.96], abs=0.15)
    assert high == pytest.approx([1.96, 1.96], abs=0.15)


@given(st.integers(0, 60), st.integers(1, 60), st.integers(0, 60), st.integers(1, 60))
def test_newcombe_is_that_of_statsmodels(a: int, n: int, b: int, m: int) -> None:
    a, b = min(a, n), min(b, m)
    low, high = distributions.newcombe((a, n), (b, m))
    expected = confint_proportions_2indep(a, n, b, m, method="newcomb", compare="diff")
    assert (low, high) == pytest.approx(expected, abs=1e-9)
    assert distributions.newcombe((b, m), (a, n)) == pytest.approx((-high, -low))
    assert distributions.newcombe((0, 0), (1, 2)) == (-1.0, 1.0)


def clusters(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Clusters of two to seven values that are nearly all small, a few large: sizes and sums."""
    n = rng.integers(2, 8, count).astype(float)
    return n, n * rng.beta(0.2, 1.8, count)


def test_the_studentised_interval_is_the_one_written_out() -> None:
    rng = np.random.default_rng(1)
    n, total = clusters(rng, 12)
    weights = rng.multinomial(12, np.full(12, 1 / 12), 400)
    ratio, error = total.sum() / n.sum(), np.sqrt(((total - total.sum() / n.sum() * n) ** 2).sum()) / n.sum()
    studentised = []
    for one in weights:
        drawn_n, drawn = np.repeat(n, one), np.repeat(total, one)
        mean = drawn.sum() / drawn_n.sum()
        studentised.append((mean - ratio) / (np.sqrt(((drawn - mean * drawn_n) ** 2).sum()) / drawn_n.sum()))
    least, most = np.quantile(studentised, [0.025, 0.975])
    expected = ratio - most * error, ratio - least * error
    assert distributions.ratio_interval(weights, n, total) == pytest.approx(expected)


def test_it_holds_the_truth_where_quantiles_are_too_narrow() -> None:
    """Sixty skewed clusters of mean .1: quantiles of the resamples hold it in about 92 %."""
    rng = np.random.default_rng(2)
    weights = rng.multinomial(60, np.full(60, 1 / 60), 1000).astype(float)
    held, plain, runs = 0, 0, 400
    for _ in range(runs):
        n, total = clusters(rng, 60)
        low, high = distributions.ratio_interval(weights, n, total)
        held += low <= 0.1 <= high
        ends = np.quantile(weights @ total / (weights @ n), [0.025, 0.975])
        plain += ends[0] <= 0.1 <= ends[1]
    assert held >= 0.93 * runs
    assert held > plain


def test_without_spread_it_is_the_ratio_itself() -> None:
    weights = np.random.default_rng(3).multinomial(20, np.full(20, 1 / 20), 200)
    low, high = distributions.ratio_interval(weights, np.full(20, 4.0), np.full(20, 1.0))
    assert (low, high) == pytest.approx((0.25, 0.25))
    # Two clusters: every other resample draws one of them twice, and has no spread.
    two = np.random.default_rng(3).multinomial(2, [0.5, 0.5], 200)
    assert distributions.ratio_interval(two, [1.0, 1.0], [0.0, 1.0]) == pytest.approx((0.0, 1.0))
