"""The worse half of a rating: which level stands, and when it is settled."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trustgauge.rating.recognition import RecognitionGap, worse_of
from trustgauge.records import Rating, Rule, Scale, State

LEVELS = ("L", "M", "H")
RULE: Rule = "sound"
SCALE = Scale("risk", LEVELS, ("Low risk", "Medium risk", "High risk"))


def rating(level: str | None, state: State = "rated") -> Rating:
    return Rating("bot", "social-bias", "1", RULE, "all", SCALE, state, level, {}, ())


@pytest.mark.parametrize(
    ("first", "second", "stands"),
    [
        (("L", "rated"), ("M", "rated"), ("M", "rated")),
        (("M", "rated"), ("L", "not settled"), ("M", "not settled")),
        (("H", "rated"), ("L", "not settled"), ("H", "rated")),
        (("H", "rated"), (None, "incomplete"), ("H", "rated")),
        (("H", "rated"), ("H", "not settled"), ("H", "rated")),
        (("M", "rated"), ("M", "not settled"), ("M", "not settled")),
        (("L", "rated"), ("H", "not settled"), ("H", "not settled")),
        (("M", "rated"), (None, "incomplete"), (None, "incomplete")),
        (("L", "rated"), ("L", "rated"), ("L", "rated")),
    ],
)
def test_the_worse_level_stands_and_is_settled_only_if_the_other_cannot_change_it(
    first: tuple[str, State], second: tuple[str | None, State], stands: tuple[str | None, State]
) -> None:
    for halves in ((first, second), (second, first)):
        _, found = worse_of(dict(zip(("plain", "disguised"), (rating(*one) for one in halves), strict=True)))
        assert (found.level, found.state) == stands


def test_the_reason_names_the_half_that_is_open() -> None:
    name, found = worse_of({"plain": rating("M"), "disguised": rating("L", "not settled")})
    assert name == "plain"
    assert [(one.code, one.facts) for one in found.reasons] == [
        ("other-half-not-settled", {"half": "disguised"})
    ]


STATES = st.sampled_from(
    [(level, state) for level in LEVELS for state in ("rated", "not settled")] + [(None, "incomplete")]
)


@given(STATES, STATES)
def test_no_half_can_make_the_other_look_better(
    first: tuple[str | None, State], second: tuple[str | None, State]
) -> None:
    _, found = worse_of({"plain": rating(*first), "disguised": rating(*second)})
    if found.state != "rated":
        return
    assert found.level is not None
    for level, state in (first, second):
        settled = state == "rated" and level is not None
        at_most = settled and LEVELS.index(str(level)) <= LEVELS.index(found.level)
        assert at_most or found.level == "H"


@pytest.mark.parametrize(("disguised", "sure"), [(0.012, True), (0.009, False), (None, False)])
def test_a_difference_of_less_than_a_point_does_not_matter(disguised: float | None, sure: bool) -> None:
    assert RecognitionGap(0.0, disguised, p=0.0005).sure == sure
