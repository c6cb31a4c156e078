"""Columns that a table of sentences lacks, made from those it has: valence, classes, texts, frames."""

from __future__ import annotations

import re
from collections.abc import Mapping

import polars as pl

from trustgauge.data.emotions import NA, valences

CONFOUNDED = (2, 4)  # groups whose column Emotion holds the valence, not the word

EMOTIONS: Mapping[str, str] = {
    "joy": "positive",
    "anger": "negative",
    "fear": "negative",
    "sadness": "negative",
}
"""Valence of the emotions of the Equity Evaluation Corpus."""
WORDS: Mapping[str, str] = {"1": "grim", "2": "happy", "3": "depressing", "4": "glad"}
"""What `Emotion` codes in the released scores of Groups 1 and 3 (causal 2.1)."""
VALENCES: Mapping[str, str] = {"0": "negative", "1": "positive"}
"""What it codes in those of Groups 2 and 4."""
SET_NAME = re.compile(r"(?:^|_)(e[1-5])(?=_|$)")
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


def normalise_released_table(table: pl.DataFrame, group: int | None) -> pl.DataFrame:
    """A released score file (Gender, Race, Emotion, Sentiment) with columns for the other roles added.

    Names are taken without regard to case. Sentences and persons are not in these files, but their rows
    stand in one order in every class: the nth row of a class is the nth row of another with other persons.
    So `frame` numbers them; rows of nobody's gender and race have frames of their own. A table that has the
    column `frame` already is returned as it is.

    Args:
        table: all text.
        group: of generated data (1 to 4), which tells whether `Emotion` is a word or a valence.
    """
    alias = {name.strip().lower(): name for name in table.columns}
    wanted = {"gender": "gender", "race": "race", "sentences": "text", "sentence": "text"}
    if "emotion" not in alias or "frame" in table.columns or group is None:
        return table
    table = table.with_columns(
        pl.col(alias[name]).alias(role)
        for name, role in wanted.items()
        if name in alias and role not in table.columns
    )
    whole = pl.col(alias["emotion"]).str.strip_chars().str.replace(r"\.0+$", "")
    codes = VALENCES if group in CONFOUNDED else WORDS
    word = whole.replace(dict(codes)).alias("word")
    own = [name for name in ("gender", "race") if name in table.columns]
    unnamed = [pl.col(name).str.replace(r"\.0+$", "").is_in(["0", ""]) for name in own]
    nobody = pl.all_horizontal(unnamed) if unnamed else pl.lit(value=False)
    within = own if group in CONFOUNDED else [*own, alias["emotion"]]
    number = (pl.int_range(1, pl.len() + 1).over(within)).cast(pl.String)
    frame = pl.when(nobody).then(pl.format("row {} of nobody", number)).otherwise(pl.format("row {}", number))
    told = table.with_columns(word, frame.alias("frame"))
    return told.with_columns(valence=whole) if group in CONFOUNDED else told


def classes(gender: pl.Series, race: pl.Series) -> pl.Series:
    """The class of each row, which stands for the person where none is named: "European female"."""
    return (
        pl.DataFrame({"gender": gender, "race": race})
        .select(class_of(pl.col("gender"), pl.col("race")))
        .to_series()
    )


def class_of(gender: pl.Expr, race: pl.Expr) -> pl.Expr:
    """The class of a row as an expression."""
    return pl.when(race == NA).then(gender).when(gender == NA).then(race).otherwise(race + " " + gender)


def compose_texts(frames: pl.Series, persons: pl.Series, words: pl.Series) -> pl.Series:
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


def derive_frames(texts: pl.Series, persons: pl.Series, words: pl.Series) -> pl.Series:
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
