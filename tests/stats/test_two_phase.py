"""The difference estimator of a labelled sample (methods 0.10 (4))."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trustgauge.stats.two_phase import allocate, difference, pooled_strata, unseen_errors


def test_over_all_samples_there_are_the_estimate_is_the_truth() -> None:
    """Every sample of 2 of 4 and of 2 of 3 is as likely as another: their mean is the total, exactly."""
    reading = np.array([[0.0], [1], [0], [0], [1], [1], [0]])
    truth = np.array([[1.0], [1], [0], [1], [0], [1], [1]])
    strata = ["a"] * 4 + ["b"] * 3
    domain = np.array([True, False, True, True, False, True, False])
    totals, inside = [], []
    for first, second in product(combinations(range(4), 2), combinations(range(4, 7), 2)):
        labels = np.full((7, 1), np.nan)
        for place in (*first, *second):
            labels[place] = truth[place]
        values = difference(reading, labels, strata, strata, least=2).values
        totals.append(values.sum())
        # the spread of differences is that of a sample (n / (n - 1)): it shows in domains only
        inside.append(values[domain].sum())
    assert np.mean(totals) == pytest.approx(truth.sum(), abs=1e-12)
    assert np.mean(inside) == pytest.approx(truth[domain].sum(), abs=0.35)


def test_it_is_the_textbook_formula() -> None:
    rng = np.random.default_rng(1)
    n, strata = 400, np.array(["x", "y", "z"])[rng.integers(3, size=400)]
    reading, truth = rng.integers(2, size=n).astype(float), rng.integers(2, size=n).astype(float)
    known = rng.random(n) < 0.3
    labels = np.where(known, truth, np.nan)[:, None]
    rate = 0.0
    for one in "xyz":
        mine = strata == one
        apart = (truth - reading)[mine & known].mean()
        rate += mine.mean() * (reading[mine].mean() + apart)
    found = difference(reading[:, None], labels, strata.tolist(), strata.tolist())
    assert found.values.mean() == pytest.approx(rate, abs=1e-12)
    assert found.weights.sum() == pytest.approx(n)
    assert found.covered


def test_the_spread_of_its_values_is_the_error_of_the_estimate() -> None:
    """Against the variance that repeated samples of one population have (both phases)."""
    rng = np.random.default_rng(2)
    estimates, claimed = [], []
    for _ in range(400):
        truth = (rng.random(600) < 0.3).astype(float)
        reading = np.where(truth == 1, rng.random(600) < 0.5, rng.random(600) < 0.1).astype(float)
        labels = np.full((600, 1), np.nan)
        for value, size in ((0.0, 60), (1.0, 40)):
            chosen = rng.permutation(np.flatnonzero(reading == value))[:size]
            labels[chosen, 0] = truth[chosen]
        strata = [str(one) for one in reading]
        values = difference(reading[:, None], labels, strata, strata).values[:, 0]
        estimates.append(values.mean())
        claimed.append(values.var(ddof=1) / len(values))
    assert np.mean(estimates) == pytest.approx(0.3, abs=0.006)
    assert np.mean(claimed) == pytest.approx(np.var(estimates), rel=0.2)


def test_a_stratum_that_is_labelled_whole_has_its_labels() -> None:
    labels = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    found = difference(np.zeros((3, 2)), labels, ["a"] * 3, ["a"] * 3)
    assert (found.values == labels).all()
    assert not found.unseen.any()


def test_small_strata_are_taken_together_within_their_class() -> None:
    fine = ["a1"] * 10 + ["a2"] * 10 + ["a3"] * 10 + ["b"] * 3
    coarse = ["a"] * 30 + ["b"] * 3
    known = [True] * 3 + [False] * 7 + [True] * 3 + [False] * 7 + [True] * 8 + [False] * 2 + [True] * 3
    places = pooled_strata(fine, coarse, known)
    assert len(set(places[:20])) == 1
    assert len(set(places)) == 3
    alone = pooled_strata(["a1"] * 10 + ["a2"] * 10, ["a"] * 20, [True] * 2 + [False] * 8 + [True] * 10)
    assert len(set(alone)) == 1  # two labels alone would say nothing


def test_a_stratum_without_labels_is_not_covered_and_stays_as_it_was_read() -> None:
    labels = np.array([[1.0]] * 6 + [[np.nan]])
    found = difference([[0.0]] * 6 + [[1.0]], labels, ["a"] * 6 + ["b"], ["a"] * 6 + ["b"])
    assert not found.covered
    assert found.values[-1, 0] == 1


def test_a_sample_without_errors_bounds_them() -> None:
    found = difference([[0.0]] * 50, [[0.0]] * 20 + [[np.nan]] * 30, ["a"] * 50, ["a"] * 50)
    assert (found.unseen == 20).all()
    # 0 of 20: the rule of three
    assert float(unseen_errors(20, [0.95])[0]) == pytest.approx(3 / 20 * 0.63, abs=0.02)


@given(
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 2)), min_size=1, max_size=12),
    st.integers(1, 500),
)
def test_an_allocation_stays_within_its_labels(strata: list[tuple[int, int]], total: int) -> None:
    sizes, ranks = [one for one, _ in strata], [rank for _, rank in strata]
    chosen = allocate(sizes, [1.0] * len(sizes), ranks, total)
    assert (chosen <= sizes).all()
    assert chosen.sum() <= total + len(sizes)
    if sum(sizes) <= total:
        assert chosen.tolist() == sizes


def test_those_who_come_first_have_their_labels_first() -> None:
    assert allocate([50, 500, 500], [1, 1, 1], [0, 1, 2], 60).tolist() == [30, 30, 0]
    assert allocate([50, 500], [1, 4], [0, 0], 62).tolist() == [30, 8]
    # too few for 30 each: five each, and the unread ones get more than their share
    short = allocate([50, 500, 500, 500], [1, 1, 1, 1], [0, 1, 1, 2], 60).tolist()
    assert short[0] > 60 * 50 / 1050
    assert min(short[:3]) >= 5
    assert short[3] == 0


def test_intervals_of_labels_hold_the_truth_where_few_of_them_differ() -> None:
    """A reader that misses half of a rare thing: percentiles of clusters and labels drawn together."""
    rng, held = np.random.default_rng(3), 0
    runs, clusters = 200, 60
    for _ in range(runs):
        places = np.repeat(np.arange(clusters), 8)
        truth = (rng.random(480) < np.repeat(rng.beta(1, 9, clusters), 8)).astype(float)
        reading = truth * (rng.random(480) < 0.5)
        labels = np.full((480, 1), np.nan)
        for value, size in ((0.0, 100), (1.0, 15)):
            chosen = rng.permutation(np.flatnonzero(reading == value))[:size]
            labels[chosen, 0] = truth[chosen]
        strata = [str(one) for one in reading]
        found = difference(reading[:, None], labels, strata, strata)
        drawn = rng.multinomial(clusters, np.full(clusters, 1 / clusters), 400).astype(float)
        sums = np.bincount(places, found.smooth[:, 0], clusters)
        estimates = drawn @ sums / (drawn.sum(axis=1) * 8)
        for stratum, one in found.deviations(labels, [[0.0], [1.0]], places, drawn, rng).items():
            estimates += one[:, 0] * (found.stratum == stratum).mean()
        low, high = np.quantile(estimates, [0.025, 0.975])
        held += low <= 0.1 <= high
    assert 0.90 <= held / runs <= 0.99


def test_strata_labelled_whole_spread_as_their_labels_do() -> None:
    """Nothing is left to the readings there: resampled clusters carry what people read."""
    truth = np.array([[0.0], [1], [1], [0], [1], [0]])
    found = difference(np.zeros((6, 1)), truth, ["a"] * 6, ["a"] * 6)
    assert found.smooth.tolist() == truth.tolist()
