"""The evidence of the trust method in words: what a turn was asked for, who spoke, and its scores.

A turn in which anybody said something offensive is hidden until the reader asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from trustgauge.methods.trust import view_sentences
from trustgauge.methods.trust.abuse_words import HATE, NEITHER
from trustgauge.methods.trust.abuse_words import OFFENSIVE as OFFENCE
from trustgauge.methods.trust.messages import PURPOSES, QUOTATIONS
from trustgauge.reports.components import Quotation, quotation
from trustgauge.reports.instrument import AUDITED

if TYPE_CHECKING:
    import polars as pl

    from trustgauge.reports.document_model import RatingEntry

Facts = Mapping[str, Any]
COLUMNS = frozenset({"purpose", "user", "session", "turn"})
OFFENSIVE = ("abuse_score", "abuse_user")
"""Scores of what the bot and the user said; above 0 something may offend."""
SCORE = "_score"


def is_trust_evidence(rows: pl.DataFrame) -> bool:
    """Whether rows are evidence of conversations rated for trust."""
    return set(rows.columns) >= COLUMNS


def leaks(rows: pl.DataFrame) -> Iterator[Quotation]:
    """Answers that tell somebody else the secret of their scene, as the method found; one a secret."""
    if "leakage_told" not in rows.columns:
        return
    found = rows.filter(rows["leakage_told"] & (rows["step"] == "ask"))
    for row in found.unique("leakage_about", keep="first", maintain_order=True).iter_rows(named=True):
        yield quotation(row, QUOTATIONS["leakage"])


def offences(rows: pl.DataFrame) -> Iterator[Quotation]:
    """Answers labelled as abuse, then those that the checker took for it, the worst first, each once."""
    if "abuse_score" not in rows.columns:
        return
    if AUDITED in rows.columns:
        label, read = rows[AUDITED].fill_null(""), rows["abuse_score"]
        worth = label.replace_strict({HATE: 2.0, OFFENCE: 1.5, NEITHER: 0.0}, default=None)
        rows = rows.with_columns(abuse_score=worth.cast(read.dtype).fill_null(read))
    found = rows.filter(rows["abuse_score"] > 0).sort("abuse_score", descending=True, maintain_order=True)
    for row in found.unique("back", keep="first", maintain_order=True).iter_rows(named=True):
        quoted = quotation({**row, "offensive": True}, QUOTATIONS["abuse"])
        yield replace(quoted, sent=replace(quoted.sent, offensive=bool(row.get("abuse_user"))))


def _offends(rows: pl.DataFrame, polars: Any) -> pl.Expr:
    """Rows in which somebody said something offensive.

    Turns that no checker read, such as questions for secrets, are hidden too where their bot was
    offensive elsewhere.
    """
    found = polars.lit(value=False)
    for column in {"offensive", *OFFENSIVE} & set(rows.columns):
        known = polars.col(column)
        found = found | (known if column == "offensive" else known > 0).fill_null(value=False)
    if AUDITED in rows.columns:
        found = found | polars.col(AUDITED).is_in([HATE, OFFENCE]).fill_null(value=False)
    if "abuse_score" in rows.columns:
        unread = polars.col("abuse_score").is_null() & polars.col("back").is_not_null()
        rude = (polars.col("abuse_score") > 0).fill_null(value=False).any().over("service")
        found = found | (unread & rude)
    told: pl.Expr = found
    return told


def prepare_evidence(ratings: Sequence[RatingEntry], rows: pl.DataFrame) -> pl.DataFrame:
    """Evidence with words in the place of keys; other evidence as it is.

    Args:
        ratings: of the document.
        rows: the evidence; a column `offensive` that it has already is kept.

    Returns:
        `values_in` (what for, which conversation and turn), `values_out` (the score of each issue),
        `offensive`, and no words marked as changed: an answer is no copy of a question.
    """
    if rows.is_empty() or not is_trust_evidence(rows):
        return rows
    import polars as pl

    trust = pl.col("purpose").is_not_null()
    offends = _offends(rows, pl)
    purpose = pl.col("purpose").replace_strict(PURPOSES, default=pl.col("purpose"))
    place = pl.format("turn {} of {}", pl.col("turn") + 1, pl.col("session"))
    scores = [
        pl.format(
            "{} {}",
            pl.lit(view_sentences.short(name.removesuffix(SCORE))),
            pl.col(name).round(4).cast(pl.String),
        )
        for name in sorted(rows.columns)
        if name.endswith(SCORE) and rows[name].dtype.is_float()
    ]
    if "leakage_bits" in rows.columns:
        told = [pl.col(name).round(1).cast(pl.String) for name in ("leakage_bits", "leakage_bits_of")]
        scores.append(pl.format("{} of {} bits of a secret", *told))
    listed = pl.concat_list(scores).list.drop_nulls() if scores else pl.lit([], dtype=pl.List(pl.String))
    shown = {
        "values_in": pl.concat_list(pl.format("{},", purpose), place),
        "values_out": listed,
        "kinds": pl.lit([], dtype=pl.List(pl.String)),
    }
    spans = {"span_start", "span_end"} - set(rows.columns)
    return rows.with_columns(
        *(pl.when(trust).then(new).otherwise(pl.col(name)).alias(name) for name, new in shown.items()),
        *(pl.lit(-1).alias(name) for name in sorted(spans)),
        offensive=offends,
    )
