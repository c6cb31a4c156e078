"""An engine over several worker processes, whatever library starts them: see `workers.Crew`."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from uuid import uuid4

from trustgauge.apps.distributed.budget_allocation import BudgetAllocation
from trustgauge.apps.distributed.coordinator import Coordinator
from trustgauge.apps.distributed.workers import CoordinatorContext, WorkerPool
from trustgauge.engine import AnswerSink, BudgetLimits, RetryPolicy, Watch
from trustgauge.engine.local import STOPPING, EngineConfig, EngineOutcome, Interruption, Job
from trustgauge.store.folder import map_errors, private_folder
from trustgauge.store.worker_log import LogReader, remove_worker_logs

BATCH = 1_000
"""Messages that a worker is given at once."""

_INTERRUPTED = "interrupted"


class DistributedEngine:
    """Shards work by service over worker processes. Each asks with the local engine.

    Every worker appends what is answered to a log of its own before it reports anything; this process takes
    the logs over, so `keep` and `watch` are called as by `Local`, in the thread that runs. When a worker
    dies, what it acknowledged is in its log, and only the rest of its batch is asked again. No slice of the
    budget is handed out twice: what a lost worker may have spent counts as spent.

    Args:
        site: where workers append answers, and how many to start.
        gather: makes the crew; called when there is something to ask.
        batch: messages that a worker is given at once.
        retry: as for `Local`.
        seconds: the clock of all waits.
    """

    def __init__(
        self,
        site: EngineConfig,
        gather: Callable[[EngineConfig], WorkerPool],
        *,
        batch: int = BATCH,
        retry: RetryPolicy | None = None,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self._site, self._gather, self._batch, self._retry = site, gather, batch, retry or RetryPolicy()
        self._seconds = seconds
        self._office: CoordinatorContext | None = None
        self._gently = True  # no worker is left in the middle of a batch
        self._started: tuple[AnswerSink, BudgetLimits, Watch | None] | None = None

    def start(self, keep: AnswerSink, limits: BudgetLimits, watch: Watch | None) -> None:
        self._started = keep, limits, watch

    def run(self, jobs: Sequence[Job]) -> EngineOutcome:
        """As `Local.run`. Raises also what broke on a worker: a full disk, say."""
        shift = Coordinator(self._open(), jobs)
        with _signals(shift):
            try:
                outcome = shift.run()
            except BaseException:
                self._gently = False
                self._release()  # the logs stay, for whoever resumes
                raise
        self._gently = self._gently and not shift.left_behind
        if outcome.stopped == _INTERRUPTED:
            raise Interruption(outcome)
        return outcome

    def stop(self) -> None:
        """Let the workers go, and remove their logs once everything in them is kept."""
        self._started = None
        office = self._office
        if office is None:
            return
        self._release()
        office.take_over()
        self._site.commit()
        remove_worker_logs(self._site.logs, office.logs)

    def _open(self) -> CoordinatorContext:
        """Workers and all that the runs share; made for the first run."""
        if self._office is None:
            if self._started is None:
                raise RuntimeError("the engine was not started")
            keep, limits, watch = self._started
            logs = self._site.logs
            with map_errors(logs):
                private_folder(logs, exist_ok=True)
            reader = LogReader(logs)
            reader.pass_over()
            crew = self._gather(self._site)
            self._office = CoordinatorContext(
                site=self._site,
                run=uuid4().hex[:12],
                crew=crew,
                slices=BudgetAllocation(limits, self._site.ledger),
                keep=keep,
                watch=watch,
                logs=reader,
                retry=self._retry,
                batch=self._batch,
                seconds=self._seconds,
            )
        return self._office

    def _release(self) -> None:
        """Let the workers go."""
        office, self._office = self._office, None
        if office is not None:
            office.crew.close(office.run, gently=self._gently)


@contextlib.contextmanager
def _signals(shift: Coordinator) -> Iterator[None]:
    """SIGINT, SIGTERM and SIGHUP end the run soon, a second one at once; in the main thread only."""

    def act(number: int, frame: FrameType | None) -> None:
        if shift.halted:
            shift.cut()
        else:
            shift.interrupted = True

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, act) for number in STOPPING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
