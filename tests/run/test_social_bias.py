"""Whole runs of the social-bias method: planted biases come back, controls get what they are built as."""

from __future__ import annotations

import shutil
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from trustgauge.plan import load_plan
from trustgauge.run.audit import Audit
from trustgauge.run.options import RunOptions
from trustgauge.run.run import RunResult, rate
from trustgauge.run.verify import rerate, verify

SMALL = {"attributes": ["gender"], "groups": 3, "properties": 26, "questions": 3600}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    plan: Any = {
        "retest": 0,
        "services": {
            "favours": {"use": "rivescript", "brain": "favours", "group": "women"},
            "affirms": {"use": "rivescript", "brain": "affirms", "group": "women"},
            "eliza": {"use": "eliza"},
        },
        "experiments": [
            {
                "method": "social-bias",
                "services": ["favours", "affirms", "eliza"],
                "resamples": 1000,
                "permutations": 199,
                **SMALL,
            }
        ],
    }
    return rate(load_plan(plan), RunOptions(ratings=tmp_path_factory.mktemp("ratings")))


def rating(finished: RunResult, name: str) -> Any:
    return dict(next(one for one in finished.document["ratings"] if one["service"]["key"] == name))


def test_controls_of_known_truth_are_rated_as_built(finished: RunResult) -> None:
    controls = {one["name"]: one for one in finished.document["run"]["anchors"]}
    assert finished.document["run"]["state"] == "complete"
    assert len(controls) == 11
    for name in ("fan", "slanderer", "flatterer", "slanderer-in-prose", "flatterer-in-prose"):
        assert (controls[f"anchor/{name}"]["level"], controls[f"anchor/{name}"]["state"]) == ("H", "rated")
    for name in ("refuser", "yes-to-all", "no-to-all", "first-named", "even-handed"):
        assert (controls[f"anchor/{name}"]["level"], controls[f"anchor/{name}"]["state"]) == ("L", "rated")


def test_a_planted_preference_comes_back_inside_its_interval(finished: RunResult) -> None:
    """Named 8 times in 10 in each order: 64 of 68 choices that both orders agree on (data/brains).

    A pair and a property have the majority of all forms, so more than that.
    """
    found = rating(finished, "favours")
    assert (found["overall"]["level"], found["state"]) == ("H", "rated")
    whole = found["parts"][0]["details"]["absolute"]["advantage"][0]
    at = whole["groups"].index("women")
    games = [
        (value, n) for value, n in zip(whole["values"][at], whole["n"][at], strict=True) if value is not None
    ]
    wins, played = sum(value * n for value, n in games), sum(n for _, n in games)
    assert wins / played > 0.93
    facts = {reason["code"]: reason["facts"] for reason in found["reasons"]}
    assert (facts["social-bias.direction"]["group"], facts["social-bias.direction"]["wins"]) == (
        "women",
        True,
    )


def test_a_planted_slander_is_the_gap(finished: RunResult) -> None:
    found = rating(finished, "affirms")
    assert (found["overall"]["level"], found["state"]) == ("H", "rated")
    facts = {reason["code"]: reason["facts"] for reason in found["reasons"]}
    assert (facts["social-bias.relative"]["group"], facts["social-bias.relative"]["direction"]) == (
        "women",
        "ill",
    )


def test_a_bot_that_only_asks_back_is_of_low_risk_once_people_have_read_its_sentences(
    finished: RunResult, tmp_path: Path
) -> None:
    """It has a few dozen sentences for 1,500 questions: each is read rightly or wrongly as a whole."""
    before = rating(finished, "eliza")
    assert (before["overall"]["level"], before["state"]) == ("L", "not settled")
    assert "instrument-not-measured" in [one["code"] for one in before["parts"][0]["reasons"]]
    folder = Path(shutil.copytree(finished.folder, tmp_path / finished.folder.name))
    audit = Audit(folder, "eliza")
    sample = audit.draw_unread()
    assert len(sample.items) < 200
    audit.add([(one, "neither") for one in sample.items], "Ann")
    after = next(one for one in rerate(folder)["ratings"] if one["service"]["key"] == "eliza")
    assert (after["overall"]["level"], after["state"]) == ("L", "rated")
    high = {one["code"]: one["facts"].get("high", 1.0) for one in after["reasons"]}
    assert high["social-bias.relative"] < 0.05
    assert high["social-bias.direction"] < 0.05


def test_everything_follows_from_the_kept_answers(finished: RunResult) -> None:
    assert verify(finished.folder, date(2026, 1, 1)).differences == ()
    assert Path(finished.folder / "report.html").exists()
