"""Comparisons against scipy.stats, statsmodels and naive sums."""

from __future__ import annotations

import gc
import itertools
import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar
from statsmodels.stats.multitest import multipletests

from trustgauge.stats import comparisons, stream

counts = st.lists(st.integers(0, 60), min_size=2, max_size=5)
pvalues = st.lists(st.floats(0, 1), min_size=1, max_size=12)


@given(counts, st.integers(0, 2**32 - 1))
def test_two_samples_agree_with_pearson(first: list[int], seed: int) -> None:
    second = np.random.default_rng(seed).integers(0, 60, len(first)).tolist()
    table = np.array([first, second])
    kept = table[:, table.any(axis=0)]
    assume(kept.sum(axis=1).all())
    assume(kept.shape[1] > 1)
    expected = scipy.stats.chi2_contingency(kept, correction=False)
    statistic, df, p = comparisons.two_sample_chi_squared(first, second)
    assert (statistic, df, p) == pytest.approx((expected.statistic, expected.dof, expected.pvalue), abs=1e-9)


@given(counts, st.integers(1, 40))
def test_a_multiple_is_similar(first: list[int], times: int) -> None:
    assume(sum(first) > 0)
    statistic, _, p = comparisons.two_sample_chi_squared(first, np.array(first) * times)
    assert statistic == pytest.approx(0, abs=1e-9)
    assert p == pytest.approx(1)


def test_an_empty_cell_is_dropped_or_kept() -> None:
    dropped = comparisons.two_sample_chi_squared([40, 0, 0], [36, 4, 0])
    kept = comparisons.two_sample_chi_squared([40, 0, 0], [36, 4, 0], "keep")
    assert dropped[0] == kept[0] == pytest.approx(4.210526, abs=1e-6)
    assert (float(dropped[1]), float(kept[1])) == (1, 2)
    assert dropped[2] < 0.05 < kept[2]


def test_one_kept_cell_is_similar_and_an_empty_sample_is_undefined() -> None:
    assert [float(x) for x in comparisons.two_sample_chi_squared([9, 0], [4, 0])] == [0.0, 0.0, 1.0]
    assert np.isnan(comparisons.two_sample_chi_squared([0, 0], [4, 1])).all()


@given(st.lists(st.lists(st.integers(0, 30), min_size=3, max_size=3), min_size=2, max_size=4))
def test_table_chi_squared_agrees_with_scipy(rows: list[list[int]]) -> None:
    table = np.array(rows)
    kept = table[table.any(axis=1)][:, table.any(axis=0)]
    assume(min(kept.shape) > 1)
    expected = scipy.stats.chi2_contingency(kept, correction=False).statistic
    assert comparisons.table_chi_squared(table) == pytest.approx(expected, abs=1e-9)
    assert comparisons.table_chi_squared(np.stack([table, table]))[1] == pytest.approx(expected, abs=1e-9)


@given(st.integers(0, 60), st.integers(1, 60), st.floats(0.05, 0.95))
def test_exact_multinomial_of_two_cells_is_the_binomial_test(k: int, n: int, share: float) -> None:
    assume(k <= n)
    expected = scipy.stats.binomtest(k, n, share).pvalue
    found = comparisons.exact_multinomial([k, n - k], [share, 1 - share], stream(1, "x"))
    assert found == pytest.approx(expected, abs=1e-7)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(0, 5), min_size=3, max_size=3), st.integers(0, 2**32 - 1))
def test_exact_multinomial_adds_up_naively(seen: list[int], seed: int) -> None:
    shares = np.random.default_rng(seed).dirichlet(np.ones(3))
    n = sum(seen)

    def chance(row: tuple[int, ...]) -> float:
        ways = math.factorial(n) / math.prod(math.factorial(count) for count in row)
        return ways * math.prod(float(share) ** count for share, count in zip(shares, row, strict=True))

    every = [row for row in itertools.product(range(n + 1), repeat=3) if sum(row) == n]
    here = chance(tuple(seen))
    expected = sum(chance(row) for row in every if chance(row) <= here * (1 + 1e-9))
    assert comparisons.exact_multinomial(seen, shares, stream(1, "x")) == pytest.approx(expected, abs=1e-7)


def test_exact_multinomial_where_nothing_was_declared() -> None:
    rng = stream(1, "x")
    assert comparisons.exact_multinomial([5, 5, 1], [0.5, 0.5, 0.0], rng) == 0.0
    assert comparisons.exact_multinomial([5, 5, 0], [0.5, 0.5, 0.0], rng) == 1.0
    assert comparisons.exact_multinomial([0, 0, 0], [0.5, 0.5, 0.0], rng) == 1.0


def test_too_many_outcomes_are_drawn() -> None:
    shares = np.full(6, 1 / 6)
    seen = [30, 10, 20, 25, 15, 20]
    found = comparisons.exact_multinomial(seen, shares, stream(2, "draw"))
    assert found == pytest.approx(scipy.stats.chisquare(seen).pvalue, abs=0.01)
    assert found == comparisons.exact_multinomial(seen, shares, stream(2, "draw"))


