"""What labels of unread answers may say, if they are like the answers that were read (methods 0.10 (3))."""

from __future__ import annotations

import numpy as np
import polars as pl

from trustgauge.methods.social_bias import missing_data, votes
from trustgauge.methods.social_bias.wordings import cells_of
from trustgauge.rating.audit import LABELS_OF_EACH

ALIKE = (
    ("tuple", "control", "kind", "form", "polarity", "group_a", "group_b", "_beside"),
    ("tuple", "control", "kind", "form", "polarity", "_beside"),
    ("tuple", "control", "kind", "polarity"),
    ("tuple", "control"),
)
"""What answers have in common that are taken to be alike; the first of these that enough answers have."""
FEWEST_READ = 5
"""Answers that are enough."""


def like_the_others(rows: pl.DataFrame, unread: pl.Expr, rng: np.random.Generator) -> pl.DataFrame:
    """What unread answers may be if they are like those that were read, in a random order.

    The two halves of a unit are drawn together: whom an answer takes sides for depends on what was said when
    the same was asked the other way round.

    Args:
        rows: of the summary, of one service, part and attribute.
        unread: which answers are to be labelled.
        rng: the stream of the order and of what they are.

    Returns:
        The rows, with columns `labels`, how many labels it takes in this order until an answer has one, null
        where none is asked for; `verdict_if_read`. Answers that people read together take two.
    """
    numbered = rows.with_row_index("_row").with_columns(_open=unread)
    waiting = numbered.filter("_open")
    cell = cells_of(waiting)
    alone = pl.format("{}", "_row")
    units = (
        waiting.select("_row", "n", _cell=pl.when(cell == "").then(alone).otherwise(cell), _alike=cell != "")
        .group_by("_cell", maintain_order=True)
        .agg("_row", pl.col("n").sum(), pl.col("_alike").first())
    )
    each = pl.when("_alike").then(pl.min_horizontal("n", pl.lit(LABELS_OF_EACH))).otherwise("n")
    order = units[rng.permutation(units.height)].select("_row", labels=each.cum_sum()).explode("_row")
    half = [*votes.UNIT, "tuple", pl.col("form").replace_strict(votes.PARTNERS, default="").alias("_unit")]
    said = numbered.with_columns(
        verdict_if_read=pl.when("_open" | missing_data.GONE).then(None).otherwise("verdict"),
        _turn=pl.when("_open").then(pl.col("_open").cum_sum().over(half)),
    )
    for turn in (1, None):  # the second halves of units depend on what the first ones are
        beside = pl.when(pl.len().over(half) == 2).then(pl.col("verdict_if_read").reverse().over(half))
        said = said.with_columns(_beside=beside.fill_null(""))
        now = pl.col("_turn") == turn if turn else pl.col("_turn") > 1
        said = _drawn(said, now, rng)
    return (
        said.drop("_open", "_turn", "_beside")
        .join(order, on="_row", how="left", maintain_order="left")
        .drop("_row")
    )


def _drawn(said: pl.DataFrame, now: pl.Expr, rng: np.random.Generator) -> pl.DataFrame:
    """The rows, of which these have the verdict of one that was read and is like them."""
    read = said.filter(~pl.col("_open"), pl.col("verdict_if_read").is_not_null())
    left, found = said.filter(now), []
    for place, keys in enumerate(ALIKE):
        few = FEWEST_READ if place < len(ALIKE) - 1 else 1
        known = (
            read.group_by(keys).agg(_verdicts="verdict_if_read").filter(pl.col("_verdicts").list.len() >= few)
        )
        matched = left.join(known, on=keys, how="inner", maintain_order="left")
        at = pl.Series("_at", rng.random(matched.height)) * matched["_verdicts"].list.len()
        drawn = matched.with_columns(at.cast(pl.Int64))
        found.append(drawn.select("_row", _verdict=pl.col("_verdicts").list.get(pl.col("_at"))))
        left = left.join(known, on=keys, how="anti", maintain_order="left")
    return (
        said.join(pl.concat(found), on="_row", how="left", maintain_order="left")
        .with_columns(verdict_if_read=pl.coalesce("verdict_if_read", "_verdict"))
        .drop("_verdict")
    )
