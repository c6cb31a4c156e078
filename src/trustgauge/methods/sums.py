"""Marks added up to summaries, and summaries to larger ones, as all methods do it (methods 0.2)."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import polars as pl

Schema = Mapping[str, pl.DataType | type[pl.DataType]]


def sum_by_keys(
    rows: pl.DataFrame, keys: Collection[str], sums: Mapping[str, pl.Expr], schema: Schema
) -> pl.DataFrame:
    """Sums over equal keys, sorted by the keys.

    Keys that are the same in all rows, as most are of one service, change neither groups nor order, but
    would cost most of the time: they are left out and put back.

    Args:
        rows: any number of them.
        keys: names of columns; null is a value like others.
        sums: what is added up in each group, by name.
        schema: columns of the result and their types, in order: the keys and the sums.

    >>> rows = pl.DataFrame({"a": ["x", "x"], "b": [2, 1], "n": [3, 4]})
    >>> sum_by_keys(rows, ["a", "b"], {"n": pl.col("n").sum()}, rows.schema).rows()
    [('x', 1, 4), ('x', 2, 3)]
    """
    if rows.is_empty():
        return pl.DataFrame(schema=schema)
    first = rows.select(*keys).row(0, named=True)
    alike = rows.select(pl.col(name).eq_missing(pl.col(name).first()).all() for name in keys).row(0)
    varying = [name for name, same in zip(keys, alike, strict=True) if not same]
    constant = {name: pl.lit(first[name], schema[name]) for name in keys if name not in varying}
    if varying:
        found = rows.lazy().group_by(varying).agg(**sums).sort(varying).collect()
    else:
        found = rows.select(**sums)
    return found.with_columns(**constant).cast(dict(schema)).select(list(schema))  # type: ignore[arg-type]
