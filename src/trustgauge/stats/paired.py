"""Two systems on the same items: the mean difference, its interval and p, with items in clusters."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from trustgauge.stats.comparisons import EXACT_UP_TO, PERMUTATIONS, reaches
from trustgauge.stats.distributions import Floats
from trustgauge.stats.means import two_sided_p

FEWEST = 10
"""Clusters below which an interval says nothing (methods 0.5 (b))."""
_BLOCK = 1 << 22  # signs drawn at once


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """The mean of differences, one an item.

    Attributes:
        value: the mean.
        low, high: 95 % interval.
        low_90, high_90: 90 % interval, by which "same" is decided (methods 0.6).
        se: standard error, clusters counted as units.
        p: two-sided, by flipping the signs of whole clusters (methods 0.7).
        items, clusters: how many there are.
        deviation: standard deviation of one item's difference, with the clusters' effect in it.
    """

    value: float
    low: float
    high: float
    low_90: float
    high_90: float
    se: float
    p: float
    items: int
    clusters: int
    deviation: float


def paired_difference(
    differences: ArrayLike, clusters: ArrayLike, span: float, rng: np.random.Generator
) -> PairedDifference:
    """The mean difference of paired items in clusters.

    The variance is that of cluster sums about their expectation, K/(K-1) sum (S_c - n_c d)^2 / n^2 (Liang &
    Zeger 1986), plus (span / (K + 2))^2, which keeps an interval open where nothing differs: for verdicts it
    is what one discordant pair adds (Agresti & Min 2005). Student's t with K - 1 degrees of freedom.

    Args:
        differences: finite, one an item, at least one.
        clusters: number of the cluster of each item, from 0 up, none left out.
        span: the largest difference that the scale allows.
        rng: for permutations, where there are too many to try all.
    """
    apart = np.asarray(differences, dtype=np.float64)
    of = np.asarray(clusters, dtype=np.int64)
    n, k = len(apart), int(of.max()) + 1
    sums, sizes = np.bincount(of, apart, k), np.bincount(of, minlength=k)
    mean = float(apart.mean())
    spread = float(((sums - sizes * mean) ** 2).sum()) * k / max(k - 1, 1) / n**2
    se = math.sqrt(spread + (span / (k + 2)) ** 2)
    ends = [float(special.stdtrit(max(k - 1, 1), share)) * se for share in (0.975, 0.95)]
    plain = math.sqrt(spread)
    return PairedDifference(
        value=mean,
        low=max(-span, mean - ends[0]),
        high=min(span, mean + ends[0]),
        low_90=max(-span, mean - ends[1]),
        high_90=min(span, mean + ends[1]),
        se=se,
        p=_sign_flip_p(np.asarray(sums, dtype=np.float64), mean / plain if plain > 0 else math.inf, rng),
        items=n,
        clusters=k,
        deviation=plain * math.sqrt(n),
    )


def _sign_flip_p(sums: Floats, t: float, rng: np.random.Generator) -> float:
    """Two-sided p of a sum whose clusters' signs could as well be the other way round.

    Exact up to 20,000 arrangements, else of 9,999 permutations; where none of these reaches the observed
    sum, Student's t of the clusters tells how far below their resolution p lies.
    """
    sums = sums[np.abs(sums) > 1e-12]
    k = len(sums)
    observed = abs(float(sums.sum()))
    if k == 0 or observed <= 1e-12:
        return 1.0
    if 2**k <= EXACT_UP_TO:
        signs = 1 - 2 * ((np.arange(2**k)[:, None] >> np.arange(k)) & 1)
        return float(reaches(np.abs(signs @ sums), observed).mean())
    hits = done = 0
    while done < PERMUTATIONS:
        rows = min(PERMUTATIONS - done, max(1, _BLOCK // k))
        signs = 1 - 2 * rng.integers(0, 2, size=(rows, k), dtype=np.int8)
        hits += int(reaches(np.abs(signs @ sums), observed).sum())
        done += rows
    if hits:
        return (1 + hits) / (1 + done)
    return min(1 / (1 + done), float(two_sided_p(t, k - 1)))


def items_to_find(
    difference: float,
    pilot: tuple[float, int, int],
    error: float,
    power: float = 0.8,
    verdicts: float = 0.0,
) -> int:
    """Items by which a mean difference is found with this power, two-sided at this error; at least FEWEST.

    A pilot's deviation is itself uncertain, and half of all pilots show too small a one: the upper end of its
    80 % interval is taken (Browne 1995), with Student's t of as many clusters as the items would have.

    Args:
        difference: to be found, not 0.
        pilot: standard deviation of one item's difference (`PairedDifference.deviation`), items, clusters.
        error: of the test, after any correction.
        power: chance to find it.
        verdicts: for values that are 0 or 1, 1 over the runs of an item, else 0: a shift of d needs verdicts
            that flip, which adds d (1 - d) to the variance of an item that is run once.
    """
    deviation, items, clusters = pilot
    freedom = max(1, clusters - 1)
    upper = deviation * math.sqrt(freedom / (2 * float(special.gammaincinv(freedom / 2, 0.1))))
    shifted = upper**2 + verdicts * abs(difference) * (1 - abs(difference))
    needed = FEWEST
    for _ in range(20):
        df = max(1.0, needed * clusters / items - 1)
        reach = float(special.stdtrit(df, 1 - error / 2) + special.stdtrit(df, power))
        enough = max(FEWEST, math.ceil(min(reach**2 * shifted / difference**2, 1e9)))
        if abs(enough - needed) <= 1:
            return max(enough, needed)
        needed = enough
    return needed
