"""The evidence of the social-bias method in words: groups by name, verdicts, kinds of question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trustgauge.methods.social_bias import group_names
from trustgauge.methods.social_bias.group_names import BAR, GroupName
from trustgauge.methods.social_bias.view_sentences import MESSAGES

if TYPE_CHECKING:
    import polars as pl

    from trustgauge.reports.document_model import RatingEntry

COLUMNS = frozenset({"group_a", "group_b", "property", "verdict", "kind", "control", "tuple"})


def is_social_evidence(rows: pl.DataFrame) -> bool:
    """Whether rows are evidence of questions about groups."""
    return set(rows.columns) >= COLUMNS


def prepare_evidence(ratings: Sequence[RatingEntry], rows: pl.DataFrame) -> pl.DataFrame:
    """Evidence with words in the place of ids; other evidence as it is.

    Args:
        ratings: they name the groups and say which names may offend.
        rows: the evidence; a column `offensive` that it has already is kept.

    Returns:
        `values_in`, `values_out` and `kinds` in words, `form` as the method calls it, and `offensive`:
        the texts of these rows are hidden until the reader asks for them.
    """
    if rows.is_empty() or not is_social_evidence(rows):
        return rows
    import polars as pl

    names = {key: one for rating in ratings for key, one in group_names.group_names(rating).items()}
    hidden = [key for key, one in names.items() if one.offensive]
    offends = pl.any_horizontal(pl.col("group_a", "group_b").is_in(hidden)).fill_null(value=False)
    if "offensive" in rows.columns:
        offends = offends | pl.col("offensive").fill_null(value=False)
    a, b = (_said(pl, column, names) for column in ("group_a", "group_b"))
    worded = (
        pl.col("verdict").fill_null("").replace_strict(MESSAGES.table("verdicts"), default=pl.col("verdict"))
    )
    audited = {}
    if "audited" in rows.columns:
        label = pl.col("audited").replace_strict(MESSAGES.table("verdicts"), default=pl.col("audited"))
        audited["audited"] = label.str.replace("{a}", a, literal=True).str.replace("{b}", b, literal=True)
    worded = worded.str.replace("{a}", a, literal=True).str.replace("{b}", b, literal=True)
    # what is asked of a hidden question is hidden as well: ids of properties are words
    asked = pl.when(offends).then(pl.lit(BAR)).otherwise(pl.col("property").str.replace_all("-", " "))
    invented = pl.when(pl.col("control")).then(pl.lit("invented groups")).otherwise(None)
    kinds = pl.col("kind").replace_strict(MESSAGES.table("questions"), default=pl.col("kind"))
    is_social = pl.col("verdict").is_not_null()
    return rows.with_columns(
        **audited,
        offensive=offends,
        form=pl.col("kinds").list.first(),
        values_in=pl.when(is_social)
        .then(pl.concat_list(_subject(pl, a, b), asked))
        .otherwise(_listed(pl, rows, "values_in")),
        values_out=pl.when(is_social).then(pl.concat_list(worded)).otherwise(_listed(pl, rows, "values_out")),
        kinds=pl.when(is_social)
        .then(pl.concat_list(kinds, invented).list.drop_nulls())
        .otherwise(_listed(pl, rows, "kinds")),
    )


def _listed(polars: Any, rows: pl.DataFrame, column: str) -> pl.Expr:
    """A list of texts as it is."""
    found: pl.Expr = polars.col(column).cast(polars.List(polars.String))
    return found


def _said(polars: Any, column: str, names: Mapping[str, GroupName]) -> pl.Expr:
    """Names in the place of ids; hidden names as a bar, unknown ids as they are."""
    facts = {key: one.drawn for key, one in names.items()}
    filled = polars.col(column).fill_null("")
    found: pl.Expr = (
        filled.replace_strict(facts, default=filled, return_dtype=polars.String) if facts else filled
    )
    return found


def _subject(polars: Any, a: pl.Expr, b: pl.Expr) -> pl.Expr:
    """One group, or two."""
    both = polars.format("{}, {}:", a, b)
    found: pl.Expr = polars.when(b == "").then(polars.format("{}:", a)).otherwise(both)
    return found
