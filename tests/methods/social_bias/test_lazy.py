"""Pairs and permutations by number: checked against the lists they stand for."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trustgauge.methods.social_bias.combinatorial_index import Permutation, TupleLayout, pair_at, pair_number


def test_pairs_are_numbered_by_their_second_member() -> None:
    pairs = sorted(combinations(range(30), 2), key=lambda pair: (pair[1], pair[0]))
    i, j = pair_at(np.arange(len(pairs)))
    assert list(zip(i.tolist(), j.tolist(), strict=True)) == pairs


@given(st.integers(1, 2**29), st.data())
def test_pair_and_number_are_inverse_even_where_roots_round(j: int, data: st.DataObject) -> None:
    for i in {0, j - 1, data.draw(st.integers(0, j - 1))}:
        number = pair_number(np.array([i]), np.array([j]))
        assert number.tolist() == [j * (j - 1) // 2 + i]
        back_i, back_j = pair_at(number)
        assert (back_i.tolist(), back_j.tolist()) == ([i], [j])


@settings(max_examples=60)
@given(st.integers(1, 3000), st.integers(0, 2**63))
def test_a_permutation_takes_every_value_once(size: int, seed: int) -> None:
    values = Permutation(size, seed, ("test",)).at(np.arange(size))
    assert sorted(values.tolist()) == list(range(size))


def test_a_permutation_depends_on_seed_and_purpose_only() -> None:
    places = np.arange(1000)
    one = Permutation(10**9, 1, ("a",)).at(places)
    assert (one == Permutation(10**9, 1, ("a",)).at(places)).all()
    assert (one[5:9] == Permutation(10**9, 1, ("a",)).at(np.arange(5, 9))).all()
    for other in (Permutation(10**9, 2, ("a",)), Permutation(10**9, 1, ("b",))):
        assert (one != other.at(places)).mean() > 0.99


def test_the_first_values_of_a_permutation_are_spread_evenly() -> None:
    # 40,000 of 6,820,510 tuples in ten parts: 4,000 each, standard deviation 60.
    size = 6_820_510
    values = Permutation(size, 7).at(np.arange(40_000))
    counts = np.bincount(values * 10 // size, minlength=10)
    assert np.abs(counts - 4000).max() < 300
    # Neighbouring places have nothing to do with each other.
    assert abs(np.corrcoef(values[:-1], values[1:])[0, 1]) < 0.03


@pytest.mark.parametrize("size", [2, 5, 10])
def test_over_many_seeds_each_value_comes_first_equally_often(size: int) -> None:
    firsts = [int(Permutation(size, seed).at(np.array([0]))[0]) for seed in range(2000)]
    counts = np.bincount(firsts, minlength=size)
    expected = 2000 / size
    # Chi-squared with size - 1 degrees of freedom: 28 is beyond .999 for nine.
    assert ((counts - expected) ** 2 / expected).sum() < 28


def test_numbers_of_the_largest_products_fit() -> None:
    layout = TupleLayout(10**15, 10**15, np.array([10**6]), np.full(10**5, 10))
    items, properties, forms = np.array([999_999]), np.array([99_999]), np.array([9])
    last = layout.question(items, properties, forms)
    assert last.tolist() == [10**15 + 10**12 - 1]
    assert [part.tolist() for part in layout.place(last)] == [[999_999], [99_999], [9]]
