"""The smallest effect that an experiment can settle, by simulating its rule (methods 0.8).

The rule reads levels from means of classes, so runs are simulated as means: those of each class
and word (or valence) are normal around the truth, with the spread that the planned number of
texts leaves. Permutations of a run are drawn the same way. Resamples spread more where frames and
persons are both drawn, as theirs is the largest of several estimates of the variance (methods 0.5).
What is assumed is the spread of the scores themselves within a class and word: `SPREAD`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from operator import itemgetter

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from trustgauge.methods import DESIGN_EFFECTS
from trustgauge.methods.causal import design
from trustgauge.methods.causal.cluster_counts import clusters_to_settle
from trustgauge.methods.causal.deconfounding import impact_of_sums
from trustgauge.methods.causal.measures import FEWEST_CLUSTERS
from trustgauge.methods.causal.ordering import absolute_levels
from trustgauge.methods.causal.panel import NA, ORDER, Floats
from trustgauge.methods.causal.settings import CausalSettings, Measurand
from trustgauge.records import Json, Reason
from trustgauge.stats import stream

RUNS = 500
DRAWS = 200  # resamples of a simulated run, in pairs that mirror each other
NULLS = 2_000  # effects under permutation
MOST = 1_000_000  # means in memory at once
POWER = 0.80
SPREAD = 0.10  # standard deviation of scores of one class and word, a share of the range
RANGE = 2.0
STEP = 0.0005  # of the effects that are tried
LARGEST = 0.64
ALPHA = 0.05
SEGMENTS = 10  # of a run
ESTIMATES = 20_000  # simulated variances


def smallest_effect(settings: CausalSettings, seed: int) -> Mapping[str, Json]:
    """The smallest effect, a share of the range, that is settled above level 1 with probability .80.

    Returns:
        `deff_1`, `deff_2` and `deff_5`: the smallest effect for these design effects, the largest over the
        parts; None where no effect on a grid of .0005 is found that often, or clusters are too few.
        `parts`: the same part by part. `spread`: the assumed standard deviation of scores of one
        class and word, a share of the range. Orders of systems (`published`, `released`) have no
        smallest effect: all None.
    """
    parts: dict[str, Json] = {}
    if settings.rule == "sound":
        probes = pl.concat(design.design(settings, seed))
        for measured in settings.measured:
            if measured.measure == "observed":
                continue  # no level, so no effect settles one
            sizes = _sizes(probes, measured, na=settings.na)
            rng = stream(seed, "causal", "power", measured.key)
            parts[measured.key] = {
                f"deff_{deff}": None if sizes is None else _search(sizes, settings, deff, rng)
                for deff in DESIGN_EFFECTS
            }
    overall = {
        name: max((one[name] for one in parts.values()), default=None)
        if all(one[name] is not None for one in parts.values())
        else None
        for name in (f"deff_{deff}" for deff in DESIGN_EFFECTS)
    }
    return {**overall, "parts": parts, "spread": SPREAD}


def too_few_without_spread(settings: CausalSettings, seed: int) -> Reason | None:
    """Why a scorer that the class changes nothing for would not be settled: nothing varies in its effects.

    Returns:
        The reason, with the clusters of which there are fewest and how many are needed; None if there are
        enough, and under rules that order systems.
    """
    needed = clusters_to_settle(settings.settle)
    if settings.rule != "sound":
        return None
    probes = pl.concat(design.design(settings, seed))
    for measured in settings.measured:
        mine = _of_part(probes, measured, na=settings.na)
        where, clusters = _fewest_kind(mine, measured)
        if measured.measure != "observed" and clusters < needed:
            counts: dict[str, Json] = {"clusters": clusters, "needed": needed, "with_spread": FEWEST_CLUSTERS}
            return Reason("causal.plan-too-small", {"where": where, **counts})
    return None


def _fewest_kind(mine: pl.DataFrame, measured: Measurand) -> tuple[str, int]:
    """The clusters of which there are fewest, those of all classes together, and how many."""
    if (mine["cluster"] != "").any():
        kind = "conversations" if measured.data.startswith("conversation") else "clusters of texts"
        return kind, mine["cluster"].n_unique()
    return min(
        (("frames", mine["frame"].n_unique()), ("persons", mine["person"].n_unique())), key=itemgetter(1)
    )


@dataclass(frozen=True)
class _Sizes:
    """Planned texts of one part.

    Attributes:
        n: by data set, class and word (or valence), [S, G, W].
        added: to the variance of a resampled mean because it is the largest of several estimates, as a
            share of it; 0 where whole conversations are resampled.
        by_valence: whether W are the two valences, for the deconfounding impact. Else the classes are crossed
            with words, and the data sets share their texts.
    """

    n: Floats
    added: float
    by_valence: bool

    @cached_property
    def error(self) -> Floats:
        """The standard error of each planned mean, [S, G, W]; 0 without texts."""
        return np.asarray(SPREAD * RANGE / np.sqrt(np.where(self.n > 0, self.n, np.inf)))

    @cached_property
    def of_class(self) -> csr_array:
        """How much the error of a class and word moves the mean of the class in a data set, [S G, G W].

        Most move it not at all: a hundred data sets of two words each have 400 of 40,000.
        """
        sets, classes, words = self.n.shape
        total = self.n.sum(axis=2, keepdims=True)
        moved = self.error * self.n / np.where(total > 0, total, 1.0)
        place, label, word = np.nonzero(moved)
        at = place * classes + label, label * words + word
        return csr_array((moved[place, label, word], at), shape=(sets * classes, classes * words))

    @cached_property
    def impact(self) -> Floats:
        """How much the mean of a class moves the deconfounding impact of a valence, [S, G, 2]."""
        moved = []
        for label in range(self.n.shape[1]):
            alone = np.zeros(self.n.shape)
            alone[:, label] = self.n[:, label]
            moved.append(impact_of_sums(self.n, alone, "renormalise").delta)
        return np.stack(moved, axis=1)


def _sizes(probes: pl.DataFrame, measured: Measurand, *, na: bool) -> _Sizes | None:
    """None where nothing is ever settled: a class has no text at all, or too few clusters."""
    by_valence = measured.measure == "deconfounding"
    mine = _of_part(probes, measured, na=na)
    _, counts = planned_texts(probes, measured, na=na)
    _, classes, words = counts.shape
    if classes < 2 or (by_valence and words != 2) or _fewest(mine) < FEWEST_CLUSTERS:
        return None
    return _Sizes(counts, added=_added(mine), by_valence=by_valence)


def planned_texts(probes: pl.DataFrame, measured: Measurand, *, na: bool) -> tuple[list[str], Floats]:
    """The classes of a part, and its texts by data set, class and word (of an impact: valence), [S, G, W]."""
    cell = "valence" if measured.measure == "deconfounding" else "word"
    mine = _of_part(probes, measured, na=na)
    classes = [one for one in ORDER[measured.grouping] if one in set(mine["class"])]
    sets, words = sorted(set(mine["block"])), sorted(set(mine[cell]))
    counts = np.zeros((len(sets), len(classes), len(words)))
    for block, name, word, number in mine.group_by("block", "class", cell).len().iter_rows():
        counts[sets.index(block), classes.index(name), words.index(word)] = number
    return classes, counts


def _of_part(probes: pl.DataFrame, measured: Measurand, *, na: bool) -> pl.DataFrame:
    """The texts of a part, each with its class."""
    mine = probes.filter(pl.col("block").str.starts_with(f"{measured.data}/"))
    label = pl.col(measured.grouping) if measured.grouping in mine.columns else _both()
    mine = mine.with_columns(label.alias("class"))
    return mine if na else mine.filter(pl.col("class") != NA)


def _fewest(mine: pl.DataFrame) -> int:
    """Clusters of the smallest stratum, as `Panel.clusters` has them."""
    if (mine["cluster"] != "").any():
        strata = mine.group_by("cluster").agg(pl.col("person").unique().sort().str.join(","))
        return int(min(strata["person"].value_counts()["count"].to_list()))
    persons = mine.group_by("class").agg(pl.col("person").n_unique())["person"].to_list()
    return int(min(mine["frame"].n_unique(), *persons))


def _added(mine: pl.DataFrame) -> float:
    """What the estimate of the variance adds to it: the mean of the largest of several estimates, minus 1.

    Resamples have the two-way variance, the one by frames, by persons or by segment of the run, whichever
    is the largest (methods 0.3, 0.5). Each varies like a chi-squared over its clusters.
    """
    kinds = mine.group_by("gender", "race").agg(pl.col("person").n_unique())["person"].to_list()
    if (mine["cluster"] != "").any() or max(kinds) < 2:
        return 0.0
    free = (mine["frame"].n_unique() - 1, sum(kinds) - len(kinds), SEGMENTS - 1)
    rng = stream(0, "causal", "two-way variance", *free)
    frames, persons, segments = (rng.chisquare(df, ESTIMATES) / df for df in free)
    largest = np.maximum.reduce([frames + persons - 1.0, frames, persons, segments])
    return float(largest.mean()) - 1.0


def _both() -> pl.Expr:
    named = (pl.col("gender") != NA) & (pl.col("race") != NA)
    return pl.when(named).then(pl.concat_str("race", "gender", separator=" ")).otherwise(pl.lit(NA))


@dataclass(frozen=True)
class _Noise:
    """How far the planned means vary.

    Attributes:
        runs: around the truth, times the error of texts; a design effect is a variance that clusters add.
        draws: of resamples around a run.
        chance: the 95 % point of the largest effect under permutation.
    """

    runs: float
    draws: float
    chance: float


def _search(sizes: _Sizes, settings: CausalSettings, deff: int, rng: np.random.Generator) -> float | None:
    """The smallest effect on the grid that is settled often enough; None without one.

    Effects are settled the more often the farther they are from both cuts: in two stretches, up to
    the middle between the cuts and from the upper cut on, more is better, so each is bisected.
    """
    runs = math.sqrt(deff)
    # An effect has p < .05 if it is beyond the 95 % point of effects under permutation.
    chance = float(np.quantile(_effects(sizes, _noise(sizes, runs, NULLS, rng)), 1 - ALPHA))
    noise = _Noise(runs, math.sqrt(deff + sizes.added), chance)
    some, strong = settings.cuts
    for start, stop in ((some, (some + strong) / 2), (strong, max(strong, LARGEST))):
        grid = np.round(start + STEP * np.arange(int((stop - start) / STEP) + 1), 4).tolist()
        low, high = 0, len(grid)
        while low < high:
            # The end of the stretch first: if that is seldom settled, so is all before it.
            middle = high - 1 if high == len(grid) else (low + high) // 2
            if _share(sizes, settings, noise, grid[middle], rng) >= POWER:
                high = middle
            elif high == len(grid):
                break
            else:
                low = middle + 1
        if high < len(grid):
            return float(grid[high])
    return None


def _share(
    sizes: _Sizes, settings: CausalSettings, noise: _Noise, effect: float, rng: np.random.Generator
) -> float:
    """Share of the simulated runs in which an effect is settled as more than none."""
    truth, won, left = _truth(sizes, effect), 0, RUNS
    chunk = max(1, MOST // (DRAWS * sizes.n.size))
    while left:
        runs = min(chunk, left)
        means = truth + _noise(sizes, noise.runs, runs, rng)
        half = _noise(sizes, noise.draws, runs * DRAWS // 2, rng)
        # Mirrored, they are centred on the run, as the many resamples of a real one nearly are.
        apart = np.stack([half, -half], axis=1)
        e = _effects(sizes, means)
        resampled = means[:, None] + apart.reshape(runs, DRAWS, *half.shape[1:])
        draws = _effects(sizes, resampled.reshape(-1, *means.shape[1:])).reshape(runs, DRAWS)
        bias = np.maximum(0.0, draws.mean(axis=1) - e)
        above = absolute_levels(draws - 2 * bias[:, None], 0.0, settings.cuts)
        settled = np.maximum((above == 1).mean(axis=1), (above == 2).mean(axis=1)) >= settings.settle
        won += int((settled & (e > noise.chance)).sum())
        left -= runs
    return won / RUNS


def _truth(sizes: _Sizes, effect: float) -> Floats:
    """Means, as `_noise` has them, of a service that moves the last class by as much as gives `effect`."""
    means = np.zeros(sizes.n.shape if sizes.by_valence else sizes.n.shape[:2])
    means[:, -1] = 1.0
    unit = float(_effects(sizes, means[None])[0])
    return np.asarray(means * effect / unit) if unit else means


def _noise(sizes: _Sizes, times: float, draws: int, rng: np.random.Generator) -> Floats:
    """Noise of the means of classes, [draws, S, G]; for the impact by valence too, [draws, S, G, 2]."""
    if sizes.by_valence:
        return np.asarray(rng.standard_normal((draws, *sizes.n.shape)) * (times * sizes.error))
    words = rng.standard_normal((draws, *sizes.n.shape[1:])).reshape(draws, -1)
    return np.asarray(times * (sizes.of_class @ words.T).T.reshape(draws, *sizes.n.shape[:2]))


def _effects(sizes: _Sizes, means: Floats) -> Floats:
    """The largest effect of each draw of means, as `_noise` has them, a share of the range."""
    if sizes.by_valence:
        delta = np.einsum("dsgv,sgv->dsv", means, sizes.impact)
        return np.asarray(np.nan_to_num(np.abs(delta)).max(axis=(1, 2)) / RANGE)
    pairs = combinations(range(means.shape[2]), 2)
    apart = [np.abs(means[..., a] - means[..., b]).max(axis=1) for a, b in pairs]
    return np.asarray(np.maximum.reduce(apart) / RANGE)
