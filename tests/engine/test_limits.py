"""Gate, breaker, retry policy and budget by themselves."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trustgauge.engine import BudgetAccount, BudgetLimits, CircuitBreaker, RetryPolicy
from trustgauge.engine.adaptive_limiter import AdaptiveLimiter
from trustgauge.errors import BusyError, GarbledError, RejectedError, UnavailableError
from trustgauge.records import Cost


def rounds(gate: AdaptiveLimiter, count: int, seconds: float = 0.02, start: float = 0.0) -> float:
    """Let so many full rounds of calls pass, each answered after `seconds`."""
    now = start
    for _ in range(count):
        sent = 0
        while gate.wait(now) == 0.0:
            gate.enter(now)
            sent += 1
        now += seconds
        for _ in range(sent):
            gate.leave()
            gate.note_success(now, seconds)
    return now


def test_calls_at_once_double_each_round_up_to_the_most() -> None:
    gate = AdaptiveLimiter(100)
    assert gate.at_once == 16
    rounds(gate, 1)
    assert gate.at_once == 32
    rounds(gate, 5, start=1.0)
    assert gate.at_once == 100


def test_they_stop_growing_while_answers_are_slow() -> None:
    gate = AdaptiveLimiter(1000)
    now = rounds(gate, 2)
    now = rounds(gate, 1, seconds=0.5, start=now)  # the service begins to queue
    level = gate.at_once
    rounds(gate, 5, seconds=0.5, start=now)
    assert gate.at_once == level


def test_many_failures_of_one_round_halve_once() -> None:
    gate = AdaptiveLimiter(64)
    now = rounds(gate, 4)
    assert gate.at_once == 64
    slowed = [gate.busy(now, now - 0.02, 1.0, requested=True) for _ in range(10)]
    assert slowed == [False, False, True] + [False] * 7
    assert gate.at_once == 32
    assert gate.wait(now) == pytest.approx(1.0)
    assert [gate.busy(now + 2.0, now + 1.5, 1.0, requested=True) for _ in range(3)] == [False, False, True]
    assert gate.at_once == 16


def test_a_stray_failure_slows_nothing() -> None:
    gate = AdaptiveLimiter(64)
    now = rounds(gate, 4)
    assert not gate.busy(now, now - 0.02, 30.0, requested=True)
    assert not gate.slow(now, now - 0.02)
    assert (gate.at_once, gate.rate, gate.wait(now)) == (64, None, 0.0)


def test_they_never_fall_below_one() -> None:
    gate = AdaptiveLimiter(2)
    for step in range(10):
        gate.slow(float(step), float(step))
    assert gate.at_once == 1.0
    assert gate.wait(10.0) == 0.0


def test_a_full_gate_waits_for_a_call_to_end() -> None:
    gate = AdaptiveLimiter(1)
    gate.enter(0.0)
    assert gate.wait(0.0) == math.inf
    gate.leave()
    assert gate.wait(0.0) == 0.0


def test_a_declared_rate_is_never_exceeded_nor_unlearned() -> None:
    gate = AdaptiveLimiter(64, rate=10.0)
    now, sent = 0.0, []
    while now < 20.0:
        if (left := gate.wait(now)) == 0.0:
            gate.enter(now)
            gate.leave()
            gate.note_success(now, 0.01)
            sent.append(now)
        now += max(left, 1e-4)
    assert len(sent) == pytest.approx(200, abs=3)
    assert gate.rate == 10.0


def test_a_learned_rate_grows_and_is_forgotten_when_the_service_is_content() -> None:
    gate = AdaptiveLimiter(64)
    now = rounds(gate, 3)
    for _ in range(3):
        gate.busy(now, now - 0.01, 5.0, requested=True)
    assert gate.rate is not None
    first = gate.rate
    now += 5.0
    for _ in range(200_000):
        if (left := gate.wait(now)) == 0.0:
            gate.enter(now)
            now += 0.02
            gate.leave()
            gate.note_success(now, 0.02)
        now += left
        if gate.rate is None:
            break
        assert gate.rate >= first
    assert gate.rate is None


def test_the_tighter_of_two_limits_holds_for_services_that_share_a_gate() -> None:
    gate = AdaptiveLimiter(64, rate=None)
    gate.join(8, 5.0)
    gate.join(32, 50.0)
    assert (gate.most, gate.declared) == (8, 5.0)


def test_the_breaker_opens_after_failed_probes_only() -> None:
    breaker = CircuitBreaker(streak=3, probes=2)
    assert [breaker.note_failure() for _ in range(3)] == [False] * 3
    assert breaker.probing
    assert [breaker.note_failure() for _ in range(2)] == [False, True]


def test_any_success_closes_the_breaker() -> None:
    breaker = CircuitBreaker(streak=3, probes=2)
    for _ in range(3):
        breaker.note_failure()
    breaker.note_failure()
    assert breaker.note_success()
    assert not breaker.probing
    assert not breaker.note_success()
    assert [breaker.note_failure() for _ in range(4)] == [False] * 4


def test_rejections_open_the_breaker_only_if_nothing_ever_worked() -> None:
    breaker = CircuitBreaker(useless=3)
    assert [breaker.note_rejection() for _ in range(3)] == [False, False, True]
    other = CircuitBreaker(useless=3)
    other.note_success()
    assert not any(other.note_rejection() for _ in range(100))


@given(st.integers(1, 100), st.floats(0.0, 1.0, exclude_max=True))
def test_waits_double_with_jitter_up_to_the_most(tries: int, chance: float) -> None:
    retry = RetryPolicy(first=0.5, most=30.0)
    longest = min(30.0, 0.5 * 2 ** (tries - 1))
    assert longest / 2 <= retry.wait(tries, chance) <= longest


def test_what_is_tried_again() -> None:
    retry = RetryPolicy(attempts=6, garbled=3)
    assert retry.again(UnavailableError("503"), 5)
    assert not retry.again(UnavailableError("503"), 6)
    assert retry.again(BusyError("429"), 15)
    assert not retry.again(BusyError("429"), 16)
    assert retry.again(GarbledError("html"), 2)
    assert not retry.again(GarbledError("html"), 3)
    assert not retry.again(RejectedError("400"), 1)


def test_what_is_held_is_not_spent_twice() -> None:
    budget = BudgetAccount(BudgetLimits(usd=1.0, tokens=100, before=Cost(usd=0.25, tokens=10)))
    assert budget.room([0.25] * 5, 0) == 3
    budget.take(2, 0.5, 40)
    assert budget.room([0.25] * 5, 20) == 1
    budget.settle((0.5, 40), 0.125, 5)
    assert budget.room([0.25] * 5, 20) == 2
    assert (budget.usd, budget.tokens) == (0.375, 15)


def test_ten_dimes_fit_in_a_dollar() -> None:
    budget = BudgetAccount(BudgetLimits(usd=1.0))
    sent = 0
    while budget.room([0.1], 0):
        budget.take(1, 0.1, 0)
        budget.settle((0.1, 0), 0.1, 0)
        sent += 1
    assert sent == 10


def test_a_unit_that_cannot_be_finished_is_not_begun() -> None:
    budget = BudgetAccount(BudgetLimits(calls=10))
    assert budget.plan(4)
    assert budget.plan(4)
    assert not budget.plan(4)
    budget.unplan(4)
    assert budget.plan(4)
    dear = BudgetAccount(BudgetLimits(usd=1.0, tokens=100))
    assert dear.plan(2, 0.5, 50)
    assert not dear.plan(2, 0.6, 50)
    assert not dear.plan(2, 0.5, 51)
    dear.unplan(1, 0.25, 25)
    assert dear.plan(2, 0.75, 75)


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (BudgetLimits(calls=0), "limit reached: calls 0"),
        (BudgetLimits(usd=5.0), "limit reached: usd 5.00"),
        (BudgetLimits(usd=0.002), "limit reached: usd 0.0020"),
        (BudgetLimits(tokens=9, usd=5.0, before=Cost(tokens=9)), "limit reached: tokens 9"),
        (BudgetLimits(tokens=9, usd=5.0, before=Cost(usd=4.9)), "limit reached: usd 5.00"),
    ],
)
def test_the_limit_that_was_reached_is_named(limits: BudgetLimits, reason: str) -> None:
    assert BudgetAccount(limits).reason() == reason
