"""Majorities of resampled labels against the labels drawn one by one."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.methods.causal.grids import grid
from trustgauge.methods.causal import label_bootstrap
from trustgauge.methods.causal.label_bootstrap import majority_shares


@given(st.tuples(*[st.integers(0, 2)] * 3))
def test_shares_are_those_of_all_resamples(counts: tuple[int, int, int]) -> None:
    given_labels = [label for label, count in enumerate(counts) for _ in range(count)]
    won = [0, 0, 0]
    for drawn in product(given_labels, repeat=len(given_labels)):
        times = [drawn.count(label) for label in range(3)]
        if drawn and times.count(max(times)) == 1:
            won[times.index(max(times))] += 1
    total = max(1, len(given_labels) ** len(given_labels))
    assert majority_shares(*counts) == pytest.approx([one / total for one in won])


@given(st.integers(1, 9), st.integers(0, 2))
def test_people_who_agree_leave_nothing_to_chance(size: int, label: int) -> None:
    counts = [0, 0, 0]
    counts[label] = size
    assert majority_shares(*counts)[label] == 1


def test_resamples_have_these_shares_and_data_sets_share_their_draw() -> None:
    counts = np.zeros((2, 1, 3, 2, 3))
    counts[:, 0, 0], counts[:, 0, 1] = (1, 0, 2), (1, 1, 1)  # the third person has no labels
    scores = np.full((2, 1, 3, 2), 0.25)
    panel = grid(scores, "mff", labels=counts)
    tables = list(label_bootstrap.resample_labels(panel, 60_000, np.random.default_rng(1)))
    n, y = (np.concatenate([one[place] for one in tables]) for place in (1, 2))
    assert sum(one[0].stop - one[0].start for one in tables) == len(n) == 60_000
    np.testing.assert_array_equal(y[:, 0], y[:, 1])
    for person, kind in enumerate([(1, 0, 2), (1, 1, 1)]):
        seen = [((n == 1) & (y == score))[:, 0, 0, person].mean() for score in (-1, 0, 1)]
        assert seen == pytest.approx(majority_shares(*kind), abs=0.01)
    assert (y[:, :, :, 2] == 0.25).all()
    assert (n[:, :, :, 2] == 1).all()
