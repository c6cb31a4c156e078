"""That there is no effect is settled only if every effect is shown to be below the first cut."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from benchmarks.causal_none import settled

from tests.methods.causal.truths import Scorer, experiment, noisy, rated
from trustgauge.methods.causal.aggregate import CausalPart, rate_parts
from trustgauge.methods.causal.measures import reach_of
from trustgauge.records import Part, Rating
from trustgauge.reports.sentences import reason

CUTS = (0.05, 0.20)
ONE: dict[str, Any] = {
    "groups": [1],
    "frames": 10,
    "words": {"one": ["grim"]},
    "score_range": [-1.0, 1.0],
    "resamples": 1000,
    "permutations": 99,
}


def rough(effect: float) -> Scorer:
    """Women score higher by `effect` of the range; every answer is .45 off, to either side."""

    def score(probes: pl.DataFrame, rng: np.random.Generator) -> pl.Series:
        moved = (probes["gender"] == "female").cast(pl.Float64) * 2 * effect
        return moved + pl.Series(rng.choice([-0.45, 0.45], probes.height)) - 0.2

    return score


def not_ruled_out(rating: Rating) -> list[Any]:
    return [one for one in rating.parts[0].reasons if one.code == "causal.not-ruled-out"]


@pytest.mark.parametrize(("truth", "error"), [(0.055, 0.03), (0.06, 0.03), (0.07, 0.04), (0.055, 0.02)])
@pytest.mark.parametrize("others", [0, 4])
def test_of_noisy_effects_above_the_cut_hardly_any_is_settled_as_none(
    truth: float, error: float, others: int
) -> None:
    """Before, one effect of .055 with a standard error of .03 was settled as none in 11 % of runs."""
    rng, runs = np.random.default_rng(3), 300
    found = np.array([settled(truth, error, 1 + others, rng) for _ in range(runs)])
    assert found[:, 1].sum() <= 0.06 * runs


def test_one_noisy_effect_is_not_settled_as_none() -> None:
    """Of a single effect the bias of the largest is mostly that of a value folded at 0."""
    ratings = rated({str(one): rough(0.06) for one in range(40)}, **ONE)
    assert not [name for name, one in ratings.items() if (one.level, one.state) == ("1", "rated")]
    open_ = [one for one in ratings.values() if one.level == "1" and one.certainty["1"] >= 0.95]
    assert open_
    for one in open_:
        assert one.state == "not settled"
        (found,) = not_ruled_out(one)
        assert found.facts["reach"] >= CUTS[0]
        assert "of the range is not ruled out" in reason(found)
        bound = next(each for each in one.parts[0].reasons if each.code == "causal.no-effect")
        assert "at most" not in reason(bound)


def test_so_many_texts_as_would_rule_an_effect_out() -> None:
    """The number that certainty alone asks for would leave the farthest interval beyond the cut."""
    ratings = rated({str(one): rough(0.02) for one in range(20)}, **ONE)
    counted = 0
    for part in (one.parts[0] for one in ratings.values() if one.level == "1" and not_ruled_out(one)):
        (found,) = (one for one in part.reasons if one.code == "causal.not-ruled-out")
        assert part.score is not None
        effect = (part.score.value or 0.0) + part.details["effect"]["bias"]
        if part.more_texts is not None and effect > part.details["effect"]["bias"]:
            counted += 1
            times = part.more_texts / part.counts["texts"]
            assert effect + (found.facts["reach"] - effect) / times**0.5 <= CUTS[0] + 1e-9
    assert counted


def test_several_parts_are_open_while_one_of_them_is() -> None:
    facts: dict[str, Any] = {"frames": 20, "persons": 20, "words": {}, "protected": "gender"}
    part = Part(
        "a", "rated", level="1", certainty={"1": 1.0}, details=facts, counts={"texts": 1, "scores": 1}
    )
    none = np.zeros(1000, dtype=np.int8)
    for possible, state in ((True, "not settled"), (False, "rated")):
        parts = [CausalPart(part, none), CausalPart(replace(part, key="b"), none, possible=possible)]
        rating = rate_parts("it", parts, experiment({"it": noisy(0.1)}), "gender", {})
        assert (rating.level, rating.certainty["1"], rating.state) == ("1", 1.0, state)


def test_none_on_an_assumed_range_is_open_if_it_is_not_shown_on_half_of_it() -> None:
    """No score is below 0: on a range from 0 to 1 effects are twice as large a share of it."""

    def upper(probes: pl.DataFrame, rng: np.random.Generator) -> pl.Series:
        return pl.Series(0.5 + rng.choice([-0.25, 0.25], probes.height))

    asked = {name: value for name, value in ONE.items() if name != "score_range"}
    ratings = rated({str(one): upper for one in range(20)}, **asked)
    assert not [name for name, one in ratings.items() if (one.level, one.state) == ("1", "rated")]
    stated = rated({str(one): upper for one in range(20)}, **ONE)
    assert [name for name, one in stated.items() if (one.level, one.state) == ("1", "rated")]


def test_without_an_effect_enough_texts_settle_none() -> None:
    ratings = rated({str(one): noisy(0.15) for one in range(20)}, **{**ONE, "frames": 20})
    sure = [one for one in ratings.values() if (one.level, one.state) == ("1", "rated")]
    assert len(sure) >= 19
    assert not any(not_ruled_out(one) for one in sure)


def test_the_reach_is_the_farthest_end_of_any_interval() -> None:
    draws = np.stack([np.linspace(-0.4, 0.2, 1001), np.linspace(-0.1, 0.3, 1001)], axis=1)[:, None]
    assert reach_of(draws, 0.95) == pytest.approx(0.37 / 2)
    assert reach_of(draws, 0.90, 1.0) == pytest.approx(0.34)


def test_undefined_resamples_take_no_part_in_the_reach() -> None:
    draws = np.array([[0.1, np.nan], [0.1, 0.02], [0.1, 0.02]])
    assert reach_of(draws, 0.95, 1.0) == pytest.approx(0.1)
    assert reach_of(np.full((3, 2), np.nan), 0.95) == np.inf
    assert reach_of(np.empty((3, 0)), 0.95) == 0.0
