"""Ratings of services whose effect is known: levels, certainty, states and what stands beside them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

from tests.methods.causal.truths import (
    Scorer,
    by_word,
    constant,
    experiment,
    female_biased,
    marks,
    noisy,
    rated,
    shifted,
    uniform,
)
from trustgauge.errors import PlanError
from trustgauge.methods.causal.aggregate import CausalPart, rate_parts
from trustgauge.methods.causal.before_after import same_probes
from trustgauge.methods.causal.method import Causal
from trustgauge.methods.causal.panel import panel
from trustgauge.methods.causal.rating import assessments
from trustgauge.methods.conformance import answers
from trustgauge.rating import worst_draws
from trustgauge.records import Message, Part, Rating, Reason, canonical, plain
from trustgauge.reports.sentences import reason
from trustgauge.services.controls.sentiment import SentimentControl

QUICK: dict[str, Any] = {"resamples": 300, "permutations": 99}


def part(rating: Rating, key: str) -> Part:
    return next(one for one in rating.parts if one.key == key)


def codes(one: Rating | Part) -> set[str]:
    return {reason.code for reason in one.reasons}


@pytest.fixture(scope="module")
def whole() -> dict[str, Rating]:
    services: dict[str, Scorer] = {
        "constant": constant,
        "word": by_word,
        "biased": female_biased,
        "random": uniform,
        "shifted": shifted(0.2, 0.1),
    }
    return rated(services, **QUICK)


@pytest.mark.parametrize("service", ["constant", "word"])
def test_what_ignores_the_class_has_no_effect(whole: dict[str, Rating], service: str) -> None:
    rating = whole[service]
    assert (rating.level, rating.state) == ("1", "rated")
    for one in rating.parts:
        assert one.score is not None
        assert (one.score.value, one.score.low, one.score.high) == (0.0, 0.0, 0.0)
        assert one.p == 1.0
        # 20 frames or persons without any spread tell no more than 21 / 22 (methods 0.5 (d)).
        assert one.certainty["1"] == pytest.approx(21 / 22)


def test_the_biased_scorer_has_the_strongest_effect(whole: dict[str, Rating]) -> None:
    rating = whole["biased"]
    assert (rating.level, rating.state) == ("3", "rated")
    for key in ("group-1", "group-3-gender"):
        found = part(rating, key)
        assert found.level == "3"
        assert found.score is not None
        assert found.score.value == pytest.approx(1.0)
        assert found.details["wrs"]["value"] == found.details["wrs"]["maximum"]
    assert part(rating, "group-3-race").level == "1"
    impact = part(rating, "group-2").details["sets"][0]["impacts"]
    assert [one["delta"]["value"] for one in impact] == pytest.approx([-0.8, 0.8])


def test_a_random_scorer_is_not_the_worst(whole: dict[str, Rating]) -> None:
    rating = whole["random"]
    assert not (rating.state == "rated" and rating.level == "3")
    assert all(one.level in {"1", "2"} for one in rating.parts)


def test_a_planted_shift_comes_back_inside_its_interval(whole: dict[str, Rating]) -> None:
    found = part(whole["shifted"], "group-1")
    assert (found.level, found.state) == ("2", "rated")
    tests = [one["tests"][0]["ate"] for one in found.details["sets"]]
    assert found.score is not None
    assert found.score.value == pytest.approx(0.1, abs=0.01)
    # Each of the five intervals is right in 95 % of runs.
    assert sum(ate["low"] < -0.2 < ate["high"] for ate in tests) >= 4
    edges = {edge["role"]: edge for edge in found.details["graph"]["edges"]}
    assert edges["undesired"]["verdict"] == "found"
    assert edges["desired"]["verdict"] == "found"
    assert "causal.effect" in codes(found)


def test_the_order_of_systems_ties_what_cannot_be_told_apart(whole: dict[str, Rating]) -> None:
    orders = {name: one.details["orders"][""] for name, one in whole.items()}
    for system in orders["word"]["systems"]:
        rating = whole[system["service"]]
        assert system["effect"] == max(part.score.value or 0.0 for part in rating.parts if part.score)
    assert orders["constant"]["place"] == orders["word"]["place"] == "=1"
    assert orders["word"]["tied_with"] == ["constant", "random"]
    assert orders["biased"]["rank"] == [5, 5]
    assert orders["biased"]["of"] == 5


def test_overall_is_the_worst_part_unless_asked_otherwise() -> None:
    services: dict[str, Scorer] = {"biased": female_biased}
    ratings = {
        how: rated(services, groups=[1, 3], aggregate=how, **QUICK)["biased"]
        for how in ("worst", "mean", "vote")
    }
    assert {how: one.level for how, one in ratings.items()} == {"worst": "3", "mean": "3", "vote": "3"}
    rating = ratings["mean"]
    assert {one.key: one.level for one in rating.parts}["group-3-race"] == "1"
    assert "overall.mean" in codes(rating)


def test_an_effect_that_its_family_does_not_find_is_not_rated() -> None:
    """Large noise and few texts: e may lie above the cut, but not beyond what chance does."""
    services: dict[str, Scorer] = {str(seed): noisy(0.6) for seed in range(6)}
    ratings = rated(services, groups=[1], frames=10, **QUICK)
    assert all(one.state == "not settled" or one.level == "1" for one in ratings.values())
    above = [one.parts[0] for one in ratings.values() if one.level != "1"]
    assert all(one.p is not None and one.p >= 0.05 for one in above if "causal.not-significant" in codes(one))


def test_few_frames_or_persons_never_settle() -> None:
    for sizes in ({"frames": 9}, {"persons": 9}):
        rating = rated({"biased": female_biased}, groups=[1], **sizes, **QUICK)["biased"]
        assert rating.state == "not settled"
        assert "too-few-clusters" in codes(rating)


def test_more_texts_are_no_advice_where_frames_are_too_few() -> None:
    near: dict[str, Scorer] = {str(shift): shifted(shift, 0.25) for shift in (0.04, 0.13, 0.15, 0.17)}

    def unsure(frames: int) -> list[Part]:
        asked: dict[str, Any] = {"groups": [1], "words": {"one": ["grim"]}, "frames": frames, **QUICK}
        parts = [one.parts[0] for one in rated(near, **asked).values()]
        return [one for one in parts if one.certainty.get(one.level or "", 0.0) < 0.95]

    told = [one for one in unsure(12) if one.more_texts is not None]
    assert told
    for one in told:
        assert one.more_texts is not None
        assert one.more_texts > one.counts["texts"]
    few = unsure(9)
    assert few
    assert all(one.more_texts is None for one in few)
    assert not any("more_texts" in each.facts for one in few for each in one.reasons)


def test_missing_answers_make_a_part_incomplete_and_never_a_zero() -> None:
    services: dict[str, Scorer] = {"word": by_word}
    method = experiment(services, groups=[1], **QUICK)
    read = marks(method, services)
    gone = (pl.col("gender") == "female") & (pl.int_range(pl.len()) % 5 == 0)
    lost = read.with_columns(
        pl.when(gone).then(None).otherwise("score").alias("score"),
        pl.when(gone).then(pl.lit("failed")).otherwise("status").alias("status"),
    )
    rating = method.rate(method.summarise(lost), 1)[0]
    assert (rating.state, rating.level) == ("incomplete", None)
    assert {reason.code for reason in rating.parts[0].reasons} >= {"incomplete-loss"}


def test_a_few_missing_answers_do_not_matter_to_the_biased() -> None:
    services: dict[str, Scorer] = {"biased": female_biased}
    method = experiment(services, groups=[1], **QUICK)
    read = marks(method, services)
    gone = (pl.col("gender") == "female") & (pl.int_range(pl.len()) % 11 == 0)
    lost = read.with_columns(
        pl.when(gone).then(None).otherwise("score").alias("score"),
        pl.when(gone).then(pl.lit("failed")).otherwise("status").alias("status"),
    )
    rating = method.rate(method.summarise(lost), 1)[0]
    assert rating.level == "3"
    assert "loss-does-not-matter" in codes(rating.parts[0])


def test_all_answers_missing_is_incomplete() -> None:
    services: dict[str, Scorer] = {"word": by_word}
    method = experiment(services, groups=[1, 2], **QUICK)
    read = marks(method, services).with_columns(
        score=pl.lit(None, pl.Float64), status=pl.lit("failed"), fault=pl.lit("failed")
    )
    rating = method.rate(method.summarise(read), 1)[0]
    assert (rating.state, rating.level, rating.certainty) == ("incomplete", None, {})
    assert all("no-answers" in codes(one) for one in rating.parts)


def test_scores_out_of_range_are_unread_and_not_lost() -> None:
    services: dict[str, Scorer] = {"wild": lambda probes, _: pl.Series([3.0] * probes.height)}
    rating = rated(services, groups=[1], **QUICK)["wild"]
    assert (rating.state, rating.level) == ("not settled", None)
    assert rating.parts[0].coverage.unreadable == rating.parts[0].coverage.planned
    (result,) = rating.parts[0].reasons
    assert result.code == "causal.other-range"
    assert result.facts == {"n": 4000, "low": -1.0, "high": 1.0, "least": 2.0, "most": 3.0}
    assert reason(result).startswith("Set `score_range`")
    assert [one.code for one in rating.limits] == [
        "limits.these-words",
        "limits.one-day",
    ]  # no table was given
    wide = rated(services, groups=[1], score_range=[0.0, 6.0], **QUICK)["wild"]
    assert wide.level == "1"


def outside(share: int, gender: str = "", given: float = 7.0) -> Scorer:
    """Words alone, and every so manieth text (of a gender) on another scale, or without a number."""

    def score(probes: pl.DataFrame, rng: np.random.Generator) -> pl.Series:
        odd = pl.int_range(pl.len()) % share == 0
        odd &= pl.col("gender") == gender if gender else True
        right = by_word(probes, rng) + pl.Series(rng.normal(0, 0.05, probes.height))
        return (
            probes.with_columns(right=right).select(pl.when(odd).then(given).otherwise("right")).to_series()
        )

    return score


def test_unread_scores_that_matter_leave_the_level_unsettled_and_say_how_many_to_read() -> None:
    """A third of the texts of women is unread: as many could hide an effect, but they are not lost."""
    found = rated({"wild": outside(3, "female", math.nan)}, groups=[1], **QUICK)["wild"].parts[0]
    assert (found.state, found.level) == ("not settled", "1")
    facts = {one.code: one.facts for one in found.reasons}
    assert "incomplete-loss" not in facts
    assert facts["causal.no-number"]["n"] == facts["unread-matters"]["unread"] == found.coverage.unreadable
    assert 0.5 * found.coverage.unreadable < facts["unread-matters"]["to_read"] <= found.coverage.unreadable


def test_a_rating_has_no_level_that_only_the_worst_fillings_of_its_parts_add_up_to() -> None:
    """Every part was at level 1 with an effect of 0 %, and the whole at level 2, "as measured"."""

    def score(probes: pl.DataFrame, rng: np.random.Generator) -> pl.Series:
        odd = pl.Series(rng.random(probes.height) < 0.04)
        return probes.select(pl.when(odd).then(math.nan).otherwise(by_word(probes, rng))).to_series()

    found = rated({"gaps": score}, **QUICK)["gaps"]
    assert {one.level for one in found.parts} == {"1"}
    assert (found.level, found.state) == ("1", "not settled")


def test_scores_out_of_range_that_matter_leave_no_level_and_name_the_range() -> None:
    found = rated({"wild": outside(3, "female")}, groups=[1], **QUICK)["wild"].parts[0]
    assert (found.state, found.level, found.score) == ("not settled", None, None)
    (result,) = found.reasons
    assert (result.code, result.facts["most"]) == ("causal.other-range", 7.0)
    assert result.facts["n"] == found.coverage.unreadable


def test_a_level_that_scores_out_of_a_stated_range_cannot_change_stays() -> None:
    """An effect of the whole range: on the range that nobody stated it may be a small share of another."""

    def biased(probes: pl.DataFrame, rng: np.random.Generator) -> pl.Series:
        odd = probes.select(pl.int_range(pl.len()) % 12 == 0).to_series()
        return probes.select(pl.when(odd).then(40.0).otherwise(female_biased(probes, rng))).to_series()

    for span, level in (([-1, 1], "3"), (None, None)):
        stated: dict[str, Any] = {"score_range": span} if span else {}
        part = rated({"biased": biased}, groups=[1], **stated, **QUICK)["biased"].parts[0]
        assert part.level == level
        assert ("causal.out-of-range" if level else "causal.other-range") in codes(part)


def stars(probes: pl.DataFrame, rng: np.random.Generator) -> pl.Series:
    """Negative texts get one star, positive ones of men five and of women four."""
    happy = pl.when(pl.col("gender") == "female").then(4.0).otherwise(5.0)
    given = pl.when(by_word(probes, rng) < 0).then(1.0).otherwise(happy)
    return probes.select(score=given)["score"]


def test_one_to_five_stars_without_a_range_have_no_level_and_are_not_called_all_equal() -> None:
    """Whatever is read of them is one star, and no positive text has a score on -1 to 1."""
    rating = rated({"stars": stars}, groups=[1, 2], **QUICK)["stars"]
    assert (rating.state, rating.level) == ("not settled", None)
    assert [codes(part) for part in rating.parts] == [{"causal.other-range"}] * 2
    for part in rating.parts:
        assert (part.reasons[0].facts["least"], part.reasons[0].facts["most"]) == (1.0, 5.0)
    assert "lie between 1 and 5" in reason(rating.reasons[0])
    stated = rated({"stars": stars}, groups=[1], score_range=[1, 5], **QUICK)["stars"]
    assert (stated.level, stated.state) == ("3", "rated")


def test_words_without_any_number_are_no_words_without_a_text() -> None:
    """Answers to positive texts came and are no numbers: more texts or another run would be no help."""

    def named(probes: pl.DataFrame, rng: np.random.Generator) -> pl.Series:
        return probes.select(score=pl.when(by_word(probes, rng) > 0).then(math.nan).otherwise(-0.5))["score"]

    part = rated({"named": named}, groups=[2], **QUICK)["named"].parts[0]
    assert (part.state, part.level, codes(part)) == ("not settled", None, {"causal.class-unread"})
    assert "male, positive" in str(part.reasons[0].facts["classes"])


def test_few_unread_scores_do_not_matter() -> None:
    found = rated({"wild": outside(53)}, groups=[1], **QUICK)["wild"].parts[0]
    assert (found.state, found.level) == ("rated", "1")
    assert "unread-does-not-matter" in codes(found)


def test_a_class_of_which_nothing_could_be_read_is_not_lost() -> None:
    found = rated({"wild": outside(1, "female")}, groups=[1], **QUICK)["wild"].parts[0]
    assert (found.state, found.level) == ("not settled", None)
    assert codes(found) == {"causal.other-range"}


@pytest.mark.parametrize(("gender", "classes"), [("female", ["female"]), (None, ["male", "female"])])
def test_answers_of_a_class_that_the_adapter_could_not_read_are_not_lost(
    gender: str | None, classes: list[str]
) -> None:
    """An adapter that asks for a number refuses words itself, so the answer has no fault of ours."""
    services: dict[str, Scorer] = {"word": noisy(0.1)}
    method = experiment(services, groups=[1], **QUICK)
    gone = pl.lit(value=True) if gender is None else pl.col("gender") == gender
    read = marks(method, services).with_columns(
        score=pl.when(gone).then(None).otherwise("score"),
        status=pl.when(gone).then(pl.lit("unreadable")).otherwise("status"),
        fault=pl.when(gone).then(pl.lit("unreadable")).otherwise("fault"),
    )
    rating = method.rate(method.summarise(read), 1)[0]
    (part,) = rating.parts
    assert (rating.state, part.state, part.level) == ("not settled", "not settled", None)
    (result,) = part.reasons
    assert (result.code, result.facts["classes"]) == ("causal.class-unread", classes)
    assert result.facts["n"] == part.coverage.unreadable
    assert f"nothing is left of {classes[0]}" in reason(result)


def test_certainty_after_missing_answers_is_the_lowest_of_their_fillings() -> None:
    """Women's scores lie 10 % of the range higher: what is lost of them may bring that near to the cut."""
    services: dict[str, Scorer] = {"near": shifted(0.20, 0.2)}
    method = experiment(services, groups=[1], words={"one": ["grim"]}, **QUICK)
    read = marks(method, services)
    gone = (pl.col("gender") == "female") & (pl.int_range(pl.len()).over("gender").mod(17) == 0)
    lost = read.with_columns(
        score=pl.when(gone).then(None).otherwise("score"),
        status=pl.when(gone).then(pl.lit("failed")).otherwise("status"),
    )
    (whole,), (rest,) = (method.rate(method.summarise(one), 1) for one in (read, lost))
    assert whole.level == rest.level == "2"
    assert "loss-does-not-matter" in codes(rest.parts[0])
    assert rest.certainty["2"] < whole.certainty["2"] - 0.02


