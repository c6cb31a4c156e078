"""How quick the catalogue is under load, and whether it loses anything when a process is killed.

    python -m benchmarks.catalogue                         SQLite, 10,000 ratings of 300 services
    python -m benchmarks.catalogue --database URL          the same in PostgreSQL (an empty database)
    python -m benchmarks.catalogue --database URL --kill   two processes, one is killed while it takes in

Locust asks (`pip install --group benchmark`): as many users as requests a second, each of whom asks once a
second at fixed times that are evenly spread; `catalogue_users` says what they do.
"""

from __future__ import annotations

import argparse
import copy
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

from trustgauge.apps.catalogue.demo import plan_file
from trustgauge.apps.catalogue.queries import RatingQuery
from trustgauge.apps.catalogue.store import CatalogueStore

RATINGS, SERVICES = 10_000, 300
WORDS = ("acme", "globex", "initech", "umbra", "hooli", "vandelay", "wonka", "tyrell", "cyberdyne", "stark")


def templates(folder: Path) -> list[dict[str, Any]]:
    """Documents of real ratings, to be copied: those of the quickest plan of the example."""
    import tomllib

    from trustgauge.plan import load_plan
    from trustgauge.run.options import RunOptions
    from trustgauge.run.run import rate

    plan = tomllib.loads(plan_file("translators").read_text("utf-8"))
    return [dict(rate(load_plan(plan), RunOptions(ratings=folder)).document)]


