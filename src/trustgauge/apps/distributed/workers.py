"""What a distributed engine needs of its workers, and what its runs share."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from trustgauge.apps.distributed.budget_allocation import BudgetAllocation
from trustgauge.apps.distributed.shards import PendingJob, Shard, Unit
from trustgauge.apps.distributed.worker import BatchReport, WorkBatch
from trustgauge.engine import AnswerSink, EngineClock, RetryPolicy, Watch
from trustgauge.engine.local import EngineConfig
from trustgauge.errors import SameAnswerError, ServiceError
from trustgauge.records import Answer, Cost
from trustgauge.store.worker_log import LogReader

Key = tuple[str, str, int]
"""Fingerprint, message, draw: the key of an answer."""


class WorkerPool(Protocol):
    """Worker processes: all that differs between one library of distributed computing and another.

    Each worker calls `batch.ask` with what it is given. A batch may be lost, and may be handed to a
    second worker by the library itself; both cases are handled.
    """

    def workers(self) -> Mapping[str, int]:
        """Name of each worker that is there now -> how many batches it can compute at once."""

    def why_unreachable(self) -> str:
        """Why no worker can ever be reached again, in words, "" while they can."""

    def give(self, batch: WorkBatch, worker: str) -> None:
        """Let a worker ask a batch, besides what it does already."""

    def wait(self, seconds: float) -> Sequence[BatchReport]:
        """What came back; waits up to so many seconds for the first."""

    def halt(self, run: str) -> None:
        """See that all workers call `batch.halt`."""

    def close(self, run: str, *, gently: bool) -> None:
        """See that all workers call `batch.forget`, and let go of them; `gently` waits for it."""


@dataclass(slots=True, eq=False)
class Lease:
    """A batch under way. `answered` holds what arrived of it so far; `needed` are the calls set aside."""

    batch: WorkBatch
    lane: Shard
    units: list[tuple[PendingJob, Unit]]
    worker: str
    since: float
    needed: int
    answered: dict[Key, Answer] = field(default_factory=dict)

    def keys(self, unit: tuple[PendingJob, Unit]) -> list[Key]:
        mark = unit[0].description.fingerprint
        return [(mark, message.key, message.draw) for message in unit[1]]

    def split_units(self) -> tuple[list[tuple[PendingJob, Unit]], list[tuple[PendingJob, Unit]]]:
        """The units that were answered or given up as a whole, and the others."""
        done: list[tuple[PendingJob, Unit]] = []
        left: list[tuple[PendingJob, Unit]] = []
        for unit in self.units:
            (done if all(key in self.answered for key in self.keys(unit)) else left).append(unit)
        return done, left

    def take(self, key: Key, answer: Answer) -> None:
        """Note an answer that arrived; one that replaces another adds to its cost, as in the store."""
        before = self.answered.get(key)
        if before is not None:
            answer = replace(
                answer,
                attempts=before.attempts + answer.attempts,
                tokens=before.tokens + answer.tokens,
                usd=before.usd + answer.usd,
            )
        self.answered[key] = answer

    def cost(self) -> Cost:
        """What the answers cost."""
        found = self.answered.values()
        return Cost(sum(a.attempts for a in found), sum(a.usd for a in found), sum(a.tokens for a in found))


@dataclass(slots=True)
class CoordinatorContext:
    """What all runs between the start and the stop of a distributed engine share."""

    site: EngineConfig
    run: str
    crew: WorkerPool
    slices: BudgetAllocation
    keep: AnswerSink
    watch: Watch | None
    logs: LogReader
    retry: RetryPolicy
    batch: int
    clock: EngineClock = field(default_factory=EngineClock)
    seconds: Callable[[], float] = time.monotonic
    dearest: dict[str, tuple[float, int]] = field(default_factory=dict)  # as in Batch
    lanes: dict[str, tuple[str, float]] = field(default_factory=dict)  # name -> worker, not before
    batches: int = 0  # given so far
    at_fault: dict[str, ServiceError] = field(default_factory=dict)  # fingerprint of a job -> why it ends

    def emit(self, event: str, **facts: Any) -> None:
        """Tell the watcher, if there is one."""
        if self.watch is not None:
            at = self.clock.utc().isoformat(timespec="milliseconds")[:-6] + "Z"
            self.watch({"event": event, "at": at, **facts})

    def take_over(self) -> list[Answer]:
        """Keep and tell what is new in the logs of the workers. Returns the answers."""
        found: list[Answer] = []
        for group in self.logs.new():
            if group.answers:
                try:
                    self.keep(*group.answers)
                except SameAnswerError as error:
                    self.at_fault[error.fingerprint] = error
                found += group.answers
            if self.watch is not None:
                for event in group.events:
                    self.watch(event)
        return found
