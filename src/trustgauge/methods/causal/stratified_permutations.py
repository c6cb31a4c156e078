"""Permutations of classes within strata, and the p of many statistics at once (methods 0.7)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np

from trustgauge.methods.causal.panel import Floats, Ints
from trustgauge.stats.comparisons import EXACT_UP_TO, arrangements, reaches

MOST = 4_000_000  # numbers in memory at once

Stratum = tuple[Floats, Floats, Ints]
"""Rows, sums and classes of the cells within which classes are permuted, [K] each."""


def permutation_sums(
    strata: Sequence[Stratum], classes: int, permutations: int, rng: np.random.Generator
) -> tuple[Floats, bool]:
    """Rows and sums by class when the classes of the cells are permuted within each stratum.

    Args:
        strata: the cells; a cell keeps its rows and its sum, and gets the class of another.
        classes: number of classes, G.
        permutations: how many are drawn if not all arrangements are looked at.
        rng: draws them.

    Returns:
        [R, strata, G, 2] (rows, sums), and whether these are all arrangements of all strata
        together, which they are if there are at most 20,000.
    """
    ways = math.prod(arrangements(np.bincount(of, minlength=classes).tolist()) for _, _, of in strata)
    if ways <= EXACT_UP_TO:
        return _every_arrangement(strata, classes), True
    return np.stack([_random(one, classes, permutations, rng) for one in strata], axis=1), False


def step_down(observed: Floats, stars: Floats, *, exact: bool) -> Floats:
    """Step-down max-T p (methods 0.7): observed statistics [m], those of the permutations [R, m].

    p of the j-th largest statistic is the share of permutations whose maximum over it and all
    smaller ones reaches it, made monotone. NaN statistics are no tests and get NaN; in a
    permutation they reach nothing. `exact` says that `stars` are all arrangements, the observed
    one included.
    """
    p = np.full(observed.shape, np.nan)
    tests = np.flatnonzero(~np.isnan(observed))
    order = tests[np.argsort(-observed[tests], kind="stable")]
    reached = np.where(np.isnan(stars), -np.inf, stars)[:, order]
    largest = np.maximum.accumulate(reached[:, ::-1], axis=1)[:, ::-1]
    hits = reaches(largest, observed[order]).sum(axis=0)
    share = hits / len(stars) if exact else (1 + hits) / (1 + len(stars))
    p[order] = np.maximum.accumulate(share)
    return p


def _random(stratum: Stratum, classes: int, draws: int, rng: np.random.Generator) -> Floats:
    """Rows and sums by class under random permutations of the classes, [draws, G, 2]."""
    rows, sums, of = stratum
    values = np.stack([rows, sums], axis=1)
    step = max(1, MOST // max(1, len(of)))
    found = []
    for start in range(0, draws, step):
        shuffled = rng.permuted(np.tile(of, (min(step, draws - start), 1)), axis=1)
        found.append(_summed(shuffled, values, classes))
    return np.concatenate(found)


def _summed(of: Ints, values: Floats, classes: int) -> Floats:
    """Values [K, 2] summed by class, for classes [R, K] of every arrangement: [R, G, 2]."""
    return np.stack([(of == one).astype(np.float64) @ values for one in range(classes)], axis=1)


def _every_arrangement(strata: Sequence[Stratum], classes: int) -> Floats:
    """Rows and sums by class for every combination of arrangements of strata, [A, strata, G, 2]."""
    each = []
    for rows, sums, of in strata:
        orders = sorted(_orders(tuple(of.tolist())))
        every = np.array(orders, dtype=np.int64).reshape(len(orders), len(of))  # no cells have one order
        each.append(_summed(every, np.stack([rows, sums], axis=1), classes))
    picks = np.array(list(itertools.product(*(range(len(one)) for one in each))), dtype=np.int64)
    return np.stack([one[picks[:, place]] for place, one in enumerate(each)], axis=1)


def _orders(labels: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Every distinct order of labels."""
    if not labels:
        yield ()
    for one in sorted(set(labels)):
        rest = list(labels)
        rest.remove(one)
        for after in _orders(tuple(rest)):
            yield (one, *after)
