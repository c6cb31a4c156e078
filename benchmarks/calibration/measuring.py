"""Settings rated and counted: the work of the command."""

from __future__ import annotations

import importlib
import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.calibration.counting import as_json, counted, from_json
from benchmarks.calibration.record import Setting, Wanted
from benchmarks.calibration.table import Measured

MODULES = {
    "two-step": "benchmarks.calibration.two_step",
    "causal": "benchmarks.calibration.causal",
    "social-bias": "benchmarks.calibration.social_bias",
    "trust": "benchmarks.calibration.trust",
}
"""The module that builds the services of each method; each has `settings(runs, seed, wanted)`, which yields
those whose name is wanted, and may say in `NOTES` why a target is missed, by what it is about ("wrong",
"coverage", "power", "certainty"), and under "known" what no target shows."""


def file_of(folder: Path, method: str) -> Path:
    """Where the measurements of a method stand."""
    return folder / f"calibration-{method}.json"


def kept(folder: Path) -> dict[str, Measured]:
    """What was measured so far, in a fixed order."""
    found = {}
    for name, module in MODULES.items():
        file = file_of(folder, name)
        if file.exists():
            told = json.loads(file.read_text("utf-8"))
            rows = tuple(from_json(told["settings"]))
            notes = dict(getattr(importlib.import_module(module), "NOTES", {}))
            found[name] = Measured(rows, told["day"], told["seed"], told["cpu_seconds"], notes)
    return found


def measure(method: str, runs: int, seed: int, wanted: Wanted, folder: Path) -> None:
    """Rate, count and keep the services of a method; each is written as soon as it is done.

    Services that were measured before and are not wanted stay as they are, as do those of a run that ended
    early.
    """
    folder.mkdir(parents=True, exist_ok=True)
    start = time.process_time()
    for setting in importlib.import_module(MODULES[method]).settings(runs, seed, wanted):
        _keep(setting, method, (seed, round(time.process_time() - start)), folder)
        start = time.process_time()


def are_missing(method: str, runs: int, seed: int, folder: Path) -> Wanted:
    """Services that were not measured with so many runs and this seed."""
    one = kept(folder).get(method)
    done = {row.service for row in one.rows if row.runs >= runs} if one and one.seed == seed else set()
    return lambda name: name not in done


def _keep(setting: Setting, method: str, how: tuple[int, int], folder: Path) -> None:
    """Keep one more service; what was measured with another seed is dropped."""
    file, (seed, seconds) = file_of(folder, method), how
    nothing: dict[str, Any] = {"seed": seed, "cpu_seconds": 0, "settings": []}
    told = json.loads(file.read_text("utf-8")) if file.exists() else nothing
    told = told if told["seed"] == seed else nothing
    (row,) = as_json([counted(setting)])
    rows = {(one["service"], one["size"]): one for one in told["settings"]}
    rows[row["service"], row["size"]] = row
    day = datetime.now(tz=UTC).date().isoformat()
    spent = told["cpu_seconds"] + seconds
    found = {"day": day, "seed": seed, "cpu_seconds": spent, "settings": list(rows.values())}
    file.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
