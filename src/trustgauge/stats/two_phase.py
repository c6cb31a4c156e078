"""Totals of what a fallible reader read, corrected by a labelled sample of the same items (methods 0.10 (4)).

All items have the reader's value; a random sample within strata has a label too. The difference estimator of
two-phase (double) sampling adds to the reader's mean of each stratum the mean of label - reader of its
sample (Särndal, Swensson and Wretman 1992, Model Assisted Survey Sampling, sections 6.3 and 9.6):

    rate = sum_h W_h (m_h + mean(label - reader)_h)

It is unbiased however wrong the reader is. Here every item is given the *linearised* value whose sum is that
estimate, so that sums over any domain, such as a group, and resamples of clusters of items carry the error of
the sample, and labels and readings are resampled together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, stdtrit

from trustgauge.stats.distributions import Floats

Places = NDArray[np.int64]
LEAST = 5
"""Labelled items of a stratum below which it is taken together with others of its class."""


@dataclass(frozen=True)
class Correction:
    """Items with a labelled sample.

    Attributes:
        values: linearised values of each item, [N, K]; their sum is the difference estimate of the total.
        weights: items that each labelled one stands for, [N]; 0 where there is no label.
        unseen: per item the labels of its stratum, [N], where none of them differs from the reading and not
            all items are labelled: the sample shows no error there, and bounds it (`unseen_errors`); those of
            its whole class where no label of that differs. 0 elsewhere.
        stratum: of each item after strata were taken together, [N].
        covered: whether every stratum has labelled items.
        smooth: the values without the part that only labelled items have, [N, K], except in strata that were
            taken together or labelled whole. Their spread is that of the readings alone; `deviations` are
            that of the labels.
        mixed: strata that were taken together.
    """

    values: Floats
    weights: Floats
    unseen: Places
    stratum: Places
    covered: bool
    smooth: Floats
    mixed: frozenset[int] = frozenset()

    def deviations(
        self,
        labels: ArrayLike,
        prior: ArrayLike,
        clusters: ArrayLike,
        drawn: ArrayLike,
        rng: np.random.Generator,
    ) -> dict[int, Floats]:
        """What the mean label of each stratum is in resamples, less what it is in the sample: [R, K] each.

        Labels are drawn as often as the clusters that they are in, so together with the readings of these;
        each value in `prior` stands beside them with a random weight, on average that of half a label
        (Gamma(1/2)). For labels of 0 and 1 that differ little this spreads as Beta(k + 1/2, n - k + 1/2)
        does, where the labels alone would show no spread (Rubin 1981, The Bayesian bootstrap, Annals of
        Statistics 9). Strata that were taken together have none, nor those that are labelled whole.

        Args:
            labels: values by the label, [N, K]; NaN where an item is not labelled.
            prior: values that a label may have, [A, K].
            clusters: places of the items' clusters, [N].
            drawn: how often each cluster is drawn, [R, clusters].
            rng: of the weights of the prior.
        """
        truth, points = np.asarray(labels, dtype=np.float64), np.asarray(prior, dtype=np.float64)
        places, often = np.asarray(clusters, dtype=np.int64), np.asarray(drawn, dtype=np.float64)
        found: dict[int, Floats] = {}
        for stratum in np.unique(self.stratum):
            mine = self.stratum == stratum
            sampled = mine & (self.weights > 0)
            if not sampled.any() or sampled.sum() == mine.sum() or int(stratum) in self.mixed:
                continue
            own, weight = truth[sampled], often[:, places[sampled]]
            extra = rng.gamma(0.5, size=(len(often), len(points)))
            total = weight.sum(axis=1) + extra.sum(axis=1)
            apart = (weight @ own + extra @ points) / total[:, None] - own.mean(axis=0)
            centre = apart.mean(axis=0)
            found[int(stratum)] = centre + (apart - centre) * _small_sample(
                len(set(places[sampled].tolist()))
            )
        return found


def domain_deviations(
    correction: Correction, deviations: Mapping[int, Floats], where: NDArray[np.bool_], total: float
) -> Floats | float:
    """Deviations of the strata added up over some items, by a total; 0 if there are none."""
    found: Floats | float = 0.0
    for stratum, one in deviations.items():
        found = found + one * ((correction.stratum == stratum) & where).sum() / total
    return found


def _small_sample(clusters: int) -> float:
    """By how much resamples of few clusters spread too little: Student's quantile for the normal one."""
    df = max(10, clusters - 1)
    return float(stdtrit(df, 0.975) / 1.959964 * np.sqrt((df + 1) / df))


