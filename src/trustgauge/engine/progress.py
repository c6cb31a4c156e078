"""How far a run is, how quickly its services answer and how long it still takes, by the events of its engine.

Imported only where progress is shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from math import sqrt
from typing import Any

from trustgauge.engine import FIRST, Event, RunAnnouncement

_ALL = " "  # what no service is called: the pace of all together
_ROUNDS = 3
_MOMENT = 1.0  # seconds; no pace is read off a shorter time
_WIDER = 1.2  # a range of time left is at least this factor to both sides of the rates seen
_WRONG = 2.0  # an announced duration is wrong by more than this factor
_MATTERS = 10.0  # seconds of difference not worth reporting
_BEGUN = 0.2  # share of a part's units before its pace beside other services says how long the run takes
_LONG = 60.0  # seconds after which it does anyway


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

        Between what the pace of the whole run, of all but its first round (a model may have to be loaded) and
        of the last rounds say, and a fifth wider: a pace seen so far is no promise.
        """
        if self.done < FIRST or self._last - self._began < max(_ROUNDS * self._round, _MOMENT):
            return None
        loaded = self._speed(self._began + self._round, self.done - 1)
        rates = [rate for rate in (self.lately, loaded, self._speed(self._began, self.done)) if rate]
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
        """The time left as a range, None before it can be estimated.

        Every service runs at its own pace, side by side; the slowest decides. A cap ends the run before.
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

    def revised_duration(self) -> float | None:
        """How long the run takes at the pace seen so far; None unless it was announced quite otherwise."""
        left, said = self.seconds_left(), self.announced.seconds
        if left is None or said is None or self._hardly_begun():
            return None
        low, high = (self._lasted + one for one in left)
        likely = sqrt(low * high)
        wrong = low > _WRONG * said or said > _WRONG * high
        return likely if wrong and abs(likely - said) >= _MATTERS else None

    def _hardly_begun(self) -> bool:
        """Whether one of several services has answered little: those on one machine slow each other down."""
        if self._lasted >= _LONG or len({part.service for part in self.parts.values()}) < 2:
            return False
        unfinished = (name for name, part in self.parts.items() if not part.over)
        return any(self.parts[name].done < _BEGUN * self._whole(name) for name in unfinished)

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
    "part-done": Progress._part_done,
    "done": Progress._done,
}
