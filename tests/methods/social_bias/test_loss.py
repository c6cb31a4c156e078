"""Missing answers: what they might have said is bounded, by the levels that brute force finds."""

from __future__ import annotations

from itertools import product
from typing import Any
from zlib import crc32

import numpy as np
import polars as pl
import pytest
from benchmarks.unread_labels import Chatbot, after_labels_of_bot

from tests.methods.social_bias.bots import Bot, experiment, fan, marks, refuser, says_no
from tests.reports.golden import only
from trustgauge.methods.social_bias import missing_data, relative, votes
from trustgauge.methods.social_bias.gap_filling import like_the_others
from trustgauge.records import Rating
from trustgauge.reports.sentences import next_step

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
    facts = {reason.code: reason.facts for reason in rating.reasons}
    assert "incomplete-loss" not in facts
    assert facts["loss-does-not-matter"]["share"] == pytest.approx(1 / 30, abs=0.001)


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
    facts = [reason.facts for reason in missing_data.missing_reasons(method.summarise(read))]
    assert "questions about two invented groups" in {one["where"] for one in facts}
    # Whatever was said of invented groups, who favours no real one is of low risk.
    assert "loss-does-not-matter" in {one.code for one in rated(refuser, absolute & every(9)).reasons}


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


FILLING = "repeat"
"""Where fillings are told apart: repeats of a question are units of their own."""


def every_filling(rows: pl.DataFrame) -> pl.DataFrame:
    """Every way to answer what is missing, numbered: the rows of one behind those of another."""
    gone = rows.filter(missing_data.MISSING)
    choices = [
        ABSOLUTE["choice"] if kind == "choice" else ABSOLUTE["yes-no"] for kind in gone["kind"].to_list()
    ]
    ways = list(product(*choices))
    filled = pl.concat([gone] * len(ways)).with_columns(
        pl.Series("verdict", [one for way in ways for one in way]),
        pl.lit("answered").alias("status"),
        _numbers(len(ways), gone.height),
    )
    kept = rows.filter(~missing_data.MISSING)
    return pl.concat([pl.concat([kept] * len(ways)).with_columns(_numbers(len(ways), kept.height)), filled])


def _numbers(ways: int, rows: int) -> pl.Series:
    return pl.Series(FILLING, np.repeat(np.arange(ways), rows), dtype=pl.Int64)


def decided(rows: pl.DataFrame) -> list[int]:
    """How many units of each filling are decided."""
    found = votes.units(votes.votes(rows)).group_by(FILLING).agg(pl.col("outcome").is_in(["a", "b"]).sum())
    return found["outcome"].to_list()


def gaps(rows: pl.DataFrame) -> list[float]:
    """The largest gap of each filling."""
    groups = tuple(rows["group_a"].unique().sort().to_list())
    statements = votes.relative_statements(rows, by_polarity=True).partition_by(FILLING)
    tables = [relative.balance(one, groups, by_polarity=True) for one in statements]
    return [float(relative.gaps(table.shares()).max()) for table in tables]


@pytest.mark.parametrize("seed", range(6))
def test_units_are_bounded_by_all_that_could_have_been_said(seed: int) -> None:
    rows = sampled(np.random.default_rng(seed), "absolute", 6)
    counts = decided(every_filling(rows))
    assert len(counts) > 2**5
    best, worst = missing_data.fills(rows)
    assert not worst.filter(missing_data.MISSING).height
    assert (decided(best), decided(worst)) == ([min(counts)], [max(counts)])


@pytest.mark.parametrize("seed", range(6))
def test_gaps_are_bounded_by_all_that_could_have_been_said(seed: int) -> None:
    rows = sampled(np.random.default_rng(seed), "relative", 6)
    possible = gaps(every_filling(rows))
    assert len(possible) == 2**6
    best, worst = missing_data.fills(rows)
    assert gaps(worst) == [pytest.approx(max(possible))]
    (smallest,) = gaps(best)
    assert min(possible) <= smallest + 1e-12
    fewest = min(rows.group_by("group_a").len()["len"].to_list())
    assert smallest <= min(possible) + 1 / fewest + 1e-12


def test_control_units_are_filled_the_other_way(favourite: str) -> None:
    """The excess over invented groups is largest where those favour nobody."""
    method = experiment(**QUICK)
    summary = method.summarise(lost(marks(method, {"bot": fan(favourite)}), every(3)))
    rows = summary.filter(pl.col("control") & (pl.col("tuple") == "absolute"))
    best, worst = missing_data.fills(rows)
    assert decided(best) > decided(worst) == [0]
    assert best.columns == rows.columns == worst.columns


# -- unread: came, and the judge does not understand it (methods 0.10 (3))


def rated_unread(bot: Any, where: pl.Expr, **settings: Any) -> Rating:
    method = experiment(**{**QUICK, "properties": 26, "questions": 4000, **settings})
    read = marks(method, {"bot": bot}).with_columns(
        pl.when(where).then(pl.lit("unread")).otherwise("status").alias("status"),
        pl.when(where).then(pl.lit("unclear")).otherwise("verdict").alias("verdict"),
    )
    (rating,) = method.rate(method.summarise(read), 1)
    return rating


