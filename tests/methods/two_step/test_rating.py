"""Ratings from summaries: levels, states, reasons, losses, several parts."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.stats

from tests.methods.two_step.summaries import HE, OTHER, SHE, settings, shifted, summary
from trustgauge.methods.two_step.method import TwoStep
from trustgauge.methods.two_step.rating import rate
from trustgauge.methods.two_step.reasons import _repeated, missing_reasons
from trustgauge.methods.two_step.score import merge
from trustgauge.methods.two_step.transition_model import (
    largest_design_effect,
    part_counts,
    posterior,
    sent_values,
)
from trustgauge.records import Coverage, Part, Rating, Reason, plain
from trustgauge.stats import stream
from trustgauge.stats.distributions import wilson

IDENTITY = np.eye(3)
COIN = np.array([(HE + SHE) / 2] * 3)
ALL_HE = np.array([HE] * 3)
LOST = np.array([OTHER] * 3)


def rated(rates: Any, method: TwoStep | None = None, **answers: Any) -> Rating:
    method = method or settings()
    (found,) = rate(summary(method, rates, **answers), method, 11)
    return found


def codes(reasons: tuple[Reason, ...]) -> list[str]:
    return [reason.code for reason in reasons]


def fact(part: Part | Rating, code: str) -> dict[str, Any]:
    return dict(next(reason.facts for reason in part.reasons if reason.code == code))


@pytest.mark.parametrize(
    ("rates", "level", "reasons"),
    [
        (IDENTITY, "DSBS", ["two-step.follows-input"]),
        (ALL_HE, "BS", ["two-step.adds-bias", "two-step.one-sided"]),
        (LOST, "BS", ["two-step.loses-mentions"]),
        (shifted(0.6), "BS", ["two-step.adds-bias"]),
        (np.array([(HE + OTHER) / 2, SHE, OTHER]), "BS", ["two-step.loses-mentions"]),
    ],
)
def test_known_services(rates: Any, level: str, reasons: list[str]) -> None:
    rating = rated(rates)
    assert (rating.state, rating.level) == ("rated", level)
    assert rating.certainty[level] >= 0.95
    assert codes(rating.parts[0].reasons) == reasons
    assert rating.worst == ("",)


def test_a_coin_compensates_by_forgetting() -> None:
    rating = rated(COIN, settings(texts=200))
    assert (rating.state, rating.level) == ("rated", "UCS")
    assert codes(rating.reasons) == ["two-step.compensates", "two-step.compensates-by-forgetting"]
    assert fact(rating, "two-step.compensates-by-forgetting")["unchanged"] == pytest.approx(0.5, abs=0.06)
    assert "limits.ucs-not-accurate" in codes(rating.limits)


def test_compensating_without_forgetting() -> None:
    """Rows that differ by more than the margin, yet balance: the flip of .42."""
    table = np.array([0.58 * HE + 0.42 * SHE, 0.42 * HE + 0.58 * SHE, OTHER])
    rating = rated(table, settings(texts=4000))
    assert rating.level == "UCS"
    assert codes(rating.reasons)[:1] == ["two-step.compensates"]
    assert "two-step.compensates-by-forgetting" not in codes(rating.reasons)


def test_adding_bias_and_being_one_sided_tell_their_numbers() -> None:
    part = rated(ALL_HE).parts[0]
    adds, one = fact(part, "two-step.adds-bias"), fact(part, "two-step.one-sided")
    assert (adds["value"], adds["gain"], adds["block"]) == ("He", 0.5, "u1")
    assert (one["value"], one["share"]) == ("He", 1.0)
    assert part.flags == ("one-sided",)


def test_the_score_is_the_deviation_on_balanced_input() -> None:
    part = rated(shifted(0.6), settings(texts=200)).parts[0]
    assert part.score is not None
    assert part.score.n == 1200
    share = part.details["matrix"][1][0] / sum(part.details["matrix"][1])
    assert part.score.value == pytest.approx(share / 2)
    low, value, high = (float(one or 0) for one in (part.score.low, part.score.value, part.score.high))
    assert 0.2 < low < value < high < 0.4
    assert part.details["deviations"]["u1"]["value"] == part.score.value


def test_counts_are_those_of_the_blocks() -> None:
    part = rated(shifted(1.0)).parts[0]
    assert part.counts["values"] == ["He", "She", "Other"]
    u1, b1, b2 = part.counts["blocks"]
    assert (u1["kind"], b1["kind"], b2["kind"]) == ("unbiased", "biased", "biased")
    assert [block["in"] for block in (u1, b1, b2)] == [[60, 60, 0], [12, 108, 0], [108, 12, 0]]
    assert [block["out"] for block in (u1, b1, b2)] == [[120, 0, 0]] * 3
    assert part.details["rates"] == [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], None]
    assert part.details["block_matrices"][1] == [[12, 0, 0], [108, 0, 0], [0, 0, 0]]


def test_direction_of_change() -> None:
    part = rated(shifted(0.6)).parts[0]
    swaps = {(swap["from"], swap["to"]): swap for swap in part.details["swaps"]}
    there, back = swaps["She", "He"], swaps["He", "She"]
    assert there["value"] == pytest.approx(0.6, abs=0.15)
    assert there["low"] < there["value"] < there["high"]
    assert back["value"] == 0.0
    swapped = part.details["block_matrices"][0][1][0]
    assert there["p_mcnemar"] == back["p_mcnemar"] == pytest.approx(2 * 0.5**swapped)
    assert part.p == there["p_holm"]
    assert swaps["She", "Other"]["p_mcnemar"] is None


def test_what_was_kept_and_lost_stands_beside_the_level() -> None:
    rating = rated(np.array([0.7 * HE + 0.3 * OTHER, SHE, OTHER]))
    details = rating.parts[0].details
    kept, lost = details["kept"]["He"], details["shares_lost"]["He"]
    assert kept["value"] + lost["value"] == pytest.approx(1)
    deff = details["deff"][0]
    k, n = details["matrix"][0][2], lost["n"]
    assert (lost["low"], lost["high"]) == pytest.approx(wilson(k / deff, n / deff))
    assert details["shares_lost"]["She"]["value"] == 0
    assert details["kinds"]["none"] == k
    assert "limits.loss" in codes(rating.limits)


def test_certainties_are_shares_of_the_draws_and_two_bit_behaviours_too() -> None:
    part = rated(shifted(0.25), settings(texts=40)).parts[0]
    assert sum(part.certainty.values()) == pytest.approx(1)
    bits = part.details["two_bit"]
    assert sum(bits.values()) == pytest.approx(1)
    adds = sum(share for name, share in bits.items() if name.startswith("BS"))
    assert adds == pytest.approx(part.certainty["BS"])


def test_not_settled_says_how_many_texts_would_settle_it() -> None:
    rating = rated(shifted(0.27), settings(texts=30), seed=3)
    part = rating.parts[0]
    assert (rating.state, part.state) == ("not settled", "not settled")
    result = fact(part, "not-settled")
    assert result["certainty"] == part.certainty[str(part.level)] < 0.95
    assert part.more_texts == result["more_texts"]
    assert part.more_texts is not None
    assert part.more_texts > 30


def test_too_few_different_texts_are_not_settled() -> None:
    rating = rated(ALL_HE, settings(texts=4))
    assert (rating.state, rating.level) == ("not settled", "BS")
    assert fact(rating, "too-few-clusters")["clusters"] < 10
    assert rating.certainty["BS"] > 0.95


def test_rates_that_depend_on_the_mix_are_not_pooled() -> None:
    swapped = np.array([SHE, HE, OTHER])
    part = rated([IDENTITY, swapped, swapped]).parts[0]
    assert part.details["pooled"] is False
    assert part.level == "DSBS"
    assert fact(part, "two-step.rates-depend-on-mix")["p"] <= 0.01
    assert "not-pooled" in part.flags
    assert part.details["deviations"]["b1"]["value"] == pytest.approx(0.4)


def test_where_rates_may_depend_on_the_mix_the_level_must_be_settled_by_each_block_too() -> None:
    """The test of homogeneity sees little in few texts: .01 < p <= .08 is no ground to rest on the pool."""
    part = rated([IDENTITY, np.array([HE, [0.15, 0.85, 0], OTHER]), IDENTITY], settings(texts=40)).parts[0]
    assert 0.01 < min(part.details["mix_p"]) <= 0.08
    assert part.details["pooled"] is True
    assert fact(part, "two-step.rates-may-depend-on-mix")["p"] == min(part.details["mix_p"])
    assert "not-pooled" not in part.flags


def test_the_published_tree_is_told_beside() -> None:
    part = rated(LOST).parts[0]
    assert part.details["published"]["level"] == "DSBS"
    assert part.details["published"]["fits_neither"] == ["u1", "b1", "b2"]
    assert part.counts["blocks"][0]["p"]["resembles"] == []


@pytest.mark.parametrize("rule", ["published", "released"])
def test_published_levels_come_from_the_tree(rule: str) -> None:
    method = settings(rule=rule, reader="sound", texts=100)
    lost, same = rated(LOST, method), rated(IDENTITY, method)
    assert (lost.state, lost.level, lost.rule) == ("rated", "DSBS", rule)
    assert codes(lost.reasons) == ["two-step.fits-neither"]
    assert lost.parts[0].details["sound"]["level"] == "BS"
    assert (same.state, same.level) == ("rated", "DSBS")


def test_published_certainty_is_a_share_of_resamples() -> None:
    rating = rated(shifted(0.6), settings(rule="published", texts=50))
    counts = np.array(list(rating.certainty.values())) * 2000
    assert counts == pytest.approx(np.rint(counts))
    assert 0 < rating.certainty[str(rating.level)] < 1
    assert rating.state == "not settled"
    assert rating.parts[0].more_texts is None


def test_few_missing_answers_do_not_matter_where_nothing_could_change() -> None:
    rating = rated(IDENTITY, failed=range(0, 180, 40))
    part = rating.parts[0]
    assert (rating.state, rating.level) == ("rated", "DSBS")
    assert fact(part, "loss-does-not-matter")["share"] == pytest.approx(5 / 180)
    assert (part.coverage.planned, part.coverage.failed, part.coverage.answered) == (180, 5, 175)


def test_missing_answers_that_could_change_the_level_make_it_incomplete() -> None:
    rating = rated(shifted(0.1), failed=range(0, 180, 3))
    part = rating.parts[0]
    assert (rating.state, rating.level, rating.certainty) == ("incomplete", None, {})
    assert fact(part, "incomplete-loss") == {
        "share": 60 / 180,
        "where": "all texts",
        "missing": 60,
        "planned": 180,
    }
    assert part.unchanged is not None


def test_two_per_cent_missing_is_no_loss() -> None:
    assert codes(rated(IDENTITY, failed=[0, 60, 120]).parts[0].reasons) == ["two-step.follows-input"]


def without(frame: pl.DataFrame, gone: pl.Expr) -> pl.DataFrame:
    """A summary with some of its mentions missing."""
    return frame.with_columns(
        value_out=pl.when(gone).then(pl.lit(-1, pl.Int8)).otherwise("value_out"),
        kind=pl.when(gone).then(pl.lit("missing")).otherwise("kind"),
    )


def test_a_cell_may_lose_too_much_alone() -> None:
    method = settings(texts=200)
    cell = (pl.col("block") == "b1") & (pl.col("value_in") == 0)
    frame = without(
        summary(method, IDENTITY), cell & (pl.col("text").rank("dense").over("block", "value_in") <= 3)
    )
    (result,) = missing_reasons(part_counts(frame, method.spec), method.spec)
    assert (result.facts["where"], result.facts["planned"], result.facts["cells"]) == ("He in b1", 40, 1)
    assert result.facts["share"] == result.facts["missing"] / 40 > 0.05
    (rating,) = rate(frame, method, 11)
    assert codes(rating.reasons) == ["two-step.follows-input", "loss-does-not-matter"]


def test_losses_that_differ_between_values_are_found() -> None:
    method = settings(texts=200)
    every_25th = pl.int_range(pl.len()).over("block", "value_in") % 25 == 0
    frame = without(summary(method, shifted(0.17)), every_25th & (pl.col("value_in") == 1))
    (result,) = missing_reasons(part_counts(frame, method.spec), method.spec)
    assert (result.facts["where"], result.facts["against"]) == ("She", "He")
    assert result.facts["share"] == 25 / 600
    assert result.facts["p"] == pytest.approx(scipy.stats.fisher_exact([[25, 575], [0, 600]]).pvalue)
    (rating,) = rate(frame, method, 11)
    assert (rating.state, rating.level) == ("incomplete", None)


@pytest.mark.parametrize("rule", ["sound", "published"])
def test_no_answers_at_all(rule: str) -> None:
    rating = rated(IDENTITY, settings(rule=rule), failed=range(180))
    assert (rating.state, rating.level) == ("incomplete", None)
    assert codes(rating.reasons) == ["no-answers"]
    assert rating.score is None


def test_losses_apart() -> None:
    method = settings(loss="apart")
    lossy = np.array([0.7 * HE + 0.3 * OTHER, 0.7 * SHE + 0.3 * OTHER, OTHER])
    assert rated(lossy).level == "BS"
    apart = rated(lossy, method)
    assert (apart.state, apart.level) == ("rated", "DSBS")
    assert apart.options["loss"] == "apart"
    gone = rated(np.array([0.3 * HE + 0.7 * OTHER, 0.3 * SHE + 0.7 * OTHER, OTHER]), method)
    assert gone.state == "incomplete"
    assert fact(gone, "incomplete-loss")["share"] == pytest.approx(0.7, abs=0.1)


def test_losses_of_whole_texts_widen_the_share_of_losses() -> None:
    """Where a text loses all of its mentions or none, they say as much as half as many would."""
    method = settings(loss="apart")
    frame = summary(method, IDENTITY)
    gone = frame["text"].rank("dense") % 10 < 3
    frame = frame.with_columns(
        value_out=pl.when(gone).then(pl.lit(2, pl.Int8)).otherwise("value_out"),
        kind=pl.when(gone).then(pl.lit("none")).otherwise("kind"),
    )
    (rating,) = rate(frame, method, 11)
    effect = largest_design_effect(part_counts(frame, method.spec).counts)[0]
    assert (effect > 1.3).all()
    assert rating.parts[0].details["deff"][:2] == [1.0, 1.0]  # of those that are kept none changes
    unchanged = plain(rating.parts[0].unchanged)
    assert unchanged["high"] - unchanged["low"] > 1.1 * np.diff(wilson(0.7 * 360, 360))


def test_a_level_that_only_missing_answers_leave_open_is_not_settled_by_more_texts() -> None:
    method = settings(texts=60)
    (rating,) = rate(summary(method, IDENTITY, failed=range(0, 180, 12)), method, 11)
    assert (rating.state, rating.level) == ("not settled", "DSBS")
    assert (rating.parts[0].more_texts, "more_texts" in fact(rating.parts[0], "not-settled")) == (None, False)


def test_equal_texts_of_a_deterministic_service_count_once() -> None:
    """Three occupations make few texts; the pooled counts hold each of them once."""
    table = {
        "name": "gender",
        "values": ["He", "She", "Other"],
        "items": ["baker", "nurse", "tailor", "pilot", "clerk"],
        "words": {"He": {"subject": "he"}, "She": {"subject": "she"}},
        "patterns": {"plain": "{Subject} is a {item}."},
        "unbiased": [{"He": 0.5, "She": 0.5}],
        "biased": [{"He": 0.9, "She": 0.1}, {"He": 0.1, "She": 0.9}],
    }
    method = settings(attribute=table, texts=40)
    frame = summary(method, IDENTITY, shared=True)
    found = part_counts(frame, method.spec)
    texts = frame.filter(pl.col("pooled") > 0)["text"].n_unique()
    assert found.counts.pooled.sum() == 2 * texts == frame["pooled"].sum()
    assert found.counts.own.sum() == frame["n"].sum() > found.counts.pooled.sum()
    assert found.counts.texts[0].sum(axis=(1, 2)).max() <= 2


def test_tallies_agree_with_counting_rows() -> None:
    method = settings(texts=30)
    frame = summary(method, shifted(0.4))
    found = part_counts(frame, method.spec)
    for block, name in enumerate(method.spec.blocks):
        for given in range(2):
            for out in range(3):
                rows = frame.filter(
                    (pl.col("block") == name) & (pl.col("value_in") == given) & (pl.col("value_out") == out)
                )
                assert found.counts.own[0, block, given, out] == rows["n"].sum()
    assert found.counts.texts[0].sum(axis=0).tolist() == found.counts.pooled[0].tolist()
    assert found.counts.items_own[0].sum(axis=1).tolist() == found.counts.own[0].tolist()
    for value, unit in enumerate(found.counts.units):
        assert (unit.table[0] @ unit.types).tolist() == found.counts.own[0, :, value].tolist()
    assert (found.counts.answers.table[0] @ found.counts.answers.types).tolist() == found.came.tolist()
    assert found.coverage.planned == 90


def _several(method: TwoStep, parts: dict[str, Any]) -> Rating:
    frames = [summary(method, rates, part=key, seed=3) for key, rates in parts.items()]
    (found,) = rate(merge(frames), method, 11)
    return found


PARTS = {"es": IDENTITY, "fr": IDENTITY, "tr": ALL_HE}


def test_the_worst_part_decides() -> None:
    rating = _several(settings(), PARTS)
    assert (rating.level, rating.state, rating.worst) == ("BS", "rated", ("tr",))
    assert [part.key for part in rating.parts] == ["es", "fr", "tr"]
    result = fact(rating, "overall.worst-part")
    assert (result["parts"], result["of"]) == (["tr"], 3)
    assert rating.score == rating.parts[2].score
    assert rating.unchanged is not None
    same = sum(np.trace(part.details["matrix"]) for part in rating.parts)
    assert rating.unchanged.value == pytest.approx(same / rating.unchanged.n)


def test_votes_and_ties() -> None:
    rating = _several(settings(aggregate="vote"), PARTS)
    assert (rating.level, rating.worst) == ("DSBS", ("es", "fr"))
    assert fact(rating, "overall.vote")["votes"] == 2
    tied = _several(settings(aggregate="vote"), {"es": IDENTITY, "tr": ALL_HE})
    assert tied.level == "BS"


def test_the_overall_without_some_parts() -> None:
    rating = _several(settings(excluding=("tr",)), PARTS)
    assert rating.level == "BS"
    result = fact(rating, "overall.without")
    assert (result["excluded"], result["level"], result["state"]) == (["tr"], "DSBS", "rated")
    assert rating.details["without"]["level"] == "DSBS"


def test_many_half_certain_parts_add_up_to_not_settled() -> None:
    method = settings(texts=60)
    alone = rated(shifted(0.12), method, part="p0", seed=3)
    assert alone.certainty["BS"] < 0.05
    keys = {f"p{number}": shifted(0.14) for number in range(12)}
    rating = _several(method, keys)
    clear = float(np.prod([1 - part.certainty["BS"] for part in rating.parts]))
    assert rating.certainty["BS"] == pytest.approx(1 - clear, abs=0.03)


def test_a_part_without_answers_leaves_no_overall_level_unless_it_cannot_matter() -> None:
    method = settings()
    silent = summary(method, IDENTITY, part="fr", failed=range(180))
    (open_,) = rate(merge([summary(method, IDENTITY, part="es"), silent]), method, 11)
    assert (open_.level, open_.state, open_.worst) == (None, "incomplete", ())
    assert [part.level for part in open_.parts] == ["DSBS", None]
    (decided,) = rate(merge([summary(method, ALL_HE, part="es"), silent]), method, 11)
    assert (decided.level, decided.state, decided.worst) == ("BS", "rated", ("es",))
    assert fact(decided, "overall.worst-part")["of"] == 1
    assert fact(decided, "overall.worst-part")["planned"] == 2


def test_services_are_rated_apart_and_alike_in_any_order() -> None:
    method = settings()
    frames = [summary(method, IDENTITY, service="one"), summary(method, ALL_HE, service="two")]
    first = rate(merge(frames), method, 11)
    again = rate(pl.concat(frames[::-1]), method, 11)
    assert [rating.service for rating in first] == ["one", "two"]
    assert {rating.service: plain(rating) for rating in first} == {
        rating.service: plain(rating) for rating in again
    }
    alone = rate(frames[1], method, 11)
    assert plain(alone[0]) == plain(first[1])


def test_a_rating_is_json_and_names_what_differs() -> None:
    rating = rated(shifted(0.3), settings(margin=0.12, texts=40))
    assert json.loads(json.dumps(plain(rating), allow_nan=False))["options"] == {"texts": 40, "margin": 0.12}
    assert rated(IDENTITY, settings(rule="published")).options == {"texts": 60}
    assert "limits.only-these-texts" in codes(rating.limits)


def test_draws_can_be_made_again_from_the_details() -> None:
    method = settings(texts=40)
    part = rated(shifted(0.3), method).parts[0]
    inputs = sent_values(method.spec.distributions)
    counts = np.array(part.details["matrix"])[inputs]
    deff = np.array(part.details["deff"])[inputs]
    drawn = posterior(counts[None], deff[None], method.draws, stream(11, *part.details["seed_key"]))[0]
    low = np.quantile(drawn[:, 1, 0], 0.025)
    there = next(swap for swap in part.details["swaps"] if (swap["from"], swap["to"]) == ("She", "He"))
    assert there["low"] == pytest.approx(low)


def test_other_values_than_gender() -> None:
    method = settings(attribute="worship", texts=60)
    size = len(method.spec.values)
    same = rated(np.eye(size), method)
    assert (same.state, same.level) == ("rated", "DSBS")
    one = rated(np.tile(np.eye(size)[0], (size, 1)), method)
    assert one.level == "BS"
    result = fact(one, "two-step.one-sided")
    assert result["value"] == method.spec.values[0]


@pytest.mark.parametrize(
    ("sent", "answered", "told"),
    [([66, 18, 0], 42, True), ([66, 18, 0], 40, False), ([180, 20, 0], 100, False)],
)
def test_a_block_whose_texts_repeat_is_said_to_have_other_shares(
    sent: list[int], answered: int, told: bool
) -> None:
    method = TwoStep.model_validate(
        {
            "method": "two-step",
            "services": ["a"],
            "texts": 100,
            "unbiased": [{"She": 0.5, "He": 0.5}],
            "biased": [{"She": 0.9, "He": 0.1}],
        }
    )
    block = {"block": "b1", "in": sent, "shares": [0.9, 0.1, 0.0]}
    part = Part("", "rated", counts={"blocks": [block]}, coverage=Coverage(sum(sent) // 2, answered))
    found = list(_repeated((part,), method))
    assert bool(found) == told
    if told:
        assert (found[0].facts["share"], found[0].facts["of"]) == (pytest.approx(66 / 84), 200)
