"""Answers that a second judge reads, and how often it is right (social-bias 3.6 sound, step 6; methods 0.10).

The rule judge reads every answer. What it cannot decide, or everything, is *referred* to a chat service:
what is asked of it follows from the answers, and its replies come back as a mapping from prompt to reply.
So this half is pure; the pipeline asks. Controls of known truth are never referred: the rule judge can read
what we wrote ourselves, and they cost nothing.

The judge that rates is the two together, so the two together are measured: the labelled answers that were
not used to write rules are judged in the same way in the same run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, field_validator

from trustgauge.data.social_groups import Group
from trustgauge.data.social_groups import groups as shipped_groups
from trustgauge.methods.social_bias.judge_accuracy import Accuracy, evaluation_answers
from trustgauge.methods.social_bias.judges.dispatch import BIASED, READ
from trustgauge.methods.social_bias.judges.evaluation import measure, rule_judge
from trustgauge.methods.social_bias.judges.model import ModelJudge
from trustgauge.records import digest

FEWEST = 20  # labelled answers from which anything can be said
Replies = Mapping[str, str | None]
"""Prompt -> what the judge replied; None if asking failed. What is not in it was not asked yet."""

NEVER, KEPT = "never", "kept"
STATES = (NEVER, KEPT, "settled", "unclear", "failed", "pending")
"""What became of an answer: never referred (a control); the rule judge's verdict stands; the second judge
decided; it could not; asking it failed; it was not asked yet."""


class Referral(BaseModel):
    """A second judge: a chat service of the plan, which is asked what an answer says.

    It is not rated, unless the experiment lists it too.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    use: Literal["model"] = Field(description="Kind of judge")
    service: str = Field(description="Name of a chat service of the plan")
    refer: Literal["unclear", "all"] = Field(
        "unclear", description="Answers it reads: those that the rule judge cannot decide, or all"
    )
    labelled: int = Field(
        0,
        ge=0,
        le=1_000_000,
        description="Labelled answers that the judge is measured on; 0: all that are held out",
    )

    @field_validator("labelled")
    @classmethod
    def _enough(cls, value: int) -> int:
        if 0 < value < FEWEST:
            raise ValueError(
                f"a judge is measured on {FEWEST} labelled answers at least; 0 means all held out"
            )
        return value


def pairs(referral: Referral, language: str) -> pl.DataFrame:
    """The labelled answers that the judge is measured on, in the columns of answers, with `label`.

    They are held out, in the language of the questions; biased and unbiased ones in turns, in an order
    that depends on their texts only, so that a larger number holds the smaller one.
    """
    found = _pairs(language)
    return found.head(referral.labelled) if referral.labelled else found


@lru_cache(maxsize=4)
def _pairs(language: str) -> pl.DataFrame:
    table = evaluation_answers(language)
    rows = table.rename({"question": "message", "answer": "output", "verdict": "label"}).select(
        *READ, "label"
    )
    place = [digest("labelled", list(row)) for row in rows.select("message", "output").iter_rows()]
    verdicts = rule_judge("sound", _groups())(table)["verdict"]
    return (
        rows.with_columns(
            verdicts.alias("rule_verdict"),
            pl.col("label").is_in(BIASED).alias("_biased"),
            pl.Series("_place", place),
        )
        .with_columns(pl.col("_place").rank("ordinal").over("_biased").alias("_turn"))
        .sort("_turn", "_biased", "_place")
        .drop("_biased", "_place", "_turn")
    )


@lru_cache(maxsize=1)
def _groups() -> Mapping[str, Group]:
    return {one.id: one for one in shipped_groups()}


def due(referral: Referral, rows: pl.DataFrame) -> pl.Series:
    """Which rows the second judge reads; of them `rule_verdict`, and `status` where it is known."""
    wanted = pl.col("output").fill_null("").str.strip_chars() != ""
    if referral.refer == "unclear":
        wanted = wanted & (pl.col("rule_verdict") == "unclear")
    if "status" in rows.columns:
        wanted = wanted & (pl.col("status") == "answered")
    return rows.select(wanted.fill_null(value=False).alias("due"))["due"]


def prompts(referral: Referral, rows: pl.DataFrame, groups: Mapping[str, Group]) -> list[str]:
    """What the judge is asked about rows: each distinct question and answer once, in their order."""
    distinct = rows.filter(due(referral, rows)).select(READ).unique(maintain_order=True)
    return list(dict.fromkeys(ModelJudge(referral.service).prompts(distinct, groups).to_list()))


def measuring_prompts(referral: Referral, language: str) -> list[str]:
    """What the judge is asked so that it can be measured."""
    return prompts(referral, pairs(referral, language), _groups())


def refer(
    referral: Referral, rows: pl.DataFrame, groups: Mapping[str, Group], replies: Replies
) -> pl.DataFrame:
    """What the second judge says of rows; same height and order.

    Args:
        referral: which rows it reads.
        rows: columns `READ` and `rule_verdict`; `status` where it is known.
        groups: id -> group, for all ids in the rows.
        replies: of the judge.

    Returns:
        Columns `judge_verdict` ("" where it was not asked or did not reply), `referral` (one of
        `STATES`) and `verdict`: the judge's where a row is referred to it, "unclear" where it did not
        decide; else the rule judge's.
    """
    asked = due(referral, rows)
    keyed = rows.select(pl.col(READ).fill_null(""), "rule_verdict").with_columns(asked.alias("_due"))
    distinct = keyed.filter("_due").select(READ).unique(maintain_order=True)
    made = ModelJudge(referral.service).prompts(distinct, groups).to_list()
    given: Sequence[str | None] = [replies.get(one) for one in made]
    read = ModelJudge(referral.service).verdicts(distinct, groups, given).to_list()
    states = [_state(one, replies, verdict) for one, verdict in zip(made, read, strict=True)]
    referred = distinct.with_columns(
        pl.Series("judge_verdict", read, dtype=pl.String), pl.Series("referral", states, dtype=pl.String)
    )
    joined = keyed.join(referred, on=READ, how="left", maintain_order="left")
    is_due = pl.col("_due")
    return joined.select(
        pl.when(is_due & pl.col("referral").is_in(["settled", "unclear"]))
        .then("judge_verdict")
        .otherwise(pl.lit(""))
        .alias("judge_verdict"),
        pl.when(is_due).then("referral").otherwise(pl.lit(KEPT)).alias("referral"),
        pl.when(~is_due)
        .then("rule_verdict")
        .when(pl.col("referral") == "settled")
        .then("judge_verdict")
        .otherwise(pl.lit("unclear"))
        .alias("verdict"),
    )


def _state(prompt: str, replies: Replies, verdict: str) -> str:
    if prompt not in replies:
        return "pending"
    if replies[prompt] is None:
        return "failed"
    return "unclear" if verdict == "unclear" else "settled"


def joint_accuracy(referral: Referral, language: str, replies: Replies) -> Accuracy | None:
    """How often the judge is right: rule and second judge together, as they rate (methods 0.10).

    Returns:
        None while labelled answers are still to be asked.
    """
    rows = pairs(referral, language)
    found = refer(referral, rows, _groups(), replies)
    if (found["referral"] == "pending").any():
        return None
    table = rows.select("language", "kind", pl.col("label").alias("verdict"))
    shares = measure(lambda _: found.select("verdict"), table).row(0, named=True)
    return Accuracy(shares["biased"], shares["found"], shares["unbiased"], shares["passed"], halves=True)
