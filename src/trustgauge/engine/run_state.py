"""What all parts of one run share: its clock, budget, watcher, when to retry, and whether it is to end."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from trustgauge.engine.budget import BudgetAccount
from trustgauge.errors import BusyError, GarbledError, ServiceError
from trustgauge.records import Answer

Event = dict[str, Any]
Watch = Callable[[Event], None]


_TRUSTED = 2  # times a service's own word on when to come back is taken for it
_PATIENT = 2  # further probes of a service that is busy: it is alive


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


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The policy of retries. Times in seconds.

    `attempts` is the most times one message is sent to one service; `garbled` the same while the
    answers cannot be read, `busy` while the service refuses it as too many: that says nothing of the
    message. Waits double from `first` to `most`, with jitter over their upper half. A service that
    asks to wait longer than `patience` is stopped instead.
    """

    attempts: int = 6
    busy: int = 16
    garbled: int = 3
    first: float = 0.5
    most: float = 30.0
    patience: float = 900.0

    def again(self, error: ServiceError, tries: int) -> bool:
        """Whether a message that was sent `tries` times is sent again after this error."""
        most = self.attempts
        if isinstance(error, (GarbledError, BusyError)):
            most = self.garbled if isinstance(error, GarbledError) else self.busy
        return error.retry and tries < most

    def wait(self, tries: int, chance: float) -> float:
        """Seconds before the next attempt; `chance` is uniform in [0, 1)."""
        longest = min(self.most, self.first * 2.0 ** min(max(tries, 1) - 1, 30))
        return longest * (0.5 + 0.5 * chance)

    def wait_asked(self, asked: float | None, tries: int, chance: float) -> float:
        """The same where the service may have asked for a wait: that, and more if it does not help."""
        if asked is None:
            return self.wait(tries, chance)
        return asked if tries <= _TRUSTED else max(asked, self.wait(tries - _TRUSTED, chance))


class CircuitBreaker:
    """Tells a service that is plainly down from one that fails now and then.

    After `streak` failed calls without a success between them the service is *probed*: one call
    at a time, each after a longer wait. After `probes` failed probes the breaker is *open*: the
    service is not asked again in this run; one that says "busy" has two probes more. Any sign of life
    closes it. A service that is alive but never gave a single usable answer to `useless` calls (a
    wrong address, say) opens it too.
    """

    def __init__(self, streak: int = 8, probes: int = 4, useless: int = 20) -> None:
        self._most, self._most_probes, self._most_useless = streak, probes, useless
        self._streak = self._useless = 0
        self._ever = False
        self.probes = 0
        self.probing = False

    def failed(self, *, busy: bool = False) -> bool:
        """Note a call that got no answer. True when the breaker opens."""
        if self.probing:
            self.probes += 1
            return self.probes >= self._most_probes + _PATIENT * busy
        self._streak += 1
        self.probing = self._streak >= self._most
        return False

    def declined(self) -> bool:
        """Note an answer that was a rejection or unreadable. True when the breaker opens."""
        self._alive()
        self._useless += 1
        return not self._ever and self._useless >= self._most_useless

    def worked(self) -> bool:
        """Note a success. True if the service was being probed."""
        self._ever = True
        return self._alive()

    def _alive(self) -> bool:
        was, self.probing = self.probing, False
        self._streak = self.probes = 0
        return was
