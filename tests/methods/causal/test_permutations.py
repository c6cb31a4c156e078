"""Permutations against scipy.stats, all arrangements, and control services with known behaviour."""

from __future__ import annotations

import math
from itertools import combinations, permutations
from time import process_time

import numpy as np
import pytest
import scipy.stats

from tests.methods.causal.grids import by_gender, conversations, grid, missing
from trustgauge.methods.causal import effects, rejection
from trustgauge.methods.causal.permutation_tests import permute
from trustgauge.methods.causal.settings import BY_RULE, RejectionRule

RULES = {
    name: RejectionRule(*(usual[key] for key in ("weights", "alphas", "degrees", "epsilon")))
    for name, usual in BY_RULE.items()
}
SOUND = RULES["sound"]


def noise(rng: np.random.Generator, sets: int = 2, frames: int = 5, persons: int = 8) -> np.ndarray:
    return np.clip(rng.normal(0, 0.3, (sets, frames, persons, 2)), -1, 1)


def test_p_of_one_effect_agrees_with_scipys_permutation_test() -> None:
    rng = np.random.default_rng(1)
    scores = np.clip(rng.normal(0, 0.3, (1, 1, 12, 1)) + 0.2 * (np.arange(12) < 5)[:, None], -1, 1)
    panel = grid(scores, "mmmmmfffffff")
    found = permute(panel, by_gender(panel), SOUND, rng, 9_999)
    groups = scores[0, 0, :5, 0], scores[0, 0, 5:, 0]
    expected = scipy.stats.permutation_test(
        groups, lambda a, b, axis: np.abs(a.mean(axis) - b.mean(axis)), alternative="greater", vectorized=True
    )
    assert found.effects[0, 0] == pytest.approx(expected.pvalue, abs=4 * math.sqrt(0.25 / 9_999))
    assert found.smallest == found.effects[0, 0]
    assert not found.exact


def test_p_of_matched_pairs_agrees_with_scipys_swaps() -> None:
    rng = np.random.default_rng(2)
    scores = rng.normal(0, 0.1, (1, 14, 2, 1)) + rng.normal(0, 0.4, (1, 14, 1, 1))
    scores[:, :, 0] += 0.05
    panel = grid(scores, "mf")
    found = permute(panel, by_gender(panel), SOUND, rng, 9_999)
    expected = scipy.stats.permutation_test(
        (scores[0, :, 0, 0], scores[0, :, 1, 0]),
        lambda a, b, axis: np.abs((a - b).mean(axis)),
        permutation_type="samples",
        alternative="greater",
        vectorized=True,
        n_resamples=np.inf,
    )
    assert found.effects[0, 0] == pytest.approx(expected.pvalue, abs=0.02)


def test_rejection_p_is_the_share_of_all_arrangements() -> None:
    rng = np.random.default_rng(3)
    scores = rng.normal(0, 0.3, (2, 1, 6, 1)) + 0.3 * (np.arange(6) < 3)[:, None]
    panel = grid(scores, "mmmfff")
    grouping = by_gender(panel)
    for rule in RULES.values():
        found = permute(panel, grouping, rule, rng, 9_999)
        values = []
        for chosen in combinations(range(6), 3):
            order = [*chosen, *(set(range(6)) - set(chosen))]
            dealt = grid(scores[:, :, order], "mmmfff")  # the same persons in both data sets
            values.append(rejection.score(rejection.tests(dealt, grouping, rule), rule).value or 0.0)
        share = np.mean(np.array(values) >= values[0] - 1e-9)
        assert found.rejection == pytest.approx(share, abs=0.02)
        assert found.null_mean == pytest.approx(np.mean(values), abs=0.05)