def difference(
    reading: ArrayLike,
    labels: ArrayLike,
    fine: Sequence[str],
    coarse: Sequence[str],
    *,
    least: int = LEAST,
    labels_each: ArrayLike | None = None,
) -> Correction:
    """The difference estimator, item by item.

    Args:
        reading: values by the reader, [N, K].
        labels: values by the label, [N, K]; NaN where an item is not labelled.
        fine: the stratum that each item was drawn in, [N].
        coarse: its class, [N]: strata of fewer than `least` labelled items are taken together within it.
        least: labelled items that a stratum needs, unless all of it is labelled.
        labels_each: labels that each item consists of, [N]; 1 unless given.

    >>> one = difference([[0.0]] * 4, [[1.0], [0.0], [np.nan], [np.nan]], ["a"] * 4, ["a"] * 4, least=2)
    >>> float(one.values.sum())  # half of the labelled ones are 1, and there are four
    2.0
    """
    m, truth = np.asarray(reading, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    known = ~np.isnan(truth).any(axis=1) if len(truth) else np.zeros(0, dtype=bool)
    strata = pooled_strata(fine, coarse, known, least=least)
    values, smooth, weights = m.copy(), m.copy(), np.zeros(len(m))
    names = np.array(fine, dtype=object)
    each = np.ones(len(m)) if labels_each is None else np.asarray(labels_each, dtype=np.float64)
    unseen = np.zeros(len(m), dtype=np.int64)
    covered, mixed = True, set[int]()
    for stratum in np.unique(strata):
        mine = strata == stratum
        sampled = mine & known
        total, n = int(mine.sum()), int(sampled.sum())
        if not n:
            covered = False
            continue
        apart = truth[sampled] - m[sampled]
        mean = apart.mean(axis=0)
        # a sample of n has n - 1 differences from its own mean
        spread = np.sqrt(n / (n - 1)) if 1 < n < total else 1.0
        values[mine] += mean
        smooth[mine] += mean
        values[sampled] += total / n * (apart - mean) * spread
        weights[sampled] = total / n
        if n == total:
            smooth[mine] = values[mine]  # the labels themselves: nothing is estimated
        elif len(set(names[mine].tolist())) > 1:
            smooth[mine] = values[mine]
            mixed.add(int(stratum))
        if n < total and not np.abs(apart).sum():
            unseen[mine] = each[sampled].sum()
    classes = np.array(coarse, dtype=object)
    for one in dict.fromkeys(classes.tolist()):
        labelled = (classes == one) & known
        if not np.abs(truth[labelled] - m[labelled]).sum():
            unseen[(classes == one) & (unseen > 0)] = each[labelled].sum()
    return Correction(values, weights, unseen, strata, covered, smooth, frozenset(mixed))


def pooled_strata(
    fine: Sequence[str], coarse: Sequence[str], labelled: ArrayLike, *, least: int = LEAST
) -> Places:
    """Strata that have enough labels, numbered, [N].

    Those with fewer than `least`, and not all, of their items labelled are taken together within their class;
    if they are still too few, with the rest of it.
    """
    known = np.asarray(labelled, dtype=bool)
    names, classes = np.array(fine, dtype=object), np.array(coarse, dtype=object)
    found = names.copy()
    for one in dict.fromkeys(classes.tolist()):
        inside = classes == one
        small = np.zeros(len(names), dtype=bool)
        for name in dict.fromkeys(names[inside].tolist()):
            mine = inside & (names == name)
            n = int(known[mine].sum())
            if n < least and n < int(mine.sum()):
                small |= mine
        if int(known[small].sum()) < least and not known[small].all():
            small = inside
        found[small] = f"{one}\0"
        found[inside & ~small] = [f"{one}\0{name}" for name in names[inside & ~small]]
    places = {name: place for place, name in enumerate(dict.fromkeys(found.tolist()))}
    return np.array([places[name] for name in found.tolist()], dtype=np.int64)


def unseen_errors(labelled: int, chances: ArrayLike) -> Floats:
    """Shares misread that a sample without any error allows: quantiles of Beta(1/2, n + 1/2).

    As any proportion of 0/n is drawn (methods 0.5 (c)).

    >>> bool(unseen_errors(100, [0.975])[0] < 0.026)
    True
    """
    return np.asarray(betaincinv(0.5, labelled + 0.5, np.asarray(chances, dtype=np.float64)))


def allocate(
    sizes: Sequence[int], costs: Sequence[float], ranks: Sequence[int], total: int, least: int = 30
) -> Places:
    """How many items of each stratum to label, [H].

    Strata of rank 0 and 1 get `least` labels each; what is left goes to them in proportion to what is not
    labelled yet, and then to those of rank 2. Where `total` is not enough for `least`, they get at least
    `LEAST` items as far as it goes, and the rest by the square root of their size, rank 0 twice as much.

    Args:
        sizes: items of each stratum.
        costs: labels that an item takes, on average.
        ranks: 0 for the strata that come first, 1 for others that the result rests on, 2 for all else.
        total: labels in all.
        least: labels that a stratum gets at least, if it has them.

    >>> allocate([1000, 500, 3], [1, 1, 1], [1, 0, 0], 100).tolist()
    [55, 42, 3]
    """
    size, cost = np.asarray(sizes, dtype=np.float64), np.asarray(costs, dtype=np.float64)
    rank = np.asarray(ranks)
    first = rank < 2
    need = np.where(first, np.minimum(size, np.ceil(least / cost - 1e-9)), 0.0)
    if (need * cost).sum() > total:
        floor = np.minimum(need, LEAST)
        chosen = np.zeros(len(size)) if (floor * cost).sum() > total else floor
        weights = np.where(rank == 0, 2.0, 1.0) * np.sqrt(size) * first
        return np.asarray(_filled(chosen, need, cost, weights, total), np.int64)
    chosen = _filled(need, np.where(first, size, need), cost, (size - need) * first, total)
    chosen = _filled(chosen, size, cost, size - chosen, total)
    return np.asarray(chosen, dtype=np.int64)


def _filled(chosen: Floats, most: Floats, cost: Floats, weights: Floats, total: float) -> Floats:
    """What is chosen and more, by weight and up to `most`, as far as the labels go."""
    left = total - float((chosen * cost).sum())
    while left > 0:
        open_ = (chosen < most) & (weights > 0)
        if not open_.any():
            break
        share = np.where(open_, weights * cost, 0.0)
        more = np.minimum(most - chosen, np.floor(left * share / share.sum() / cost + 1e-9))
        if not more.any():  # less than one item each: the largest first
            for place in np.flatnonzero(open_)[np.argsort(-share[open_], kind="stable")]:
                if cost[place] <= left + 1e-9:
                    chosen[place] += 1
                    left -= cost[place]
            break
        chosen = chosen + more
        left = total - float((chosen * cost).sum())
    return chosen
