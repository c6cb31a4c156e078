"""Differences of means and effect sizes against scipy.stats, statsmodels and naive counts."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given
from hypothesis import strategies as st

from trustgauge.stats import means
from trustgauge.stats.means import Sums

scores = st.lists(st.integers(-1000, 1000).map(lambda one: one / 1000), min_size=2, max_size=25)


def sums(values: list[float]) -> Sums:
    y = np.array(values)
    return Sums(np.array(float(len(y))), np.asarray(y.sum()), np.asarray((y**2).sum()))


@given(scores, scores)
def test_welch_agrees_with_scipy(first: list[float], second: list[float]) -> None:
    assume(np.ptp(first) > 0)
    assume(np.ptp(second) > 0)
    expected = scipy.stats.ttest_ind(first, second, equal_var=False)
    test = means.t_test(sums(first), sums(second))
    assert (test.t, test.df, test.p) == pytest.approx(
        (expected.statistic, expected.df, expected.pvalue), rel=1e-6, abs=1e-9
    )


def test_degrees_of_freedom_and_epsilon_of_the_rules() -> None:
    first, second = [0.1, 0.4, 0.5, 0.2], [0.0, -0.3, 0.1]
    welch = scipy.stats.ttest_ind(first, second, equal_var=False)
    published = means.t_test(sums(first), sums(second), "total-1")
    released = means.t_test(sums(first), sums(second), "total-2", 1e-4)
    assert published.df == 6
    assert released.df == 5
    assert published.t == pytest.approx(welch.statistic)
    assert published.p == pytest.approx(2 * scipy.stats.t.sf(abs(welch.statistic), 6))
    gap = np.mean(first) - np.mean(second)
    assert released.t == pytest.approx(gap / (gap / welch.statistic + 1e-4))


def test_statistics_come_from_sums_of_many_groups_at_once() -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(size=(4, 5, 2, 9))
    first, second = (Sums(np.full((4, 5), 9.0), y.sum(-1), (y**2).sum(-1)) for y in np.moveaxis(values, 2, 0))
    test = means.t_test(first, second)
    expected = scipy.stats.ttest_ind(values[:, :, 0], values[:, :, 1], axis=-1, equal_var=False)
    np.testing.assert_allclose(test.t, expected.statistic)
    np.testing.assert_allclose(test.p, expected.pvalue)


@pytest.mark.parametrize("score", [1 / 3, 0.1, -0.7, 1.0, 1e-9])
@pytest.mark.parametrize("n", [2, 7, 72])
def test_constant_groups(score: float, n: int) -> None:
    one, other = sums([score] * n), sums([score + 1e-5] * n)
    equal = means.t_test(one, sums([score] * (n + 1)))
    apart = means.t_test(one, other)
    assert equal.t == 0
    assert equal.p == 1
    assert apart.t == -np.inf
    assert apart.p == 0
    assert means.t_test(other, one).t == np.inf
    assert apart.df == 2 * n - 2
    released = means.t_test(one, sums([score - 0.2] * n), "total-2", 1e-4)
    assert released.t == pytest.approx(0.2 / 1e-4)


def test_one_score_is_no_test() -> None:
    test = means.t_test(sums([0.5]), sums([0.1, 0.2]))
    assert np.isnan([test.t, test.df, test.p, test.se]).all()
    assert np.isnan(means.hedges_g(sums([0.5]), sums([0.1, 0.2]))[0])
    empty = Sums(np.array(0.0), np.array(0.0), np.array(0.0))
    assert np.isnan(means.t_test(empty, sums([0.1, 0.2])).difference)


@given(scores, scores)
def test_hedges_g_is_the_corrected_pooled_t(first: list[float], second: list[float]) -> None:
    assume(np.ptp(first) + np.ptp(second) > 0)
    a, b = len(first), len(second)
    pooled = np.sqrt((np.var(first, ddof=1) * (a - 1) + np.var(second, ddof=1) * (b - 1)) / (a + b - 2))
    expected = (1 - 3 / (4 * (a + b) - 9)) * (np.mean(first) - np.mean(second)) / pooled
    g, constant = means.hedges_g(sums(first), sums(second))
    assert g == pytest.approx(expected, rel=1e-6, abs=1e-9)
    assert not constant


def test_hedges_g_of_constant_groups() -> None:
    g, constant = means.hedges_g(sums([0.2, 0.2]), sums([0.4, 0.4]))
    assert np.isnan(g)
    assert constant
    g, constant = means.hedges_g(sums([0.2, 0.2]), sums([0.2, 0.2]))
    assert g == 0
    assert not constant


@given(scores, scores)
def test_cliffs_delta_counts_pairs_and_is_a_scaled_u(first: list[float], second: list[float]) -> None:
    a, b = np.array(first), np.array(second)
    delta = means.cliffs_delta(a, b, (np.ones(len(a)), np.ones(len(b))))
    assert delta == pytest.approx(np.sign(a[:, None] - b).mean(), abs=1e-12)
    u = scipy.stats.mannwhitneyu(a, b).statistic
    assert delta == pytest.approx(2 * u / (len(a) * len(b)) - 1, abs=1e-12)


@given(scores, scores, st.integers(0, 2**32 - 1))
def test_wasserstein_agrees_with_scipy(first: list[float], second: list[float], seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 4, len(first)), rng.integers(1, 4, len(second))
    expected = scipy.stats.wasserstein_distance(first, second, *weights)
    assert means.wasserstein(first, second, weights) == pytest.approx(expected, abs=1e-12)
    repeated = means.cliffs_delta(
        np.repeat(first, weights[0]),
        np.repeat(second, weights[1]),
        ([1] * weights[0].sum(), [1] * weights[1].sum()),
    )
    assert means.cliffs_delta(first, second, weights) == pytest.approx(repeated, abs=1e-12)


def test_measures_of_nothing_are_undefined() -> None:
    assert np.isnan(means.cliffs_delta([], [0.1], ([], [1])))
    assert np.isnan(means.wasserstein([0.1], [], ([1], [])))


def test_scores_that_rounding_moved_apart_are_no_difference() -> None:
    """Numbers of single precision jitter in the seventh digit: that is no spread, and no difference."""
    jitter = np.float32(0.3) + np.arange(20, dtype=np.float64) * 1e-9
    first, second = (
        means.Sums(np.array(float(len(one))), np.array(one.sum()), np.array((one**2).sum()))
        for one in (jitter, jitter + 1e-8)
    )
    tested = means.t_test(first, second)
    assert (float(tested.t), float(tested.p)) == (0.0, 1.0)
