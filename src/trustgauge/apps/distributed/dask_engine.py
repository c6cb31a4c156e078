"""The engine on a Dask cluster: worker processes of our own, or a cluster that runs already.

Dask starts processes, brings batches to them and notices when one is gone. What is kept, repeated and
spent is decided by us: a batch that Dask would hand out a second time is not begun again
(`batch.ask`), and answers do not travel through Dask but through the logs in the run's folder.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import CancelledError
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Self

from trustgauge.apps.distributed import worker as batches
from trustgauge.apps.distributed.engine import BATCH, DistributedEngine
from trustgauge.apps.distributed.worker import BatchReport, WorkBatch
from trustgauge.engine import RetryPolicy
from trustgauge.engine.local import GRACE, EngineConfig
from trustgauge.errors import PlanError, TrustgaugeError
from trustgauge.services import process_guard

if TYPE_CHECKING:
    from distributed import Client, Future, LocalCluster

HOST = "127.0.0.1"
"""Where a cluster of our own listens; nobody outside this machine can reach it."""

_CONNECT = 5.0  # seconds to find a scheduler
_CLOSE = 10.0  # seconds for workers to end
_LOOK = 1.0  # seconds between two looks whether the workers are there
_SILENT = 5.0  # seconds without any of them before all count as gone
_DEAF = 15.0  # seconds without an answer of the scheduler before it counts as gone
_BEAT = 1.0  # seconds between two looks of a worker whether its batch is still wanted
_SETTINGS = {
    "distributed.scheduler.allowed-failures": 0,  # a batch of a dead worker comes back to us
    "distributed.scheduler.work-stealing": False,  # a lane stays where it is known
    "distributed.scheduler.http.routes": [],  # no pages: any web page could ask for them, too
    "distributed.worker.http.routes": [],
}


class DaskEngine(DistributedEngine):
    """The engine on the workers of a Dask cluster. `DistributedEngine` says what holds when one dies."""

    def __init__(self, site: EngineConfig, *, batch: int = BATCH, retry: RetryPolicy | None = None) -> None:
        super().__init__(site, DaskPool, batch=batch, retry=retry)

    @classmethod
    def at(cls, site: EngineConfig) -> Self:
        """The engine for a run: see `Site`."""
        return cls(site)


class DaskPool:
    """A `Crew` of Dask workers.

    Raises PlanError if Dask is not installed, or no scheduler answers at the address.
    """

    def __init__(self, site: EngineConfig) -> None:
        self._back: SimpleQueue[Future] = SimpleQueue()
        self._refused: list[BatchReport] = []  # batches that could not be handed over
        self._out: dict[str, tuple[Future, str]] = {}  # under way, and with whom
        self._looked = time.monotonic()  # when it was last seen that the workers are there
        self._cluster: LocalCluster | None = None
        try:
            import distributed
        except ImportError:
            what, do = "Dask is not installed", 'pip install "trustgauge[dask]"'
            raise PlanError.of("run.engine", what, must="installed for this engine", do=do) from None
        if not site.scheduler:
            self._cluster = _local_cluster(site.workers or os.cpu_count() or 1)
        self._deaf_since: float | None = None  # when the scheduler did not answer first
        # Of a scheduler that is gone we tell in our own words.
        logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
        try:
            self._client: Client = distributed.Client(
                self._cluster or site.scheduler, set_as_default=False, timeout=_CONNECT
            )
            owner = os.getpid() if self._cluster is not None else None
            self._client.register_plugin(_get_ready(owner))
        except (OSError, ValueError) as error:
            what, must = "no Dask scheduler answers", 'the address of one that runs: "tcp://10.0.0.1:8786"'
            raise PlanError.of(
                "run.scheduler", what, must, f"{site.scheduler} ({type(error).__name__})"
            ) from None
        self._address = site.scheduler

    def workers(self) -> Mapping[str, int]:
        try:
            if self._client.status != "running":
                raise OSError("the connection is lost")
            found: dict[str, int] = self._client.sync(
                self._client.scheduler.ncores, callback_timeout=_CONNECT
            )
        except (
            OSError,
            TimeoutError,
            AttributeError,
        ):  # it does not answer now, or the client has just closed
            self._deaf_since = self._deaf_since or time.monotonic()
            return {}
        self._deaf_since = None
        return found

    def why_unreachable(self) -> str:
        deaf = self._deaf_since is not None and time.monotonic() - self._deaf_since >= _DEAF
        if not deaf and self._client.status not in ("closing", "closed"):
            return ""
        return f"the Dask scheduler {self._address} does not answer any more"

    def give(self, batch: WorkBatch, worker: str) -> None:
        import cloudpickle

        payload = cloudpickle.dumps(batch)  # so that Dask does not look into every message
        try:
            future = self._client.submit(
                _ask,
                payload,
                key=batch.name,
                pure=False,
                workers=[worker],  # and nobody else: if it dies the batch comes back to us
            )
        except Exception:  # the client has just closed, which it tells in many ways
            self._refused.append(BatchReport(batch.name))
            return
        self._out[batch.name] = future, worker
        future.add_done_callback(self._back.put)

    def wait(self, seconds: float) -> Sequence[BatchReport]:
        found, self._refused = self._refused, []
        with contextlib.suppress(Empty):
            found.append(self._report(self._back.get(timeout=seconds)))
            while True:
                found.append(self._report(self._back.get_nowait()))
        return [*found, *self._gone()]

    def _gone(self) -> list[BatchReport]:
        """The batches of workers that are gone; Dask would wait for them to come back."""
        now = time.monotonic()
        if not self._out or now - self._looked < _LOOK:
            return []
        there = self.workers()
        if not there and now - self._looked < _SILENT and not self.why_unreachable():
            return []  # it may be the scheduler that does not answer
        self._looked = now
        gone = [(name, future) for name, (future, worker) in self._out.items() if worker not in there]
        for name, future in gone:
            del self._out[name]
            future.cancel()
        return [BatchReport(name) for name, _ in gone]

    def _report(self, future: Future) -> BatchReport:
        name = str(future.key)
        self._out.pop(name, None)
        from distributed import KilledWorker

        try:
            if future.status in ("cancelled", "lost"):  # its result would be waited for in vain
                return BatchReport(name)
            report: BatchReport = future.result(timeout=_CLOSE)
        except (KilledWorker, CancelledError, OSError, TimeoutError):
            return BatchReport(name)
        except Exception as error:
            fault = TrustgaugeError(
                "a Dask worker cannot do its work",
                must="one that has the same trustgauge, and sees the run's folder",
                got=type(error).__name__,
                do="install it there, and look into the log of the worker",
            )
            return BatchReport(name, fault=fault)
        finally:
            future.release()
        return report

    def halt(self, run: str) -> None:
        def tell() -> None:
            with contextlib.suppress(Exception):  # a worker that is gone needs no message
                self._client.run(batches.halt, run, on_error="ignore")

        # In a thread of its own: a worker that does not answer must not hold up a second Ctrl-C.
        threading.Thread(target=tell, name="trustgauge-halt", daemon=True).start()

    def close(self, run: str, *, gently: bool) -> None:
        with contextlib.suppress(Exception):  # where the scheduler is gone all of this fails, in many ways
            if gently and not self.why_unreachable():
                self._client.run(batches.forget, run, on_error="ignore")
        self._out.clear()
        with contextlib.suppress(OSError, TimeoutError):
            self._client.close(timeout=_CLOSE)
        if self._cluster is not None:
            self._cluster.close(timeout=_CLOSE)


def _ask(payload: bytes) -> BatchReport:
    """On a worker: ask a batch beside what the worker does already."""
    import cloudpickle
    from distributed import get_worker, secede

    worker = get_worker()
    secede()
    batch: WorkBatch = cloudpickle.loads(payload)
    over = threading.Event()
    looking = threading.Thread(target=_look, args=(worker, batch, over), name="trustgauge-look", daemon=True)
    looking.start()
    try:
        return batches.ask(batch)
    finally:
        over.set()


def _look(worker: Any, batch: WorkBatch, over: threading.Event) -> None:
    """On a worker: end a batch that nobody waits for any more, as whoever gave it was killed."""
    while not over.wait(_BEAT):
        task = worker.state.tasks.get(batch.name)
        wanted = task is not None and task.state in ("executing", "long-running")
        if not wanted and batches.cancel(batch.run, batch.name):
            return


def _local_cluster(workers: int) -> LocalCluster:
    """A scheduler here, and so many processes that are started again when they die."""
    import dask
    from distributed import LocalCluster

    with dask.config.set(_SETTINGS):
        return LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host=HOST,
            dashboard_address=f"{HOST}:0",
            scheduler_kwargs={"dashboard": False},
            silence_logs=logging.CRITICAL,
            memory_limit=0,  # a model may be as large as it is
        )


def _get_ready(owner: int | None) -> Any:
    """A plug-in that makes workers ready, also those that come later.

    Args:
        owner: our process, if it started the workers: they end with it, and hear of Ctrl-C from it.
    """
    from distributed import WorkerPlugin

    class GetReady(WorkerPlugin):  # type: ignore[misc]
        """Prepares a worker process, in its main thread, before its first batch."""

        name = "trustgauge"

        def setup(self, worker: Any) -> None:
            # A thread that loads the HTTP client takes memory of it along when it ends, and the next
            # thread that uses the client crashes. The main thread does not end.
            import trustgauge.services.transport  # noqa: F401

            if owner is not None:
                process_guard.end_with_parent(owner)
                with contextlib.suppress(ValueError):  # not the main thread: then it gets no signal
                    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to them too

        async def teardown(self, worker: Any) -> None:
            # A worker ends when its scheduler does: nothing more is sent, and what is answered is kept.
            await asyncio.to_thread(batches.shut_down, GRACE)

    return GetReady()
