"""What the system takes away: an encoding, stdout, open files. The command says so and keeps to its codes."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.faults.running import (
    command,
    ended,
    environment,
    error_of,
    rating,
    started,
    started_anew,
    trustgauge,
    write_plan,
)
from tests.run.plans import faithful, translator_plan
from tests.servers import LocalServer

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")

PLAN: dict[str, Any] = {
    "services": {"a": {"use": "anchor", "behaviour": "coin"}},
    "experiments": [{"method": "two-step", "services": ["a"], "texts": 20, "draws": 1000}],
}


def in_shell(folder: Path, before: str, after: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command inside a line of the shell."""
    whole = " ".join(shlex.quote(part) for part in command(*arguments))
    return subprocess.run(
        ["sh", "-c", f"{before} {whole} {after}"],
        cwd=folder,
        env=environment(),
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


@pytest.fixture(scope="module")
def rated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rated")
    write_plan(folder, PLAN)
    error_of(trustgauge(folder, "rate", "plan.toml", "--progress", "none"), 0)
    return folder


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
def test_output_in_another_encoding_is_written_and_json_stays_whole(rated: Path, encoding: str) -> None:
    for form in ("text", "json"):
        done = subprocess.run(
            command("show", "--as", form) if form == "text" else command("show", "--json"),
            cwd=rated,
            env=environment({"PYTHONIOENCODING": encoding}),
            capture_output=True,
            timeout=120,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        if form == "text":
            assert b"?" in done.stdout
        else:
            assert json.loads(done.stdout)["ratings"]


def test_a_closed_stdout_is_told_before_anything_is_done(tmp_path: Path) -> None:
    write_plan(tmp_path, PLAN)
    done = in_shell(tmp_path, "", ">&-", "rate", "plan.toml")
    assert "stdout is closed" in error_of(done, 2)
    assert not (tmp_path / "ratings").exists()
    assert in_shell(tmp_path, "", ">&- 2>&-", "list", "services").returncode == 2


def test_too_few_open_files_are_told_with_a_way_out(tmp_path: Path) -> None:
    write_plan(tmp_path, PLAN)
    done = in_shell(tmp_path, "ulimit -n 11;", "", "rate", "plan.toml", "--progress", "none")
    assert done.returncode in (2, 4)
    assert "ulimit -n 1024" in error_of(done, done.returncode)
    error_of(in_shell(tmp_path, "ulimit -n 24;", "", "rate", "plan.toml", "--progress", "none"), 0)


def test_too_few_open_files_for_connections_are_told_with_a_way_out(tmp_path: Path) -> None:
    with LocalServer(faithful) as server:
        write_plan(tmp_path, translator_plan(server.url, texts=5, service={"concurrency": 64}))
        done = in_shell(tmp_path, "ulimit -n 24;", "", "rate", "plan.toml", "--progress", "none")
    assert "`ulimit -n`), or lower `concurrency`" in error_of(done, 3)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_five_signals_in_a_row_end_in_words_and_keep_everything(
    tmp_path: Path, number: signal.Signals
) -> None:
    with LocalServer(faithful, 0.02) as server:
        write_plan(tmp_path, translator_plan(server.url, texts=50, service={"concurrency": 4}))
        process = started(tmp_path, "rate", "plan.toml", "--progress", "none")
        while len(server.requests) < 20 and process.poll() is None:
            time.sleep(0.005)
        for _ in range(5):
            process.send_signal(number)
            time.sleep(0.02)
        error_of(ended(process), 130)
        error_of(trustgauge(tmp_path, "rate", "plan.toml", "--progress", "none"), 0)
    assert rating(tmp_path / "ratings")["ratings"][0]["coverage"]["answered"] == 150


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("stage", ["start-up", "work"])
def test_a_signal_in_any_stage_ends_the_command_soon(
    tmp_path: Path, number: signal.Signals, stage: str
) -> None:
    """Start-up of Python; planning, asking, rating, whichever it is then."""
    write_plan(tmp_path, {**PLAN, "experiments": [{**PLAN["experiments"][0], "draws": 200_000}]})
    begin, moment = (started, 1.0) if stage == "work" else (started_anew, 0.3)
    process = begin(tmp_path, "rate", "plan.toml", "--progress", "none")
    time.sleep(moment)
    process.send_signal(number)
    began = time.monotonic()
    done = ended(process)
    assert time.monotonic() - began < 30
    assert done.returncode in ((0, 130) if stage == "work" else (0, 130, 1, -number)), done.stderr
    assert "internal error" not in done.stderr
