"""What to do about a rating without a settled level, and when there is nothing that a run would change."""

from __future__ import annotations

from dataclasses import replace

from tests.reports import causal_fixtures, fixtures
from tests.reports.golden import only
from trustgauge.records import Coverage, Reason
from trustgauge.reports.steps import next_step

LOSS = (Reason("incomplete-loss", {"share": 0.42, "where": "all texts"}),)
LOST = fixtures.lost_part("pt", "Portuguese")


def test_lost_answers_are_asked_again() -> None:
    assert next_step(only(fixtures.rating("x", [LOST]))).startswith("Run it again")


def test_what_was_answered_without_a_use_is_not_sent_again() -> None:
    """Refusals and empty answers are answers: the same plan would send nothing."""
    refused = replace(LOST, coverage=Coverage(planned=600, answered=348, refused=252))
    assert "--fresh" in next_step(only(fixtures.rating("x", [refused])))


def test_what_does_not_apply_is_not_run_again() -> None:
    """As under rules that only measure: answers were lost, but no run would give a level."""
    part = replace(LOST, state="not applicable")
    result = next_step(only(replace(fixtures.rating("x", [part], state="not applicable"), reasons=LOSS)))
    assert result.startswith("A new run would not change this")


def test_a_part_that_does_not_apply_makes_nobody_run_the_others_again() -> None:
    """An issue in a language that nothing here reads: the answers that were lost change nothing."""
    part = replace(LOST, state="not applicable")
    result = next_step(
        only(fixtures.rating("x", [part, fixtures.bare_part("b", "B", "not tested")], state="incomplete"))
    )
    assert result.startswith("Do what its reasons ask for")


def test_what_lacks_certainty_wants_more_of_what_its_method_varies() -> None:
    key = causal_fixtures.PARTS[0][0]
    part = replace(causal_fixtures.part("gru", key, state="not settled"), reasons=())
    rating = causal_fixtures.rating("gru", state="not settled")
    open_ = replace(rating, parts=(part,), worst=(key,), reasons=())
    assert "`frames`" in next_step(only(open_))
