"""Columns that a table of sentences lacks, made from those it has: valence, classes, texts, frames."""

from __future__ import annotations

import re
from collections.abc import Mapping

import polars as pl

from trustgauge.data.emotions import NA, valences

EMOTIONS: Mapping[str, str] = {
    "joy": "positive",
    "anger": "negative",
    "fear": "negative",
    "sadness": "negative",
}
"""Valence of the emotions of the Equity Evaluation Corpus."""
PLACEHOLDER = re.compile(r"[<{\[](?P<what>person|noun phrase|name|word|emotion)[^>}\]]*[>}\]]", re.IGNORECASE)


def valence(told: pl.Series, words: pl.Series, emotions: pl.Series) -> pl.Series:
    """The valence told; else that of the word's emotion, or of the word in our list; else none."""
    known = pl.DataFrame({"told": told, "word": words, "emotion": emotions.str.to_lowercase()}).select(
        pl.when((pl.col("told") != "") | (pl.col("word") == ""))
        .then("told")
        .otherwise(
            pl.coalesce(
                pl.col("emotion").replace_strict(EMOTIONS, default=None, return_dtype=pl.String),
                pl.col("word").replace_strict(dict(valences()), default="", return_dtype=pl.String),
            )
        )
    )
    return known.to_series()


def classes(gender: pl.Series, race: pl.Series) -> pl.Series:
    """The class of each row, which stands for the person where none is named: "European female"."""
    return pl.select(
        pl.when(race == NA).then(gender).when(gender == NA).then(race).otherwise(race + " " + gender)
    ).to_series()


def composed(frames: pl.Series, persons: pl.Series, words: pl.Series) -> pl.Series:
    """Texts of rows that have none: sentences if the frame has places for person and word, else the parts."""
    texts = []
    for frame, person, word in zip(frames, persons, words, strict=True):
        parts = {"word": word, "emotion": word}
        text, places = PLACEHOLDER.subn(
            lambda found: parts.get(found["what"].lower(), person),  # noqa: B023 - called at once
            frame,
        )
        texts.append(text[:1].upper() + text[1:] if places else " | ".join((frame, person, word)))
    return pl.Series(texts, dtype=pl.String)


def derived(texts: pl.Series, persons: pl.Series, words: pl.Series) -> pl.Series:
    """Frames of a table without a column of them: the text without its person and its word."""
    frames = []
    for text, person, word in zip(texts, persons, words, strict=True):
        for part, place in ((person, "{person}"), (word, "{word}")):
            if part:
                text = re.sub(rf"(?<!\w){re.escape(part)}(?!\w)", place, text, count=1, flags=re.IGNORECASE)
        frames.append(text)
    return pl.Series(frames, dtype=pl.String)


def distinct_frames(rows: pl.DataFrame) -> pl.DataFrame:
    """Numbers the frames of rows that differ in their text only; rows with the same text are repeats."""
    cell = ("set", "frame", "person", "word")
    other = pl.col("text").rank("dense").over(cell).cast(pl.Int64)
    return rows.with_columns(
        pl.when(other > 1).then(pl.format("{} #{}", "frame", other)).otherwise("frame").alias("frame")
    )
