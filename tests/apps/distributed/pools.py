"""Crews for tests: workers that are threads of this process, and crews that things happen to."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from trustgauge.apps.distributed import worker as batches
from trustgauge.apps.distributed.engine import DistributedEngine
from trustgauge.apps.distributed.worker import BatchReport, WorkBatch
from trustgauge.engine.local import BudgetLimits, EngineConfig, EngineOutcome, Job
from trustgauge.engine.local import run as run_engine
from trustgauge.errors import StoreError
from trustgauge.records import Answer
from trustgauge.store.folder import WORKER_LOGS


class Threads:
    """A `Crew` whose workers are threads: everything but what processes and a network add."""

    def __init__(self, workers: int = 2) -> None:
        self.names = [f"thread {number}" for number in range(workers)]
        self.given: list[tuple[WorkBatch, str]] = []
        self.closed: list[bool] = []
        self._back: SimpleQueue[BatchReport] = SimpleQueue()

    def workers(self) -> Mapping[str, int]:
        return dict.fromkeys(self.names, 1)

    def why_unreachable(self) -> str:
        return ""

    def give(self, batch: WorkBatch, worker: str) -> None:
        self.given.append((batch, worker))
        threading.Thread(target=self.work, args=(batch,), daemon=True).start()

    def work(self, batch: WorkBatch) -> None:
        self.back(batches.ask(batch))

    def back(self, report: BatchReport) -> None:
        """Hand in a report."""
        self._back.put(report)

    def wait(self, seconds: float) -> Sequence[BatchReport]:
        found = []
        with suppress(Empty):
            found.append(self._back.get(timeout=seconds))
            while True:
                found.append(self._back.get_nowait())
        return found

    def halt(self, run: str) -> None:
        batches.halt(run)

    def close(self, run: str, *, gently: bool) -> None:
        self.closed.append(gently)
        with suppress(StoreError):
            batches.forget(run)


class Shared:
    """Runs jobs with a crew, in a folder; holds what came of it."""

    def __init__(self, folder: Path, crew: Threads, batch: int = 50, **more: Any) -> None:
        self.folder, self.crew = folder, crew
        self.answers: list[Answer] = []
        self.events: list[dict[str, Any]] = []
        self.commits = 0
        self.engine = DistributedEngine(
            EngineConfig(folder / WORKER_LOGS, self._commit), lambda site: crew, batch=batch, **more
        )

    def _commit(self) -> None:
        self.commits += 1

    def keep(self, *answers: Answer) -> None:
        self.answers.extend(answers)

    def __call__(self, *jobs: Job, limits: BudgetLimits | None = None) -> EngineOutcome:
        return run_engine(jobs, self.keep, limits, self.events.append, engine=self.engine)

    def kinds(self) -> list[str]:
        return [event["event"] for event in self.events]
