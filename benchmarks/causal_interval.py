"""How often the interval of the largest effect holds it, by the upper end in use and two others (causal 2.9).

    python -m benchmarks.causal_interval --runs 2000

Each row is a truth: K effects, one of the size named and the others 0, in standard errors, which all have.
Prints for each upper end the share of intervals that hold the effect, and where the end lies on average, in
standard errors: of the resamples corrected twice, as levels are read; of the farthest of the intervals of
single effects; and the one that ratings have. A Markdown table, which docs/methods/causal.md 2.9 quotes.
"""

from __future__ import annotations

import argparse

import numpy as np

from trustgauge.methods.causal.measures import Measurement, highest_of, maximum_draws, reach_of
from trustgauge.stats.distributions import Floats

DRAWS = 1000
TRUTHS = tuple(
    (effects, size) for effects in (1, 2, 5, 15, 30) for size in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0)
)
"""How many effects there are, and the size of the one that is not 0."""
PER_RANGE = 100.0  # standard errors in the range of scores: nothing depends on it


def upper_ends(size: float, effects: int, rng: np.random.Generator) -> tuple[float, Floats]:
    """Of one run the lower end, and the upper ends: corrected twice, farthest, in use; in standard errors."""
    truth = np.array([size, *[0.0] * (effects - 1)])
    value = (truth + rng.normal(size=effects)) / PER_RANGE
    draws = value + rng.normal(size=(DRAWS, effects)) / PER_RANGE
    effect = float(np.abs(value).max())
    largest, undefined, bias = maximum_draws(np.abs(draws).max(axis=1), effect)
    found = Measurement(
        effect=effect,
        draws=largest,
        undefined=undefined,
        bias=bias,
        apart=np.abs(draws - value).max(axis=1),
        p=1.0,
        raw=effect,
        raw_draws=None,
        details={},
        reach=0.0,
        scores=DRAWS,
        highest=highest_of(draws, largest, bias, 1.0),
    )
    farthest = reach_of(draws, 0.975, 1.0)
    twice = float(np.quantile(found.corrected, 0.975))
    low, high = found.interval.low or 0.0, found.interval.high or 0.0
    return low * PER_RANGE, np.array([twice, farthest, high]) * PER_RANGE


def coverage(size: float, effects: int, runs: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Share of the intervals that hold the effect, and mean upper end, of each of `upper_ends`."""
    found = [upper_ends(size, effects, rng) for _ in range(runs)]
    lows = np.array([low for low, _ in found])[:, None]
    highs = np.array([ends for _, ends in found])
    return ((lows <= size) & (size <= highs)).mean(axis=0), highs.mean(axis=0)


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=2000, help="simulated runs of each truth")
    parser.add_argument("--seed", type=int, default=20260101)
    options = parser.parse_args()
    print("| effects | size | corrected twice | farthest end | in use |")
    print("|---|---|---|---|---|")
    for effects, size in TRUTHS:
        rng = np.random.default_rng([options.seed, effects, round(10 * size)])
        shares, ends = coverage(size, effects, options.runs, rng)
        each = " | ".join(f"{100 * share:.1f} %, {end:.2f}" for share, end in zip(shares, ends, strict=True))
        print(f"| {effects} | {size:g} | {each} |", flush=True)


if __name__ == "__main__":
    main()
