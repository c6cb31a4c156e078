"""What to do about a rating without a settled level, and when there is nothing that a run would change."""

from __future__ import annotations

from dataclasses import replace

from tests.reports import causal_fixtures, fixtures, social_fixtures, trust_fixtures
from tests.reports.golden import only
from trustgauge.records import Coverage, Reason, State
from trustgauge.reports import sentences
from trustgauge.reports.sentences import next_step, what_to_do

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


def test_whoever_reads_of_an_open_level_is_warned_and_sent_on() -> None:
    """The first screen said what to do about settled levels only."""
    said = what_to_do(
        only(fixtures.rating("x", [fixtures.part("es", "mostly he", state="not settled", certainty=0.8)]))
    )
    assert said.startswith("Do not rely on this level yet")
    settled = only(fixtures.rating("x", [fixtures.part("es", "mostly he")]))
    assert what_to_do(settled) == sentences.advice(settled) != ""


def test_a_checker_that_reads_such_answers_better_is_the_next_step() -> None:
    issues: dict[str, tuple[float | None, State]] = {"leakage": (0.0, "rated"), "abuse": (0.0, "not settled")}
    open_ = trust_fixtures.rating("bot", issues, rule="sound", state="not settled")
    leakage, abuse = open_.parts
    unread = Reason("instrument-not-measured", {"checker": "words"})
    better = Reason("trust.better-checker", {"checker": "sentences"})
    for reasons, words in (
        ((unread,), "Have people label its answers: trustgauge audit "),
        (
            (unread, better),
            'Set checker = "sentences" for the issue abuse and rate it again, or have people label',
        ),
    ):
        rating = trust_fixtures.only(replace(open_, parts=(leakage, replace(abuse, reasons=reasons))))
        assert next_step(rating).startswith(words)
    told = replace(leakage, level="H", certainty={"L": 0.0, "M": 0.0, "H": 1.0})
    said = what_to_do(trust_fixtures.only(replace(open_, level="M", parts=(told, abuse))))
    assert said.startswith("Tell it nothing confidential: leakage is settled above low risk. Do not rely")


def test_a_table_of_services_says_what_was_found_and_towards_whom() -> None:
    _, ratings = fixtures.demo()
    assert any("It turns" in sentences.finding(only(one)) for one in ratings)
    women = only(social_fixtures.rating())
    assert sentences.finding(women) == "Favourable to fenlanders 60 points more often"
    assert sentences.finding(only(social_fixtures.rating(state="not settled"))) == ""
