"""The ready plans of the trust method, run as they stand: who leaks is caught, who does not is not."""

from __future__ import annotations

import os
import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from trustgauge.methods.trust.conversation_scripts import conversation_scripts
from trustgauge.methods.trust.profiles import PUBLISHED
from trustgauge.plan import load_plan
from trustgauge.run.options import RunOptions
from trustgauge.run.run import RunResult, rate
from trustgauge.run.verify import verify

ROOT = Path(__file__).parents[2]
PLANS = ROOT / "plans"
BESIDE = ROOT.parent / "shared" / "data"
DIALOGUES = Path(os.environ.get("TRUSTGAUGE_SHARED_DATA", BESIDE)) / "service_dialogues" / "test"


def read(name: str) -> Any:
    return tomllib.loads((PLANS / name).read_text("utf-8"))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    ratings = tmp_path_factory.mktemp("trust") / "ratings"
    return rate(load_plan(PLANS / "trust.toml"), RunOptions(ratings=ratings))


def issue(finished: RunResult, service: str, name: str) -> Any:
    one = overall(finished, service, "privacy-first")
    return next(part for part in one["parts"] if part["key"] == name)


def overall(finished: RunResult, service: str, profile: str) -> Any:
    found = [
        one
        for one in finished.document["ratings"]
        if (one["service"]["name"], one["issue"]["attribute"]) == (service, profile)
    ]
    assert len(found) == 1
    rating: Any = found[0]
    return rating


def test_every_bot_is_rated_for_every_profile(finished: RunResult) -> None:
    wanted = {(name, profile) for name in read("trust.toml")["services"] for profile in PUBLISHED}
    got = [(one["service"]["name"], one["issue"]["attribute"]) for one in finished.document["ratings"]]
    assert len(got) == len(wanted)
    assert set(got) == wanted
    assert finished.asked.stopped == ""


def test_the_leaking_bot_is_caught_and_no_other(finished: RunResult) -> None:
    leaks = issue(finished, "leaks", "leakage")
    assert (leaks["state"], leaks["level"]) == ("rated", "H")
    assert leaks["details"]["figures"]["secrets"] == {"asked": 30, "told": 30}
    for name in ("clean", "eliza", "alice", "abusive"):
        found = issue(finished, name, "leakage")
        assert (found["state"], found["level"]) == ("rated", "L"), name
        assert found["details"]["figures"]["controls"]["told"] == 0
    assert overall(finished, "leaks", "privacy-first")["overall"]["level"] == "H"
    assert overall(finished, "clean", "privacy-first")["overall"]["level"] == "L"


def test_the_abusive_bot_is_caught_and_no_other(finished: RunResult) -> None:
    abusive = issue(finished, "abusive", "abuse")
    # One answer of five insults: no harmless text of this style in a hundred is flagged.
    assert (abusive["state"], abusive["level"]) == ("rated", "H")
    assert abusive["details"]["figures"]["raw"] > 0.05
    for name in ("clean", "eliza", "alice", "leaks"):
        found = issue(finished, name, "abuse")
        assert (found["state"], found["level"]) == ("not settled", "L"), name
        codes = [reason["code"] for reason in found["reasons"]]
        assert {"instrument-not-measured", "trust.better-checker"} <= set(codes)
        assert found["details"]["figures"]["raw"] < 0.001, name
    safe = overall(finished, "abusive", "safe-language")
    assert (safe["state"], safe["overall"]["level"]) == ("rated", "H")


def test_no_profile_hides_a_high_risk(finished: RunResult) -> None:
    for name in ("leaks", "abusive"):
        levels = {overall(finished, name, profile)["overall"]["level"] for profile in PUBLISHED}
        assert "L" not in levels


def test_controls_are_rated_as_built(finished: RunResult) -> None:
    controls = finished.document["ratings"][0]["anchors"]
    assert {one["name"]: one["truth"] for one in controls} == {
        "anchor/clean": "L",
        "anchor/abuser": "H",
        "anchor/leaker": "H",
        "anchor/forgetter": "L",
    }
    assert all(one["level"] == one["truth"] for one in controls)


@pytest.mark.slow
def test_the_run_verifies_and_comes_out_the_same_again(finished: RunResult, tmp_path: Path) -> None:
    assert verify(finished.folder, date(2026, 1, 1)).differences == ()
    again = rate(load_plan(PLANS / "trust.toml"), RunOptions(ratings=tmp_path / "ratings"))
    result = [
        [
            {key: one[key] for key in ("service", "issue", "overall", "state", "parts", "reasons", "details")}
            for one in run.document["ratings"]
        ]
        for run in (finished, again)
    ]
    assert result[0] == result[1]


def test_all_conversations_there_are_get_held(finished: RunResult) -> None:
    (experiment,) = read("trust.toml")["experiments"]
    assert "talks" not in experiment
    assert issue(finished, "eliza", "complexity")["details"]["figures"]["dialogs"] == len(
        conversation_scripts()
    )


@pytest.mark.skipif(not DIALOGUES.is_dir(), reason="recorded dialogues are not here")
def test_recorded_dialogues_are_rated_like_a_bot(tmp_path: Path) -> None:
    plan = read("trust-dialogues.toml")
    assert plan["services"]["dialogues"]["dialogs"]["file"] == "service_dialogues"
    plan["services"] = {"dialogues": plan["services"]["dialogues"]}
    plan["experiments"][0]["services"] = ["dialogues"]
    (tmp_path / "service_dialogues").symlink_to(DIALOGUES)
    plan["services"]["dialogues"]["dialogs"]["file"] = str(tmp_path / "service_dialogues")
    finished = rate(load_plan(plan), RunOptions(ratings=tmp_path / "ratings"))
    complexity = issue(finished, "dialogues", "complexity")
    assert (complexity["level"], complexity["n"]) == ("L", 384)
    assert complexity["score"] == pytest.approx(0.316, abs=0.002)
    assert issue(finished, "dialogues", "leakage")["state"] == "not tested"
    private = overall(finished, "dialogues", "privacy-first")
    assert (private["state"], private["details"]["possible"]) == ("incomplete", ["L", "M", "H"])
    easy = overall(finished, "dialogues", "easy-to-talk-to")
    # Leakage was not tested, and abuse and bias are not settled: complexity alone decides nothing.
    assert (easy["state"], easy["details"]["possible"]) == ("incomplete", ["L", "M", "H"])
    assert easy["details"]["depends_on"] == ["leakage", "abuse", "bias"]


def test_the_plan_beside_dialogues_rates_the_same_bots() -> None:
    alone, beside = read("trust.toml"), read("trust-dialogues.toml")
    assert {name: beside["services"][name] for name in alone["services"]} == alone["services"]
    for key in ("method", "profiles"):
        assert alone["experiments"][0][key] == beside["experiments"][0][key]
