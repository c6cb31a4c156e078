"""Is a count vector similar to given shares, are two counts alike, and what many tests add up to.

The last axis of count vectors is their cells; leading axes are separate comparisons. None of
this imports `scipy.stats`, which is slow to load; the tests compare with it.

Permutations and resamples work on tables of counts rather than on rows: units that look alike are one
*type*, so to permute block labels over units is to draw the table of types by blocks from the multivariate
hypergeometric distribution, and to resample units with replacement is to draw the numbers of each type from
the multinomial one. A permutation costs a few numbers per type, however many units there are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustgauge.stats.distributions import (
    Floats,
    Ints,
    binomial_tail,
    bounded_outcomes,
    chi_squared_tail,
    log_choose,
    log_multinomial,
    outcome_count,
    outcomes,
)

PERMUTATIONS = 9_999
EXACT_UP_TO = 20_000
ENOUGH = 10

Numbers = TypeVar("Numbers", Floats, Ints)
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


def different_rows(counts: Numbers) -> tuple[Numbers, Ints]:
    """The different rows of a table [n, C] of whole numbers from 0, sorted, and which of them each row is.

    As `np.unique` has them, but rows of small numbers are compared as one number each: a tenth of the time.
    """
    base, cells = int(counts.max(initial=0)) + 1, counts.shape[1]
    if base**cells >= 1 << 62:
        rows, place = np.unique(counts, axis=0, return_inverse=True)
        return rows, place.reshape(-1)
    codes = counts.astype(np.int64) @ base ** np.arange(cells)[::-1]
    _, first, place = np.unique(codes, return_index=True, return_inverse=True)
    return counts[first], place


Empty = Literal["drop", "keep"]

MOST_OUTCOMES = 200_000
MONTE_CARLO = 100_000


def two_sample_chi_squared(
    first: ArrayLike, second: ArrayLike, empty: Empty = "drop"
) -> tuple[Floats, Floats, Floats]:
    """Two-sample chi-squared without continuity correction (two-step 1.5 (1)).

    With totals O and S of the two samples, X2 = sum (o sqrt(S/O) - s sqrt(O/S))^2 / (o + s).
    A cell empty in both samples is dropped (df = kept cells - 1) or kept (it adds nothing,
    df = cells - 1). One kept cell: X2 = 0, df = 0, p = 1.

    Args:
        first: Counts o, [..., C]; they may be shares of counts.
        second: Counts s, broadcast against `first`.
        empty: What becomes of a cell empty in both samples.

    Returns:
        X2, df and p, each [...]; NaN where a sample is empty as a whole.
    """
    o, s = np.broadcast_arrays(np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64))
    total_o, total_s = o.sum(axis=-1), s.sum(axis=-1)
    defined = (total_o > 0) & (total_s > 0)
    ratio = np.sqrt(np.where(defined, total_s, 1.0) / np.where(defined, total_o, 1.0))[..., None]
    cells = o + s
    terms = (o * ratio - s / ratio) ** 2 / np.where(cells > 0, cells, 1.0)
    kept = (cells > 0).sum(axis=-1) if empty == "drop" else np.full(total_o.shape, o.shape[-1])
    df = (kept - 1).astype(np.float64)
    statistic = np.where(df > 0, terms.sum(axis=-1), 0.0)
    p = chi_squared_tail(statistic, df)
    return tuple(np.where(defined, value, np.nan) for value in (statistic, df, p))  # type: ignore[return-value]


def table_chi_squared(tables: ArrayLike) -> Floats:
    """Pearson's chi-squared of tables of counts [..., B, C]; empty rows and columns add nothing."""
    counts = np.asarray(tables, dtype=np.float64)
    rows, columns = counts.sum(axis=-1, keepdims=True), counts.sum(axis=-2, keepdims=True)
    total = rows.sum(axis=-2, keepdims=True)
    expected = rows * columns / np.where(total > 0, total, 1.0)
    terms = (counts - expected) ** 2 / np.where(expected > 0, expected, 1.0)
    return np.asarray(terms.sum(axis=(-1, -2)))


def exact_multinomial(counts: ArrayLike, shares: ArrayLike, rng: np.random.Generator) -> float:
    """One-sample multinomial test (two-step 1.5 (2)): probability of all outcomes no likelier than this.

    Exact up to 200,000 outcomes, else from 100,000 draws, p = (1 + hits) / (1 + draws).
    A count in a cell of share 0 gives p = 0; no counts at all give 1.
    """
    seen = np.asarray(counts, dtype=np.int64)
    declared = np.asarray(shares, dtype=np.float64)
    if seen[declared <= 0].any():
        return 0.0
    seen, declared = seen[declared > 0], declared[declared > 0] / declared.sum()
    total = int(seen.sum())
    observed = float(log_multinomial(seen, declared))
    if outcome_count(total, len(seen)) <= MOST_OUTCOMES:
        logs = log_multinomial(outcomes(total, len(seen)), declared)
        return min(1.0, float(np.exp(logs[_no_likelier(logs, observed)]).sum()))
    drawn = log_multinomial(rng.multinomial(total, declared, size=MONTE_CARLO), declared)
    return float((1 + _no_likelier(drawn, observed).sum()) / (1 + MONTE_CARLO))


