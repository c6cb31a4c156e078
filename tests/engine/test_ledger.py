"""The write-ahead ledger: reserved on disk before it is spent, in small blocks, readable after a kill."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trustgauge.engine import BudgetAccount, BudgetLimits, ReservationLedger, unaccounted_cost
from trustgauge.records import Cost

UNCAPPED = (None, None, None)


def reserved(path: Path) -> list[float]:
    last: list[float] = json.loads(path.read_bytes().splitlines()[-1])
    return last


def test_a_call_is_on_disk_before_it_goes_out(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    budget = BudgetAccount(BudgetLimits(calls=400), ReservationLedger(path, (400, None, None), Cost()))
    for calls in range(1, 401):
        budget.take(1, 0.0, 0)
        assert calls <= reserved(path)[0] <= min(400, calls + 8)  # a block is a fiftieth of the cap


def test_dollars_and_tokens_are_covered_when_an_answer_costs_more_than_any_before(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    budget = BudgetAccount(
        BudgetLimits(usd=1.0, tokens=1000), ReservationLedger(path, (None, 1.0, 1000), Cost())
    )
    budget.take(1, 0.01, 10)
    budget.settle((0.01, 10), 0.30, 250)
    assert 0.30 <= reserved(path)[1] <= 0.33
    assert 250 <= reserved(path)[2] <= 270


def test_what_a_killed_sitting_reserved_counts_but_for_its_answers(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    ledger = ReservationLedger(path, (400, None, None), Cost(calls=100))
    ledger.cover(20, 0.0, 0)
    with path.open("ab") as opened:
        opened.write(b"[399, 0.")  # torn by the kill: it covered nothing yet
    assert unaccounted_cost(path, Cost(calls=115)).calls == 28 - 15
    assert unaccounted_cost(path, Cost(calls=300)).calls == 0


def test_an_ended_sitting_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    ledger = ReservationLedger(path, UNCAPPED, Cost())
    ledger.cover(1, 0.0, 0)
    assert path.exists()
    ledger.close()
    assert unaccounted_cost(path, Cost()) == Cost()
    ReservationLedger(path, UNCAPPED, Cost()).close()  # nothing was sent at all


@pytest.mark.parametrize("cap", [1, 7, 50, 400, 100_000])
@given(sizes=st.lists(st.integers(1, 64), min_size=1, max_size=60), kill_at=st.floats(0, 1))
def test_no_order_of_kills_passes_a_cap(
    tmp_path_factory: pytest.TempPathFactory, cap: int, sizes: list[int], kill_at: float
) -> None:
    """Sittings that are killed one after the other send no more than the cap together."""
    path = tmp_path_factory.mktemp("ledger") / "ledger"
    sent = kept = uncertain = 0
    for number, size in enumerate(sizes):
        uncertain += unaccounted_cost(path, Cost(calls=kept)).calls
        path.unlink(missing_ok=True)
        before = kept + uncertain
        budget = BudgetAccount(
            BudgetLimits(calls=cap, before=Cost(calls=before)),
            ReservationLedger(path, (max(0, cap - before), None, None), Cost(calls=kept)),
        )
        calls = budget.room([0.0] * size, 0)
        if calls:
            budget.take(calls, 0.0, 0)
            sent += calls
            kept += int(calls * kill_at) if number % 2 else 0  # the others die before an answer is kept
        assert before + calls <= cap
    assert sent <= cap
