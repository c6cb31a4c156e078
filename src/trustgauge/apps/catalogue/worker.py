"""A worker of the catalogue: runs the plan of one job, tells its events, takes in what came of it."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from sqlalchemy import select, update

from trustgauge.apps.catalogue.ingest import take_in_folder
from trustgauge.apps.catalogue.jobs import now
from trustgauge.apps.catalogue.plan_access import network_plan
from trustgauge.apps.catalogue.schema import EVENTS, JOBS
from trustgauge.apps.catalogue.store import CatalogueStore
from trustgauge.errors import TrustgaugeError

EVERY = 0.5
"""Seconds between two writes of events."""


class EventWriter:
    """Writes the events of a run into the database, some at a time; of answers only how many there are."""

    def __init__(self, store: CatalogueStore, job: str) -> None:
        self.store, self.job = store, job
        self._waiting: list[dict[str, Any]] = []
        self._counts: dict[str, dict[str, Any]] = {}
        self._due, self._lock = 0.0, threading.Lock()

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
                self._write()

    def close(self) -> None:
        with self._lock:
            self._write()

    def _write(self) -> None:
        self._due = time.monotonic() + EVERY
        moved = [one for one in self._counts.values() if one.pop("moved", False)]
        rows = [{"job": self.job, "data": json.dumps(one, default=str)} for one in (*self._waiting, *moved)]
        self._waiting.clear()
        if rows:
            with self.store.engine.begin() as connection:
                connection.execute(EVENTS.insert(), rows)


def work(store: CatalogueStore, job: str, ratings: Path) -> str:
    """Run a job to its end. Returns its state."""
    from trustgauge.run.options import RunOptions
    from trustgauge.run.run import rate

    with store.engine.connect() as connection:
        plan = json.loads(connection.execute(select(JOBS.c.plan).where(JOBS.c.id == job)).scalar_one())
    writer = EventWriter(store, job)
    values: dict[str, Any]
    try:
        finished = rate(network_plan(plan), RunOptions(ratings=ratings, watch=writer.watch))
        take_in_folder(store, finished.folder)
        values = {"state": "done", "run": finished.document["run"]["id"], "error": finished.asked.stopped}
    except TrustgaugeError as error:
        values = {"state": "failed", "error": str(error)[:2000]}
    finally:
        writer.close()
    with store.engine.begin() as connection:
        connection.execute(update(JOBS).where(JOBS.c.id == job).values(ended=now(), **values))
    return str(values["state"])


def main() -> None:
    """Run by `JobQueue`: the job and the folder of runs as arguments, the database in the environment."""
    store = CatalogueStore(os.environ["TRUSTGAUGE_CATALOGUE_DATABASE"])
    work(store, sys.argv[1], Path(sys.argv[2]))


if __name__ == "__main__":
    main()