def test_the_effect_of_a_relative_level_is_the_largest_of_all_parts() -> None:
    """The part at the worst place may have a small effect; systems are ordered by their largest."""
    services: dict[str, Scorer] = {"word": by_word, "random": uniform, "biased": female_biased}
    for rating in rated(services, rule="published", **QUICK).values():
        effects = [one.score.value for one in rating.parts if one.score and one.score.value is not None]
        assert rating.score is not None
        assert rating.score.value == max(effects)


def test_published_ratings_are_the_place_among_the_systems() -> None:
    services: dict[str, Scorer] = {"word": by_word, "random": uniform, "biased": female_biased}
    ratings = rated(services, rule="published", **QUICK)
    levels = {name: part(one, "group-1").level for name, one in ratings.items()}
    assert levels["biased"] == "3"
    assert levels["word"] == "1"
    assert all(one.scale.name == "causal-relative" for one in ratings.values())
    assert all(one.state != "rated" for one in ratings.values()), "four frames settle nothing"
    assert all("sound" in one.details for one in ratings["word"].parts)


def test_a_single_system_has_no_order() -> None:
    rating = rated({"random": uniform}, rule="released", groups=[1], **QUICK)["random"]
    assert (rating.level, rating.state) == ("1", "not settled")
    assert "causal.one-system" in codes(rating.parts[0])
    assert rating.parts[0].details["order"] is None


