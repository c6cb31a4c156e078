"""Observed and adjusted differences against sums done one by one, known confounders and printed E-values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from tests.methods.causal.grids import by_gender, grid
from trustgauge.methods.causal.observational import (
    absolute_interval,
    differences,
    e_value,
    gaps,
    tipping,
    units,
)
from trustgauge.methods.causal.panel import Floats, Ints, Panel
from trustgauge.records import Interval


def table(rooms: Floats, women: Floats, scores: Floats, clusters: Ints | None = None) -> Panel:
    """A text a row, of a woman or a man, about a room."""
    cells = np.full((1, len(scores), 2, 1), np.nan)
    cells[0, np.arange(len(scores)), women.astype(np.int64), 0] = scores
    cluster = np.arange(len(scores)) if clusters is None else clusters.astype(np.int64)
    panel = grid(cells, "mf", cluster=cluster)
    return replace(panel, covariates=tuple(f"room={room:g}" for room in rooms))


def estimated(panel: Panel, *, adjusted: bool) -> float:
    grouping = by_gender(panel)
    own = units(panel, grouping, adjusted=adjusted)
    return float(differences(own, grouping.pairs, np.ones((1, len(panel.frames))))[0, 0, 0])


@pytest.mark.parametrize(("ratio", "printed"), [(3.9, 7.2), (1.8, 3.0)])
def test_the_e_value_is_that_of_the_paper(ratio: float, printed: float) -> None:
    """VanderWeele & Ding 2017, their first example: risk ratio 3.9, lower end 1.8."""
    assert e_value(np.log(ratio) / 0.91) == pytest.approx(printed, abs=0.07)


@pytest.mark.parametrize("standardised", [0.1, 0.5, 1.2, -0.7])
def test_the_e_value_is_the_weakest_confounder_of_its_bounding_factor(standardised: float) -> None:
    """The least of max(a, b) over associations a, b whose bounding factor a b / (a + b - 1) reaches RR."""
    ratio = np.exp(0.91 * abs(standardised))

    def larger(a: float) -> float:
        return max(a, ratio * (a - 1.0) / (a - ratio)) if a > ratio else np.inf

    best = minimize_scalar(larger, bounds=(ratio + 1e-9, 50.0), method="bounded", options={"xatol": 1e-10})
    assert e_value(standardised) == pytest.approx(best.fun, rel=1e-4)


def test_the_end_of_an_interval_that_holds_no_difference_needs_no_confounder() -> None:
    assert e_value(0.5, 0.3) == 1.0
    assert e_value(0.5, 0.25) == pytest.approx(1.1108, abs=1e-3)


@pytest.mark.parametrize("gap", [0.2, 0.5, 1.0])
def test_a_confounder_at_its_tipping_point_makes_the_whole_difference(gap: float) -> None:
    """Texts whose scores depend on the room alone, which is `gap` commoner among women."""
    effect, many = 0.3, 200
    women = np.repeat([0.0, 1.0], many)
    bad = np.concatenate([np.arange(many) < many * (0.5 - gap / 2), np.arange(many) < many * (0.5 + gap / 2)])
    panel = table(bad * 1.0, women, np.where(bad, -effect, effect))
    found = estimated(panel, adjusted=False)
    assert found == pytest.approx(2 * effect * gap)
    assert tipping(found / 2, gap) == pytest.approx(effect)
    if gap < 1.0:
        assert estimated(panel, adjusted=True) == pytest.approx(0.0, abs=1e-12)


def test_no_confounder_moves_the_score_by_more_than_its_range() -> None:
    assert tipping(0.3, 0.2) is None
    assert tipping(-0.2, 0.2) == 1.0


def test_adjusted_differences_are_sums_over_the_rooms() -> None:
    rng = np.random.default_rng(3)
    rooms, women = rng.integers(0, 4, 300).astype(float), rng.integers(0, 2, 300).astype(float)
    scores = np.clip(0.1 * rooms - 0.2 * women * rooms + rng.normal(0, 0.2, 300), -1, 1)
    by_hand = sum(
        (rooms == one).mean()
        * (scores[(rooms == one) & (women == 0)].mean() - scores[(rooms == one) & (women == 1)].mean())
        for one in range(4)
    )
    assert estimated(table(rooms, women, scores), adjusted=True) == pytest.approx(by_hand)


def test_texts_of_one_cluster_count_once() -> None:
    women, scores = np.array([0.0, 0.0, 0.0, 1.0]), np.array([0.0, 0.0, 0.6, 0.0])
    panel = table(np.zeros(4), women, scores, clusters=np.array([0, 0, 1, 2]))
    assert estimated(panel, adjusted=False) == pytest.approx(0.3)


def test_where_positivity_fails_the_adjusted_difference_is_undefined() -> None:
    panel = table(np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 1.0]), np.array([0.1, 0.2, 0.3]))
    assert np.isnan(estimated(panel, adjusted=True))
    missing = gaps(panel, units(panel, by_gender(panel), adjusted=True), by_gender(panel))
    assert [(one.cls, one.layer) for one in missing] == [("male", "room=1")]


def test_intervals_of_adjusted_differences_hold_the_truth() -> None:
    """200 tables of 40 persons with 5 texts each, who like or dislike all: 95 % intervals by person."""
    rng, held = np.random.default_rng(8), 0
    for _ in range(200):
        person = np.repeat(np.arange(40), 5)
        women = (person % 2).astype(float)
        rooms = (rng.random(200) < 0.3 + 0.4 * women).astype(float)
        scores = 0.2 * rooms + 0.1 * women + rng.normal(0, 0.1, 40)[person] + rng.normal(0, 0.05, 200)
        panel = table(rooms, women, np.clip(scores, -1, 1), clusters=person)
        grouping = by_gender(panel)
        frames, _ = panel.weights(grouping, 300, rng)
        own = units(panel, grouping, adjusted=True)
        low, high = np.nanquantile(differences(own, grouping.pairs, frames), [0.025, 0.975])
        held += low <= -0.1 <= high
    assert 178 <= held <= 198  # of 190 expected


@pytest.mark.parametrize(
    ("signed", "size"),
    [
        ((0.1, -0.05, 0.25), (0.1, 0.0, 0.25)),
        ((0.05, -0.3, 0.2), (0.05, 0.0, 0.3)),
        ((-0.3, -0.4, -0.2), (0.3, 0.2, 0.4)),
        ((None, None, None), (None, None, None)),
    ],
)
def test_a_difference_that_may_be_either_way_may_be_none(
    signed: tuple[float | None, float | None, float | None],
    size: tuple[float | None, float | None, float | None],
) -> None:
    assert absolute_interval(Interval(*signed, 9)) == Interval(*size, 9)
