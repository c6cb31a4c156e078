"""The last line of a run whose service could not be asked: nothing is claimed that is not so."""

from __future__ import annotations

from typing import Any

import pytest

from trustgauge.terminal.output import exit_of

WHY = "by-hand cannot be asked by a program. Import its answers."


def document(*states: str, answered: int = 0) -> Any:
    cover = {"planned": 200, "answered": answered, "refused": 0, "empty": 0, "not_applicable": 0}
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
