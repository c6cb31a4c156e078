"""kill -9 and SIGSTOP of the real command at moments of the clock, whatever it is doing then.

`tests/run/test_kill.py` kills in the middle of asking; here planning, rating and writing are hit too,
and what was asked twice is counted by the server's own log.
"""

from __future__ import annotations

import json
import random
import re
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from tests.faults.running import LIMIT, ended, error_of, rating, rows, started, trustgauge, write_plan
from tests.run.plans import but_for_times, faithful, translator_plan
from tests.servers import LocalServer, Request, Response

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")

KILLS = 3
AT_ONCE = 4
LATENCY = 0.01
GROUP = 0.05  # seconds for which answers are gathered before they are committed
SLACK = 0.25  # seconds that a busy machine may take to commit a group


class Counting:
    """A faithful translator that counts how often each text and draw was asked, on the way out."""

    def __init__(self) -> None:
        self.calls: Counter[tuple[str, int]] = Counter()
        self.total = 0

    def __call__(self, request: Request) -> Response:
        asked = request.json()
        self.total += 1
        if asked["target"] != "en":
            self.calls[asked["q"], asked["draw"]] += 1
        return faithful(request)


def acknowledged(ratings: Path) -> set[tuple[str, int]]:
    """Text and draw of what is committed of the rated service."""
    query = "SELECT text, draw FROM response WHERE trail != '[]' AND status != 'failed'"
    return {(text, draw) for text, draw in rows(ratings, query)}


GATE = {"gate": ("--fail-on", "worst")}
RATE = ("rate", "plan.toml", "--progress", "none", "--ratings")


@pytest.mark.slow
def test_killed_at_any_moment_it_ends_as_if_nothing_had_happened(tmp_path: Path) -> None:
    counting, chance = Counting(), random.Random(20261122)
    killed = tmp_path / "killed"
    with LocalServer(counting, LATENCY) as server:
        write_plan(tmp_path, translator_plan(server.url, texts=80, service={"concurrency": AT_ONCE}))
        began = time.monotonic()
        error_of(ended(started(tmp_path, *RATE, "calm")), 0)
        took = time.monotonic() - began
        assert set(counting.calls.values()) == {1}
        counting.calls.clear()
        safe: dict[tuple[str, int], int] = {}
        for _ in range(KILLS):
            process = started(tmp_path, *RATE, "killed")
            time.sleep(chance.uniform(0.2, 0.9) * took)
            process.send_signal(signal.SIGKILL)
            ended(process)
            time.sleep(0.1)  # calls that were under way arrive
            for key in acknowledged(killed):
                safe.setdefault(key, counting.calls[key])
        error_of(trustgauge(tmp_path, *RATE, "killed"), 0)
    assert {key: counting.calls[key] for key in safe} == safe, "an acknowledged call was sent again"
    assert len(counting.calls) == 240
    again = sum(count - 1 for count in counting.calls.values())
    under_way = AT_ONCE + AT_ONCE / (2 * LATENCY) * (GROUP + SLACK)
    assert again <= KILLS * under_way, "more was asked twice than can have been under way"
    assert but_for_times(rating(killed)) == but_for_times(rating(tmp_path / "calm"))
    error_of(trustgauge(tmp_path, "verify", "--ratings", "killed"), 0)


TALKS = {"method": "trust", "services": ["bot"], "issues": ["abuse", "complexity"]}
RULED = {"profiles": ["harm"], "orders": {"harm": ["abuse", "complexity"]}}
LONGEST = 5  # turns of a conversation


def chat_plan(url: str, talks: int) -> dict[str, Any]:
    bot = {"use": "openai", "model": "m", "url": f"{url}/v1", "key": "", "concurrency": AT_ONCE}
    return {"services": {"bot": bot}, "experiments": [{**TALKS, **RULED, "talks": talks}]}


def answers_at_length(request: Request) -> Response:
    text = f"It depends on the person. You asked: {request.json()['messages'][-1]['content']}"
    return Response.json({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]})


def killed_after(folder: Path, server: LocalServer, calls: int, *command: str) -> int:
    """Start the command and kill it when it has made so many calls; how many it made."""
    before = len(server.requests)
    process = started(folder, *command)
    while len(server.requests) - before < calls and process.poll() is None:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    assert ended(process).returncode == -signal.SIGKILL
    time.sleep(0.1)  # calls that were under way arrive
    return len(server.requests) - before


