"""Whether what is said of groups changed as the run went on, and what that widens (methods 0.3 (4))."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trustgauge.methods.social_bias import votes
from trustgauge.stats.comparisons import label_p

Floats = NDArray[np.float64]
SEGMENTS = 10


def has_segments(rows: pl.DataFrame) -> bool:
    """Whether it is known of answers in which of several segments of the run they were asked."""
    return votes.SEGMENT in rows.columns and rows[votes.SEGMENT].n_unique() > 1


def p_of_change(rows: pl.DataFrame, groups: Sequence[str], rng: np.random.Generator) -> float:
    """The p of the largest change over the segments of a run, Bonferroni over all that is tested.

    What is asked when was drawn by lot, so segments are permuted over answers. Tested are how often real
    groups are decided about beyond invented ones, for whom comparisons with each group are decided, and how
    each is spoken of beyond the others.

    Args:
        rows: of one attribute of one service, with the column `segment`.
        groups: ids of the real groups.
        rng: for the permutations.
    """
    voted = _Questions(
        votes.votes(rows.filter(pl.col("tuple") == "absolute")).drop_nulls([votes.SEGMENT, "n", "vote"])
    )
    single = rows.filter((pl.col("tuple") == "relative") & ~pl.col("control"))
    judged = votes.relative_statements(single, by_polarity=True)
    spoken = _Questions(judged.drop_nulls([votes.SEGMENT, "n", "good", "bad"]))
    vote, invented, positive = voted.rows["vote"], voted.is_("control"), voted.equal("polarity", "positive")
    decided, named_a = (vote != "").to_numpy(), (vote == "a").to_numpy()
    how = np.where(spoken.is_("good"), 0, np.where(spoken.is_("bad"), 1, 2))
    tables = [voted.by_segment(np.where(decided, 0, 2), ~invented, invented)]
    for group in groups:
        mine = spoken.equal("group_a", group)
        tables.append(spoken.by_segment(how, mine, ~mine))
        first, second = (voted.equal(name, group) for name in ("group_a", "group_b"))
        # whom a vote that decides names: this group, if it is the first and A is named, or the second and B
        own = named_a == first
        for won in (own, own == positive):  # who is named, and who is favoured
            outcome = np.where(decided, np.where(won, 0, 1), 2)
            tables.append(voted.by_segment(outcome, (first | second) & ~invented, np.zeros_like(first)))
    p = label_p(np.array(tables), _change, rng)
    return min(1.0, float(p.min()) * len(p))


class _Questions:
    """Questions of which it is known what was said, and when they were asked.

    They are counted in arrays: it takes hundreds of small tables to rate an attribute.
    """

    def __init__(self, rows: pl.DataFrame) -> None:
        self.rows = rows
        self._segment = rows[votes.SEGMENT].to_numpy().astype(np.int64)
        self._n = rows["n"].to_numpy()

    def is_(self, column: str) -> NDArray[np.bool_]:
        """A column of booleans."""
        return self.rows[column].to_numpy().astype(np.bool_)

    def equal(self, column: str, value: str) -> NDArray[np.bool_]:
        """Whether the column has this value."""
        return (self.rows[column] == value).to_numpy().astype(np.bool_)

    def by_segment(self, kinds: NDArray[np.int64], *sides: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Answers by segment of the run and by side and kind, [10, 3 sides]."""
        places = 3 * self._segment + kinds
        counts = [np.bincount(places[one], self._n[one], 3 * SEGMENTS) for one in sides]
        return np.hstack([one.reshape(SEGMENTS, 3) for one in counts]).astype(np.int64)


def _change(tables: NDArray[np.int64]) -> Floats:
    """How far the balance of one side less that of the other varies over segments, [..., 10, 6] -> [...]."""
    counts = tables.reshape(*tables.shape[:-1], -1, 3).astype(np.float64)
    n = counts.sum(axis=-1)
    balance = (counts[..., 0] - counts[..., 1]) / np.maximum(n, 1.0)
    apart = balance[..., 0] - balance[..., 1]
    weight = n[..., 0]
    mean = (weight * apart).sum(axis=-1, keepdims=True) / np.maximum(weight.sum(axis=-1, keepdims=True), 1.0)
    return np.asarray((weight * (apart - mean) ** 2).sum(axis=-1))


def time_effect(rows: pl.DataFrame, cells: list[str], hits: list[str]) -> float:
    """Variance of shares over segments by that over properties, at least 1 (methods 0.3 (4), two-step 1.7).

    Args:
        rows: with `property`, `n` and, where it is known, `segment`.
        cells: the columns whose values have a share each; the variances of all are added up.
        hits: columns of which the shares are.
    """
    if not has_segments(rows):
        return 1.0
    by_time, by_property = (_variance(rows, key, cells, hits) for key in (votes.SEGMENT, "property"))
    return max(1.0, by_time / by_property) if by_property > 0 else 1.0


def _variance(rows: pl.DataFrame, key: str, cells: list[str], hits: list[str]) -> float:
    """Variance of shares over the clusters of a key, linearised (two-step 1.7 step 3)."""
    n = pl.col("n")
    within = [pl.col(one) for one in cells] or [pl.lit(0)]
    sums = rows.group_by(key, *cells).agg(n.sum(), *((n * pl.col(one)).sum().alias(one) for one in hits))
    sums = sums.sort(key, *cells)  # sums of fractions depend on their order (methods 0.2)
    total, clusters = n.sum().over(within), pl.len().over(within)
    squares = [(pl.col(one) - pl.col(one).sum().over(within) / total * n) ** 2 for one in hits]
    scale = pl.when(clusters > 1).then(clusters / (clusters - 1) / total**2).otherwise(0.0)
    return float(sums.select((pl.sum_horizontal(squares) * scale).sum()).item())
