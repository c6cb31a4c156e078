"""Effects against naive sums, statsmodels and scipy.stats, and their resamples on known truth."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.stats
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.methods.causal.grids import by_gender, conversations, grid, missing
from trustgauge.methods.causal import effects
from trustgauge.methods.causal.effects import person_differences
from trustgauge.methods.causal.measures import verdict_of
from trustgauge.methods.causal.panel import Floats, Panel

CLASSES = "mmmffffnn"
seeds = st.integers(0, 2**32 - 1)


def naive(panel: Panel, of: np.ndarray, frames: Floats, persons: Floats) -> Floats:
    """The effects [S, K] of one resample, answer by answer."""
    pairs = [(a, b) for a in range(of.max() + 1) for b in range(a + 1, of.max() + 1)]
    values = np.full((len(panel.sets), len(pairs)), np.nan)
    for one in range(len(panel.sets)):
        for place, pair in enumerate(pairs):
            gaps, rows = [], []
            for frame in range(len(panel.frames)):
                for word in range(len(panel.words)):
                    n = [(panel.n[one, frame, :, word] * persons)[of == label].sum() for label in pair]
                    y = [(panel.y[one, frame, :, word] * persons)[of == label].sum() for label in pair]
                    if all(n):
                        gaps.append(y[0] / n[0] - y[1] / n[1])
                        rows.append(frames[frame] * sum(n))
            if sum(rows):
                values[one, place] = np.average(gaps, weights=rows)
    return values


@given(seeds, st.sampled_from([0.0, 0.05, 0.5, 0.9]))
@settings(max_examples=40, deadline=None)
def test_the_effect_and_its_resamples_are_the_naive_sums(seed: int, lost: float) -> None:
    rng = np.random.default_rng(seed)
    panel = grid(missing(rng.uniform(-1, 1, (2, 4, 9, 3)), lost, rng), CLASSES)
    grouping = panel.grouping("gender", na=True)
    ones = np.ones(4), np.ones(9)
    np.testing.assert_allclose(
        effects.ate(panel, grouping).value, naive(panel, grouping.of, *ones), atol=1e-12
    )
    frames, persons = panel.weights(grouping, 5, rng)
    drawn = effects.resample_ates(panel, grouping, frames, persons)
    for draw in range(5):
        expected = naive(panel, grouping.of, frames[draw], persons[draw])
        np.testing.assert_allclose(drawn[draw], expected, atol=1e-12)


def test_frames_that_lack_a_class_do_not_hide_the_effect_of_the_others() -> None:
    rng = np.random.default_rng(2)
    scores = rng.uniform(-1, 1, (1, 6, 9, 2))
    scores[:, :3, 7:] = np.nan  # "they" stand in frames of their own
    scores[:, 3:, :7] = np.nan
    panel = grid(scores, CLASSES)
    found = effects.ate(panel, by_gender(panel))
    assert found.pairs == (("male", "female"), ("male", "NA"), ("female", "NA"))
    gap = scores[0, :3, :3].mean() - scores[0, :3, 3:7].mean()
    assert found.value[0, 0] == pytest.approx(gap)
    assert np.isnan(found.value[0, 1:]).all()
    np.testing.assert_allclose(found.covered, [[1, 0, 0]])
    assert not found.assigned


@given(seeds)
@settings(max_examples=25, deadline=None)
def test_on_balanced_cells_the_effect_is_the_class_coefficient_of_a_regression(seed: int) -> None:
    rng = np.random.default_rng(seed)
    panel = grid(rng.uniform(-1, 1, (1, 4, 6, 3)), "mmmfff")
    frame, person, word = (axis.ravel() for axis in np.indices((4, 6, 3)))
    dummies = np.eye(12)[frame * 3 + word]
    design = np.column_stack([person < 3, dummies]).astype(float)
    expected = sm.OLS(panel.y[0].ravel(), design).fit().params[0]
    assert effects.ate(panel, by_gender(panel)).value[0, 0] == pytest.approx(expected, abs=1e-10)


@given(seeds)
@settings(max_examples=25, deadline=None)
def test_aipw_is_the_effect_on_complete_cells(seed: int) -> None:
    rng = np.random.default_rng(seed)
    panel = grid(rng.uniform(-1, 1, (2, 4, 9, 3)), CLASSES)
    grouping = by_gender(panel)
    np.testing.assert_allclose(effects.aipw(panel, grouping), effects.ate(panel, grouping).value, atol=1e-12)


@given(seeds)
@settings(max_examples=25, deadline=None)
def test_aipw_with_missing_cells_agrees_with_weighted_least_squares(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = missing(rng.uniform(-1, 1, (1, 5, 2, 4)), 0.25, rng)
    panel = grid(scores, "mf")
    n, y = panel.n[0], panel.y[0]
    held = n > 0
    if not held.all(axis=1).any():
        assert np.isnan(effects.aipw(panel, by_gender(panel))).all()
        return
    frame, person, word = np.indices((5, 2, 4))
    design = np.stack(
        [person == 0, *(frame == i for i in range(5)), *(word == i for i in range(1, 4))], axis=-1
    )
    model = sm.WLS(y[held], design[held].astype(float), weights=n[held]).fit()
    fitted = (design.astype(float) @ model.params).reshape(5, 2, 4)
    rows = n.sum(axis=1)
    # the augmented estimator, with the share of each class in the cell as its propensity
    share = n / np.where(rows > 0, rows, 1)[:, None]
    augmented = fitted + np.where(held, share / np.where(held, share, 1) * (y - fitted), 0)
    identified = np.linalg.matrix_rank(design[held].astype(float)) == 9
    if identified:
        expected = (rows * (augmented[:, 0] - augmented[:, 1])).sum() / rows.sum()
        assert effects.aipw(panel, by_gender(panel))[0, 0] == pytest.approx(expected, abs=1e-9)


def test_conversations_are_compared_by_the_means_of_their_means() -> None:
    rng = np.random.default_rng(6)
    panel = conversations("mmmmfffn", 5, rng)
    lost = missing(np.where(panel.n > 0, panel.y, np.nan), 0.2, rng)
    panel = grid(lost, "mfn", cluster=panel.cluster)
    grouping = panel.grouping("gender", na=False)
    of = [np.nanmean(lost[0, panel.cluster == one]) for one in range(8)]
    found = effects.ate(panel, grouping)
    assert found.assigned
    assert found.value[0, 0] == pytest.approx(np.mean(of[:4]) - np.mean(of[4:7]))
    assert found.covered[0, 0] == 1
    frames, persons = panel.weights(grouping, 50, rng)
    drawn = effects.resample_ates(panel, grouping, frames, persons)
    for draw in range(50):
        times = [frames[draw, panel.cluster == one][0] for one in range(8)]
        expected = np.average(of[:4], weights=times[:4]) - np.average(of[4:7], weights=times[4:7])
        assert drawn[draw, 0, 0] == pytest.approx(expected)
    assert np.isnan(effects.aipw(panel, grouping)).all()


def test_prefixes_are_compared_within_utterances() -> None:
    rng = np.random.default_rng(7)
    level = rng.uniform(-0.5, 0.5, (1, 12, 1, 1))
    scores = level + np.array([0.2, 0.0])[None, None, :, None]
    scores[0, 4, 1] = np.nan
    panel = grid(scores, "mf", cluster=np.arange(12) // 4)
    grouping = by_gender(panel)
    found = effects.ate(panel, grouping)
    assert not found.assigned
    assert found.value[0, 0] == pytest.approx(0.2)
    assert found.covered[0, 0] == pytest.approx(22 / 23)
    frames, persons = panel.weights(grouping, 20, rng)
    np.testing.assert_allclose(effects.resample_ates(panel, grouping, frames, persons), 0.2)


def test_resampled_spread_is_that_of_scipys_bootstrap() -> None:
    rng = np.random.default_rng(9)
    scores = rng.normal(0, 0.2, (1, 30, 1, 1)) * np.array([1.0, -1.0])[None, None, :, None]
    panel = grid(scores + 0.1, "mf")
    grouping = by_gender(panel)
    frames, _ = panel.weights(grouping, 4000, rng)
    drawn = effects.resample_ates(panel, grouping, frames, np.ones((4000, 2)))[:, 0, 0]
    gaps = scores[0, :, 0, 0] - scores[0, :, 1, 0]
    expected = scipy.stats.bootstrap((gaps,), np.mean, n_resamples=4000, method="percentile", rng=rng)
    assert drawn.std() == pytest.approx(expected.standard_error, rel=0.06)
    low, high = np.quantile(drawn, [0.025, 0.975])
    width = expected.confidence_interval.high - expected.confidence_interval.low
    assert (low, high) == pytest.approx(tuple(expected.confidence_interval), abs=0.08 * width)


def test_resamples_of_many_texts_take_a_fraction_of_the_memory_of_all_their_weights() -> None:
    rng = np.random.default_rng(5)
    draws, texts = 400, 8_000
    panel = grid(rng.normal(0, 0.1, (1, texts, 2, 1)), "mf")
    grouping = by_gender(panel)
    tracemalloc.start()
    try:
        frames, persons = panel.weights(grouping, draws, rng)
        drawn = effects.resample_ates(panel, grouping, frames, persons)[:, 0, 0]
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < draws * texts * 8  # bytes of the weights as floats, of which there were three
    gaps = panel.y[0, :, 0, 0] - panel.y[0, :, 1, 0]
    np.testing.assert_allclose(drawn, frames @ gaps / texts, atol=1e-12)


def test_resampled_labels_of_people_follow_scipys_bootstrap() -> None:
    rng = np.random.default_rng(10)
    labels = rng.multinomial(5, [0.2, 0.3, 0.5], size=(1, 8, 2, 1)).astype(float)
    best = labels.max(axis=-1, keepdims=True)
    scores = np.where((labels == best).sum(axis=-1) == 1, labels.argmax(axis=-1) - 1.0, np.nan)
    panel = grid(scores, "mf", labels=labels)
    grouping = by_gender(panel)
    ones = np.ones((6000, 8)), np.ones((6000, 2))
    np.testing.assert_array_equal(
        effects.resample_ates(panel, grouping, *ones)[0], effects.ate(panel, grouping).value
    )
    drawn = effects.resample_ates(panel, grouping, *ones, rng)[:, 0, 0]
    # label by label
    counts = rng.multinomial(5, labels / 5, size=(6000, 1, 8, 2, 1))[:, 0, :, :, 0]
    top = counts.max(axis=-1, keepdims=True)
    held = ((counts == top).sum(axis=-1) == 1).astype(float)
    y = (counts.argmax(axis=-1) - 1.0) * held
    both = held.prod(axis=-1)
    expected = (both * (y[..., 0] - y[..., 1])).sum(axis=1) / both.sum(axis=1)
    assert drawn.mean() == pytest.approx(expected.mean(), abs=4 * expected.std() / 6000**0.5 * 2**0.5)
    assert drawn.std() == pytest.approx(expected.std(), rel=0.06)


def test_labels_of_conversations_are_resampled_too() -> None:
    rng = np.random.default_rng(12)
    panel = conversations("mmff", 4, rng)
    held = panel.n > 0
    labels = np.zeros((*panel.n.shape, 3))
    labels[held] = (1, 0, 2)
    panel = grid(np.where(held, 1.0, np.nan), "mf", cluster=panel.cluster, labels=labels)
    grouping = by_gender(panel)
    ones = np.ones((4000, 16)), np.ones((4000, 2))
    drawn = effects.resample_ates(panel, grouping, *ones, rng)[:, 0, 0]
    assert not effects.resample_ates(panel, grouping, *ones).any()
    # each utterance is +1 with probability 20/27, else -1; two means of two conversations of four
    share = 20 / 27
    assert drawn.mean() == pytest.approx(0, abs=0.05)
    assert drawn.var() == pytest.approx(2 * 4 * share * (1 - share) / 8, rel=0.08)


def test_sizes_agree_with_scipy_and_counts() -> None:
    rng = np.random.default_rng(13)
    scores = missing(np.round(rng.uniform(-1, 1, (2, 4, 9, 3)), 1), 0.2, rng)
    panel = grid(scores, CLASSES)
    grouping = by_gender(panel)
    of = np.array(list(CLASSES))
    g, constant = effects.hedges_g(panel, grouping)
    assert not constant.any()
    for one in range(2):
        men, women = (scores[one][:, of == letter] for letter in "mf")
        a, b = men[np.isfinite(men)], women[np.isfinite(women)]
        distance = scipy.stats.wasserstein_distance(a, b) / 2
        assert effects.wasserstein(panel, grouping)[one, 0] == pytest.approx(distance)
        assert effects.cliffs_delta(panel, grouping)[one, 0] == pytest.approx(np.sign(a[:, None] - b).mean())
        t = scipy.stats.ttest_ind(a, b).statistic
        size = t * np.sqrt(1 / len(a) + 1 / len(b)) * (1 - 3 / (4 * (len(a) + len(b)) - 9))
        assert g[one, 0] == pytest.approx(size)
        products = men[:, :, None] * women[:, None]
        matched = np.isfinite(products)
        assert effects.sign_flips(panel, grouping)[one, 0] == pytest.approx(
            (products < 0).sum() / matched.sum()
        )


def test_sizes_of_constant_classes_and_of_nothing() -> None:
    scores = np.where(np.array([one == "f" for one in CLASSES])[:, None], 1.0, -1.0) * np.ones((1, 4, 9, 2))
    panel = grid(scores, CLASSES)
    grouping = by_gender(panel)
    g, constant = effects.hedges_g(panel, grouping)
    np.testing.assert_array_equal(constant, [[True, False, True]])
    assert g[0, 1] == 0
    np.testing.assert_array_equal(effects.cliffs_delta(panel, grouping), [[-1, 0, 1]])
    np.testing.assert_array_equal(effects.wasserstein(panel, grouping), [[1, 0, 1]])
    np.testing.assert_array_equal(effects.sign_flips(panel, grouping), [[1, 0, 1]])
    np.testing.assert_array_equal(effects.ate(panel, grouping).value, [[-2, 0, 2]])
    apart = scores.copy()
    apart[:, :2, :3] = apart[:, 2:, 3:] = np.nan
    panel = grid(apart, CLASSES)
    np.testing.assert_array_equal(effects.sign_flips(panel, by_gender(panel)), [[np.nan, np.nan, 1]])


def test_one_class_has_no_effects() -> None:
    panel = grid(np.zeros((2, 3, 4, 1)), "mmmm")
    grouping = by_gender(panel)
    assert effects.ate(panel, grouping).value.shape == (2, 0)
    assert effects.resample_ates(
        panel, grouping, *panel.weights(grouping, 3, np.random.default_rng(0))
    ).shape == (3, 2, 0)


def test_negative_control_tells_a_class_from_its_names() -> None:
    rng = np.random.default_rng(14)
    names = rng.normal(0, 0.02, 20)
    of = np.repeat([1.0, 0.0], 10)
    noise = rng.normal(0, 0.01, (1, 8, 20, 1))
    shifted = grid(noise + (names + 0.2 * of)[None, None, :, None], "m" * 10 + "f" * 10)
    found = effects.negative_control(shifted, by_gender(shifted), (0, 1), rng)
    assert found.p[0] == 1 / 1000
    assert found.split == ("male", "female")
    # one odd name alone moves its class by a tenth, and half of its class by a fifth
    odd = np.zeros((1, 8, 20, 1))
    odd[:, :, 0] = 1.0
    panel = grid(odd, "m" * 10 + "f" * 10)
    assert effects.ate(panel, by_gender(panel)).value[0, 0] == pytest.approx(0.1)
    assert effects.negative_control(panel, by_gender(panel), (0, 1), rng).p[0] == 1


def test_negative_control_keeps_its_level_when_only_persons_differ() -> None:
    rng = np.random.default_rng(15)
    hits = []
    for _ in range(300):
        names = rng.normal(0, 0.1, (3, 1, 16, 1))
        panel = grid(np.clip(names + rng.normal(0, 0.02, (3, 4, 16, 1)), -1, 1), "m" * 8 + "f" * 8)
        hits.append(effects.negative_control(panel, by_gender(panel), (0, 1), rng, draws=199).p < 0.05)
    # 900 tests, the standard error of a share of .05 is .007
    assert 0.02 < np.mean(hits) < 0.085


def test_negative_control_needs_four_persons_of_a_class() -> None:
    rng = np.random.default_rng(16)
    few = grid(rng.uniform(-1, 1, (2, 3, 6, 1)), "mmmfff")
    found = effects.negative_control(few, by_gender(few), (0, 1), rng)
    assert np.isnan(found.p).all()
    assert found.split == ()
    one = grid(rng.uniform(-1, 1, (2, 3, 7, 1)), "mmmffff")
    found = effects.negative_control(one, by_gender(one), (0, 1), rng)
    assert found.split == ("female",)
    assert np.isfinite(found.p).all()
    chats = conversations("mmff", 3, rng)
    assert np.isnan(effects.negative_control(chats, by_gender(chats), (0, 1), rng).p).all()


def test_verdicts_of_draws() -> None:
    near, wide = np.linspace(-0.05, 0.05, 1000), np.linspace(-0.2, 0.2, 1000)
    assert verdict_of(near, 0.1, found=False) == "same"
    assert verdict_of(wide, 0.1, found=False) == "undetermined"
    assert verdict_of(wide, 0.1, found=True) == "found"
    assert verdict_of(np.full(5, np.nan), 0.1, found=True) == "undetermined"


def coverage(shift: float, runs: int) -> float:
    """Share of runs in which the 95 % interval of a planted effect holds it."""
    rng, held = np.random.default_rng(17), 0
    for _ in range(runs):
        frames, names = rng.normal(0, 0.2, (1, 20, 1, 1)), rng.normal(0, 0.03, (1, 1, 24, 1))
        odd = rng.normal(0, 0.05, (1, 20, 24, 2))
        scores = frames + names + odd + shift * (np.arange(24) < 12)[None, None, :, None]
        panel = grid(np.clip(scores, -1, 1), "m" * 12 + "f" * 12)
        grouping = by_gender(panel)
        drawn = effects.resample_ates(panel, grouping, *panel.weights(grouping, 1000, rng))[:, 0, 0]
        low, high = np.quantile(drawn, [0.025, 0.975])
        held += low <= shift <= high
    return held / runs


@pytest.mark.parametrize("shift", [0.0, 0.15])
def test_a_planted_shift_lies_inside_its_interval_at_the_nominal_rate(shift: float) -> None:
    assert coverage(shift, 200) >= 0.92


def of_text(rng: np.random.Generator, *, words: bool) -> Floats:
    """Scores [5, F, P, W] of the paper's word sets by a scorer that gives a text always the same score.

    It has no effect of class or person. Without `words` a frame with a person is scored alike for all words.
    """
    frames, persons, kinds = 20, 20, 4
    score = rng.normal(0, 0.1, (frames, persons, kinds if words else 1)) + np.zeros(kinds)
    sets = ((0,), (1,), (0, 1), (0, 1, 2), (1, 2, 3))
    held = np.zeros((5, 1, 1, kinds), dtype=bool)
    for place, some in enumerate(sets):
        held[place, 0, 0, list(some)] = True
    return np.where(held, score, np.nan)


@pytest.mark.parametrize("words", [True, False])
def test_persons_that_do_not_differ_are_seldom_told_of(words: bool) -> None:
    """60 null runs: the share with any adjusted p below .05 is the false discovery rate, 5 % at most.

    Word sets share their texts; counting a text once for each of them gave a p below .05 in most runs.
    """
    rng = np.random.default_rng(4)
    runs = [grid(of_text(rng, words=words), "m" * 10 + "f" * 10) for _ in range(60)]
    hits = sum(bool((person_differences(one, by_gender(one)).p < 0.05).any()) for one in runs)
    assert hits <= 8  # more than 8 of 60 come in 1 % of the cases if the rate is 5 %


def test_a_person_that_differs_is_told_of() -> None:
    scores = of_text(np.random.default_rng(5), words=True)
    scores[:, :, 3] += 0.15
    one = grid(scores, "m" * 10 + "f" * 10)
    persons = person_differences(one, by_gender(one))
    assert persons.place[persons.p < 0.05].tolist() == [3]
    assert persons.difference[3] == pytest.approx(0.15 * 19 / 20, abs=0.03)
    assert persons.texts.tolist() == [80.0] * 20


def test_a_person_that_differs_without_any_spread_is_sure() -> None:
    scores = np.zeros((1, 5, 4, 2))
    scores[:, :, 0] = 0.5
    persons = person_differences(grid(scores, "mmff"), by_gender(grid(scores, "mmff")))
    assert persons.difference.tolist() == pytest.approx([0.375, -0.125, -0.125, -0.125])
    assert persons.p.max() == 0.0
