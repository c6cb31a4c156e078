"""One service at two dates: which levels changed, and which texts were read otherwise, both ways."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from trustgauge.reports.comparison_model import (
        ComparisonRow,
        DateEntry,
        DifferenceEntry,
        ExampleEntry,
        PartChangeEntry,
        ReadingsEntry,
        SideEntry,
    )
    from trustgauge.reports.document_model import OverallEntry, PartEntry, RatingEntry
    from trustgauge.run.stored_ratings import StoredRating

EXAMPLES = 5  # of each direction
MOVED = 1e-9  # a score that moves by less did not move
READ = ("answered", "refused", "empty")
THEN = "_then"
TEXT = ["part", "id"]
"""Columns by which a text is known in several runs."""


def diff_ratings(
    before: StoredRating,
    after: StoredRating,
    row: Callable[[StoredRating], ComparisonRow],
    difference: DifferenceEntry | None,
) -> DateEntry:
    """What changed between two ratings of one service.

    Args:
        before: the earlier rating.
        after: the later one.
        row: makes a row of a rating.
        difference: later minus earlier badness, paired; None if the ratings cannot be paired.
    """
    same = before.inputs == after.inputs
    names = sorted({*before.settings, *after.settings})
    return {
        "service": after.rating["service"]["name"],
        "method": after.rating["method"]["name"],
        "attribute": after.rating["issue"]["attribute"],
        "before": row(before),
        "after": row(after),
        "changed": _level(before.rating["overall"]) != _level(after.rating["overall"]),
        "parts": _parts(before.rating, after.rating),
        "same_texts": same,
        "same_service": _asked(before) == _asked(after),
        "differs": [name for name in names if before.settings.get(name) != after.settings.get(name)],
        "difference": difference,
        "readings": _readings(before, after) if same else None,
    }


def _asked(one: StoredRating) -> list[str]:
    """Fingerprints of who gave the answers; in a talk, of the bot that was talked to."""
    bot = one.rating["service"].get("talked_with")
    return [bot] if bot else sorted(part.fingerprint for part in one.parts)


def _level(one: OverallEntry) -> str | None:
    return one["level"]


def _parts(before: RatingEntry, after: RatingEntry) -> list[PartChangeEntry]:
    """Levels of the parts then and now, the changed ones first."""
    then = {part["key"]: part for part in before["parts"]}
    now = {part["key"]: part for part in after["parts"]}
    found: list[PartChangeEntry] = []
    for key in dict.fromkeys([*then, *now]):
        first, second = _side(then.get(key)), _side(now.get(key))
        found.append(
            {
                "key": key,
                "title": (now.get(key) or then[key])["title"],
                "before": first,
                "after": second,
                "changed": (first and first["level"]) != (second and second["level"]),
            }
        )
    return sorted(found, key=lambda one: not one["changed"])


def _side(part: PartEntry | None) -> SideEntry | None:
    return {"level": part["level"], "state": part["state"], "score": part["score"]} if part else None


def _readings(before: StoredRating, after: StoredRating) -> ReadingsEntry:
    """The texts that were read otherwise, probe by probe (by id), with the first examples.

    Scores go up or down. Other readings come right (read now as they were sent, and not before),
    go wrong (the reverse), or change otherwise. Only texts that were read at both dates count.
    """
    then, now = (_with_offence(one.method.evidence(one.marks)) for one in (before, after))
    joined = now.join(then, on=TEXT, how="inner", suffix=THEN, maintain_order="left")
    read = joined.filter(*(_read(joined, place) for place in ("", THEN)))
    scored = "score" in then.columns and "score" in now.columns
    marked = read.with_columns(_direction(scored=scored).alias("direction"))
    flipped = marked.filter(pl.col("direction").is_not_null())
    counts = dict(flipped.group_by("direction", maintain_order=True).len().iter_rows())
    first = flipped.group_by("direction", maintain_order=True).head(EXAMPLES)
    first = first.sort(pl.col("direction").cast(pl.Enum(FIRST_SHOWN)), maintain_order=True)
    return {
        "compared": read.height,
        "unread": joined.height - read.height,
        "flipped": flipped.height,
        "identical": joined.filter(
            pl.col("status").is_in(READ),
            pl.col("back").is_not_null(),
            pl.col("back") == pl.col(f"back{THEN}"),
        ).height,
        "directions": {name: counts[name] for name in DIRECTIONS if name in counts},
        "examples": [_example(one) for one in first.iter_rows(named=True)],
    }


def _with_offence(rows: pl.DataFrame) -> pl.DataFrame:
    """Evidence that says whether a text and its answer may offend; where a method is silent none does."""
    missing = {"offensive", "offensive_answer"} - set(rows.columns)
    return rows.with_columns(pl.lit(value=False).alias(name) for name in sorted(missing))


def read_texts(one: StoredRating) -> pl.DataFrame:
    """The texts that were read, in columns `TEXT`; where a text is given a score, those that have one."""
    rows = one.method.evidence(one.marks)
    read = rows.filter(_read(rows, ""))
    return (read.drop_nulls("score") if "score" in rows.columns else read).select(TEXT)


def _read(rows: pl.DataFrame, place: str) -> pl.Expr:
    """Whether an answer was read, every mention in it."""
    read = pl.col(f"status{place}").is_in(READ)
    values = f"values_out{place}"
    if values not in rows.columns:
        return read
    return read & ~pl.col(values).list.eval(pl.element().is_null()).list.any().fill_null(value=False)


DIRECTIONS = ("up", "down", "right", "wrong", "otherwise")
FIRST_SHOWN = ("up", "down", "wrong", "right", "otherwise")


def _direction(*, scored: bool) -> pl.Expr:
    """How a reading changed; null if it did not."""
    if scored:
        step = pl.col("score") - pl.col(f"score{THEN}")
        return pl.when(step > MOVED).then(pl.lit("up")).when(step < -MOVED).then(pl.lit("down"))
    values = pl.col("values_out"), pl.col(f"values_out{THEN}")
    # Of a method that names no reading the answers themselves are compared.
    named = values[0].is_not_null() | values[1].is_not_null()
    alike = (
        pl.when(named)
        .then(values[0].eq_missing(values[1]))
        .otherwise(pl.col("back").eq_missing(pl.col(f"back{THEN}")))
    )
    same = alike & pl.col("changed").eq_missing(pl.col(f"changed{THEN}"))
    right, wrong = ~pl.col("changed"), pl.col("changed")
    then = pl.col(f"changed{THEN}")
    return (
        pl.when(same)
        .then(None)
        .when(right & then)
        .then(pl.lit("right"))
        .when(wrong & ~then)
        .then(pl.lit("wrong"))
        .otherwise(pl.lit("otherwise"))
    )


def _example(row: Mapping[str, Any]) -> ExampleEntry:
    return {
        "direction": row["direction"],
        "part": row["part"],
        "id": row["id"],
        "sent": row["sent"],
        "before": row[f"back{THEN}"],
        "after": row["back"],
        "read_before": list(row[f"values_out{THEN}"] or ()),
        "read_after": list(row["values_out"] or ()),
        "offensive": bool(row["offensive"]),
        "offensive_before": bool(row[f"offensive_answer{THEN}"]),
        "offensive_after": bool(row["offensive_answer"]),
    }
