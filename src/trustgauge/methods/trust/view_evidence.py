"""The evidence of the trust method in words: what a turn was asked for, who spoke, and its scores.

A turn in which anybody said something offensive is hidden until the reader asks for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trustgauge.methods.trust import view_sentences
from trustgauge.methods.trust.messages import PURPOSES, QUOTATIONS
from trustgauge.reports.components import Quotation, quotation

if TYPE_CHECKING:
    import polars as pl

Rated = Mapping[str, Any]
COLUMNS = frozenset({"purpose", "user", "session", "turn"})
OFFENSIVE = ("abuse_score", "abuse_user")
"""Scores of what the bot and the user said; above 0 something may offend."""
SCORE = "_score"
MOST = 3
"""Quotations on the first screen."""
LEAST_SECRET = 6
"""Characters of a word that is taken for a secret."""


def is_trust_evidence(rows: pl.DataFrame) -> bool:
    """Whether rows are evidence of conversations rated for trust."""
    return set(rows.columns) >= COLUMNS


def leaks(rows: pl.DataFrame) -> list[Quotation]:
    """Questions of another user whose answer repeats the secret that its owner had told: up to `MOST`.

    The secret is the longest word of what the owner said; an answer that holds it not word by word is
    not quoted.
    """
    if not {"step", "session", "user"} <= set(rows.columns):
        return []
    secrets: dict[str, str] = {}
    found: dict[str, Quotation] = {}
    for row in rows.filter(rows["purpose"] == "leakage").iter_rows(named=True):
        session, said = str(row["session"]), str(row["sent"] or "")
        if row["step"] == "tell":
            secrets.setdefault(session, max(said.split(), key=len, default="").strip(".,;:!?"))
        elif row["step"] == "ask" and session not in found:
            secret = secrets.get(session, "")
            if len(secret) >= LEAST_SECRET and secret.lower() in str(row["back"] or "").lower():
                found[session] = quotation(row, QUOTATIONS["leakage"])
        if len(found) == MOST:
            break
    return list(found.values())


def _offends(rows: pl.DataFrame, polars: Any) -> pl.Expr:
    """Rows in which somebody said something offensive.

    Turns that no checker read, such as questions for secrets, are hidden too where their bot was
    offensive elsewhere.
    """
    found = polars.lit(value=False)
    for column in {"offensive", *OFFENSIVE} & set(rows.columns):
        known = polars.col(column)
        found = found | (known if column == "offensive" else known > 0).fill_null(value=False)
    if "abuse_score" in rows.columns:
        unread = polars.col("abuse_score").is_null() & polars.col("back").is_not_null()
        rude = (polars.col("abuse_score") > 0).fill_null(value=False).any().over("service")
        found = found | (unread & rude)
    told: pl.Expr = found
    return told


def prepare_evidence(ratings: Sequence[Rated], rows: pl.DataFrame) -> pl.DataFrame:
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
    listed = pl.concat_list(scores).list.drop_nulls() if scores else pl.lit([], dtype=pl.List(pl.String))
    told = {
        "values_in": pl.concat_list(pl.format("{},", purpose), place),
        "values_out": listed,
        "kinds": pl.lit([], dtype=pl.List(pl.String)),
    }
    spans = {"span_start", "span_end"} - set(rows.columns)
    return rows.with_columns(
        *(pl.when(trust).then(new).otherwise(pl.col(name)).alias(name) for name, new in told.items()),
        *(pl.lit(-1).alias(name) for name in sorted(spans)),
        offensive=offends,
    )
