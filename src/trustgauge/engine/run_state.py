"""What all parts of one run share: its clock, budget, watcher, and whether it is to end."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from trustgauge.engine.budget import BudgetAccount
from trustgauge.engine.retry import RetryPolicy
from trustgauge.records import Answer

Event = dict[str, Any]
Watch = Callable[[Event], None]


class AnswerSink(Protocol):
    """Where answers go. The answers of one call (the turns of a session) belong together.

    It may raise a ServiceError: the answers are kept, and reason enough to ask the part no further.
    """

    def __call__(self, *answers: Answer) -> None: ...


def _new_loop() -> asyncio.AbstractEventLoop:
    """The quickest event loop installed."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


def _utc() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class EngineClock:
    """All of an engine's time: waits, time-outs and latencies are the loop's; `utc` (aware) dates rows."""

    loop: Callable[[], asyncio.AbstractEventLoop] = _new_loop
    utc: Callable[[], datetime] = _utc


class RunState:
    """The state of one run. `under_way` counts calls, `pending` everything that is yet to happen.

    The run is idle when both are 0; whoever changes one of them calls `settle`, which asks
    `ended` (set by the engine) soon after.
    """

    def __init__(
        self, clock: EngineClock, budget: BudgetAccount, retry: RetryPolicy, watch: Watch | None
    ) -> None:
        self.loop = asyncio.get_running_loop()
        self.clock, self.budget, self.retry, self.watch = clock, budget, retry, watch
        self.chance: Callable[[], float] = random.Random(0).random  # only spreads waits
        self.under_way = 0
        self.pending = 0
        self.halted = ""
        self.fault: BaseException | None = None
        self.ended: Callable[[], None] = _nothing
        self.released: Callable[[], None] = _nothing
        self._settling = False

    def at(self) -> str:
        """The time as rows and events give it: ISO 8601, UTC, milliseconds."""
        return self.clock.utc().isoformat(timespec="milliseconds")[:-6] + "Z"

    def emit(self, event: str, at: str = "", **facts: Any) -> None:
        """Tell the watcher, if there is one."""
        if self.watch is not None:
            self.watch({"event": event, "at": at or self.at(), **facts})

    def halt(self, reason: str) -> None:
        """Send nothing more; calls under way may end. The first reason stands."""
        if not self.halted:
            self.halted = reason
            self.emit("limit" if reason.startswith("limit") else "halted", reason=reason)
        self.settle()

    def fail(self, error: BaseException) -> None:
        """Our own side broke (the disk, the watcher): end the run and raise this."""
        if self.fault is None:
            self.fault = error
        self.halted = self.halted or "error"
        self.settle()

    def later(self, seconds: float, act: Callable[[], None]) -> asyncio.TimerHandle:
        """Do something after so many seconds, unless the run ends before."""
        self.pending += 1
        return self.loop.call_later(seconds, self._happen, act)

    def soon(self, act: Callable[[], None]) -> None:
        """Do something once what is going on now is done."""
        self.pending += 1
        self.loop.call_soon(self._happen, act)

    def _happen(self, act: Callable[[], None]) -> None:
        self.pending -= 1
        try:
            act()
        except Exception as error:
            self.fail(error)
        self.settle()

    def settle(self) -> None:
        """See soon whether the run has ended; not while calls are under way, whose end settles it."""
        if (not self.under_way or self.fault is not None) and not self._settling:
            self._settling = True
            self.loop.call_soon(self._settle)

    def _settle(self) -> None:
        self._settling = False
        try:
            self.ended()
        except Exception as error:
            self.fault = self.fault or error
            self.halted = self.halted or "error"


def _nothing() -> None:
    """Nobody waits yet."""
