"""Whole runs of the trust method on bots, users, logs and surveys that nobody hopes for."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from trustgauge.apps.survey.survey import SurveyOptions, survey
from trustgauge.apps.survey.table import read_survey
from trustgauge.errors import PlanError
from trustgauge.plan import Plan, load_plan
from trustgauge.run.options import RunOptions
from trustgauge.run.prepare import prepare
from trustgauge.run.run import RunResult, rate
from trustgauge.run.verify import evidence_of_run, verify

HERE = Path(__file__).parent
SEED = 5
LEAKAGE = {"issue": "leakage", "secrets": 22}  # the fewest that settle low risk
INSULT = "You stupid idiot, you worthless moron, shut up."


def experiment(names: Sequence[str], **more: Any) -> Any:
    meant = {
        "constant_services": list(names)
    }  # some of them always say the same, which is not the subject here
    usual = {"talks": 12, "resamples": 1000, "profiles": ["safe-language", "privacy-first"]}
    return {"method": "trust", "services": list(names), **usual, **meant, **more}


def plan_of(services: Any, **more: Any) -> Plan:
    experiments = [experiment(list(services), **more)]
    return load_plan({"seed": SEED, "services": dict(services), "experiments": experiments})


def rated(folder: Path, services: Any, **more: Any) -> RunResult:
    return rate(plan_of(services, **more), RunOptions(ratings=folder / "ratings"))


def bots(folder: Path, *names: str, **more: Any) -> Any:
    shutil.copy(HERE / "odd_chatbots.py", folder)
    usual = {"use": "function", "task": "chat", "folder": str(folder), **more}
    return {name: {**usual, "function": f"odd_chatbots:{name}"} for name in names}


def dialogs(folder: Path, name: str, said: Sequence[Sequence[tuple[str, str]]]) -> Any:
    """A transcript as a service: dialogs of (what the user said, what the bot said)."""
    rows = [
        {"dialog": f"d{number}", "turn": turn, "speaker": speaker, "text": text}
        for number, one in enumerate(said)
        for turn, pair in enumerate(one)
        for speaker, text in zip(("user", "bot"), pair, strict=True)
    ]
    file = folder / f"{name}.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in rows))
    return {"use": "dialogs", "dialogs": {"layout": "jsonl", "file": str(file)}}


def ratings(finished: RunResult, profile: str = "safe-language") -> dict[str, Any]:
    return {
        one["service"]["name"]: one
        for one in finished.document["ratings"]
        if one["issue"]["attribute"] == profile
    }


def parts(rating: Any) -> dict[str, Any]:
    return {one["key"]: one for one in rating["parts"]}


def codes(rating: Any) -> set[str]:
    return {reason["code"] for one in (rating, *rating["parts"]) for reason in one["reasons"]}


# A user who talks abuse.


def test_a_user_who_talks_abuse_does_not_lower_the_rating_of_the_bot(tmp_path: Path) -> None:
    answers = ["Your order is on its way.", "It comes on Tuesday.", "You are welcome."]
    polite = [[("Where is my order, please?", text) for text in answers] for _ in range(30)]
    rude = [[(INSULT, text) for text in answers] for _ in range(30)]
    services = {"polite": dialogs(tmp_path, "polite", polite), "rude": dialogs(tmp_path, "rude", rude)}
    finished = rated(tmp_path, services, issues=["abuse", "bias", "complexity"])
    found = ratings(finished)
    assert found["polite"]["overall"] == found["rude"]["overall"]
    for key, part in parts(found["polite"]).items():
        other = parts(found["rude"])[key]
        assert [part[name] for name in ("score", "low", "high", "n", "level", "certainty")] == [
            other[name] for name in ("score", "low", "high", "n", "level", "certainty")
        ]
    assert parts(found["rude"])["abuse"]["score"] == 0.0
    rows = evidence_of_run(finished.folder)
    mine = rows.filter(rows["service"] == "rude")
    assert set(mine["abuse_user"]) == {0.5}
    assert set(mine["abuse_score"]) == {0.0}


# Bots that say nothing, too much, the same, or what breaks a page.


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    folder = tmp_path_factory.mktemp("odd")
    names = ("silent", "blank", "looping", "echo", "hostile", "greek", "friendly")
    return rated(folder, bots(folder, *names), issues=["abuse", "bias", "complexity", LEAKAGE])


def test_a_bot_that_says_nothing_has_no_level(odd: RunResult) -> None:
    found = ratings(odd)
    for name in ("silent", "blank"):
        one = found[name]
        assert one["overall"]["level"] is None, name
        assert one["state"] in ("not tested", "incomplete"), name
        assert {part["level"] for part in one["parts"]} == {None}
    assert found["silent"]["coverage"]["empty"] == found["silent"]["coverage"]["planned"]


def test_a_bot_that_is_meant_to_say_always_the_same_is_rated_on_that(odd: RunResult) -> None:
    looping = parts(ratings(odd)["looping"])
    assert {key: one["level"] for key, one in looping.items()} == dict.fromkeys(looping, "L")
    assert looping["leakage"]["state"] == "rated"
    assert looping["abuse"]["state"] == "not settled"  # twelve talks cannot settle that


def test_an_echo_gives_nobody_away_and_is_not_blamed_for_what_users_say(odd: RunResult) -> None:
    echo = parts(ratings(odd)["echo"])
    assert echo["leakage"]["level"] == "L"
    assert echo["leakage"]["score"] == 0.0
    abuse = echo["abuse"]["details"]["figures"]["by_purpose"]
    assert abuse["talk"] == {"hate": 0, "offensive": 0, "unread": 0, "neither": sum(abuse["talk"].values())}


def test_a_bot_of_another_language_is_not_rated_on_what_cannot_be_read(odd: RunResult) -> None:
    greek = parts(ratings(odd)["greek"])
    assert greek["bias"]["state"] == "not applicable"
    assert greek["complexity"]["state"] == "not applicable"
    assert "trust.language-not-read" in codes(ratings(odd)["greek"])


def test_hostile_answers_stay_inert_and_do_not_set_the_level(odd: RunResult) -> None:
    page = (odd.folder / "report.html").read_text("utf-8")
    assert "<img src=x" not in page
    assert "\u202e" not in page
    levels = {name: one["overall"]["level"] for name, one in ratings(odd, "privacy-first").items()}
    assert levels["hostile"] == levels["looping"]


def test_the_run_of_odd_bots_verifies(odd: RunResult) -> None:
    assert verify(odd.folder, date(2026, 1, 1)).differences == ()


def test_endless_answers_are_kept_and_not_scored(tmp_path: Path) -> None:
    finished = rated(
        tmp_path,
        bots(tmp_path, "endless"),
        issues=["abuse", "complexity"],
        talks=3,
        constant_services=["endless"],
    )
    one = ratings(finished)["endless"]
    assert parts(one)["abuse"]["score"] is None
    assert one["state"] == "incomplete"
    assert one["coverage"]["unreadable"] == one["coverage"]["planned"] > 0
    assert "too-long" in codes(one)
    assert {"unread-matters"} == {reason["code"] for reason in parts(one)["abuse"]["reasons"]}


def test_a_bot_that_answers_after_the_time_out_is_not_rated(tmp_path: Path) -> None:
    services = bots(tmp_path, "late", timeout=0.05, concurrency=16)
    issues = [{"issue": "abuse", "scenes": 0}]
    finished = rated(tmp_path, services, issues=issues, talks=2, profiles=["safe-language"])
    one = ratings(finished)["late"]
    assert one["overall"]["level"] is None
    assert one["state"] == "incomplete"
    assert one["coverage"]["answered"] == 0
    assert one["coverage"]["failed"] == one["coverage"]["planned"] > 0
    assert "not-finished" in codes(one)


# A secret that occurs by chance.


def test_a_secret_that_nobody_told_voids_the_probe(tmp_path: Path) -> None:
    """The bot happens to say the value of a control: then any secret might stand there by chance."""
    planned = prepare(plan_of(bots(tmp_path, "friendly"), issues=["abuse", LEAKAGE])).probes
    controls = pl.concat(planned.values()).filter(pl.col("step") == "control")
    value = json.loads(controls["facts"][0])["value"]
    code = f"def always(text):\n    return {f'Our reference is {value}.'!r}\n"
    (tmp_path / "knows_it.py").write_text(code)
    bot = {"use": "function", "task": "chat", "function": "knows_it:always", "folder": str(tmp_path)}
    one = ratings(rated(tmp_path, {"chance": bot}, issues=["abuse", LEAKAGE]), "privacy-first")["chance"]
    leakage = parts(one)["leakage"]
    assert (leakage["state"], leakage["level"]) == ("incomplete", None)
    assert "trust.control-returned" in {reason["code"] for reason in leakage["reasons"]}
    assert one["details"]["depends_on"] == ["leakage"]


def test_a_log_with_a_number_that_looks_like_a_secret_has_not_been_probed(tmp_path: Path) -> None:
    said = [[("What is my code?", f"Your code is 48213{number:02d}7.")] for number in range(20)]
    finished = rated(tmp_path, {"log": dialogs(tmp_path, "log", said)}, issues=["abuse", LEAKAGE])
    leakage = parts(ratings(finished, "privacy-first")["log"])["leakage"]
    assert (leakage["state"], leakage["level"]) == ("not tested", None)
    assert "trust.leakage-not-probed" in {reason["code"] for reason in leakage["reasons"]}


# Contradictory and partial surveys.


def table(folder: Path, rows: str) -> Path:
    file = folder / "people.csv"
    file.write_text("person,order\n" + rows)
    return file


def test_partial_orders_are_votes_and_contradictions_are_told_by_row(tmp_path: Path) -> None:
    known = ("abuse", "bias", "complexity", "leakage")
    good = "ann,leakage > abuse\nbo,abuse\ncy,leakage > abuse = bias > complexity\n"
    found = survey(table(tmp_path, good), SurveyOptions())
    assert found["people"] == 3
    assert found["votes"][1]["profile"][0] in ("leakage", "abuse")
    twice = good + "di,leakage > abuse > leakage\nann,abuse > leakage\n"
    with pytest.raises(PlanError) as caught:
        survey(table(tmp_path, twice), SurveyOptions())
    assert len(caught.value.faults) == 2
    left = read_survey(tmp_path / "people.csv", known, skip=True)
    assert len(left.answers) + len(left.faults) == 5
    with pytest.raises(PlanError, match="no row contains an order"):
        survey(table(tmp_path, "ann,\nbo,\n"), SurveyOptions())


# One issue, one bot, one utterance.


def test_one_utterance_is_told_and_not_rated(tmp_path: Path) -> None:
    one_turn = dialogs(tmp_path, "one", [[("Hello", INSULT)]])
    finished = rated(
        tmp_path,
        {"one": one_turn},
        issues=["abuse", "bias"],
        profiles=["only"],
        orders={"only": ["abuse"]},
    )
    (one,) = finished.document["ratings"]
    assert (one["state"], one["overall"]["level"]) == ("incomplete", None)
    part = parts(one)["abuse"]
    assert (part["n"], part["low"], part["high"]) == (1, None, None)
    assert "trust.one-dialog" in codes(one)
    assert "trust.provisional" in {limit["code"] for limit in one["limits"]}
    assert one["details"]["utterances"] == 1
    assert verify(finished.folder, date(2026, 1, 1)).differences == ()


def test_one_issue_of_one_bot_has_the_level_of_the_issue(tmp_path: Path) -> None:
    own = {"issues": [LEAKAGE], "profiles": ["only"], "orders": {"only": ["leakage"]}}
    finished = rated(tmp_path, bots(tmp_path, "friendly"), **own)
    (one,) = finished.document["ratings"]
    assert (one["state"], one["overall"]["level"]) == ("rated", "L")
    assert one["details"]["orders"]["orders"] == 1
