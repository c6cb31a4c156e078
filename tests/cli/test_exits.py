"""The last line of a run whose service could not be asked: nothing is claimed that is not so."""

from __future__ import annotations

from typing import Any

import pytest

from trustgauge.terminal.output import Exit, exit_of, first_exit

WHY = "by-hand cannot be asked by a program. Import its answers."


def document(*states: str, answered: int = 0) -> Any:
    cover = {"planned": 200, "answered": answered, "not_applicable": 0}
    cover |= dict.fromkeys(("refused", "empty", "unreadable"), 0)
    ratings = [{"state": state, "coverage": cover, "parts": []} for state in states]
    return {"run": {"state": "incomplete", "stopped": "", "anchors": []}, "ratings": ratings}


@pytest.mark.parametrize(
    ("states", "told"),
    [
        (("incomplete",), "nothing rated"),
        (("incomplete", "not tested"), "nothing rated"),
        (("incomplete", "not settled"), "the others are rated"),
        (("not applicable",), "the others are rated"),  # a rule that only measures
    ],
)
def test_others_are_rated_only_if_one_has_a_result(states: tuple[str, ...], told: str) -> None:
    found = exit_of(document(*states), {"assistant": WHY})
    assert (found.code, found.why) == (3, f"assistant: {WHY[:-1]}; {told}")


def test_who_loses_a_service_half_way_reads_that_the_answers_are_kept() -> None:
    found = exit_of(document("incomplete", answered=24), {"assistant": WHY})
    assert "what was answered is saved, and the same command goes on from there" in found.why


def test_parts_that_are_rated_are_not_nothing() -> None:
    one = document("incomplete")
    one["ratings"][0]["parts"] = [{"state": "rated"}, {"state": "incomplete"}]
    assert exit_of(one, {"translator": WHY}).why.endswith("the others are rated")


def test_too_many_lost_calls_are_counted() -> None:
    one = document("incomplete", answered=152)
    assert exit_of(one).why.startswith("incomplete: too many calls lost: 48 of 200 answers are missing;")
    two = document("incomplete", "rated", "incomplete", answered=152)
    for number, rating in enumerate(two["ratings"]):
        rating["service"] = {"name": f"bot {number}"}
        rating["coverage"] = rating["coverage"] | {"planned": 200 + number}
    assert "lost: 50 of 202 answers of bot 2 are missing" in exit_of(two).why
    assert exit_of(document("incomplete", answered=200)).why.startswith("incomplete: what was asked could")


def test_answers_that_came_and_could_not_be_read_are_no_lost_calls() -> None:
    one = document("incomplete", answered=100)
    one["ratings"][0]["coverage"]["unreadable"] = 60
    assert "lost: 40 of 200 answers are missing" in exit_of(one).why


@pytest.mark.parametrize("first", [(10, 5), (5, 10)])
def test_a_settled_failure_is_told_before_what_is_open(first: tuple[int, int]) -> None:
    why = {0: "done", 10: "gate failed: H is as bad as --fail-on H", 5: "not settled: bot is BS"}
    found = first_exit([Exit(code, why[code]) for code in (0, *first)])
    assert (found.code, found.why) == (10, f"{why[10]}; {why[5]}")
    assert first_exit([found, Exit(4, "incomplete")]).code == 4
