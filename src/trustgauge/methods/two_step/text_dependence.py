"""Whether what a service makes of a value depends on the text around it (two-step 1.9).

Rates of two services multiply only if what one does with a value says nothing of what the other does. Where
both treat occupations differently, it may be the same ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from trustgauge.stats.comparisons import holm, sequential_p, table_chi_squared
from trustgauge.stats.distributions import Floats, Ints

NAMED = ("occupation", "sentence pattern", "sentence", "place in the text", "other mentions")
FEATURES = (*NAMED, "rest of the text", "mention before")
"""What the answer to a mention is compared with. A sentence is an occupation in a pattern.

The last two stand for whatever else a text may have. The rest of the text are all its words but the values:
each block asks it with other ones. The mention before is what was sent, and came back, for it: who looks at
the text as a whole, such as at its length, treats both mentions alike.
"""
DEPENDS = 0.01  # Holm-adjusted p up to which a feature matters, as in homogeneity (two-step 1.7 step 2)
MOST = 10_000  # texts that are looked at
PERMUTATIONS = 1_999
BATCH = 100


def text_dependence(marks: pl.DataFrame, rng: np.random.Generator) -> tuple[str, ...]:
    """The `FEATURES` of a text on which the value that comes back depends, beyond chance.

    For each feature: Pearson's chi-squared of values out by levels of the feature, summed over the values in;
    p by permuting the values out among the mentions of a value in, Holm over features.

    Args:
        marks: scored answers of one part; a text that a deterministic service shares counts once.
        rng: of the sample of texts and of the permutations.
    """
    rows = marks.filter(pl.col("first") | ~pl.col("shared"))
    if rows.height > MOST:
        rows = rows.sample(MOST, seed=int(rng.integers(1 << 32)))
    mentions = list(_mentions(rows.select("pattern", "items", "values", "read").iter_rows()))
    if not mentions:
        return ()
    p = []
    for place in range(2, 2 + len(FEATURES)):
        known = [one for one in mentions if one[place] is not None]
        values, came = (np.array([one[column] for one in known], dtype=np.int64) for column in (0, 1))
        p.append(_p(_codes([one[place] for one in known]), values, came, rng) if known else 1.0)
    found = [name for name, adjusted in zip(FEATURES, holm(p).tolist(), strict=True) if adjusted <= DEPENDS]
    if "occupation" in found or "sentence pattern" in found:  # which a sentence consists of
        found = [name for name in found if name != "sentence"]
    return tuple([name for name in found if name in NAMED] or found)


def _mentions(rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """Of each mention that was read: value in, value out, then its `FEATURES`; None where it has none.

    Only every second mention has one before, so that no answer stands on both sides of a comparison.
    """
    for pattern, items, values, read in rows:
        found = list(zip(items, values, read or (), strict=False))  # surplus words are no mentions
        rest = (pattern, *items)
        for place, (item, value, out) in enumerate(found):
            if _is_read(out):
                others = tuple(sorted([*values[:place], *values[place + 1 :]]))
                before = found[place - 1][1:] if place % 2 and _is_read(found[place - 1][2]) else None
                yield value, out, item, pattern, (item, pattern), place, others, (rest, place), before


def _is_read(out: int | None) -> bool:
    return out is not None and out >= 0


def _codes(levels: Sequence[object]) -> Ints:
    numbers = {level: number for number, level in enumerate(dict.fromkeys(levels))}
    return np.array([numbers[level] for level in levels])


def _p(levels: Ints, values: Ints, came: Ints, rng: np.random.Generator) -> float:
    """Permutation p of one feature, stopped early where it is large."""
    groups = [(levels[values == value], came[values == value]) for value in np.unique(values)]
    groups = [group for group in groups if len(np.unique(group[1])) > 1]
    if not groups:
        return 1.0
    shape = int(levels.max()) + 1, int(came.max()) + 1
    observed = float(sum(_statistics(one, out[None], shape)[0] for one, out in groups))

    def batches() -> Iterator[Floats]:
        for done in range(0, PERMUTATIONS, BATCH):
            size = min(BATCH, PERMUTATIONS - done)
            mixed = [(one, rng.permuted(np.tile(out, (size, 1)), axis=1)) for one, out in groups]
            yield np.sum([_statistics(one, out, shape) for one, out in mixed], axis=0)

    return sequential_p(observed, batches())


def _statistics(levels: Ints, came: Ints, shape: tuple[int, int]) -> Floats:
    """Chi-squared of each row of `came` [R, N] by the levels [N]."""
    cells = shape[0] * shape[1]
    places = np.arange(len(came))[:, None] * cells + levels * shape[1] + came
    tables = np.bincount(places.ravel(), minlength=len(came) * cells)
    return table_chi_squared(tables.reshape(len(came), *shape))
