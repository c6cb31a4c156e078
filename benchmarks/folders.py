"""What the commands cost that read a folder of many ratings: `list`, `show` and `compare`.

    python -m benchmarks.folders [--runs 5000]

One real run is rated and copied under other ids and the names of twenty services: what re-rating them every
week for five years leaves. Each command is a process of its own, measured whole: the first `list` makes
the index of the folder, all later ones only read it. `compare` reads the answers of two runs of each.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.results import Found, Row, Target, as_json, figure, verdict

SERVICES = 20
PLAN = """
name = "one of many"
seed = 1

[services.translator]
use = "anchor"
behaviour = "coin"

[[experiments]]
method = "two-step"
services = ["translator"]
texts = 20
"""


def seconds_and_megabytes(folder: Path, *arguments: str) -> tuple[float, float]:
    """Wall seconds and peak memory (MB) of one `trustgauge` process. Raises CalledProcessError."""
    command = [sys.executable, "-m", "trustgauge", *arguments]
    began = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if code := os.waitstatus_to_exitcode(status):
        raise subprocess.CalledProcessError(code, command)
    return time.perf_counter() - began, usage.ru_maxrss / 1000


def fill(folder: Path, runs: int) -> str:
    """Rate the plan once and copy the run. Returns the id of the first."""
    (folder / "trustgauge.toml").write_text(PLAN)
    seconds_and_megabytes(folder, "rate", "--quiet")
    (first,) = (entry for entry in (folder / "ratings").iterdir() if entry.is_dir())
    for number in range(1, runs):
        other = first.with_name(f"{first.name[:-4]}{number:04x}")
        if other == first:
            continue
        other.mkdir()
        for file in first.iterdir():
            if file.suffix in (".json", ".toml"):
                text = file.read_text("utf-8").replace(first.name, other.name)
                (other / file.name).write_text(
                    text.replace("translator", f"translator-{number % SERVICES}"), "utf-8"
                )
            else:
                os.link(file, other / file.name)
    return first.name


def measure(runs: int) -> Found:
    """All commands on one folder."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        first = fill(Path(name), runs)
        seconds_and_megabytes(Path(name), "list")  # makes the index
        for command, most in ((("list",), 1.0), (("show", first), 1.0), (("compare",), 5.0)):
            seconds, megabytes = min(seconds_and_megabytes(Path(name), *command) for _ in range(3))
            what = f"`{command[0]}` in a folder of {runs:,} runs"
            why = "it reads and compares each document; next, keep what it compares in the index"
            rows.append(Row(what=what, unit="s", ours=seconds, target=Target(most, why)))
            if command[0] == "compare":
                rows.append(Row(what=f"{what}: memory", unit="MB", ours=megabytes, target=Target(300, why)))
    return Found(tuple(rows))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=5000)
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    options = parser.parse_args()
    found = measure(options.runs)
    for row in found.rows:
        print(f"{row.what}: {figure(row.ours)} {row.unit} {verdict(row)}")
    if options.json:
        print(json.dumps(as_json(found)))


if __name__ == "__main__":
    main()
