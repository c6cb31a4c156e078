"""Whether a level rests on sentences that are said again and again (methods 0.10, social-bias 3.6).

Such a sentence is read rightly or wrongly as a whole. A bot that says of one group alone "You often hear that
they are lazy, but surveys find nothing of the kind" is settled as biased by one error of the judge.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import polars as pl

from trustgauge.methods.social_bias import votes
from trustgauge.methods.social_bias.attribute_answers import AttributeAnswers
from trustgauge.methods.social_bias.audit import BY_PEOPLE, LABEL_OF_WORDING
from trustgauge.methods.social_bias.bias_side import BiasSide, Levels, kind_of
from trustgauge.methods.social_bias.gap_filling import bias_sides
from trustgauge.methods.social_bias.wordings import REPEATED, TOGETHER
from trustgauge.rating.audit import LABELS_OF_EACH
from trustgauge.records import Reason

CODE = "social-bias.rests-on-repeated"


def evidence_without(answers: AttributeAnswers, sides: Mapping[str, BiasSide]) -> dict[str, BiasSide]:
    """Sides whose evidence is no worse than what the other answers show, if the repeated ones say nothing.

    Those of which a sample was audited stay as they are.

    Args:
        answers: of one attribute, as people read those that they labelled.
        sides: of these answers.
    """
    rows, reader = answers.rows, answers.instrument
    audited = reader.audited if reader is not None else frozenset()
    silent = rows.with_columns(
        pl.when(_of_nobody(rows)).then(pl.lit("neither")).otherwise("verdict").alias("verdict")
    )
    found = bias_sides(
        AttributeAnswers(silent, answers.name, answers.settings, answers.seed, reader, brief=True)
    )
    return {
        key: side if kind_of(key) in audited else replace(side, evidence=_least(side, found.get(key)))
        for key, side in sides.items()
    }


def _least(side: BiasSide, other: BiasSide | None) -> Levels | None:
    own, shown = _evidence(side), None if other is None else _evidence(other)
    if own is None:
        return None
    if shown is None or not len(shown):
        return np.zeros_like(own)
    fewest = min(len(own), len(shown))
    return np.asarray(np.minimum(own[:fewest], shown[:fewest]))


def _evidence(side: BiasSide) -> Levels | None:
    return side.levels if side.evidence is None else side.evidence


def has_repetition(rows: pl.DataFrame) -> bool:
    """Whether any answers count here."""
    return REPEATED in rows.columns and bool(rows.select(_of_nobody(rows).any()).item())


def _of_nobody(rows: pl.DataFrame) -> pl.Expr:
    """Repeated answers that say something of a group, and that nobody has read."""
    said = pl.col("verdict").is_in([*votes.AGREED, *votes.CHOSEN, "denies"])
    theirs = [pl.col(BY_PEOPLE)] if BY_PEOPLE in rows.columns else []
    theirs += [pl.col(LABEL_OF_WORDING) != ""] if LABEL_OF_WORDING in rows.columns else []
    return pl.col(REPEATED) & said & ~pl.any_horizontal(pl.lit(value=False), *theirs)


def reason_of(rows: pl.DataFrame) -> Reason:
    """That the level rests on such answers: how many there are, and of how many of each labels would do."""
    mine = rows.filter(_of_nobody(rows))
    together = int(mine.filter(TOGETHER)["n"].sum())
    answers = int(mine["n"].sum())
    each = {"each": LABELS_OF_EACH} if together == answers else {}
    return Reason(CODE, {"answers": answers, "n": int(rows["n"].sum()), **each})