def documents(
    given: list[dict[str, Any]], count: int, services: int, seed: int = 1
) -> Iterator[dict[str, Any]]:
    """Runs with `count` ratings of `services` services, over two years and five assessors."""
    chance = random.Random(seed)
    made = 0
    while made < count:
        told = copy.deepcopy(chance.choice(given))
        day = date(2026, 11, 20) - timedelta(days=chance.randrange(730))
        run = f"TG-{day.year}-{day.month:02}{day.day:02}-{made:06x}"
        told["run"]["id"] = run
        told["ratings"] = told["ratings"][: count - made]
        assessor = f"Laboratory {chance.randrange(5)}"
        for number, rating in enumerate(told["ratings"], 1):
            which = chance.randrange(services)
            name = f"{WORDS[which % len(WORDS)]}-{which}"
            rating["id"] = f"{run}.{number}"
            rating["service"] |= {
                "key": name,
                "name": name,
                "version": str(1 + (day.toordinal() - which) // 90 % 9),
            }
            rating["issue"]["attribute"] = chance.choice(("gender", "race", "religion", "age"))
            rating["assessor"]["name"] = assessor
            rating["tested"] = day.isoformat()
            rating["expires"] = (day + timedelta(days=90)).isoformat()
        made += len(told["ratings"])
        yield told


def fill(store: CatalogueStore, given: list[dict[str, Any]], count: int, services: int) -> float:
    """Take in the ratings. Returns the seconds that took."""
    began = time.monotonic()
    for told in documents(given, count, services):
        store.add(told, actor="benchmark", is_checked=True)
    return time.monotonic() - began


def addresses(store: CatalogueStore, seed: int = 2) -> Iterator[tuple[str, str]]:
    """What is asked for, in turns of all kinds, each time with other values."""
    chance = random.Random(seed)
    names = [
        row["id"] for row in store.list_ratings(RatingQuery(earlier="1"), date(2026, 11, 23), 2_000).rows
    ]
    services = [row["slug"] for row in store.services()]
    while True:
        word = chance.choice(WORDS)
        yield "list", "/"
        yield "search", f"/?q={word}+{chance.choice(('gender', 'race', 'bias', 'labor'))}"
        yield (
            "filter",
            f"/?dimension={chance.choice(('gender', 'age'))}&certainty=90&age={chance.choice((90, 365))}",
        )
        yield "best", f"/?method=two-step&dimension={chance.choice(('gender', 'race'))}&order=best"
        yield "service", f"/s/{quote(chance.choice(services))}/"
        yield "rating", f"/r/{chance.choice(names)}/"
        yield "api", f"/api/v1/ratings?assessor=Laboratory+{chance.randrange(5)}"


def locust(told: dict[str, Any], folder: Path, *options: str) -> list[dict[str, Any]]:
    """Let Locust ask what is told (`catalogue_users`). Returns its statistics, an entry for each kind."""
    given, measured = folder / "load.json", folder / "measured.json"
    given.write_text(json.dumps(told), "utf-8")
    users = Path(__file__).with_name("catalogue_users.py")
    command = [sys.executable, "-m", "locust", "-f", str(users), "--headless", "--loglevel", "ERROR"]
    kept = ("--json-file", str(measured.with_suffix("")), "--exit-code-on-error", "0")
    environment = {**os.environ, "CATALOGUE_LOAD": str(given)}
    done = subprocess.run(
        [*command, *options, *kept], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    if done.returncode:
        raise RuntimeError(f"Locust ended with {done.returncode}: {done.stderr.decode()[-2000:]}")
    found: list[dict[str, Any]] = json.loads(measured.read_text("utf-8"))
    return found


def load(
    port: int, store: CatalogueStore, per_second: int, seconds: int, folder: Path, *, changing: bool = False
) -> dict[str, list[float]]:
    """Latencies in milliseconds by kind of page, as Locust measured them at a fixed rate.

    Raises:
        RuntimeError: a page did not come.
    """
    told = {
        "as": "reader",
        "per_second": per_second,
        "addresses": list(itertools.islice(addresses(store), per_second * seconds)),
    }
    paces = ("--users", str(per_second), "--spawn-rate", str(per_second), "--run-time", f"{seconds}s")
    ended = threading.Event()
    changes = threading.Thread(target=_change, args=(store, ended), daemon=True)
    if changing:
        changes.start()
    try:
        found = locust(told, folder, *paces, "--host", f"http://127.0.0.1:{port}")
    finally:
        ended.set()
        if changing:
            changes.join()
    if failed := {one["name"]: one["num_failures"] for one in found if one["num_failures"]}:
        raise RuntimeError(f"pages that did not come: {failed}")
    return {
        one["name"]: [float(took) for took, count in one["response_times"].items() for _ in range(count)]
        for one in found
    }


def _change(store: CatalogueStore, ended: threading.Event) -> None:
    """Let the server forget its pages 20 times a second, as every change of the catalogue does."""
    while not ended.wait(0.05):
        store.record("benchmark", "changed", "nothing")


def start(url: str, folder: Path, port: int) -> subprocess.Popen[bytes]:
    """A server of its own process, ready to be asked."""
    command = [sys.executable, "-m", "trustgauge", "serve", "--database", url, "--port", str(port)]
    process = subprocess.Popen(
        [*command, "--ratings", str(folder)], stderr=subprocess.PIPE, start_new_session=True
    )
    assert process.stderr is not None
    while b"stop" not in (line := process.stderr.readline()):
        if not line:
            raise RuntimeError("the server did not start")
    return process


def share(values: list[float], part: float) -> float:
    """A quantile."""
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def report(found: dict[str, list[float]]) -> None:
    """The latencies as a table."""
    print("page      requests     p50     p95     p99     max  ms")
    every = [value for values in found.values() for value in values]
    for kind, values in [*found.items(), ("all", every)]:
        told = "".join(f"{share(values, part):8.0f}" for part in (0.5, 0.95, 0.99, 1.0))
        print(f"{kind:<10}{len(values):>8}{told}")


def kill_one(url: str, store: CatalogueStore, given: list[dict[str, Any]], folder: Path, port: int) -> None:
    """Publish to two processes and kill the first in mid-request; say what of the acknowledged is there."""
    ports = (port, port + 1)
    servers = [start(url, folder / "none", one) for one in ports]
    acknowledged = folder / "acknowledged"
    acknowledged.touch()
    hosts = [f"http://127.0.0.1:{one}" for one in ports]
    told = {
        "as": "publisher",
        "servers": hosts,
        "token": store.make_token("benchmark", "assessor"),
        "documents": list(documents(given, 100 * len(given[0]["ratings"]), 50, seed=9)),
        "kill": servers[0].pid,
        "kill_at": 10,
        "acknowledged": str(acknowledged),
    }
    try:
        users = ("--users", "4", "--spawn-rate", "4", "--run-time", "180s")
        found = locust(told, folder, *users, "--host", hosts[0])
    finally:
        os.killpg(servers[1].pid, signal.SIGTERM)
        servers[1].wait()
    failed = sum(one["num_failures"] for one in found)
    known = acknowledged.read_text("utf-8").split()
    lost = [run for run in known if not store.run_hash(run)]
    half = [run for run in known if len(store.ratings_of_run(run)) != len(given[0]["ratings"])]
    print(f"killed one of two (exit code {servers[0].wait()}); {failed} requests got no answer, sent again")
    print(f"{len(known)} acknowledged, {len(lost)} lost, {len(half)} torn")


def main() -> None:
    """Run the benchmark that the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--database", default="")
    parser.add_argument("--ratings", type=int, default=RATINGS)
    parser.add_argument("--services", type=int, default=SERVICES)
    parser.add_argument("--rate", type=int, default=50, help="requests a second")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--port", type=int, default=8741)
    parser.add_argument("--kill", action="store_true")
    asked = parser.parse_args()
    os.environ.setdefault("TRUSTGAUGE_TRUST", "1")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        given = templates(folder / "runs")
        url = asked.database or f"sqlite:///{folder / 'catalogue.sqlite'}"
        store = CatalogueStore(url)
        empty = folder / "none"
        empty.mkdir()
        if asked.kill:
            kill_one(url, store, given, folder, asked.port)
            return
        if store.count(RatingQuery(earlier="1"), date(2026, 11, 23)) < asked.ratings:
            took = fill(store, given, asked.ratings, asked.services)
            print(f"{asked.ratings:,} ratings of {asked.services} services taken in within {took:.0f} s")
        server = start(url, empty, asked.port)
        try:
            load(asked.port, store, 10, 3, folder)  # warm
            for changing in (True, False):
                print("while the catalogue changes 20 times a second" if changing else "as served")
                report(load(asked.port, store, asked.rate, asked.seconds, folder, changing=changing))
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            server.wait()


if __name__ == "__main__":
    main()
