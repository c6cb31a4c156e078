"""Services that keep the loop to themselves: bots and models that compute where the engine waits."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.engine.virtual import Batched, Live, Scripted, VirtualTime, echo, scripted, units
from trustgauge.engine import EngineClock
from trustgauge.engine.local import BudgetLimits, EngineOutcome, Interruption, Job, LocalEngine, run
from trustgauge.records import Answer, Message, Reply

LOOPS = [EngineClock().loop, asyncio.new_event_loop]
"""The quickest loop installed, and that of Python, which looks at its timers at another time."""


class Slow(Scripted):
    """A service that takes some time to open, as one that reads a model does."""

    seconds: float

    def open(self) -> Live:
        time.sleep(self.seconds)
        return super().open()


def _compute(seconds: float) -> None:
    time.sleep(seconds)


def busy(name: str, seconds: float, told: list[str] | None = None) -> Live:
    """A service that computes its answers in the thread of the loop, so many seconds a call."""

    async def answer(messages: Sequence[Message]) -> list[Reply]:
        _compute(seconds)
        if told is not None:
            told.append(name)
        return [Reply("fine") for _ in messages]

    return scripted(name, answer)


def asked(
    *jobs: Job,
    limits: BudgetLimits | None = None,
    loop: Callable[[], asyncio.AbstractEventLoop] | None = None,
) -> tuple[EngineOutcome, list[Answer], list[dict[str, Any]]]:
    kept: list[Answer] = []
    events: list[dict[str, Any]] = []
    clock = EngineClock() if loop is None else EngineClock(loop)
    outcome = run(
        jobs, lambda *more: kept.extend(more), limits, events.append, engine=LocalEngine(clock=clock)
    )
    return outcome, kept, events


@pytest.mark.parametrize("loop", LOOPS)
def test_opening_a_service_may_take_longer_than_a_call(
    loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    """A call that was not made yet is not late; one that is cut off before it begins never ends."""
    for name in ("one", "two"):
        scripted(name, echo)
    jobs = [
        Job("one", Slow(name="one", seconds=0.3, timeout=0.1), units(40)),
        Job("two", Slow(name="two", seconds=0.3, timeout=0.1), units(40)),
    ]
    outcome, kept, _ = asked(*jobs, limits=BudgetLimits(seconds=5), loop=loop)
    assert outcome.stopped is None
    assert (len(kept), outcome.calls) == (80, 80)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize(("seconds", "timeout"), [(0.8, 0.4), (0.2, 0.1)])
def test_a_call_is_not_late_while_others_keep_the_loop(
    loop: Callable[[], asyncio.AbstractEventLoop], seconds: float, timeout: float
) -> None:
    """What was answered in time is not asked, and paid, again because it could not be read in time."""

    async def prompt(messages: Sequence[Message]) -> list[Reply]:
        here = asyncio.get_running_loop()
        answered: asyncio.Future[None] = here.create_future()
        timer = threading.Timer(0.05, lambda: here.call_soon_threadsafe(answered.set_result, None))
        timer.start()
        await answered
        return [Reply("fine") for _ in messages]

    scripted("prompt", prompt)
    busy("busy", seconds)
    jobs = [
        Job("prompt", Scripted(name="prompt", timeout=timeout), units(4)),
        Job("busy", Scripted(name="busy", concurrency=1), units(2, "other")),
    ]
    outcome, kept, events = asked(*jobs, loop=loop)
    assert [answer.status for answer in kept] == ["answered"] * 6
    assert outcome.calls == 6
    assert not [event for event in events if event["event"] in ("slowed", "retry")]


def test_services_that_compute_take_turns() -> None:
    result: list[str] = []
    for name in ("one", "two"):
        busy(name, 0.0, result)
    asked(*(Job(name, Batched(name=name, concurrency=1), units(100)) for name in ("one", "two")))
    assert len(result) == 20
    assert result[:10].count("one") == result[:10].count("two") == 5


def test_a_limit_of_time_holds_for_a_service_that_computes() -> None:
    busy("busy", 0.01)
    began = time.monotonic()
    outcome, kept, _ = asked(Job("busy", Scripted(name="busy"), units(300)), limits=BudgetLimits(seconds=0.3))
    assert outcome.stopped == "limit reached: seconds 0.3"
    assert time.monotonic() - began < 1.5
    assert 0 < len(kept) < 100


def test_a_signal_stops_a_service_that_computes() -> None:
    kept: list[Answer] = []

    def keep(*answers: Answer) -> None:
        kept.extend(answers)
        if len(kept) == 10:
            os.kill(os.getpid(), signal.SIGINT)

    busy("busy", 0.01)
    with pytest.raises(Interruption) as stopped:
        run([Job("busy", Scripted(name="busy", concurrency=1), units(300))], keep)
    assert stopped.value.outcome.tallies["busy"].done == len(kept) < 30


def test_a_call_that_hangs_beside_one_that_computes_is_cut_off() -> None:
    """However late each look is: a loop that is always busy must not keep a dead call alive."""
    time_ = VirtualTime()
    cut: list[float] = []

    async def hang(messages: Sequence[Message]) -> list[Reply]:
        if not cut:
            try:
                await asyncio.Event().wait()
            finally:
                cut.append(time_.seconds)
        return [Reply("fine") for _ in messages]

    async def compute(messages: Sequence[Message]) -> list[Reply]:
        assert time_.loop is not None
        time_.loop.now += 7.0
        return [Reply("fine") for _ in messages]

    scripted("hung", hang)
    scripted("busy", compute)
    kept: list[Answer] = []
    jobs = [
        Job("hung", Scripted(name="hung", timeout=10.0, concurrency=1), units(2)),
        Job("busy", Scripted(name="busy", concurrency=1), units(60, "other")),
    ]
    run(jobs, lambda *more: kept.extend(more), engine=LocalEngine(clock=time_.clock))
    assert [answer.status for answer in kept] == ["answered"] * 62
    assert cut[0] < 10.0 + 8 * 7.0
