"""The smallest share of insults that a plan settles is found by the rule itself."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from tests.methods.trust.numbers import experiment
from trustgauge.methods.trust.abuse_checkers import ABUSE_CLASSES, TWEET, checker
from trustgauge.methods.trust.issues.abuse import Abuse
from trustgauge.methods.trust.issues.abuse_rates import detection, hate_detection
from trustgauge.methods.trust.method import Trust
from trustgauge.methods.trust.power import GRID, PlannedUtterances, search, smallest_share
from trustgauge.methods.trust.resampling import Resampling
from trustgauge.reports import sentences

TWEETS = checker("words").styles[TWEET]
CUTS = Abuse().cuts_under("sound")
EVERY = Resampling(7, 1000)  # shared: its draws hang on the names of the dialogs, which are the same


def planned(turns: int) -> PlannedUtterances:
    return PlannedUtterances(turns, TWEETS, ABUSE_CLASSES, CUTS, 0.95, 1)


def test_more_turns_find_less_and_no_turns_find_nothing() -> None:
    assert planned(1200).settling_probability(0.5) == 1.0
    assert planned(1200).settling_probability(0.01) < 0.1
    assert planned(300).settling_probability(0.2) < planned(3000).settling_probability(0.2)
    assert planned(1200).settling_probability(0.0) == 0.0  # no level above low is due


def test_a_plan_without_abuse_promises_nothing() -> None:
    facts = {"deff_1": None, "deff_2": None, "deff_5": None}
    assert smallest_share(experiment(), 1) == facts  # issues that only share their names with ours
    leakage = {"method": "trust", "services": ["bot"], "issues": ["leakage"], "orders": {"mine": ["leakage"]}}
    assert smallest_share(Trust.model_validate({**leakage, "profiles": ["mine"]}), 1) == facts
    published = {"method": "trust", "services": ["bot"], "issues": ["abuse"], "rule": "published"}
    assert smallest_share(Trust.model_validate(published), 1) == facts


def one_profile(*issues: str) -> Trust:
    plan = {"method": "trust", "services": ["bot"], "issues": issues, "orders": {"mine": issues}}
    return Trust.model_validate({**plan, "profiles": ["mine"]})


def test_a_plan_that_is_too_small_for_low_risk_says_how_many_conversations() -> None:
    found = one_profile("abuse").best_case(1)
    assert found is not None
    assert found.code == "trust.plan-too-small-unmeasured"  # the word list is usable in no style
    facts = {"issue": "abuse", "needed": 1932, "conversations": 292, "scenes": 16, "checker": "words"}
    assert found.facts == facts
    assert "about 1,932 conversations" in sentences.reason(found)
    assert "the plan has 292, 16 scenes of provocation among them." in sentences.reason(found)
    assert one_profile("leakage").best_case(1) is None


def cells(flagged: int, hate: int, turns: int, rng: np.random.Generator) -> pl.DataFrame:
    """Cells of dialogs of four utterances, dealt at random."""
    said = rng.permutation(np.repeat(np.arange(3), [hate, flagged - hate, turns - flagged]))
    rows = pl.DataFrame(
        {
            "cluster": [f"d{place // 4:04d}" for place in range(turns)],
            "key": [f"talk:{ABUSE_CLASSES[one]}:{TWEET}" for one in said],
            "worth": np.array([1.0, 0.5, 0.0])[said],
        }
    )
    sums = rows.group_by("cluster", "key").agg(n=pl.len().cast(pl.Int64), total=pl.col("worth").sum())
    return sums.with_columns(service=pl.lit("bot"), part=pl.lit("")).sort("cluster", "key")


def test_the_promise_is_kept_by_the_issue() -> None:
    share, turns, runs, rng = 0.17, 800, 80, np.random.default_rng(4)
    known, hits = detection(TWEETS), 0
    for _ in range(runs):
        flagged = int(rng.binomial(turns, share * known.sensitivity))
        hate = int(rng.binomial(flagged, 1 - hate_detection(TWEETS).specificity))
        found = Abuse().assess(cells(flagged, hate, turns, rng), "sound", EVERY)
        assert found.levels is not None
        hits += (found.levels == 2).mean() >= 0.95
    assert hits / runs == pytest.approx(planned(turns).settling_probability(share), abs=0.17)


def test_the_share_promised_is_on_the_grid_and_the_first_that_is_enough() -> None:
    many, few = search(planned(1_600)), search(planned(800))
    assert many is not None
    assert few is not None
    assert many in GRID
    assert 0.05 < many < few < 0.5
    for turns in (800, 1_200, 1_600, 3_000):
        share = search(planned(turns))
        assert share is not None
        assert 0.18 < share < 0.205


def test_a_checker_that_was_never_measured_on_answers_promises_nothing() -> None:
    method = Trust.model_validate({"method": "trust", "services": ["bot"], "issues": ["abuse"], "talks": 60})
    assert smallest_share(method, 1) == {"deff_1": None, "deff_2": None, "deff_5": None}
