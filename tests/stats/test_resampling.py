"""Permutations of labels over units, against permuting the units one by one."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from trustgauge.stats import comparisons, stream
from trustgauge.stats.comparisons import table_chi_squared
from trustgauge.stats.distributions import Floats, Ints


def test_p_counts_the_observed_arrangement() -> None:
    assert comparisons.permutation_p(3.0, [1.0, 2.0, 3.0, 4.0]) == (1 + 2) / 5
    assert comparisons.permutation_p(3.0, [3.0 - 1e-12] * 9) == 1.0
    assert comparisons.permutation_p(3.0, [3.0 - 1e-6] * 9) == 0.1
    assert comparisons.exact_p(2.0, [1.0, 2.0, 3.0], [2, 1, 1]) == 0.5


def test_tolerance_grows_with_the_statistic() -> None:
    assert comparisons.reaches([1e6 - 1e-4], 1e6).all()
    assert not comparisons.reaches([1 - 1e-4], 1).any()


@given(st.lists(st.integers(0, 4), min_size=1, max_size=4))
def test_arrangements_are_counted(sizes: list[int]) -> None:
    expected = math.factorial(sum(sizes)) / math.prod(math.factorial(size) for size in sizes)
    assert comparisons.arrangements(sizes) == pytest.approx(expected)


def test_very_many_arrangements_are_infinite() -> None:
    assert comparisons.arrangements([10_000, 10_000]) == math.inf


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=3), st.data())
def test_all_tables_stand_for_all_arrangements(types: list[int], data: st.DataObject) -> None:
    total = sum(types)
    first = data.draw(st.integers(0, total))
    sizes = [first, total - first]
    listed = list(comparisons.all_label_tables(types, sizes))
    assert sum(weight for _, weight in listed) == pytest.approx(math.comb(total, first))
    for table, _ in listed:
        assert table.sum(axis=1).tolist() == sizes
        assert table.sum(axis=0).tolist() == types


def test_random_tables_have_their_margins_and_their_mean() -> None:
    types, sizes = np.array([[30, 10, 5], [4, 4, 4]]), np.array([[20, 15, 10], [6, 0, 6]])
    tables = comparisons.label_tables(types, sizes, 4000, stream(1, "tables"))
    assert (tables.sum(axis=-1) == sizes[:, None]).all()
    assert (tables.sum(axis=-2) == types[:, None]).all()
    expected = sizes[:, :, None] * types[:, None, :] / types.sum(axis=1)[:, None, None]
    np.testing.assert_allclose(tables.mean(axis=1), expected, atol=0.12)
    first = tables[0, :, 0, 0]
    variance = scipy.stats.hypergeom(45, 30, 20).var()
    assert first.var() == pytest.approx(variance, rel=0.1)


def _statistic(tables: Ints) -> Floats:
    return table_chi_squared(tables)


def _unit_by_unit(table: Ints, permutations: int, seed: int) -> float:
    """The same p with every unit's label permuted."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(table.shape[0]), table.sum(axis=1))
    kinds = np.concatenate([np.repeat(np.arange(table.shape[1]), row) for row in table])
    observed = float(table_chi_squared(table))
    hits = 0
    for _ in range(permutations):
        mixed = np.zeros_like(table)
        np.add.at(mixed, (rng.permutation(labels), kinds), 1)
        hits += bool(table_chi_squared(mixed) >= observed - 1e-9)
    return hits / permutations


@pytest.mark.parametrize(
    "table", [[[30, 12], [20, 22]], [[40, 10, 3], [35, 12, 6], [30, 20, 3]], [[60, 1], [52, 9]]]
)
def test_label_p_agrees_with_permuting_units(table: list[list[int]]) -> None:
    counts = np.array(table)
    found = comparisons.label_p(counts[None], _statistic, stream(1, "p"), enough=400)[0]
    assert found == pytest.approx(_unit_by_unit(counts, 2000, 3), abs=0.04)


