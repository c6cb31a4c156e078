"""The engine on a Dask cluster: worker processes of our own, or a cluster that runs already.

Dask starts processes, brings batches to them and notices when one is gone. What is kept, repeated and
spent is decided by us: a batch that Dask would hand out a second time is not begun again
(`batch.ask`), and answers do not travel through Dask but through the logs in the run's folder.
"""

from __future__ import annotations

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

from trustgauge.errors import Fault, PlanError, TrustgaugeError
from trustgauge.execution import batch as batches
from trustgauge.execution.batch import Batch, Report
from trustgauge.execution.distributed import BATCH, Distributed
from trustgauge.execution.engine import Site
from trustgauge.execution.retry import Retry

if TYPE_CHECKING:
    from distributed import Client, Future, LocalCluster

HOST = "127.0.0.1"
"""Where a cluster of our own listens; nobody outside this machine can reach it."""

_CONNECT = 5.0  # seconds to find a scheduler
_CLOSE = 10.0  # seconds for workers to end
_LOOK = 1.0  # seconds between two looks whether the workers are there
_SILENT = 5.0  # seconds without any of them before all count as gone
_SETTINGS = {
    "distributed.scheduler.allowed-failures": 0,  # a batch of a dead worker comes back to us
    "distributed.scheduler.work-stealing": False,  # a lane stays where it is known
    "distributed.scheduler.http.routes": [],  # no pages: any web page could ask for them, too
    "distributed.worker.http.routes": [],
}


class Dask(Distributed):
    """Workers are Dask workers. See `Distributed` for what holds when one of them dies."""

    def __init__(self, site: Site, *, batch: int = BATCH, retry: Retry | None = None) -> None:
        super().__init__(site, DaskCrew, batch=batch, retry=retry)

    @classmethod
    def at(cls, site: Site) -> Self:
        """The engine for a run: see `Site`."""
        return cls(site)


class DaskCrew:
    """A `Crew` of Dask workers.

    Raises PlanError if Dask is not installed, or no scheduler answers at the address.
    """

    def __init__(self, site: Site) -> None:
        self._back: SimpleQueue[Future] = SimpleQueue()
        self._out: dict[str, tuple[Future, str]] = {}  # under way, and with whom
        self._looked = time.monotonic()  # when it was last seen that the workers are there
        self._cluster: LocalCluster | None = None
        try:
            import distributed
        except ImportError:
            what, do = "Dask is not installed", 'pip install "trustgauge[dask]"'
            raise PlanError((Fault("run.engine", what, must="installed for this engine", do=do),)) from None
        if not site.scheduler:
            self._cluster = _local_cluster(site.workers or os.cpu_count() or 1)
        try:
            self._client: Client = distributed.Client(
                self._cluster or site.scheduler, set_as_default=False, timeout=_CONNECT
            )
        except (OSError, ValueError) as error:
            what, must = "no Dask scheduler answers", 'the address of one that runs: "tcp://10.0.0.1:8786"'
            fault = Fault("run.scheduler", what, must, f"{site.scheduler} ({type(error).__name__})")
            raise PlanError((fault,)) from None
        self._client.register_plugin(_get_ready(ours=self._cluster is not None))

    def workers(self) -> Mapping[str, int]:
        try:
            found: dict[str, int] = self._client.nthreads()
        except (OSError, TimeoutError):  # the scheduler does not answer now
            return {}
        return found

    def give(self, batch: Batch, worker: str) -> None:
        import cloudpickle

        future = self._client.submit(
            _ask,
            cloudpickle.dumps(batch),  # so that Dask does not look into every message
            key=batch.name,
            pure=False,
            workers=[worker],  # and nobody else: if it dies the batch comes back to us
        )
        self._out[batch.name] = future, worker
        future.add_done_callback(self._back.put)

    def wait(self, seconds: float) -> Sequence[Report]:
        found: list[Report] = []
        with contextlib.suppress(Empty):
            found.append(self._report(self._back.get(timeout=seconds)))
            while True:
                found.append(self._report(self._back.get_nowait()))
        return [*found, *self._gone()]

    def _gone(self) -> list[Report]:
        """The batches of workers that are gone; Dask would wait for them to come back."""
        now = time.monotonic()
        if not self._out or now - self._looked < _LOOK:
            return []
        there = self.workers()
        if not there and now - self._looked < _SILENT:
            return []  # it may be the scheduler that does not answer
        self._looked = now
        gone = [(name, future) for name, (future, worker) in self._out.items() if worker not in there]
        for name, future in gone:
            del self._out[name]
            future.cancel()
        return [Report(name) for name, _ in gone]

    def _report(self, future: Future) -> Report:
        name = str(future.key)
        self._out.pop(name, None)
        from distributed import KilledWorker

        try:
            report: Report = future.result(timeout=_CLOSE)
        except (KilledWorker, CancelledError, OSError, TimeoutError):
            return Report(name)
        except Exception as error:
            fault = TrustgaugeError(
                "a Dask worker cannot do its work",
                must="one that has the same trustgauge, and sees the run's folder",
                got=type(error).__name__,
                do="install it there, and look into the log of the worker",
            )
            return Report(name, fault=fault)
        finally:
            future.release()
        return report

    def halt(self, run: str) -> None:
        def tell() -> None:
            with contextlib.suppress(Exception):  # a worker that is gone needs not be told
                self._client.run(batches.halt, run, on_error="ignore")

        # In a thread of its own: a worker that does not answer must not hold up a second Ctrl-C.
        threading.Thread(target=tell, name="trustgauge-halt", daemon=True).start()

    def close(self, run: str, *, gently: bool) -> None:
        if gently:
            with contextlib.suppress(OSError, TimeoutError):
                self._client.run(batches.forget, run, on_error="ignore")
        self._out.clear()
        self._client.close(timeout=_CLOSE)
        if self._cluster is not None:
            self._cluster.close(timeout=_CLOSE)


def _ask(payload: bytes) -> Report:
    """On a worker: ask a batch beside what the worker does already."""
    import cloudpickle
    from distributed import secede

    secede()
    batch: Batch = cloudpickle.loads(payload)
    return batches.ask(batch)


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


def _get_ready(*, ours: bool) -> Any:
    """A plug-in that makes workers ready, also those that come later; `ours` are told of Ctrl-C by us."""
    from distributed import WorkerPlugin

    class GetReady(WorkerPlugin):  # type: ignore[misc]
        """Prepares a worker process, in its main thread, before its first batch."""

        name = "trustgauge"

        def setup(self, worker: Any) -> None:
            # A thread that loads the HTTP client takes memory of it along when it ends, and the next
            # thread that uses the client crashes. The main thread does not end.
            import trustgauge.services.transport  # noqa: F401

            if ours:  # a terminal sends Ctrl-C to them too
                with contextlib.suppress(ValueError):  # not the main thread: then it gets no signal
                    signal.signal(signal.SIGINT, signal.SIG_IGN)

    return GetReady()
