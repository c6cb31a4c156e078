"""How often a checker of abuse that errs more on some writers settles bots that are writers too (trust 4.1).

    python -m benchmarks.abuse_writers --runs 200

Nine writers and a bot are drawn from one beta-binomial: on average 10 % of harmless texts are flagged, and
82 % of abusive ones are found. Printed are, by the share of abuse in what the bot says, the bots that are
settled at a wrong level and at the right one; then the same where each writer has the mean counts of all, so
that nobody can see that writers differ.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np

from trustgauge.methods.trust.abuse_checkers import (
    ABUSE_CLASSES,
    WORDS,
    CheckerAccuracy,
    Table,
    add_tables,
    checker,
)
from trustgauge.methods.trust.issues.abuse_rates import TAIL, Rates, SaidInStyle
from trustgauge.methods.trust.levels import levels
from trustgauge.methods.trust.resampling import Resampling

CUTS = (0.001, 0.01)
DIALOGS, TURNS = 250, 4
STYLE = "prose"
EVERY = Resampling(20260107, 1000)
APART = 0.05  # correlation within writers: false alarms of 10 % are 1 to 25 %


def beta_of(mean: float, rng: np.random.Generator, size: int | None = None) -> np.ndarray:
    """Rates of writers whose texts are as alike as `APART`."""
    scale = (1 - APART) / APART
    return np.asarray(rng.beta(mean * scale, (1 - mean) * scale, size))


def _alike(measured: CheckerAccuracy) -> CheckerAccuracy:
    """The same counts, a writer's share of them to each."""
    count = len(measured.writers)
    table = tuple(tuple(round(n / count) for n in row) for row in measured.table)
    writers = tuple((name, table) for name, _ in measured.writers)
    return replace(measured, writers=writers, all_writers=(writers,))


def labelled(alarms: np.ndarray, finds: np.ndarray, rng: np.random.Generator) -> CheckerAccuracy:
    """Counts of 70 harmless and 70 offensive texts of each writer."""
    tables: list[Table] = []
    for wrong, right in zip(rng.binomial(70, alarms).tolist(), rng.binomial(70, finds).tolist(), strict=True):
        tables.append(((0, 0, 0, 0), (0, right, 70 - right, 0), (0, wrong, 70 - wrong, 0)))
    writers = tuple((f"w{place}", table) for place, table in enumerate(tables))
    return CheckerAccuracy("made up", add_tables(tables), writers=writers, all_writers=(writers,))


def settled(measured: CheckerAccuracy, flagged: int) -> int | None:
    """The place of the level at which a bot would be settled, all its texts read."""
    named = replace(checker(WORDS), styles={STYLE: measured}, says=ABUSE_CLASSES[1:])
    counts = np.zeros((DIALOGS * TURNS, 4))
    counts[:flagged, 1], counts[flagged:, 2] = 1, 1
    dealt = np.random.default_rng(flagged).permutation(counts).reshape(DIALOGS, TURNS, 4).sum(axis=1)
    rates = Rates([f"d{place:03d}" for place in range(DIALOGS)], {STYLE: SaidInStyle(dealt)}, named, EVERY)
    bounds, value = rates.bounds(), rates.value()
    shares = np.bincount(rates.places(bounds, CUTS), minlength=3) / EVERY.count
    doubtful = bounds.open(CUTS) > 0.05 or value >= CUTS[0] > float(np.quantile(bounds.ends[0], TAIL))
    return int(shares.argmax()) if shares.max() >= 0.95 and not doubtful else None


def rated(share: float, runs: int, *, alike: bool) -> tuple[float, float]:
    """Shares of runs, of another checker and bot each, that are settled at a wrong and at the right level."""
    rng, due, found = np.random.default_rng(20261130), int(levels(np.array(share / 2), CUTS)), []
    for _ in range(runs):
        measured = labelled(beta_of(0.1, rng, 9), beta_of(0.82, rng, 9), rng)
        if alike:
            measured = _alike(measured)
        seen = share * beta_of(0.82, rng) + (1 - share) * beta_of(0.1, rng)
        found.append(settled(measured, int(rng.binomial(DIALOGS * TURNS, seen))))
    right = found.count(due)
    return (runs - right - found.count(None)) / runs, right / runs


def main() -> None:
    """Print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=200, metavar="N", help="of each share of abuse")
    runs = parser.parse_args().runs
    for alike in (False, True):
        print("as if all writers were alike" if alike else "writers told apart")
        for share in (0.0, 0.01, 0.05, 0.2, 0.6):
            wrong, right = rated(share, runs, alike=alike)
            print(f"  {share:4.0%} abuse: settled wrong {wrong:.1%}, right {right:.1%}", flush=True)


if __name__ == "__main__":
    main()
