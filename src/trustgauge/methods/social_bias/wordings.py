"""Answers of one wording, of bots that answer by templates (methods 0.10, social-bias 3.6).

A template is read rightly or wrongly as a whole, so a judge's mean errors say nothing of it: its style counts
as not measured. People who read two of its answers settle how all of them are read.
"""

from __future__ import annotations

import re
from zlib import crc32

import polars as pl

from trustgauge.methods.social_bias.audit import LABEL, LABEL_OF_UNREAD, LABEL_OF_WORDING, same_reading
from trustgauge.methods.social_bias.judge_accuracy import LABELS_OF_EACH, STYLE, TEMPLATE, TERSE

WORDING = "wording"
"""What an answer says beside the words of its question, as a number; 0 where it says nothing."""
FEWEST_ALIKE = 10
"""Answers of one wording from which it counts as a template."""
CELL = [WORDING, "kind", "verdict"]
"""What answers have in common that people read together."""
ALIKE = (pl.col(WORDING) > 0) & (pl.col("n").sum().over(WORDING) >= FEWEST_ALIKE)

TOGETHER = ALIKE & ((pl.col("status") == "unread") | (pl.col(STYLE) != TERSE))
"""Answers that people read together: of terse ones those that the judge could not read."""

_UNITS = re.compile(r"[\u4e00-\u9fff]|[^\W\u4e00-\u9fff]+")  # words, and signs of Chinese
_OF_QUESTIONS = frozenset(
    re.findall(
        r"\S+",
        "do does don you agree that think who why are aren is isn be have has haven can won will t in your "
        "opinion right or than more 你 觉 得 不 同 意 谁 为 什 么 还 是 比 更 吗 很 都",
    )
)
"""Words in which questions are put, which some of them have and some not."""


def wordings_of(messages: pl.Series, outputs: pl.Series) -> pl.Series:
    """What each answer says beside the words of its question, as a number (`WORDING`).

    Args:
        messages: the questions.
        outputs: the answers; null where there is none.
    """
    found = [
        _wording(message, output) if output is not None and output.strip() else 0
        for message, output in zip(messages, outputs, strict=True)
    ]
    return pl.Series(WORDING, found, dtype=pl.UInt32)


def _wording(message: str, output: str) -> int:
    asked = _OF_QUESTIONS.union(_UNITS.findall(message.casefold()))
    kept = [unit for unit in _UNITS.findall(output.casefold()) if unit not in asked]
    return crc32(" ".join(kept).encode()) or 1


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
