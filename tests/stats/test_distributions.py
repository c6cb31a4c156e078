"""Probabilities of counts against scipy.stats and against counting."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from trustgauge.stats import distributions


@given(st.floats(0, 300), st.integers(1, 30))
def test_chi_squared_tail_agrees_with_scipy(statistic: float, df: int) -> None:
    assert distributions.chi_squared_tail(statistic, df) == pytest.approx(
        scipy.stats.chi2.sf(statistic, df), rel=1e-9
    )


def test_no_degrees_of_freedom_leave_nothing_to_reject() -> None:
    assert distributions.chi_squared_tail([0.0, 5.0], [0, 0]).tolist() == [1.0, 1.0]


@given(st.integers(0, 60), st.integers(-2, 62), st.floats(0.01, 0.99))
def test_binomial_tail_agrees_with_scipy(trials: int, successes: int, share: float) -> None:
    expected = scipy.stats.binom.sf(successes - 1, trials, share)
    assert distributions.binomial_tail(successes, trials, share) == pytest.approx(expected, abs=1e-12)


@given(st.integers(0, 80), st.floats(1e-6, 1 - 1e-6) | st.sampled_from([0.0, 1.0]))
def test_binomial_probabilities_agree_with_scipy(trials: int, share: float) -> None:
    expected = scipy.stats.binom.pmf(np.arange(trials + 1), trials, share)
    np.testing.assert_allclose(
        distributions.binomial_probabilities(trials, share), expected, rtol=1e-8, atol=1e-14
    )


@given(st.lists(st.integers(0, 12), min_size=2, max_size=4), st.integers(0, 2**32 - 1))
def test_multinomial_probability_agrees_with_scipy(counts: list[int], seed: int) -> None:
    shares = np.random.default_rng(seed).dirichlet(np.ones(len(counts)))
    expected = scipy.stats.multinomial.logpmf(counts, sum(counts), shares)
    assert distributions.log_multinomial(counts, shares) == pytest.approx(expected, abs=1e-9)


def test_a_count_where_the_share_is_zero_is_impossible() -> None:
    assert distributions.log_multinomial([3, 1], [1.0, 0.0]) == -np.inf
    assert distributions.log_multinomial([4, 0], [1.0, 0.0]) == 0.0


@settings(deadline=None)
@given(st.integers(0, 8), st.integers(1, 4))
def test_outcomes_are_all_and_each_once(total: int, cells: int) -> None:
    listed = [tuple(row) for row in distributions.outcomes(total, cells).tolist()]
    every = [row for row in itertools.product(range(total + 1), repeat=cells) if sum(row) == total]
    assert sorted(listed) == sorted(every)
    assert distributions.outcome_count(total, cells) == len(every)


@settings(deadline=None)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=4), st.integers(0, 10))
def test_bounded_outcomes_keep_to_their_limits(limits: list[int], total: int) -> None:
    every = [row for row in itertools.product(*(range(limit + 1) for limit in limits)) if sum(row) == total]
    assert sorted(distributions.bounded_outcomes(total, tuple(limits))) == sorted(every)


def test_the_normal_quantile_is_the_usual_one() -> None:
    assert distributions.normal_quantile(0.975) == pytest.approx(1.959964, abs=1e-6)
