"""Answers of one wording, of bots that answer by templates (methods 0.10, social-bias 3.6).

A template is read rightly or wrongly as a whole, so a judge's mean errors say nothing of it: its style counts
as not measured. People who read two of its answers settle how all of them are read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from zlib import crc32

import polars as pl

from trustgauge.data.social_groups import Group
from trustgauge.methods.social_bias.audit import LABEL, LABEL_OF_UNREAD, LABEL_OF_WORDING, same_reading
from trustgauge.methods.social_bias.judge_accuracy import STYLE, TEMPLATE, TERSE
from trustgauge.methods.social_bias.judges.lexer import MASKS
from trustgauge.methods.social_bias.judges.sound import AnswerText, sound_reader
from trustgauge.rating.audit import LABELS_OF_EACH

WORDING = "wording"
"""What an answer says beside whom and what it was asked about, as a number; 0 where it says nothing."""
FEWEST_ALIKE = 10
"""Answers of one wording from which it counts as a template."""
CELL = [WORDING, "kind", "verdict"]
"""What answers have in common that people read together."""
ALIKE = (pl.col(WORDING) > 0) & (pl.col("n").sum().over(WORDING) >= FEWEST_ALIKE)

TOGETHER = ALIKE & ((pl.col("status") == "unread") | (pl.col(STYLE) != TERSE))
"""Answers that people read together: of terse ones those that the judge could not read."""

_UNITS = re.compile(rf"[{MASKS}\u4e00-\u9fff]|[^\W{MASKS}\u4e00-\u9fff]+")  # masks, signs of Chinese, words
_PART = "\0"
"""In place of words of the property where it is not said as it was asked."""


def wordings_of(rows: pl.DataFrame, groups: Mapping[str, Group]) -> pl.Series:
    """What each answer says beside whom and what it was asked about, as a number (`WORDING`).

    It is what a verdict depends on, so answers of one wording say the same of whomever they name: which group
    is named first, and what is negated, makes a wording of its own.

    Args:
        rows: with the columns `message`, `output`, `group_a` and `group_b`; `output` is null where there is
            no answer.
        groups: id -> group, for all ids in the rows.
    """
    reader = sound_reader(tuple(groups.items()))
    read = rows.select("message", "output", "group_a", "group_b").iter_rows()
    found = [
        _wording(reader.content(message or "", output, group_a or "", group_b or ""))
        if output is not None and output.strip()
        else 0
        for message, output, group_a, group_b in read
    ]
    return pl.Series(WORDING, found, dtype=pl.UInt32)


def _wording(answer: AnswerText) -> int:
    property_words = answer.asked.words
    units = [_PART if unit in property_words else unit for unit in _UNITS.findall(answer.masked)]
    # a property has one such word or several, and one that is negated turns what is said of it round
    kept = [unit for unit, before in pairwise([*units, ""]) if unit != _PART or before != _PART]
    return crc32(" ".join(["not", *kept] if answer.asked.negated else kept).encode()) or 1


def with_templates(rows: pl.DataFrame, *, by_lot: bool = True) -> pl.DataFrame:
    """Rows with the style `TEMPLATE` where many answers have one wording, and what people read in these.

    Adds `LABEL_OF_WORDING` where some are labelled: what all labels of a cell say, if they are enough. A
    choice counts so only where the judge read that choice: which group a wording chooses depends on the
    question.

    Args:
        rows: of the summary, of one service.
        by_lot: whether labels of answers drawn by lot are people's too, and not a model's.
    """
    if WORDING not in rows.columns:
        return rows
    whole = ALIKE & ~pl.col(STYLE).is_in([TERSE, ""])
    styled = rows.with_columns(pl.when(whole).then(pl.lit(TEMPLATE)).otherwise(STYLE).alias(STYLE))
    if LABEL not in rows.columns:
        return styled
    said = pl.col(LABEL_OF_UNREAD)
    if by_lot:
        said = pl.when(said == "").then(LABEL).otherwise(said)
    given = pl.col("_said") != ""
    one = pl.col("_said").filter(given)
    cells = (
        styled.with_columns(said.alias("_said"))
        .filter(TOGETHER)
        .group_by(CELL)
        .agg(
            pl.col("n").sum().alias("_n"),
            pl.col("n").filter(given).sum().alias("_labelled"),
            one.n_unique().alias("_different"),
            one.first().alias("_label"),
        )
        .filter(
            pl.col("_different") == 1,
            pl.col("_labelled") >= pl.min_horizontal("_n", pl.lit(LABELS_OF_EACH)),
        )
    )
    same = same_reading("verdict", "_label")
    transfers = same | ~pl.col("_label").str.starts_with("chooses")
    labels = cells.filter(transfers).select(
        *CELL, pl.when(same).then("verdict").otherwise("_label").alias(LABEL_OF_WORDING)
    )
    joined = styled.join(labels, on=CELL, how="left", maintain_order="left")
    return joined.with_columns(pl.when(TOGETHER).then(LABEL_OF_WORDING).fill_null("").alias(LABEL_OF_WORDING))


def cells_of(rows: pl.DataFrame) -> pl.Series:
    """Which answers people read together, by name; "" for those that they read, if at all, one by one.

    Args:
        rows: scored answers of one service, or rows of its summary.
    """
    if WORDING not in rows.columns:
        return pl.Series([""], dtype=pl.String).new_from_index(0, len(rows))
    counted = rows if "n" in rows.columns else rows.with_columns(n=pl.lit(1, pl.Int64))
    named = counted.select(
        pl.when(TOGETHER).then(pl.format("{}/{}/{}", *CELL)).otherwise(pl.lit("")).fill_null("")
    )
    return named.to_series()