few = st.lists(st.integers(0, 2), min_size=1, max_size=4)


@settings(deadline=None, max_examples=30)
@given(few, few)
def test_kolmogorov_smirnov_counts_all_arrangements(ones: list[int], others: list[int]) -> None:
    first, second = (np.bincount(values, minlength=3).tolist() for values in (ones, others))
    pooled = [value for value in range(3) for _ in range(first[value] + second[value])]

    def distance(chosen: tuple[int, ...]) -> float:
        one = [pooled[place] for place in chosen]
        other = [pooled[place] for place in range(len(pooled)) if place not in chosen]
        gaps = [
            abs(sum(v <= cut for v in one) / len(one) - sum(v <= cut for v in other) / len(other))
            for cut in range(3)
        ]
        return max(gaps)

    size = sum(first)
    stars = [distance(chosen) for chosen in itertools.combinations(range(len(pooled)), size)]
    observed = max(
        abs(sum(first[: cut + 1]) / size - sum(second[: cut + 1]) / sum(second)) for cut in range(3)
    )
    statistic, p = comparisons.kolmogorov_smirnov(first, second, stream(1, "ks"))
    assert statistic == pytest.approx(observed)
    assert p == pytest.approx(sum(star >= observed - 1e-9 for star in stars) / len(stars))


def test_kolmogorov_smirnov_with_many_arrangements_draws() -> None:
    first, second = [30, 20, 25, 15, 40, 10], [20, 30, 20, 25, 30, 15]
    statistic, p = comparisons.kolmogorov_smirnov(first, second, stream(3, "ks"))
    expected = scipy.stats.ks_2samp(np.repeat(range(6), first), np.repeat(range(6), second)).statistic
    assert statistic == pytest.approx(expected)
    assert 0 < p < 1
    assert (p * 10_000) == pytest.approx(round(p * 10_000), abs=1e-6)


def test_kolmogorov_smirnov_of_nothing_is_undefined() -> None:
    assert all(math.isnan(x) for x in comparisons.kolmogorov_smirnov([0, 0], [1, 2], stream(1, "ks")))


@given(counts, st.integers(0, 2**32 - 1))
def test_kullback_leibler_agrees_with_scipy(first: list[int], seed: int) -> None:
    second = np.random.default_rng(seed).integers(0, 60, len(first))
    expected = scipy.stats.entropy(np.array(first) + 0.5, second + 0.5)
    assert comparisons.kullback_leibler(first, second) == pytest.approx(expected, abs=1e-12)


def test_kappa_is_a_shift_of_a_tenth() -> None:
    assert comparisons.kullback_leibler([6_000_000, 4_000_000], [5_000_000, 5_000_000]) == pytest.approx(
        0.0201, abs=5e-5
    )


@given(st.integers(0, 80), st.integers(0, 80))
def test_mcnemar_agrees_with_statsmodels(b: int, c: int) -> None:
    assume(b + c > 0)
    expected = statsmodels_mcnemar([[7, b], [c, 9]], exact=True).pvalue
    assert comparisons.mcnemar(b, c) == pytest.approx(float(expected), abs=1e-9)


def test_mcnemar_without_a_swap() -> None:
    assert comparisons.mcnemar(0, 0) == 1.0


@given(st.lists(st.integers(0, 40), min_size=4, max_size=4))
def test_fisher_agrees_with_scipy(cells: list[int]) -> None:
    table = np.array(cells).reshape(2, 2)
    assert comparisons.fisher_exact(table) == pytest.approx(scipy.stats.fisher_exact(table).pvalue, abs=1e-9)


@pytest.fixture(scope="module")
def _little_garbage() -> None:
    """Each call of the reference collects all garbage, twice: after many other tests that takes a while."""
    gc.freeze()


@pytest.mark.usefixtures("_little_garbage")
@given(pvalues)
def test_adjustments_agree_with_statsmodels(p: list[float]) -> None:
    assert comparisons.holm(p) == pytest.approx(multipletests(p, method="holm")[1], abs=1e-12)
    assert comparisons.benjamini_hochberg(p) == pytest.approx(multipletests(p, method="fdr_bh")[1], abs=1e-12)


@given(pvalues)
def test_adjustments_go_row_by_row(p: list[float]) -> None:
    both = comparisons.holm([p, [1.0] * len(p)])
    assert both[0].tolist() == comparisons.holm(p).tolist()
    assert (both[1] == 1).all()


@given(
    st.lists(st.lists(st.integers(0, 6), min_size=3, max_size=3), max_size=30),
    st.sampled_from([1, 1 << 20, 1 << 40]),
)
def test_different_rows_are_those_of_numpy(rows: list[list[int]], times: int) -> None:
    counts = np.array(rows, dtype=np.int64).reshape(-1, 3) * times
    known, place = np.unique(counts, axis=0, return_inverse=True)
    found = comparisons.different_rows(counts)
    assert found[0].tolist() == known.tolist()
    assert found[1].tolist() == place.reshape(-1).tolist()
