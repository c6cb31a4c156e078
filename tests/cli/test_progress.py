"""What a run tells while it goes on: words, and what happens again and again once with a count."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.faults.running import trustgauge
from trustgauge.engine import RunAnnouncement
from trustgauge.reports import sentences
from trustgauge.terminal.output import computing, progress_display, working

AT = "2026-11-22T09:08:0{}+00:00"
SLOWED = {"event": "slowed", "service": "bot", "error": "service.busy", "wait": 0.5}


def said(
    capsys: pytest.CaptureFixture[str], *events: dict[str, Any], announced: RunAnnouncement | None = None
) -> list[str]:
    with progress_display({"progress": "plain"}, announced) as watch:
        for number, event in enumerate(events):
            watch({"at": AT.format(number % 10), **event})
    return [one for one in capsys.readouterr().err.splitlines() if one.startswith("note")]


def answers(count: int, each: float) -> list[dict[str, Any]]:
    """A run of one part in which an answer comes every so many seconds."""
    began = datetime(2026, 11, 22, tzinfo=UTC)
    facts = {"part": "bot", "status": "answered", "error": None, "millis": 1.0, "turns": 1}
    return [
        {"event": "plan", "at": began.isoformat(), "part": "bot", "service": "bot", "total": 400},
        *(
            {
                **{"event": "answer", "at": (began + timedelta(seconds=each * number)).isoformat()},
                **{**facts, "usd": 0.0, "tokens": 0, "calls": 1},
            }
            for number in range(1, count + 1)
        ),
    ]


def test_an_announced_duration_that_is_wrong_is_corrected_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, *answers(40, 1.5), announced=RunAnnouncement(20.0)) == [
        "note     was announced as about 20 s; at the pace of the first 12 answers it is about 10 min"
    ]
    assert said(capsys, *answers(40, 1.5), announced=RunAnnouncement(3000.0)) == [
        "note     was announced as about 50 min; at the pace of the first 12 answers it is about 10 min"
    ]
    assert said(capsys, *answers(40, 1.5), announced=RunAnnouncement(500.0)) == []
    assert said(capsys, *answers(40, 1.5)) == []


def test_one_note_twelve_times_stands_once_with_its_count(capsys: pytest.CaptureFixture[str]) -> None:
    many = [{**SLOWED, "at_once": 32 - number, "rate": 35.529411764705497 - number} for number in range(12)]
    over = {"event": "done", "stopped": None, "calls": 0, "usd": 0.0, "tokens": 0}
    slower = "note     bot slowed down, at most {} calls at once and {} a second: The service asked"
    assert said(capsys, *many, over) == [
        f"{slower.format(32, 36)} to wait",
        f"{slower.format(21, 25)} to wait (12 times)",
    ]


@pytest.mark.parametrize(
    ("event", "words"),
    [
        ({**SLOWED, "at_once": 1, "rate": None}, "at most 1 call at once: The service asked to wait"),
        ({**SLOWED, "at_once": 2, "rate": 0.05}, "at most 2 calls at once and 0.1 a second"),
        (
            {
                "event": "breaker",
                "service": "bot",
                "state": "probing",
                "error": "service.unavailable",
                "wait": 61.2,
            },
            "bot seems to be down, next attempt in 1 min 1 s: The service failed",
        ),
        (
            {"event": "breaker", "service": "bot", "state": "open", "error": "service.unavailable"},
            "bot seems to be down, giving up: The service failed",
        ),
        ({"event": "breaker", "service": "bot", "state": "closed"}, "bot is responding again"),
        (
            {"event": "stopped", "service": "bot", "error": "service.refused", "detail": "no key {x}"},
            "bot stopped: no key {x}",
        ),
        ({"event": "limit", "reason": "limit reached: calls 60"}, "limit reached: calls 60"),
    ],
)
def test_what_happens_is_told_in_words(event: dict[str, Any], words: str) -> None:
    assert words in sentences.event(**event)


PLAN = """
[services.mine]
use = "anchor"
behaviour = "coin"
[[experiments]]
method = "two-step"
services = ["mine"]
texts = 20
draws = 1000
"""


@pytest.mark.parametrize("kind", ["json", "none"])
def test_progress_goes_to_stderr_as_the_option_says(tmp_path: Path, kind: str) -> None:
    """Every event as a line of JSON, or nothing; what was found is one document on stdout."""
    (tmp_path / "plan.toml").write_text(PLAN)
    done = trustgauge(tmp_path, "rate", "plan.toml", "--progress", kind, "--json")
    assert json.loads(done.stdout)["ratings"]
    events = [json.loads(line)["event"] for line in done.stderr.splitlines() if line.startswith("{")]
    assert set(events) >= ({"plan", "answer", "done"} if kind == "json" else set())
    assert (events == []) == (kind == "none")


def test_in_a_pipe_a_line_tells_each_tenth(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_display({"progress": "plain"}) as watch:
        for event in answers(400, 1.5):
            watch(event)
    result = capsys.readouterr()
    assert result.out == ""
    assert len(result.err.splitlines()) == pytest.approx(10, abs=1)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_terminal_shows_what_is_simulated_and_a_pipe_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    code = """
from trustgauge.terminal.output import working
with working({}) as show:
    show("Simulating what this plan can find: social-bias")
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    assert capfd.readouterr().err == ""
    ours, theirs = os.openpty()
    env = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | {"TERM": "xterm"}
    subprocess.run([sys.executable, "-c", code], check=True, stderr=theirs, env=env)
    os.close(theirs)
    assert b"Simulating what this plan can find: social-bias" in os.read(ours, 65536)
    os.close(ours)


def test_a_pipe_sees_what_takes_long() -> None:
    code = """
from trustgauge.terminal.output import working
with working({}, silent=0.01) as show:
    show("Counting the stars")
    input()
"""
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "working  Counting the stars\n"
        assert process.communicate("\n")[1] == ""


@pytest.mark.parametrize("options", [{"quiet": True}, {"as_json": True}])
def test_nothing_is_told_of_work_where_only_the_result_is_wanted(
    options: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    with working(options, silent=0) as show:
        show("Counting the stars")
        time.sleep(0.05)
    assert capsys.readouterr().err == ""


def test_what_is_computed_after_asking_is_said_once_it_takes_a_while(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with computing({"progress": "plain"}, silent=0.05) as show:
        show("Rating the answers")
        show("Writing the report")
        time.sleep(0.4)
    assert capsys.readouterr().err == "working  Writing the report\n"
    with computing({"progress": "plain"}, silent=5) as show:
        show("Rating the answers")
    with computing({"progress": "json"}, silent=0) as show:
        show("Rating the answers")
    assert capsys.readouterr().err == ""
