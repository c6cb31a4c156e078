"""Answers referred to a second judge: which are, what becomes of them, and how sure a rating by them is."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import polars as pl
import pytest

from trustgauge.data.social_groups import groups
from trustgauge.errors import PlanError
from trustgauge.methods.social_bias.judge_accuracy import Accuracy, evaluation_answers, size, unit_size
from trustgauge.methods.social_bias.judges import referral
from trustgauge.methods.social_bias.judges.dispatch import BIASED
from trustgauge.methods.social_bias.judges.evaluation import measure, rule_judge
from trustgauge.methods.social_bias.judges.model import ModelJudge
from trustgauge.methods.social_bias.judges.referral import NEVER, Referral
from trustgauge.methods.social_bias.method import SocialBias
from trustgauge.records import RESPONSE, Interval, Rating

ASKED = {"attributes": ("gender",), "groups": 2, "properties": 3, "tuples": ("absolute",), "questions": 0}
KINDS = {"str": pl.String, "int": pl.Int64, "float": pl.Float64}
UNREADABLE = "Maybe."  # to the rule judge


def method(refer: str = "unclear", **changes: Any) -> SocialBias:
    settings = {
        "method": "social-bias",
        "services": ("bot",),
        "judge": {"use": "model", "service": "critic", "refer": refer},
        "resamples": 1000,
        "permutations": 199,
        **ASKED,
    }
    return SocialBias.model_validate({**settings, **changes})


def answers(of: SocialBias, say: Callable[[dict[str, Any]], str], service: str = "bot") -> pl.DataFrame:
    probes = pl.concat(of.design(5, "chat"))
    said = [say(row) for row in probes.iter_rows(named=True)]
    given = {"status": pl.lit("answered"), "trail": pl.lit("[]"), "error": pl.lit(""), "at": pl.lit("")}
    frame = probes.with_columns(
        pl.Series("output", said, dtype=pl.String),
        *(value.alias(name) for name, value in given.items()),
        *(pl.lit(0).alias(name) for name in ("millis", "attempts", "tokens", "usd")),
        service=pl.lit(service),
        part=pl.lit(""),
    )
    return frame.with_columns(pl.col(name).cast(KINDS[kind]) for name, kind in RESPONSE.items())


def even(row: Mapping[str, Any]) -> str:
    return "It depends on the person, not on the group."


def test_a_second_judge_belongs_to_the_sound_rule() -> None:
    with pytest.raises(PlanError, match='judge: the judge "model" does not read for this rule'):
        method(rule="published")
    with pytest.raises(ValueError, match="20 labelled answers at least"):
        method(judge={"use": "model", "service": "critic", "labelled": 5})


def test_settings_without_a_judge_are_identified_as_ever() -> None:
    plain = SocialBias.model_validate({"method": "social-bias", "services": ("bot",), **ASKED})
    assert "judge" not in plain.identity()
    assert method().identity()["judge"] == {
        "use": "model", "service": "critic", "refer": "unclear", "labelled": 0,
    }  # fmt: skip
    assert "referral" not in plain.score(answers(plain, even)).columns


def test_what_the_rule_judge_cannot_decide_is_referred_once() -> None:
    bot = method()
    marks = bot.score(answers(bot, lambda row: UNREADABLE if row["kind"] == "choice" else "No."))
    unclear = marks.filter(pl.col("rule_verdict") == "unclear")
    assert len(unclear) > 20
    assert set(unclear["referral"]) == {"pending"}
    assert set(marks.filter(pl.col("rule_verdict") != "unclear")["referral"]) == {"kept"}
    assert set(unclear["status"]) == {"unread"}
    asked = bot.referral_prompts(marks)
    assert len(asked) == len(set(asked)) == unclear["message"].n_unique()
    assert bot.pending_prompts(marks) == len({*asked, *bot.evaluation_prompts()})


def test_all_answers_are_referred_if_the_plan_says_so_but_those_of_controls() -> None:
    bot = method("all")
    both = pl.concat([answers(bot, even), answers(bot, even, "control anchor/even-handed")])
    marks = bot.score(both)
    mine, control = marks.filter(pl.col("service") == "bot"), marks.filter(pl.col("service") != "bot")
    assert set(mine["referral"]) == {"pending"}
    assert set(control["referral"]) == {NEVER}
    assert set(control["verdict"]) == {"even-handed"}
    assert len(bot.referral_prompts(marks)) == mine["message"].n_unique()


def test_silence_and_refusals_by_the_service_are_not_referred() -> None:
    bot = method("all")
    frame = answers(bot, even).with_columns(
        pl.when(pl.int_range(pl.len()) % 2 == 0)
        .then(pl.lit("refused"))
        .otherwise(pl.lit("empty"))
        .alias("status")
    )
    marks = bot.score(frame)
    assert set(marks["referral"]) == {"kept"}
    assert set(marks["verdict"]) == {"refuses", "off-topic"}


def test_its_verdict_stands_beside_that_of_the_rule_and_is_used_where_it_is_clear() -> None:
    bot = method("all")
    frame = answers(bot, lambda _: "Yes.").filter(pl.col("kind") == "yes-no").head(4)
    first = bot.score(frame)
    prompts = bot.referral_prompts(first)
    assert len(prompts) == 4
    replies = {prompts[0]: "denies", prompts[1]: "I cannot tell", prompts[2]: None}
    marks = bot.with_replies(replies).score(frame)
    assert marks["rule_verdict"].to_list() == ["affirms"] * 4
    assert marks["judge_verdict"].to_list() == ["denies", "unclear", "", ""]
    assert marks["referral"].to_list() == ["settled", "unclear", "failed", "pending"]
    assert marks["verdict"].to_list() == ["denies", "unclear", "unclear", "unclear"]
    assert marks["status"].to_list() == ["answered", "unread", "unread", "unread"]
    assert marks["span_start"].to_list() == [-1] * 4
    shown = bot.evidence(marks)
    assert shown["judge_verdict"].to_list() == marks["judge_verdict"].to_list()
    summary = bot.summarise(marks)
    assert summary["n"].sum() == 4
    halves = [bot.summarise(marks.head(2)), bot.summarise(marks.tail(2))]
    assert bot.merge(halves).equals(bot.merge([summary]))


def test_labelled_answers_are_held_out_and_a_larger_number_holds_the_smaller() -> None:
    few, more = (Referral(use="model", service="x", labelled=size_) for size_ in (20, 60))
    small, large = (referral.pairs(one, "en") for one in (few, more))
    assert small.rows() == large.head(20).rows()
    assert small["label"].is_in(BIASED).sum() == 10
    held = set(evaluation_answers("en").select("question", "answer").iter_rows())
    assert set(large.select("message", "output").iter_rows()) <= held
    assert len(referral.pairs(Referral(use="model", service="x"), "zh")) == len(evaluation_answers("zh"))


def test_rule_and_model_are_measured_together() -> None:
    """A judge that always sees a refusal finds what the rule finds, and misses all that was left to it."""
    unclear = Referral(use="model", service="x", refer="unclear")
    prompts = referral.measuring_prompts(unclear, "en")
    assert referral.joint_accuracy(unclear, "en", {}) is None
    assert referral.joint_accuracy(unclear, "en", dict.fromkeys(prompts[1:], "denies")) is None
    both = referral.joint_accuracy(unclear, "en", dict.fromkeys(prompts, "refuses"))
    alone = measure(rule_judge("sound", {one.id: one for one in groups()}), evaluation_answers("en")).row(
        0, named=True
    )
    assert both is not None
    assert both.found == alone["found"]
    left = referral.pairs(unclear, "en").filter(pl.col("rule_verdict") == "unclear")
    favour = left["label"].is_in(BIASED).sum()
    assert favour > 0
    assert both.positives == alone["biased"] + favour
    others = left.filter((pl.col("label") != "unclear") & ~pl.col("label").is_in(BIASED))
    assert (both.negatives, both.passed) == (alone["unbiased"] + len(others), alone["passed"] + len(others))
    every = Referral(use="model", service="x", refer="all")
    result = referral.joint_accuracy(
        every, "en", dict.fromkeys(referral.measuring_prompts(every, "en"), "refuses")
    )
    assert result is not None
    assert (result.found, result.passed) == (0, result.negatives)
    assert not result.usable


def test_a_failed_measurement_is_no_answer() -> None:
    every = Referral(use="model", service="x", refer="all")
    result = referral.joint_accuracy(every, "en", dict.fromkeys(referral.measuring_prompts(every, "en")))
    assert result is not None
    assert result.positives == 0
    assert not result.usable


def test_a_judge_that_is_wrong_too_often_or_not_measured_rates_nothing() -> None:
    bot = method("all")
    frame = answers(bot, even)
    replies = dict.fromkeys([*bot.referral_prompts(bot.score(frame)), *bot.evaluation_prompts()], "refuses")
    weak = rating(bot.with_replies(replies), frame)
    assert weak.state == "not settled"
    assert "social-bias.judge-too-weak" in {one.code for one in weak.parts[0].reasons}
    unmeasured = rating(
        bot.with_replies(dict.fromkeys(bot.referral_prompts(bot.score(frame)), "refuses")), frame
    )
    assert unmeasured.parts[0].reasons[0].code == "social-bias.judge-not-measured"
    assert unmeasured.details["judge"]["accuracy"] is None


def rating(of: SocialBias, frame: pl.DataFrame) -> Rating:
    (one,) = of.rate(of.summarise(of.score(frame)), 5)
    return one


@pytest.mark.parametrize("halves", [False, True])
def test_a_difference_is_divided_by_what_the_judge_leaves_of_it(halves: bool) -> None:
    accuracy = Accuracy(100, 90, 100, 95, halves=halves)
    rng = np.random.default_rng(1)
    value, drawn = accuracy.correct(Interval(0.34, 0.30, 0.38, 500), np.full(4000, 0.34), rng)
    single, unit = 0.85, 0.9 * 0.95 - 2 * 0.95 * 0.05
    assert size(np.array(0.9), np.array(0.95)) == pytest.approx(single)
    assert unit_size(np.array(0.9), np.array(0.95)) == pytest.approx(unit)
    assert value.value == pytest.approx(0.34 / ((single + unit) / 2 if halves else single))
    assert value.low is not None
    assert value.high is not None
    assert value.low <= 0.30 / single
    assert value.high >= (0.38 / unit if halves else 0.38 / single)
    assert drawn.mean() == pytest.approx(value.value, abs=0.01)


def chance(*what: object) -> float:
    """A number in [0, 1) that depends on its arguments only."""
    whole = hashlib.blake2b(repr(what).encode(), digest_size=8).digest()
    return int.from_bytes(whole, "big") / 2**64


SE, SP, TRUTH = 0.85, 0.94, 0.30


def judged(seed: int, prompt: str, truth: str, kind: str) -> str:
    """What a judge of this sensitivity and specificity says: wrong by the toss of a coin for each prompt."""
    toss = chance(seed, prompt)
    if truth in BIASED:
        return truth if toss < SE else "even-handed"
    if toss < SP:
        return truth
    return {"choice": "chooses-a" if chance(seed, prompt, 2) < 0.5 else "chooses-b", "why": "explains"}.get(
        kind, "affirms"
    )


def simulated(seed: int) -> Rating:
    """A bot that favours a real group in so many units, never an invented one, read by such a judge."""
    bot = method("all", properties=5)
    partner = {"c1r": "c1", "c2r": "c2", "y2": "y1", "y4": "y3", "w2": "w1"}

    def truth(row: dict[str, Any]) -> str:
        unit = (row["property"], row["group_a"], row["group_b"], partner.get(row["form"], row["form"]))
        if row["control"] or chance(seed, *unit) >= TRUTH:
            return "even-handed"
        if row["kind"] == "choice":
            return "chooses-a"
        return {"why": "explains"}.get(row["kind"], "affirms") if row["favours"] == "a" else "denies"

    frame = answers(bot, even)
    rows = [truth(row) for row in frame.iter_rows(named=True)]
    known = {one.id: one for one in groups()}
    prompts = ModelJudge("critic").prompts(frame, known).to_list()
    kinds = frame["kind"].to_list()
    replies: dict[str, str | None] = {
        prompt: judged(seed, prompt, verdict, kind)
        for prompt, verdict, kind in zip(prompts, rows, kinds, strict=True)
    }
    pairs = referral.pairs(bot.referral, "en") if bot.referral else pl.DataFrame()
    for prompt, label, kind in zip(
        ModelJudge("critic").prompts(pairs, known), pairs["label"], pairs["kind"], strict=True
    ):
        replies[prompt] = judged(seed, prompt, label, kind)
    return rating(bot.with_replies(replies), frame)


def test_a_judge_of_known_errors_gives_intervals_that_cover_the_truth() -> None:
    inside, raw = 0, []
    runs = 16
    for seed in range(runs):
        part = simulated(seed).parts[0]
        entry = part.details["absolute"]
        inside += entry["excess"]["low"] <= TRUTH <= entry["excess"]["high"]
        raw.append(entry["rate"]["value"] - entry["control"]["value"])
        assert entry["judge"]["sensitivity"] == pytest.approx(SE, abs=0.12)
    assert inside >= runs - 2
    assert np.mean(raw) < 0.9 * TRUTH  # what is not corrected is too small
