"""How quick the catalogue is under load, and whether it loses anything when a process is killed.

    python -m benchmarks.catalogue                         SQLite, 10,000 ratings of 300 services
    python -m benchmarks.catalogue --database URL          the same in PostgreSQL (an empty database)
    python -m benchmarks.catalogue --database URL --kill   two processes, one is killed while it takes in

Requests start at fixed times whether or not earlier ones were answered, and a latency counts from that time,
so that a server that falls behind cannot hide it.
"""

from __future__ import annotations

import argparse
import asyncio
import copy
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

from trustgauge.apps.catalogue.demo import plan_file
from trustgauge.apps.catalogue.store import CatalogueStore, RatingQuery

RATINGS, SERVICES = 10_000, 300
KINDS = ("list", "search", "filter", "best", "service", "rating", "api")
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


class Client:
    """A few connections to one server that are kept open."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def ask(self, method: str, path: str, body: bytes = b"", token: str = "") -> tuple[int, bytes]:
        """Status and content. A connection that the server closed while it was idle is opened again."""
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nContent-Length: {len(body)}\r\n"
        head += "Content-Type: application/json\r\n" + (f"Authorization: Bearer {token}\r\n" if token else "")
        while self.free:
            reader, writer = self.free.pop()
            if not reader.at_eof() and not writer.is_closing():
                break
        else:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(f"{head}\r\n".encode() + body)
        told = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        sizes = [line.partition(":")[2] for line in told if line.lower().startswith("content-length:")]
        content = await reader.readexactly(int(sizes[0]))
        self.free.append((reader, writer))
        return int(told[0].split()[1]), content


async def load(
    port: int, store: CatalogueStore, per_second: float, seconds: float, *, cold: bool = False
) -> dict[str, list[float]]:
    """Latencies in milliseconds by kind, at a fixed rate; one that is no 200 raises."""
    client = Client(port)
    found: dict[str, list[float]] = {kind: [] for kind in KINDS}
    asked = addresses(store)
    began = time.monotonic()

    async def one(due: float, kind: str, path: str) -> None:
        status, _ = await client.ask("GET", path)
        if status != 200:
            raise RuntimeError(f"{path}: {status}")
        found[kind].append(1000 * (time.monotonic() - due))

    async with asyncio.TaskGroup() as group:
        for number in range(int(per_second * seconds)):
            due = began + number / per_second
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            kind, path = next(asked)
            if cold:  # an address that no cache knows
                path += f"{'&' if '?' in path else '?'}_={number}"
            group.create_task(one(due, kind, path))
    return found


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
        told = "".join(f"{share(values, part):8.1f}" for part in (0.5, 0.95, 0.99, 1.0))
        print(f"{kind:<10}{len(values):>8}{told}")


async def publish(
    ports: tuple[int, int], token: str, given: list[dict[str, Any]], kill: Any
) -> tuple[list[str], int]:
    """Publish runs to the first server; once it is gone, what it did not acknowledge to the second.

    Returns the runs that were acknowledged, and how many were sent again.
    """
    again = 0
    acknowledged: list[str] = []
    clients = [Client(port) for port in ports]
    waiting = list(documents(given, 600, 50, seed=9))
    alive = 0

    async def one(told: dict[str, Any]) -> None:
        nonlocal alive, again
        for _ in range(5):
            mine = alive
            try:
                status, _body = await clients[mine].ask(
                    "POST", "/api/v1/ratings", json.dumps(told).encode(), token
                )
            except (OSError, asyncio.IncompleteReadError):
                alive = 1
                again += 1
                continue
            if status == 429:
                await asyncio.sleep(1)
                continue
            if status in (200, 201):
                acknowledged.append(told["run"]["id"])
                return
            raise RuntimeError(f"{told['run']['id']}: {status}")

    for number in range(0, len(waiting), 4):
        if number == 40:
            asyncio.get_running_loop().call_later(0.02, kill)
        await asyncio.gather(*(one(told) for told in waiting[number : number + 4]))
        if len(acknowledged) >= 100:
            break
    return acknowledged, again


def main() -> None:
    """Run the benchmark that the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--database", default="")
    parser.add_argument("--ratings", type=int, default=RATINGS)
    parser.add_argument("--services", type=int, default=SERVICES)
    parser.add_argument("--rate", type=float, default=50.0, help="requests a second")
    parser.add_argument("--seconds", type=float, default=60.0)
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
            token = store.make_token("benchmark", "assessor")
            servers = [start(url, empty, asked.port + number) for number in (0, 1)]

            def kill() -> None:
                os.killpg(servers[0].pid, signal.SIGKILL)

            known, again = asyncio.run(publish((asked.port, asked.port + 1), token, given, kill))
            lost = [run for run in known if not store.run_hash(run)]
            half = [run for run in known if not store.ratings_of_run(run)]
            print(f"killed one of two: {again} sent again, {len(known)} acknowledged")
            print(f"{len(lost)} lost, {len(half)} torn")
            os.killpg(servers[1].pid, signal.SIGTERM)
            return
        if store.count(RatingQuery(earlier="1"), date(2026, 11, 23)) < asked.ratings:
            took = fill(store, given, asked.ratings, asked.services)
            print(f"{asked.ratings:,} ratings of {asked.services} services taken in within {took:.0f} s")
        server = start(url, empty, asked.port)
        try:
            asyncio.run(load(asked.port, store, 10, 3))  # warm
            for cold in (True, False):
                print("every page made anew" if cold else "as served")
                report(asyncio.run(load(asked.port, store, asked.rate, asked.seconds, cold=cold)))
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            server.wait()


if __name__ == "__main__":
    main()
