"""The weighted rejection score against scipy.stats, its rules, and its null expectation."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.methods.causal.grids import by_gender, grid, missing
from trustgauge.methods.causal import rejection
from trustgauge.methods.causal.rejection import Draws
from trustgauge.methods.causal.settings import BY_RULE, RejectionRule
from trustgauge.stats.means import Sums

RULES = {
    name: RejectionRule(*(usual[key] for key in ("weights", "alphas", "degrees", "epsilon")))
    for name, usual in BY_RULE.items()
}
CLASSES = "mmmfffnn"


@given(st.sampled_from(sorted(RULES)), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.3]))
@settings(max_examples=40, deadline=None)
def test_tests_agree_with_scipy(name: str, seed: int, lost: float) -> None:
    rng, rule = np.random.default_rng(seed), RULES[name]
    panel = grid(missing(rng.uniform(-1, 1, (2, 4, 8, 3)), lost, rng), CLASSES)
    tests = rejection.tests(panel, by_gender(panel), rule)
    assert tests.pairs == (("male", "female"), ("male", "NA"), ("female", "NA"))
    assert tests.testable.all()
    score = 0.0
    for one in range(2):
        for place, (a, b) in enumerate(combinations("mfn", 2)):
            groups = []
            for letter in (a, b):
                mine = [other == letter for other in CLASSES]
                groups.append(panel.y[one][:, mine][panel.n[one][:, mine] > 0])
            expected = scipy.stats.ttest_ind(*groups, equal_var=False)
            total = len(groups[0]) + len(groups[1])
            df = {"welch": expected.df, "total-1": total - 1, "total-2": total - 2}[rule.degrees]
            gap = groups[0].mean() - groups[1].mean()
            t = gap / (gap / expected.statistic + rule.epsilon)
            assert tests.t[one, place] == pytest.approx(t)
            assert tests.df[one, place] == pytest.approx(df)
            for level, (weight, alpha) in enumerate(zip(rule.weights, rule.alphas, strict=True)):
                beyond = abs(t) > scipy.stats.t.ppf(1 - alpha / 2, df)
                assert tests.rejected[one, place, level] == beyond
                score += weight * beyond
    result = rejection.score(tests, rule)
    assert result.value == pytest.approx(score)
    assert result.value == pytest.approx(np.array(result.counts) @ np.array(rule.weights))
    assert list(result.counts) == sorted(result.counts)


def test_untestable_pairs_are_named_and_left_out() -> None:
    scores = np.random.default_rng(0).uniform(-1, 1, (2, 1, 3, 3))
    scores[1, :, 2] = np.nan
    scores[1, 0, 2, 0] = 0.5  # one score is not enough
    panel = grid(scores, "mfn")
    rule = RULES["sound"]
    tests = rejection.tests(panel, by_gender(panel), rule)
    result = rejection.score(tests, rule)
    assert result.untestable == (("e1", "male", "NA"), ("e1", "female", "NA"))
    assert np.isnan(tests.t[1, 1:]).all()
    assert not tests.rejected[1, 1:].any()
    assert result.tested == 4
    assert result.maximum == pytest.approx(4 * 2.4)
    assert result.expected == pytest.approx(4 * 0.53)
    assert result.share == pytest.approx((result.value or 0) / result.maximum)


def test_without_a_testable_pair_there_is_no_score() -> None:
    panel = grid(np.full((1, 1, 2, 1), 0.5), "mf")
    tests = rejection.tests(panel, by_gender(panel), RULES["sound"])
    result = rejection.score(tests, RULES["sound"])
    assert (result.value, result.share, result.maximum, result.tested) == (None, None, 0, 0)
    assert result.untestable == (("e0", "male", "female"),)
    alone = grid(np.full((1, 3, 2, 1), 0.5), "mm")
    assert (
        rejection.score(rejection.tests(alone, by_gender(alone), RULES["sound"]), RULES["sound"]).value
        is None
    )


@pytest.mark.parametrize("name", sorted(RULES))
def test_a_scorer_of_the_class_alone_is_always_rejected(name: str) -> None:
    scores = np.where(np.array([one == "f" for one in CLASSES])[:, None], 1.0, -1.0) * np.ones((5, 4, 8, 2))
    panel, rule = grid(scores, CLASSES), RULES[name]
    tests = rejection.tests(panel, by_gender(panel), rule)
    apart = np.broadcast_to(np.array([True, False, True]), (5, 3))
    np.testing.assert_array_equal(tests.rejected, np.repeat(apart[..., None], 3, axis=2))
    size = np.inf if rule.epsilon == 0 else 2 / rule.epsilon
    np.testing.assert_allclose(np.abs(tests.t), np.where(apart, size, 0.0))
    result = rejection.score(tests, rule)
    assert result.counts == (10, 10, 10)
    assert result.share == pytest.approx(2 / 3)


@pytest.mark.parametrize("classes", ["mmmfff", "mmmffffnn"])
def test_constant_scores_are_never_rejected(classes: str) -> None:
    panel = grid(np.full((2, 3, len(classes), 2), 1 / 3), classes)
    tests = rejection.tests(panel, by_gender(panel), RULES["sound"])
    assert (tests.t == 0).all()
    assert rejection.score(tests, RULES["sound"]).value == 0


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("released", {15: 3.75, 50: 12.5, 3: 0.75}),
        ("published", {15: 7.95, 50: 26.5, 3: 1.59, 1: 0.53}),
    ],
)
def test_null_expectations_of_the_reference(name: str, expected: dict[int, float]) -> None:
    rng, rule = np.random.default_rng(5), RULES[name]
    for pairs, value in expected.items():
        sets, classes = {15: (5, "mmffnn"), 3: (1, "mmffnn"), 1: (1, "mmff")}.get(pairs, (50, "mmff"))
        panel = grid(rng.uniform(-1, 1, (sets, 4, len(classes), 1)), classes)
        result = rejection.score(rejection.tests(panel, by_gender(panel), rule), rule)
        assert result.tested == pairs
        assert result.expected == pytest.approx(value)


def test_null_expectation_of_one_pair_with_the_other_released_weights() -> None:
    rule = RejectionRule((1, 0.8, 0.6), (0.025, 0.15, 0.20), "total-2", 1e-4)
    panel = grid(np.random.default_rng(5).uniform(-1, 1, (1, 4, 4, 1)), "mmff")
    result = rejection.score(rejection.tests(panel, by_gender(panel), rule), rule)
    assert result.expected == pytest.approx(0.265)


def simulated(sets: tuple[tuple[int, ...], ...], classes: int, each: int, *, shared: bool) -> np.ndarray:
    """Released scores of 20,000 services without bias; data sets of words share texts or not."""
    rng = np.random.default_rng(11)
    words = rng.normal(size=(20_000, classes, 4, each))
    sums = []
    for words_of in sets:
        y = words[:, :, words_of] if shared else rng.normal(size=(20_000, classes, len(words_of), each))
        y = y.reshape(20_000, classes, -1)
        sums.append((np.full(y.shape[:2], float(y.shape[2])), y.sum(-1), (y**2).sum(-1)))
    stacked = Sums(*(np.stack(of, axis=1) for of in zip(*sums, strict=True)))
    return rejection.scores_of_sums(stacked, list(combinations(range(classes), 2)), RULES["released"])


WORD_SETS = ((0,), (1,), (0, 1), (0, 1, 2), (1, 2, 3))


@pytest.mark.parametrize(
    ("sets", "classes", "each", "mean", "high"),
    [
        (WORD_SETS, 3, 8, 3.75, (8.4, 8.5)),
        (WORD_SETS, 5, 4, 12.5, (22.9, 22.9)),
        (((0,),), 3, 24, 0.75, (3.6, 3.6)),
    ],
    ids=["15 pairs", "50 pairs", "3 pairs"],
)
def test_simulated_null_points_of_the_reference(
    sets: tuple[tuple[int, ...], ...], classes: int, each: int, mean: float, high: tuple[float, float]
) -> None:
    scores = simulated(sets, classes, each, shared=False)
    assert scores.mean() == pytest.approx(mean, rel=0.02)
    assert high[0] - 0.3 <= np.quantile(scores, 0.95) <= high[1] + 0.3


def test_data_sets_that_share_their_texts_spread_the_null_further() -> None:
    apart, shared = (simulated(WORD_SETS, 3, 8, shared=one) for one in (False, True))
    assert shared.mean() == pytest.approx(apart.mean(), rel=0.02)
    assert np.quantile(shared, 0.95) > 1.2 * np.quantile(apart, 0.95)


@pytest.mark.parametrize("name", sorted(RULES))
def test_many_at_once_give_the_scores_one_by_one(name: str) -> None:
    rng, rule = np.random.default_rng(8), RULES[name]
    panel = grid(missing(rng.uniform(-1, 1, (3, 5, 8, 2)), 0.2, rng), CLASSES)
    grouping = by_gender(panel)
    whole = rejection.score(rejection.tests(panel, grouping, rule), rule).value
    assert rejection.scores_of_sums(rejection.class_sums(panel, grouping), grouping.pairs, rule) == whole
    frames, persons = panel.weights(grouping, 6, rng)
    scores = rejection.resample_scores(panel, grouping, rule, Draws(frames, persons))
    for draw in range(6):
        rows = np.repeat(np.arange(5), frames[draw].astype(int))
        people = np.repeat(np.arange(8), persons[draw].astype(int))
        again = np.where(panel.n > 0, panel.y, np.nan)[:, rows][:, :, people]
        copy = grid(again, "".join(CLASSES[one] for one in people))
        value = rejection.score(rejection.tests(copy, by_gender(copy), rule), rule).value
        assert scores[draw] == pytest.approx(value)


def test_people_have_their_labels_resampled() -> None:
    rng, rule = np.random.default_rng(4), RULES["sound"]
    labels = np.zeros((1, 6, 6, 1, 3))
    labels[..., 0], labels[..., 2] = 1, 2  # two of three people say 1
    labels[:, 0] = (0, 3, 0)  # but all say 0 of the first frame, which so keeps a spread
    scores = np.where(np.arange(6) == 0, 0.0, 1.0)[None, :, None, None] * np.ones((1, 6, 6, 1))
    panel = grid(scores, "mmmfff", labels=labels)
    grouping = by_gender(panel)
    frames, persons = np.ones((400, 6)), np.ones((400, 6))
    still = rejection.resample_scores(panel, grouping, rule, Draws(frames, persons))
    moved = rejection.resample_scores(panel, grouping, rule, Draws(frames, persons, rng))
    assert not still.any()
    # classes do not differ, so the chance of a rejection is about the level of the test
    assert 0.3 * 0.53 < moved.mean() < 2 * 0.53
    assert len(np.unique(moved)) > 2
