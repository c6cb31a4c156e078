"""Rates corrected for the errors of the check that found them (methods 0.10)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trustgauge.stats.misclassification import Detection, correct_rate, within_false_alarms

shares = st.floats(0, 1)


@given(shares, st.floats(0.7, 1), st.floats(0.7, 1))
def test_the_correction_undoes_the_errors(true: float, se: float, sp: float) -> None:
    seen = true * se + (1 - true) * (1 - sp)
    assert float(correct_rate(seen, se, sp)) == pytest.approx(true, abs=1e-9)


@given(shares, shares, st.floats(0.7, 1), st.floats(0.7, 1))
def test_a_higher_rate_is_never_corrected_to_a_lower_one(x: float, y: float, se: float, sp: float) -> None:
    low, high = sorted((x, y))
    assert correct_rate(low, se, sp) <= correct_rate(high, se, sp)
    assert 0 <= correct_rate(x, se, sp) <= 1


def test_a_check_that_says_nothing_corrects_nothing() -> None:
    assert np.isnan(correct_rate([0.2, 0.9], [0.5, 0.3], [0.5, 0.6])).all()


def test_a_rate_below_the_false_alarms_lies_between_none_and_all() -> None:
    none, half, every = within_false_alarms(0.02, 0.8, [1.0, 0.5, 0.0])
    assert none == 0
    assert every == pytest.approx(0.02 / 0.8)
    # What it takes for granted comes out again: false alarms on half as many texts as were flagged.
    assert half * 0.8 + (1 - half) * 0.01 == pytest.approx(0.02, abs=1e-15)


def test_sensitivity_and_specificity_are_drawn_around_what_was_counted() -> None:
    one = Detection(positives=400, found=360, negatives=900, passed=873)
    assert (one.sensitivity, one.specificity, one.usable) == (0.9, 0.97, True)
    se, sp = one.draw(20_000, np.random.default_rng(1))
    assert se.mean() == pytest.approx(0.9, abs=0.002)
    assert se.std() == pytest.approx((0.9 * 0.1 / 401) ** 0.5, rel=0.03)
    assert sp.mean() == pytest.approx(0.97, abs=0.002)


@pytest.mark.parametrize("counts", [(10, 6, 10, 5), (0, 0, 10, 10), (10, 10, 0, 0)])
def test_a_poor_or_untested_check_is_not_usable(counts: tuple[int, int, int, int]) -> None:
    assert not Detection(*counts).usable