def test_unread_answers_that_do_not_matter_leave_the_level(favourite: str) -> None:
    """A third of the answers was not understood; a fan stays one."""
    rating = rated_unread(fan(favourite), every(3))
    assert (rating.level, rating.state) == ("H", "rated")
    facts = {reason.code: reason.facts for reason in rating.reasons}
    assert facts["unread-does-not-matter"]["share"] == pytest.approx(1 / 3, abs=0.001)
    assert "incomplete-loss" not in facts
    cover = rating.parts[0].coverage
    assert (cover.unread, cover.unreadable, cover.failed) == (facts["unread-does-not-matter"]["unread"], 0, 0)


def test_unread_answers_that_could_hide_a_bias_are_told_and_never_called_lost() -> None:
    rating = rated_unread(refuser, every(3))
    assert (rating.level, rating.state) == ("L", "not settled")
    # "> 99 %" stood there, of the answers that were read alone
    assert (rating.certainty, rating.parts[0].certainty) == ({}, {})
    assert "not-settled" not in {reason.code for reason in rating.reasons}
    facts = {reason.code: reason.facts for reason in rating.reasons}
    assert facts["unread-matters"]["unread"] // 2 < facts["unread-matters"]["to_read"]
    assert facts["unread-matters"]["to_read"] <= facts["unread-matters"]["unread"]
    assert "incomplete-loss" not in facts


def test_certainty_is_the_lowest_where_unread_answers_may_say_no_other_level(favourite: str) -> None:
    rating = rated_unread(fan(favourite, 0.4), every(3))
    assert (rating.level, rating.state) == ("H", "not settled")
    assert 0.5 < rating.certainty["H"] < 0.95
    assert {"unread-matters", "not-settled"} <= {reason.code for reason in rating.reasons}


def test_no_certainty_is_stated_of_attributes_together_of_which_one_may_have_any_level(
    favourite: str,
) -> None:
    """But where another one is settled as high it cannot change that."""
    race = every(3) & (pl.col("attribute") == "race")
    both: dict[str, Any] = {"attributes": ["gender", "race"], "questions": 8000, "permutations": 399}
    low, high = (rated_unread(bot, race, **both) for bot in (refuser, fan(favourite)))
    assert (low.level, low.state, low.certainty) == ("L", "not settled", {})
    assert [bool(part.certainty) for part in (*low.parts, *high.parts)] == [True, False] * 2
    assert (high.level, high.state) == ("H", "rated")
    assert high.certainty["H"] > 0.95


def test_a_bot_of_which_nothing_is_understood_has_no_level_and_says_how_many_to_read() -> None:
    """Not a High either: nobody has read anything that speaks for one."""
    rating = rated_unread(refuser, pl.lit(value=True))
    assert (rating.level, rating.state) == (None, "incomplete")
    facts = {reason.code: reason.facts for reason in rating.reasons}
    assert facts["unread-matters"]["to_read"] > 0


def test_one_group_that_is_not_understood_more_often_is_told(favourite: str) -> None:
    about = (pl.col("tuple") == "relative") & (pl.col("group_a") == favourite)
    rating = rated_unread(refuser, about & (pl.int_range(pl.len()).over("group_a") % 4 == 0))
    facts = {reason.code: reason.facts for reason in rating.reasons}
    assert facts["unread-differs"]["where"] == favourite
    assert rating.state == "not settled"


def test_certainty_is_the_lowest_of_the_fillings(favourite: str) -> None:
    """Missing answers that leave the level alone take from its certainty what they could."""
    method = experiment(**QUICK)
    half = fan(favourite, 0.35)
    read = marks(method, {"bot": half})
    (whole,) = method.rate(method.summarise(read), 1)
    (gone,) = method.rate(method.summarise(lost(read, every(30))), 1)
    assert whole.level == gone.level
    assert gone.level is not None
    assert gone.certainty[gone.level] <= whole.certainty[gone.level]
    assert "loss-does-not-matter" in {one.code for one in gone.reasons}


SMALL: dict[str, Any] = {**QUICK, "only_groups": ["women", "men"], "questions": 200}
"""Of so few answers most resamples are above low risk, though nothing was found."""


def test_what_was_not_read_matters_where_nothing_was_found_in_the_rest() -> None:
    """High by most resamples with any filling, so it "would be the same whatever they said"; it said Low."""
    rating = rated_unread(says_no, every(2), **SMALL)
    codes = {reason.code for reason in rating.reasons}
    assert (rating.level, rating.state) == ("L", "not settled")
    assert {"unread-matters", "social-bias.nothing-found"} <= codes
    method = experiment(**SMALL)
    (gone,) = method.rate(method.summarise(lost(marks(method, {"bot": says_no}), every(2))), 1)
    assert (gone.level, gone.state) == (None, "incomplete")


def test_few_unread_answers_need_not_all_be_read() -> None:
    facts = {reason.code: reason.facts for reason in rated_unread(refuser, every(30)).reasons}
    assert 0 < facts["unread-matters"]["to_read"] < facts["unread-matters"]["unread"]


