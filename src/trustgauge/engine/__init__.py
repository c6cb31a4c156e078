"""Asking services, as fast as each allows and never beyond a limit.

Here stands what every engine shares: the budget, the clock, the retry policy, the state of a run and the
kinds of its events, which `progress` adds up. `local` is the engine of one machine.

The budget is a hard cap on calls, money, tokens and time, held to the call whatever is under way at once, by
a write-ahead ledger. A process that is killed cannot say how many calls were under way. So calls, dollars and
tokens are reserved on disk in blocks, and a block is written and synced before the first call of it goes out.
A block is what goes out in a moment, so at the pace of most services a single call. What a killed process had
reserved beyond its stored answers counts as spent.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from trustgauge.errors import BusyError, GarbledError, ServiceError, StoreError
from trustgauge.records import Answer, Cost
from trustgauge.store.folder import map_errors, open_private

NAME = "ledger.jsonl"
SHARE = 50
"""Blocks in what an invocation has left of a cap, at least."""
LARGEST = 1_000  # calls of a block
UNCAPPED = 200  # calls of a block where nothing caps them
PAUSE = 0.05
"""Seconds that a block lasts, unless it takes long to write."""
_DUST_TOKENS = 1e-6  # rounding of tokens that were reserved
_WRITING = 10.0  # times as long as it takes to write that a block lasts at least


class ReservationLedger:
    """Reservations of one invocation, in a file of JSON lines.

    Args:
        path: the file; it stays if the invocation is killed, and `close` removes it.
        left: what the invocation may spend at most, None where there is no cap.
        kept: what the answers that are kept already cost; the first line of the file.
        clock: seconds, from any beginning.
    """

    def __init__(
        self,
        path: Path,
        left: tuple[int | None, float | None, int | None],
        kept: Cost,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        calls, usd, tokens = left
        self._path, self._left, self._kept, self._clock = path, left, kept, clock
        self._largest = (
            UNCAPPED if calls is None else min(LARGEST, max(1, calls // SHARE)),
            None if usd is None else usd / SHARE,
            None if tokens is None else max(1, tokens // SHARE),
        )
        self._block = 1  # calls
        self._written = -math.inf
        self._took = 0.0  # seconds to write the last block
        self._reserved: tuple[float, ...] = (0, 0.0, 0)
        self._file: int | None = None

    def cover(self, calls: int, usd: float, tokens: int) -> None:
        """Ensure that at least so much of this invocation is reserved on disk. Blocks until it is.

        Raises OSError if the file cannot be written; nothing may be sent then.
        """
        total = (calls, usd, tokens)
        capped = [largest is not None for largest in self._largest]  # calls always come in blocks
        if all(now <= have or not cap for now, have, cap in zip(total, self._reserved, capped, strict=True)):
            return
        self._adapt()
        calls_then = max(self._reserved[0], _within(calls + self._block, self._left[0], calls))
        each = calls_then / max(1, calls)  # dollars and tokens grow with the calls
        self._reserved = tuple(
            max(have, now * each if largest is None else _within(min(now + largest, now * each), left, now))
            for now, have, largest, left in zip(total, self._reserved, self._largest, self._left, strict=True)
        )
        self._reserved = (calls_then, *self._reserved[1:])
        began = self._clock()
        self._write(list(self._reserved))
        self._written = self._clock()
        self._took = self._written - began

    def _adapt(self) -> None:
        """Let the next block be what goes out in a pause, at the pace of the last one."""
        lasted = max(self._clock() - self._written, 1e-6)
        pause = max(PAUSE, _WRITING * self._took)
        at_this_pace = min(2 * self._block, math.ceil(self._block * pause / lasted))
        self._block = max(1, min(self._largest[0], at_this_pace))

    def _write(self, line: list[float]) -> None:
        if self._file is None:
            self._file = open_private(self._path, os.O_WRONLY | os.O_TRUNC)
            self._append([self._kept.calls, self._kept.usd, self._kept.tokens])
        self._append(line)
        os.fsync(self._file)

    def _append(self, line: list[float]) -> None:
        assert self._file is not None
        data = json.dumps(line).encode() + b"\n"
        while data:
            data = data[os.write(self._file, data) :]

    def close(self) -> None:
        """The invocation has ended and what it spent is noted: the reservations are not needed any more."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
        self._path.unlink(missing_ok=True)


def _within(wanted: float, left: float | None, least: float) -> float:
    """The wanted amount, within the cap, but never below what is needed now."""
    return wanted if left is None else max(least, min(wanted, left))


