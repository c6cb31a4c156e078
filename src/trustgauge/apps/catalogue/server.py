"""The server process: uvicorn over the application, a look at the folder of runs, jobs and webhooks."""

from __future__ import annotations

import errno
import logging
import socket
import threading
from collections.abc import Callable

import uvicorn

from trustgauge.apps.catalogue.app import application
from trustgauge.apps.catalogue.ingest import FolderReader
from trustgauge.apps.catalogue.jobs import JobQueue
from trustgauge.apps.catalogue.options import ServeOptions
from trustgauge.apps.catalogue.store import CatalogueStore
from trustgauge.apps.catalogue.templates import load_templates
from trustgauge.apps.catalogue.webhooks import deliver
from trustgauge.errors import StoreError

LOG = logging.getLogger("trustgauge.catalogue")
LOOK = 2.0
"""Seconds between two looks at the folder of runs and at webhooks that are due."""


class CatalogueServer:
    """Serves one catalogue until it is stopped.

    Args:
        store: its database.
        url: of the database, for the workers of runs.
        options: how it is served.
        allow_runs: whether holders of a token may start runs.
        announce: is given the number of new runs before they are read.
        refuse: is given the name of each run folder that is passed over, and why.
    """

    def __init__(
        self,
        store: CatalogueStore,
        url: str,
        options: ServeOptions,
        *,
        allow_runs: bool = False,
        announce: Callable[[int], None] = lambda runs: None,
        refuse: Callable[[str, str], None] = lambda name, why: None,
    ) -> None:
        self.store, self.options = store, options
        self.jobs = JobQueue(store, url, options.ratings, options.runs) if allow_runs else None
        self.reader = FolderReader(store, options.ratings, announce, refuse)
        self._ended = threading.Event()
        self.uvicorn: uvicorn.Server | None = None

    def run(self, listen: str, port: int, ready: Callable[[str], None]) -> None:
        """Serve until Ctrl-C or SIGTERM.

        Raises:
            StoreError: the port is taken, or the address is none of this machine.
        """
        family = socket.AF_INET6 if ":" in listen else socket.AF_INET
        opened = socket.socket(family, socket.SOCK_STREAM)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            opened.bind((listen, port))
            opened.listen(128)  # who asks at once waits until the pages are ready
        except OSError as error:
            opened.close()
            by_port = error.errno in (errno.EADDRINUSE, errno.EACCES)
            raise StoreError(
                f"the catalogue cannot be served on {listen}, port {port}",
                must="a free port of this machine" if by_port else "an address of this machine",
                got=error.strerror or type(error).__name__,
                do="Choose another one with --port"
                if by_port
                else "Give --listen an address alone, such as 127.0.0.1, and the port with --port",
            ) from None
        load_templates()
        self.store.redraw_cards()
        config = uvicorn.Config(
            application(self.store, self.options, jobs=self.jobs),
            log_level="warning",
            access_log=False,
            server_header=False,
            date_header=True,
            proxy_headers=False,
            timeout_graceful_shutdown=5,
        )
        self.uvicorn = uvicorn.Server(config)
        looking = threading.Thread(target=self._look, name="catalogue folder", daemon=True)
        looking.start()
        if self.jobs is not None:
            self.jobs.start()
        shown = f"[{listen}]" if ":" in listen else listen
        ready(f"http://{shown}:{opened.getsockname()[1]}/")
        try:
            self.uvicorn.run(sockets=[opened])
        except KeyboardInterrupt:
            return  # the usual end of a server
        finally:
            self._ended.set()
            if self.jobs is not None:
                self.jobs.close()
            looking.join(10)
            opened.close()

    def stop(self) -> None:
        """End `run`, which another thread is in."""
        if self.uvicorn is not None:
            self.uvicorn.should_exit = True

    def _look(self) -> None:
        """Take in new runs, and send what webhooks wait for."""
        while not self._ended.is_set():
            try:
                self.reader.take_in()
                deliver(self.store, self.options.address)
            except Exception:  # a look that fails is made again
                LOG.exception("looking at the folder of runs failed")
            self._ended.wait(LOOK)
