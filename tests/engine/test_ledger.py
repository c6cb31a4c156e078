"""The write-ahead ledger: reserved on disk before it is spent, in small blocks, readable after a kill."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trustgauge.engine import PAUSE, BudgetAccount, BudgetLimits, ReservationLedger, unaccounted_cost
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
    assert unaccounted_cost(path, Cost(calls=115)).calls == 21 - 15
    assert unaccounted_cost(path, Cost(calls=300)).calls == 0


@pytest.mark.parametrize("left", [UNCAPPED, (100_000, 1_000.0, 100_000_000)], ids=["uncapped", "capped"])
@pytest.mark.parametrize(("pace", "writes"), [(1, 1.0), (10, 1.0), (200, 0.2), (10_000, 0.012)])
def test_no_more_is_reserved_than_goes_out_in_a_moment(
    tmp_path: Path, left: tuple[int | None, float | None, int | None], pace: int, writes: float
) -> None:
    """A killed sitting counts as what it sent and a moment's calls, whatever the cap and the pace."""
    path, now = tmp_path / "ledger", 0.0
    ledger = ReservationLedger(path, left, Cost(), clock=lambda: now)
    for calls in range(1, 5_001):
        now = calls / pace
        ledger.cover(calls, calls * 0.01, calls * 20)
        sent = Cost(calls, calls * 0.01, calls * 20)
        beyond = unaccounted_cost(path, sent) if calls % 100 == 0 else Cost()
        assert beyond.calls <= max(1, 2 * PAUSE * pace)
        assert beyond.usd <= max(1, 2 * PAUSE * pace) * 0.0101
        assert beyond.tokens <= max(1, 2 * PAUSE * pace) * 20.2
    assert len(path.read_bytes().splitlines()) <= 5_000 * writes + 20


def test_a_disk_that_is_slow_is_written_to_less_often(tmp_path: Path) -> None:
    now = 0.0

    def clock() -> float:
        nonlocal now
        now += 0.02  # between any two looks, so that each block takes as long to write
        return now

    ledger = ReservationLedger(tmp_path / "ledger", UNCAPPED, Cost(), clock)
    for calls in range(1, 1_001):
        now += 0.01
        ledger.cover(calls, 0.0, 0)
    writing = 0.02 * len((tmp_path / "ledger").read_bytes().splitlines())
    assert writing <= 0.15 * now


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
