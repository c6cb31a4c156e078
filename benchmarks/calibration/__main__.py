"""Whether ratings are as right as they say: every method on services of known truth that answer in text.

python -m benchmarks.calibration                    # all methods, docs/figures/calibration*
python -m benchmarks.calibration --method causal    # one; the others stay as they were measured
python -m benchmarks.calibration --method causal --only "12 %"   # services whose name holds this
python -m benchmarks.calibration --missing          # what was not measured yet, after a run that was ended
python -m benchmarks.calibration --runs 20 -o try   # a quick look
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from benchmarks.calibration.measuring import MODULES, are_missing, kept, measure
from benchmarks.calibration.picture import drawn
from benchmarks.calibration.record import Wanted
from benchmarks.calibration.table import PICTURE, page

RUNS = 300
SEED = 20261124
FIGURES = Path(__file__).parents[2] / "docs" / "figures"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure beside what was measured before, print and write."""
    options = _parser().parse_args(arguments)
    # One thread a process: with more, processes that run side by side wait for each other.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS"):
        os.environ.setdefault(name, "1")
    for method in [] if options.page else options.method or list(MODULES):
        measure(method, options.runs, options.seed, _wanted(method, options), options.output)
    write(options.output)
    print((options.output / "calibration.md").read_text("utf-8"))


def _wanted(method: str, options: argparse.Namespace) -> Wanted:
    """The services of a method that are asked for."""
    missing = are_missing(method, options.runs, options.seed, options.output)
    return lambda name: options.only in name and (missing(name) or not options.missing)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--method", action="append", choices=list(MODULES), help="may be repeated")
    parser.add_argument("--only", default="", metavar="TEXT", help="services whose name holds this text")
    parser.add_argument("--missing", action="store_true", help="services that were not measured so often yet")
    parser.add_argument("--runs", type=int, default=RUNS, help="ratings of each service and size")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--page", action="store_true", help="measure nothing, only write the page again")
    parser.add_argument("-o", "--output", type=Path, default=FIGURES, help="folder to write to")
    return parser


def write(folder: Path) -> None:
    """The page and the picture, from the measurements in a folder."""
    methods = kept(folder)
    (folder / "calibration.md").write_text(page(methods), "utf-8")
    rows = {name: one.rows for name, one in methods.items()}
    (folder / PICTURE).write_text(drawn(rows) + "\n", "utf-8")


if __name__ == "__main__":
    main()
