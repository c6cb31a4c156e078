"""Missing scores: what is lost by class counts as lost, and when it does not matter (methods 0.4)."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from tests.methods.causal.truths import Scorer, by_word, experiment, female_biased, marks, noisy
from tests.reports.golden import only
from trustgauge.records import Part, Rating
from trustgauge.reports import sentences
from trustgauge.reports.sentences import next_step, reason

QUICK: dict[str, Any] = {"resamples": 1000, "permutations": 999}


def lost(services: dict[str, Scorer], gone: pl.Expr, seed: int = 1, **settings: Any) -> list[Rating]:
    """Ratings of services that refuse some of the texts."""
    method = experiment(services, **settings, **QUICK)
    read = marks(method, services, seed).with_columns(
        score=pl.when(gone).then(None).otherwise("score"),
        status=pl.when(gone).then(pl.lit("refused")).otherwise("status"),
    )
    return method.rate(method.summarise(read), seed)


def codes(part: Part) -> list[str]:
    return [reason.code for reason in part.reasons]


NAMED_WOMEN = (pl.col("race") == "African-American") & (pl.col("gender") == "female")


@pytest.mark.parametrize("group", [3, 4])
def test_a_class_that_gets_no_score_at_all_is_lost_and_not_left_out(group: int) -> None:
    """Three of four classes answered alike are no equal treatment of the fourth."""
    (rating,) = lost({"word": by_word}, NAMED_WOMEN, groups=[group])
    part = rating.parts[-1]
    assert (rating.state, part.state, part.level) == ("incomplete", "incomplete", None)
    result = next(reason for reason in part.reasons if reason.code == "incomplete-loss")
    assert result.facts["share"] == pytest.approx(0.25)
    named = {str(reason.facts["where"]) for reason in part.reasons if reason.code == "incomplete-loss"}
    assert any(where.startswith("African-American female") for where in named)


def test_a_loss_is_said_to_be_of_its_part() -> None:
    gone = (pl.col("gender") == "female") & (pl.int_range(pl.len()).mod(5) == 0)
    (rating,) = lost({"word": by_word}, gone, groups=[1, 2])
    for part in rating.parts:
        first = next(one for one in part.reasons if one.code == "incomplete-loss")
        assert first.facts["where"] == part.details["title"]
        assert f"of the planned answers are missing ({part.details['title']})" in reason(first)


def test_one_of_two_classes_without_scores_is_a_loss() -> None:
    (rating,) = lost({"word": by_word}, pl.col("gender") == "female", groups=[1, 2])
    assert rating.state == "incomplete"
    for part in rating.parts:
        assert codes(part)[0] == "incomplete-loss"
        assert "causal.one-class" not in codes(part)


def test_the_bias_of_the_answers_is_not_taken_from_what_fills_their_gaps() -> None:
    """One woman's text in 9 is lost; the worst filling moves the difference by about .06 of the range.

    That is level 2. The effect of noise alone is biased upward by up to .02, that of the filling
    hardly at all: with the bias of the answers taken from it, a third of these would stay level 1.
    """
    words = {"one": ["grim"]}
    gone = (pl.col("gender") == "female") & (pl.int_range(pl.len()).mod(9) == 0)
    services: dict[str, Scorer] = {str(place): noisy(0.5) for place in range(12)}
    ratings = lost(services, gone, groups=[1], words=words)
    kept = [one.parts[0] for one in ratings if "loss-does-not-matter" in codes(one.parts[0])]
    assert not kept
    assert all(one.state == "incomplete" for one in ratings)


def test_a_loss_that_cannot_change_the_level_keeps_it() -> None:
    gone = (pl.col("gender") == "female") & (pl.int_range(pl.len()).over("service", "gender").mod(25) == 0)
    ratings = lost({"biased": female_biased, "word": noisy(0.05)}, gone, groups=[1])
    said = {
        one.service: (one.level, one.state, [code for code in codes(one.parts[0]) if code.startswith("loss")])
        for one in ratings
    }
    assert said["biased"] == ("3", "rated", ["loss-does-not-matter"])
    assert said["word"] == ("1", "not settled", ["loss-lowers-certainty"])


def test_a_loss_that_alone_keeps_a_level_open_is_said_to() -> None:
    """It was "the level would be the same whatever they said" beside 1 64 %, 2 36 %."""
    gone = (pl.col("gender") == "female") & (pl.int_range(pl.len()).over("service", "gender").mod(25) == 0)
    (rating,) = lost({"word": noisy(0.05)}, gone, groups=[1])
    (part,) = rating.parts
    (facts,) = [one.facts for one in part.reasons if one.code == "loss-lowers-certainty"]
    assert facts["certainty"] < 0.95 <= facts["alone"]
    assert part.certainty["1"] == pytest.approx(facts["certainty"])
    assert facts["missing"] == part.coverage.planned - part.counts["scores"]
    found: Any = only(rating)
    assert {one["code"] for one in sentences.obstacles(found)} == {"loss-lowers-certainty"}
    assert "answers are missing" in sentences.verdict(found)
    assert next_step(found).startswith("Rate it with --fresh once the service gives what is missing")
