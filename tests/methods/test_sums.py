"""Sums over equal keys against a dictionary that adds row by row."""

from __future__ import annotations

from collections import defaultdict

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from trustgauge.methods import sum_by_keys

SCHEMA = {"a": pl.String, "b": pl.Boolean, "c": pl.Int64, "n": pl.Int64, "rows": pl.Int64}
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["x", "y", None]),
        st.sampled_from([True, False]),
        st.integers(0, 2),
        st.integers(-5, 5),
    ),
    max_size=30,
)
SUMS = {"n": pl.col("n").sum(), "rows": pl.len()}


def one_by_one(rows: list[tuple[str | None, bool, int, int]]) -> list[tuple[object, ...]]:
    found: dict[tuple[str | None, bool, int], list[int]] = defaultdict(lambda: [0, 0])
    for a, b, c, n in rows:
        found[a, b, c][0] += n
        found[a, b, c][1] += 1
    ordered = sorted(found.items(), key=lambda one: (one[0][0] is not None, one[0][0] or "", *one[0][1:]))
    return [(*keys, *each) for keys, each in ordered]


@given(ROWS)
def test_sums_are_those_of_a_dictionary(rows: list[tuple[str | None, bool, int, int]]) -> None:
    schema = {name: SCHEMA[name] for name in ("a", "b", "c", "n")}
    table = pl.DataFrame(rows, schema=schema, orient="row")
    found = sum_by_keys(table, ["a", "b", "c"], SUMS, SCHEMA)
    assert found.schema == SCHEMA
    assert found.rows() == one_by_one(rows)


def test_one_group_and_no_rows() -> None:
    table = pl.DataFrame({"a": ["x"] * 3, "b": [None] * 3, "n": [1, 2, 3]}, schema_overrides={"b": pl.String})
    schema = {"b": pl.String, "n": pl.Int64, "a": pl.String}
    assert sum_by_keys(table, ["a", "b"], {"n": pl.col("n").sum()}, schema).rows() == [(None, 6, "x")]
    assert sum_by_keys(table.clear(), ["a", "b"], {"n": pl.col("n").sum()}, schema).schema == schema
