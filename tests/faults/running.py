"""The real command against servers of this test, in processes of its own or in this one, and what it left."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tomli_w

from tests.cli import test_commands
from tests.forks import ForkedCommand

LIMIT = 120.0
"""Seconds after which a command counts as hung."""


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "trustgauge", *arguments]


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment without settings of ours, and what a test adds."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name == "TRUSTGAUGE_TRUST" or not name.startswith("TRUSTGAUGE")
    }
    return {**kept, **(more or {})}


def started(folder: Path, *arguments: str, more: Mapping[str, str] | None = None) -> ForkedCommand:
    """The command, running in a process of its own."""
    return ForkedCommand(arguments, folder, environment(more))


def started_anew(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """The command in a process that begins with the start-up of Python."""
    return subprocess.Popen(
        command(*arguments),
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


def ended(process: ForkedCommand | subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    """What a running command came to."""
    out, err = process.communicate(timeout=LIMIT)
    assert process.returncode is not None
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def trustgauge(
    folder: Path, *arguments: str, more: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """The command, run to its end in this process."""
    variables: Mapping[str, Any] = more or {}
    return test_commands.trustgauge(*arguments, folder=folder, **variables)


# A process counts as its own the memory of the one it was started from, and a test process may hold
# gigabytes. This small one between them reads only what the command took.
MEASURING = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)
"""


def measured(folder: Path, *arguments: str) -> tuple[subprocess.CompletedProcess[str], int]:
    """The command, run to its end, and the most memory it held, in kilobytes (Linux)."""
    through = [sys.executable, "-S", "-c", MEASURING, *command(*arguments)]
    done = subprocess.run(
        through, cwd=folder, env=environment(), capture_output=True, encoding="utf-8", timeout=LIMIT
    )
    return done, int(done.stdout.splitlines()[-1])


def last(done: subprocess.CompletedProcess[str]) -> str:
    """The last line of stderr, which repeats the exit code in words."""
    return done.stderr.strip().splitlines()[-1]


def error_of(done: subprocess.CompletedProcess[str], code: int) -> str:
    """The stderr of a command that ended as it should: this code, in words, without a traceback."""
    assert done.returncode == code, done.stderr[-2000:]
    assert "Traceback" not in done.stderr + done.stdout
    assert "internal error" not in done.stderr
    if code:
        assert last(done).startswith(f"exit {code}: ")
    return done.stderr


def write_plan(folder: Path, plan: Mapping[str, Any]) -> Path:
    path = folder / "plan.toml"
    path.write_text(tomli_w.dumps(plan), "utf-8")
    return path


def rows(ratings: Path, query: str) -> list[tuple[Any, ...]]:
    """What a query finds in the stores of all runs, read as any SQLite program reads them."""
    found: list[tuple[Any, ...]] = []
    for store in sorted(ratings.glob("TG-*/store.sqlite")):
        with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as db:
            # Whoever looks while a store is begun finds no table yet.
            if db.execute("SELECT 1 FROM sqlite_master").fetchone():
                found += db.execute(query).fetchall()
        db.close()
    return found


def rating(ratings: Path) -> dict[str, Any]:
    """The one rating.json below a folder."""
    (path,) = ratings.glob("TG-*/rating.json")
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def files_of(folder: Path) -> Sequence[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]
