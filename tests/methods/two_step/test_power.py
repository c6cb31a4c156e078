"""What a plan can find: sizes, design effects, and the texts that would settle a rating."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from tests.methods.two_step.summaries import settings, shifted
from trustgauge.methods.two_step import power, rating
from trustgauge.methods.two_step.operating_characteristics import SPECS
from trustgauge.methods.two_step.power import BS, smallest_effect
from trustgauge.methods.two_step.published_rule import DecisionTree, resample_levels
from trustgauge.methods.two_step.reasons import two_digits
from trustgauge.methods.two_step.simulation import Sizes, simulate
from trustgauge.methods.two_step.transition_model import (
    LEVELS,
    DeclaredDistributions,
    TextTypes,
    TransitionCounts,
    design_effect,
    deviations,
    draw_levels,
    effect_of_more,
    examine_pooling,
    level_of,
    posterior,
)
from trustgauge.rating import level_shares
from trustgauge.stats import stream


def test_the_effect_found_is_found_often_enough_and_the_next_smaller_is_not() -> None:
    plan = power._Plan(settings(texts=50), 1)
    found = smallest_effect(settings(texts=50), 1, [1])["deff_1"]
    assert found is not None
    assert plan.share(found, 1) >= 0.80
    assert plan.share(found - 0.01, 1) < 0.80


def test_power_agrees_with_the_rule_run_in_full() -> None:
    """The staged draws of the simulation against 4,000 draws of the rule on other runs."""
    method = settings(texts=50)
    found = smallest_effect(method, 2, [1])["deff_1"]
    assert found is not None
    declared = DeclaredDistributions.of(method)
    rng = stream(99, "independent")
    counts = simulate(Sizes(SPECS[:, :2], 50, 2, 120), shifted(found)[:2], 0.0, 400, rng)
    judged = draw_levels(counts, examine_pooling(counts, rng), declared, 2000, rng)
    share = (level_shares(judged.levels)[:, BS] >= 0.95).mean()
    assert share == pytest.approx(0.82, abs=0.07)


def test_more_texts_find_less_and_a_design_effect_costs() -> None:
    few, many = smallest_effect(settings(texts=20), 1, [1, 2]), smallest_effect(settings(texts=200), 1, [1])
    power._smallest.cache_clear()
    again = smallest_effect(settings(texts=20), 1, [1])
    assert again["deff_1"] == few["deff_1"]  # the same seed gives the same power
    assert many["deff_1"] is not None
    assert few["deff_1"] is not None
    assert few["deff_2"] is not None
    assert 0.2 < many["deff_1"] < few["deff_1"] < few["deff_2"] < 0.6


@pytest.mark.parametrize("steep", [3.0, 30.0, 3000.0])
@pytest.mark.parametrize("crossing", [0.001, 0.2, 0.31, 0.9, 1.0, 1.5])
def test_the_search_ends_at_the_first_shift_that_is_found_often_enough(crossing: float, steep: float) -> None:
    """On curves of known crossing, far from the guess and of other slopes than it expects."""
    asked = []

    class Known(power._Plan):
        def share(self, shift: float, deff: float) -> float:
            asked.append(shift)
            return float(ndtr(ndtri(0.8) + steep * (shift - crossing)))

    found = power._search(Known(settings(texts=50), 1), 1)
    first = np.ceil(crossing * power.STEPS - 1e-9) / power.STEPS
    assert found == (pytest.approx(first) if first <= 1 else None)
    assert len(asked) == len(set(asked)) <= 25


def test_experiments_that_differ_in_services_only_are_simulated_once() -> None:
    """And those that differ in anything that is simulated are not."""
    one = power._Plan(settings(texts=20), 1)
    other = settings(texts=20).model_copy(update={"services": ("others",), "one_way": "es"})
    assert power._Plan(other, 1) == one
    others: list[dict[str, Any]] = [{"texts": 21}, {"settle": 0.9}, {"loss": "apart"}, {"rule": "published"}]
    for changes in others:
        assert power._Plan(settings(**{"texts": 20, **changes}), 1) != one
    assert power._Plan(settings(texts=20), 2) != one


@pytest.mark.parametrize("texts", [20, 50, 200])
def test_sharing_gives_the_design_effect_it_promises(texts: int) -> None:
    plan = power._Plan(settings(texts=texts), 1)
    rng = stream(1, "sharing")
    sizes, sharing = plan.sized(2)
    counts = simulate(sizes, plan.rates(0.4), sharing, 400, rng)
    assert design_effect(counts.items)[:, 1].mean() == pytest.approx(2, abs=0.12)
    assert plan.sized(1) == (plan.sizes, 0.0)
    independent = simulate(plan.sizes, plan.rates(0.4), 0.0, 400, rng)
    assert design_effect(independent.items)[:, 1].mean() == pytest.approx(1, abs=0.05)


def test_the_published_tree_finds_what_it_finds() -> None:
    found = smallest_effect(settings(rule="published", texts=20, step1="unlike-unbiased"), 1, [1])
    assert found["deff_1"] is not None
    assert 0.3 < found["deff_1"] < 1


def test_resampled_levels_are_those_of_texts_drawn_again() -> None:
    types = np.array([[2, 0, 0], [1, 1, 0], [0, 2, 0]])
    table = np.array([[[8, 6, 6], [2, 3, 15], [15, 3, 2]]])
    tree = DecisionTree(SPECS, 1, 2)
    found = level_shares(resample_levels(TextTypes(table, types), tree, 3000, stream(1, "boot")))
    rng = np.random.default_rng(2)
    texts = [np.repeat(types, row, axis=0) for row in table[0]]
    naive = np.zeros(3)
    for _ in range(600):
        outputs = np.stack([block[rng.integers(0, len(block), len(block))].sum(axis=0) for block in texts])
        naive[int(tree.levels(tree.measures(outputs)[2]))] += 1 / 600
    assert found == pytest.approx(naive, abs=0.06)


def _unsettled(shift: float) -> TransitionCounts:
    return simulate(Sizes(SPECS[:, :2], 30, 2, 60), shifted(shift)[:2], 0.0, 1, stream(4, "one"))


def test_texts_that_would_settle_do_settle() -> None:
    method = settings(texts=30)
    declared = DeclaredDistributions.of(method)
    counts = _unsettled(0.30)
    examined = examine_pooling(counts, stream(1, "mix"))
    more = rating.texts_to_settle(counts, examined, declared, method, 1)
    assert more is not None
    assert 30 < more < 3000
    assert more % 10 == 0 or more < 100
    times = more / 30
    enlarged = np.rint(counts.pooled * times).astype(np.int64)
    drawn = posterior(enlarged, examined.deff, 4000, stream(2, "again"))
    levels = level_of(deviations(drawn, declared.specs, declared.unbiased), 1, 0.1)
    assert level_shares(levels).max() >= 0.93


def test_more_texts_are_no_more_words() -> None:
    """Four words, one of them changed: however many texts there are, it is one in four."""
    kept, changed = np.array([30, 0]), np.array([0, 30])
    clusters = np.stack([kept, kept, kept, changed])[None, :, None]
    effect = design_effect(clusters)
    assert effect_of_more(effect, clusters, 3, 1.0) == pytest.approx(effect)
    assert effect_of_more(effect, clusters, 3, 10.0) == pytest.approx(design_effect(10 * clusters), rel=0.03)
    alike = np.stack([[15, 15], [14, 16], [16, 14], [15, 15]])[None, :, None]
    assert effect_of_more(np.ones((1, 1)), alike, 3, 10.0) == 1.0
    once = np.stack([[1, 0], [1, 0], [1, 0], [0, 1]])[None, :, None]  # further texts have further words
    assert effect_of_more(np.full((1, 1), 1.2), once, 3, 10.0) == 1.2


def test_what_lies_on_the_margin_cannot_be_settled() -> None:
    method = settings(texts=30)
    counts = _unsettled(0.2)
    pooled = np.array([[[90, 0, 0], [18, 72, 0]]])
    on_margin = replace(counts, pooled=pooled)
    examined = examine_pooling(counts, stream(1, "mix"))
    assert rating.texts_to_settle(on_margin, examined, DeclaredDistributions.of(method), method, 1) is None
    assert LEVELS[BS] == "BS"


@pytest.mark.parametrize(
    ("value", "rounded"), [(7.2, 8), (37.5, 38), (101, 110), (1250, 1300), (20_000, 20_000)]
)
def test_sizes_are_rounded_up_to_two_digits(value: float, rounded: int) -> None:
    assert two_digits(value) == rounded


def test_a_large_plan_is_scaled_from_a_smaller_one() -> None:
    """As the whole simulation finds it, within two steps of its grid; and never less than the margin."""
    whole, scaled = (power._Plan(settings(texts=600), 1, most) for most in (600, 150))
    full, found = power._search(whole, 2), scaled.scaled(power._search(scaled, 2))
    assert full is not None
    assert found == pytest.approx(full, abs=0.006)
    assert whole.scaled(full) == full
    huge = smallest_effect(settings(texts=60_000), 1, [1])["deff_1"]
    assert huge is not None
    assert 0.2 < huge < 0.21
