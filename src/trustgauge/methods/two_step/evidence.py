"""What a report shows of every text sent and received."""

from __future__ import annotations

import polars as pl


def evidence(marks: pl.DataFrame, values: tuple[str, ...]) -> pl.DataFrame:
    """The columns of an evidence table, one row a response.

    Args:
        marks: the frame that `score.score_answers` returns.
        values: names of the attribute's values, in the order of their numbers.
    """
    names = dict(enumerate(values))

    def named(column: str) -> pl.Expr:
        inner = pl.element().replace_strict(names, default=None, return_dtype=pl.String)
        return pl.col(column).list.eval(inner)

    unread = pl.col("read").list.eval(pl.element() < 0)
    seen = pl.when(unread.list.any()).then("values").otherwise("read")
    return marks.select(
        "service",
        "part",
        "id",
        "block",
        sent="message",
        trail="trail",
        back="output",
        status="status",
        values_in=named("values"),
        values_out=named("read"),
        kinds="kinds",
        changed=pl.col("read").is_not_null() & (pl.col("values") != seen),
    )
