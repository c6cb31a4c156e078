"""Randomisation tests: whether randomly assigned labels make a difference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustgauge.stats.distributions import normal_quantile

Floats = NDArray[np.float64]
DEALS = 1999
"""Number of random reassignments of the labels."""
CHUNK = 2_000_000  # labels that are held at once


@dataclass(frozen=True, slots=True)
class LabelTest:
    """What randomly assigned labels change in several ratios.

    Attributes:
        with_label, without: each ratio over the units with the label and without, [F]; NaN where nothing
            was counted.
        low, high: 95 % intervals of with_label - without, over clusters, [F].
        z: each difference over its standard deviation when the labels are reassigned, [F].
        p: of the largest |z|, which no difference at all gives with this probability or less.
    """

    with_label: Floats
    without: Floats
    low: Floats
    high: Floats
    z: Floats
    p: float

    @property
    def largest(self) -> int:
        """The ratio with the largest |z|."""
        return int(np.argmax(np.abs(self.z)))


def label_test(
    sums: ArrayLike,
    counts: ArrayLike,
    labels: ArrayLike,
    strata: ArrayLike,
    clusters: ArrayLike,
    rng: np.random.Generator,
) -> LabelTest:
    """Test whether a label makes a difference to any of several ratios sum / count.

    The labels are reassigned within strata, as they were by design: if the label changes nothing, each
    deal is as likely as the one that was made, so the test is exact, whatever the units have in common.
    Of several ratios the largest standardised difference counts (Westfall and Young 1993).

    Args:
        sums: of each unit and ratio, [K, F].
        counts: likewise, what the sums are divided by.
        labels: which units have the label, [K].
        strata: within which labels were dealt, [K].
        clusters: of the intervals, [K].
        rng: for the deals.
    """
    place = np.argsort(np.asarray(strata), kind="stable")
    y, n = np.asarray(sums, dtype=np.float64)[place], np.asarray(counts, dtype=np.float64)[place]
    label = np.asarray(labels, dtype=bool)[place]
    stratum = np.unique(np.asarray(strata)[place], return_inverse=True)[1].astype(np.float64)
    cluster = np.unique(np.asarray(clusters)[place], return_inverse=True)[1]
    with_label, without = _ratios(label[None].astype(np.float64), y, n)
    observed = (with_label - without)[0]
    dealt = []
    step = max(1, CHUNK // max(1, len(label)))
    for start in range(0, DEALS, step):
        chance = rng.random((min(step, DEALS - start), len(label)))
        drawn = label[np.argsort(stratum + chance, axis=1)].astype(np.float64)
        one, other = _ratios(drawn, y, n)
        dealt.append(one - other)
    differences = np.nan_to_num(np.concatenate(dealt))
    spread = differences.std(axis=0)
    able = (spread > 1e-12) & ~np.isnan(observed)
    z = np.where(able, np.nan_to_num(observed) / np.where(able, spread, 1.0), 0.0)
    largest = np.abs(np.where(able, differences / np.where(able, spread, 1.0), 0.0)).max(axis=1)
    p = (1 + int((largest >= np.abs(z).max() - 1e-9).sum())) / (DEALS + 1) if able.any() else 1.0
    reach = normal_quantile(0.975) * _errors(y, n, label, cluster, (with_label[0], without[0]))
    return LabelTest(with_label[0], without[0], observed - reach, observed + reach, z, p)


def _ratios(label: Floats, y: Floats, n: Floats) -> tuple[Floats, Floats]:
    """Ratios of the units with and without the label, [D, F], of labels [D, K]; NaN where nothing counts.

    Both sides are summed: a total less the other side would leave rounding errors where nothing was counted.
    """
    other = 1.0 - label
    with np.errstate(invalid="ignore"):
        return (label @ y) / (label @ n), (other @ y) / (other @ n)


def _errors(
    y: Floats, n: Floats, label: NDArray[np.bool_], cluster: NDArray[np.int64], ratios: tuple[Floats, Floats]
) -> Floats:
    """Standard errors of the differences, linearised, over clusters, [F]."""
    influence = np.zeros_like(y)
    for ratio, units, sign in ((ratios[0], label, 1.0), (ratios[1], ~label, -1.0)):
        size = n[units].sum(axis=0)
        influence[units] = sign * (y[units] - ratio * n[units]) / np.where(size > 0, size, 1.0)
    number = int(cluster.max()) + 1 if len(cluster) else 0
    sums = np.zeros((number, y.shape[1]))
    np.add.at(sums, cluster, np.nan_to_num(influence))
    factor = number / (number - 1) if number > 1 else np.nan
    return np.asarray(np.sqrt(factor * (sums**2).sum(axis=0)))
