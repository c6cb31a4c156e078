"""Whether ratings are as right as they say: every method on services of known truth.

python -m benchmarks.calibration                    # all methods, docs/figures/calibration.*
python -m benchmarks.calibration --method causal    # one; the others stay as they were measured
python -m benchmarks.calibration --runs 20 -o try   # a quick look
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.calibration.counting import as_json, counted, from_json
from benchmarks.calibration.picture import drawn
from benchmarks.calibration.table import PICTURE, Measured, page

MODULES = {
    "two-step": "benchmarks.calibration.two_step",
    "causal": "benchmarks.calibration.causal",
    "social-bias": "benchmarks.calibration.social_bias",
    "trust": "benchmarks.calibration.trust",
}
"""The module that builds the services of each method; each has `settings(runs, seed)`, or with `SHARDS`
`settings(runs, seed, shard)`, shares of about the same length, and may say in
`NOTES` why a target is missed, by what it is about ("wrong", "coverage", "power", "certainty"), and under
"known" what no target shows."""
RUNS = 150
SEED = 20260101
FIGURES = Path(__file__).parents[2] / "docs" / "figures"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, merge with what was measured before, print and write."""
    options = _parser().parse_args(arguments)
    # One thread a process: with more, processes that run side by side wait for each other.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS"):
        os.environ.setdefault(name, "1")
    wanted = [] if options.page else options.method or list(MODULES)
    file = options.output / "calibration.json"
    told = json.loads(file.read_text("utf-8")) if file.exists() else {}
    told = merged(told, measured(wanted, options.runs, options.seed, options.jobs))
    told = {name: {**one, "notes": notes(name)} for name, one in told.items()}
    write(told, options.output)
    print((options.output / "calibration.md").read_text("utf-8"))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--method", action="append", choices=list(MODULES), help="may be repeated")
    parser.add_argument("--runs", type=int, default=RUNS, help="ratings of each service and size")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--page", action="store_true", help="measure nothing, only write the page again")
    parser.add_argument("-o", "--output", type=Path, default=FIGURES, help="folder to write to")
    return parser


def measured(methods: Sequence[str], runs: int, seed: int, jobs: int) -> dict[str, Any]:
    """What each method came to, as JSON; `jobs` processes, each with a share of one method at a time."""
    shares = [(name, shard) for name in methods for shard in _shards(name)]
    if jobs < 2 or len(shares) < 2:
        found = [measure(name, runs, seed, shard) for name, shard in shares]
    else:
        with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
            started = [pool.submit(measure, name, runs, seed, shard) for name, shard in shares]
            found = [one.result() for one in started]
    told: dict[str, Any] = {}
    for (name, _), (seconds, settings) in zip(shares, found, strict=True):
        one = told.setdefault(name, {"runs": runs, "seed": seed, "cpu_seconds": 0, "settings": []})
        one["cpu_seconds"] += seconds
        one["settings"] += settings
    return told


def _shards(method: str) -> Sequence[int | None]:
    """The shares that the settings of a method come in; None: all in one."""
    shards = getattr(importlib.import_module(MODULES[method]), "SHARDS", 0)
    return range(shards) if shards else (None,)


def measure(method: str, runs: int, seed: int, shard: int | None) -> tuple[int, list[dict[str, Any]]]:
    """Processor seconds, and the settings of one share of a method, rated and counted."""
    start = time.process_time()
    settings = importlib.import_module(MODULES[method]).settings
    rows = [counted(one) for one in (settings(runs, seed) if shard is None else settings(runs, seed, shard))]
    return round(time.process_time() - start), as_json(rows)


def notes(method: str) -> dict[str, str]:
    """What the module of a method says of its targets."""
    return dict(getattr(importlib.import_module(MODULES[method]), "NOTES", {}))


def merged(before: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """What was measured before with the methods measured anew in their place, in a fixed order."""
    every = {**before, **new}
    return {name: every[name] for name in MODULES if name in every}


def write(told: Mapping[str, Any], folder: Path) -> None:
    """The measurements as JSON, and from them the page and the picture."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = json.dumps(told, indent=1, ensure_ascii=False) + "\n"
    (folder / "calibration.json").write_text(lines, "utf-8")
    methods = {
        name: Measured(tuple(from_json(one["settings"])), one["runs"], one["seed"], one.get("notes", {}))
        for name, one in told.items()
    }
    (folder / "calibration.md").write_text(page(methods), "utf-8")
    rows = {name: one.rows for name, one in methods.items()}
    (folder / PICTURE).write_text(drawn(rows) + "\n", "utf-8")


if __name__ == "__main__":
    main()
