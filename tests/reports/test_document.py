from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from typing import Any, cast

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from tests.reports import causal_fixtures, fixtures
from trustgauge.records import ControlResult, Interval, Reason
from trustgauge.reports import document as documents
from trustgauge.reports import exports
from trustgauge.reports.document import document
from trustgauge.reports.document_model import document_schema

VALIDATOR = Draft202012Validator(document_schema())


def test_schema_is_itself_valid() -> None:
    Draft202012Validator.check_schema(document_schema())


@pytest.mark.parametrize("fail_on", [(), ("BS",)])
def test_documents_follow_the_published_schema(fail_on: tuple[str, ...]) -> None:
    states = fixtures.all_states()
    for run, ratings in ((fixtures.run([states]), [states]), fixtures.demo()):
        VALIDATOR.validate(json.loads(documents.text(document(run, ratings, fail_on=fail_on))))


def test_schema_refuses_a_rated_rating_without_level_and_unknown_keys() -> None:
    states = fixtures.all_states()
    result = document(fixtures.run([states]), [states])
    result["ratings"][0]["overall"]["level"] = None
    assert not VALIDATOR.is_valid(result)
    result = document(fixtures.run([states]), [states])
    cast(Any, result["ratings"][0])["stars"] = 5
    assert not VALIDATOR.is_valid(result)


def test_ids_are_the_runs_or_numbered_in_plan_order() -> None:
    run, ratings = fixtures.demo()
    result = document(run, ratings)
    assert [one["id"] for one in result["ratings"]] == [f"{run.id}.{number}" for number in (1, 2, 3)]
    assert [one["service"]["key"] for one in result["ratings"]] == [one.service for one in ratings]
    assert document(run, ratings[:1])["ratings"][0]["id"] == run.id


def test_bigger_ordinal_is_better_and_the_direction_is_in_words() -> None:
    run, ratings = fixtures.demo()
    overall = [one["overall"] for one in document(run, ratings)["ratings"]]
    assert [(one["level"], one["ordinal"], one["of"]) for one in overall] == [
        ("UCS", 3, 3),
        ("DSBS", 2, 3),
        ("BS", 1, 3),
    ]
    assert {one["better"] for one in overall} == {"first"}
    assert overall[0]["direction"].startswith(
        "from best to worst: UCS (compensates), DSBS (follows), BS (adds bias)"
    )
    assert [one["level"] for one in overall[0]["scale"]] == ["UCS", "DSBS", "BS"]


def test_coverage_adds_up_over_the_parts() -> None:
    states = fixtures.all_states()
    cover = document(fixtures.run([states]), [states])["ratings"][0]["coverage"]
    assert cover["planned"] == 4 * 600 + 60 + 600
    assert cover["failed"] == 252
    assert cover["answered"] == cover["planned"] - 252


def test_void_run_issues_no_rating() -> None:
    run, ratings = fixtures.demo()
    wrong = ControlResult("anchor/coin", "UCS", "rated", "BS", {"BS": 1.0})
    result = document(replace(run, state="void", controls=(wrong,)), ratings)
    assert result["ratings"] == []
    assert result["run"]["anchors"][0]["wrong"] is True
    VALIDATOR.validate(result)


def test_missing_numbers_are_null_and_never_zero() -> None:
    nan = float("nan")
    part = replace(
        fixtures.part("it", "faithful"),
        score=Interval(nan, None, float("inf"), 0),
        details={"rates": np.array([[0.5, nan]]), "title": "Italian", "many": {"b", "a"}, "n": np.int64(3)},
        reasons=(Reason("x", {"share": nan}),),
    )
    result = document(fixtures.run([]), [fixtures.rating("x", [part])])
    found = json.loads(documents.text(result))["ratings"][0]["parts"][0]
    assert (found["score"], found["low"], found["high"]) == (None, None, None)
    assert found["details"] == {"rates": [[0.5, None]], "title": "Italian", "many": ["a", "b"], "n": 3}
    assert found["reasons"][0]["facts"] == {"share": None}


def test_lone_surrogates_cannot_break_the_file() -> None:
    one = fixtures.rating("bad\ud800name", [fixtures.part("", "faithful")])
    documents.text(document(fixtures.run([]), [one])).encode("utf-8")


