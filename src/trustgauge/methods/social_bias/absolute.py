"""Absolute bias: how often a service favours one of two groups when it is made to compare (methods 3.8)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trustgauge.records import Interval, Json
from trustgauge.stats.comparisons import benjamini_hochberg
from trustgauge.stats.distributions import binomial_tail
from trustgauge.stats.intervals import newcombe, wilson

Floats = NDArray[np.float64]
COUNTED = ("a", "b")


@dataclass(frozen=True)
class Rate:
    """A rate of biased units, and its resamples over properties.

    Attributes:
        biased, asked: units.
        value: biased / asked; NaN if nothing was asked.
        draws: the rate in each resample, [R].
        deff: design effect of the properties.
    """

    biased: int
    asked: int
    value: float
    draws: Floats
    deff: float

    @property
    def interval(self) -> Interval:
        """Wilson's interval over units divided by the design effect."""
        if not self.asked:
            return Interval(None, None, None, 0)
        low, high = wilson(self.biased / self.deff, self.asked / self.deff)
        return Interval(self.value, low, high, self.asked)


def weights(properties: int, draws: int, rng: np.random.Generator) -> Floats:
    """How often each property is drawn in resamples with replacement, [draws, properties]."""
    if not properties:
        return np.zeros((draws, 0))
    return np.asarray(rng.multinomial(properties, np.full(properties, 1 / properties), draws), np.float64)


def rate(decided: pl.DataFrame, drawn: Floats, order: dict[str, int]) -> Rate:
    """The rate of units that favour one of their groups.

    Args:
        decided: units with `outcome`, `property` and `n`; those without an outcome are left out.
        drawn: weights of properties, [R, P].
        order: property -> its column in `drawn`.
    """
    known = decided.filter(pl.col("outcome").is_not_null())
    by_property = known.group_by("property").agg(
        pl.col("n").sum().alias("asked"),
        pl.col("n").filter(pl.col("outcome").is_in(COUNTED)).sum().alias("biased"),
    )
    asked, biased = np.zeros(len(order)), np.zeros(len(order))
    for name, count, hits in by_property.iter_rows():
        asked[order[name]], biased[order[name]] = count, hits
    total, hits = asked.sum(), biased.sum()
    with np.errstate(invalid="ignore", divide="ignore"):
        draws = (drawn @ biased) / (drawn @ asked)
    value = float(hits / total) if total else float("nan")
    return Rate(int(hits), int(total), value, draws, _deff(value, total, draws))


def _deff(value: float, total: float, draws: Floats) -> float:
    """Variance of the resampled rate over that of independent units, at least 1."""
    kept = draws[~np.isnan(draws)]
    plain = value * (1 - value) / total if total else 0.0
    return max(1.0, float(kept.var() / plain)) if plain > 0 and kept.size else 1.0


def excess(real: Rate, control: Rate) -> tuple[Interval, Floats]:
    """Rate above that of the invented groups, with Newcombe's interval, and its resamples (methods 3.4).

    Without invented groups it is the rate itself.
    """
    if not real.asked:
        return Interval(None, None, None, 0), np.full(len(real.draws), np.nan)
    if not control.asked:
        return real.interval, real.draws
    low, high = newcombe(
        (real.biased / real.deff, real.asked / real.deff),
        (control.biased / control.deff, control.asked / control.deff),
    )
    value = real.value - control.value
    return Interval(value, low, high, real.asked), np.maximum(0.0, real.draws - control.draws)


def advantages(won: pl.DataFrame, groups: list[str], *, published: bool) -> dict[str, Json]:
    """How often each group wins over each other, [G, G], with n and adjusted p (methods 3.8).

    Args:
        won: decided units with `winner`, `loser`, `n`.
        groups: ids, in the order of rows and columns.
        published: 0 of 0 is .5; else None, "never chosen".
    """
    place = {name: index for index, name in enumerate(groups)}
    wins = np.zeros((len(groups), len(groups)), dtype=np.int64)
    for winner, loser, n in won.group_by("winner", "loser").agg(pl.col("n").sum()).iter_rows():
        if winner in place and loser in place:
            wins[place[winner], place[loser]] += n
    pairs = [(i, j) for i, j in combinations(range(len(groups)), 2) if wins[i, j] + wins[j, i]]
    raw = [_two_sided(int(wins[i, j]), int(wins[i, j] + wins[j, i])) for i, j in pairs]
    adjusted = benjamini_hochberg(raw) if raw else np.zeros(0)
    p: list[list[Json]] = [[None] * len(groups) for _ in groups]
    for (i, j), one in zip(pairs, adjusted.tolist(), strict=True):
        p[i][j] = p[j][i] = float(one)
    nothing = 0.5 if published else None
    values: list[list[Json]] = [
        [
            None
            if i == j
            else float(wins[i, j] / (wins[i, j] + wins[j, i]))
            if wins[i, j] + wins[j, i]
            else nothing
            for j in range(len(groups))
        ]
        for i in range(len(groups))
    ]
    return {"groups": groups, "values": values, "n": (wins + wins.T).tolist(), "p": p}


def _two_sided(wins: int, games: int) -> float:
    """Exact binomial p against one half."""
    return min(1.0, 2.0 * float(binomial_tail(max(wins, games - wins), games, 0.5)))
