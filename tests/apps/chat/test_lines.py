"""Lines of the chat console: what they say, and what they keep from a terminal."""

from __future__ import annotations

from typing import Any, cast

import pytest

from trustgauge.apps.chat import lines
from trustgauge.reports.terminal import plain


def test_an_answer_and_its_time_stand_on_one_line_if_there_is_room() -> None:
    assert plain(lines.answer("Fine.", 1, 420.4)) == "bot > Fine." + " " * 59 + "420 ms"
    assert plain(lines.answer("x" * 64, 1, 1234.5)).splitlines()[1] == "      1,234 ms"


def test_further_lines_of_an_answer_are_marked_and_inert() -> None:
    result = plain(lines.answer("one\ntwo\tend\nyou > /end\x1b[0m", 1, 5)).splitlines()
    assert result == ["bot > one", "    | two    end", "    | you > /end␛[0m", "      5 ms"]


@pytest.mark.parametrize("text", ["x" * 5000, "x\n" * 500, "\n" * 9000, "x\r" * 3000])
def test_a_long_answer_is_cut_unless_it_is_wanted_whole(text: str) -> None:
    cut, whole = plain(lines.answer(text, 7, 5)), plain(lines.answer(text, 7, 5, whole=True))
    assert len(cut) < 2200
    assert cut.count("\n") < 45
    assert ("more characters: /show 7" in cut) == (len(whole) > len(cut))
    assert "more characters" not in whole


def test_an_empty_or_blank_answer_is_a_line() -> None:
    assert plain(lines.answer("", 1, 5)).startswith("bot > ")


def test_scores_and_levels_are_words() -> None:
    found = [("abuse", 0.0, "L"), ("complexity", 0.5, "M")]
    result = plain([lines.scores(found, ["L", "M"], ["leakage", "bias"])])
    issues, level = result.split("so far: ")
    assert issues == "      abuse 0.00 Low   complexity 0.50 Medium   "
    assert level == "Low or Medium risk (leakage and bias open)"
    assert plain([lines.scores([], ["H"], [])]) == "      so far: High risk"


def rating(state: str, level: str | None, **certainty: float) -> Any:
    return {"state": state, "reasons": [], "overall": {"level": level, "certainty": certainty}}


def ending(part: Any, *, probed: bool = False) -> Any:
    """The last line of a chat whose rating has one part."""
    return lines.ending(cast(Any, {"parts": [part]}), probed=probed)


def test_what_is_not_settled_never_stands_bare() -> None:
    part = {"key": "abuse", "score": 0.25, "level": "H", "certainty": {"H": 0.67}, "reasons": []}
    facts = {
        state: plain([ending({**part, "state": state})]) for state in ("rated", "not settled", "assumed")
    }
    assert facts == {
        "rated": "abuse 0.25 High",
        "not settled": "abuse 0.25 (High, 67 %)",
        "assumed": "abuse 0.25 High*",
    }
    few = {"code": "too-few-clusters", "facts": {}}
    ended = ending({**part, "state": "not settled", "reasons": [few]})
    assert plain([ended]) == "abuse 0.25 (High, not settled: too few independent texts)"
    open_: Any = {
        "key": "leakage",
        "score": None,
        "level": None,
        "state": "not tested",
        "certainty": {},
    }
    assert plain([ending(open_)]) == "leakage not tested (--probe-leaks)"
    assert plain([ending(open_, probed=True)]) == "leakage not tested"


def test_the_end_says_how_far_it_can_be_trusted() -> None:
    settled = plain(lines.final(rating("rated", "L", L=0.97), "Safe language", ["L"], [], (60, 12)))
    assert settled == "Low risk for Safe language: rated, certainty 97 %. 60 utterances"
    open_ = plain(lines.final(rating("incomplete", None), "parents", ["L", "M"], ["leakage"], (1, 1)))
    assert open_.splitlines() == [
        "Not settled for parents: incomplete. The scores alone come to Low or Medium risk, "
        "depending on leakage. 1 utterance: provisional",
        "      one conversation cannot be resampled, so it settles nothing: /new begins another",
    ]
    assumed = plain(lines.final(rating("assumed", "H"), "parents", ["H"], [], (60, 12)))
    assert assumed == "High risk for parents: assumed. 60 utterances"


def test_what_is_not_settled_is_named_by_its_likeliest_level_with_the_certainty_of_the_report() -> None:
    def said(**certainty: float) -> str:
        return plain(lines.final(rating("not settled", "L", **certainty), "parents", ["L"], [], (60, 12)))

    assert (
        said(L=0.76, M=0.24) == "Not settled for parents. Most likely Low risk: certainty 76 %. 60 utterances"
    )
    assert said(L=0.02, M=0.87, H=0.11) == (
        "Not settled for parents. Most likely Medium risk: certainty 87 %. "
        "The scores alone come to Low risk. 60 utterances"
    )
    assert said() == "Not settled for parents. The scores alone come to Low risk. 60 utterances"


def test_an_issue_whose_level_is_not_the_likeliest_has_no_certainty() -> None:
    part = {"key": "abuse", "score": 0.0, "level": "L", "certainty": {"H": 0.9, "L": 0.1}, "reasons": []}
    assert plain([ending({**part, "state": "not settled"})]) == "abuse 0.00 (Low, not settled)"


def test_what_an_issue_could_not_read_has_no_score() -> None:
    result = plain([lines.scores([("bias", 0.1, "L")], ["L", "M"], [], ["abuse"])])
    assert result == "      bias 0.10 Low   abuse not read   so far: Low or Medium risk"
    (why,) = plain(lines.turn_why(2, [], {"abuse_unread": 1}, ["abuse"])).splitlines()
    assert why.startswith("      2: abuse not read: perhaps quoted")
    (long,) = plain(lines.turn_why(2, [], {"error": "too-long"}, ["abuse"])).splitlines()
    assert long == "      2: abuse not read: more than 100,000 characters, which no rating counts"


def test_why_shows_the_arithmetic() -> None:
    issue = {"issue": "abuse", "rank": 1.0, "level": "L", "points": 3.0}
    counted = {
        "rule": "count",
        "issues": [issue, {"issue": "bias", "rank": 2.0, "level": None}],
        "points": {"L": 3.0, "M": 0.0, "H": 0.0},
        "not_counted": ["bias"],
        "levels": ["L"],
        "missing": ["bias"],
    }
    result = plain(lines.level_why(counted)).splitlines()
    assert result[1:] == [
        "      1. abuse Low, points 3",
        "      2. bias open",
        "      points: Low 3, Medium 0, High 0",
        "      counts 0 by this rule: bias",
        "      so far: Low risk (bias open)",
    ]
    marks = {"abuse_hate": 1, "abuse_score": 1.0, "leakage_personal": ["e-mail"], "message": "x"}
    assert plain(lines.turn_why(4, [("abuse", 1.0, "H")], marks)).splitlines() == [
        "      4: abuse 1.00 High: 1 hate",
        "      4: personal data not given by you: e-mail",
    ]
    assert "nothing to score" in plain(lines.turn_why(4, [], marks))
