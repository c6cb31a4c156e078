"""Permutations and resamples, on tables of counts rather than on rows.

Units that look alike are one *type*: to permute block labels over units is to draw the table
of types by blocks from the multivariate hypergeometric distribution, and to resample units
with replacement is to draw the numbers of each type from the multinomial one. So a
permutation costs a few numbers per type, however many units there are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustgauge.stats.distributions import Floats, Ints, bounded_outcomes, log_choose

PERMUTATIONS = 9_999
EXACT_UP_TO = 20_000
ENOUGH = 10

Statistic = Callable[[Ints], Floats]
"""The statistic of each table: [..., B, Y] -> [...]."""


def reaches(statistics: ArrayLike, observed: ArrayLike) -> NDArray[np.bool_]:
    """T* >= T within 1e-9 * max(1, |T|) (methods 0.7)."""
    seen = np.asarray(observed, dtype=np.float64)
    return np.asarray(statistics, dtype=np.float64) >= seen - 1e-9 * np.maximum(1.0, np.abs(seen))


def permutation_p(observed: float, statistics: ArrayLike) -> float:
    """The permutation p, (1 + #{T* >= T}) / (1 + R), of R random permutations (methods 0.7)."""
    hits = reaches(statistics, observed)
    return float((1 + hits.sum()) / (1 + hits.size))


def sequential_p(observed: float, batches: Iterable[ArrayLike], enough: int = ENOUGH) -> float:
    """The permutation p of statistics that come in batches, stopped when `enough` reach the observed one.

    With the stop after l permutations p = enough / l, without one as `permutation_p`; see `label_p`.
    """
    hits = done = 0
    for batch in batches:
        reached = hits + np.cumsum(reaches(batch, observed))
        if reached.size and reached[-1] >= enough:
            return enough / (done + int(np.searchsorted(reached, enough)) + 1)
        hits, done = int(reached[-1]) if reached.size else hits, done + reached.size
    return (1 + hits) / (1 + done)


def exact_p(observed: float, statistics: ArrayLike, weights: ArrayLike) -> float:
    """Share of all arrangements with T* >= T; `weights` tells how many each statistic stands for."""
    share = np.asarray(weights, dtype=np.float64)
    return float(share[reaches(statistics, observed)].sum() / share.sum())


def arrangements(sizes: Sequence[int]) -> float:
    """Number of ways to give units labels of which there are `sizes`; infinity where too large."""
    total = sum(sizes)
    logs = sum(float(log_choose(total - sum(sizes[:i]), size)) for i, size in enumerate(sizes))
    return math.inf if logs > 60 else round(math.exp(logs))


def label_tables(types: ArrayLike, sizes: ArrayLike, draws: int, rng: np.random.Generator) -> Ints:
    """Random tables of labels by types: units of each type get labels at random.

    `types` [A, Y] says how many units of each type there are, `sizes` [A, B] how many units of
    each label (equal sums); A tests at once. Returns [A, draws, B, Y], from the multivariate
    hypergeometric distribution.
    """
    counts = np.asarray(types, dtype=np.int64)
    places = np.asarray(sizes, dtype=np.int64)
    tests, kinds = counts.shape
    labels = places.shape[1]
    tables = np.zeros((tests, draws, labels, kinds), dtype=np.int64)
    left = np.repeat(counts[:, None, :], draws, axis=1)
    for label in range(labels - 1):
        need = np.repeat(places[:, label][:, None], draws, axis=1)
        after = left.sum(axis=-1)
        for kind in range(kinds):
            after = after - left[..., kind]
            taken = rng.hypergeometric(left[..., kind], after, need)
            tables[:, :, label, kind] = taken
            need = need - taken
        left = left - tables[:, :, label]
    tables[:, :, labels - 1] = left
    return tables


def all_label_tables(types: Sequence[int], sizes: Sequence[int]) -> Iterator[tuple[Ints, float]]:
    """Every table of labels by types [B, Y] and the number of arrangements of units it stands for."""

    def rows(left: tuple[int, ...], label: int) -> Iterator[tuple[list[tuple[int, ...]], float]]:
        if label == len(sizes) - 1:
            yield [left], 1.0
            return
        for row in bounded_outcomes(sizes[label], left):
            ways = math.prod(math.comb(have, take) for have, take in zip(left, row, strict=True))
            rest = tuple(have - take for have, take in zip(left, row, strict=True))
            for below, weight in rows(rest, label + 1):
                yield [row, *below], ways * weight

    for table, weight in rows(tuple(types), 0):
        yield np.array(table, dtype=np.int64), weight


def label_p(tables: Ints, statistic: Statistic, rng: np.random.Generator, enough: int = ENOUGH) -> Floats:
    """Permutation p of A tests at once, each on a table of labels by types, `tables` [A, B, Y].

    Exact where a test has at most 20,000 arrangements. Else random permutations, R = 9,999,
    stopped as soon as `enough` of them reach the observed statistic: with the stop after l
    permutations, p = enough / l; without one, p = (1 + hits) / (1 + R). This sequential p is
    valid, P(p <= a) <= a for each a (Besag and Clifford 1991, Sequential Monte Carlo p-values,
    Biometrika 78, section 3), and spends its effort on small p only.
    """
    tests = len(tables)
    p = np.ones(tests)
    observed = statistic(tables)
    sizes, types = tables.sum(axis=2), tables.sum(axis=1)
    small = np.array([arrangements(row.tolist()) <= EXACT_UP_TO for row in sizes], dtype=bool)
    for test in np.flatnonzero(small):
        every = list(all_label_tables(types[test].tolist(), sizes[test].tolist()))
        stars = statistic(np.stack([table for table, _ in every]))
        p[test] = exact_p(observed[test], stars, [ways for _, ways in every])
    alive = np.flatnonzero(~small)
    hits, done = np.zeros(tests, dtype=np.int64), 0
    for batch in _stages(enough):
        if not alive.size:
            break
        stars = statistic(label_tables(types[alive], sizes[alive], batch, rng))
        counts = hits[alive, None] + np.cumsum(reaches(stars, observed[alive, None]), axis=1)
        stopped = counts[:, -1] >= enough
        p[alive[stopped]] = enough / (done + 1 + np.argmax(counts[stopped] >= enough, axis=1))
        done += batch
        hits[alive] = counts[:, -1]
        alive = alive[~stopped]
    p[alive] = (1 + hits[alive]) / (1 + done)
    return p


def _stages(enough: int) -> Iterator[int]:
    """Batches of permutations, growing, that add up to R."""
    done, batch = 0, 2 * enough
    while done < PERMUTATIONS:
        size = min(batch, PERMUTATIONS - done)
        yield size
        done, batch = done + size, min(2 * done + size, 3_000)


def resample_types(types: ArrayLike, draws: int, rng: np.random.Generator, total: int | None = None) -> Ints:
    """Numbers of units of each type [Y] in resamples with replacement: [draws, Y].

    `total` units are drawn, as many as there are unless given.
    """
    counts = np.asarray(types, dtype=np.float64)
    size = int(counts.sum()) if total is None else total
    return rng.multinomial(size, counts / counts.sum(), size=draws)
