"""Runs that are started over the API: one worker process at a time, by plans that the database keeps.

A worker is this program again, in a process of its own; the database holds the plan, its state and its
events, so that a restart of the server takes up what was running. The same plan is the same job, and its run
folder resumes.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sqlalchemy import RowMapping, Select, or_, select, update
from sqlalchemy.exc import SQLAlchemyError

from trustgauge.apps.catalogue.schema import EVENTS, JOBS
from trustgauge.apps.catalogue.store import CatalogueStore, now
from trustgauge.records import digest

LOG = logging.getLogger("trustgauge.catalogue")
LOST = 30.0
"""Seconds without a beat after which a worker counts as dead."""
RESTING = ("done", "failed")
"""States in which a watch waits for its next look."""
SOONEST = 3_600
"""Seconds between two looks of a watch, at least."""


class JobQueue:
    """The runs of a catalogue.

    Args:
        store: the database that keeps them.
        url: of that database, for workers.
        ratings: folder of the runs.
        settings: of `run`, for every plan: which engine asks, and where its cluster is.
    """

    def __init__(
        self,
        store: CatalogueStore,
        url: str,
        ratings: Path,
        settings: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.store, self.url, self.ratings, self.settings = store, url, ratings, settings
        self.owner = uuid.uuid4().hex
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._work, name="catalogue jobs", daemon=True)
        self._worker: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Work through what waits, and through what a dead process left running."""
        self._thread.start()

    def close(self) -> None:
        """Stop the worker; its run is taken up again by the next server."""
        self._ended.set()
        if self._worker is not None and self._worker.poll() is None:
            self._worker.terminate()
        if self._thread.is_alive():
            self._thread.join(10)

    def add(self, plan: Mapping[str, Any], every: int = 0) -> dict[str, Any]:
        """A job for a plan: the one there is, or a new one. One that was stopped or failed starts again.

        Args:
            plan: what is rated.
            every: seconds between two looks, each of which asks again; 0: once.
        """
        name = digest("watch" if every else "job", dict(plan))
        values = {"state": "waiting", "stop": False, "owner": "", "beat": 0.0, "error": "", "every": every}
        with self.store.engine.begin() as connection:
            state = connection.execute(select(JOBS.c.state).where(JOBS.c.id == name)).scalar()
            if state is None:
                connection.execute(
                    JOBS.insert().values(
                        id=name, plan=json.dumps(plan), run="", began=now(), ended="", **values
                    )
                )
            elif state in ("stopped", "failed"):
                connection.execute(update(JOBS).where(JOBS.c.id == name).values(ended="", **values))
        return self.job(name) or {}

    def job(self, name: str) -> dict[str, Any] | None:
        """What is known of a job: its state, its run, and the last event of each part."""
        return next((_facts(row) for row in self.store.rows(select(JOBS).where(JOBS.c.id == name))), None)

    def jobs(self) -> list[dict[str, Any]]:
        """All jobs, the newest first."""
        return [_facts(row) for row in self.store.rows(select(JOBS).order_by(JOBS.c.began.desc()).limit(100))]

    def events(self, name: str, after: int = 0, limit: int = 500) -> list[tuple[int, str]]:
        """Events of a job behind a number."""
        rows = self.store.rows(_events_of(name).where(EVENTS.c.number > after).limit(limit))
        return [(int(row["number"]), str(row["data"])) for row in rows]

    def progress(self, name: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]], int]:
        """How far each part of a job is, what else happened, and the number of the last event."""
        parts: dict[str, dict[str, Any]] = {}
        others: list[dict[str, Any]] = []
        last = 0
        for row in self.store.rows(_events_of(name)):
            last, event = int(row["number"]), json.loads(row["data"])
            if event["event"] == "progress":
                parts[event["part"]] = event
            else:
                others.append(event)
        return list(parts.values()), others[-50:], last

    def stop(self, name: str) -> None:
        """Ask the worker of a job to stop."""
        with self.store.engine.begin() as connection:
            connection.execute(update(JOBS).where(JOBS.c.id == name).values(stop=True))
            resting = or_(JOBS.c.state == "waiting", (JOBS.c.every > 0) & JOBS.c.state.in_(RESTING))
            connection.execute(update(JOBS).where(JOBS.c.id == name, resting).values(state="stopped"))

    def take(self) -> str:
        """Make the oldest job that nobody works at ours, or a watch that is due; "" if there is none."""
        moment = time.time()
        free = or_(
            JOBS.c.state == "waiting",
            (JOBS.c.state == "running") & (JOBS.c.beat < moment - LOST),
            (JOBS.c.every > 0) & JOBS.c.state.in_(RESTING) & (JOBS.c.due <= moment),
        )
        with self.store.engine.begin() as connection:
            name = connection.execute(select(JOBS.c.id).where(free).order_by(JOBS.c.began).limit(1)).scalar()
            if name is None:
                return ""
            done = connection.execute(
                update(JOBS)
                .where(JOBS.c.id == name, free)
                .values(state="running", owner=self.owner, beat=time.time())
            )
            return str(name) if done.rowcount else ""

    def _work(self) -> None:
        is_away = False
        while not self._ended.is_set():
            try:
                name = self.take()
                is_away = False
                if name:
                    self._run(name)
                    continue
            except SQLAlchemyError as error:
                if not is_away:
                    LOG.warning("jobs wait for the database: %s", error)
                is_away = True
            self._ended.wait(0.5)

    def _run(self, name: str) -> None:
        """One job in a process of its own, until that ends."""
        worker = [sys.executable, "-m", "trustgauge.apps.catalogue.worker"]
        command = [*worker, name, str(self.ratings), json.dumps(dict(self.settings))]
        environment = {**os.environ, "TRUSTGAUGE_CATALOGUE_DATABASE": self.url}
        self._worker = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL)
        while self._worker.poll() is None:
            if self._ended.is_set():
                self._worker.terminate()
            try:
                self._worker.wait(1.0)
            except subprocess.TimeoutExpired:
                continue
        with self.store.engine.begin() as connection:
            mine = (JOBS.c.id == name) & (JOBS.c.state == "running")
            if self._ended.is_set():  # the next server goes on with it
                connection.execute(update(JOBS).where(mine).values(state="waiting"))
                return
            stopped = connection.execute(select(JOBS.c.stop).where(JOBS.c.id == name)).scalar()
            state = "stopped" if stopped else "failed"
            error = "" if stopped else f"the worker exited unexpectedly ({self._worker.returncode})"
            values = {"state": state, "error": error, "ended": now(), "due": time.time() + SOONEST}
            connection.execute(update(JOBS).where(mine).values(**values))


def _events_of(name: str) -> Select[Any]:
    return select(EVENTS.c.number, EVENTS.c.data).where(EVENTS.c.job == name).order_by(EVENTS.c.number)


def _facts(row: RowMapping) -> dict[str, Any]:
    plan = json.loads(row["plan"])
    return {
        "id": row["id"],
        "name": str(plan.get("name") or ""),
        "state": row["state"],
        "run": row["run"] or None,
        "error": row["error"] or None,
        "stopping": bool(row["stop"]) and row["state"] == "running",
        "began": row["began"],
        "ended": row["ended"] or None,
        "every": row["every"] or None,
        "next": datetime.fromtimestamp(row["due"], UTC).isoformat(timespec="seconds")
        if row["every"] and row["state"] in RESTING
        else None,
    }
