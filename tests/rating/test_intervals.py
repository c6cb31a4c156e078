"""Intervals of resamples, where there are many, one or none."""

from __future__ import annotations

import numpy as np
import pytest

from trustgauge.rating import interval_facts, resampled_interval
from trustgauge.records import Interval


def test_an_interval_holds_the_middle_95_percent_of_the_resamples_that_have_a_value() -> None:
    draws = np.append(np.arange(1001.0), [np.nan] * 10)
    assert resampled_interval(500, draws, 7) == Interval(500.0, 25.0, 975.0, 7)
    same = resampled_interval(2, np.full(3, 2.0), 3)
    assert interval_facts(same) == {"value": 2, "low": 2, "high": 2, "n": 3}
    assert resampled_interval(2, np.array([3.0]), 1) == Interval(2.0, 3.0, 3.0, 1)


@pytest.mark.parametrize(
    ("value", "draws"), [(np.nan, np.zeros(9)), (1.0, np.zeros(0)), (1.0, np.full(9, np.nan))]
)
def test_without_a_value_or_a_resample_there_is_no_interval(value: float, draws: np.ndarray) -> None:
    assert resampled_interval(value, draws, 4) == Interval(None, None, None, 4)
