"""Users of a catalogue, for Locust: readers who ask for pages, or publishers of whom one server is killed.

`benchmarks.catalogue` starts Locust with this file and says in a file of JSON what is asked.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import gevent
from locust import FastHttpUser, task

TOLD: dict[str, Any] = json.loads(Path(os.environ["CATALOGUE_LOAD"]).read_text("utf-8"))
NUMBERS = itertools.count()
USERS = itertools.count()
DONE = itertools.count()


class Reader(FastHttpUser):
    """Asks for a page a second at fixed times; those of all users are evenly spread over the second."""

    abstract = TOLD["as"] != "reader"

    def on_start(self) -> None:
        after = next(USERS) / TOLD["per_second"]
        self.due = time.perf_counter() + after
        gevent.sleep(after)

    def wait_time(self) -> float:
        self.due += 1
        return max(0.0, float(self.due) - time.perf_counter())

    @task
    def read(self) -> None:
        number = next(NUMBERS)
        kind, path = TOLD["addresses"][number % len(TOLD["addresses"])]
        self.client.get(path, name=kind)


class Publisher(FastHttpUser):
    """Publishes runs to the first server; once that is gone, what it did not acknowledge to the second."""

    abstract = TOLD["as"] != "publisher"
    alive = 0

    @task
    def publish(self) -> None:
        number = next(NUMBERS)
        if number >= len(TOLD["documents"]):
            gevent.sleep(60)  # until the others are through
            return
        if number == TOLD["kill_at"]:  # while this run and those of the other users are on their way
            gevent.spawn_later(0.02, os.killpg, TOLD["kill"], signal.SIGKILL)
        while (status := self._sent(TOLD["documents"][number])) in (0, 429):
            if status == 429:
                gevent.sleep(1)
            else:
                Publisher.alive = 1
        if next(DONE) + 1 == len(TOLD["documents"]):
            gevent.spawn(self.environment.runner.quit)

    def _sent(self, document: dict[str, Any]) -> int:
        """The status of the answer; 0 if there was none."""
        headers = {"Authorization": f"Bearer {TOLD['token']}"}
        where = f"{TOLD['servers'][Publisher.alive]}/api/v1/ratings"
        with self.client.post(
            where, json=document, headers=headers, name="publish", catch_response=True
        ) as answer:
            if answer.status_code in (200, 201):
                with Path(TOLD["acknowledged"]).open("a", encoding="utf-8") as file:
                    file.write(f"{document['run']['id']}\n")
            if answer.status_code == 429:  # asked to wait, as it should be
                answer.success()
            return int(answer.status_code)
