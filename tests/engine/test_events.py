"""What events add up to."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.engine.virtual import Scripted, VirtualTime, echo, scripted, units
from trustgauge.engine import KINDS, BudgetLimits, RunAnnouncement
from trustgauge.engine.local import Job, LocalEngine, run
from trustgauge.engine.progress import Progress
from trustgauge.records import Cost, Message, Reply

NOON = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


def event(kind: str, seconds: float = 0.0, **facts: Any) -> dict[str, Any]:
    return {"event": kind, "at": (NOON + timedelta(seconds=seconds)).isoformat(), **facts}


def answered(seconds: float, part: str = "es", **facts: Any) -> dict[str, Any]:
    usual = {"part": part, "status": "answered", "error": None, "usd": 0.5, "tokens": 2, "calls": 1}
    return event("answer", seconds, **{**usual, **facts})


def test_done_spent_and_errors_add_up() -> None:
    progress = Progress()
    progress.feed(event("plan", part="es", total=3))
    progress.feed(event("plan", part="it", total=2))
    progress.feed(event("retry", 1.0, service="x", error="service.busy", calls=4, wait=1.0))
    progress.feed(answered(2.0, calls=3))
    progress.feed(answered(2.0, part="it", status="failed", error="service.rejected"))
    progress.feed(event("something new", 2.5))
    assert (progress.done, progress.total, progress.retries, progress.calls) == (2, 5, 4, 4)
    assert (progress.usd, progress.tokens) == (1.0, 4)
    assert progress.errors == {"service.busy": 4, "service.rejected": 1}
    assert (progress.parts["it"].done, progress.parts["it"].failed) == (1, 1)


def test_time_left_is_a_range_once_the_pace_is_known() -> None:
    progress = Progress()
    progress.feed(event("plan", part="es", total=300))
    for number in range(1, 12):
        progress.feed(answered(number / 5.0))
        assert progress.seconds_left() is None
    progress.feed(answered(2.4))
    left = progress.seconds_left()
    assert left is not None
    low, high = left
    assert low < 57.6 < high  # 288 units at 5 a second
    assert high < 2 * low
    assert progress.rate == pytest.approx(5.0)


def test_the_slowest_service_decides_how_long_it_takes() -> None:
    progress = Progress()
    progress.feed(event("plan", part="quick es", service="quick", total=1000))
    progress.feed(event("plan", part="quick it", service="quick", total=1000))
    progress.feed(event("plan", part="slow", service="slow", total=100))
    for number in range(1, 401):
        progress.feed(answered(number / 20.0, part=f"quick {'es' if number % 2 else 'it'}"))
        if number % 40 == 0:
            assert progress.seconds_left() is None  # of the slow service too little is known
            progress.feed(answered(number / 20.0, part="slow"))
    for number in range(21, 26):
        progress.feed(answered(number, part="slow"))
    left = progress.seconds_left()
    assert left is not None
    assert left[0] < 85 / (15 / 25) < left[1]  # not (85 + 1600) at the pace of all together
    assert left[1] < 250


def test_answers_that_come_in_bursts_tell_the_pace_of_the_rounds() -> None:
    progress = Progress()
    progress.feed(event("plan", part="es", total=2000))
    result = []
    for number in range(5):
        for _ in range(16):
            progress.feed(answered(4.0 * (number + 1)))
            result.append(progress.seconds_left())
    assert result[:16] == [None] * 16  # one round is no pace: as many came together as were asked together
    assert all(one is not None and one[1] < 4 * one[0] for one in result[32:])
    assert result[-1] is not None
    assert result[-1][0] < (2000 - 80) / 4 < result[-1][1]


def test_a_cap_ends_the_run_before() -> None:
    def left(**caps: Any) -> tuple[float, float] | None:
        progress = Progress(RunAnnouncement(limits=BudgetLimits(**caps)))
        progress.feed(event("plan", part="es", total=1000))
        for number in range(1, 101):
            progress.feed(answered(float(number)))
        return progress.seconds_left()

    assert left(calls=150) == (50.0, 50.0)
    assert left(usd=60.0) == pytest.approx((20.0, 20.0))
    assert left(seconds=400.0, before=Cost(seconds=290.0)) == (10.0, 10.0)
    uncapped = left()
    assert uncapped is not None
    assert uncapped[0] < 900 < uncapped[1]


def test_what_comes_in_later_goes_counts_from_the_beginning() -> None:
    progress = Progress(RunAnnouncement(units={"es": 1000}))
    progress.feed(event("plan", part="es", total=100))
    for number in range(1, 101):
        progress.feed(answered(float(number)))
    progress.feed(event("part-done", 100.0, part="es", done=100, failed=0))
    assert (progress.done, progress.total) == (100, 1000)
    left = progress.seconds_left()
    assert left is not None
    assert left[0] < 900 < left[1]


def test_a_run_that_slows_down_widens_the_range_towards_the_slow_end() -> None:
    progress = Progress()
    progress.feed(event("plan", part="es", total=1000))
    now = 0.0
    for number in range(200):
        now += 0.1 if number < 150 else 2.0
        progress.feed(answered(now))
    left = progress.seconds_left()
    assert left is not None
    low, high = left
    assert high > 800 * 2.0
    assert low < 800 * now / 200
    assert progress.rate == pytest.approx(0.5)


def test_a_part_that_is_over_has_nothing_left() -> None:
    progress = Progress()
    progress.feed(event("plan", part="es", total=60))
    progress.feed(event("plan", part="it", total=1000))
    for number in range(1, 41):
        progress.feed(answered(number / 10.0))
    progress.feed(event("stopped", 4.0, service="x", error="service.refused", detail=""))
    progress.feed(event("part-done", 4.0, part="it", done=0, failed=0))
    left = progress.seconds_left()
    assert left is not None
    assert left[1] < 4.0
    assert progress.stopped == {"x": "service.refused"}


def test_all_at_one_instant_tells_no_time() -> None:
    progress = Progress()
    progress.feed(event("plan", part="es", total=100))
    for _ in range(50):
        progress.feed(answered(0.0))
    assert progress.seconds_left() is None
    assert progress.rate is None


@pytest.mark.parametrize("at_once", [1, 16])
def test_what_was_announced_is_corrected_by_the_first_answers(at_once: int) -> None:
    seconds = 1.5 * 400 / at_once

    def corrected(said: float) -> list[tuple[int, float]]:
        model = asyncio.Semaphore(at_once)

        async def slow(messages: Sequence[Message]) -> list[Reply]:
            async with model:
                await asyncio.sleep(1.5)
            return [Reply(message.text) for message in messages]

        def watch(found: dict[str, Any]) -> None:
            progress.feed(found)
            if (likely := progress.revised_duration()) is not None:
                result.append((progress.done, likely))

        scripted("slow", slow)
        progress, result = Progress(RunAnnouncement(said)), list[tuple[int, float]]()
        jobs = [Job("es", Scripted(name="slow", timeout=600), units(400))]
        run(jobs, lambda *answers: None, watch=watch, engine=LocalEngine(clock=VirtualTime().clock))
        return result

    done, likely = corrected(seconds / 20)[0]
    assert done <= max(12, 4 * at_once)
    assert seconds / 1.6 < likely < 1.6 * seconds
    assert corrected(seconds) == []


def test_a_few_seconds_more_are_not_worth_a_word() -> None:
    progress = Progress(RunAnnouncement(2.0))
    progress.feed(event("plan", part="es", total=100))
    for number in range(1, 101):
        progress.feed(answered(number / 10.0))
        assert progress.revised_duration() is None


def beside_a_quick_service(units: int, then: float) -> list[tuple[float, float]]:
    """A service answers once a second while another keeps the machine busy for 12 s, then `then` a second."""
    progress = Progress(RunAnnouncement(14.0))
    progress.feed(event("plan", part="quick", service="quick", total=1200))
    progress.feed(event("plan", part="slow", service="slow", total=units))
    answers = [(number / 100.0, "quick") for number in range(1, 1201)]
    answers += [(float(second), "slow") for second in range(1, 13)]
    answers += [(12.0 + number / then, "slow") for number in range(1, units - 11)]
    revised = []
    for seconds, part in sorted(answers):
        progress.feed(answered(seconds, part))
        if (likely := progress.revised_duration()) is not None:
            revised.append((seconds, likely))
    return revised


def test_a_service_slowed_by_others_is_not_announced_as_slow_by_itself() -> None:
    assert beside_a_quick_service(units=488, then=40.0) == []


def test_a_slow_service_beside_a_quick_one_is_announced_within_a_minute() -> None:
    at, likely = beside_a_quick_service(units=2000, then=1.0)[0]
    assert 12.0 < at <= 61.0
    assert 1600 < likely < 2500


def test_a_model_that_takes_long_to_load_is_not_announced_as_slow() -> None:
    progress = Progress(RunAnnouncement(400.0))
    progress.feed(event("plan", part="es", total=400))
    for number in range(400):
        progress.feed(answered(60.0 + number))
        assert progress.revised_duration() is None


def test_progress_of_a_real_run_agrees_with_its_outcome() -> None:
    scripted("one", echo)
    progress = Progress()
    seen: set[str] = set()

    def watch(found: dict[str, Any]) -> None:
        seen.add(found["event"])
        progress.feed(found)

    outcome = run(
        [Job("one", Scripted(name="one"), units(90))],
        lambda *answers: None,
        watch=watch,
        engine=LocalEngine(clock=VirtualTime().clock),
    )
    assert progress.over
    assert progress.parts["one"].over
    assert (progress.done, progress.calls) == (90, outcome.calls)
    assert seen <= set(KINDS)


def test_a_plan_that_is_asked_in_several_goes_adds_up() -> None:
    progress = Progress()
    for go in range(3):
        begun = 10.0 * go
        progress.feed(event("plan", begun, part="it", total=2))
        assert not progress.over
        assert not progress.parts["it"].over
        for place in range(2):
            facts = {"part": "it", "status": "answered", "error": None, "millis": 1.0}
            progress.feed(event("answer", begun + place, **facts, usd=0.5, tokens=3, calls=1))
        progress.feed(event("part-done", begun + 2, part="it", done=2, failed=0))
        progress.feed(event("done", begun + 2, stopped=None, calls=2, usd=1.0, tokens=6))
        assert progress.over
    assert (progress.done, progress.total, progress.calls) == (6, 6, 6)
    assert (progress.usd, progress.tokens) == (3.0, 18)
