"""Asking services, as fast as each allows and never beyond a limit.

Here stands what every engine shares: the clock, the retry policy and the state of a run, and its events with
the progress that they add up to. `local` is the engine of one machine.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import sqrt
from typing import Any, Protocol

from trustgauge.engine.budget import BudgetAccount, BudgetLimits
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


__all__ = ["KINDS", "Event", "PartProgress", "Progress", "RunAnnouncement", "Watch"]

KINDS = (
    *("plan", "answer", "broken", "retry", "slowed", "breaker", "stopped"),
    *("lost", "limit", "halted", "part-done", "done"),
)

FIRST = 12
"""Answers of a service before its pace is known."""

_ALL = " "  # what no service is called: the pace of all together
_ROUNDS = 3
_MOMENT = 1.0  # seconds; no pace is read off a shorter time
_WIDER = 1.2  # a range of time left is at least this factor to both sides of the rates seen
_WRONG = 2.0  # an announced duration is wrong by more than this factor
_MATTERS = 10.0  # seconds of difference that nobody needs to be told of


@dataclass(frozen=True, slots=True)
class RunAnnouncement:
    """What was said of a run before it began.

    Attributes:
        seconds: how long it would take; None if nothing was said.
        units: part -> what is to be asked of it in all, as a large plan is asked in several goes.
        limits: its caps; a run ends there, whatever is left.
    """

    seconds: float | None = None
    units: Mapping[str, int] = field(default_factory=dict)
    limits: BudgetLimits = field(default_factory=BudgetLimits)


@dataclass(slots=True)
class PartProgress:
    """How far one part has come."""

    service: str = ""
    total: int = 0
    done: int = 0  # answered or given up
    failed: int = 0
    over: bool = False


class _Pace:
    """How quickly one service answers. All times are seconds since the run began.

    Answers may come in bursts, as many together as calls were under way. So nothing is read off less than
    three rounds, and "lately" is at least one of them.
    """

    __slots__ = ("_before", "_began", "_last", "_mark", "_round", "done")

    def __init__(self, began: float) -> None:
        self.done = 0
        self._began = self._last = began
        self._round = 0.0  # seconds to the first answer
        self._before = self._mark = (began, 0)

    def feed(self, at: float) -> None:
        """Take an answer."""
        if not self.done:
            self._round = at - self._began
        self.done += 1
        self._last = max(self._last, at)
        since, done = self._mark
        if self.done - done >= FIRST and self._last - since >= max(self._round, _MOMENT):
            self._before, self._mark = self._mark, (self._last, self.done)

    def _speed(self, since: float, units: int) -> float | None:
        seconds = self._last - since
        return units / seconds if seconds > 0 and units else None

    @property
    def lately(self) -> float | None:
        """Units a second over the last one or two rounds."""
        since, done = self._before
        return self._speed(since, self.done - done)

    def seconds_for(self, units: int) -> tuple[float, float] | None:
        """The time that so many more units take; None if the pace is not known yet.

        Between what the pace of the whole run and that of the last rounds say, and a fifth wider: a pace
        seen so far is no promise.
        """
        if self.done < FIRST or self._last - self._began < max(_ROUNDS * self._round, _MOMENT):
            return None
        rates = [rate for rate in (self.lately, self._speed(self._began, self.done)) if rate]
        return (units / max(rates) / _WIDER, units / min(rates) * _WIDER) if rates else None


@dataclass(slots=True)
class Progress:
    """Adds events up. Feed it every event in order; it asks no clock of its own."""

    announced: RunAnnouncement = field(default_factory=RunAnnouncement)

    parts: dict[str, PartProgress] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)  # code -> calls that failed with it
    retries: int = 0
    calls: int = 0
    usd: float = 0.0
    tokens: int = 0
    slowed: dict[str, Event] = field(default_factory=dict)  # service -> how it is slowed
    stopped: dict[str, str] = field(default_factory=dict)  # service -> error code
    reason: str = ""  # why nothing more is sent
    over: bool = False
    _began: datetime | None = None
    _lasted: float = 0.0  # seconds since then
    _before: tuple[float, int, int] = (0.0, 0, 0)  # of goes that are over: dollars, tokens, calls
    _paces: dict[str, _Pace] = field(default_factory=dict)  # by service

    def feed(self, event: Mapping[str, Any]) -> None:
        """Take the next event. Unknown kinds are passed over."""
        at = datetime.fromisoformat(event["at"])
        self._began = self._began or at
        self._lasted = (at - self._began).total_seconds()
        take = _TAKES.get(event["event"])
        if take is not None:
            take(self, event)

    @property
    def done(self) -> int:
        return sum(part.done for part in self.parts.values())

    @property
    def total(self) -> int:
        return sum(map(self._whole, {**self.announced.units, **self.parts}))

    def _whole(self, name: str) -> int:
        """What is to be asked of a part in all goes, as far as it is known."""
        part = self.parts.get(name)
        return max(part.total if part else 0, self.announced.units.get(name, 0))

    @property
    def rate(self) -> float | None:
        """Units a second, lately; None before there is anything to tell."""
        return self._paces[_ALL].lately if self._paces else None

    def seconds_left(self) -> tuple[float, float] | None:
        """The time left as a range, None before it can be told.

        Every service goes on at its own pace, side by side; the slowest decides. A cap ends the run before.
        """
        left: Counter[str] = Counter()
        for name, part in self.parts.items():
            stopped = part.over and part.done < part.total
            left[part.service] += 0 if stopped else self._whole(name) - part.done
        spans = [self._paces[service].seconds_for(units) for service, units in left.items() if units]
        known = [span for span in spans if span is not None]
        if self.over or not spans or len(known) < len(spans):
            return None
        low, high = (max(span[end] for span in known) for end in (0, 1))
        cap = min(self._caps(), default=high)
        return min(low, cap), min(high, cap)

    def _caps(self) -> list[float]:
        """Seconds until each cap is reached, at the pace of the run so far."""
        limits, lasted = self.announced.limits, self._lasted
        seconds = [] if limits.seconds is None else [limits.seconds - limits.before.seconds - lasted]
        for name in ("calls", "usd", "tokens"):
            most, spent = getattr(limits, name), getattr(self, name)
            if most is not None and spent:
                seconds.append((most - getattr(limits.before, name) - spent) * lasted / spent)
        return [max(0.0, one) for one in seconds]

    def corrected(self) -> float | None:
        """How long the run takes at the pace seen so far; None unless it was announced quite otherwise."""
        left, said = self.seconds_left(), self.announced.seconds
        if left is None or said is None:
            return None
        low, high = (self._lasted + one for one in left)
        likely = sqrt(low * high)
        wrong = low > _WRONG * said or said > _WRONG * high
        return likely if wrong and abs(likely - said) >= _MATTERS else None

    def _plan(self, event: Mapping[str, Any]) -> None:
        part = self.parts.setdefault(event["part"], PartProgress())
        part.service = event.get("service") or event["part"]
        for name in (_ALL, part.service):
            self._paces.setdefault(name, _Pace(self._lasted))
        part.total += event["total"]
        part.over = self.over = False  # a large plan is asked in several goes

    def _answer(self, event: Mapping[str, Any]) -> None:
        part = self.parts.get(event["part"]) or self.parts.setdefault(event["part"], PartProgress())
        part.done += 1
        self.calls += event["calls"]
        self.usd += event["usd"]
        self.tokens += event["tokens"]
        if part.service in self._paces:  # else it was not said what is planned
            self._paces[part.service].feed(self._lasted)
            self._paces[_ALL].feed(self._lasted)
        if event["status"] == "failed":
            part.failed += 1
            self.errors[event["error"]] += 1

    def _retry(self, event: Mapping[str, Any]) -> None:
        self.retries += event["calls"]
        self.errors[event["error"]] += event["calls"]

    def _slowed(self, event: Mapping[str, Any]) -> None:
        self.slowed[event["service"]] = dict(event)

    def _stopped(self, event: Mapping[str, Any]) -> None:
        self.stopped[event["service"]] = event["error"]

    def _halted(self, event: Mapping[str, Any]) -> None:
        self.reason = event["reason"]

    def _part_done(self, event: Mapping[str, Any]) -> None:
        self.parts.setdefault(event["part"], PartProgress()).over = True

    def _done(self, event: Mapping[str, Any]) -> None:
        self.over = True
        usd, tokens, calls = self._before
        self._before = usd + event["usd"], tokens + event["tokens"], calls + event["calls"]
        self.usd, self.tokens, self.calls = self._before


_TAKES = {
    "plan": Progress._plan,
    "answer": Progress._answer,
    "retry": Progress._retry,
    "slowed": Progress._slowed,
    "stopped": Progress._stopped,
    "limit": Progress._halted,
    "halted": Progress._halted,
    "part-done": Progress._part_done,
    "done": Progress._done,
}
