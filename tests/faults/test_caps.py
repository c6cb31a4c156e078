"""Caps hold over kills: what a server was really sent, all sittings together, is never more than the cap."""

from __future__ import annotations

import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.faults.running import ended, error_of, rating, started, trustgauge, write_plan
from tests.run.plans import faithful, translator_plan
from tests.servers import LocalServer, Request, Response

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")

CAP = 400
RATE = ("rate", "plan.toml", "--progress", "none", "--yes", "--ratings", "ratings", "--limit-calls", str(CAP))


def broken_off(folder: Path, server: LocalServer, number: signal.Signals, times: int) -> list[int]:
    """Start the run and end it by a signal in the middle of asking, several times; the exit codes."""
    chance, codes = random.Random(7), []
    for _ in range(times):
        before = len(server.requests)
        process = started(folder, *RATE)
        while len(server.requests) == before and process.poll() is None:
            time.sleep(0.002)
        time.sleep(chance.uniform(0.0, 0.15))
        process.send_signal(number)
        codes.append(ended(process).returncode)
    time.sleep(0.2)  # calls that were under way arrive
    return codes


def sent_of(folder: Path) -> tuple[int, int]:
    run = rating(folder / "ratings")["run"]
    return run["sent"]["calls"], run["uncertain"]["calls"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP], ids=lambda number: number.name)
def test_a_cap_on_calls_holds_over_broken_runs(tmp_path: Path, number: signal.Signals) -> None:
    with LocalServer(faithful, 0.02) as server:
        write_plan(tmp_path, translator_plan(server.url, texts=150, service={"concurrency": 32}))
        codes = broken_off(tmp_path, server, number, 3 if number == signal.SIGKILL else 1)
        error_of(trustgauge(tmp_path, *RATE), 4)
        total = len(server.requests)
    sent, uncertain = sent_of(tmp_path)
    assert sent - uncertain <= total <= sent <= CAP
    assert set(codes) <= {-signal.SIGKILL, 4} if number == signal.SIGKILL else set(codes) <= {130, 4}
    if number == signal.SIGHUP:
        assert uncertain == 0
    error_of(trustgauge(tmp_path, "verify", "--ratings", "ratings"), 0)


def chat(request: Request) -> Response:
    text = request.json()["messages"][-1]["content"]
    return Response.json({"choices": [{"message": {"content": f"I see: {text}"}, "finish_reason": "stop"}]})


def test_a_cap_holds_over_kills_in_the_middle_of_scenes(tmp_path: Path) -> None:
    """Scenes of several users leave no answer until they are whole; their calls count all the same."""
    plan: dict[str, Any] = {
        "experiments": [{"method": "trust", "services": ["bot"], "issues": ["leakage"]}],
    }
    with LocalServer(chat, 0.01) as server:
        settings = {"use": "openai", "model": "m", "url": f"{server.url}/v1", "usd_per_call": 0.01}
        write_plan(tmp_path, plan | {"services": {"bot": {**settings, "concurrency": 16}}})
        broken_off(tmp_path, server, signal.SIGKILL, 5)
        error_of(trustgauge(tmp_path, *RATE), 4)
        total = len(server.requests)
    sent, uncertain = sent_of(tmp_path)
    assert sent - uncertain <= total <= sent <= CAP
    run = rating(tmp_path / "ratings")["run"]
    assert run["sent"]["usd"] == pytest.approx(sent / 100)
