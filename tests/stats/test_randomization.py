"""The randomisation test of labels: against scipy, with empty sides, and with units of unequal size."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.stats

from trustgauge.stats.randomization import label_test


def test_p_is_that_of_scipy_for_one_mean_and_one_stratum() -> None:
    rng = np.random.default_rng(5)
    labels = np.repeat([True, False], 12)
    scores = rng.normal(size=24) + 0.8 * labels
    found = label_test(
        scores[:, None], np.ones((24, 1)), labels, np.zeros(24), np.arange(24), rng, dealt=True
    )
    reference = scipy.stats.permutation_test(
        (scores[labels], scores[~labels]),
        lambda a, b, axis: np.abs(a.mean(axis=axis) - b.mean(axis=axis)),
        alternative="greater",
        n_resamples=40_000,
        rng=rng,
    )
    assert abs(found.p - reference.pvalue) < 4 * np.sqrt(reference.pvalue * (1 - reference.pvalue) / 1999)
    welch = scipy.stats.ttest_ind(scores[labels], scores[~labels], equal_var=False).confidence_interval()
    assert abs(found.low[0] - welch.low) < 0.1
    assert abs(found.high[0] - welch.high) < 0.1


def test_a_difference_is_divided_by_the_scatter_of_each_side_which_is_no_less_than_that_of_all() -> None:
    rng = np.random.default_rng(5)
    labels = np.arange(60) < 20
    scores = np.concatenate([rng.normal(1, 5, 20), rng.normal(0, 0.1, 40)])
    found = label_test(
        scores[:, None], np.ones((60, 1)), labels, np.zeros(60), np.arange(60), rng, dealt=False
    )
    first, second = scores[:20].var() / 20, scores.var() / 40
    assert found.z[0] == pytest.approx((scores[:20].mean() - scores[20:].mean()) / np.sqrt(first + second))


@pytest.mark.parametrize("dealt", [True, False])
def test_a_side_that_counts_nothing_has_no_ratio_whatever_the_weights(dealt: bool) -> None:
    rng = np.random.default_rng(6)
    counts = np.full((40, 2), 0.1)
    counts[3:, 0] = 0.0  # only three units count for the first ratio
    sums = counts * rng.normal(size=(40, 2))
    labels = np.arange(40) < 20
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = label_test(sums, counts, labels, np.zeros(40), np.arange(40), rng, dealt=dealt)
    assert np.isnan(found.without[0])
    assert found.z[0] == 0
    kept = label_test(sums[:, 1:], counts[:, 1:], labels, np.zeros(40), np.arange(40), rng, dealt=dealt)
    assert abs(found.p - kept.p) < 0.06  # it takes nothing from the other ratio


@pytest.mark.parametrize("rate", [0.02, 0.1, 0.5])
@pytest.mark.parametrize("by", ["answer", "conversation", "unit"])
def test_units_of_one_kind_that_are_larger_raise_no_more_alarms_than_chance_may(rate: float, by: str) -> None:
    """45 subjects of about five conversations beside 28 of one, as where nine in ten are disguised."""
    rng = np.random.default_rng(7)
    labels = np.repeat([True, False], [45, 28])
    size = np.concatenate([rng.multinomial(203, np.ones(45) / 45) + 1, np.ones(28, dtype=np.int64)])
    counts = 6.0 * size
    p = []
    for _ in range(150):
        if by == "answer":
            sums = rng.binomial(6 * size, rate)
        elif by == "conversation":
            sums = 6 * rng.binomial(size, rate)
        else:
            sums = 6 * size * (rng.random(73) < rate)
        found = label_test(
            sums[:, None], counts[:, None], labels, np.zeros(73), np.arange(73), rng, dealt=False
        )
        p.append(found.p)
    assert sum(one < 0.01 for one in p) <= 6  # as seldom as 1 in 1,000 at a rate of 1 %


@pytest.mark.parametrize("dealt", [True, False])
@pytest.mark.parametrize("few", [3, 15])
def test_all_against_nothing_is_a_difference_without_an_interval_and_alike_is_none(
    dealt: bool, few: int
) -> None:
    rng = np.random.default_rng(8)
    labels = np.arange(30) >= few
    ones = np.ones((30, 1))
    found = label_test(labels[:, None], ones, labels, np.zeros(30), np.arange(30), rng, dealt=dealt)
    assert (found.without[0], found.with_label[0]) == (0, 1)
    assert found.p < 0.01
    assert np.isnan([found.low[0], found.high[0]]).all()
    alike = label_test(ones, ones, labels, np.zeros(30), np.arange(30), rng, dealt=dealt)
    assert alike.p == 1


def test_a_difference_too_small_to_matter_leaves_the_word_to_one_that_does() -> None:
    rng = np.random.default_rng(9)
    labels = np.arange(60) < 30
    sums = np.stack([0.001 * labels, rng.normal(0.5 * labels, 0.3)], axis=1)
    counts = np.ones((60, 2))
    found = label_test(sums, counts, labels, np.zeros(60), np.arange(60), rng, dealt=False, least=0.01)
    assert abs(found.z[0]) > abs(found.z[1])
    assert found.largest == 1
    tiny = label_test(
        sums[:, :1], counts[:, :1], labels, np.zeros(60), np.arange(60), rng, dealt=False, least=0.01
    )
    assert tiny.largest == 0
