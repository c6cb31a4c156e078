"""The interval of a deviation: it holds the truth as often as it says, at 0 too."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.methods.two_step.summaries import HE, OTHER, SHE, settings, shifted, summary
from trustgauge.methods.two_step.reasons import pushes, score
from trustgauge.methods.two_step.transition_model import (
    DeclaredDistributions,
    draw_levels,
    examine_pooling,
    part_counts,
)
from trustgauge.records import Interval
from trustgauge.stats import stream
from trustgauge.stats.distributions import wilson

RUNS = 60


def swapped(share: float) -> NDArray[np.float64]:
    return np.array([(1 - share) * HE + share * SHE, share * HE + (1 - share) * SHE, OTHER])


def scores(rates: NDArray[np.float64], runs: int = RUNS) -> list[Interval]:
    """The largest deviation of a service, with its interval, in many runs."""
    method, found = settings(texts=50, draws=1000), []
    spec, declared = method.spec, DeclaredDistributions.of(method)
    for seed in range(runs):
        tallied, rng = part_counts(summary(method, rates, seed=seed), spec), stream(seed, "deviation")
        examined = examine_pooling(tallied.counts, rng)
        judged = draw_levels(tallied.counts, examined, declared, method.draws, rng)
        pushed = pushes(tallied.counts, declared, spec, pooled=bool(examined.pooled[0]))
        found.append(score(pushed, judged, declared, tallied))
    return found


@pytest.mark.parametrize(
    ("rates", "truth"),
    [(swapped(0.10), 0.0), (swapped(0.30), 0.0), (shifted(0.10), 0.05), (shifted(0.50), 0.25)],
    ids=["swaps few", "swaps many", "shifts few", "shifts many"],
)
def test_the_interval_holds_the_truth_as_often_as_it_says(rates: NDArray[np.float64], truth: float) -> None:
    held = sum((one.low or 0.0) <= truth <= (one.high or 0.0) for one in scores(rates))
    low, high = wilson(held, RUNS, 0.999)
    assert low <= 0.95 <= high or held > 0.95 * RUNS


def test_an_interval_that_begins_above_zero_is_no_rare_thing_where_there_is_a_deviation() -> None:
    assert all((one.low or 0.0) > 0.10 for one in scores(shifted(0.50), runs=10))


def test_blocks_that_are_not_pooled_have_intervals_of_their_own_rates() -> None:
    """Much is shifted in the last block only: the balanced one stays near 0, and may be 0."""
    method = settings(texts=100)
    rates = [swapped(0.10), swapped(0.10), shifted(0.60)]
    part = method.rate(summary(method, rates), 1)[0].parts[0]
    assert not part.details["pooled"]
    entry = part.details["deviations"]
    assert entry["u1"]["low"] == 0.0
    assert entry["u1"]["high"] < 0.15
    assert part.score == Interval(entry["u1"]["value"], 0.0, entry["u1"]["high"], part.score.n)  # type: ignore[union-attr]
    for one in entry.values():
        assert one["low"] <= one["value"] <= one["high"]


def test_a_service_that_changes_nothing_deviates_by_nothing() -> None:
    method = settings(texts=50)
    whole = method.rate(summary(method, np.eye(3), seed=0), 0)[0].score
    for found in (whole, *scores(np.eye(3), runs=1)):
        assert found is not None
        assert (found.value, found.low) == (0.0, 0.0)
        assert 0.0 < (found.high or 0.0) < 0.02
