"""Permutation p of the deconfounding impact against all orders of the labels, and against scipy."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tests.methods.causal.confounded import answered, design, female_biased, scored, summary
from trustgauge.methods.causal.deconfounding import permute_deltas
from trustgauge.methods.causal.panel import Floats, Panel
from trustgauge.methods.causal.stratified_permutations import permutation_sums, step_down
from trustgauge.stats import stream


def _tiny(seed: int) -> Panel:
    rng = stream(seed, "tiny")
    counts = {
        ("male", "negative"): 2,
        ("male", "positive"): 3,
        ("female", "negative"): 2,
        ("female", "positive"): 1,
    }
    return summary(
        {
            "frame": f"f{place}-{valence}",
            "person": gender,
            "gender": gender,
            "valence": valence,
            "n": int(rng.integers(1, 4)),
            "score": round(float(rng.uniform(-1, 1)), 2),
        }
        for (gender, valence), size in counts.items()
        for place in range(size)
    )


@pytest.mark.parametrize("seed", range(5))
def test_exact_p_is_that_of_all_orders_of_the_labels(seed: int) -> None:
    cells = _tiny(seed)
    grouping = cells.grouping("gender", na=False)
    found = permute_deltas(
        cells, grouping, outcome="score", positivity="refuse", permutations=999, rng=stream(1, "p")
    )
    frame, person, word = np.nonzero(cells.n[0])
    weight, total = cells.n[0][frame, person, word], cells.y[0][frame, person, word]
    cls, valence = grouping.of[person], cells.valence[word]

    def deltas(labels: Any) -> Floats:
        n, y = np.zeros((2, 2)), np.zeros((2, 2))
        np.add.at(n, (labels, valence), weight)
        np.add.at(y, (labels, valence), total)
        share = n.sum(axis=1) / n.sum()
        return np.asarray(share @ (y / n) - y.sum(axis=0) / n.sum(axis=0))

    stars = []
    bad, good = np.flatnonzero(valence == 0), np.flatnonzero(valence == 1)
    for first in itertools.permutations(cls[bad]):
        for second in itertools.permutations(cls[good]):
            labels = cls.copy()
            labels[bad], labels[good] = first, second
            stars.append(np.abs(deltas(labels)))
    observed, table = np.abs(deltas(cls)), np.array(stars)
    top = int(observed.argmax())
    p_top = (table.max(axis=1) >= observed[top] - 1e-9).mean()
    p_low = max(p_top, (table[:, 1 - top] >= observed[1 - top] - 1e-9).mean())
    assert found.exact
    assert found.count == math.comb(4, 2) * math.comb(4, 1)
    assert found.p[0, top] == pytest.approx(p_top)
    assert found.p[0, 1 - top] == pytest.approx(p_low)
    assert found.smallest == pytest.approx(p_top)


def _two_samples(men: Floats, women: Floats, *, more_women: int) -> Panel:
    """Negative texts with these scores; positive ones are all .5, one of a man, the others of women."""
    scores = [("male", "negative", men), ("female", "negative", women)]
    scores += [("male", "positive", np.full(1, 0.5)), ("female", "positive", np.full(1 + more_women, 0.5))]
    return summary(
        {"frame": f"f{place}", "person": gender, "gender": gender, "valence": valence, "score": score}
        for gender, valence, some in scores
        for place, score in enumerate(some)
    )


@pytest.mark.parametrize("seed", range(3))
def test_p_equals_the_permutation_test_of_scipy(seed: int) -> None:
    """With more women in the data set than in its negative texts, delta goes with the difference of means."""
    rng = stream(seed, "scipy")
    men, women = rng.uniform(-0.5, 0.5, 6).round(6), rng.uniform(-0.2, 0.8, 6).round(6)
    cells = _two_samples(men, women, more_women=4)
    grouping = cells.grouping("gender", na=False)
    found = permute_deltas(cells, grouping, outcome="score", positivity="refuse", permutations=999, rng=rng)

    def distance(first: Floats, second: Floats) -> float:
        return abs(float(first.mean() - second.mean()))

    reference = stats.permutation_test(
        (men, women), distance, n_resamples=10_000, alternative="greater", vectorized=False
    )
    assert found.exact
    assert found.smallest == pytest.approx(reference.pvalue)


def test_without_confounding_there_is_nothing_to_find() -> None:
    """Where both valences have the same mix of classes E_do is E_obs, whoever has which score."""
    rng = stream(1, "even")
    cells = _two_samples(rng.uniform(-1, 0, 6), rng.uniform(0, 1, 6), more_women=0)
    grouping = cells.grouping("gender", na=False)
    found = permute_deltas(cells, grouping, outcome="score", positivity="refuse", permutations=999, rng=rng)
    assert found.exact
    assert found.p.tolist() == [[1.0, 1.0]]


def test_p_of_a_planted_shift_is_the_smallest_there_is() -> None:
    cells = scored(design(frames=6, persons=10), female_biased)
    found = permute_deltas(
        cells,
        cells.grouping("gender", na=True),
        outcome="score",
        positivity="refuse",
        permutations=999,
        rng=stream(1, "p"),
    )
    assert not found.exact
    assert found.count == 999
    assert found.smallest == pytest.approx(1 / 1000)
    assert found.p.tolist() == [[pytest.approx(1 / 1000)] * 2]


def test_under_no_effect_p_is_seldom_small() -> None:
    """Three equal data sets, word and noise only: the smallest p is below .05 in at most 5 % of runs."""
    rows = [{**row, "set": name, "score": 0.0} for name in ("e3", "e4", "e5") for row in design()]
    cells = summary(rows)
    grouping = cells.grouping("gender", na=True)
    smallest = []
    for run in range(300):
        rng = stream(run, "null")
        system = answered(cells, rng.uniform(-1, 1, cells.n.shape))
        found = permute_deltas(
            system, grouping, outcome="score", positivity="refuse", permutations=99, rng=rng
        ).smallest
        assert found is not None
        smallest.append(found)
    assert np.mean(np.array(smallest) <= 0.05) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 300)
    assert stats.kstest(smallest, "uniform").pvalue > 0.01


def test_step_down_equals_its_definition() -> None:
    rng = np.random.default_rng(4)
    observed, stars = np.array([2.2, 1.8, 3.0, np.nan]), np.abs(rng.normal(1, 1, (500, 4)))
    stars[:3, 0] = np.nan
    found = step_down(observed, stars, exact=False)
    filled = np.where(np.isnan(stars), -np.inf, stars)
    first = (1 + (filled[:, [2, 0, 1]].max(axis=1) >= 3.0).sum()) / 501
    second = max(first, (1 + (filled[:, [0, 1]].max(axis=1) >= 2.2).sum()) / 501)
    third = max(second, (1 + (filled[:, 1] >= 1.8).sum()) / 501)
    assert found[:3].tolist() == pytest.approx([second, third, first])
    assert math.isnan(found[3])
    assert step_down(observed[:3], observed[None, :3], exact=True).tolist() == [1.0, 1.0, 1.0]


def test_a_stratum_of_which_nothing_was_answered_has_one_arrangement() -> None:
    none = (np.empty(0), np.empty(0), np.empty(0, dtype=np.int64))
    pair = (np.array([1.0, 2.0]), np.array([0.5, -0.5]), np.array([0, 1]))
    sums, exact = permutation_sums([pair, none], 2, 99, stream(1, "none"))
    assert exact
    assert sums.shape == (2, 2, 2, 2)
    assert not sums[:, 1].any()
    assert sorted(sums[:, 0, 0, 0]) == [1.0, 2.0]
