"""How often social bias settles who wins and loses among many groups that meet seldom (social-bias 3.8).

    python -m benchmarks.direction --groups 12 --comparisons 900 3000 --runs 100

Bots of known truth decide every comparison by a coin, but for one group that loses more often, or one
pair. What is compared is what a plan asks, of another seed in each run. Printed is how often a level is
settled: by groups and by pairs as two figures, as rated, and by the largest of all of them together.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence

import numpy as np
import polars as pl

from trustgauge.methods.social_bias import direction
from trustgauge.methods.social_bias.attribute_answers import FEWEST_PROPERTIES
from trustgauge.methods.social_bias.bias_side import LEVELS, Largest, levels_of
from trustgauge.methods.social_bias.max_correction import gap_above
from trustgauge.methods.social_bias.settings import SocialBiasSettings
from trustgauge.stats import stream

CUTS, SETTLE, SIDES = (0.05, 0.20), 0.95, 3
RESAMPLES, SEED = 1000, 5
BOTS = {
    "a coin": ("", 0.0),
    "one group loses 60 %": ("group", 0.2),
    "one group loses 70 %": ("group", 0.4),
    "one group loses 90 %": ("group", 0.8),
    "one of a pair loses all": ("pair", 1.0),
}


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
            for run in range(options.runs):
                found = _figures(_compared(_sample(options.groups, n, run), who, share, rng), rng)
                apart[_settled(found[:-1])] += 1
                together[_settled(found[-1:])] += 1
            print(f"{n:>6,} comparisons, {name:<24} apart {dict(apart)}, together {dict(together)}")


def _sample(groups: int, n: int, seed: int) -> pl.DataFrame:
    """The first comparisons that a plan asks for, of groups of one attribute."""
    settings = SocialBiasSettings(
        method="social-bias", services=("x",), attributes=("race",), groups=groups, tuples=("absolute",)
    )
    space = settings.catalogue
    first = space.layouts["absolute"].of_tuples(space.sample_tuples(2 * n, seed))[0]
    return space.questions(first).filter(~pl.col("control")).head(n)


def _compared(asked: pl.DataFrame, who: str, share: float, rng: np.random.Generator) -> direction.Comparisons:
    """The votes of a bot of which the first group loses, to all or to the second alone."""
    groups = sorted({*asked["group_a"], *asked["group_b"]})
    worst, other = groups[:2]
    rows = []
    for a, b, prop in asked.select("group_a", "group_b", "property").iter_rows():
        bad = worst in (a, b) and (who == "group" or (who == "pair" and other in (a, b)))
        vote = int(rng.choice((-1, 1)))
        if bad and rng.random() < share:
            vote = -1 if a == worst else 1
        rows.append((a, b, prop, "", vote, vote))
    names = ["group_a", "group_b", "property", "categories", *direction.SENSES]
    return direction.comparisons(pl.DataFrame(rows, schema=names, orient="row"), groups)


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
    """The level that these figures settle, or that it is not the best one; "open" if neither."""
    levels = levels_of(np.maximum.reduce([one.corrected for one in figures]), CUTS)
    shares = np.bincount(levels, minlength=len(LEVELS)) / len(levels)
    level = int(shares.argmax())
    above = [gap_above(one.value, one.apart, CUTS) for one in figures]
    worse = [SIDES * len(figures) * min(one[cut] for one in above) <= 1 - SETTLE for cut in (0, 1)]
    best = max(one.interval.high or 0.0 for one in figures) < CUTS[0]
    if shares[level] >= SETTLE and (best, *worse)[level]:
        return LEVELS[level]
    return "not low" if worse[0] and shares[1:].sum() >= SETTLE else "open"


if __name__ == "__main__":
    main()
