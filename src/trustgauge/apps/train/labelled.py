"""Labelled tables: texts with a number or a word that people gave them, as scores from -1 to 1."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from trustgauge.data.archives import members
from trustgauge.data.tables import (
    SUFFIXES,
    content_hash,
    fault,
    need_columns,
    read_bytes,
    read_parquet,
    read_table,
    rows_in_words,
    short,
)
from trustgauge.errors import PlanError

PLACE = "TABLE"
PARQUET = ".parquet"
FEWEST = 100  # labelled rows, if a kind of model does not say otherwise
HUTTO_RANGE = (-4.0, 4.0)
HUTTO_NAME = "_GroundTruth.txt"
DAVIDSON: Mapping[str, float] = {"hate_speech": 1.0, "offensive_language": 0.5, "neither": 0.0}
BIAS_RANGE = (0.0, 3.0)


@dataclass(frozen=True, slots=True)
class Columns:
    """Where a table holds what, and how its labels become scores.

    Numbers run over `span` and are mapped linearly to [-1, 1]; without it they must be scores
    already. With `labels`, words stand for scores. Rows with one value in the column `group`
    (a review, an author) are never divided between training and held-out rows.
    """

    text: str = "text"
    score: str = "score"
    group: str = ""
    span: tuple[float, float] | None = None
    labels: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TrainingTable:
    """The rows of a table.

    `rows` has the columns `text`, `score` (in [-1, 1]), `group` and `source` (the file of an
    archive, else ""); `content` is the BLAKE2b hash of the file; `left_out` counts rows without
    text or label; `answers` says that the texts are answers of chatbots.
    """

    rows: pl.DataFrame
    name: str
    content: str
    left_out: int = 0
    answers: bool = False

    def facts(self) -> dict[str, Any]:
        """What a card says of the data."""
        return {
            "file": self.name,
            "content": self.content,
            "rows": len(self.rows),
            "left_out": self.left_out,
            "groups": self.rows["group"].n_unique(),
        }


def read_label_table(table: Path, columns: Columns, fewest: int = FEWEST) -> TrainingTable:
    """Read a CSV, TSV, JSON-lines or Parquet table, in UTF-8.

    Args:
        table: the file.
        columns: where it holds what.
        fewest: labelled rows that it must have.

    Raises:
        PlanError: the file cannot be read, is not UTF-8, lacks a column, holds a label that is
            no number of the range or no known word, or has too few rows or only one label.
    """
    frame = _frame(table)
    wanted = {"--text": columns.text, "--score": columns.score}
    if columns.group:
        wanted["--group"] = columns.group
    need_columns(table, frame, wanted)
    group = pl.col(columns.group) if columns.group else pl.lit(None)
    try:
        cells = frame.select(
            pl.col(columns.text).cast(pl.String).alias("text"),
            pl.col(columns.score).cast(pl.String).str.strip_chars().alias("label"),
            group.cast(pl.String).alias("group"),
            pl.lit("").alias("source"),
        )
    except pl.exceptions.PolarsError:
        got = ", ".join(f"{short(name)} of type {frame.schema[name]}" for name in wanted.values())
        must = "columns of texts or numbers"
        raise fault(table, PLACE, "a column cannot be read", must=must, got=got) from None
    return _checked(table, cells, columns, fewest)


def read_hutto(table: Path, fewest: int = FEWEST) -> TrainingTable:
    """Read the human-rated snippets of Hutto and Gilbert (ICWSM 2014): the archive, or one file of it.

    Each `*_GroundTruth.txt` has lines of id, mean rating from -4 to 4 and text, divided by tabs,
    without a header. An id "12_3" is the third sentence of text 12: the sentences of one text
    form a group. The HTML signs of tweets ("&amp;") are turned back.
    """
    cells: dict[str, list[str | None]] = {name: [] for name in ("text", "label", "group", "source")}
    for source, content in _hutto_files(table):
        for number, line in enumerate(_decoded(table, content, source).split("\n"), 1):
            if not line.strip():
                continue
            parts = line.rstrip("\r").split("\t", 2)
            if len(parts) < 3:
                got = f"{len(parts)} in line {number} of {source}"
                raise fault(table, PLACE, "too few cells", must="id, rating and text", got=got)
            cells["text"].append(html.unescape(parts[2]))
            cells["label"].append(parts[1].strip())
            cells["group"].append(f"{source} {parts[0].partition('_')[0]}")
            cells["source"].append(source)
    frame = pl.DataFrame(cells, schema=dict.fromkeys(cells, pl.String))
    return _checked(table, frame, Columns(span=HUTTO_RANGE), fewest)


def read_hutto_bias(table: Path, fewest: int = FEWEST) -> TrainingTable:
    """Read the sentences with perceived bias of Hutto, Folds and Appling (2015): a CSV file.

    Of its columns `tID`, `text` and `avgBias` (0 to 3) are read. Where an id ends in "e" or "i", two
    wordings of one sentence stand in the table ("F7e", "F7i"): they form a group.
    """
    frame = read_table(table, PLACE)
    need_columns(table, frame, {PLACE: "tID", "--text": "text", "--score": "avgBias"})
    cells = frame.select(
        "text",
        pl.col("avgBias").str.strip_chars().alias("label"),
        pl.col("tID").str.replace("[ei]$", "").alias("group"),
        pl.lit("").alias("source"),
    )
    return _checked(table, cells, Columns(span=BIAS_RANGE), fewest)


def read_davidson(table: Path, fewest: int = FEWEST) -> TrainingTable:
    """Read the labelled tweets of Davidson, Warmsley, Macy and Weber (ICWSM 2017): a CSV file.

    Columns hate_speech, offensive_language and neither count the people who chose a class, tweet is the
    text. The class with most votes stands, as a score of 1 (hate), 0.5 (offensive) or 0; rows without
    a single such class are left out. The HTML signs of tweets ("&amp;") are turned back.
    """
    frame = read_table(table, PLACE)
    need_columns(table, frame, {"--text": "tweet"} | {f"votes, {name}": name for name in DAVIDSON})
    votes = frame.select(pl.col(*DAVIDSON).cast(pl.Int64, strict=False))
    bad = votes.with_row_index("row", 1).filter(pl.any_horizontal(pl.col(*DAVIDSON).is_null()))
    if len(bad):
        must, got = f"whole numbers in {', '.join(DAVIDSON)}", rows_in_words(bad["row"].to_list())
        raise fault(table, PLACE, "votes that are no whole number", must=must, got=got)
    most = pl.max_horizontal(*DAVIDSON)
    alone = pl.sum_horizontal(*((pl.col(name) == most).cast(pl.Int64) for name in DAVIDSON)) == 1
    worth = pl.coalesce(
        *(pl.when(pl.col(name) == most).then(pl.lit(f"{score:g}")) for name, score in DAVIDSON.items())
    )
    cells = votes.select(
        pl.Series("text", [html.unescape(text or "") for text in frame["tweet"]], pl.String),
        pl.when(alone).then(worth).otherwise(None).alias("label"),
        pl.lit(None, dtype=pl.String).alias("group"),
        pl.lit("").alias("source"),
    )
    return _checked(table, cells, Columns(), fewest)


LAYOUTS = {"davidson": read_davidson, "hutto": read_hutto, "rated-bias": read_hutto_bias}
"""Layouts of public tables; each reader needs the file alone, and how many rows are the fewest."""


def _hutto_files(table: Path) -> Iterator[tuple[str, bytes]]:
    if not table.name.lower().endswith((".tar.gz", ".tgz", ".tar")):
        yield table.name.removesuffix(HUTTO_NAME), read_bytes(table, PLACE)
        return
    found = False
    for name, content in members(table, PLACE, HUTTO_NAME):
        found = True
        yield name.removesuffix(HUTTO_NAME), content
    if not found:
        raise fault(table, PLACE, "no rated file in the archive", must=f"one named *{HUTTO_NAME}")


def _checked(table: Path, frame: pl.DataFrame, columns: Columns, fewest: int) -> TrainingTable:
    """The rows with their labels as scores; every label is checked."""
    whole = frame.with_row_index("row", 1).filter(
        pl.col("text").str.strip_chars().fill_null("").ne("") & pl.col("label").fill_null("").ne("")
    )
    scored = whole.with_columns(_scores(whole, columns).alias("score"))
    bad = scored.filter(pl.col("score").is_null())
    if len(bad):
        row, label = bad["row"][0], bad["label"][0]
        more = f", and {len(bad) - 1} more" if len(bad) > 1 else ""
        raise _bad_label(table, columns, f"{short(label)} in row {row}{more}")
    if len(scored) < fewest:
        got = f"{len(scored)} (and {len(frame) - len(scored)} without text or label)"
        raise fault(table, PLACE, "too few labelled rows", must=f"at least {fewest}", got=got)
    if scored["score"].n_unique() < 2:
        raise fault(table, PLACE, "all labels are equal", must="at least two different labels")
    rows = scored.select(
        "text",
        "score",
        pl.col("group").fill_null(pl.format("row {}", "row")).alias("group"),
        "source",
    )
    return TrainingTable(rows, table.name, content_hash(table), len(frame) - len(rows))


def _scores(frame: pl.DataFrame, columns: Columns) -> pl.Series:
    """Labels as scores; null where a label has none."""
    if columns.labels:
        return frame["label"].replace_strict(dict(columns.labels), default=None, return_dtype=pl.Float64)
    low, high = columns.span or (-1.0, 1.0)
    number = pl.col("label").cast(pl.Float64, strict=False)
    inside = number.is_finite() & number.is_between(low, high)
    return frame.select(
        pl.when(inside).then((number - low) / (high - low) * 2 - 1).otherwise(None).alias("score")
    )["score"]


def _bad_label(table: Path, columns: Columns, got: str) -> PlanError:
    if columns.labels:
        must = "one of: " + ", ".join(short(word) for word in columns.labels)
        return fault(table, "--label", "unknown label", must=must, got=got)
    low, high = columns.span or (-1.0, 1.0)
    must = f"a number from {low:g} to {high:g}"
    do = "Give the scale of the numbers as --range LOW:HIGH, or the score of each word as --label WORD=SCORE"
    return fault(table, PLACE, "a label is no number of the scale", must=must, got=got, do=do)


def _frame(table: Path) -> pl.DataFrame:
    """The table as columns; cells of text files stay text."""
    suffix = table.suffix.lower()
    if suffix not in (*SUFFIXES, PARQUET):
        must = f"a name that ends in {', '.join((*SUFFIXES, PARQUET))}"
        do = f"For a public table without a header give --layout: {', '.join(LAYOUTS)}"
        raise fault(table, PLACE, "the kind of table is not known by its name", must=must, do=do)
    if suffix != PARQUET:
        return read_table(table, PLACE)
    return read_parquet(table, PLACE)


def _decoded(table: Path, data: bytes, source: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        got = f"an unreadable byte in line {line} of {source}"
        raise fault(table, PLACE, "the file is not UTF-8", must="UTF-8 text", got=got) from None


def check_span(span: tuple[float, float]) -> tuple[float, float]:
    """The scale itself; raises ValueError unless both ends are finite and the first is the smaller."""
    if not (math.isfinite(span[0]) and math.isfinite(span[1]) and span[0] < span[1]):
        raise ValueError("must be two finite numbers, the smaller first")
    return span
