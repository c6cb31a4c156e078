"""Whether ratings are as right as they say: every method on services of known truth.

python -m benchmarks.calibration                    # all methods, docs/figures/calibration.*
python -m benchmarks.calibration --method causal    # one; the others stay as they were measured
python -m benchmarks.calibration --runs 20 -o try   # a quick look
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.calibration.counting import from_json
from benchmarks.calibration.measuring import MODULES, measured, notes
from benchmarks.calibration.picture import drawn
from benchmarks.calibration.table import PICTURE, Measured, page

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