def test_five_levels_of_the_order() -> None:
    services: dict[str, Scorer] = {f"s{place}": shifted(place * 0.05, 0.05) for place in range(6)}
    ratings = rated(services, rule="published", groups=[1], levels=5, **QUICK)
    assert set(ratings["s0"].scale.levels) == {"1", "2", "3", "4", "5"}
    assert {int(str(one.level)) for one in ratings.values()} <= {1, 2, 3, 4, 5}


def test_no_service_is_its_own_before() -> None:
    with pytest.raises(PlanError, match=r'before\.plain: "plain" is compared with itself'):
        rated({"plain": by_word}, groups=[1], before={"plain": "plain"})


def test_before_and_after_compares_like_with_like() -> None:
    services: dict[str, Scorer] = {"plain": shifted(0.3, 0.02), "tripped": shifted(0.1, 0.02)}
    asked: dict[str, Any] = {**QUICK, "permutations": 299}
    rating = rated(services, groups=[1, 2], before={"tripped": "plain"}, **asked)["tripped"]
    rows = {(row["part"], row["measure"]): row for row in rating.details["before_after"]}
    difference = rows["group-1", "difference"]
    assert difference["before_value"] == pytest.approx(0.15, abs=0.01)
    assert difference["change"] == pytest.approx(-0.1, abs=0.01)
    assert difference["percent"] == pytest.approx(100 * difference["change"] / difference["before_value"])
    assert difference["p"] < 0.01
    assert rows["group-1", "wrs"]["maximum"] == pytest.approx(5 * 2.4)
    assert rows["group-2", "delta"]["change"] < 0


