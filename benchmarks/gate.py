"""How often a gate fails a system that did not change, and finds a regression of ten points.

    python -m benchmarks.gate --runs 1000

Every run is two evaluations of one suite: questions in clusters, some easier than others, each asked twice,
pass or fail by chance; through the importer's table, the paired comparison and the gate's exit code.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from scipy.stats import binomtest

from trustgauge.apps.gate.checks import GateOptions, checks, exit_of_checks
from trustgauge.data.results import MANIFEST, RESULTS, SCHEMA
from trustgauge.run.paired_results import ERROR, MARGIN
from trustgauge.stats.distributions import Floats
from trustgauge.stats.paired import items_to_find, paired_difference

RATE = 0.75
"""Mean share of passes of the system that did not change."""
CLUSTER = 3
REPEATS = 2


def difficulties(items: int, rng: np.random.Generator) -> Floats:
    """The chance of each item to pass; items of a cluster are alike."""
    centres = rng.beta(3, 1, -(-items // CLUSTER))
    return np.asarray(np.repeat(centres, CLUSTER)[:items])


def write(folder: Path, chance: Floats, rng: np.random.Generator) -> None:
    """One evaluation as a folder of imported results."""
    folder.mkdir(exist_ok=True)
    passed = rng.random((len(chance), REPEATS)) < chance[:, None]
    rows = (
        {"system": "bot", "metric": "pass", "item": f"q{item}", "cluster": f"c{item // CLUSTER}",
         "run": str(run), "value": float(passed[item, run]), "label": ""}
        for item in range(len(chance)) for run in range(REPEATS)
    )  # fmt: skip
    (folder / RESULTS).write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    metric = {"better": "higher", "low": None, "high": None, "least": 0.0, "most": 1.0}
    manifest = {"schema": SCHEMA, "source": {}, "systems": ["bot"], "metrics": {"pass": metric}}
    (folder / MANIFEST).write_text(json.dumps(manifest), "utf-8")


def planned(seed: int) -> int:
    """The size that finds the margin 8 times in 10, from the spread of a pilot of 300 items."""
    rng = np.random.default_rng(seed)
    chance = difficulties(300, rng)
    means = [(rng.random((300, REPEATS)) < chance[:, None]).mean(axis=1) for _ in range(2)]
    pilot = paired_difference(means[1] - means[0], np.arange(300) // CLUSTER, 1.0, rng)
    told = (pilot.deviation, pilot.items, pilot.clusters)
    return items_to_find(MARGIN, told, ERROR, verdicts=1 / REPEATS)


def exits(runs: int, items: int, shift: float, seed: int = 1) -> Counter[int]:
    """The exit codes of many gates, each of a suite of its own."""
    found: Counter[int] = Counter()
    with TemporaryDirectory() as place:
        before, after = Path(place, "before"), Path(place, "after")
        for number in range(runs):
            rng = np.random.default_rng((seed, number))
            suite = np.random.default_rng((seed, number, 7))
            chance = difficulties(items, suite)
            write(before, chance, rng)
            write(after, chance * (1 + shift / RATE), rng)
            asked = GateOptions(against=str(before))
            found[exit_of_checks(checks(str(after), Path(place), asked, date(2026, 1, 1))).code] += 1
    return found


def main() -> None:
    """Print the shares of exit codes with their 95 % intervals."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    runs = parser.parse_args().runs
    size = planned(1)
    print(f"planned for a margin of {MARGIN:.0%} at error {ERROR}: {size} items, each asked {REPEATS} times")
    cases = (("unchanged", size, 0.0), ("10 points worse", size, -MARGIN), ("three", 3, 0.0))
    for name, items, shift in cases:
        found = exits(runs, items, shift)
        print(f"{name} ({items} items, {runs} gates)")
        for code in (0, 5, 10):
            low, high = binomtest(found[code], runs).proportion_ci()
            print(f"  exit {code:>2}: {found[code] / runs:6.1%} (95 %: {low:.1%} to {high:.1%})")


if __name__ == "__main__":
    main()