def test_conversations_with_few_arrangements_are_looked_at_wholly() -> None:
    rng = np.random.default_rng(4)
    panel = conversations("mmmmfffn", 6, rng, shift=0.1)
    grouping = by_gender(panel)
    found = permute(panel, grouping, SOUND, rng, 1_999)
    assert found.exact
    assert found.permutations == math.factorial(8) // (math.factorial(4) * math.factorial(3))
    of = [panel.y[0, panel.cluster == one].sum() / 6 for one in range(8)]
    classes = [grouping.classes.index({"m": "male", "f": "female", "n": "NA"}[one]) for one in "mmmmfffn"]
    rows = []
    for dealt in set(permutations(classes)):
        by_class = [np.mean([of[i] for i in range(8) if dealt[i] == label]) for label in range(3)]
        rows.append([abs(by_class[a] - by_class[b]) for a, b in grouping.pairs])
    stars, observed = np.array(rows), np.abs(effects.ate(panel, grouping).value[0])
    order = np.argsort(-observed)
    expected = [
        np.mean(stars[:, order[place:]].max(axis=1) >= observed[one] - 1e-9)
        for place, one in enumerate(order)
    ]
    np.testing.assert_allclose(found.effects[0, order], np.maximum.accumulate(expected))


def test_two_classes_of_conversations_agree_with_scipy_exactly() -> None:
    rng = np.random.default_rng(5)
    panel = conversations("mmmmmfffff", 3, rng, shift=0.1)
    found = permute(panel, by_gender(panel), SOUND, rng, 1_999)
    of = np.array([panel.y[0, panel.cluster == one].sum() / 3 for one in range(10)])
    expected = scipy.stats.permutation_test(
        (of[:5], of[5:]), lambda a, b, axis: a.mean(axis) - b.mean(axis), vectorized=True, n_resamples=np.inf
    )
    assert found.effects[0, 0] == pytest.approx(expected.pvalue)


def test_many_conversations_are_permuted_at_random() -> None:
    rng = np.random.default_rng(6)
    panel = conversations("m" * 12 + "f" * 12, 4, rng, shift=0.3)
    found = permute(panel, by_gender(panel), SOUND, rng, 999)
    assert (found.exact, found.permutations) == (False, 999)
    assert found.effects[0, 0] == found.smallest == 1 / 1000


