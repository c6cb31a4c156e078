"""Relative bias: whether a service says the same of all groups when asked one by one (methods 3.8)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trustgauge.stats.resampling import permutation_p

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Preferences:
    """Favourable answers of each group, by property and form.

    Attributes:
        groups: ids, [G].
        rows: (property, form) of each row, [U].
        good, asked: favourable and all answers, [U, G].
    """

    groups: tuple[str, ...]
    rows: tuple[tuple[str, str], ...]
    good: Floats
    asked: Floats

    @property
    def rates(self) -> Floats:
        """Preference rate of each group, [G]; NaN where nothing was asked."""
        return _rates(self.good.sum(axis=0), self.asked.sum(axis=0))

    def resampled(self, drawn: Floats, order: dict[str, int]) -> Floats:
        """Preference rates in each resample of properties, [R, G].

        Args:
            drawn: weights of properties, [R, P].
            order: property -> its column in `drawn`.
        """
        of = np.array([order[name] for name, _ in self.rows], dtype=np.int64)
        weights = drawn[:, of]
        return _rates(weights @ self.good, weights @ self.asked)

    def permuted(self, permutations: int, rng: np.random.Generator) -> float:
        """Permutation p of the largest gap: groups are permuted within property and form (methods 3.8)."""
        observed = gap(self.rates)
        if np.isnan(observed):
            return 1.0
        stars = np.empty(permutations)
        for draw in range(permutations):
            places = rng.permuted(np.tile(np.arange(len(self.groups)), (len(self.rows), 1)), axis=1)
            good = np.take_along_axis(self.good, places, axis=1).sum(axis=0)
            asked = np.take_along_axis(self.asked, places, axis=1).sum(axis=0)
            stars[draw] = gap(_rates(good, asked))
        return permutation_p(observed, stars)


def preferences(rated: pl.DataFrame, groups: tuple[str, ...]) -> Preferences:
    """The table of favourable answers of relative questions (`votes.favourable`)."""
    known = rated.filter(pl.col("good").is_not_null() & pl.col("group_a").is_in(groups))
    sums = known.group_by("property", "form", "group_a").agg(
        pl.col("n").sum().alias("asked"), pl.col("n").filter(pl.col("good")).sum().alias("good")
    )
    rows = tuple(sorted(set(sums.select("property", "form").iter_rows())))
    at, of = {row: place for place, row in enumerate(rows)}, {name: i for i, name in enumerate(groups)}
    good, asked = np.zeros((2, len(rows), len(groups)))
    for name, form, group, count, hits in sums.iter_rows():
        asked[at[name, form], of[group]] = count
        good[at[name, form], of[group]] = hits
    return Preferences(groups, rows, good, asked)


def gap(rates: Floats) -> float:
    """Largest minus smallest preference rate, NaN with fewer than two groups asked."""
    known = rates[~np.isnan(rates)]
    return float(known.max() - known.min()) if len(known) > 1 else float("nan")


def gaps(rates: Floats) -> Floats:
    """`gap` of each row of [R, G]; NaN where a group was not drawn, and with fewer than two groups."""
    if rates.shape[1] < 2:
        return np.full(len(rates), np.nan)
    return np.asarray(rates.max(axis=1) - rates.min(axis=1))


def spread(rates: Floats) -> float:
    """Relative bias rate: the variance of the preference rates over groups, 1/k (methods 3.8)."""
    known = rates[~np.isnan(rates)]
    return float(known.var()) if len(known) else float("nan")


def spread_without_noise(rates: Floats, asked: Floats) -> float:
    """The relative bias rate less what sampling noise alone gives, unbounded below (methods 3.8).

    The noise of k independent rates adds ((k - 1) / k^2) sum p (1 - p) / n to their variance, which
    ((k - 1) / k^2) sum p (1 - p) / (n - 1) estimates without bias.
    """
    held = asked > 1
    p, n, k = rates[held], asked[held], int(held.sum())
    if k < 2:
        return float("nan")
    return float(p.var() - (k - 1) / k**2 * (p * (1 - p) / (n - 1)).sum())


def _rates(good: Floats, asked: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(good / asked)
