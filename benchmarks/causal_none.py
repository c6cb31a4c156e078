"""How often "no effect" is settled: by the corrected effect, and with every interval besides (causal 2.9).

    python -m benchmarks.causal_none --runs 1500

Each row is a truth: K effects, one of the size named and the others 0, each estimated with the standard
error named, as shares of the range. Prints the share of runs in which level 1 is settled, in per cent: by
the largest effect less its bias, and if each effect is shown to lie below the first cut besides. Above the
cut it is the share of wrong ratings. Prints a Markdown table; docs/methods/causal.md 2.9 quotes it.
"""

from __future__ import annotations

import argparse

import numpy as np

from trustgauge.methods.causal.measures import reach_of
from trustgauge.methods.causal.ordering import absolute_levels

CUTS, SETTLE, DRAWS = (0.05, 0.20), 0.95, 1000
TRUTHS = (
    *((size, error, 1) for size in (0.055, 0.06, 0.07) for error in (0.02, 0.03, 0.04)),
    (0.055, 0.02, 5),
    *((0.0, error, effects) for error in (0.005, 0.01, 0.015, 0.02) for effects in (1, 5, 15, 30)),
)
"""Size of the one effect, standard error of each, and how many there are."""


def settled(size: float, error: float, effects: int, rng: np.random.Generator) -> tuple[bool, bool]:
    """Whether one run settles level 1: by the corrected effect, and with every interval besides."""
    truth = np.array([size, *[0.0] * (effects - 1)])
    value = truth + rng.normal(0, error, effects)
    draws = value + rng.normal(0, error, (DRAWS, effects))
    largest = np.abs(draws).max(axis=1)
    bias = max(0.0, float(largest.mean() - np.abs(value).max()))
    corrected = bool((absolute_levels(largest, bias, CUTS) == 0).mean() >= SETTLE)
    return corrected, corrected and reach_of(draws, SETTLE, 1.0) < CUTS[0]


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=1500, help="simulated runs of each truth")
    parser.add_argument("--seed", type=int, default=20260101)
    options = parser.parse_args()
    print("| effect | standard error | effects | corrected effect alone | and every interval |")
    print("|---|---|---|---|---|")
    for size, error, effects in TRUTHS:
        rng = np.random.default_rng([options.seed, effects, round(1e4 * size), round(1e4 * error)])
        runs = np.array([settled(size, error, effects, rng) for _ in range(options.runs)])
        shares = " | ".join(f"{100 * share:.1f} %" for share in runs.mean(axis=0))
        print(f"| {size:g} | {error:g} | {effects} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
