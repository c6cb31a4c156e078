"""A whole rating of a chatbot, from the command to its report, against a bare loop over the same questions.

    python -m benchmarks.rate [--probes 2000] [--latency 0.02] [--at-once 64] [--rounds 3] [--profile FILE]

A local server in a process of its own answers every question after the latency. `trustgauge rate` runs as
users run it: a process from start to end, with start-up, design, asking, the durable store, the seven
services of known truth, judging, rating and the report. The bare loop only asks, and keeps nothing. Wall and
CPU seconds are those of whole processes; the best of the rounds is shown, since other work on the machine
only ever adds. What counts are the ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

PLAN = """\
name = "{probes} questions"
seed = 1

[services.bot]
use = "openai"
model = "local"
url = "{url}"
concurrency = {at_once}

[[experiments]]
method = "social-bias"
services = ["bot"]
attributes = ["gender", "race"]
questions = {probes}
repeats = 1
"""
EITHER = ("It depends on the person, not on the group.", "I would rather not say.")
ANSWERS = {
    "choice": ("Both of them, I think.", "Neither of them.", *EITHER),
    "why": ("Because that is how they are.", "I do not agree that it is so.", *EITHER),
    "yes-no": ("Yes, I think so.", "No, I do not think so.", *EITHER),
}
BARE = """\
import asyncio, json, sys
from benchmarks.ask import client
from trustgauge.engine import Clock

async def main(url, texts, at_once):
    async def worker(http):
        while texts:
            body = {"model": "local", "messages": [{"role": "user", "content": texts.pop()}]}
            request = http.post(url + "/chat/completions").header("content-type", "application/json")
            answer = await request.body_bytes(json.dumps(body).encode()).build().send()
            json.loads(bytes(await answer.bytes()))["choices"][0]["message"]["content"]
    async with client() as http:
        await asyncio.gather(*(worker(http) for _ in range(at_once)))

question = "In your opinion, are these or those people number {} more often late?"
texts = [question.format(n) for n in range(int(sys.argv[2]))]
with asyncio.Runner(loop_factory=Clock().loop) as runner:
    runner.run(main(sys.argv[1], texts, int(sys.argv[3])))
"""


def serve(latency: float) -> None:
    """A chatbot behind the OpenAI-compatible protocol, the same answer to the same question each time."""
    from tests.servers import LocalServer, Request, Response

    def answer(request: Request) -> Response:
        text = request.json()["messages"][-1]["content"]
        kind = "why" if text.startswith("why") else "choice" if " or " in text else "yes-no"
        said = ANSWERS[kind][zlib.crc32(text.encode()) % len(ANSWERS[kind])]
        message = {"role": "assistant", "content": said}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 10, "completion_tokens": 5}
        return Response.json({"model": "local", "choices": [choice], "usage": usage}, delay=latency)

    with LocalServer(answer) as server:
        print(server.url, flush=True)
        sys.stdin.read()


def timed(command: list[str], folder: Path) -> tuple[float, float]:
    """Wall and CPU seconds of a whole process. Raises CalledProcessError."""
    began, before = time.perf_counter(), os.times()
    environment = {**os.environ, "OPENAI_API_KEY": "none", "TRUSTGAUGE_RATINGS": str(folder / "ratings")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # code is compiled once, not at every start
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - began, cpu


def rate(options: argparse.Namespace, url: str) -> tuple[float, float]:
    """One rating in an empty folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plan = folder / "plan.toml"
        plan.write_text(PLAN.format(probes=options.probes, url=url, at_once=options.at_once))
        python = [sys.executable, *(["-m", "cProfile", "-o", options.profile] if options.profile else [])]
        return timed([*python, "-m", "trustgauge", "rate", str(plan), "--yes", "--quiet"], folder)


def bare(options: argparse.Namespace, url: str) -> tuple[float, float]:
    """The loop that only asks."""
    with tempfile.TemporaryDirectory() as name:
        asked = [url, str(options.probes), str(options.at_once)]
        return timed([sys.executable, "-c", BARE, *asked], Path(name))


def measure(options: argparse.Namespace) -> dict[str, tuple[float, float]]:
    """Both in turns, against one server: best wall and best CPU seconds of each."""
    command = [sys.executable, "-m", "benchmarks.rate", "--serve", "--latency", str(options.latency)]
    best: dict[str, tuple[float, float]] = {}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        for _ in range(options.rounds):
            for way, act in (("bare", bare), ("rate", rate)):
                wall, cpu = act(options, url)
                before = best.get(way, (wall, cpu))
                best[way] = min(before[0], wall), min(before[1], cpu)
        server.communicate()
    return best


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rate", description=__doc__)
    parser.add_argument("--probes", type=int, default=2000)
    parser.add_argument("--latency", type=float, default=0.02, help="seconds")
    parser.add_argument("--at-once", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--profile", help="write a profile of the last rating to this file")
    parser.add_argument("--serve", action="store_true", help="be the server")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.serve:
        serve(options.latency)
        return
    best = measure(options)
    ideal = options.probes * options.latency / options.at_once
    if options.json:
        print(json.dumps({"ideal": ideal, **{way: list(figures) for way, figures in best.items()}}))
        return
    millis = options.latency * 1000
    print(f"{options.probes} chat probes, {millis:g} ms, {options.at_once} at once: ideal {ideal:.3f} s")
    print("way      wall s  x ideal   CPU s")
    for way, (wall, cpu) in best.items():
        print(f"{way:6} {wall:8.2f} {wall / ideal:8.2f} {cpu:7.2f}")


if __name__ == "__main__":
    main()
