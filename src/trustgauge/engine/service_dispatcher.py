"""One service being asked: a queue, batches, retries, the units in flight, and what it shares with its like.

Cuts calls off that take too long: one timer for all calls of a service, not one each.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from trustgauge.engine import CircuitBreaker
from trustgauge.engine.adaptive_limiter import MOMENT, ProviderQueue, ServiceState
from trustgauge.errors import (
    BusyError,
    GarbledError,
    KeyMissingError,
    MissingPartError,
    RefusedError,
    RejectedError,
    ServiceError,
    UnavailableError,
)
from trustgauge.plugins import place_in_plug_in
from trustgauge.records import Answer, Message, Reply
from trustgauge.services import FRAME, AnswerLimit, Service, ServiceSpec, TokenPrices, check_reply

_PASSES = 3  # of the loop, in which answers are read that came while it was kept busy


class UnitOwner(Protocol):
    """Whom a unit belongs to: the job that gets its answers."""

    stopped: ServiceError | None

    def on_reply(self, unit: InFlightUnit, reply: Reply, millis: float) -> None: ...

    def on_failure(self, unit: InFlightUnit, error: ServiceError) -> None: ...

    def on_send(self, *, retry: bool) -> None: ...

    def note_error(self, error: ServiceError) -> None: ...

    def stop(self, error: ServiceError) -> None: ...


@dataclass(slots=True, eq=False)
class FailedCall:
    """A call that failed; one with a batch counts once, with the first of its messages that is answered."""

    kind: str
    recovered: bool = False


@dataclass(slots=True, eq=False)
class InFlightUnit:
    """One unit of work on its way: which turn and leg it is at, and what it gathered so far."""

    owner: UnitOwner
    messages: tuple[Message, ...]
    message: Message  # what is to be sent now
    left: int  # calls to come if all goes well
    each: tuple[float, int] = (0.0, 0)  # dollars and tokens set aside for each of them
    turn: int = 0
    leg: int = 0
    trail: list[str] = field(default_factory=list)
    attempts: int = 0
    millis: float = 0.0
    tokens: int = 0
    usd: float = 0.0
    cut: bool = False  # some leg's answer ended at the most tokens
    estimated: bool = False  # some leg does not count its tokens
    answered_as: list[str] = field(default_factory=list)  # what each leg says it answered with
    tries: int = 0  # at this leg
    alone: bool = False  # it was in a batch that failed
    kept: list[Answer] = field(default_factory=list)  # turns answered so far
    faults: list[FailedCall] = field(default_factory=list)
    # of a session: what was said on each leg, by talk
    turns: tuple[dict[str, list[tuple[str, str]]], ...] = ()


class Deadlines:
    """All calls of a service have the same time, so the oldest is always the next to be late.

    The time of a call runs from when the service is asked: one that was cut off before its task came to
    it would never end. Where something else kept the loop, or the machine, to itself, answers that have come
    meanwhile are read before calls are cut off.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        self._loop, self._seconds = loop, seconds
        self._calls: dict[asyncio.Task[None], float] = {}  # when each is late, oldest first
        self._expected: set[asyncio.Task[None]] = set()  # their service is not asked yet
        self._late: set[asyncio.Task[None]] = set()
        self._waits = False

    @property
    def under_way(self) -> list[asyncio.Task[None]]:
        """The calls that have not ended."""
        return [*self._expected, *self._calls]

    def expect(self, call: asyncio.Task[None]) -> None:
        """A call is to go out as soon as its task comes to it."""
        self._expected.add(call)

    def begin(self, call: asyncio.Task[None], now: float) -> None:
        """A call goes out."""
        self._expected.discard(call)
        self._calls[call] = now + self._seconds
        if not self._waits:
            self._look_at(now + self._seconds)

    def end(self, call: asyncio.Task[None]) -> None:
        """A call has ended, in time or not."""
        self._expected.discard(call)
        self._calls.pop(call, None)
        self.cut(call)  # the service may have made another error of it

    def cut(self, call: asyncio.Task[None]) -> bool:
        """Whether this call was cancelled for being late; asked once."""
        if call in self._late:
            self._late.discard(call)
            call.uncancel()
            return True
        return False

    def _look_at(self, due: float) -> None:
        self._waits = True
        self._loop.call_at(due, self._look)

    def _look(self, passes: int = _PASSES) -> None:
        if passes:
            self._loop.call_soon(self._look, passes - 1)
            return
        now = self._loop.time()
        self._waits = False
        for call, due in self._calls.items():
            if due > now:
                self._look_at(due)
                return
            if call not in self._late:
                self._late.add(call)
                call.cancel()