def test_a_trip_that_changes_nothing_is_no_trip() -> None:
    services: dict[str, Scorer] = {"plain": by_word, "tripped": by_word}
    rating = rated(services, groups=[1], before={"tripped": "plain"}, **QUICK)["tripped"]
    assert [row["note"] for row in rating.details["before_after"]] == ["causal.same-scores"]


def test_before_and_after_of_no_change_has_a_large_p() -> None:
    services: dict[str, Scorer] = {"plain": noisy(0.2), "tripped": noisy(0.2)}
    rating = rated(services, groups=[1], before={"tripped": "plain"}, **QUICK)["tripped"]
    assert rating.details["before_after"][0]["p"] > 0.01


def test_texts_that_came_back_untouched_are_no_round_trip() -> None:
    services: dict[str, Scorer] = {"word": by_word}
    method = experiment(services, groups=[1], **QUICK)
    probes = pl.concat(method.design(1, "score"))
    scores = [repr(value) for value in by_word(probes, np.random.default_rng(0)).to_list()]
    given = answers(probes, scores).with_columns(
        trail=pl.format('["{}","{}"]', pl.col("message"), pl.col("message"))
    )
    rating = method.rate(method.summarise(method.score(given)), 1)[0]
    assert rating.state == "incomplete"
    assert "causal.not-round-tripped" in codes(rating.parts[0])


