"""Randomisation tests: whether randomly assigned labels make a difference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from trustgauge.stats.distributions import normal_quantile

Floats = NDArray[np.float64]
DEALS = 1999
"""Number of random reassignments of the labels."""
CHUNK = 2_000_000  # labels in memory at once


@dataclass(frozen=True, slots=True)
class LabelTest:
    """What randomly assigned labels change in several ratios.

    Attributes:
        with_label, without: each ratio over the units with the label and without, [F]; NaN where nothing
            was counted.
        low, high: 95 % intervals of with_label - without, over clusters, [F]; NaN where the units of one side
            do not differ, so that nothing is known of their scatter.
        z: each difference over its standard error, or over its standard deviation between deals, [F].
        largest: the ratio that counts: the largest |z|, of those that differ by `least` if any does.
        p: of its |z|, which no difference at all gives with this probability or less.
    """

    with_label: Floats
    without: Floats
    low: Floats
    high: Floats
    z: Floats
    largest: int
    p: float


def label_test(  # noqa: PLR0913  units are described by six columns
    sums: ArrayLike,
    counts: ArrayLike,
    labels: ArrayLike,
    strata: ArrayLike,
    clusters: ArrayLike,
    rng: np.random.Generator,
    *,
    dealt: bool,
    least: float = 0.0,
) -> LabelTest:
    """Test whether a label makes a difference to any of several ratios sum / count.

    The labels are reassigned within strata. Of several ratios the largest standardised difference counts
    (Westfall and Young 1993). If the units were dealt labels in just this way, each deal is as likely as the
    one that was made, so the test is exact, whatever the units have in common. Else units with the label may
    be larger than those without, and their ratio scatters less than after an exchange: then each difference
    is divided by its standard error under its own deal, which makes the test hold as units grow in number
    (Janssen 1997; Chung and Romano 2013), and p is no less than that of a normal |z|, as rare events make
    nearly equal |z| in all deals.

    Args:
        sums: of each unit and ratio, [K, F].
        counts: likewise, what the sums are divided by.
        labels: which units have the label, [K].
        strata: within which labels are exchanged, [K].
        clusters: of the intervals, [K].
        rng: for the deals.
        dealt: whether labels were dealt to the units within the strata.
        least: the smallest difference that matters.
    """
    place = np.argsort(np.asarray(strata), kind="stable")
    y, n = np.asarray(sums, dtype=np.float64)[place], np.asarray(counts, dtype=np.float64)[place]
    label = np.asarray(labels, dtype=bool)[place]
    stratum = np.unique(np.asarray(strata)[place], return_inverse=True)[1].astype(np.float64)
    cluster = np.unique(np.asarray(clusters)[place], return_inverse=True)[1]
    with_label, without = (one[0] for one in _ratios(label[None].astype(np.float64), y, n))
    observed = with_label - without
    scales = None if dealt else _Scales(y, n)
    chunks = []
    step = max(1, CHUNK // max(1, len(label)))
    for start in range(0, DEALS, step):
        chance = rng.random((min(step, DEALS - start), len(label)))
        drawn = _shuffled(label, stratum + chance)
        one, other = _ratios(drawn, y, n)
        chunks.append(np.nan_to_num(one - other if scales is None else (one - other) / scales.of(drawn)))
    every = np.concatenate(chunks)
    spread = every.std(axis=0)
    able = (spread > 1e-12) & ~np.isnan(observed)
    scale = spread if scales is None else scales.of(label[None].astype(np.float64))[0]
    z = np.where(able, np.nan_to_num(observed) / np.where(able, scale, 1.0), 0.0)
    matters = able & (np.abs(observed) >= least - 1e-12)
    largest = int(np.argmax(np.abs(z) + np.where(matters, np.abs(z).max() + 1.0, 0.0)))
    p = 1.0
    if able.any():
        reached = np.abs(every if scales is not None else every / np.where(able, spread, 1.0))
        most = np.where(able, reached, 0.0).max(axis=1)
        p = (1 + int((most >= abs(z[largest]) - 1e-9).sum())) / (DEALS + 1)
    if scales is not None:
        p = max(p, float(2.0 * ndtr(-abs(z[largest]))))
    reach = normal_quantile(0.975) * _errors(y, n, label, cluster, (with_label, without))
    return LabelTest(with_label, without, observed - reach, observed + reach, z, largest, p)


def _shuffled(label: NDArray[np.bool_], keys: Floats) -> Floats:
    """Labels [K] in the order of keys [D, K], which are not negative.

    Each key carries its label in its last bit, so that keys alone are sorted: half the time of `argsort`.
    """
    carried = keys.view(np.int64)  # numbers that are not negative are in the order of their bits
    carried &= -2
    carried |= label
    carried.sort(axis=1)
    return (carried & 1).astype(np.float64)


def _ratios(label: Floats, y: Floats, n: Floats) -> tuple[Floats, Floats]:
    """Ratios of the units with and without the label, [D, F], of labels [D, K]; NaN where nothing counts.

    Both sides are summed: a total less the other side would leave rounding errors where nothing was counted.
    """
    other = 1.0 - label
    with np.errstate(invalid="ignore"):
        return (label @ y) / (label @ n), (other @ y) / (other @ n)


class _Scales:
    """Standard errors of differences between units with and without a label, deal by deal.

    The variance of a side is linearised over its units, or, if that is more, what units of its size in all
    come to that scatter as all units do about the ratio of all: where a side has none of some rare event,
    its own units seem not to scatter at all.
    """

    def __init__(self, y: Floats, n: Floats) -> None:
        self._y, self._n = y, n
        self._squares = (y**2, y * n, n**2)
        size = n.sum(axis=0)
        ratio = y.sum(axis=0) / np.where(size > 0, size, 1.0)
        self._usual = ((y - ratio * n) ** 2).sum(axis=0) / np.where(size > 0, size, 1.0)

    def of(self, label: Floats) -> Floats:
        """[D, F] of labels [D, K]; NaN where a side counts nothing."""
        return np.sqrt(self._variance(label) + self._variance(1.0 - label))

    def _variance(self, side: Floats) -> Floats:
        yy, yn, nn = (side @ one for one in self._squares)
        size = side @ self._n
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = (side @ self._y) / size
            own = (yy - 2.0 * ratio * yn + ratio**2 * nn) / size**2
            # what is no more than rounding is no variance, and must not divide
            least: Floats = np.maximum(self._usual / size, 1e-30)
            variance: Floats = np.maximum(own, least)
        return variance


def _errors(
    y: Floats, n: Floats, label: NDArray[np.bool_], cluster: NDArray[np.int64], ratios: tuple[Floats, Floats]
) -> Floats:
    """Standard errors of the differences, linearised, over clusters, [F]; NaN where a side has no scatter."""
    influence = np.zeros_like(y)
    scatters = np.ones(y.shape[1], dtype=bool)
    for ratio, units, sign in ((ratios[0], label, 1.0), (ratios[1], ~label, -1.0)):
        size = n[units].sum(axis=0)
        influence[units] = sign * (y[units] - ratio * n[units]) / np.where(size > 0, size, 1.0)
        scatters &= (np.abs(influence[units]) > 1e-12).any(axis=0)
    number = int(cluster.max()) + 1 if len(cluster) else 0
    sums = np.zeros((number, y.shape[1]))
    np.add.at(sums, cluster, np.nan_to_num(influence))
    factor = number / (number - 1) if number > 1 else np.nan
    return np.where(scatters, np.sqrt(factor * (sums**2).sum(axis=0)), np.nan)