def unaccounted_cost(path: Path, kept: Cost) -> Cost:
    """What a killed invocation may have spent beyond the answers that are kept; nothing if it ended.

    Args:
        path: of its ledger.
        kept: what all kept answers cost now.

    Raises:
        StoreError: the ledger cannot be read, or is none.
    """
    try:
        with map_errors(path):
            lines = path.read_bytes().split(b"\n")[:-1]  # a torn last line covered no call
    except StoreError:
        if not path.exists():
            return Cost()
        raise
    if len(lines) < 2:
        return Cost()
    (calls, usd, tokens), reserved = _amounts(path, lines[0]), _amounts(path, lines[-1])
    return Cost(
        max(0, int(reserved[0]) - (kept.calls - int(calls))),
        max(0.0, float(reserved[1]) - (kept.usd - float(usd))),
        max(0, math.ceil(reserved[2] - _DUST_TOKENS) - (kept.tokens - int(tokens))),
    )


def _amounts(path: Path, line: bytes) -> tuple[float, float, float]:
    """Calls, dollars and tokens of a line."""
    try:
        calls, usd, tokens = json.loads(line)
        found = float(calls), float(usd), float(tokens)
        if not all(math.isfinite(one) and one >= 0 for one in found):
            raise ValueError("amounts that are none")
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise StoreError(
            f"{path} is damaged",
            must="calls, dollars and tokens in each line",
            got=str(error)[:80],
            do="restore it, or remove it: what a killed run may have spent is then not counted",
        ) from None
    return found


_DUST = 1e-12  # rounding of sums of dollars


@dataclass(frozen=True, slots=True)
class BudgetLimits:
    """What a run may spend at most, None for no limit; `before` is what earlier sittings spent.

    A *call* is one message sent to one service once: a message of a batch, a leg of a chain and
    every retry count one each. `seconds` is the time of all sittings together.
    """

    calls: int | None = None
    usd: float | None = None
    tokens: int | None = None
    seconds: float | None = None
    before: Cost = field(default_factory=Cost)


def plain_usd(amount: float) -> str:
    """Dollars in digits, with cents; less than one in hundredths of a cent.

    >>> plain_usd(5), plain_usd(0.002), plain_usd(0)
    ('5.00', '0.0020', '0.00')
    """
    return f"{amount:.4f}" if 0 < amount < 0.01 else f"{amount:.2f}"


class BudgetAccount:
    """Keeps the account of one run. Nothing is sent that was not reserved here, and in the ledger, first.

    The price of a call is known before it where the service declares one, and is then exact.
    Where only the reply tells the price (`Reply.usd`, `Reply.tokens`), the dearest reply seen so far is
    reserved, and the first call goes alone. Beyond that each call under way leaves room for what it may cost
    more: so long as none costs more than it may, such a cap can be passed by one call only.
    """

    def __init__(self, limits: BudgetLimits, ledger: ReservationLedger | None = None) -> None:
        self.limits, self._ledger = limits, ledger
        self.calls, self.usd, self.tokens = limits.before.calls, limits.before.usd, limits.before.tokens
        self._lasted = limits.before.seconds
        self._held_usd = 0.0
        self._held_tokens = 0
        self._beyond: tuple[float, int] = (0.0, 0)  # what calls under way may cost more than is held
        self._planned = (0, 0.0, 0)  # calls, dollars and tokens set aside

    @property
    def seconds(self) -> float | None:
        """Seconds left for this invocation, None for no limit."""
        if self.limits.seconds is None:
            return None
        return max(0.0, self.limits.seconds - self._lasted)

    def add_seconds(self, seconds: float) -> None:
        """Note how long a run took."""
        self._lasted += seconds

    @property
    def exhausted(self) -> bool:
        """Whether no further call can ever be sent."""
        return self.limits.calls is not None and self.calls >= self.limits.calls

    def room(self, usd: Sequence[float], tokens: int, beyond: Sequence[tuple[float, int]] = ()) -> int:
        """How many of the calls at these prices, in order, can be reserved now.

        Args:
            usd: the price of each call in dollars.
            tokens: reserved for each.
            beyond: what each may cost more, dollars and tokens; the next one must fit beside that.
        """
        limits, fits = self.limits, 0
        most = len(usd) if limits.calls is None else min(len(usd), limits.calls - self.calls)
        left_usd = math.inf if limits.usd is None else limits.usd - self.usd - self._held_usd + _DUST
        left_tokens = math.inf
        if limits.tokens is not None:
            left_tokens = limits.tokens - self.tokens - self._held_tokens
        more_usd, more_tokens = self._beyond
        while fits < most:
            left_usd, left_tokens = left_usd - usd[fits], left_tokens - tokens
            if left_usd < more_usd or left_tokens < more_tokens or (not tokens and left_tokens <= 0):
                break
            if beyond:
                more_usd, more_tokens = more_usd + beyond[fits][0], more_tokens + beyond[fits][1]
            fits += 1
        return fits

    def take(self, calls: int, usd: float, tokens: int, beyond: tuple[float, int] = (0.0, 0)) -> None:
        """Reserve: the calls are spent at once, money and tokens are set aside until `settle`."""
        self.calls += calls
        self._held_usd += usd
        self._held_tokens += tokens
        self._beyond = (self._beyond[0] + beyond[0], self._beyond[1] + beyond[1])
        self._cover()

    def _cover(self) -> None:
        """Have all of this on disk before anything is sent."""
        if self._ledger is not None:
            before = self.limits.before
            usd, tokens = self.usd + self._held_usd, self.tokens + self._held_tokens
            self._ledger.cover(self.calls - before.calls, usd - before.usd, tokens - before.tokens)

    def settle(
        self, reserved: tuple[float, int], usd: float, tokens: int, beyond: tuple[float, int] = (0.0, 0)
    ) -> None:
        """Give back what was set aside for some calls, and book what they cost."""
        self._held_usd -= reserved[0]
        self._held_tokens -= reserved[1]
        self._beyond = (self._beyond[0] - beyond[0], self._beyond[1] - beyond[1])
        self.usd += usd
        self.tokens += tokens
        self._cover()

    def plan(self, calls: int, usd: float = 0.0, tokens: int = 0) -> bool:
        """Set calls, and what they may cost, aside for a unit of work; False if it could not be finished."""
        limits = self.limits
        gone = (self.calls, self.usd + self._held_usd, self.tokens + self._held_tokens)
        with_it = (self._planned[0] + calls, self._planned[1] + usd, self._planned[2] + tokens)
        caps = (limits.calls, limits.usd, limits.tokens)
        asked = (calls, usd, tokens)
        for spent, planned, cap, more in zip(gone, with_it, caps, asked, strict=True):
            if cap is not None and more and spent + planned > cap + _DUST:
                return False
        self._planned = with_it
        return True

    def unplan(self, calls: int, usd: float = 0.0, tokens: int = 0) -> None:
        """What was set aside and was spent, or is not needed any more."""
        self._planned = (self._planned[0] - calls, self._planned[1] - usd, self._planned[2] - tokens)

    def reason(self) -> str:
        """Which limit is reached, in words that `Outcome.stopped` and people get."""
        limits = self.limits
        if limits.usd is not None and not self.exhausted and limits.tokens is None:
            return f"limit reached: usd {plain_usd(limits.usd)}"
        if limits.tokens is not None and not self.exhausted:
            near_tokens = self.tokens / limits.tokens if limits.tokens else 1.0
            near_usd = self.usd / limits.usd if limits.usd else float(limits.usd == 0)
            if limits.usd is not None and near_usd > near_tokens:
                return f"limit reached: usd {plain_usd(limits.usd)}"
            return f"limit reached: tokens {limits.tokens}"
        return f"limit reached: calls {limits.calls}"


