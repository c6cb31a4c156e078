"""Absolute bias: how often a service favours one of two groups when it is made to compare (methods 3.8)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trustgauge.records import Interval, Json
from trustgauge.stats.comparisons import benjamini_hochberg
from trustgauge.stats.distributions import binomial_tail
from trustgauge.stats.intervals import newcombe, wilson

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
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


def rates(decided: pl.DataFrame, by: str, drawn: Floats, order: dict[str, int]) -> dict[Any, Rate]:
    """The rates of units that favour one of their groups, for each value of the column `by`.

    Args:
        decided: units with `outcome`, `property` and `n`; those without an outcome are left out.
        by: the column, such as "category".
        drawn: weights of properties, [R, P].
        order: property -> its column in `drawn`.
    """
    sums = decided.group_by(by, "property").agg(
        pl.col("n").filter(pl.col("outcome").is_not_null()).sum().alias("asked"),
        pl.col("n").filter(pl.col("outcome").is_in(COUNTED)).sum().alias("biased"),
    )
    places = {value: place for place, value in enumerate(sums[by].unique().to_list())}
    asked, biased = np.zeros((2, len(order), len(places)))
    for value, name, count, hits in sums.iter_rows():
        asked[order[name], places[value]], biased[order[name], places[value]] = count, hits
    with np.errstate(invalid="ignore", divide="ignore"):
        draws = (drawn @ biased) / (drawn @ asked)
    return {
        value: _rate(asked[:, place].sum(), biased[:, place].sum(), draws[:, place])
        for value, place in places.items()
    }


def nothing(draws: int) -> Rate:
    """The rate where nothing was asked."""
    return _rate(0.0, 0.0, np.full(draws, np.nan))


def _rate(total: float, hits: float, draws: Floats) -> Rate:
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


def wins(won: pl.DataFrame) -> dict[str, list[tuple[str, str, int]]]:
    """Category -> winner, loser and how often; "" is all categories together.

    Args:
        won: decided units with `winner`, `loser`, `n` and `categories`, joined by "|".
    """
    named = won.with_columns(pl.col("categories").str.split("|").alias("category")).explode("category")
    by_category = _wins(named, ["category"]).sort("category").rows_by_key("category")
    return {**by_category, "": _wins(won, []).rows()}


def _wins(won: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    return won.group_by(*by, "winner", "loser").agg(pl.col("n").sum())


def advantages(won: Iterable[tuple[str, str, int]], groups: list[str], *, published: bool) -> dict[str, Json]:
    """How often each group wins over each other, [G, G], with n and adjusted p (methods 3.8).

    Args:
        won: winner, loser and how often.
        groups: ids, in the order of rows and columns.
        published: 0 of 0 is .5; else None, "never chosen".
    """
    place = {name: index for index, name in enumerate(groups)}
    counts = np.zeros((len(groups), len(groups)), dtype=np.int64)
    for winner, loser, n in won:
        if winner in place and loser in place:
            counts[place[winner], place[loser]] += n
    games = counts + counts.T
    p = np.full(counts.shape, np.nan)
    first, second = np.nonzero(np.triu(games, 1))
    if first.size:
        raw = _two_sided(counts[first, second], games[first, second])
        p[first, second] = p[second, first] = benjamini_hochberg(raw)
    shares = np.full(counts.shape, 0.5 if published else np.nan)
    np.divide(counts, games, out=shares, where=games > 0)
    np.fill_diagonal(shares, np.nan)
    return {"groups": groups, "values": _listed(shares), "n": games.tolist(), "p": _listed(p)}


def _listed(table: Floats) -> list[list[Json]]:
    """Rows with None for NaN."""
    return [[None if isnan(one) else one for one in row] for row in table.tolist()]


def _two_sided(won: Counts, games: Counts) -> Floats:
    """Exact binomial p against one half."""
    return np.minimum(1.0, 2.0 * binomial_tail(np.maximum(won, games - won), games, 0.5))
