"""A worker of the catalogue: runs the plan of one job, tells its events, takes in what came of it."""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from types import MappingProxyType
from typing import Any

import tomli_w
from sqlalchemy import select, update
from sqlalchemy.exc import SQLAlchemyError

from trustgauge import plugins
from trustgauge.apps.catalogue.ingest import take_in_folder
from trustgauge.apps.catalogue.jobs import SOONEST
from trustgauge.apps.catalogue.live_chats import probe_chat
from trustgauge.apps.catalogue.plan_access import network_plan
from trustgauge.apps.catalogue.schema import EVENTS, JOBS
from trustgauge.apps.catalogue.store import CatalogueStore, now
from trustgauge.catalogue import read
from trustgauge.errors import TrustgaugeError
from trustgauge.plan import Plan
from trustgauge.run.options import RunOptions
from trustgauge.run.run import rate
from trustgauge.store.folder import write_file

HELP = ["-h", "--help"]  # as on the command line: a command remembers how it was called first
BEAT = 1.0
"""Seconds between two looks whether the job is to be stopped."""
EVERY = 0.5
"""Seconds between two writes of events."""
PATIENCE = 60.0
"""Seconds for which the end of a run waits for a database that cannot be reached."""
LOG = logging.getLogger("trustgauge.catalogue")


class EventWriter:
    """Writes the events of a run into the database, some at a time; of answers only how many there are.

    What a database that is away cannot take is kept and written later: the run goes on.
    """

    def __init__(self, store: CatalogueStore, job: str) -> None:
        self.store, self.job = store, job
        self._waiting: list[dict[str, Any]] = []
        self._counts: dict[str, dict[str, Any]] = {}
        self._due, self._is_away, self._lock = 0.0, False, threading.Lock()

    def watch(self, event: dict[str, Any]) -> None:
        """Take an event of the run."""
        with self._lock:
            part = str(event.get("part", ""))
            if event["event"] == "plan":
                self._counts[part] = {"event": "progress", "part": part, "service": event["service"]}
                self._counts[part] |= {"done": 0, "total": event["total"], "moved": True}
            elif event["event"] == "answer":
                if part in self._counts:
                    self._counts[part]["done"] += 1
                    self._counts[part]["moved"] = True
            else:
                self._waiting.append(event)
            if time.monotonic() >= self._due:
                try:
                    self._write()
                except SQLAlchemyError as error:
                    if not self._is_away:
                        LOG.warning("%s: the database is away, the run goes on: %s", self.job, error)
                    self._is_away = True

    def close(self) -> None:
        """Write what is left. Raises SQLAlchemyError if the database stays away."""
        with self._lock:
            retry(self._write)

    def _write(self) -> None:
        self._due = time.monotonic() + (BEAT * 5 if self._is_away else EVERY)
        moved = [one for one in self._counts.values() if one["moved"]]
        taken = [{key: value for key, value in one.items() if key != "moved"} for one in moved]
        rows = [{"job": self.job, "data": json.dumps(one, default=str)} for one in (*self._waiting, *taken)]
        if rows:
            with self.store.engine.begin() as connection:
                connection.execute(EVENTS.insert(), rows)
        self._waiting.clear()
        self._is_away = False
        for one in moved:
            one["moved"] = False


