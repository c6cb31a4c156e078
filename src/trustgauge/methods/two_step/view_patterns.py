"""What became of the mentions in each kind of sentence, by the patterns that the texts were made of.

A service may change one kind only, such as "her" before a noun, which shares of all mentions do not show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trustgauge.reports import numbers, sentences
from trustgauge.reports.components import (
    Cell,
    Evidence,
    Facet,
    Fold,
    Head,
    Piece,
    Table,
    Title,
    Value,
    marks,
    read_messages,
)
from trustgauge.reports.sanitize import short, visible

if TYPE_CHECKING:
    import polars as pl

    from trustgauge.reports.document_model import RatingEntry

NOTES = read_messages(__package__).table("notes")
TITLE = "By kind of sentence"
EXAMPLE = 90  # characters of a text
FEW = 12  # rows of a table that needs no folding
KEYS = ["service", "part", "pattern"]


def facets(rows: pl.DataFrame) -> list[Facet]:
    """The patterns as a filter of the evidence; none where there is one only."""
    if "pattern" not in rows.columns:
        return []
    names = rows["pattern"].drop_nulls().unique(maintain_order=True).to_list()
    places = {name: place for place, name in enumerate(names)}
    values = [Value(name, sentences.name(name)) for name in names]
    return [Facet("pattern", ["pattern"], values, places)] if len(names) > 1 else []


def tables(ratings: Sequence[RatingEntry], rows: pl.DataFrame, shown: Evidence) -> list[Piece]:
    """A table of the patterns of each part, most changed first; none where there is one pattern only.

    Args:
        ratings: of this method.
        rows: the evidence, or a sample of it.
        shown: what of it is on the page, with its filters.
    """
    if not facets(rows):
        return []
    parts = [(one, part) for one in ratings for part in one["parts"]]
    several = len(ratings) > 1, len(parts) > len(ratings)
    counted = _count(rows).partition_by("service", "part", as_dict=True)
    found = [
        (row, [sentences.name(one["service"]["name"])] * several[0] + [sentences.title(part)] * several[1])
        for one, part in parts
        for row in counted.get((one["service"]["key"], part["key"]), rows.clear()).iter_rows(named=True)
    ]
    if not found:
        return []
    heads = [Head("For example"), *[Head("Service")] * several[0], *[Head("Part")] * several[1]]
    heads += [Head("Mentions", number=True), Head("Unchanged", number=True), Head("Most frequent change")]
    places = [",".join(marks(shown.facets, {"pattern": row["pattern"]})) for row, _ in found]
    table = Table(TITLE, heads, [_line(*one) for one in found], marks=places if shown.facets else ())
    title = Title(TITLE, NOTES["patterns"] + NOTES["patterns-sample"] * ("of_rows" in rows.columns))
    return [title, Fold(f"{len(found)} kinds of sentences", [table]) if len(found) > FEW else table]


def _line(row: Mapping[str, Any], names: Sequence[str]) -> list[Cell]:
    change = numbers.NONE
    if row["was"] is not None:
        was, became = (sentences.name(row[name]) for name in ("was", "became"))
        change = f"{was} → {became}: {numbers.count(row['times'])} of {numbers.count(row['of'])}"
    n = row["n"]
    cells = (
        short(visible(row["text"]), EXAMPLE),
        *names,
        numbers.count(n),
        numbers.percent(row["same"] / n, n),
    )
    return [*map(Cell, cells), Cell(change)]


def _count(rows: pl.DataFrame) -> pl.DataFrame:
    """The patterns of each part, most changed first, with the change that befalls most mentions of a value.

    Columns: `KEYS`, n (mentions that were read), same (came back as sent), was and became (null if nothing
    changed), times, of (how often that value was sent), text (the shortest of these).
    """
    import polars as pl

    became = pl.col("values_out").list.head(pl.col("values_in").list.len())
    mentions = (
        rows.filter(pl.col("pattern").is_not_null(), pl.col("values_out").is_not_null())
        .select(*KEYS, "sent", was="values_in", became=became)
        .filter(pl.col("was").list.len() == pl.col("became").list.len())
        .explode("was", "became")
        .drop_nulls("became")
    )
    shortest = pl.col("sent").sort_by(pl.col("sent").str.len_chars(), pl.col("sent")).first()
    pairs = mentions.group_by(*KEYS, "was", "became").agg(times=pl.len(), text=shortest)
    pairs = pairs.with_columns(of=pl.col("times").sum().over(*KEYS, "was"))
    changes = pairs.filter(pl.col("was") != pl.col("became")).sort(
        pl.col("times") / pl.col("of"), "was", "became", descending=[True, False, False]
    )
    return (
        mentions.group_by(KEYS)
        .agg(n=pl.len(), same=(pl.col("was") == pl.col("became")).sum(), any=shortest)
        .join(changes.unique(KEYS, keep="first", maintain_order=True), on=KEYS, how="left")
        .with_columns(text=pl.coalesce("text", "any"))
        .sort(pl.col("same") / pl.col("n"), "pattern")
    )