def _no_likelier(logs: Floats, observed: float) -> NDArray[np.bool_]:
    return np.asarray(logs <= observed + 1e-9 * max(1.0, abs(observed)))


def kolmogorov_smirnov(first: ArrayLike, second: ArrayLike, rng: np.random.Generator) -> tuple[float, float]:
    """Largest distance between two cumulated shares in the declared order, and its permutation p.

    Two-step 1.5 (3). Both are whole counts [C]. Arrangements that give the same table count
    together; exact with at most 20,000 such tables (or arrangements), else R = 9,999.
    """
    o, s = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
    pooled = o + s
    size, total = int(o.sum()), int(pooled.sum())
    if size == 0 or total == size:
        return math.nan, math.nan
    observed = float(_distance(o, pooled, size))
    cells = pooled[pooled > 0]
    if outcome_count(size, len(cells)) <= EXACT_UP_TO or math.comb(total, size) <= EXACT_UP_TO:
        tables = np.array(list(bounded_outcomes(size, tuple(cells.tolist()))), dtype=np.int64)
        logs = log_choose(cells, tables).sum(axis=-1)
        weights = np.exp(logs - logs.max())
        return observed, exact_p(observed, _distance(tables, cells, size), weights)
    stars = _distance(rng.multivariate_hypergeometric(pooled, size, size=PERMUTATIONS), pooled, size)
    return observed, permutation_p(observed, stars)


def _distance(tables: Ints, pooled: Ints, size: int) -> Floats:
    rest = int(pooled.sum()) - size
    gap = tables.cumsum(axis=-1) / size - (pooled - tables).cumsum(axis=-1) / rest
    return np.asarray(np.abs(gap).max(axis=-1))


def kullback_leibler(first: ArrayLike, second: ArrayLike) -> Floats:
    """Divergence sum p ln(p / q) in nats, p from `first`, q from `second`, 1/2 added to every count.

    Two-step 1.5 (4). Counts [..., C] broadcast.
    """
    p, q = (np.asarray(counts, dtype=np.float64) + 0.5 for counts in (first, second))
    p, q = p / p.sum(axis=-1, keepdims=True), q / q.sum(axis=-1, keepdims=True)
    return np.asarray((p * np.log(p / q)).sum(axis=-1))


def mcnemar(first: int, second: int) -> float:
    """Exact McNemar p of two swap counts (two-step 1.7 step 7): 1 if both are 0."""
    changed = first + second
    if changed == 0:
        return 1.0
    return min(1.0, 2.0 * float(binomial_tail(max(first, second), changed, 0.5)))


def fisher_exact(table: ArrayLike) -> float:
    """Two-sided Fisher p of a 2 x 2 table: probability of all tables no likelier than this one."""
    (a, b), (c, d) = np.asarray(table, dtype=np.int64).tolist()
    row, column, total = a + b, a + c, a + b + c + d
    k = np.arange(max(0, row + column - total), min(row, column) + 1)
    logs = log_choose(column, k) + log_choose(total - column, row - k) - log_choose(total, row)
    return min(1.0, float(np.exp(logs[logs <= logs[a - k[0]] + 1e-7]).sum()))


def holm(p: ArrayLike) -> Floats:
    """Holm's step-down adjusted p along the last axis: confirm a family at .05 (methods 0.7)."""
    values = np.asarray(p, dtype=np.float64)
    order = np.argsort(values, axis=-1, kind="stable")
    ranked = np.take_along_axis(values, order, axis=-1)
    weights = np.arange(values.shape[-1], 0, -1)
    adjusted = np.minimum(1.0, np.maximum.accumulate(ranked * weights, axis=-1))
    return _unsorted(adjusted, order)


def benjamini_hochberg(p: ArrayLike) -> Floats:
    """Benjamini-Hochberg adjusted p along the last axis: explore at q = .05 (methods 0.7)."""
    values = np.asarray(p, dtype=np.float64)
    order = np.argsort(values, axis=-1, kind="stable")
    ranked = np.take_along_axis(values, order, axis=-1)
    size = values.shape[-1]
    scaled = ranked * size / np.arange(1, size + 1)
    adjusted = np.minimum(1.0, np.minimum.accumulate(scaled[..., ::-1], axis=-1)[..., ::-1])
    return _unsorted(adjusted, order)


def _unsorted(ranked: Floats, order: Ints) -> Floats:
    values = np.empty_like(ranked)
    np.put_along_axis(values, order, ranked, axis=-1)
    return values