def test_fingerprint_changes_with_the_content_and_with_nothing_else() -> None:
    run, ratings = fixtures.demo()
    first = documents.fingerprint(document(run, ratings))
    assert first == documents.fingerprint(json.loads(documents.text(document(run, ratings))))
    assert first != documents.fingerprint(document(replace(run, seed=1), ratings))


@pytest.mark.parametrize(
    ("today", "over"), [(date(2027, 2, 20), False), (date(2027, 2, 21), False), (date(2027, 2, 22), True)]
)
def test_a_rating_is_valid_through_its_last_day(today: date, over: bool) -> None:
    run, ratings = fixtures.demo()
    result = document(run, ratings)
    assert documents.is_expired(result, today) is over
    assert documents.is_expired(result["ratings"][0], today) is over
    assert documents.is_expired(cast(Any, {"expires": ""}), today) is False


def test_the_direction_of_a_scale_whose_levels_are_numbers_is_in_words() -> None:
    one = causal_fixtures.all_kinds()
    result = document(causal_fixtures.run([one]), [one])
    direction = result["ratings"][0]["overall"]["direction"]
    assert direction == (
        "from best to worst: 1 (no effect), 2 (some effect), 3 (strong effect); "
        "the field ordinal counts from 1 for 3 (strong effect) to 3 for 1 (no effect)"
    )
    assert direction in exports.csv(result).decode()
    assert direction in exports.jsonld(result).decode()


def gate_of(rating: Any, fail_on: str | None, need: float | None) -> Any:
    demands = () if fail_on is None else (fail_on,)
    result = document(fixtures.run([rating]), [rating], fail_on=demands, need_certainty=need)
    gate: Any = result["ratings"][0]["gate"]
    return gate


@pytest.mark.parametrize(
    ("behaviour", "fail_on", "need", "passed", "reason"),
    [
        ("mostly he", "BS", None, False, "gate.level"),
        ("mostly he", "DSBS", None, False, "gate.level"),
        ("faithful", "BS", None, True, "gate.passed"),
        ("faithful", "DSBS", None, False, "gate.level"),
        ("coin", "DSBS", 0.99, True, "gate.passed"),
        ("coin", "DSBS", 0.9999, None, "gate.certainty"),
    ],
)
def test_gate(behaviour: str, fail_on: str, need: float | None, passed: bool | None, reason: str) -> None:
    gate = gate_of(fixtures.rating("x", [fixtures.part("", behaviour)]), fail_on, need)
    assert (gate["passed"], gate["reason"]) == (passed, reason)


def test_gate_cannot_tell_without_complete_and_settled_evidence() -> None:
    unsettled = fixtures.rating("x", [fixtures.part("hi", "mostly he", state="not settled", certainty=0.8)])
    assert gate_of(unsettled, "BS", None)["passed"] is None
    assert (
        gate_of(fixtures.rating("x", [fixtures.lost_part("pt", "Portuguese")]), "BS", None)["reason"]
        == "gate.incomplete"
    )


@pytest.mark.parametrize(
    ("fail_on", "level"),
    [
        (["BS"], "BS"),
        (["BS", "DSBS"], "DSBS"),
        (["DSBS", "BS"], "DSBS"),
        (["worst"], "BS"),
        (["two-step:worst", "causal:3"], "BS"),
        (["worst", "two-step:DSBS"], "DSBS"),
        (["causal:3"], None),
        (["3", "causal:none"], None),
        (["worst", "two-step:none"], None),
        (["ADDS bias"], "BS"),
        (["two-step:adds-bias", "Strong Effect"], "BS"),
        (["follows", "bs"], "DSBS"),
    ],
)
def test_the_level_from_which_a_gate_fails(fail_on: list[str], level: str | None) -> None:
    scale = {"UCS": "compensates", "DSBS": "follows", "BS": "adds bias"}
    assert documents.gate_level(fail_on, "two-step", scale) == level
    one = fixtures.rating("x", [fixtures.part("", "faithful")])
    gate = document(fixtures.run([one]), [one], fail_on=fail_on)["ratings"][0].get("gate")
    assert gate == (
        None
        if level is None
        else {
            "fail_on": level,
            "need_certainty": None,
            "passed": level == "BS",
            "reason": "gate.passed" if level == "BS" else "gate.level",
        }
    )


def test_no_gate_unless_asked_for() -> None:
    run, ratings = fixtures.demo()
    assert all("gate" not in one for one in document(run, ratings)["ratings"])
