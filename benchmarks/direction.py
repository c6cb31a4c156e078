"""How often social bias settles who wins and loses among many groups that meet seldom (social-bias 3.8).

    python -m benchmarks.direction --groups 12 --comparisons 900 3000 --runs 100

Bots of known truth decide every comparison by a coin, but for one group that loses more often, or one
pair. Printed is how often a level is settled: by groups and by pairs as two figures, as rated, and by the
largest of all of them together.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import polars as pl

from trustgauge.methods.social_bias import direction
from trustgauge.methods.social_bias.attribute_answers import FEWEST_PROPERTIES
from trustgauge.methods.social_bias.bias_side import LEVELS, Largest, levels_of
from trustgauge.methods.social_bias.max_correction import gap_above
from trustgauge.stats import stream

CUTS, SETTLE, SIDES = (0.05, 0.20), 0.95, 3
PROPERTIES, RESAMPLES, SEED = 300, 1000, 5
BOTS = {"a coin": ("", 0.0), "one group loses 90 %": ("group", 0.8), "one of a pair loses all": ("pair", 1.0)}


def main() -> None:
    """Simulate, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--groups", type=int, default=12)
    parser.add_argument("--comparisons", type=int, nargs="*", default=[900, 3000])
    parser.add_argument("--runs", type=int, default=100)
    options = parser.parse_args()
    for n in options.comparisons:
        for name, (who, share) in BOTS.items():
            rng = stream(SEED, "benchmark direction", name, n)
            apart, together = Counter[str](), Counter[str]()
            for _ in range(options.runs):
                found = _figures(_compared(options.groups, n, who, share, rng), rng)
                apart[_settled(found[:-1])] += 1
                together[_settled(found[-1:])] += 1
            print(f"{n:>6,} comparisons, {name:<24} apart {dict(apart)}, together {dict(together)}")


def _compared(groups: int, n: int, who: str, share: float, rng: np.random.Generator) -> direction.Comparisons:
    """The votes of a bot of which group 0 loses, to all or to group 1 alone."""
    pairs = list(combinations(range(groups), 2))
    rows = []
    for place, prop in zip(rng.integers(len(pairs), size=n), rng.integers(PROPERTIES, size=n), strict=True):
        i, j = pairs[place]
        bad = i == 0 and (who == "group" or (who == "pair" and j == 1))
        vote = -1 if bad and rng.random() < share else int(rng.choice((-1, 1)))
        rows.append((f"g{i:02}", f"g{j:02}", f"p{prop:03}", "", vote, vote))
    names = ["group_a", "group_b", "property", "categories", *direction.SENSES]
    return direction.comparisons(
        pl.DataFrame(rows, schema=names, orient="row"), [f"g{i:02}" for i in range(groups)]
    )


def _figures(family: direction.Comparisons, rng: np.random.Generator) -> list[Largest]:
    """That of groups, that of pairs if there are any, and that of all of them."""
    groups, pairs = family.deciding_members(FEWEST_PROPERTIES)
    many = len(family.properties)
    weights = rng.multinomial(many, np.full(many, 1 / many), size=RESAMPLES).astype(np.float64)
    found = []
    for places in [one for one in (groups, pairs) if one.size] + [np.concatenate([groups, pairs])]:
        sizes = family.sizes(places)
        off = np.nan_to_num(family.sizes(places, weights) - sizes)
        stars, apart = (np.abs(one).max(axis=1) for one in (sizes + off, off))
        found.append(Largest(float(np.abs(sizes).max()), stars, apart, 0, many))
    return found


def _settled(figures: Sequence[Largest]) -> str:
    """The level that these figures settle; "open" if none."""
    levels = levels_of(np.maximum.reduce([one.corrected for one in figures]), CUTS)
    shares = np.bincount(levels, minlength=len(LEVELS)) / len(levels)
    level = int(shares.argmax())
    above = [gap_above(one.value, one.apart, CUTS) for one in figures]
    if level == 0:
        shown = max(one.interval.high or 0.0 for one in figures) < CUTS[0]
    else:
        shown = SIDES * len(figures) * min(one[level - 1] for one in above) <= 1 - SETTLE
    return LEVELS[level] if shares[level] >= SETTLE and shown else "open"


if __name__ == "__main__":
    main()
