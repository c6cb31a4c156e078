"""How quickly services answered: noted by a run in its manifest, and read by the estimates of later ones."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from trustgauge.engine.events import FIRST
from trustgauge.engine.local import provider_key
from trustgauge.services.service import ServiceSpec
from trustgauge.store.folder import stored_paces

Paces = Mapping[str, "Pace"]
"""Provider (`engine.provider`) -> how quickly it answered."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How quickly a provider answered, all its parts and directions together.

    Attributes:
        calls: that were answered; one for each message and leg.
        seconds: in which they were.
        quickest: seconds of the quickest call.
        run: the run in which it was timed.
    """

    calls: int
    seconds: float
    quickest: float
    run: str = ""

    def each(self, leg: ServiceSpec) -> float:
        """Seconds a call of a service of this provider, asked no faster than its limits allow now."""
        slowest = 1 / leg.rate if leg.rate else 0.0
        return max(self.seconds / self.calls, self.quickest / (leg.concurrency * leg.batch), slowest)


class Stopwatch:
    """Times the providers of a run by its events.

    Args:
        parts: name of each part in the events -> what is asked.
    """

    def __init__(self, parts: Mapping[str, ServiceSpec]) -> None:
        self._legs = {
            name: tuple(provider_key(leg)[0] for leg in description.stages())
            for name, description in parts.items()
        }
        self._began = ""
        self._until: dict[str, str] = {}  # part -> its last answer since the go began
        self._turns: Counter[str] = Counter()  # part -> what was answered
        self._quickest: dict[str, float] = {}  # part -> milliseconds
        self._seconds: defaultdict[str, float] = defaultdict(float)  # by provider

    def feed(self, event: Mapping[str, Any]) -> None:
        """Take the next event."""
        kind = event["event"]
        if kind == "answer":
            # Workers may tell of an answer after the go is over, which counts for no pace.
            if event["status"] != "failed" and self._began:
                part, millis = event["part"], event["millis"]
                self._until[part] = event["at"]
                self._turns[part] += event["turns"]
                if millis < self._quickest.get(part, math.inf):
                    self._quickest[part] = millis
        elif kind == "plan":
            self._began = self._began or event["at"]
        elif kind == "done":
            self._lap()

    def _lap(self) -> None:
        """A go is over: add the time until the last answer of each provider."""
        last: dict[str, str] = {}
        for part, at in self._until.items():
            for mark in self._legs.get(part, ()):
                last[mark] = max(at, last.get(mark, ""))
        for mark, at in last.items():
            passed = datetime.fromisoformat(at) - datetime.fromisoformat(self._began)
            self._seconds[mark] += passed.total_seconds()
        self._until.clear()
        self._began = ""

    def facts(self) -> dict[str, dict[str, float]]:
        """What the manifest keeps: provider -> calls, seconds, quickest; those of a few calls left out."""
        self._lap()
        calls: Counter[str] = Counter()
        quickest: dict[str, float] = {}
        for part, legs in self._legs.items():
            for mark in legs if part in self._turns else ():
                calls[mark] += self._turns[part]
                seconds = self._quickest[part] / 1000 / len(legs)
                quickest[mark] = min(seconds, quickest.get(mark, seconds))
        return {
            mark: {"calls": calls[mark], "seconds": self._seconds[mark], "quickest": quickest[mark]}
            for mark in calls
            if calls[mark] >= FIRST and self._seconds[mark] > 0
        }


def known_paces(ratings: Path, descriptions: Iterable[ServiceSpec]) -> Paces:
    """Their providers' paces, each from the newest run that timed it."""
    wanted = {provider_key(leg)[0] for one in descriptions for leg in one.stages()}
    found: dict[str, Pace] = {}
    for run, noted in stored_paces(ratings):
        for mark in wanted - found.keys():
            pace = _pace(noted.get(mark), run)
            if pace is not None:
                found[mark] = pace
        if len(found) == len(wanted):
            break
    return found


def _pace(facts: Any, run: str) -> Pace | None:
    """A pace from a manifest, None where it holds none that makes sense."""
    known = facts if isinstance(facts, Mapping) else {}
    calls, seconds, quickest = (_number(known.get(name)) for name in ("calls", "seconds", "quickest"))
    return Pace(int(calls), seconds, quickest, run) if calls >= 1 and seconds > 0 and quickest >= 0 else None


def _number(value: Any) -> float:
    """A finite number, -1 for anything else."""
    fits = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < math.inf
    return float(value) if fits else -1.0
