"""The randomisation test of labels against scipy, and where a side counts nothing."""

from __future__ import annotations

import warnings

import numpy as np
import scipy.stats

from trustgauge.stats.randomization import label_test


def test_p_is_that_of_scipy_for_one_mean_and_one_stratum() -> None:
    rng = np.random.default_rng(5)
    labels = np.repeat([True, False], 12)
    scores = rng.normal(size=24) + 0.8 * labels
    found = label_test(scores[:, None], np.ones((24, 1)), labels, np.zeros(24), np.arange(24), rng)
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


def test_a_side_that_counts_nothing_has_no_ratio_whatever_the_weights() -> None:
    rng = np.random.default_rng(6)
    counts = np.full((40, 2), 0.1)
    counts[3:, 0] = 0.0  # only three units count for the first ratio
    sums = counts * rng.normal(size=(40, 2))
    labels = np.arange(40) < 20
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = label_test(sums, counts, labels, np.zeros(40), np.arange(40), rng)
    assert np.isnan(found.without[0])
    assert found.z[0] == 0
    kept = label_test(sums[:, 1:], counts[:, 1:], labels, np.zeros(40), np.arange(40), rng)
    assert abs(found.p - kept.p) < 0.06  # it takes nothing from the other ratio
