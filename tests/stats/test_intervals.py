"""Intervals of proportions against statsmodels and scipy.stats."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from trustgauge.stats import intervals


@st.composite
def proportions(draw: st.DrawFn) -> tuple[int, int]:
    trials = draw(st.integers(1, 2000))
    return draw(st.integers(0, trials)), trials


@given(proportions(), st.floats(0.5, 0.999))
def test_wilson_agrees_with_statsmodels(case: tuple[int, int], level: float) -> None:
    expected = proportion_confint(*case, alpha=1 - level, method="wilson")
    assert intervals.wilson(*case, level) == pytest.approx(expected, abs=1e-9)


@given(proportions())
def test_clopper_pearson_agrees_with_statsmodels(case: tuple[int, int]) -> None:
    expected = proportion_confint(*case, alpha=0.05, method="beta")
    assert intervals.clopper_pearson(*case) == pytest.approx(expected, abs=1e-9)


@given(proportions())
def test_beta_interval_agrees_with_scipy(case: tuple[int, int]) -> None:
    k, n = case
    expected = scipy.stats.beta.ppf([0.025, 0.975], k + 0.5, n - k + 0.5)
    assert intervals.beta_interval(k, n) == pytest.approx(expected, abs=1e-9)


@given(proportions())
def test_intervals_hold_the_share_and_stay_in_the_unit_interval(case: tuple[int, int]) -> None:
    share = case[0] / case[1]
    for low, high in (intervals.wilson(*case), intervals.clopper_pearson(*case)):
        assert 0 <= low <= share <= high <= 1


def test_no_trials_say_nothing() -> None:
    assert intervals.wilson(0, 0) == (0.0, 1.0)
    assert intervals.clopper_pearson(0, 0) == (0.0, 1.0)


def test_a_design_effect_widens() -> None:
    low, high = intervals.wilson(50, 100)
    wide_low, wide_high = intervals.wilson(25, 50)
    assert wide_low < low < high < wide_high


def test_draws_interval_takes_the_axis_away() -> None:
    draws = np.random.default_rng(1).normal(size=(5000, 2))
    low, high = intervals.draws_interval(draws)
    assert low.shape == (2,)
    assert low == pytest.approx([-1.96, -1.96], abs=0.15)
    assert high == pytest.approx([1.96, 1.96], abs=0.15)


@given(st.integers(0, 60), st.integers(1, 60), st.integers(0, 60), st.integers(1, 60))
def test_newcombe_is_that_of_statsmodels(a: int, n: int, b: int, m: int) -> None:
    a, b = min(a, n), min(b, m)
    low, high = intervals.newcombe((a, n), (b, m))
    expected = confint_proportions_2indep(a, n, b, m, method="newcomb", compare="diff")
    assert (low, high) == pytest.approx(expected, abs=1e-9)
    assert intervals.newcombe((b, m), (a, n)) == pytest.approx((-high, -low))
    assert intervals.newcombe((0, 0), (1, 2)) == (-1.0, 1.0)
