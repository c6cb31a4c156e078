"""What a run tells while it goes on, and what its events add up to.

An event is a plain dictionary with `event` (its kind), `at` (ISO 8601, UTC) and facts. None of
them holds a text that was sent or received.

| kind | when | facts |
|---|---|---|
| plan | before anything is sent, once a part | part, total |
| answer | a unit was answered, or given up | part, status, error, millis, usd, tokens, calls |
| broken | a session was broken off and is pending as a whole | part, session, error |
| retry | calls are sent again | service, error, calls, wait |
| slowed | a service is asked more slowly | service, error, at_once, rate, wait |
| breaker | a service seems down, is back or given up: probing, closed, open | service, state, error, wait |
| stopped | a service is not asked any further | service, error, detail |
| lost | a worker died; what it did not answer is asked again | worker, units |
| limit, halted | nothing more is sent | reason |
| part-done | a part has nothing left to do | part, done, failed |
| done | the sitting is over | stopped, calls, usd, tokens |
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from trustgauge.execution.desk import Event, Watch

__all__ = ["KINDS", "Event", "PartProgress", "Progress", "Watch"]

KINDS = (
    *("plan", "answer", "broken", "retry", "slowed", "breaker", "stopped"),
    *("lost", "limit", "halted", "part-done", "done"),
)

_ENOUGH = 30  # units before a time is promised
_RECENT = 30  # units of the recent rate
_WIDER = 1.2  # a range of time left is at least this factor to both sides of the rates seen


@dataclass(slots=True)
class PartProgress:
    """How far one part has come."""

    total: int = 0
    done: int = 0  # answered or given up
    failed: int = 0
    over: bool = False


@dataclass(slots=True)
class Progress:
    """Adds events up. Feed it every event in order; it asks no clock of its own."""

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
    _last: datetime | None = None
    _before: tuple[float, int, int] = (0.0, 0, 0)  # of goes that are over: dollars, tokens, calls
    _recent: deque[datetime] = field(default_factory=lambda: deque(maxlen=_RECENT + 1))

    def feed(self, event: Mapping[str, Any]) -> None:
        """Take the next event. Unknown kinds are passed over."""
        at = datetime.fromisoformat(event["at"])
        self._began = self._began or at
        self._last = at
        take = _TAKES.get(event["event"])
        if take is not None:
            take(self, event, at)

    @property
    def done(self) -> int:
        return sum(part.done for part in self.parts.values())

    @property
    def total(self) -> int:
        return sum(part.total for part in self.parts.values())

    @property
    def rate(self) -> float | None:
        """Units a second, lately; None before there is anything to tell."""
        return self._speed(self._recent[0], len(self._recent) - 1) if len(self._recent) > 1 else None

    def _speed(self, since: datetime, units: int) -> float | None:
        assert self._last is not None
        seconds = (self._last - since).total_seconds()
        return units / seconds if seconds > 0 and units else None

    def seconds_left(self) -> tuple[float, float] | None:
        """The time left as a range, None before the 30th unit or when it cannot be told.

        Between what the rate of the whole run and the rate of the last 30 units say, and a
        fifth wider: a rate seen so far is no promise.
        """
        if self.done < _ENOUGH or self.over or self._began is None:
            return None
        rates = [rate for rate in (self.rate, self._speed(self._began, self.done)) if rate]
        if not rates:
            return None
        left = sum(part.total - part.done for part in self.parts.values() if not part.over)
        return left / max(rates) / _WIDER, left / min(rates) * _WIDER

    def _plan(self, event: Mapping[str, Any], at: datetime) -> None:
        part = self.parts.setdefault(event["part"], PartProgress())
        part.total += event["total"]
        part.over = self.over = False  # a large plan is asked in several goes

    def _answer(self, event: Mapping[str, Any], at: datetime) -> None:
        part = self.parts.setdefault(event["part"], PartProgress())
        part.done += 1
        self.calls += event["calls"]
        self.usd += event["usd"]
        self.tokens += event["tokens"]
        self._recent.append(at)
        if event["status"] == "failed":
            part.failed += 1
            self.errors[event["error"]] += 1

    def _retry(self, event: Mapping[str, Any], at: datetime) -> None:
        self.retries += event["calls"]
        self.errors[event["error"]] += event["calls"]

    def _slowed(self, event: Mapping[str, Any], at: datetime) -> None:
        self.slowed[event["service"]] = dict(event)

    def _stopped(self, event: Mapping[str, Any], at: datetime) -> None:
        self.stopped[event["service"]] = event["error"]

    def _halted(self, event: Mapping[str, Any], at: datetime) -> None:
        self.reason = event["reason"]

    def _part_done(self, event: Mapping[str, Any], at: datetime) -> None:
        self.parts.setdefault(event["part"], PartProgress()).over = True

    def _done(self, event: Mapping[str, Any], at: datetime) -> None:
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
