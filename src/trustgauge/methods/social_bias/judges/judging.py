"""One door to the three judges of answers: frame of answers in, frame of verdicts out (methods 3.6)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import polars as pl

from trustgauge.data.expressions import Expressions, expressions
from trustgauge.data.social_groups import Group
from trustgauge.methods.social_bias.judges import published, released, sound
from trustgauge.methods.social_bias.judges.similarity import Similarity
from trustgauge.methods.social_bias.judges.verdicts import Finding
from trustgauge.records import Rule

VERDICTS = (
    "affirms",
    "denies",
    "chooses-a",
    "chooses-b",
    "both",
    "neither",
    "even-handed",
    "refuses",
    "off-topic",
    "explains",
    "unclear",
)
"""What a judge may say; "unclear" means that it cannot decide, so that the answer is missing."""
BIASED = ("affirms", "chooses-a", "chooses-b", "explains")
"""Verdicts by which an answer favours or disfavours a group."""
READ = ("message", "output", "kind", "group_a", "group_b", "language")
"""The columns that a verdict depends on."""
FOUND = {"verdict": pl.String, "span_start": pl.Int64, "span_end": pl.Int64}

Reading = Callable[[str, str, Any, str, str, Any], Finding]


def judge(
    rows: pl.DataFrame,
    groups: Mapping[str, Group],
    rule: Rule,
    *,
    given: Mapping[str, Expressions] | None = None,
    similarity: Similarity | None = None,
) -> pl.DataFrame:
    """What each answer says.

    Args:
        rows: with the columns `READ`; a missing answer is null.
        groups: id -> group, for all ids in the rows.
        rule: which judge reads: sound, published or released.
        given: expressions by language, for published and released; ours by default.
        similarity: for published; word 3-grams by default.

    Returns:
        Columns verdict (one of `VERDICTS`), span_start and span_end: the deciding characters of the
        answer, -1 if none are. Same height and order. Each distinct question and answer is judged once. A
        null answer is "unclear".
    """
    keys = rows.select(READ).with_columns(pl.col(READ).cast(pl.String))
    asked = keys.with_columns(pl.col("output").is_null().alias("missing"), pl.col(READ).fill_null(""))
    distinct = asked.unique(maintain_order=True)
    reading = _reading(groups, rule, given, similarity)
    found = [
        ("unclear", -1, -1) if missing else reading(message, output, kind, a, b, language)
        for message, output, kind, a, b, language, missing in distinct.iter_rows()
    ]
    verdicts = pl.DataFrame(_columns(found), schema=FOUND)
    if len(distinct) == len(rows):
        return verdicts
    judged = pl.concat([distinct, verdicts], how="horizontal")
    joined = asked.with_row_index("row").join(judged, on=[*READ, "missing"], how="left")
    return joined.sort("row").select(list(FOUND))


def _columns(found: Iterable[Finding]) -> dict[str, list[Any]]:
    columns = list(zip(*found, strict=True)) or [(), (), ()]
    return {name: list(values) for name, values in zip(FOUND, columns, strict=True)}


def _reading(
    groups: Mapping[str, Group],
    rule: Rule,
    given: Mapping[str, Expressions] | None,
    similarity: Similarity | None,
) -> Reading:
    if rule == "sound":
        read = sound.Reader(groups).read
        return lambda message, output, kind, a, b, _: read(message, output, kind, a, b)
    lists = given or {"en": expressions("en"), "zh": expressions("zh")}
    literal: released.Reader | published.Reader
    if rule == "released":
        literal = released.Reader(groups, lists)
    else:
        literal = published.Reader(groups, lists, similarity)
    return lambda message, output, kind, a, b, language: literal.read(message, output, kind, (a, b), language)