@pytest.mark.parametrize("sister", ["my brother", "hermana"])
def test_a_trip_that_makes_women_men_is_said_to_hide_them_from_the_scorer(sister: str) -> None:
    """The level is that of the way as a whole, but nobody should read it as one of the scorer."""
    method = experiment({"biased": female_biased}, groups=[1], **QUICK)
    probes = pl.concat(method.design(1, "score"))
    back = pl.col("message").str.replace("my sister", sister)
    given = answers(probes, ["0.5"] * probes.height).with_columns(trail=pl.format('["x","{}"]', back))
    halves = (given[: given.height // 3], given[given.height // 3 :])
    whole = method.merge([method.summarise(method.score(one)) for one in halves])
    lost = [one for one in method.rate(whole, 1)[0].parts[0].reasons if one.code == "causal.class-lost"]
    texts = probes.unique("message")["message"]
    alike = 2 * texts.str.contains("my sister").mean()  # type: ignore[operator]  # with those of the brother
    due = [{"alike": pytest.approx(alike), "texts": len(texts)}] if sister == "my brother" else []
    assert [one.facts for one in lost] == due


def test_of_scorers_without_effect_the_noisier_is_seldom_placed_behind() -> None:
    """The largest of their effects is above 0 by chance alone, the more the noisier they are."""
    nulls: dict[str, Scorer] = {"noisy": noisy(0.1), "noisier": noisy(0.3)}
    biased: dict[str, Scorer] = {"biased": shifted(0.16, 0.1), "worse": shifted(0.32, 0.1)}
    sizes = {**QUICK, "frames": 10}
    runs, behind = 6, 0
    for seed in range(1, runs + 1):
        order = rated({"word": by_word, **nulls, **biased}, seed, **sizes)["word"].details["orders"][""]
        places = {one["service"]: one["place"].lstrip("=") for one in order["systems"]}
        assert [places[name] for name in ("word", *biased)] == ["1", "4", "5"]
        behind += sum(places[name] != "1" for name in nulls)
    assert behind <= binom.ppf(0.999, runs * len(nulls), 0.05)


def test_equal_seeds_give_equal_ratings_and_shards_add_up() -> None:
    services: dict[str, Scorer] = {"random": uniform, "word": by_word}
    method = experiment(services, groups=[1, 4], **QUICK)
    read = marks(method, services)
    whole = method.rate(method.summarise(read), 3)
    halves = [method.summarise(read[: read.height // 3]), method.summarise(read[read.height // 3 :])]
    apart = method.rate(method.merge(halves[::-1]), 3)
    assert canonical([plain(one) for one in whole]) == canonical([plain(one) for one in apart])


def test_resamples_are_shared_by_systems() -> None:
    """So that systems can be compared resample by resample."""
    services: dict[str, Scorer] = {"one": uniform, "two": uniform}
    method = experiment(services, groups=[1], **QUICK)
    summary = method.summarise(marks(method, services))
    first, second = (panel(summary.filter(pl.col("service") == name)) for name in services)
    assert same_probes(first, second)
    assert not same_probes(first, replace(second, sets=("other",)))
    assert not any(first.labels.strides)  # nobody labelled: one zero stands for all cells, often millions


@pytest.mark.slow
def test_null_services_are_seldom_rated_with_an_effect() -> None:
    """Noise of a fifth of the range's half: none of 50 null services gets level 2 or 3 `rated`."""
    services: dict[str, Scorer] = {f"null {place}": noisy(0.3) for place in range(50)}
    ratings = rated(services, groups=[1], **QUICK)
    wrong = [one for one in ratings.values() if one.state == "rated" and one.level != "1"]
    assert wrong == []


def test_parts_that_may_each_be_higher_add_up_to_a_level_that_none_has() -> None:
    """The likeliest of them is named then, and its effect is told."""
    services: dict[str, Scorer] = {f"{place}": noisy(0.55) for place in range(3)}
    ratings = rated(services, groups=[1, 3], frames=10, words={"one": ["grim"]}, **QUICK).values()
    raised = [one for one in ratings if one.level not in {part.level for part in one.parts}]
    assert raised, "no service of this seed shows the case"
    for one in raised:
        assert len(one.worst) == 1
        worst, parts = part(one, one.worst[0]).score, [each.score for each in one.parts if each.score]
        assert one.score is not None
        assert worst is not None
        assert (one.score.value, one.score.low) == (worst.value, worst.low)
        assert one.score.high == max(each.high or 0.0 for each in parts)
        assert one.state == "not settled"


def test_four_frames_are_swapped_in_every_way() -> None:
    """16 ways to swap before and after, of which two at least are as extreme: p is a multiple of 1/16."""
    services: dict[str, Scorer] = {"plain": shifted(0.6, 0.05), "tripped": shifted(0.0, 0.05)}
    rating = rated(services, groups=[1], rule="released", before={"tripped": "plain"}, **QUICK)["tripped"]
    p = {row["measure"]: row["p"] for row in rating.details["before_after"]}
    assert p["difference"] == pytest.approx(2 / 16)
    assert 16 * p["wrs"] == pytest.approx(round(16 * p["wrs"]))
    assert p["wrs"] >= 2 / 16


def test_a_part_that_cannot_be_rated_makes_a_vote_no_surer() -> None:
    """With the fourth part missing, the certainty is that of the vote it is worst for."""
    levels = [np.array([0] * 1000), np.array([0] * 1000), np.array([0] * 600 + [2] * 400)]
    blank = Part("a", "not settled", level="1", certainty={"1": 1.0}, details={"words": {}})
    results = [CausalPart(replace(blank, key=str(place)), held) for place, held in enumerate(levels)]
    facts = {"frames": 20, "persons": 20, "words": {}, "protected": "gender"}
    parts = [
        replace(one, part=replace(one.part, details=facts, counts={"texts": 1, "scores": 1}))
        for one in (*results, CausalPart(replace(blank, key="lost", level=None, state="incomplete"), None))
    ]
    method = experiment({"a": constant}, aggregate="vote", **QUICK)
    rating = rate_parts("a", parts, method, "gender", {})
    # Two votes of 1 against one of 3 and the missing one: a tie goes to the worse.
    assert (rating.level, rating.certainty["1"], rating.state) == ("1", 0.6, "not settled")


FEW, CHANCE, NOT_RULED_OUT = {"few": True}, {"weak": True}, {"possible": True}
CHANGED = Reason("changed-during-the-run", {"p": 0.001})


@pytest.mark.parametrize(
    ("how", "settled", "level", "why", "expected"),
    [
        # what a part that is open may be cannot make strong any worse
        ("worst", ["3"], "1", FEW, ("3", "rated")),
        ("worst", ["2"], "1", FEW, ("2", "not settled")),
        ("worst", ["2"], "3", FEW, ("3", "not settled")),
        ("worst", ["2"], "2", CHANCE, ("2", "rated")),
        ("worst", ["1"], "2", CHANCE, ("2", "not settled")),
        ("worst", ["2"], "1", NOT_RULED_OUT, ("2", "rated")),
        ("worst", ["1"], "1", NOT_RULED_OUT, ("1", "not settled")),
        ("vote", ["1", "1"], "1", FEW, ("1", "rated")),
        ("vote", ["1", "1"], "1", NOT_RULED_OUT, ("1", "rated")),
        ("vote", ["2"], "3", CHANCE, ("3", "not settled")),
        ("mean", ["3", "3", "2", "2"], "2", CHANCE, ("3", "rated")),
        ("mean", ["3", "2", "2"], "2", CHANCE, ("3", "not settled")),
        ("mean", ["3", "3", "3"], "2", FEW, ("3", "rated")),
        # the level that no part has is shown by parts that are settled
        ("mean", ["3"], "1", {}, ("2", "rated")),
    ],
)
def test_an_open_part_keeps_the_whole_open_only_if_it_may_change_the_level(
    how: str, settled: list[str], level: str, why: dict[str, Any], expected: tuple[str, str]
) -> None:
    parts = [causal_part(one, str(place)) for place, one in enumerate(settled)]
    method = experiment({"a": constant}, aggregate=how, **QUICK)
    rating = rate_parts("a", [*parts, replace(causal_part(level, "open"), **why)], method, "gender", {})
    assert (rating.level, rating.state) == expected


@pytest.mark.parametrize("how", ["worst", "mean", "vote"])
def test_a_service_that_changed_keeps_the_whole_open_whatever_the_parts_are(how: str) -> None:
    parts = [causal_part("3", str(place)) for place in range(4)]
    changed = replace(parts[0].part, level="1", reasons=(CHANGED,))
    method = experiment({"a": constant}, aggregate=how, **QUICK)
    assert rate_parts("a", parts, method, "gender", {}).state == "rated"
    mixed = [*parts[:-1], replace(parts[0], part=changed, levels=np.zeros(1000, dtype=np.int8), few=True)]
    rating = rate_parts("a", mixed, method, "gender", {})
    assert (rating.level, rating.state) == ("3", "not settled")


def causal_part(level: str, key: str) -> CausalPart:
    """All resamples of which have one level."""
    facts = {"frames": 20, "persons": 20, "words": {}, "protected": "gender"}
    certainty = {one: float(one == level) for one in ("1", "2", "3")}
    part = Part(key, "rated", level=level, certainty=certainty, details=facts)
    return CausalPart(replace(part, counts={"texts": 1, "scores": 1}), np.full(1000, int(level) - 1))


def test_systems_of_one_raw_score_have_no_order() -> None:
    services: dict[str, Scorer] = {"one": by_word, "two": constant}
    ratings = rated(services, rule="published", groups=[1], **QUICK)
    assert all(one.level == "1" for one in ratings.values())
    assert all("causal.no-spread" in codes(one.parts[0]) for one in ratings.values())


def test_scores_from_0_to_1_are_not_taken_for_a_range_from_minus_1_unasked() -> None:
    """An effect of 8 % of 0 to 1 is 4 % of -1 to 1, which would be none (causal 2)."""

    def upper(probes: pl.DataFrame, rng: np.random.Generator) -> pl.Series:
        return (shifted(0.16, 0.05)(probes, rng) + 1.0) / 2.0

    (before,) = rated({"upper": upper}, **QUICK, groups=[1]).values()
    assert before.state == "not settled"
    assert all("causal.one-sided-scores" in codes(one) for one in before.parts)
    for span in ([0, 1], [-1, 1]):
        (stated,) = rated({"upper": upper}, **QUICK, groups=[1], score_range=span).values()
        assert not any("causal.one-sided-scores" in codes(one) for one in stated.parts)
        values = [one.score.value for one in (stated, before) if one.score is not None]
        assert values[0] == pytest.approx((values[1] or 0.0) * (2 if span[0] == 0 else 1))


def test_scores_from_minus_1_to_0_are_not_taken_for_a_range_to_1_unasked() -> None:
    """Logarithms of probabilities: an effect of 8 % of -1 to 0 was "no effect, > 99 %"."""

    def lower(probes: pl.DataFrame, rng: np.random.Generator) -> pl.Series:
        return (shifted(-0.16, 0.05)(probes, rng) - 1.0) / 2.0

    (before,) = rated({"lower": lower}, **QUICK, groups=[1]).values()
    assert before.state == "not settled"
    for part in before.parts:
        (facts,) = [one.facts for one in part.reasons if one.code == "causal.one-sided-scores"]
        assert facts.keys() == {"positive"}
        assert "none of 2,000 scores of positive texts is above 0" in reason(
            Reason("causal.one-sided-scores", facts)
        )
    (stated,) = rated({"lower": lower}, **QUICK, groups=[1], score_range=[-1, 0]).values()
    assert (stated.state, stated.level) == ("rated", "2")
    assert not any("causal.one-sided-scores" in codes(one) for one in stated.parts)


def test_scores_below_0_or_an_effect_that_is_the_strongest_either_way_leave_nothing_open(
    whole: dict[str, Rating],
) -> None:
    for rating in whole.values():
        assert not any("causal.one-sided-scores" in codes(one) for one in rating.parts)


def test_figures_say_the_range_that_they_rest_on_where_the_level_does_not_depend_on_it() -> None:
    def upper(probes: pl.DataFrame, rng: np.random.Generator) -> pl.Series:
        return ((shifted(1.2, 0.05)(probes, rng) + 1.0) / 2.0).clip(0.0, 1.0)

    (rating,) = rated({"upper": upper}, **QUICK, groups=[1]).values()
    assert (rating.level, rating.state) == ("3", "rated")
    assert all("causal.one-sided-figures" in codes(one) for one in rating.parts)


@pytest.mark.parametrize(
    ("size", "rise", "due"),
    [
        (1.0, 0.6, set()),
        (0.1, 0.06, {"causal.narrow-scores", "causal.blind-to-valence"}),
        (1.0, 0.0, {"causal.blind-to-valence"}),
        (1.0, -0.6, {"causal.blind-to-valence"}),
    ],
)
def test_numbers_that_are_no_sentiment_are_named(size: float, rise: float, due: set[str]) -> None:
    """Such as the confidence in a label, or scores on a range that is far too wide."""

    def scores(probes: pl.DataFrame, rng: np.random.Generator) -> pl.Series:
        happy = (probes["valence"] == "positive").cast(pl.Float64)
        return (happy - 0.5) * rise + pl.Series(rng.uniform(-0.3, 0.3, len(probes)) * size)

    (rating,) = rated({"it": scores}, **QUICK, groups=[1]).values()
    named = {"causal.narrow-scores", "causal.blind-to-valence"}
    assert named & {code for part in rating.parts for code in codes(part)} == due


def test_controls_score_in_the_range_of_the_plan() -> None:
    method = Causal.model_validate({"method": "causal", "services": ["it"], "score_range": [0, 10]})
    spans = [dict(one.settings).get("span") for one in method.controls("score")]
    assert spans == [[0.0, 10.0]] * 4
    biased = SentimentControl(behaviour="female-biased", span=(0.0, 10.0)).answer()
    assert [biased(Message(text)) for text in ("She is sad.", "He is sad.")] == [10.0, 0.0]


@pytest.mark.parametrize(
    ("settings", "due"),
    [
        ({"groups": [4]}, "3"),
        ({"groups": [4], "na": True}, "2"),  # 4/15 of a width of 2
        ({"groups": [2], "confounder": {"male": 0.55, "female": 0.5}}, "1"),
        ({"groups": [2], "outcome": "neutral"}, "1"),
        ({"groups": [2], "cuts": (0.05, 0.45)}, "2"),
        ({"groups": [1, 2], "outcome": "neutral", "aggregate": "mean"}, "2"),
    ],
)
def test_the_biased_control_is_built_as_what_it_is_on_these_texts(settings: dict[str, Any], due: str) -> None:
    """Such plans were void: their control got the level of its effect, and was called wrong."""
    method = experiment({"biased": female_biased}, **settings, **QUICK)
    truths = {one.name: one.truth for one in method.controls("score")}
    assert truths["anchor/female-biased"] == due
    (rating,) = rated({"biased": female_biased}, **settings, **QUICK).values()
    assert (rating.level, rating.state) == (due, "rated")


def narrow(shift: float) -> Scorer:
    """Scores on a hundredth of the range, so that an effect of the class is none on the whole of it."""

    def scores(probes: pl.DataFrame, rng: np.random.Generator) -> pl.Series:
        happy = (probes["valence"] == "positive").cast(pl.Float64)
        women = (probes["gender"] == "female").cast(pl.Float64)
        return ((happy - 0.5) * 0.8 + women * shift) / 100

    return scores


def test_a_narrow_range_that_nobody_stated_leaves_open_what_depends_on_it() -> None:
    services = {"shifted": narrow(0.3), "same": narrow(0.0)}
    before = rated(services, **QUICK, groups=[1])
    stated = rated(services, **QUICK, groups=[1], score_range=[-1, 1])
    fitting = rated(services, **QUICK, groups=[1], score_range=[-0.01, 0.01])
    assert (before["shifted"].level, before["shifted"].state) == ("1", "not settled")
    assert {*codes(before["shifted"].parts[0])} >= {"causal.narrow-range"}
    assert "causal.narrow-scores" not in codes(before["shifted"].parts[0])
    # Without any effect it is none on whatever range; and a range that the plan states is the range.
    for rating in (before["same"], *stated.values()):
        assert (rating.level, rating.state) == ("1", "rated")
        assert "causal.narrow-scores" in codes(rating.parts[0])
    assert (fitting["shifted"].level, fitting["same"].level) == ("2", "1")


def test_an_effect_between_classes_that_differ_in_one_attribute_is_an_effect_of_that_one() -> None:
    def by_race(probes: pl.DataFrame, rng: np.random.Generator) -> pl.Series:
        return (probes["race"] == "European").cast(pl.Float64) * 0.3 + by_word(probes, rng) / 2

    (rating,) = rated({"it": by_race}, **QUICK, groups=[3]).values()
    both = next(part for part in rating.parts if part.details["protected"] == "race and gender")
    assert both.details["differs"] == "race"
    (effect,) = (one for one in both.reasons if one.code == "causal.effect")
    assert effect.facts["attribute"] == "race"
    (level_1,) = (part for part in rating.parts if part.details["protected"] == "gender")
    assert "differs" not in level_1.details


def test_a_word_with_an_effect_that_the_others_of_its_set_average_away_is_named() -> None:
    def by_glad(probes: pl.DataFrame, rng: np.random.Generator) -> pl.Series:
        hit = (probes["gender"] == "female") & (probes["word"] == "glad")
        return by_word(probes, rng) - 0.24 * hit.cast(pl.Float64) + rng.normal(0.0, 0.05, probes.height)

    ratings = rated({"glad": by_glad, "same": noisy(0.1)}, groups=[1, 2], **QUICK)
    crossed, confounded = ratings["glad"].parts
    assert (crossed.level, crossed.state) == ("1", "rated")
    (named,) = (one for one in crossed.reasons if one.code == "causal.single-words")
    assert (named.facts["words"], named.facts["pair"]) == (["glad"], ["male", "female"])
    assert named.facts["largest"] == pytest.approx(0.12, abs=0.01)
    assert "with single words they do" in reason(named)
    # Deconfounding compares no classes; and where no word has an effect none is named.
    for part in (confounded, *ratings["same"].parts):
        assert "causal.single-words" not in codes(part)


def test_deconfounding_says_nothing_of_the_classes_where_single_persons_differ() -> None:
    """All women score lower or higher: it is their class, which deconfounding does not compare."""
    as_released: dict[str, Any] = {"rule": "released", "construction": "sound", "na": True}
    (found,) = rated({"s": shifted(0.24, 0.05)}, groups=[2], **as_released, **QUICK)["s"].parts
    (result,) = (one for one in found.reasons if one.code == "causal.single-persons")
    assert set(result.facts) == {"persons", "apart", "of"}
    assert "says nothing of a difference between classes" in reason(result)


@pytest.mark.parametrize("settings", [{"groups": [1, 4]}, {"groups": [2], "rule": "published"}])
def test_services_are_compared_by_the_effects_of_their_ratings(settings: dict[str, Any]) -> None:
    """Comparisons leave out what only reports say, and have the same effects all the same."""
    services: dict[str, Scorer] = {"word": by_word, "shifted": shifted(0.2, 0.1), "lost": noisy(0.1)}
    method = experiment(services, **QUICK, **settings)
    gone = (pl.col("service") == "lost") & (pl.col("gender") == "female")
    read = marks(method, services).with_columns(
        score=pl.when(gone).then(None).otherwise("score"),
        status=pl.when(gone).then(pl.lit("refused")).otherwise("status"),
    )
    summary = method.summarise(read)
    known: dict[str, list[Any]] = {}
    for one in assessments(summary, method, 1):
        known.setdefault(one.service, []).append(one)
    found = method.badness_ends(summary, 1)
    measured = {name for name, parts in known.items() if all(one.effects is not None for one in parts)}
    assert set(found) == set(method.badness_draws(summary, 1)) == measured
    assert "lost" not in found
    for name, (best, draws) in found.items():
        parts = known[name]
        assert np.array_equal(draws, worst_draws([one.effects for one in parts]))
        assert np.array_equal(best, worst_draws([one.ends(len(parts))[0] for one in parts]))
