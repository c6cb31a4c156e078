"""What a service's rate limits cost: calls that now and then get 429, against the same calls without.

    python -m benchmarks.rate_limits [--calls 12000]

A local server answers after 20 ms, 64 calls at a time. Refusing, it names one second to wait. The burst
refuses everything for five seconds.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.servers import LocalServer, Request, Response

from benchmarks.ask import texts
from benchmarks.results import Found, Row, Target, as_json, figure, verdict
from trustgauge.engine.local import Job, run
from trustgauge.records import Message
from trustgauge.services.http import Http
from trustgauge.store import GroupWriter
from trustgauge.store.sqlite import SqliteStore

LATENCY, AT_ONCE, BURST = 0.02, 64, 5.0
Refuses = Callable[[int], bool]


def seconds(calls: int, refuses: Refuses) -> float:
    """Wall seconds of asking and keeping `calls` texts; `refuses` is told how many requests came before."""
    came = 0

    def answer(request: Request) -> Response:
        nonlocal came
        came += 1
        if refuses(came):
            return Response(429, headers=(("Retry-After", "1"),))
        return Response.json({"output": "well"})

    with (
        LocalServer(answer, LATENCY) as server,
        tempfile.TemporaryDirectory() as folder,
        SqliteStore(Path(folder) / "store.sqlite") as store,
        GroupWriter(store) as writer,
    ):
        service = Http(
            url=server.url,
            request={"text": "{text}"},
            response="output",
            concurrency=AT_ONCE,
            task="chat",
        )
        began = time.perf_counter()
        run([Job("part", service, [(Message(text),) for text in texts(calls)])], writer.keep)
        assert writer.flush() == calls, "an answer is missing"
        return time.perf_counter() - began


def burst() -> Refuses:
    """Refuses everything for `BURST` seconds, from the 500th request on."""
    since: list[float] = []

    def refuses(came: int) -> bool:
        if came >= 500 and not since:
            since.append(time.perf_counter())
        return bool(since) and time.perf_counter() - since[0] < BURST

    return refuses


def measure(calls: int) -> Found:
    """Every way of refusing, and none."""
    free = seconds(calls, lambda came: False)
    what, without = f"{calls:,} calls", "the same calls, none refused"
    rows = [
        Row(
            what=f"{what}, {share} refused with 429 and a second to wait",
            unit="s",
            ours=seconds(calls, lambda came, each=each: came % each == 0),  # type: ignore[misc]
            against=without,
            other=free,
            target=Target(1 / 1.5, "the last refused call waits a second by itself", of_ratio=True),
        )
        for share, each in (("1 in 1,000", 1000), ("1 in 100", 100))
    ]
    least = free + BURST
    rows.append(
        Row(
            what=f"{what}, all refused for {BURST:g} s in between",
            unit="s",
            ours=seconds(calls, burst()),
            against="the same calls, and the time of refusal",
            other=least,
            target=Target(
                least + 1.5, "the last wait outlasts the refusals, and the pace is found again after them"
            ),
        )
    )
    return Found(tuple(rows))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--calls", type=int, default=12000)
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    options = parser.parse_args()
    found = measure(options.calls)
    for row in found.rows:
        print(f"{row.what}: {figure(row.ours)} {row.unit}; {row.against} {figure(row.other)} {verdict(row)}")
    if options.json:
        print(json.dumps(as_json(found)))


if __name__ == "__main__":
    main()