def announced(folder: Path) -> int:
    """The calls that `plan` says are to be made."""
    done = trustgauge(folder, "plan", "plan.toml", "--ratings", "ratings")
    error_of(done, 0)
    (calls,) = re.findall(r"^calls +([\d,]+) ", done.stdout, re.MULTILINE)
    return int(calls.replace(",", ""))


@pytest.mark.parametrize("kind", ["sqlite", "parquet"])
def test_a_kill_loses_the_conversations_under_way_and_announces_what_is_left(
    tmp_path: Path, kind: str
) -> None:
    """Calls made, answers kept and costs told agree, over kills and with what another run lends."""
    command = (*RATE, "ratings", "--yes", "--store", kind)
    under_way = AT_ONCE * LONGEST + AT_ONCE / (2 * LATENCY) * (GROUP + SLACK)
    total = 0
    with LocalServer(answers_at_length, 2 * LATENCY) as server:
        write_plan(tmp_path, chat_plan(server.url, 40))
        whole = announced(tmp_path)
        for calls in (60, 50):
            left = announced(tmp_path)
            made = killed_after(tmp_path, server, calls, *command)
            total += made
            assert made - under_way <= left - announced(tmp_path) <= made
        write_plan(tmp_path, chat_plan(server.url, 44))
        error_of(trustgauge(tmp_path, *command, "--limit-calls", "60"), 4)
        write_plan(tmp_path, chat_plan(server.url, 40))
        left, before = announced(tmp_path), len(server.requests)
        assert left <= whole - 60
        done = trustgauge(tmp_path, *command)
        error_of(done, 0)
        assert len(server.requests) - before == left
        total += left
        assert announced(tmp_path) == 0
    (run,) = (one["run"] for one in ratings_of(tmp_path) if not one["run"]["stopped"])
    sent, uncertain = run["sent"]["calls"], run["uncertain"]["calls"]
    assert sent - uncertain <= total <= sent
    assert uncertain <= 2 * under_way


def test_a_limit_after_a_kill_is_used_up_by_calls(tmp_path: Path) -> None:
    """What a killed run had reserved leaves nearly all of a limit to the runs that go on with it."""
    limit = 100
    command = (*RATE, "ratings", "--yes")
    with LocalServer(answers_at_length, 2 * LATENCY) as server:
        write_plan(tmp_path, chat_plan(server.url, 60))
        killed_after(tmp_path, server, 40, *command)
        for _ in range(2):
            error_of(trustgauge(tmp_path, *command, "--limit-calls", str(limit)), 4)
        total = len(server.requests)
    (document,) = ratings_of(tmp_path)
    sent, uncertain = (document["run"][name]["calls"] for name in ("sent", "uncertain"))
    assert sent - uncertain <= total <= sent <= limit
    assert uncertain <= 2 * AT_ONCE + AT_ONCE / (2 * LATENCY) * (GROUP + SLACK)
    assert limit - total <= uncertain + LONGEST, "of a conversation that would not fit nothing is begun"


def ratings_of(folder: Path) -> list[dict[str, Any]]:
    """What all rated runs came to."""
    return [json.loads(path.read_bytes()) for path in sorted(folder.glob("ratings/TG-*/rating.json"))]


def test_killed_while_it_writes_the_rating_is_whole_or_not_there(tmp_path: Path) -> None:
    """All answers are kept, so only rating and writing are left."""
    chance = random.Random(5)
    with LocalServer(faithful) as server:
        write_plan(tmp_path, translator_plan(server.url, texts=20, experiment={"draws": 1000}))
        began = time.monotonic()
        error_of(ended(started(tmp_path, *RATE, "ratings")), 0)
        took = time.monotonic() - began
        asked = len(server.requests)
        (folder,) = (tmp_path / "ratings").glob("TG-*")
        before = json.loads((folder / "rating.json").read_bytes())
        for _ in range(3):
            (folder / "rating.json").unlink(missing_ok=True)
            process = started(tmp_path, *RATE, "ratings")
            time.sleep(chance.uniform(0.6, 1.0) * took)
            process.send_signal(signal.SIGKILL)
            ended(process)
            if (folder / "rating.json").exists():
                json.loads((folder / "rating.json").read_bytes())
            json.loads((folder / "manifest.json").read_bytes())
        error_of(trustgauge(tmp_path, *RATE, "ratings"), 0)
        assert len(server.requests) == asked, "nothing was left to ask"
    assert but_for_times(rating(tmp_path / "ratings")) == but_for_times(before)


