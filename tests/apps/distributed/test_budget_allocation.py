"""A budget handed out in slices: what is out and what was spent never add up to more."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trustgauge.apps.distributed.budget_allocation import BatchNeed, BudgetAllocation
from trustgauge.engine import BudgetLimits, ReservationLedger, unaccounted_cost
from trustgauge.records import Cost

needs = st.builds(
    BatchNeed,
    calls=st.integers(1, 500),
    usd=st.none() | st.floats(0, 3),
    tokens=st.none() | st.integers(0, 5_000),
)
steps = st.lists(st.tuples(needs, st.integers(1, 5), st.floats(0, 1), st.integers(0, 2)), max_size=40)


@given(calls=st.integers(0, 1000), usd=st.floats(0, 10), tokens=st.integers(0, 10_000), steps=steps)
def test_workers_that_keep_to_their_slices_keep_to_the_limit(
    calls: int, usd: float, tokens: int, steps: list[tuple[BatchNeed, int, float, int]]
) -> None:
    slices = BudgetAllocation(BudgetLimits(calls, usd, tokens))
    out: list[BudgetLimits] = []
    spent = Cost()
    for need, among, share, fate in steps:
        slice_ = slices.cut(need, among, None)
        if slice_ is not None:
            assert 1 <= (slice_.calls or 0) <= need.calls
            out.append(slice_)
        if out and fate:
            back = out.pop(0)
            assert back.calls is not None
            assert back.usd is not None
            assert back.tokens is not None
            used = Cost(int(back.calls * share), back.usd * share, int(back.tokens * share))
            spent = Cost(spent.calls + used.calls, spent.usd + used.usd, spent.tokens + used.tokens)
            if fate == 1:
                slices.back(back, used, 0)
            else:
                slices.write_off(back, used, Cost(back.calls, back.usd, back.tokens))
        assert spent.calls + sum(one.calls or 0 for one in out) <= calls
        assert spent.usd + sum(one.usd or 0 for one in out) <= usd * (1 + 1e-9) + 1e-9
        assert spent.tokens + sum(one.tokens or 0 for one in out) <= max(tokens, 0) + len(out)


def test_nothing_is_limited_where_no_limit_is() -> None:
    assert BudgetAllocation(BudgetLimits()).cut(BatchNeed(100, 1.0, 50), 3, None) == BudgetLimits()
    assert BudgetAllocation(BudgetLimits()).cut(BatchNeed(100), 3, 12.5) == BudgetLimits(seconds=12.5)


def test_who_needs_little_gets_it_and_who_needs_much_a_fair_share() -> None:
    slices = BudgetAllocation(BudgetLimits(calls=100, usd=10.0))
    assert slices.cut(BatchNeed(10, 0.5), 3, None) == BudgetLimits(calls=10, usd=0.5)
    second, third = slices.cut(BatchNeed(500, None), 3, None), slices.cut(BatchNeed(500, None), 1, None)
    assert second is not None
    assert third is not None
    assert (second.calls, third.calls) == (30, 60)
    assert second.usd == pytest.approx(9.5 / 3)
    assert third.usd == pytest.approx(9.5 * 2 / 3)
    assert slices.cut(BatchNeed(1, 0.0), 1, None) is None
    assert slices.reason() == "limit reached: usd 10.00"  # nothing was spent yet; it is not exhausted


def test_where_no_money_is_left_nobody_is_given_a_batch() -> None:
    """A worker whose service has told no price yet would make a call to learn it."""
    slices = BudgetAllocation(BudgetLimits(usd=1.0))
    first = slices.cut(BatchNeed(10, None), 1, None)
    assert first == BudgetLimits(usd=1.0)
    assert slices.cut(BatchNeed(10, None), 1, None) is None  # until the first comes back
    slices.back(first, Cost(1, 1.5), 10)
    assert slices.cut(BatchNeed(10, None), 1, None) is None
    assert slices.cut(BatchNeed(10, 0.0), 1, None) is None
    free = BudgetAllocation(BudgetLimits(usd=0.0))
    assert free.cut(BatchNeed(10, None), 1, None) == BudgetLimits(usd=0.0)


def test_what_comes_back_can_be_given_again() -> None:
    slices = BudgetAllocation(BudgetLimits(calls=10, before=Cost(calls=4)))
    slice_ = slices.cut(BatchNeed(50), 1, None)
    assert slice_ == BudgetLimits(calls=6)
    assert slices.cut(BatchNeed(1), 1, None) is None
    slices.back(slice_, Cost(calls=2), 4)
    assert slices.cut(BatchNeed(50), 1, None) == BudgetLimits(calls=4)
    slices.back(BudgetLimits(calls=4), Cost(calls=4), 4)
    assert slices.cut(BatchNeed(1), 1, None) is None
    assert slices.reason() == "limit reached: calls 10"


def test_of_a_lost_slice_no_more_counts_than_its_batch_could_cost() -> None:
    slices = BudgetAllocation(BudgetLimits(calls=100, usd=10.0, tokens=1_000))
    slice_ = slices.cut(BatchNeed(40, None, None), 1, None)
    assert slice_ == BudgetLimits(calls=40, usd=10.0, tokens=1_000)
    slices.write_off(slice_, Cost(10, 0.5, 20), Cost(40, 2.0, 300))
    assert slices.cut(BatchNeed(500), 1, None) == BudgetLimits(calls=60, usd=8.0, tokens=700)


def test_time_is_that_of_all_runs_together() -> None:
    slices = BudgetAllocation(BudgetLimits(seconds=100.0, before=Cost(seconds=30.0)))
    assert slices.seconds == 70.0
    slices.add_seconds(50.0)
    assert slices.seconds == 20.0
    slices.add_seconds(50.0)
    assert slices.seconds == 0.0
    assert BudgetAllocation(BudgetLimits()).seconds is None


def test_without_a_cap_the_calls_of_all_batches_under_way_are_reserved(tmp_path: Path) -> None:
    """One that is killed would count what was given last only."""
    ledger = ReservationLedger(tmp_path / "ledger.jsonl", (None, None, None), Cost())
    slices = BudgetAllocation(BudgetLimits(), ledger)

    def reserved() -> int:
        return unaccounted_cost(tmp_path / "ledger.jsonl", Cost()).calls

    first = slices.cut(BatchNeed(600), 3, None)
    slices.cut(BatchNeed(700), 2, None)
    assert 1_300 <= reserved() <= 1_500
    assert first is not None
    slices.back(first, Cost(calls=450), 600)
    slices.cut(BatchNeed(800), 1, None)
    assert 450 + 700 + 800 <= reserved() <= 2_150
    ledger.close()
