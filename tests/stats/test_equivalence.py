"""Equivalence of a proportion: the printed sample sizes, and error rates by enumeration."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from trustgauge.stats import equivalence


@pytest.mark.parametrize(("margin", "texts"), [(0.10, 107), (0.15, 48), (0.20, 29)])
def test_texts_for_a_share_near_a_half(margin: float, texts: int) -> None:
    assert equivalence.trials_for_equivalence(0.5, margin, step=2) == 2 * texts


def test_texts_for_the_narrowest_margin() -> None:
    assert equivalence.tost_power(2 * 438, 0.5, 0.05) >= 0.80
    assert max(equivalence.tost_power(2 * texts, 0.5, 0.05) for texts in range(400, 438)) < 0.80


@given(st.integers(1, 200), st.data())
def test_tost_is_two_binomial_tests(trials: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, trials))
    found = equivalence.tost_proportion(successes, trials, 0.5, 0.1)
    low = scipy.stats.binomtest(successes, trials, 0.4, alternative="greater").pvalue
    high = scipy.stats.binomtest(successes, trials, 0.6, alternative="less").pvalue
    assert (found.p_low, found.p_high) == pytest.approx((low, high), abs=1e-9)
    assert found.p == max(found.p_low, found.p_high)


@pytest.mark.parametrize("trials", [20, 51, 140])
def test_a_share_on_the_margin_passes_at_most_one_time_in_twenty(trials: int) -> None:
    chances = scipy.stats.binom.pmf(np.arange(trials + 1), trials, 0.6)
    passes = [equivalence.tost_proportion(k, trials, 0.5, 0.1).p <= 0.05 for k in range(trials + 1)]
    assert chances[np.array(passes)].sum() <= 0.05


def test_a_side_outside_the_unit_interval_needs_no_evidence() -> None:
    assert equivalence.tost_proportion(0, 100, 0.0, 0.1).p == pytest.approx(0.9**100)
    assert equivalence.tost_proportion(3, 0, 0.5, 0.1).p == 1.0


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