REMEMBERED = 100_000
"""Answers of a deterministic service that are kept in memory to be shared, oldest out first."""

_STOPS = (RefusedError, KeyMissingError, MissingPartError)


_GROWTH = 4
"""Times the dearest reply so far that one may cost, where nobody says how long an answer may be."""
_UNSTATED = 1024
"""Tokens that an answer of a language model may have, where the plan does not limit them."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """What the budget holds for some calls, and what these may cost more."""

    usd: float
    tokens: int
    beyond: tuple[float, int]


Sent = tuple[list[InFlightUnit], Reservation, float]
"""What went out together, what is reserved for it, and when it went."""


class CallBound:
    """What a call to a service may cost more than the dearest reply so far, as far as that can be known."""

    def __init__(self, description: ServiceSpec) -> None:
        asked = description.innermost()
        limit = asked.max_tokens if isinstance(asked, AnswerLimit) else None
        prices = description if isinstance(description, TokenPrices) else None
        self._is_model, self._limit = prices is not None or limit is not None, limit
        self._usd_read = prices.usd_per_million_input_tokens / 1e6 if prices else 0.0
        self._usd_written = prices.usd_per_million_output_tokens / 1e6 if prices else 0.0
        always = [asked.system, description.prompt, *(text for turn in asked.turns for text in turn)]
        self._always = sum(map(_most_tokens, filter(None, always)))

    def beyond(self, message: Message, dearest: tuple[float, int]) -> tuple[float, int]:
        """Dollars and tokens; a service that never told any has no more of them."""
        usd, tokens = dearest
        if not self._is_model or not tokens:
            return (_GROWTH - 1) * usd, (_GROWTH - 1) * tokens
        said = [message.text, *(text for turn in message.turns for text in turn)]
        read = self._always + sum(map(_most_tokens, said))
        written = max(_UNSTATED, _GROWTH * tokens) if self._limit is None else self._limit
        cost = self._usd_read * read + self._usd_written * written
        return max(0.0, cost - usd), max(0, read + written - tokens)


def _most_tokens(text: str) -> int:
    """No tokenizer makes more tokens of a text than it has bytes."""
    return len(text.encode("utf-8", "replace")) + FRAME


class _Call:
    """A task that makes calls, one at a time: making a task for each would cost more."""

    __slots__ = ("next", "task")
    task: asyncio.Task[None]
    next: Sent | None


class ServiceDispatcher:
    """Asks one service (one leg, unique by fingerprint) for all jobs that need it."""

    def __init__(
        self, description: ServiceSpec, line: ProviderQueue, name: str, learned: ServiceState
    ) -> None:
        self.description, self.line, self.name, self._learned = description, line, name, learned
        self.owners: list[UnitOwner] = []
        self.blocked = False  # the budget has no room for its next call
        self.stopped: ServiceError | None = None
        self._state = line.state
        self.deadlines = Deadlines(line.state.loop, description.timeout)
        self._deterministic = description.deterministic
        priced = description.usd_per_call or description.usd_per_million_characters
        limits = line.state.budget.limits
        self._learns = limits.tokens is not None or (limits.usd is not None and not priced)
        self._bound = CallBound(description) if self._learns else None
        self._spare: _Call | None = None
        self._service: Service | None = None
        self._queue: deque[InFlightUnit] = deque()
        self._breaker = CircuitBreaker()
        self._probe_at = self._patient_until = -math.inf
        self._under_way = 0
        self._same: dict[tuple[str, int], list[InFlightUnit]] = {}
        line.runners.append(self)

    # -- what comes in

    def _key(self, unit: InFlightUnit) -> tuple[str, int] | None:
        """What makes two questions one: text and draw, where answers may be shared.

        A varying service is asked again for every intermediate text; only the very same planned
        question of two jobs (the same key of an answer) is asked once.
        """
        if unit.message.session:
            return None
        if self._deterministic or (len(self.owners) > 1 and unit.left == 1 and unit.leg == 0):
            return (unit.message.text, unit.message.draw)
        return None

    def add(self, unit: InFlightUnit) -> None:
        """Take a unit that needs this service next."""
        unit.tries, unit.alone = 0, False
        key = self._key(unit)
        if key is not None:
            known = self._learned.known.get(key)
            if known is not None:
                self._state.soon(lambda: unit.owner.on_reply(unit, *known))
                return
            if (same := self._same.get(key)) is not None:
                same.append(unit)
                return
            self._same[key] = []
        if unit.turn:  # before any new conversation: what a kill loses are those that are under way
            self._queue.appendleft(unit)
        else:
            self._queue.append(unit)
        self.line.wake()

    @property
    def is_learning(self) -> bool:
        """Whether only its first reply will tell what a call costs, which a limit depends on."""
        return self._learns and self._learned.dearest is None

    def wait(self, now: float) -> float:
        """Seconds until this runner wants to send: 0 for now, infinity if not by itself."""
        queue = self._queue
        while queue and queue[0].owner.stopped is not None:
            self._forget(queue.popleft())
        if not queue or self.stopped is not None or self.blocked:
            return math.inf
        if self.is_learning and self._under_way:
            return math.inf  # the first call tells the price
        if self._breaker.probing:
            left = self._probe_at - now
            return math.inf if self._under_way else left if left > MOMENT else 0.0
        return 0.0

    def _forget(self, unit: InFlightUnit) -> None:
        """Drop a unit whose job has stopped; those who waited for its answer ask for themselves."""
        key = self._key(unit)
        for other in self._same.pop(key, ()) if key else ():
            if other.owner.stopped is None:
                self.add(other)

    # -- what goes out

    def _price(self, characters: float) -> float:
        """What a call with a text of that length costs, as declared."""
        description = self.description
        return description.usd_per_call + characters * description.usd_per_million_characters / 1e6

    def estimate(self, characters: float) -> tuple[float, int]:
        """Dollars and tokens that such a call is expected to cost at most, by what is known so far."""
        usd, tokens = self._learned.dearest or (0.0, 0)
        return max(usd, self._price(characters)), tokens

    def send(self, now: float) -> None:
        """Send one batch, if the service opens and the budget has room."""
        if self._service is None and not self._open():
            return
        batch, reserved = self._batch()
        if not batch:
            self.blocked = True
            if self._state.budget.exhausted:
                self._state.halt(self._state.budget.reason())
            return
        self._state.budget.take(len(batch), reserved.usd, reserved.tokens, reserved.beyond)
        for unit in batch:
            unit.owner.on_send(retry=unit.tries > 0)
            unit.tries += 1
            unit.attempts += 1
        self.line.gate.enter(now)
        self._under_way += 1
        self._state.under_way += 1
        call, self._spare = self._spare, None
        if call is None:  # else a task that has just ended its call goes on with this one
            call = _Call()
            call.task = self._state.loop.create_task(self._work(call))
        call.next = (batch, reserved, now)
        self.deadlines.expect(call.task)

    def _batch(self) -> tuple[list[InFlightUnit], Reservation]:
        """The next units to send together, as many as the budget has room for, and what to reserve."""
        queue = self._queue
        most = 1 if queue[0].alone or self._breaker.probing else self.description.batch
        if self.is_learning:
            most = 1
        dearest = self._learned.dearest or (0.0, 0)
        batch: list[InFlightUnit] = []
        while queue and len(batch) < most and not (batch and queue[0].alone):
            unit = queue.popleft()
            if unit.owner.stopped is None:
                batch.append(unit)
            else:
                self._forget(unit)
        prices = [max(dearest[0], self._price(len(unit.message.text))) for unit in batch]
        beyond = [self._bound.beyond(unit.message, dearest) for unit in batch] if self._bound else []
        room = self._state.budget.room(prices, dearest[1], beyond)
        queue.extendleft(reversed(batch[room:]))
        more = (sum(usd for usd, _ in beyond[:room]), sum(tokens for _, tokens in beyond[:room]))
        return batch[:room], Reservation(sum(prices[:room]), dearest[1] * room, more)

    def _open(self) -> bool:
        try:
            self._service = self.description.open()
        except ServiceError as error:
            self.stop(error)
        except Exception as error:
            self.stop(_broke(self.name, error))
        return self._service is not None

    async def _work(self, call: _Call) -> None:
        """One call after the other, while there are any for this task."""
        while call.next is not None:
            (batch, reserved, sent), call.next = call.next, None
            error: ServiceError | None = None
            replies: Sequence[Reply] = ()
            try:
                await asyncio.sleep(0)  # where a service never waits, timers and signals have their turn too
                began = self._state.loop.time()
                self.deadlines.begin(call.task, began)
                replies = await self._ask([unit.message for unit in batch])
            except ServiceError as raised:
                error = raised
            except (TimeoutError, asyncio.CancelledError):
                if not self.deadlines.cut(call.task) and call.task.cancelling():
                    self._returned(reserved, *self._charge(batch, may_be_billed=True))
                    raise
                error = self._late()
            except Exception as raised:
                error = _broke(self.name, raised)
            self.deadlines.end(call.task)
            try:
                # The gate reckons with when it let a call go; an answer took as long as the service did.
                self._came_back(call, (batch, reserved, sent if error else began), replies, error)
            except Exception as broken:  # keeping or watching failed: our side, not the service's
                self._state.fail(broken)

    def _came_back(
        self, call: _Call, what: Sent, replies: Sequence[Reply], error: ServiceError | None
    ) -> None:
        """What follows from a call that ended; then the next ones go out."""
        batch, reserved, sent = what
        self.line.hold()
        if error is None:
            self._answered(batch, replies, reserved, sent)
        else:
            free = isinstance(error, (BusyError, *_STOPS))
            written = error.timed_out or isinstance(error, GarbledError)
            self._returned(reserved, *((0.0, 0) if free else self._charge(batch, may_be_billed=written)))
            self._refuse(batch, error, sent)
        self._spare = call
        self.line.pump()
        self._spare = None

    def _late(self) -> UnavailableError:
        seconds = self.description.timeout
        return UnavailableError(f"{self.name} did not answer within {seconds:g} s", timed_out=True)

    async def _ask(self, messages: list[Message]) -> Sequence[Reply]:
        assert self._service is not None
        replies = await self._service.ask(messages)
        if len(replies) != len(messages):
            raise GarbledError(
                f"{self.name} gave the wrong number of answers",
                must=f"{len(messages)}, one for each message",
                got=str(len(replies)),
            )
        for reply in replies:
            check_reply(reply, self.name)
        return replies

    def _charge(self, batch: list[InFlightUnit], *, may_be_billed: bool) -> tuple[float, int]:
        """The price of calls that failed, as declared: the provider may have billed them.

        Args:
            batch: what was asked.
            may_be_billed: an answer was made that nobody could read, or that came too late: where only the
                reply tells its price, it counts as much as the dearest one so far.
        """
        dollars, count = 0.0, 0
        for unit in batch:
            characters = len(unit.message.text)
            usd, tokens = self.estimate(characters) if may_be_billed else (self._price(characters), 0)
            unit.usd += usd
            unit.tokens += tokens
            dollars += usd
            count += tokens
        return dollars, count

    def _returned(self, reserved: Reservation, usd: float, tokens: int) -> None:
        """Book a call that ended, and let others go on."""
        self._under_way -= 1
        self._state.under_way -= 1
        self.line.gate.leave()
        held = (reserved.usd, reserved.tokens)
        self._state.budget.settle(held, usd, tokens, reserved.beyond)
        self._state.released()
        self.line.wake()
        self._state.settle()

    # -- what comes back

    def _answered(
        self, batch: list[InFlightUnit], replies: Sequence[Reply], reserved: Reservation, sent: float
    ) -> None:
        now = self._state.loop.time()
        self.line.gate.note_success(now, now - sent)
        dearest_usd, dearest_tokens = self._learned.dearest or (0.0, 0)
        usd, tokens = 0.0, 0
        for unit, reply in zip(batch, replies, strict=True):
            cost = reply.usd or self._price(len(unit.message.text))
            unit.usd += cost
            unit.tokens += reply.tokens
            usd += cost
            tokens += reply.tokens
            dearest_usd = max(dearest_usd, reply.usd)
            dearest_tokens = max(dearest_tokens, reply.tokens)
        self._learned.dearest = (dearest_usd, dearest_tokens)
        self._returned(reserved, usd, tokens)
        if self._breaker.note_success():
            self._state.emit("breaker", service=self.name, state="closed")
        millis = (now - sent) * 1000.0
        for unit, reply in zip(batch, replies, strict=True):
            self._share(unit, reply, millis)
            unit.owner.on_reply(unit, reply, millis)

    def _share(self, unit: InFlightUnit, reply: Reply, millis: float) -> None:
        """Give the answer to all who asked the same meanwhile, and remember it."""
        key = self._key(unit)
        if key is None:
            return
        self._learned.known[key] = (reply, millis)
        if len(self._learned.known) > REMEMBERED:
            del self._learned.known[next(iter(self._learned.known))]
        for other in self._same.pop(key, ()):
            other.owner.on_reply(other, reply, millis)

    def _refuse(self, batch: list[InFlightUnit], error: ServiceError, sent: float) -> None:
        """What follows from a failed call: stop, slow down, probe, try again or give up."""
        asked = error.retry_after
        state = self._state
        if error.retry:  # else the rest of a batch is answered in spite of it, and not by asking again
            failed = FailedCall(_fault_class(error))
            for unit in batch:
                unit.faults.append(failed)
        for owner in {unit.owner: None for unit in batch}:
            owner.note_error(error)
        wait = state.retry.requested_wait(asked, batch[0].tries, state.chance())
        if asked is not None and asked > state.retry.patience:
            when = f"It asks to wait {math.ceil(asked / 60):,} minutes: run the same command then"
            self.stop(BusyError(str(error), retry_after=asked, do=when))
        elif isinstance(error, _STOPS) or self._slow_down(error, asked, wait, sent):
            self.stop(error)
        elif self._breaker.probing:
            self._back(batch, blame=False, wait=asked or 0.0)
        elif len(batch) > 1 and not isinstance(error, BusyError):
            for unit in batch:
                unit.alone = True
            self._back(batch, blame=False, wait=asked or 0.0)
        else:
            self._try_again(batch, error, wait)

    def _slow_down(self, error: ServiceError, asked: float | None, wait: float, sent: float) -> bool:
        """Tell gate and breaker. True if the service is plainly down."""
        state, gate = self._state, self.line.gate
        now = state.loop.time()
        busy = isinstance(error, BusyError)
        if not self._breaker.probing:  # then one call at a time goes out anyway
            if (busy or asked is not None) and gate.busy(now, sent, wait, requested=asked is not None):
                self._say_slowed(error, wait)
            elif error.timed_out and gate.slow(now, sent):
                self._say_slowed(error, 0.0)
        if isinstance(error, (RejectedError, GarbledError)):
            return self._breaker.note_rejection()
        if self._breaker.probing and sent < self._probe_at:
            return False  # sent before the service was known to fail
        # A busy service that says when to come back is probed then; that it still is counts as one more
        # failed probe only after the wait that a service gets which says nothing.
        early = self._breaker.probing and busy and bool(asked) and now < self._patient_until
        passing = isinstance(error, UnavailableError) and not error.timed_out
        if not early and self._breaker.note_failure(busy=busy, passing=passing):
            state.emit("breaker", service=self.name, state="open", error=error.code)
            return True
        if self._breaker.probing:
            wait = state.retry.wait(self._breaker.probes + 1, state.chance())
            if not early:
                self._patient_until = now + wait
            wait = asked if busy and asked else max(asked or 0.0, wait)
            self._probe_at = now + wait
            state.emit("breaker", service=self.name, state="probing", error=error.code, wait=round(wait, 3))
        return False

    def _say_slowed(self, error: ServiceError, wait: float) -> None:
        gate, state = self.line.gate, self._state
        facts: dict[str, Any] = {"at_once": int(gate.at_once), "rate": gate.rate, "wait": round(wait, 3)}
        state.emit("slowed", service=self.name, error=error.code, **facts)

    def _back(self, batch: list[InFlightUnit], *, blame: bool, wait: float = 0.0) -> None:
        """To the front of the queue, after a wait; without `blame` the attempt does not count."""
        if not blame:
            for unit in batch:
                unit.tries -= 1
        if wait > MOMENT:
            self._state.later(wait, lambda: self._back(batch, blame=True))
            return
        self._queue.extendleft(reversed(batch))
        self.line.wake()

    def _try_again(self, batch: list[InFlightUnit], error: ServiceError, wait: float) -> None:
        """Send again what may be, after a wait of its own."""
        again = [unit for unit in batch if self._state.retry.again(error, unit.tries)]
        for unit in batch:
            if unit not in again:
                self._give_up(unit, error)
        if not again:
            return
        self._state.emit("retry", service=self.name, error=error.code, calls=len(again), wait=round(wait, 3))
        if self._state.budget.exhausted:
            self._state.halt(self._state.budget.reason())
        else:
            self._back(again, blame=True, wait=wait)

    def _give_up(self, unit: InFlightUnit, error: ServiceError) -> None:
        key = self._key(unit)
        others = self._same.pop(key, []) if key else []
        for one in (unit, *others):
            one.owner.on_failure(one, error)

    def stop(self, error: ServiceError) -> None:
        """Ask no more; what is not answered stays pending. Other services go on."""
        if self.stopped is None:
            self.stopped = self._learned.stopped = error
            self._state.emit("stopped", service=self.name, error=error.code, detail=str(error))
            for owner in self.owners:
                owner.stop(error)
        self._state.settle()

    async def close(self) -> None:
        """Release what the service holds."""
        service, self._service = self._service, None
        if service is not None:
            await service.close()


def _fault_class(error: ServiceError) -> str:
    """What a failed call is counted as: its HTTP status, else what went wrong in a word."""
    if error.status is not None:
        return str(error.status)
    if error.timed_out:
        return "timeout"
    kinds = ((BusyError, "busy"), (UnavailableError, "unavailable"), (GarbledError, "unreadable"))
    return next((word for kind, word in kinds if isinstance(error, kind)), "other")


def _broke(name: str, error: Exception) -> ServiceError:
    """An error that an adapter should not raise; its text may hold anything: type and place are named."""
    place = place_in_plug_in(error)
    got = f"{type(error).__name__} in {place}" if place else type(error).__name__
    return ServiceError(f"the adapter of {name} failed", got=got, do="Report it to its author")
