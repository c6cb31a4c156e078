"""Missing answers: what they might have said is bounded, by the levels that brute force finds."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.methods.social_bias.bots import experiment, fan, marks, refuser
from trustgauge.methods.social_bias import loss, relative, votes
from trustgauge.records import Rating

QUICK: dict[str, Any] = {"resamples": 1000, "permutations": 199, "groups": 3, "properties": 8}
ABSOLUTE = {"choice": ("chooses-a", "chooses-b", "neither"), "yes-no": ("affirms", "denies")}


def lost(read: pl.DataFrame, where: pl.Expr) -> pl.DataFrame:
    """Answers that cannot be read, where they are said to."""
    return read.with_columns(
        pl.when(where).then(pl.lit("unreadable")).otherwise("status").alias("status"),
        pl.when(where).then(pl.lit("unclear")).otherwise("verdict").alias("verdict"),
    )


def rated(bot: Any, where: pl.Expr) -> Rating:
    method = experiment(**QUICK)
    (rating,) = method.rate(method.summarise(lost(marks(method, {"bot": bot}), where)), 1)
    return rating


def every(number: int) -> pl.Expr:
    return pl.int_range(pl.len()) % number == 0


@pytest.fixture(scope="module")
def favourite() -> str:
    return next(one.id for one in experiment().asked_groups if not one.control)


def test_a_loss_that_cannot_change_the_level_is_told_and_rated(favourite: str) -> None:
    rating = rated(fan(favourite), every(30))
    assert (rating.level, rating.state) == ("H", "rated")
    told = {reason.code: reason.facts for reason in rating.reasons}
    assert "incomplete-loss" not in told
    assert told["loss-does-not-matter"]["share"] == pytest.approx(1 / 30, abs=0.001)


def test_a_loss_that_could_hide_a_bias_leaves_no_level() -> None:
    rating = rated(refuser, every(30))
    assert (rating.level, rating.state) == (None, "incomplete")
    assert "loss-does-not-matter" not in {reason.code for reason in rating.reasons}


def test_a_loss_within_the_limits_is_not_mentioned(favourite: str) -> None:
    rating = rated(fan(favourite), every(101))
    codes = {reason.code for reason in rating.reasons}
    assert rating.state == "rated"
    assert not codes & {"incomplete-loss", "loss-does-not-matter"}


def test_one_group_that_lost_a_few_answers_is_noticed(favourite: str) -> None:
    """Few of all questions, but a quarter of those about one group: they could hide or make a gap."""
    about = (pl.col("tuple") == "relative") & (pl.col("group_a") == favourite)
    rating = rated(refuser, about & (pl.int_range(pl.len()).over("group_a") % 4 == 0))
    assert (rating.level, rating.state) == (None, "incomplete")
    facts = [reason.facts for reason in rating.reasons if reason.code == "incomplete-loss"]
    assert {one["where"] for one in facts} == {favourite}
    assert any("against" in one for one in facts)


def test_invented_groups_are_a_cell_of_their_own() -> None:
    method = experiment(**QUICK)
    absolute = (pl.col("tuple") == "absolute") & pl.col("control")
    read = lost(marks(method, {"bot": refuser}), absolute & every(9))
    facts = [reason.facts for reason in loss.losses(method.summarise(read))]
    assert "questions about two invented groups" in {one["where"] for one in facts}
    # Whatever was said of invented groups, who favours no real one is of low risk.
    assert rated(refuser, absolute & every(9)).state == "rated"


# -- the readings are the extremes that brute force finds


def sampled(rng: np.random.Generator, tuples: str, gone: int) -> pl.DataFrame:
    """A few rows of a real summary with random verdicts, some of them missing."""
    method = experiment(**QUICK)
    summary = method.summarise(marks(method, {"bot": refuser})).filter(
        (pl.col("tuple") == tuples) & ~pl.col("control") & (pl.col("kind") != "why")
    )
    some = rng.choice(summary["property"].unique().sort().to_numpy(), 2, replace=False).tolist()
    rows = summary.filter(pl.col("property").is_in(some))
    said = [str(rng.choice(ABSOLUTE[kind if tuples == "absolute" else "yes-no"])) for kind in rows["kind"]]
    away = rng.choice(rows.height, gone, replace=False).tolist()
    return lost(rows.with_columns(pl.Series("verdict", said)), pl.int_range(pl.len()).is_in(away))


def every_filling(rows: pl.DataFrame) -> list[pl.DataFrame]:
    """Every way to answer what is missing."""
    gone = rows.filter(loss.MISSING)
    choices = [
        ABSOLUTE["choice"] if kind == "choice" else ABSOLUTE["yes-no"] for kind in gone["kind"].to_list()
    ]
    kept = rows.filter(~loss.MISSING)
    return [
        pl.concat([kept, gone.with_columns(pl.Series("verdict", told), pl.lit("answered").alias("status"))])
        for told in product(*choices)
    ]


def decided(rows: pl.DataFrame) -> int:
    return votes.units(votes.votes(rows)).filter(pl.col("outcome").is_in(["a", "b"])).height


def gap(rows: pl.DataFrame) -> float:
    groups = tuple(rows["group_a"].unique().sort().to_list())
    return relative.gap(relative.preferences(votes.favourable(rows, by_polarity=True), groups).rates)


@pytest.mark.parametrize("seed", range(6))
def test_units_are_bounded_by_all_that_could_have_been_said(seed: int) -> None:
    rows = sampled(np.random.default_rng(seed), "absolute", 6)
    counts = [decided(one) for one in every_filling(rows)]
    best, worst = loss.fills(rows)
    assert not worst.filter(loss.MISSING).height
    assert (decided(best), decided(worst)) == (min(counts), max(counts))


@pytest.mark.parametrize("seed", range(6))
def test_gaps_are_bounded_by_all_that_could_have_been_said(seed: int) -> None:
    rows = sampled(np.random.default_rng(seed), "relative", 7)
    gaps = [gap(one) for one in every_filling(rows)]
    best, worst = loss.fills(rows)
    assert gap(worst) == pytest.approx(max(gaps))
    assert min(gaps) <= gap(best) + 1e-12
    fewest = min(rows.group_by("group_a").len()["len"].to_list())
    assert gap(best) <= min(gaps) + 1 / fewest + 1e-12


def test_control_units_are_filled_the_other_way(favourite: str) -> None:
    """The excess over invented groups is largest where those favour nobody."""
    method = experiment(**QUICK)
    summary = method.summarise(lost(marks(method, {"bot": fan(favourite)}), every(3)))
    rows = summary.filter(pl.col("control") & (pl.col("tuple") == "absolute"))
    best, worst = loss.fills(rows)
    assert decided(best) > decided(worst) == 0
    assert best.columns == rows.columns == worst.columns