def test_a_killed_run_is_listed_and_shown_as_unfinished_with_what_resumes_it(tmp_path: Path) -> None:
    counting = Counting()
    with LocalServer(counting, LATENCY) as server:
        write_plan(tmp_path, translator_plan(server.url, texts=20, experiment={"draws": 1000}))
        error_of(trustgauge(tmp_path, *RATE, "ratings"), 0)
        (rated,) = [path.name for path in (tmp_path / "ratings").glob("TG-*")]
        plan = translator_plan(
            server.url, texts=100, service={"concurrency": AT_ONCE}, experiment={"draws": 1000}
        )
        (tmp_path / "plan.toml").write_text(tomli_w.dumps({**plan, "seed": 8}), "utf-8")
        process = started(tmp_path, *RATE, "ratings")
        deadline = time.monotonic() + LIMIT
        while len(counting.calls) < 60 + 120 and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        ended(process)
        listed = json.loads(trustgauge(tmp_path, "list", "--json").stdout)
        (mine, other) = listed
        assert other["id"] == rated
        assert (mine["state"], mine["service"]) == ("unfinished", "mine")
        assert mine["answers"] >= 50
        assert mine["resume"] == f"trustgauge rate ratings/{mine['id']}/plan.toml"
        line = trustgauge(tmp_path, "list").stdout.splitlines()[0]
        assert line.startswith(f"{mine['id']}  ")
        assert f"unfinished  mine  {mine['answers']:,} answers  {mine['resume']}" in line
        for verb in ("show", "gate", "verify"):
            told_of = error_of(trustgauge(tmp_path, verb, mine["id"], *GATE.get(verb, ())), 4)
            assert f"{mine['id']} is unfinished. Got {mine['answers']:,} answers and no rating yet" in told_of
            assert f"`{mine['resume']}` goes on with it" in told_of
        assert "is unfinished" in error_of(trustgauge(tmp_path, "gate", "plan.toml", "--fail-on", "worst"), 4)
        as_json = trustgauge(tmp_path, "show", mine["id"][:-1], "--json")
        assert json.loads(as_json.stdout) == mine
        error_of(as_json, 4)
        latest = trustgauge(tmp_path, "show", "latest", "--json")
        assert json.loads(latest.stdout)["run"]["id"] == rated, "the latest that was rated"
        error_of(trustgauge(tmp_path, *mine["resume"].split()[1:], "--progress", "none"), 0)
    states = {row["id"]: row["state"] for row in json.loads(trustgauge(tmp_path, "list", "--json").stdout)}
    assert set(states) == {mine["id"], rated}
    assert "unfinished" not in states.values()


def test_a_process_that_slept_asks_again_what_came_too_late(tmp_path: Path) -> None:
    """Stopped for longer than a call may take, as a laptop that is closed."""
    counting = Counting()
    with LocalServer(counting, 0.02) as server:
        calm = {"concurrency": AT_ONCE, "timeout": 1.0}
        write_plan(tmp_path, translator_plan(server.url, texts=50, service=calm))
        process = started(tmp_path, *RATE, "ratings")
        while counting.total < 60 and process.poll() is None:
            time.sleep(0.005)
        process.send_signal(signal.SIGSTOP)
        time.sleep(1.5)
        process.send_signal(signal.SIGCONT)
        done = ended(process)
    error_of(done, 0)
    assert "not rated" not in done.stdout
    assert rating(tmp_path / "ratings")["ratings"][0]["coverage"]["answered"] == 150
    assert sum(count - 1 for count in counting.calls.values()) <= 2 * AT_ONCE


def test_two_runs_at_once_in_one_folder(tmp_path: Path) -> None:
    """Two real processes: the second is told who is at work, and sends nothing."""
    counting = Counting()
    with LocalServer(counting, 0.02) as server:
        write_plan(tmp_path, translator_plan(server.url, texts=30, service={"concurrency": AT_ONCE}))
        first = started(tmp_path, *RATE, "ratings")
        while counting.total < 10 and first.poll() is None:
            time.sleep(0.005)
        first.send_signal(signal.SIGSTOP)  # so that it cannot end before the second begins
        try:
            second = trustgauge(tmp_path, *RATE, "ratings")
        finally:
            first.send_signal(signal.SIGCONT)
        err = error_of(second, 2)
        error_of(ended(first), 0)
    assert f"locked by process {first.pid}" in err
    for part in ("is in use", "Must be used by one run at a time", "wait until it has ended"):
        assert part in err
    assert set(counting.calls.values()) == {1}, "the second run asked, too"
