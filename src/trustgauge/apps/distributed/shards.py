"""What may be asked side by side: jobs by the services they need, each lane for one worker at a time.

A provider's limits hold for all who ask it. So everything that needs one provider, directly or as a
leg of a chain, goes into one *lane*, and a lane has one batch under way: then the worker that has it
keeps rate and concurrency without asking anybody. Lanes share nothing and run side by side.

A job is *split* over several lanes if nothing outside the worker limits it: its service is a single
leg, deterministic, without a declared rate, an address or a key (a model or a rule on the machine
itself). Then its concurrency holds for each worker process.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from zlib import crc32

from trustgauge.apps.distributed.budget_allocation import BatchNeed
from trustgauge.engine import BudgetLimits
from trustgauge.engine.local import Job, provider_key
from trustgauge.records import Message
from trustgauge.services import ServiceSpec, is_local

Unit = tuple[Message, ...]

RETRIES = 0.5
"""Calls that a slice has for retries, as a share of those planned; a batch that needs more is cut short."""


@dataclass(slots=True, eq=False)
class PendingJob:
    """What is left of one job in one lane."""

    part: str
    description: ServiceSpec
    legs: tuple[ServiceSpec, ...]
    units: deque[Unit] = field(default_factory=deque)
    stopped: bool = False

    @property
    def marks(self) -> set[str]:
        """Fingerprints of the services it needs."""
        return {leg.fingerprint for leg in self.legs}


@dataclass(slots=True, eq=False)
class Shard:
    """Work that one worker at a time is given, batch by batch.

    Attributes:
        name: the first provider in it, so that a worker knows it again in the next run.
        works: in plan order.
        waits: it mostly waits for answers, so its worker has time for other lanes meanwhile.
        rate: the lowest rate that a service in it declares, calls a second.
        busy: a batch is under way.
        worker: who had the last batch, and remembers what it learned; "" if nobody does.
        not_before: when the next batch may begin, seconds of a monotonic clock.
        starved: the slice with which the last batch could not make a single call, None if it could.
        losses: batches lost one after the other without a single answer.
    """

    name: str
    works: list[PendingJob]
    waits: bool
    rate: float | None
    busy: bool = False
    worker: str = ""
    not_before: float = -math.inf
    starved: BudgetLimits | None = None
    losses: int = 0

    @property
    def more(self) -> bool:
        """Whether anything is left to ask."""
        return any(work.units and not work.stopped for work in self.works)

    def take(self, messages: int) -> list[tuple[PendingJob, Unit]]:
        """The next units of all works in turn, of about so many messages; at least one unit."""
        taken: list[tuple[PendingJob, Unit]] = []
        count = 0
        while count < messages and self.more:
            for work in self.works:
                if work.units and not work.stopped and count < messages:
                    unit = work.units.popleft()
                    count += len(unit)
                    taken.append((work, unit))
        return taken

    def put_back(self, units: Sequence[tuple[PendingJob, Unit]]) -> None:
        """Units that were taken and not asked, to be asked next."""
        for work, unit in reversed(units):
            work.units.appendleft(unit)


def calls_of(unit: tuple[PendingJob, Unit]) -> int:
    """Calls that a unit takes if all goes well."""
    return len(unit[0].legs) * len(unit[1])


def need(units: Iterable[tuple[PendingJob, Unit]], dearest: Mapping[str, tuple[float, int]]) -> BatchNeed:
    """What units take. `dearest`: fingerprint -> dollars and tokens of the dearest reply so far."""
    calls, usd, tokens = 0, 0.0, 0
    known = True
    for work, unit in units:
        calls += calls_of((work, unit))
        characters = sum(len(message.text) for message in unit)
        for leg in work.legs:
            seen = dearest.get(leg.fingerprint)
            declared = len(unit) * leg.usd_per_call + characters * leg.usd_per_million_characters / 1e6
            usd += max(declared, len(unit) * seen[0] if seen else 0.0)
            tokens += len(unit) * seen[1] if seen else 0
            known = known and seen is not None
    room = 1.0 + RETRIES
    return BatchNeed(
        math.ceil(calls * room), usd * room if known else None, math.ceil(tokens * room) if known else None
    )


def shards_of(jobs: Iterable[Job], threads: int) -> list[Shard]:
    """The lanes of some jobs; `threads` is over how many a job may be split."""
    lanes: list[Shard] = []
    by_provider: dict[str, Shard] = {}
    for job in jobs:
        legs = tuple(job.description.stages())
        keys = [provider_key(leg)[0] for leg in legs]
        shares = _split(job.units, threads) if threads > 1 and _is_split(legs) else [deque(job.units)]
        for number, units in enumerate(shares):
            mine = keys if len(shares) == 1 else [f"{keys[0]} {number}"]
            _join(mine, PendingJob(job.part, job.description, legs, units), lanes, by_provider)
    for lane in lanes:
        rates = [leg.rate for work in lane.works for leg in work.legs if leg.rate]
        lane.rate = min(rates, default=None)
        lane.waits = not all(is_local(leg) for work in lane.works for leg in work.legs)
    return lanes


def _is_split(legs: Sequence[ServiceSpec]) -> bool:
    (first, *others) = legs
    return not others and first.rate is None and first.deterministic and is_local(first)


def _split(units: Iterable[Unit], parts: int) -> list[deque[Unit]]:
    """Units by their text, so that equal ones stay together and an answer can be shared."""
    found: list[deque[Unit]] = [deque() for _ in range(parts)]
    for unit in units:
        text = "\n".join(unit[0].script) if unit[0].session else unit[0].text
        found[crc32(text.encode("utf-8", "surrogatepass")) % parts].append(unit)
    return found


def _join(keys: Iterable[str], work: PendingJob, lanes: list[Shard], by_provider: dict[str, Shard]) -> None:
    """Put work into the lane of its providers; a chain over several lanes makes one of them."""
    known = dict.fromkeys(by_provider[key] for key in keys if key in by_provider)
    home, *others = known or [Shard(next(iter(keys)), [], waits=True, rate=None)]
    if home not in lanes:
        lanes.append(home)
    for other in others:
        home.works += other.works
        lanes.remove(other)
        by_provider.update({key: home for key, lane in by_provider.items() if lane is other})
    home.works.append(work)
    by_provider.update(dict.fromkeys(keys, home))
