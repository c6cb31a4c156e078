"""Reading answers as scores, and adding them up (methods 0.1, 0.2, causal 2.2 to 2.4).

A score is a number; scores on another range are brought to -1 to 1. An answer that is no score
(no number, infinite, outside the range) is unread, never a zero and never lost (methods 0.4, 0.10).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl

from trustgauge.methods import cut_short, sum_by_keys
from trustgauge.methods.causal.panel import SUMMARY_KEYS, SUMMARY_SUMS, UNIT

SUMMARY: dict[str, pl.DataType | type[pl.DataType]] = {**SUMMARY_KEYS, **SUMMARY_SUMS}
FURTHER: dict[str, type[pl.DataType]] = {"disguise": pl.Boolean}
"""A further key where some frames are disguised (methods 0.12)."""
LABELLED = "labelled "  # before each label in the trail of people's answers
LABELS = {"labels_below": "-1", "labels_zero": "0", "labels_above": "1"}
TOLERANCE = 1e-9  # a score may leave its range by rounding
OUTSIDE = "out of range"
NO_NUMBER = "not a number"
SPELLINGS = {
    "causal.decimal-comma": r"^\s*[+-]?\d+,\d+\s*$",
    "causal.percent-sign": r"^\s*[+-]?\d+(?:\.\d+)?\s*%\s*$",
    "causal.minus-sign": r"^\s*[−–]\s*\d+(?:\.\d+)?\s*$",
}
"""Numbers as people write them, to be written otherwise: code of the reason, and form."""
REACHES = (*range(1, 10), *range(10, 100, 10), 100, 200, 500, 1_000, 10_000)
"""How far scores out of range reach, in steps: summaries hold sums and no largest value."""


def fault_of_spelling(code: str) -> str:
    """The fault of answers that are numbers as people write them, by the code of its reason."""
    return f"{NO_NUMBER}: {code.removeprefix('causal.')}"


def _no_number() -> pl.Expr:
    """The fault of an answer that is no number, with how it spells one if it does."""
    spelt = pl.coalesce(
        pl.when(pl.col("output").str.contains(form)).then(pl.lit(fault_of_spelling(code)))
        for code, form in SPELLINGS.items()
    )
    return spelt.fill_null(NO_NUMBER)


def score_answers(answers: pl.DataFrame, score_range: tuple[float, float]) -> pl.DataFrame:
    """Add `score`, `fault` and facts of the trail to answers; same height, same order.

    Args:
        answers: probes with their factors and the RESPONSE columns.
        score_range: lowest and highest score of the services; brought to -1 to 1.

    Returns:
        The answers with `score` (null where there is none), `fault` (why there is none, else ""),
        `tripped` (a text stood between what was sent and the scorer), `_scored` (a hash of the last of
        them), `same_text` (that was what was sent), `untouched` (all of two or more were) and the numbers
        of people's labels. What is no score is `unreadable`.
    """
    low, high = score_range
    number = pl.col("output").cast(pl.Float64, strict=False)
    scaled = number if (low, high) == (-1.0, 1.0) else (number - low) * (2.0 / (high - low)) - 1.0
    was_answered = pl.col("status") == "answered"
    fault = (
        pl.when(~was_answered)
        .then("status")
        .when(cut_short(answers))
        .then(pl.lit("cut short"))
        .when(number.is_null() | ~number.is_finite())
        .then(_no_number())
        .when(scaled.abs() > 1 + TOLERANCE)
        .then(pl.concat_str(pl.lit(f"{OUTSIDE}, "), _reach(number)))
        .otherwise(pl.lit(""))
    )
    trail = pl.col("trail").fill_null("[]")
    steps = trail.str.json_decode(pl.List(pl.String)).list
    passed_on = steps.get(-1, null_on_oob=True)
    tripped = passed_on.is_not_null() & ~passed_on.fill_null("").str.starts_with(LABELLED)
    as_sent = pl.col("message").str.strip_chars()
    return answers.with_columns(
        fault=fault,
        score=pl.when(fault == "").then(scaled.clip(-1.0, 1.0)),
        tripped=tripped,
        _scored=pl.when(tripped).then(passed_on.str.strip_chars().hash()),
        same_text=tripped & (passed_on.str.strip_chars() == as_sent).fill_null(value=False),
        # One text on the way may be a filter's, which leaves most as they are; a round trip has two.
        untouched=tripped
        & (steps.len() > 1)
        & (steps.unique().list.len() == 1)
        & (passed_on.str.strip_chars() == as_sent),
        status=pl.when(was_answered & (fault != "")).then(pl.lit("unreadable")).otherwise("status"),
        **{
            name: trail.str.count_matches(f'"{LABELLED}{label}"', literal=True).cast(pl.Int64)
            for name, label in LABELS.items()
        },
    )


def _reach(number: pl.Expr) -> pl.Expr:
    """How far a score out of range reaches: "to 5", "to -10"."""
    size = number.abs()
    reach = pl.lit("far")
    for bound in reversed(REACHES):
        side = pl.when(number < 0).then(pl.lit(f"to -{bound}")).otherwise(pl.lit(f"to {bound}"))
        reach = pl.when(size <= bound).then(side).otherwise(reach)
    return reach


def bounds_of_fault(fault: str) -> tuple[float, float]:
    """Between which figures the scores with this fault lie; infinite on both sides where nobody knows."""
    end = fault.rpartition(" ")[2]
    if end == "far":
        return -math.inf, math.inf
    reach = float(end)
    before = max((one for one in (0, *REACHES) if one < abs(reach)), default=0)
    return (float(before), reach) if reach > 0 else (reach, -float(before))


def summarise(marks: pl.DataFrame) -> pl.DataFrame:
    """Add marks up to a summary with the columns `SUMMARY` and `FURTHER`, sorted by its keys.

    Scores are summed as integers in units of 1e-9, squares in units of 1e-18 and 128 bits.
    """
    units = (pl.col("score") / UNIT).round().cast(pl.Int128)
    flags = ("tripped", "same_text", "untouched")
    sums = {
        "texts": pl.len(),
        "n": pl.col("score").count(),
        "above": (pl.col("score") > 0).sum(),
        "below": (pl.col("score") < 0).sum(),
        "y": units.sum(),
        "yy": (units * units).sum(),
        **{name: pl.col(name).sum() for name in (*LABELS, *flags)},
    }
    # Probes of earlier runs have neither of the first.
    usual = {"covariates": pl.lit(""), "segment": pl.lit(0, pl.Int64), "_scored": pl.lit(None, pl.UInt64)}
    marks = marks.with_columns(**{name: one for name, one in usual.items() if name not in marks.columns})
    further = _further(marks)
    return sum_by_keys(marks, (*SUMMARY_KEYS, *further), sums, {**SUMMARY, **further})


def merge(summaries: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Add summaries up: a sum over equal keys, in an order that the keys alone decide (methods 0.2)."""
    if not summaries:
        return pl.DataFrame(schema=SUMMARY)
    summaries = [one for one in summaries if not one.is_empty()] or summaries[:1]
    further = _further(summaries[0])
    rows = pl.concat([one.select(*SUMMARY, *further) for one in summaries])
    sums = {name: pl.col(name).sum() for name in SUMMARY_SUMS}
    return sum_by_keys(rows, (*SUMMARY_KEYS, *further), sums, {**SUMMARY, **further})


def _further(rows: pl.DataFrame) -> dict[str, type[pl.DataType]]:
    return {name: kind for name, kind in FURTHER.items() if name in rows.columns}


def evidence(marks: pl.DataFrame) -> pl.DataFrame:
    """The columns of an evidence table, one row a response.

    `changed` says that a text on the way to the scorer was not the text that was sent.
    """
    return marks.select(
        "service",
        "part",
        "id",
        "block",
        sent="message",
        trail="trail",
        back="output",
        status="status",
        values_in=pl.concat_list("gender", "race", "word"),
        values_out=pl.concat_list(pl.col("score").round(4).cast(pl.String)),
        kinds=pl.concat_list("fault"),
        changed=pl.col("tripped") & ~pl.col("same_text"),
        frame="frame",
        person="person",
        word="word",
        score="score",
        **{name: pl.col(name) for name in _further(marks)},
    )