Event = dict[str, Any]
Watch = Callable[[Event], None]


_TRUSTED = 2  # times a service's own word on when to come back is taken for it
_PATIENT = 5  # further probes of a service that is busy or has answered: together they outlast a minute


class AnswerSink(Protocol):
    """Where answers go. The answers of one call (the turns of a session) belong together.

    It may raise a SameAnswerError: the answers are kept, and reason enough to ask the part no further.
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

    def requested_wait(self, asked: float | None, tries: int, chance: float) -> float:
        """The same where the service may have asked for a wait: that, and more if it does not help."""
        if asked is None:
            return self.wait(tries, chance)
        return asked if tries <= _TRUSTED else max(asked, self.wait(tries - _TRUSTED, chance))


class CircuitBreaker:
    """Tells a service that is plainly down from one that fails now and then.

    After `streak` failed calls without a success between them the service is *probed*: one call
    at a time, each after a longer wait. After `probes` failed probes the breaker is *open*: the
    service is not asked again in this run. Limits by the minute and restarts of a server last longer
    than that: one that says "busy", or has answered before, has five probes more. Any sign of life
    closes it. A service that is alive but never gave a single usable answer to `useless` calls (a
    wrong address, say) opens it too.
    """

    def __init__(self, streak: int = 8, probes: int = 4, useless: int = 20) -> None:
        self._most, self._most_probes, self._most_useless = streak, probes, useless
        self._streak = self._useless = 0
        self._ever = False
        self.probes = 0
        self.probing = False

    def note_failure(self, *, busy: bool = False, passing: bool = False) -> bool:
        """Note a call that got no answer. True when the breaker opens.

        Args:
            busy: the service said that it is busy.
            passing: a fault that passes by itself, if the service has worked before.
        """
        if self.probing:
            self.probes += 1
            return self.probes >= self._most_probes + _PATIENT * (busy or (passing and self._ever))
        self._streak += 1
        self.probing = self._streak >= self._most
        return False

    def note_rejection(self) -> bool:
        """Note an answer that was a rejection or unreadable. True when the breaker opens."""
        self._alive()
        self._useless += 1
        return not self._ever and self._useless >= self._most_useless

    def note_success(self) -> bool:
        """Note a success. True if the service was being probed."""
        self._ever = True
        return self._alive()

    def _alive(self) -> bool:
        was, self.probing = self.probing, False
        self._streak = self.probes = 0
        return was


KINDS = (
    *("plan", "answer", "broken", "retry", "slowed", "breaker", "stopped"),
    *("lost", "limit", "halted", "part-done", "done"),
)

FIRST = 12
"""Answers of a service before its pace is known."""


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
