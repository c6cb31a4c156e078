"""The mode per-utterance: levels and rule for each utterance, the most frequent result wins (trust 4.2).

`released`. An issue that is undefined for an utterance counts as a score of 0; leakage, which no single
utterance shows, has one level throughout.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from trustgauge.methods.trust.combine import levels_of
from trustgauge.methods.trust.issues.issue import LEVELS, TALK
from trustgauge.methods.trust.levels import cap_levels
from trustgauge.methods.trust.profiles import IssueOrder
from trustgauge.methods.trust.resampling import Ints, Resampling

if TYPE_CHECKING:
    from trustgauge.methods.trust.settings import TrustSettings

PATTERN = "pattern:"
"""Before the levels of the issues of an utterance, in the order of the plan: "pattern:LLMH"."""
CONSTANT = ("leakage",)
CONSTANT_LEVEL = "M"  # the paper's assumed .5


def cells(settings: TrustSettings, marks: pl.DataFrame) -> pl.DataFrame:
    """Utterances of each dialog counted by the levels of their issues; nothing in the other mode."""
    columns = ["service", "part", "cluster", "key"]
    if settings.mode != "per-utterance":
        return pl.DataFrame(schema={**dict.fromkeys(columns, pl.String), "n": pl.Int64, "total": pl.Float64})
    unknown = pl.lit(CONSTANT_LEVEL)
    scored = [f"{one.name}_score" for one in settings.issues if f"{one.name}_score" in marks.columns]
    # Scripts of an issue that gives turns no score, such as the secrets of leakage, are no conversation.
    mine = pl.any_horizontal(pl.col("purpose") == TALK, *(pl.col(name).is_not_null() for name in scored))
    each = {one.name: _each(one.name, marks) for one in settings.issues}
    spoken = marks.filter(mine & (pl.col("utterances").list.len() > 0)).select(
        "service", "part", *(score.alias(name) for name, score in each.items()), cluster="session"
    )
    letters = [
        _letter(one.name, one.cuts_under(settings.rule)) if f"{one.name}_score" in scored else unknown
        for one in settings.issues
    ]
    rows = spoken.explode(settings.names).select(
        "service", "part", "cluster", key=pl.concat_str([pl.lit(PATTERN), *letters])
    )
    return rows.group_by(columns).agg(n=pl.len().cast(pl.Int64)).with_columns(total=pl.lit(0.0))


def _each(name: str, marks: pl.DataFrame) -> pl.Expr:
    """The scores of the utterances of each turn; those of the turn, where the issue tells no others."""
    said = pl.col("utterances").list.len()
    score = pl.col(f"{name}_score") if f"{name}_score" in marks.columns else pl.lit(None, pl.Float64)
    turn = score.repeat_by(said)
    own = next((one for one in (f"{name}_utterances", f"{name}_scores") if one in marks.columns), None)
    if own is None or marks.schema[own] != pl.List(pl.Float64):
        return turn
    return pl.when(pl.col(own).list.len() == said).then(own).otherwise(turn)


def _letter(name: str, cuts: tuple[float, float]) -> pl.Expr:
    """The level of an utterance; a score that is undefined counts as 0."""
    if name in CONSTANT:
        return pl.lit(CONSTANT_LEVEL)
    score = pl.col(name).fill_null(0.0)
    return (
        pl.when(score < cuts[0])
        .then(pl.lit(LEVELS[0]))
        .when(score <= cuts[1])
        .then(pl.lit(LEVELS[1]))
        .otherwise(pl.lit(LEVELS[2]))
    )


def outcomes(
    rows: pl.DataFrame, order: IssueOrder, settings: TrustSettings, resampling: Resampling
) -> tuple[tuple[str, ...], Ints | None]:
    """The level of most utterances (the worse of equals), and that in each resample of dialogs.

    Returns:
        The level as a tuple of one, all three if nothing was said; levels [R], None if nothing was.
    """
    found = rows.filter(pl.col("key").str.starts_with(PATTERN))
    if found.is_empty():
        return LEVELS, None
    table = found.pivot(on="key", index="cluster", values="n", aggregate_function="sum").fill_null(0)
    patterns = [name.removeprefix(PATTERN) for name in table.columns if name != "cluster"]
    at = [settings.names.index(name) for name in order.issues]
    levels = np.array([[LEVELS.index(one[place]) for place in at] for one in patterns], dtype=np.int64)
    middle = (2 * levels + 1) / 6
    results = levels_of(order, levels, middle, settings.combining, middle)
    counts = table.drop("cluster").to_numpy().astype(np.int64)
    by_level = np.stack([counts[:, results == level].sum(axis=1) for level in range(len(LEVELS))], axis=1)
    dialogs = table["cluster"].to_list()
    level = int(_most(by_level.sum(axis=0)[None, :])[0])
    drawn = _most(resampling.weights(dialogs) @ by_level)
    if (by_level.sum(axis=0) > 0).sum() == 1:
        drawn = cap_levels(drawn, level, resampling.units(dialogs))
    return (LEVELS[level],), drawn


def _most(counts: Ints) -> Ints:
    """The level with the largest count in each row, the worse of equals."""
    return np.asarray(len(LEVELS) - 1 - counts[:, ::-1].argmax(axis=1), dtype=np.int64)
