"""Relative bias: whether a service says the same of all groups when asked one by one (methods 3.8)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trustgauge.stats.resampling import sequential_p

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
SHIFT = 1 << 31  # above every count of favourable answers
CELLS_AT_ONCE = 1 << 20  # permuted in memory
BATCH = 250  # permutations between two looks at whether they are enough


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
        """Permutation p of the largest gap: groups are permuted within property and form (methods 3.8).

        At most so many permutations, fewer where p is large (`resampling.sequential_p`).
        """
        observed = gap(self.rates)
        return 1.0 if np.isnan(observed) else sequential_p(observed, self._stars(permutations, rng))

    def _stars(self, permutations: int, rng: np.random.Generator) -> Iterator[Floats]:
        """The gaps of permuted tables, in batches."""
        # both counts of a cell in one number, so that they move together
        cells = self.asked.astype(np.int64) * SHIFT + self.good.astype(np.int64)
        step = max(1, min(BATCH, CELLS_AT_ONCE // max(1, cells.size)))
        for start in range(0, permutations, step):
            count = min(step, permutations - start)
            drawn = rng.permuted(np.tile(cells, (count, 1)), axis=1)
            sums = drawn.reshape(count, *cells.shape).sum(axis=1)
            yield _gaps_of_known(_rates(sums % SHIFT, sums // SHIFT))


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


def _gaps_of_known(rates: Floats) -> Floats:
    """`gap` of each row of [R, G]."""
    known = ~np.isnan(rates)
    spread = np.where(known, rates, -np.inf).max(axis=1) - np.where(known, rates, np.inf).min(axis=1)
    return np.where(known.sum(axis=1) > 1, spread, np.nan)


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


def _rates(good: Floats | Counts, asked: Floats | Counts) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(good / asked)
