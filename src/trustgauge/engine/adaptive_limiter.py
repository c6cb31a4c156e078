"""How fast one service is asked: calls at once, calls a second, and pauses it asks for.

Services that one provider limits together take turns at one gate. What was learned of services is kept from
one invocation to the next in the same process.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from dataclasses import dataclass, field
from typing import Protocol

from trustgauge.engine import RunState
from trustgauge.errors import ServiceError
from trustgauge.records import Reply
from trustgauge.services import ServiceSpec


@dataclass(slots=True)
class ServiceState:
    """What was learned of one service (one leg, unique by fingerprint).

    Attributes:
        known: answers of a deterministic service, and how long each took: (text, draw) -> (reply, ms).
        dearest: of the replies so far: dollars, tokens.
        stopped: the error for which the service is not asked any more.
    """

    known: dict[tuple[str, int], tuple[Reply, float]] = field(default_factory=dict)
    dearest: tuple[float, int] | None = None
    stopped: ServiceError | None = None


class ServiceStates:
    """Gates by provider and what was learned by fingerprint.

    An invocation that is given the memory of the one before continues at the pace that was reached, and
    keeps to a rate over the seam between the two: gates reckon in the clock of the event loop, which
    all loops of one process share.
    """

    def __init__(self) -> None:
        self.gates: dict[str, AdaptiveLimiter] = {}
        self.learned: dict[str, ServiceState] = {}
        self._joined: set[tuple[str, str]] = set()  # provider and service whose limits its gate keeps

    def gate(self, provider: str, description: ServiceSpec) -> AdaptiveLimiter:
        """The gate of a provider; a service that is new to it brings its limits."""
        gate = self.gates.get(provider)
        if gate is None:
            gate = self.gates[provider] = AdaptiveLimiter(description.concurrency, description.rate)
        elif (provider, description.fingerprint) not in self._joined:
            gate.join(description.concurrency, description.rate)
        self._joined.add((provider, description.fingerprint))
        return gate

    def of(self, fingerprint: str) -> ServiceState:
        """What is known of one service; nothing at first."""
        return self.learned.setdefault(fingerprint, ServiceState())


MOMENT = 1e-6
"""Seconds too short to wait for: timers are no finer."""

_START = 16  # calls at once before anything is known of the service
_SLACK = 0.01  # seconds by which a late timer may be caught up with
_QUICK = 2.0  # answers count as quick up to this multiple of the best mean latency
_WEIGHT = 0.1  # of the newest latency in the running mean
_SLOWEST = 1.0  # calls a second; a learned rate is not lower: longer waits are asked for call by call
_CAREFUL = 0.05  # calls at once gained per round near the level that was too much
_NEAR = 0.75  # of that level
_EASE = 0.02  # growth of a learned rate near it: per second, times the seconds since it was cut
_REGAIN = 3.0  # calls a second gained per answer below it, so that the rate doubles in a third of a second
_LEAP = 0.25  # largest growth of a learned rate per answer
_RECENT = 40  # outcomes that are looked at to tell strain from a stray refusal
_STRAIN = 5  # refusals among them: one in a hundred is that frequent once in thousands of calls
_ROW = 3  # refusals in a row are strain too
_VAIN = 2  # times a pace was too much that the service had kept up with, until it is not the cause
_UNDO = 8.0  # growth of the rate then: what these cuts have cost, and once more


class AdaptiveLimiter:
    """Lets calls through. It adapts the calls at once between 1 and `most`.

    They grow, doubling each round, while answers are quick. A call that is refused ("busy") or not
    answered in time says little alone: a service may refuse one in a hundred at any pace. Only
    *strain* slows the whole queue: five such calls among the last forty, or three in a row. Then
    the calls at once halve (once a round, however many calls of that round fail), nothing is sent
    for as long as the service asked, and near the level that was too much they grow slowly.

    `rate` is a declared limit in calls a second. A service that tells how long to wait, or is
    strained even with one call at a time, also teaches a rate: what it answered per second since it
    was slowed last, the pause included. That rate doubles quickly up to three quarters of the pace
    that was too much, and grows slowly from there. Where a pace is refused again and again that the
    service had kept up with before, the pace is not the cause, and the cuts are undone.

    All times are seconds of one monotonic clock, given by the caller.
    """

    def __init__(self, most: int, rate: float | None = None) -> None:
        self.most, self.declared = max(1, most), rate
        self.at_once = float(min(self.most, _START))
        self.rate: float | None = rate
        self.under_way = 0
        self._grows_fast_below = float(self.most)
        self._next = -math.inf  # earliest next call by the rate
        self._pause = -math.inf
        self._cut = -math.inf  # when it was slowed last
        self._eased = -math.inf
        self._since: float | None = None  # start of the stretch in which these count
        self._worked = self._refused = 0
        self._recent: deque[bool] = deque(maxlen=_RECENT)  # whether it was refused, newest last
        self._too_fast = math.inf  # the pace that was too much, calls a second
        self._sustained = 0.0  # answers a second when it was strained last
        self._vain = 0  # times it was strained at no more than that, one after the other
        self._mean: float | None = None
        self._best = math.inf

    def join(self, most: int, rate: float | None) -> None:
        """A further service that shares this gate: the tighter limits hold."""
        self.most = max(1, min(self.most, most))
        self.at_once = min(self.at_once, float(self.most))
        self._grows_fast_below = float(self.most)
        rates = [value for value in (self.declared, rate) if value is not None]
        self.declared = self.rate = min(rates, default=None)

    def wait(self, now: float) -> float:
        """Seconds until a call may go: 0 for now, infinity when one under way must end first."""
        if self.under_way >= int(self.at_once):
            return math.inf
        left = max(self._pause, self._next) - now
        return left if left > MOMENT else 0.0

    def enter(self, now: float) -> None:
        """A call goes out."""
        self.under_way += 1
        if self._since is None:
            self._since = now
        if self.rate is not None:
            self._next = max(self._next, now - _SLACK) + 1.0 / self.rate

    def leave(self) -> None:
        """A call ended, however."""
        self.under_way -= 1

    def note_success(self, now: float, seconds: float) -> None:
        """A call was answered after so many seconds."""
        self._recent.append(False)
        self._worked += 1
        mean = seconds if self._mean is None else self._mean + _WEIGHT * (seconds - self._mean)
        self._mean, self._best = mean, min(self._best, mean)
        if mean <= _QUICK * self._best and self.at_once < self.most:
            step = 1.0 if self.at_once < self._grows_fast_below else _CAREFUL / self.at_once
            self.at_once = min(float(self.most), self.at_once + step)
        if self.rate != self.declared:
            self._ease(now)

    def _ease(self, now: float) -> None:
        """Let a learned rate grow; forget it when it does not hold anything back any more."""
        assert self.rate is not None
        start = max(self._eased, self._cut)
        if self.rate < _NEAR * self._too_fast:
            growth = _REGAIN / self.rate
        else:
            growth = _EASE * max(0.0, now - self._cut) * max(0.0, now - start)
        self.rate *= 1.0 + min(_LEAP, growth)
        self._eased = now
        if self.declared is not None:
            self.rate = min(self.rate, self.declared)
        elif self._mean and self.rate > 4.0 * self.most / self._mean:
            self.rate = None

    def slow(self, now: float, sent: float) -> bool:
        """A call sent at `sent` was not answered in time. True if the service was slowed for it."""
        return self.busy(now, sent, 0.0, requested=False)

    def busy(self, now: float, sent: float, seconds: float, *, requested: bool) -> bool:
        """A call was refused, to be tried after so many seconds, which it `requested` or we chose.

        True if the whole queue was slowed for it; else only that call waits.
        """
        if sent < self._cut:
            return False  # its round was punished before
        self._recent.append(True)
        self._refused += 1
        if not self._is_strained():
            return False
        slowed = not self._in_vain(now)
        if slowed:
            self._slow(now)
            self.pause(now + seconds)
            self._learn()
        else:
            self._too_fast = self._grows_fast_below = math.inf
            self.rate = None if self.rate is None else min(_UNDO * self.rate, self.declared or math.inf)
        self._recent.clear()
        self._since, self._worked, self._refused = max(now, self._pause), 0, 0
        return slowed

    def _is_strained(self) -> bool:
        """Whether refusals are too many for chance."""
        recent = list(self._recent)
        return sum(recent) >= _STRAIN or (len(recent) >= _ROW and all(recent[-_ROW:]))

    def _in_vain(self, now: float) -> bool:
        """Whether slowing does not help: what was sustained before is refused now, time after time."""
        span = max(now - (now if self._since is None else self._since), 1e-3)
        slower = (self._worked + self._refused) / span <= self._sustained and self._worked > 0
        self._vain = self._vain + 1 if slower else 0
        self._sustained = self._worked / span
        if self._vain < _VAIN:
            return False
        self._vain = 0
        return True

    def _slow(self, now: float) -> None:
        """Halve the calls at once, and note which pace was too much."""
        self._too_fast = math.inf if self.rate is None else self._sustained
        self._grows_fast_below = _NEAR * self.at_once
        self.at_once = max(1.0, self.at_once / 2.0)
        self._cut = now

    def _learn(self) -> None:
        """The rate that would have done since it was slowed last; none if nothing was answered."""
        if not self._worked or self._since is None:
            return
        learned = max(_SLOWEST, self._worked / max(self._pause - self._since, 1e-3))
        self.rate = learned if self.declared is None else min(learned, self.declared)
        self._next = self._pause

    def pause(self, until: float) -> None:
        """Send nothing before `until`."""
        self._pause = max(self._pause, until)


class Sender(Protocol):
    """What a line needs of each service: when it wants to send, and that it sends."""

    def wait(self, now: float) -> float: ...

    def send(self, now: float) -> None: ...


class ProviderQueue:
    """Services that share one gate, since one provider limits them together."""

    def __init__(self, state: RunState, gate: AdaptiveLimiter) -> None:
        self.state, self.gate = state, gate
        self.runners: list[Sender] = []
        self._woken = False
        self._turn = 0
        self._timer: asyncio.TimerHandle | None = None
        self._due = math.inf

    def wake(self) -> None:
        """Send what may be sent, once what is going on now is done."""
        if not self._woken:
            self._woken = True
            self.state.soon(self.pump)

    def hold(self) -> None:
        """Do not wake until `pump`: more is about to come in."""
        self._woken = True

    def pump(self) -> None:
        """Send all that may be sent now."""
        self._woken = False
        now = self.state.loop.time()
        while not self.state.halted and (closed := self.gate.wait(now)) != math.inf:
            runner, wait = self._next(now)
            if runner is None or closed > 0:
                self._wait(now, max(wait, closed))
                return
            runner.send(now)

    def _next(self, now: float) -> tuple[Sender | None, float]:
        """The next runner that may send, in turn, and 0; else the shortest wait of those that may not."""
        shortest = math.inf
        count = len(self.runners)
        if count == 1:
            wait = self.runners[0].wait(now)
            return (None if wait > 0 else self.runners[0]), wait
        for step in range(count):
            runner = self.runners[(self._turn + step) % count]
            wait = runner.wait(now)
            if wait <= 0:
                self._turn = (self._turn + step + 1) % count
                return runner, 0.0
            shortest = min(shortest, wait)
        return None, shortest

    def _wait(self, now: float, seconds: float) -> None:
        """Come back then; an earlier date replaces a later one."""
        due = now + seconds
        if due >= self._due or seconds == math.inf:
            return
        if self._timer is not None:
            self._timer.cancel()
            self.state.pending -= 1
        self._due = due
        self._timer = self.state.later(seconds, self._ring)

    def _ring(self) -> None:
        self._timer, self._due = None, math.inf
        self.pump()