def retry(act: Callable[[], object]) -> None:
    """Do it, again every second while the database cannot be reached, for PATIENCE seconds at most."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            act()
        except SQLAlchemyError:
            if time.monotonic() >= end:
                raise
            time.sleep(BEAT)
        else:
            return


def work(
    store: CatalogueStore, job: str, ratings: Path, settings: Mapping[str, Any] = MappingProxyType({})
) -> str:
    """Run a job, or one look of a watch, to its end, by these settings of `run`. Returns its state."""
    with store.engine.connect() as connection:
        row = connection.execute(select(JOBS.c.plan, JOBS.c.every).where(JOBS.c.id == job)).one()
    writer = EventWriter(store, job)
    values: dict[str, Any]
    try:
        asked = json.loads(row.plan)
        if row.every:
            values = _look(store, network_plan(asked, settings), ratings)
        else:
            values = _run(store, asked, ratings, writer, settings)
    except TrustgaugeError as error:
        values = {"state": "failed", "error": str(error)[:2000]}
    finally:
        writer.close()
    wait = row.every if values["state"] == "done" else max(SOONEST, row.every / 10)
    values |= {"ended": now(), "due": time.time() + wait}

    def end() -> None:
        with store.engine.begin() as connection:
            connection.execute(update(JOBS).where(JOBS.c.id == job).values(**values))

    retry(end)
    return str(values["state"])


def _run(
    store: CatalogueStore,
    asked: Mapping[str, Any],
    ratings: Path,
    writer: EventWriter,
    settings: Mapping[str, Any],
) -> dict[str, Any]:
    """Rate a plan; or probe the bot of a chat, which no plan over the network can ask for."""
    options = RunOptions(ratings=ratings, watch=writer.watch)
    if "chat" in asked:
        finished = probe_chat(ratings, str(asked["chat"]), options)
    else:
        finished = rate(network_plan(asked, settings), options)
    retry(lambda: take_in_folder(store, finished.folder))
    return {"state": "done", "run": finished.document["run"]["id"], "error": finished.asked.stopped}


def _look(store: CatalogueStore, plan: Plan, ratings: Path) -> dict[str, Any]:
    """One look by the verb watch, which splits the error over looks and finds settled changes."""
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "plan.toml"
        write_file(file, tomli_w.dumps(plan.document()))
        asked = [str(file), "--once", "--json", "--yes", "--ratings", str(ratings)]
        with redirect_stdout(StringIO()) as said:
            plugins.load("commands", "watch").main(asked, standalone_mode=False, help_option_names=HELP)
    seen = json.loads(said.getvalue())
    if not seen["run"]:
        return {"state": "failed", "error": "the look ended without a run"}
    folder = ratings / Path(seen["folder"]).name
    retry(lambda: take_in_folder(store, folder))
    document = read(folder)
    for change in seen["changes"]:
        for rating in document["ratings"]:
            key = (rating["service"]["key"], rating["method"]["name"], rating["issue"]["attribute"])
            if key == (change["service"], change["method"], change["attribute"]):
                store.record("watch", "changed", rating["id"], {"change": change["id"]})
    return {"state": "done", "run": seen["run"], "error": ""}


def _beat(store: CatalogueStore, job: str, ended: threading.Event) -> None:
    """Say that we live until `ended`, so that nobody else takes the job; begin to end if asked to.

    A database that cannot be reached for a moment is tried again: else the job would count as lost.
    """
    mine, stopping = JOBS.c.id == job, False
    while not ended.is_set():
        stop = False
        with suppress(SQLAlchemyError), store.engine.begin() as connection:
            connection.execute(update(JOBS).where(mine).values(beat=time.time()))
            stop = bool(connection.execute(select(JOBS.c.stop).where(mine)).scalar())
        if stop and not stopping:
            stopping = True  # a second signal would not wait for the calls under way
            os.kill(os.getpid(), signal.SIGTERM)
        ended.wait(BEAT)


def main() -> None:
    """Run by `JobQueue`: job, folder of runs and settings as arguments, the database in the environment."""
    store = CatalogueStore(os.environ["TRUSTGAUGE_CATALOGUE_DATABASE"])
    job, ended = sys.argv[1], threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that what follows is done
    threading.Thread(target=_beat, args=(store, job, ended), name="catalogue worker", daemon=True).start()
    try:
        work(store, job, Path(sys.argv[2]), json.loads(sys.argv[3]))
    except KeyboardInterrupt:  # asked to end: what was answered is kept
        sys.exit(128 + signal.SIGTERM)
    finally:
        ended.set()
        mine = (JOBS.c.id == job) & (JOBS.c.state == "running") & JOBS.c.stop
        with store.engine.begin() as connection:
            connection.execute(update(JOBS).where(mine).values(state="stopped", ended=now()))


if __name__ == "__main__":
    main()