@pytest.mark.parametrize("kind", ["persons", "prefixes", "conversations"])
def test_p_of_services_without_bias_is_uniform(kind: str) -> None:
    rng = np.random.default_rng(7)
    ps, wrs = [], []
    for _ in range(200):
        if kind == "persons":
            panel = grid(missing(noise(rng), 0.05, rng), "mmmffffn")
        elif kind == "prefixes":
            panel = grid(noise(rng, 1, 12, 2)[..., :1], "mf", cluster=np.arange(12) // 3)
        else:
            panel = conversations("m" * 5 + "f" * 6, 3, rng)
        found = permute(panel, by_gender(panel), SOUND, rng, 199)
        ps.append(found.smallest)
        wrs.append(found.rejection)
    # 200 runs: the standard error of a share of .05 is .015
    assert np.mean(np.array(ps) <= 0.05) <= 0.05 + 3 * 0.0154
    assert np.mean(np.array(wrs) <= 0.05) <= 0.05 + 3 * 0.0154
    assert scipy.stats.kstest(ps, "uniform").pvalue > 0.001


@pytest.mark.parametrize("name", sorted(RULES))
def test_a_planted_shift_is_found(name: str) -> None:
    rng = np.random.default_rng(8)
    scores = noise(rng, 3, 10, 8) + 0.3 * (np.arange(8) < 4)[:, None]
    panel = grid(np.clip(scores, -1, 1), "mmmmffff")
    found = permute(panel, by_gender(panel), RULES[name], rng, 999)
    assert found.rejection == 1 / 1000
    np.testing.assert_array_equal(found.effects, np.full((3, 1), 1 / 1000))
    assert found.null_high < 3 * sum(RULES[name].weights)


def test_constant_scores_are_no_finding_and_the_class_alone_is_one() -> None:
    rng = np.random.default_rng(9)
    flat = grid(np.full((2, 4, 8, 2), 1 / 3), "mmmmffff")
    found = permute(flat, by_gender(flat), SOUND, rng, 199)
    assert (found.rejection, found.smallest, found.null_mean) == (1, 1, 0)
    scores = np.where(np.arange(8) < 4, 1.0, -1.0)[:, None] * np.ones((3, 4, 8, 3))
    scores[np.broadcast_to(~np.eye(3, dtype=bool)[:, None, None], scores.shape)] = (
        np.nan
    )  # a word of its own each
    apart = grid(scores, "mmmmffff")
    found = permute(apart, by_gender(apart), SOUND, rng, 199)
    assert (found.rejection, found.smallest) == (1 / 200, 1 / 200)


def test_data_sets_that_share_their_texts_are_permuted_together() -> None:
    rng = np.random.default_rng(10)
    one = noise(rng, 1)
    twice = np.concatenate([one, one])
    alone, both = (grid(scores, "mmmmffff") for scores in (one, twice))
    first, second = (
        permute(panel, by_gender(panel), SOUND, np.random.default_rng(1), 999) for panel in (alone, both)
    )
    assert second.rejection == first.rejection
    np.testing.assert_array_equal(second.effects[0], first.effects[0])
    assert second.null_mean == pytest.approx(2 * first.null_mean)


def test_undefined_effects_have_no_p() -> None:
    rng = np.random.default_rng(11)
    scores = noise(rng)
    scores[:, :, 6:] = np.nan  # nobody answered for these persons in the second data set
    scores[0, :, 6:] = noise(rng)[0, :, 6:]
    panel = grid(scores, "mmmfffnn")
    found = permute(panel, by_gender(panel), SOUND, rng, 199)
    np.testing.assert_array_equal(np.isnan(found.effects), [[False] * 3, [False, True, True]])
    lonely = grid(noise(rng), "m" * 8)
    found = permute(lonely, by_gender(lonely), SOUND, rng, 19)
    assert found.effects.shape == (2, 0)
    assert found.smallest is None
    nothing = grid(np.full((1, 4, 2, 1), np.nan), "mf")
    assert permute(nothing, by_gender(nothing), SOUND, rng, 19).smallest is None


@pytest.mark.parametrize("lost", [0.0, 0.002])
def test_large_panels_are_permuted_in_blocks_of_cells(lost: float) -> None:
    rng = np.random.default_rng(13)
    scores = missing(np.clip(rng.normal(0, 0.3, (1, 400, 20, 4)), -1, 1), lost, rng)
    classes = "m" * 10 + "f" * 10
    panel = grid(scores, classes)
    found = permute(panel, by_gender(panel), SOUND, rng, 999)
    # without bias the effect of a permutation has this standard error, however classes are dealt
    error = np.sqrt(4 / panel.n.sum()) * 0.3
    z = abs(effects.ate(panel, by_gender(panel)).value[0, 0]) / error
    assert found.effects[0, 0] == pytest.approx(2 * scipy.stats.norm.sf(z), abs=0.06)
    assert found.null_mean == pytest.approx(0.53, abs=0.12)
    shifted = grid(scores + 6 * error * (np.arange(20) < 10)[:, None], classes)
    assert permute(shifted, by_gender(shifted), SOUND, rng, 999).effects[0, 0] == 1 / 1000


def test_two_thousand_permutations_take_well_under_a_second_of_one_core() -> None:
    rng = np.random.default_rng(12)
    panel = grid(np.clip(rng.normal(0, 0.3, (5, 20, 40, 4)), -1, 1), "m" * 15 + "f" * 15 + "n" * 10)
    grouping = by_gender(panel)
    started = process_time()
    permute(panel, grouping, SOUND, rng, 1_999)
    frames, persons = panel.weights(grouping, 2_000, rng)
    effects.resample_ates(panel, grouping, frames, persons)
    # three to four times what is measured, for slow machines
    assert process_time() - started < 2.5