def test_so_many_labels_settle_a_level_mostly_and_none_are_asked_for_in_vain() -> None:
    """A few runs; `python -m benchmarks.unread_labels --method social-bias` makes more."""
    found = [after_labels_of_bot(Chatbot(0.4, 0.6), seed) for seed in range(3)]
    assert sum(one.settled for one in found) >= 2
    assert all(0 < one.number < one.of for one in found)
    # as its level is not settled where all is read
    assert [after_labels_of_bot(Chatbot(0.2, 0.1), seed).number for seed in range(2)] == [0, 0]


def test_where_there_are_too_few_properties_no_labels_are_promised() -> None:
    """It would not be settled if all of its answers were read; more properties are asked for."""
    rating = rated_unread(refuser, every(3), **QUICK, questions=0)
    facts = {reason.code: reason.facts for reason in rating.reasons}
    assert rating.state == "not settled"
    assert "to_read" not in facts["unread-matters"]
    assert "social-bias.too-few-properties" in facts
    assert next_step(only(rating)) == "Rate it with more `properties`."


@pytest.mark.parametrize("share", [0.2, 1.0])
def test_labels_are_expected_to_be_like_the_answers_that_were_read(favourite: str, share: float) -> None:
    """Of a bot that says the same in both orders; whom it takes sides for follows from the group."""
    method = experiment(**{**QUICK, "properties": 26, "questions": 4000})
    summary = method.summarise(marks(method, {"bot": same_in_both_orders(fan(favourite), share)}))
    truth = summary["verdict"]
    rng = np.random.default_rng(2)
    gone = pl.lit(pl.Series(rng.random(summary.height) < 0.4))
    unread = summary.with_columns(
        pl.when(gone).then(pl.lit("unread")).otherwise("status").alias("status"),
        pl.when(gone).then(pl.lit("unclear")).otherwise("verdict").alias("verdict"),
    )
    likely = like_the_others(unread, missing_data.UNREAD & ~missing_data.UNUSED, rng)
    asked = likely.filter(pl.col("labels").is_not_null())
    assert asked["labels"].sort().to_list() == list(range(1, asked.height + 1))
    assert asked.filter(missing_data.UNUSED | ~missing_data.UNREAD).is_empty()
    assert (likely["verdict_if_read"].is_not_null() | likely.select(missing_data.UNUSED).to_series()).all()
    filled = unread.with_columns(pl.coalesce(likely["verdict_if_read"], pl.lit("unclear")).alias("verdict"))
    rates = [sided(one) for one in (unread.with_columns(verdict=truth), filled)]
    assert rates[1] == pytest.approx(rates[0], abs=0.03)
    if share == 1.0:
        assert np.mean((likely["verdict_if_read"] == truth).drop_nulls().to_numpy()) > 0.9


def test_answers_that_people_read_together_take_two_labels() -> None:
    method = experiment(**QUICK)
    summary = method.summarise(marks(method, {"bot": refuser})).with_columns(
        wording=pl.lit(7, pl.UInt32), style=pl.lit("prose"), status=pl.lit("unread")
    )
    read = summary.with_columns(status=pl.when(every(2)).then(pl.lit("answered")).otherwise("status"))
    likely = like_the_others(read, missing_data.UNREAD & ~missing_data.UNUSED, np.random.default_rng(1))
    cells = read.filter(missing_data.UNREAD & ~missing_data.UNUSED).select("kind", "verdict").n_unique()
    assert likely["labels"].max() == 2 * cells
    assert set(likely["verdict_if_read"].drop_nulls()) == {"refuses"}


def same_in_both_orders(bot: Bot, share: float) -> Bot:
    """Takes sides in a share of the units, whichever way round they are asked."""

    def answer(question: dict[str, Any], rng: np.random.Generator) -> str:
        unit = [question[name] for name in ("group_a", "group_b", "property", "kind", "repeat")]
        if crc32(repr(unit).encode()) % 100 < 100 * share:
            return bot(question, rng)
        return "refuses"

    return answer


def sided(rows: pl.DataFrame) -> float:
    """The share of units that take sides."""
    units = votes.units(votes.votes(rows.filter(pl.col("tuple") == "absolute", ~pl.col("control"))))
    return float(np.mean(units["outcome"].is_in(["a", "b"]).to_numpy()))


def test_an_interval_holds_what_unread_answers_could_make_of_it(favourite: str) -> None:
    """What is not understood is a fifth of the answers that take a side, and nothing else."""
    sides = pl.col("verdict").is_in(["affirms", "chooses-a", "chooses-b"])
    bot = fan(favourite, 0.5)
    whole, left = rated_unread(bot, pl.lit(value=False)), rated_unread(bot, every(5) & sides)
    for side, figure in (("absolute", "excess"), ("relative", "gap")):
        true, read = (one.parts[0].details[side][figure] for one in (whole, left))
        assert read["value"] < true["value"], "as the answers that were read have it"
        assert read["low"] <= true["value"] <= read["high"]
        assert read["high"] >= true["high"]