def test_few_arrangements_are_all_counted() -> None:
    table = np.array([[3, 1], [0, 4]])
    found = comparisons.label_p(table[None], _statistic, stream(1, "p"))[0]
    assert found == pytest.approx(scipy.stats.fisher_exact(table).pvalue)


def test_tests_together_and_small_ones_between() -> None:
    tables = np.array([[[50, 10], [20, 40]], [[2, 0], [0, 2]], [[30, 30], [30, 30]]])
    p = comparisons.label_p(tables, _statistic, stream(1, "p"))
    assert p[0] == pytest.approx(1 / 10_000)
    assert p[1] == pytest.approx(2 / 6)
    assert p[2] == 1.0


def test_a_sequential_p_is_valid_under_the_null() -> None:
    rng = np.random.default_rng(5)
    draws = comparisons.label_tables([[40, 25, 9]], [[25, 25, 24]], 1500, rng)[0]
    p = comparisons.label_p(draws, _statistic, stream(2, "null"))
    for alpha in (0.01, 0.05, 0.2, 0.5):
        error = math.sqrt(alpha * (1 - alpha) / len(p))
        assert (p <= alpha).mean() <= alpha + 3.5 * error
    assert p.mean() == pytest.approx(0.5, abs=0.06)


def test_p_does_not_depend_on_how_often_it_is_asked() -> None:
    table = np.array([[[50, 10], [42, 18]]])
    one = comparisons.label_p(table, _statistic, stream(4, "same"))
    assert one.tolist() == comparisons.label_p(table, _statistic, stream(4, "same")).tolist()


def test_resampled_types_are_draws_with_replacement() -> None:
    found = comparisons.resample_types([6, 3, 1], 3000, stream(1, "boot"))
    assert (found.sum(axis=1) == 10).all()
    np.testing.assert_allclose(found.mean(axis=0), [6, 3, 1], atol=0.15)
    assert found[:, 0].var() == pytest.approx(10 * 0.6 * 0.4, rel=0.1)
    assert (comparisons.resample_types([6, 3], 5, stream(1, "boot"), total=90).sum(axis=1) == 90).all()


def test_every_pairing_of_a_tiny_table() -> None:
    table = np.array([[1, 1, 1], [1, 0, 1]])
    kinds = [0, 1, 2, 0, 2]
    observed = float(table_chi_squared(table))
    stars = []
    for chosen in itertools.combinations(range(5), 3):
        mixed = np.zeros((2, 3), dtype=np.int64)
        for place, kind in enumerate(kinds):
            mixed[0 if place in chosen else 1, kind] += 1
        stars.append(float(table_chi_squared(mixed)))
    expected = np.mean([star >= observed - 1e-9 for star in stars])
    assert comparisons.label_p(table[None], _statistic, stream(1, "p"))[0] == pytest.approx(expected)


def test_a_sequential_p_stops_where_enough_reach_the_observed() -> None:
    batches = [[0.0, 2.0, 0.0], [2.0, 0.0, 2.0, 2.0], [9.0]]
    assert comparisons.sequential_p(1.0, iter(batches), enough=3) == 3 / 6
    assert comparisons.sequential_p(1.0, iter(batches), enough=6) == (1 + 5) / (1 + 8)
    assert comparisons.sequential_p(1.0, iter([]), enough=6) == 1.0


def test_a_sequential_p_is_valid() -> None:
    """P(p <= a) <= a: the observed statistic is one more draw of the same distribution."""
    rng = np.random.default_rng(11)
    p = [comparisons.sequential_p(rng.random(), (rng.random(50) for _ in range(20))) for _ in range(2000)]
    for level in (0.01, 0.05, 0.2):
        assert np.mean(np.array(p) <= level) <= level + 3 * np.sqrt(level * (1 - level) / 2000)
    assert np.mean(np.array(p) <= 0.2) > 0.15
