"""Agreement of people who label the same items (causal 2.3).

Everything is a function of `counts` [items, categories]: how many people gave an item each label.
People may have skipped items: rows need not have equal sums. An item with fewer than two labels
says nothing of agreement and is left out. What is undefined is nan: no item with two labels, or,
for the chance-corrected measures, one label only in all of the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from trustgauge.stats.comparisons import resample_types
from trustgauge.stats.distributions import Floats

Level = Literal["nominal", "ordinal", "interval"]


def equal_share(counts: ArrayLike) -> float:
    """Share of the items that all who labelled them gave one label."""
    table = _pairable(counts)
    return float((table.max(axis=1) == table.sum(axis=1)).mean()) if len(table) else np.nan


def pairwise_agreement(counts: ArrayLike) -> float:
    """Share of the pairs of people who agree on an item, averaged over items.

    The observed agreement of Fleiss 1971, Measuring nominal scale agreement among many raters,
    Psychological Bulletin 76, equation 2 and the mean after it.
    """
    table = _pairable(counts)
    return float(_agreeing(table).mean()) if len(table) else np.nan


def fleiss_kappa(*counts: ArrayLike) -> float:
    """Pairwise agreement beyond what the shares of labels alone would give (Fleiss 1971, equation 7).

    With skipped items the shares are those of all labels given to items with at least two.

    Args:
        *counts: [items, categories]; several tables for kinds of items that may get different labels:
            what chance gives is then the mean over items of what it gives within their kind.
    """
    tables = [table for one in counts if len(table := _pairable(one))]
    if not tables:
        return np.nan
    agreeing = np.concatenate([_agreeing(table) for table in tables])
    shares = [table.sum(axis=0) / table.sum() for table in tables]
    if all(np.count_nonzero(one) < 2 for one in shares):
        return np.nan
    items = [len(table) for table in tables]
    chance = float(np.average([float((one**2).sum()) for one in shares], weights=items))
    return float((agreeing.mean() - chance) / (1.0 - chance))


def krippendorff_alpha(counts: ArrayLike, values: Sequence[float], level: Level = "ordinal") -> float:
    """Krippendorff's alpha: 1 - observed / expected disagreement.

    Krippendorff 2004, Content Analysis, second edition, chapter 11: coincidences of labels within
    items; the squared difference of two labels is 1 (nominal), that of their places among all
    labels given (ordinal), or that of their values (interval).

    Args:
        counts: [items, categories].
        values: of the categories; their order is the order of `ordinal`.
        level: of measurement.
    """
    table, kinds = _in_order(counts, values)
    found = _alpha(_coincidences(table).sum(axis=0), kinds, level)
    return float(found)


def alpha_interval(
    counts: ArrayLike,
    values: Sequence[float],
    level: Level = "ordinal",
    *,
    rng: np.random.Generator,
    draws: int = 2_000,
) -> tuple[float, float]:
    """95 % percentile interval of alpha: items are drawn with replacement.

    Items with equal counts are one type, so the cost does not grow with their number. Resamples
    in which alpha is undefined are left out; nan if that is more than 5 % of them (methods 0.5 (e)).
    """
    table, kinds = _in_order(counts, values)
    if not len(table):
        return np.nan, np.nan
    types, sizes = np.unique(table, axis=0, return_counts=True)
    drawn = resample_types(sizes, draws, rng).astype(np.float64)
    alphas = _alpha(np.tensordot(drawn, _coincidences(types), axes=1), kinds, level)
    known = alphas[~np.isnan(alphas)]
    if len(known) < 0.95 * draws:
        return np.nan, np.nan
    low, high = np.quantile(known, (0.025, 0.975))
    return float(low), float(high)


def _pairable(counts: ArrayLike) -> Floats:
    """Rows with at least two labels."""
    table = np.asarray(counts, dtype=np.float64)
    return np.asarray(table[table.sum(axis=1) >= 2], dtype=np.float64)


def _agreeing(table: Floats) -> Floats:
    """Share of the pairs of labels of each item that are equal, [items]."""
    given = table.sum(axis=1)
    return np.asarray((table * (table - 1)).sum(axis=1) / (given * (given - 1)), dtype=np.float64)


def _in_order(counts: ArrayLike, values: Sequence[float]) -> tuple[Floats, Floats]:
    """Pairable rows with the categories in the order of their values, and these values."""
    kinds = np.asarray(values, dtype=np.float64)
    order = np.argsort(kinds, kind="stable")
    return _pairable(counts)[:, order], kinds[order]


def _coincidences(table: Floats) -> Floats:
    """Ordered pairs of labels within each item, an item of m labels weighing m: [items, C, C]."""
    pairs = table[:, :, None] * table[:, None, :]
    own = np.arange(table.shape[1])
    pairs[:, own, own] -= table
    return np.asarray(pairs / (table.sum(axis=1) - 1)[:, None, None], dtype=np.float64)


def _alpha(coincidences: Floats, values: Floats, level: Level) -> Floats:
    """Alpha of each table of coincidences [..., C, C]; nan without variation."""
    of_label = coincidences.sum(axis=-1)
    total = of_label.sum(axis=-1)
    if level == "ordinal":
        place = np.cumsum(of_label, axis=-1) - of_label / 2.0  # middle rank of each label
    else:
        place = np.broadcast_to(values, of_label.shape)
    apart = (place[..., :, None] - place[..., None, :]) ** 2
    if level == "nominal":
        apart = (apart > 0).astype(np.float64)
    observed = (coincidences * apart).sum(axis=(-2, -1))
    chance = (of_label[..., :, None] * of_label[..., None, :] * apart).sum(axis=(-2, -1))
    with np.errstate(divide="ignore", invalid="ignore"):
        alpha = 1.0 - (total - 1.0) * observed / chance
    return np.asarray(np.where(chance > 0, alpha, np.nan), dtype=np.float64)
