"""What one worker does: asks a batch with the local engine, and journals every answer before it reports.

A worker process has one log of answers a run (`store.answer_log`), and remembers of each lane what it
learned, so that the next batch goes on at the same pace. Nothing depends on that: when the process dies
its log has every answer that was acknowledged, and another worker learns the pace again.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from trustgauge.engine import BudgetLimits, RetryPolicy
from trustgauge.engine.adaptive_limiter import ServiceStates
from trustgauge.engine.local import EngineOutcome, Interruption, Job, LocalEngine
from trustgauge.errors import ServiceError, TrustgaugeError
from trustgauge.store import GroupWriter
from trustgauge.store.worker_log import WorkerLog, claim

_TOLD = frozenset({"answer", "broken", "retry", "slowed", "breaker", "stopped"})
"""Events that are passed on; the others speak of a batch as if it were the whole run."""

_MOMENT = 0.01  # seconds until a batch that has just begun is asked again to end


@dataclass(frozen=True, slots=True)
class WorkBatch:
    """Work for one worker. It holds descriptions, so names of environment variables and never a key.

    Attributes:
        run: tells the runs that a worker process works for apart.
        name: of the batch, unique in the run.
        lane: whose work it is.
        logs: folder to append answers in.
        jobs: what to ask.
        limits: the slice of the budget.
        dearest: fingerprint -> dollars and tokens of the dearest reply so far.
    """

    run: str
    name: str
    lane: str
    logs: Path
    jobs: tuple[Job, ...]
    limits: BudgetLimits
    retry: RetryPolicy
    dearest: Mapping[str, tuple[float, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BatchReport:
    """What became of a batch. Without outcome and fault it is lost: its worker died.

    Attributes:
        name: of the batch.
        outcome: as the local engine reported it.
        stopped: fingerprint -> the error for which a service is not asked any further.
        dearest: as in Batch.
        fault: what broke on our own side: a full disk, say.
    """

    name: str
    outcome: EngineOutcome | None = None
    stopped: Mapping[str, ServiceError] = field(default_factory=dict)
    dearest: Mapping[str, tuple[float, int]] = field(default_factory=dict)
    fault: Exception | None = None


class _Desk:
    """What a worker process has for one run: its log, its writer, and what it remembers."""

    def __init__(self, logs: Path) -> None:
        name = f"{socket.gethostname().split('.')[0]}-{os.getpid()}-{uuid4().hex[:8]}"
        self.log = WorkerLog(logs, name)
        self.writer = GroupWriter(self.log)
        self._memories: dict[str, ServiceStates] = {}
        self._asking: dict[str, LocalEngine] = {}  # by batch
        self._halted = False
        self._guard = threading.Lock()

    def ask(self, batch: WorkBatch) -> BatchReport:
        with self._guard:
            memory = self._memories.setdefault(batch.lane, ServiceStates())
            for mark, price in batch.dearest.items():
                learned = memory.of(mark)
                learned.dearest = learned.dearest or price
            for learned in memory.learned.values():
                learned.stopped = None  # by the run before; this one may ask again
            local = LocalEngine(retry=batch.retry, memory=memory)
            if self._halted:
                return BatchReport(batch.name, EngineOutcome("interrupted"))
            self._asking[batch.name] = local
        try:
            outcome = self._run(local, batch)
        finally:
            del self._asking[batch.name]
        learned_of = memory.learned.items()
        return BatchReport(
            batch.name,
            outcome,
            {mark: one.stopped for mark, one in learned_of if one.stopped is not None},
            {mark: one.dearest for mark, one in learned_of if one.dearest is not None},
        )

    def _run(self, local: LocalEngine, batch: WorkBatch) -> EngineOutcome:
        local.start(self.writer.keep, batch.limits, self._watch)
        try:
            return local.run(batch.jobs)
        except Interruption as interrupted:
            return interrupted.outcome
        finally:
            local.stop()
            self.writer.flush()
            self.log.flush()

    def _watch(self, event: dict[str, Any]) -> None:
        if event["event"] in _TOLD:
            self.log.tell(event)
            if event["event"] != "answer":
                self.log.flush()

    def halt(self) -> None:
        """Send nothing more; batches under way end soon."""
        with self._guard:
            self._halted = True
            waiting = set(self._asking)
        while waiting:
            waiting = {name for name in waiting if not self.cut(name)}
            time.sleep(_MOMENT if waiting else 0)

    def cut(self, name: str) -> bool:
        """Let a batch end soon; False if it has not begun yet."""
        local = self._asking.get(name)
        return local is None or local.interrupt()

    @property
    def busy(self) -> bool:
        """Whether batches are under way."""
        return bool(self._asking)

    def close(self) -> None:
        """Commit what waits and let go of the log."""
        try:
            self.writer.close()
        finally:
            self.log.close()


_desks: dict[str, _Desk] = {}  # by run, of this process
_guard = threading.Lock()


def ask(batch: WorkBatch) -> BatchReport:
    """Ask a batch. Everything that was answered is in the log of this process when it returns.

    A batch that was begun before, here or elsewhere, is not begun again: it is reported as lost, and
    what is left of it comes back in another batch. Raises nothing: see `Report.fault`.
    """
    try:
        if not claim(batch.logs, batch.name):
            return BatchReport(batch.name)
        with _guard:
            state = _desks.get(batch.run)
            if state is None:
                state = _desks[batch.run] = _Desk(batch.logs)
        return state.ask(batch)
    except TrustgaugeError as error:
        return BatchReport(batch.name, fault=error)
    except Exception as error:  # of ours: its type and text are all that can be sent for certain
        return BatchReport(
            batch.name, fault=RuntimeError(f"a worker failed: {type(error).__name__}: {error}")
        )


def halt(run: str) -> None:
    """Let all batches of a run in this process end soon; returns at once."""
    state = _desks.get(run)
    if state is not None:
        threading.Thread(target=state.halt, name="trustgauge-halt", daemon=True).start()


def cancel(run: str, name: str) -> bool:
    """Let one batch in this process end soon; False if it has not begun yet."""
    state = _desks.get(run)
    return state is None or state.cut(name)


def shut_down(seconds: float) -> None:
    """Let all batches of all runs in this process end, and wait for them so long."""
    desks = list(_desks.values())
    for run in list(_desks):
        halt(run)
    end = time.monotonic() + seconds
    while any(state.busy for state in desks) and time.monotonic() < end:
        time.sleep(_MOMENT)


def forget(run: str) -> None:
    """Close what this process has for a run."""
    with _guard:
        state = _desks.pop(run, None)
    if state is not None:
        state.close()
