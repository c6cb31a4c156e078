"""All benchmarks, one after the other, as one page with its pictures.

    python -m benchmarks                       # everything, docs/figures/benchmarks.*
    python -m benchmarks --only store startup  # some; the others stay as they were measured
    python -m benchmarks --quick -o build      # small sizes, by which no target is judged

Ends with 1 if a benchmark fails; a missed target is a finding, not a failure.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.page import page, pictures
from benchmarks.results import Found, as_json
from benchmarks.subjects import SUBJECTS, Subject

ROOT = Path(__file__).parent.parent
FIGURES = ROOT / "docs" / "figures"
LONGEST = 1_200  # seconds that one benchmark may take


def machine() -> str:
    """The class of this machine, in words."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{os.cpu_count()} cores of {platform.machine()}, {memory:.0f} GB, {platform.system()}, "
        f"Python {platform.python_version()}"
    )


def run(subject: Subject, *, quick: bool) -> Any:
    """The JSON of a benchmark, run in a process of its own. Raises RuntimeError saying how it ended."""
    command = [sys.executable, *subject.command, *(subject.quick if quick else subject.full)]
    environment = {**os.environ, **subject.environment}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # code is compiled once, not at every start
    with tempfile.TemporaryDirectory() as name:
        file = Path(name, subject.file or "unused")
        if subject.file:
            command += ["--json", str(file)]
        try:
            done = subprocess.run(
                command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, timeout=LONGEST
            )
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"the benchmark took more than {LONGEST:,} s") from None
        if done.returncode:
            raise RuntimeError(f"the benchmark ended with exit code {done.returncode}")
        told = file.read_text("utf-8") if subject.file else (done.stdout.splitlines() or [""])[-1]
    try:
        return json.loads(told)
    except json.JSONDecodeError:
        raise RuntimeError("the benchmark ended without figures") from None


def measured(subject: Subject, folder: Path, *, quick: bool) -> dict[str, Any]:
    """What a benchmark found, or why it failed, and what a reader must know of the run.

    Args:
        subject: the benchmark.
        folder: of the results; a file of the benchmark's own that lies there is taken as it is.
        quick: small sizes. Targets are set for full sizes, so none is judged then.
    """
    began = time.perf_counter()
    told: dict[str, Any] = {
        "machine": machine(),
        "quick": quick,
        "load": os.getloadavg()[0] / (os.cpu_count() or 1),
    }
    before = folder / subject.file
    try:
        taken = bool(subject.file) and before.exists()
        told["taken"] = subject.file if taken else ""
        found = subject.read(json.loads(before.read_text("utf-8")) if taken else run(subject, quick=quick))
        if quick:
            found = Found(tuple(replace(row, target=None) for row in found.rows), found.curves)
        told["found"] = as_json(found)
    except RuntimeError as error:
        told["failed"] = str(error)
    return {**told, "seconds": time.perf_counter() - began}


def write(told: Mapping[str, Any], folder: Path, subjects: Mapping[str, Subject]) -> None:
    """The figures as JSON, and from them the page and the pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = json.dumps(told, indent=1, ensure_ascii=False) + "\n"
    (folder / "benchmarks.json").write_text(lines, "utf-8")
    (folder / "benchmarks.md").write_text(page(told, subjects), "utf-8")
    for name, drawn in pictures(told, subjects).items():
        (folder / name).write_text(drawn, "utf-8")


def kept(folder: Path) -> dict[str, Any]:
    """What was measured before; nothing if nothing was."""
    file = folder / "benchmarks.json"
    return dict(json.loads(file.read_text("utf-8"))) if file.exists() else {}


def main(arguments: Sequence[str] | None = None, subjects: Mapping[str, Subject] = SUBJECTS) -> int:
    """Measure, merge with what was measured before, write after each benchmark.

    Args:
        arguments: of the command line; the process's own if None.
        subjects: what can be run, by name.

    Returns:
        The exit code.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(subjects), metavar="NAME", help=", ".join(subjects))
    parser.add_argument("--quick", action="store_true", help="small sizes, under two minutes")
    parser.add_argument("-o", "--output", type=Path, default=FIGURES, help="folder to write to")
    options = parser.parse_args(arguments)
    told = kept(options.output)
    failed = 0
    for name in options.only or subjects:
        print(f"{name} ...", end=" ", flush=True)
        told[name] = measured(subjects[name], options.output, quick=options.quick)
        failed += "failed" in told[name]
        print(f"{told[name]['seconds']:,.0f} s", told[name].get("failed", ""), flush=True)
        write({name: told[name] for name in subjects if name in told}, options.output, subjects)
    print(f"written to {options.output}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
