"""kill -9 at twenty moments of a run of 2,000 calls, then the same command again."""

from __future__ import annotations

import json
import random
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from tests.run.plans import but_for_times, faithful, translator_plan
from tests.servers import LocalServer, Request, Response

KILLS = 4


class Counting:
    """A faithful translator that counts the calls for each text and draw."""

    def __init__(self) -> None:
        self.calls: dict[tuple[str, int], int] = {}
        self.total = 0

    def __call__(self, request: Request) -> Response:
        asked = request.json()
        self.total += 1
        if asked["target"] != "en":
            key = (asked["q"], asked["draw"])
            self.calls[key] = self.calls.get(key, 0) + 1
        return faithful(request)


def started(plan: Path, ratings: Path) -> subprocess.Popen[bytes]:
    command = [
        sys.executable,
        "-m",
        "trustgauge",
        "rate",
        str(plan),
        "--ratings",
        str(ratings),
        "--progress",
        "none",
    ]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def acknowledged(ratings: Path) -> set[tuple[str, int]]:
    """Text and draw of every answer of the rated service that is committed."""
    found: set[tuple[str, int]] = set()
    for store in ratings.glob("TG-*/store.sqlite"):
        with sqlite3.connect(store) as db:
            rows = db.execute("SELECT text, draw FROM response WHERE trail != '[]' AND status != 'failed'")
            found |= {(text, draw) for text, draw in rows}
        db.close()
    return found


def finished(ratings: Path) -> Any:
    (path,) = ratings.glob("TG-*/rating.json")
    return but_for_times(json.loads(path.read_text("utf-8")))


@pytest.mark.slow
def test_a_killed_run_resumes_and_ends_as_if_nothing_had_happened(tmp_path: Path) -> None:
    counting, rng = Counting(), random.Random(20)
    plan, calm, killed = tmp_path / "plan.toml", tmp_path / "calm", tmp_path / "killed"
    with LocalServer(counting, 0.012) as server:
        # 3 blocks x 100 texts x 2 calls: 600 calls.
        plan.write_text(tomli_w.dumps(translator_plan(server.url, texts=100, service={"concurrency": 4})))
        assert started(plan, calm).wait(120) == 0
        counting.calls.clear()
        safe: dict[tuple[str, int], int] = {}
        for _ in range(KILLS):
            # After a random number of further calls, so that a slow machine is killed in the run too.
            moment = counting.total + rng.randint(1, 75)
            process = started(plan, killed)
            while counting.total < moment and process.poll() is None:
                time.sleep(0.001)
            assert process.poll() is None, "the run ended before it could be killed"
            process.kill()
            process.wait()
            time.sleep(0.05)  # calls that were under way arrive
            for key in acknowledged(killed):
                safe.setdefault(key, counting.calls[key])
        assert len(safe) > 20, "the kills came too early to prove anything"
        assert started(plan, killed).wait(120) == 0
    assert {key: counting.calls[key] for key in safe} == safe, "an acknowledged call was sent again"
    assert len(counting.calls) == 300
    assert finished(killed) == finished(calm)
