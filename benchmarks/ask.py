"""What asking costs: our engine, adapter and durable store against a bare loop, in one run.

    python -m benchmarks.ask [--calls 2000] [--latency 0.02] [--at-once 64] [--rounds 5]

A local server in a process of its own answers each message after the latency. In turns, each way
in a fresh process, the same messages are sent by

- bare: a loop of coroutines over pyreqwest that reads the JSON and keeps nothing;
- engine: our engine over the same few lines of pyreqwest, nothing stored;
- kept: the same, and every answer committed to the SQLite store before the end;
- whole: the same through our `http` adapter instead of the few lines.

Wall and CPU seconds are those of the asking alone, imports left out; the best of the rounds is
shown, since other work on the machine only ever adds. What counts are the differences and ratios.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path

from pyreqwest.client import Client, ClientBuilder

from trustgauge.engine import EngineClock
from trustgauge.engine.local import Job, run
from trustgauge.records import Answer, Message, Reply
from trustgauge.services import ServiceSpec
from trustgauge.services.http import Http
from trustgauge.store import GroupWriter
from trustgauge.store.sqlite import SqliteStore

WAYS = ("bare", "engine", "kept", "whole")


def texts(count: int) -> list[str]:
    """Different messages of a usual length."""
    return [f"The nurse said that she had finished her work for the day, number {n}." for n in range(count)]


def client() -> Client:
    """A client with a time limit and nothing else."""
    return ClientBuilder().timeout(timedelta(seconds=30)).build()


async def send(http: Client, url: str, text: str) -> str:
    """The least that asking needs: one request, one JSON answer."""
    body = json.dumps({"text": text}).encode()
    request = http.post(url).header("content-type", "application/json").body_bytes(body)
    response = await request.build().send()
    output: str = json.loads(bytes(await response.bytes()))["output"]
    return output


class Bare(ServiceSpec):
    """Those few lines as a service."""

    use: str = "bare"
    url: str

    def open(self) -> Live:
        return Live(self.url)


class Live:
    """Its live side."""

    def __init__(self, url: str) -> None:
        self._url, self._http = url, client()

    async def ask(self, messages: Sequence[Message]) -> list[Reply]:
        return [Reply(await send(self._http, self._url, message.text)) for message in messages]

    async def close(self) -> None:
        await self._http.close()


def bare(url: str, calls: int, at_once: int) -> int:
    """No engine: so many coroutines that share a list of texts."""

    async def worker(http: Client, waiting: list[str]) -> int:
        done = 0
        while waiting:
            await send(http, url, waiting.pop())
            done += 1
        return done

    async def everything() -> int:
        waiting = texts(calls)
        async with client() as http:
            return sum(await asyncio.gather(*(worker(http, waiting) for _ in range(at_once))))

    with asyncio.Runner(loop_factory=EngineClock().loop) as runner:
        return runner.run(everything())


def engine(url: str, calls: int, at_once: int) -> int:
    """Our engine; answers stay in memory."""
    kept: list[Answer] = []
    units = [(Message(text),) for text in texts(calls)]
    job = Job("bare", Bare(url=url, concurrency=at_once), units)
    run([job], lambda *answers: kept.extend(answers))
    return len(kept)


def kept(url: str, calls: int, at_once: int) -> int:
    """Our engine and store."""
    return stored(Bare(url=url, concurrency=at_once), calls)


def whole(url: str, calls: int, at_once: int) -> int:
    """Our engine, adapter and store."""
    request = {"text": "{text}"}
    return stored(Http(url=url, request=request, response="output", concurrency=at_once, task="chat"), calls)


def stored(service: ServiceSpec, calls: int) -> int:
    """Ask a service and commit every answer. Returns how many are acknowledged."""
    units = [(Message(text),) for text in texts(calls)]
    with (
        tempfile.TemporaryDirectory(dir=Path.cwd()) as folder,
        SqliteStore(Path(folder) / "store.sqlite") as store,
        GroupWriter(store) as writer,
    ):
        run([Job("part", service, units)], writer.keep)
        return writer.flush()


def measure(way: str, url: str, calls: int, at_once: int) -> None:
    """Run one way and print wall seconds, CPU seconds and calls answered."""
    acts: dict[str, Callable[[str, int, int], int]]
    acts = {"bare": bare, "engine": engine, "kept": kept, "whole": whole}
    wall, cpu = time.perf_counter(), time.process_time()
    done = acts[way](url, calls, at_once)
    print(json.dumps([time.perf_counter() - wall, time.process_time() - cpu, done]))


def compare(options: argparse.Namespace) -> None:
    """All ways in turns, against one server."""
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.servers", "--mode", "echo", "--latency", str(options.latency)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        best: dict[str, tuple[float, float]] = {}
        for _ in range(options.rounds):
            for way in WAYS:
                wall, cpu = one(way, url, options)
                before = best.get(way, (wall, cpu))
                best[way] = min(before[0], wall), min(before[1], cpu)
    finally:
        server.terminate()
        server.wait()
    if options.json:
        ideal = options.calls * options.latency / options.at_once
        ways = {way: list(figures) for way, figures in best.items()}
        print(json.dumps({"ideal": ideal, "calls": options.calls, "ways": ways}))
    else:
        show(best, options)


def one(way: str, url: str, options: argparse.Namespace) -> tuple[float, float]:
    """Wall and CPU seconds of one way, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.ask", "--way", way, "--url", url]
    command += ["--calls", str(options.calls), "--at-once", str(options.at_once)]
    wall, cpu, done = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert done == options.calls, f"{way} answered {done} of {options.calls}"
    return wall, cpu


def show(best: dict[str, tuple[float, float]], options: argparse.Namespace) -> None:
    """Print the table."""
    ideal = options.calls * options.latency / options.at_once
    millis = options.latency * 1000
    print(f"{options.calls} calls, {millis:g} ms, {options.at_once} at once: ideal {ideal:.3f} s")
    print("way       wall s  x ideal   CPU us a call   beyond bare")
    base = best["bare"][1]
    for way, (wall, cpu) in best.items():
        each, more = cpu / options.calls * 1e6, (cpu - base) / options.calls * 1e6
        print(f"{way:8} {wall:7.3f} {wall / ideal:8.2f} {each:15.0f} {more:13.0f}")


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ask", description=__doc__)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--latency", type=float, default=0.02, help="seconds")
    parser.add_argument("--at-once", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--way", choices=WAYS, help="measure only this, against --url")
    parser.add_argument("--url", default="")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.way:
        measure(options.way, options.url, options.calls, options.at_once)
    else:
        compare(options)


if __name__ == "__main__":
    main()
