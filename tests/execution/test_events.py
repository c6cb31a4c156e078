"""What events add up to."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.execution.virtual import Scripted, VirtualTime, echo, scripted, units
from trustgauge.execution.engine import Job, Local, run
from trustgauge.execution.events import KINDS, Progress

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


def test_time_left_is_a_range_from_the_thirtieth_unit_on() -> None:
    progress = Progress()
    progress.feed(event("plan", part="es", total=300))
    for number in range(1, 30):
        progress.feed(answered(number / 10.0))
        assert progress.seconds_left() is None
    progress.feed(answered(3.0))
    left = progress.seconds_left()
    assert left is not None
    low, high = left
    assert low < 27.0 < high  # 270 units at 10 a second
    assert progress.rate == pytest.approx(10.0)


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
        engine=Local(clock=VirtualTime().clock),
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
