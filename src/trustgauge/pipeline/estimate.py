"""What a run will ask, cost and take, before anything is sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import polars as pl

from trustgauge.pipeline.subjects import Subject, wanted
from trustgauge.records import Cost, Message, Task
from trustgauge.services.service import Description

LOCAL_SECONDS = 0.002  # a call to a service on this machine, a processor's time
REMOTE_SECONDS = 0.4  # a call over the network, when nothing is known of the service
WORK_SECONDS = 0.00002  # our own work for each call

Unit = tuple[Message, ...]
Present = Callable[[str], set[tuple[str, int]]]
"""Fingerprint -> the (message key, draw) that are kept and need not be asked again."""


@dataclass(frozen=True, slots=True)
class Pending:
    """What is still to be asked of one subject."""

    subject: Subject
    units: tuple[Unit, ...]
    planned: int  # messages wanted
    kept: int  # of them, messages answered before

    @property
    def description(self) -> Description:
        if self.subject.description is None:
            raise ValueError("a subject read from a manifest cannot be asked")
        return self.subject.description


@dataclass(frozen=True, slots=True)
class Estimate:
    """Calls, cost and time of a run. A call is one message to one service of a chain."""

    calls: int
    kept: int
    usd: float
    seconds: float
    spent: Cost = field(default_factory=Cost)  # by earlier sittings of the run

    def facts(self) -> dict[str, Any]:
        return asdict(self)

    def over(self, budget: Mapping[str, Any]) -> list[str]:
        """The limits this run would go beyond, what was spent before included, in words."""
        found: list[str] = []
        calls, usd = self.spent.calls + self.calls, self.spent.usd + self.usd
        seconds = self.spent.seconds + self.seconds
        if not self.calls:
            return found
        if budget.get("calls") is not None and calls > budget["calls"]:
            found.append(f"{calls:,} calls, more than the limit {budget['calls']:,}")
        if budget.get("usd") is not None and usd > budget["usd"]:
            found.append(f"${usd:.2f}, more than the limit ${budget['usd']:.2f}")
        if budget.get("seconds") is not None and seconds > budget["seconds"]:
            found.append(f"about {seconds:.0f} s, more than the limit {budget['seconds']:.0f} s")
        return found


def pending(
    found: Sequence[Subject], probes: Mapping[tuple[int, Task], pl.DataFrame], present: Present
) -> list[Pending]:
    """Wanted minus present, subject by subject; a key that two subjects want is asked once."""
    claimed: dict[str, set[tuple[str, int]]] = {}
    result = []
    for subject in found:
        taken = claimed.setdefault(subject.fingerprint, set(present(subject.fingerprint)))
        units = wanted(probes[subject.experiment, subject.task], shared=subject.deterministic)
        asked, planned = [], 0
        for unit in units:
            keys = {(message.key, message.draw) for message in unit}
            planned += len(unit)
            if not keys <= taken:
                asked.append(unit)
                taken |= keys
        kept = planned - sum(len(unit) for unit in asked)
        result.append(Pending(subject, tuple(asked), planned, kept))
    return result


def estimate(rows: Sequence[Pending]) -> Estimate:
    """The sum over all subjects.

    Remote services are asked side by side, so the slowest decides the time; those of this machine
    share its processor, so their times add up.
    """
    calls = kept = 0
    usd, local, remote = 0.0, 0.0, {"": 0.0}
    for row in rows:
        legs = row.description.legs()
        messages = sum(len(unit) for unit in row.units)
        characters = sum(len(message.text) for unit in row.units for message in unit)
        calls += messages * len(legs)
        kept += row.kept
        for leg in legs:
            usd += messages * leg.usd_per_call + characters * leg.usd_per_million_characters / 1e6
            if _is_local(leg):
                local += messages * _seconds(leg)
            else:
                remote[leg.fingerprint] = remote.get(leg.fingerprint, 0.0) + messages * _seconds(leg)
    return Estimate(calls, kept, usd, max(remote.values()) + local + calls * WORK_SECONDS)


def _is_local(leg: Description) -> bool:
    return not (getattr(leg, "url", "") or getattr(leg, "key", ""))


def _seconds(leg: Description) -> float:
    """Seconds that one message takes of a service's time; remote calls go side by side."""
    if _is_local(leg):
        return LOCAL_SECONDS if leg.seconds_per_call is None else leg.seconds_per_call
    each = REMOTE_SECONDS if leg.seconds_per_call is None else leg.seconds_per_call
    return max(each / max(1, leg.concurrency), 1 / leg.rate if leg.rate else 0.0)
