"""Equivalence of a proportion: the printed sample sizes, and error rates by enumeration."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from trustgauge.stats import equivalence


@pytest.mark.parametrize(("margin", "texts"), [(0.10, 107), (0.15, 48), (0.20, 29)])
def test_texts_for_a_share_near_a_half(margin: float, texts: int) -> None:
    assert equivalence.trials_for_equivalence(0.5, margin, step=2) == 2 * texts


def test_texts_for_the_narrowest_margin() -> None:
    assert equivalence.tost_power(2 * 438, 0.5, 0.05) >= 0.80
    assert max(equivalence.tost_power(2 * texts, 0.5, 0.05) for texts in range(400, 438)) < 0.80


def passes(trials: int, target: float, margin: float) -> np.ndarray:
    """For every number of successes, whether both one-sided binomial tests reject at .05."""
    low, high = target - margin, target + margin
    p = [
        max(
            0.0 if low < 0 else scipy.stats.binomtest(k, trials, low, alternative="greater").pvalue,
            0.0 if high > 1 else scipy.stats.binomtest(k, trials, high, alternative="less").pvalue,
        )
        for k in range(trials + 1)
    ]
    return np.array(p) <= 0.05


@pytest.mark.parametrize("trials", [20, 51, 140])
@pytest.mark.parametrize("target", [0.5, 0.3, 0.0])
def test_power_is_that_of_two_binomial_tests(trials: int, target: float) -> None:
    chances = scipy.stats.binom.pmf(np.arange(trials + 1), trials, target)
    expected = chances[passes(trials, target, 0.1)].sum()
    assert equivalence.tost_power(trials, target, 0.1) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("trials", [20, 51, 140])
def test_a_share_on_the_margin_passes_at_most_one_time_in_twenty(trials: int) -> None:
    chances = scipy.stats.binom.pmf(np.arange(trials + 1), trials, 0.6)
    assert chances[passes(trials, 0.5, 0.1)].sum() <= 0.05


def test_out_of_reach_is_said() -> None:
    with pytest.raises(ValueError, match="no number of trials"):
        equivalence.trials_for_equivalence(0.5, 1e-6, step=500_000)


def test_verdicts() -> None:
    assert equivalence.verdict((-0.05, 0.05), (-0.06, 0.06), 0.1) == "same"
    assert equivalence.verdict((0.12, 0.2), (0.11, 0.21), 0.1) == "different"
    assert equivalence.verdict((-0.2, -0.12), (-0.21, -0.11), 0.1) == "different"
    assert equivalence.verdict((0.01, 0.11), (0.0, 0.12), 0.1) == "undetermined"
    assert equivalence.excludes_zero((0.01, 0.2))
    assert not equivalence.excludes_zero((-0.01, 0.2))
