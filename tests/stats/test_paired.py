"""Paired differences with clusters, against other ways of computing them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st

from trustgauge.stats import stream
from trustgauge.stats.comparisons import mcnemar
from trustgauge.stats.paired import items_to_find, paired_difference


def test_the_standard_error_is_the_one_of_clustered_regression() -> None:
    rng = np.random.default_rng(1)
    clusters = np.repeat(np.arange(40), 5)
    apart = rng.normal(0.2, 1, 200) + rng.normal(0, 0.7, 40)[clusters]
    found = paired_difference(apart, clusters, 1e-9, stream(1, "t"))
    groups = {"groups": clusters, "use_correction": True}
    other = sm.OLS(apart, np.ones(200)).fit(cov_type="cluster", cov_kwds=groups)
    # statsmodels adds (n - 1) / (n - p), which is 1 here
    assert found.se == pytest.approx(float(other.bse[0]), rel=1e-9)
    assert found.value == pytest.approx(apart.mean())
    assert found.se > 1.3 * apart.std() / math.sqrt(200)  # clusters count


def test_verdicts_without_clusters_give_the_exact_test_of_discordant_pairs() -> None:
    for worse, better in itertools.product(range(6), repeat=2):
        apart = [-1.0] * worse + [1.0] * better + [0.0] * 30
        found = paired_difference(apart, range(len(apart)), 1.0, stream(1, "t"))
        assert found.p == pytest.approx(mcnemar(worse, better))


def test_where_nothing_differs_the_interval_stays_open() -> None:
    few = paired_difference([0.0] * 3, range(3), 1.0, stream(1, "t"))
    many = paired_difference([0.0] * 1000, range(1000), 1.0, stream(1, "t"))
    assert (few.low, few.high) == pytest.approx((-0.86, 0.86), abs=0.01)
    assert few.p == 1.0
    assert many.high == pytest.approx(0.002, abs=2e-4)


@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 1.0]), min_size=2, max_size=12))
def test_p_is_the_share_of_all_ways_to_flip_the_signs(apart: list[float]) -> None:
    found = paired_difference(apart, range(len(apart)), 1.0, stream(1, "t"))
    sums = [
        abs(sum(s * x for s, x in zip(signs, apart, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(apart))
    ]
    assert found.p == pytest.approx(sum(one >= abs(sum(apart)) - 1e-9 for one in sums) / len(sums))


def test_the_planned_size_is_that_of_the_normal_approximation_for_a_large_pilot() -> None:
    known = (1.0, 10**7, 10**7)
    assert items_to_find(0.05, known, 0.05) == pytest.approx((2.8016 / 0.05) ** 2, rel=0.005)
    assert items_to_find(10.0, known, 0.05) == 10  # never below what an interval needs
    assert items_to_find(0.05, (1.0, 60, 20), 0.05) > 1.5 * (2.8016 / 0.05) ** 2  # a small pilot may err
