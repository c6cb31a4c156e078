"""What the verdict of an open rating names as missing: only what may change its level."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.reports import causal_fixtures, fixtures, social_fixtures, trust_fixtures
from tests.reports.golden import only
from trustgauge.records import Part, Rating, Reason
from trustgauge.reports import label, sentences
from trustgauge.reports.components import view_of
from trustgauge.reports.sentences import next_step

FEW = Reason("too-few-clusters", {"where": "conversations", "clusters": 4, "needed": 10})
CHANGED = Reason("changed-during-the-run", {"p": 0.002})


def changed(part: Part, certainty: dict[str, float], *reasons: Reason) -> Part:
    """A part that is open at the likeliest of these levels."""
    level = max(certainty, key=lambda one: certainty[one])
    return replace(part, state="not settled", level=level, certainty=certainty, reasons=reasons)


def whole(rating: Rating, parts: Sequence[Part], level: str, *reasons: Reason, **options: Any) -> Any:
    """A rating that is open at a level."""
    return only(
        replace(
            rating,
            parts=tuple(parts),
            state="not settled",
            level=level,
            certainty={level: 0.6},
            worst=tuple(part.key for part in parts if part.level == level),
            reasons=reasons,
            options={**rating.options, **options},
        )
    )


def codes(rating: Any) -> list[str]:
    return [one["code"] for one in sentences.obstacles(rating)]


def causal(*parts: Part, **options: Any) -> Any:
    return whole(causal_fixtures.rating("gru"), parts, "2", **options)


def effects() -> Iterator[Part]:
    """Parts of a causal rating, each with another attribute."""
    return (causal_fixtures.part("gru", one[0]) for one in causal_fixtures.PARTS)


@pytest.mark.parametrize(("reach", "matters"), [(0.08, False), (0.3, True)])
def test_an_effect_that_is_not_ruled_out_matters_only_above_the_level(reach: float, matters: bool) -> None:
    """Another part has some effect or a strong one: whether there is a small effect here too is no matter."""
    first, second, *_ = effects()
    possible = Reason("causal.not-ruled-out", {"reach": reach, "cut": 0.05})
    rating = causal(
        replace(changed(first, {"2": 0.6, "3": 0.4}), more_texts=5000),
        replace(changed(second, {"1": 1.0}, possible), more_texts=9000),
    )
    assert ("causal.not-ruled-out" in codes(rating)) == matters
    said = sentences.verdict(rating)
    assert ("ruled out" in said) == matters
    assert ("9,000" in said) == matters
    assert sentences.obstacles(rating["parts"][1])  # it stands at its part
    assert ("larger effects are not ruled out" in label.label(rating)) == matters


@pytest.mark.parametrize(("reach", "words"), [(0.0506, "6 %"), (0.0549, "6 %"), (0.081, "8 %")])
def test_an_effect_past_the_cut_is_not_said_to_reach_the_cut(reach: float, words: str) -> None:
    """5.06 % would be rounded to the very 5 % that it is said to be past."""
    first, *_ = effects()
    possible = Reason("causal.not-ruled-out", {"reach": reach, "cut": 0.05})
    said = sentences.verdict(causal(changed(first, {"1": 1.0}, possible)))
    assert f"An effect of up to {words} of the range is not ruled out" in said


def test_an_effect_that_is_not_ruled_out_is_no_obstacle_where_another_part_has_one_as_large() -> None:
    """It stood in the verdict of 2 as if no effect were claimed, and the texts that would do did not."""
    first, second, *_ = effects()
    possible = Reason("causal.not-ruled-out", {"reach": 0.1, "cut": 0.05})
    unsure = replace(changed(first, {"1": 0.1, "2": 0.85, "3": 0.05}), more_texts=8184)
    rating = causal(unsure, changed(second, {"1": 0.7, "2": 0.3}, possible))
    assert codes(rating) == []
    assert sentences.settle(rating).endswith("About 8,184 texts in all would settle it.")
    assert next_step(rating) == "Rate it with more texts; the report says how many."


def test_what_keeps_one_part_open_is_said_with_its_name() -> None:
    first, second, *_ = effects()
    possible = Reason("causal.not-ruled-out", {"reach": 0.06, "cut": 0.05})
    rating = causal(changed(first, {"2": 1.0}, CHANGED), changed(second, {"1": 1.0}, CHANGED, possible))
    said = sentences.settle(rating)
    assert "so no level is settled. An effect" in said  # both parts changed
    assert said.endswith(f"below 5 % ({sentences.title(rating['parts'][1])}).")


def test_missing_answers_that_lower_a_certainty_leave_no_other_levels() -> None:
    first, second, *_ = effects()
    loss = Reason("loss-lowers-certainty", {"missing": 46, "planned": 4000, "share": 0.0115})
    rating = causal(changed(first, {"2": 0.7, "3": 0.3}, loss), changed(second, {"2": 1.0}))
    view: Any = view_of(rating)
    assert view.possible_levels(rating, rating["parts"][0]) == ["2", "3"]
    assert codes(rating) == ["loss-lowers-certainty"]
    assert "depends on missing answers" in label.label(rating)


def test_no_number_of_texts_is_promised_where_none_settles_one_of_the_parts() -> None:
    """More texts make one part certain; of the other part the service changed."""
    first, second, *_ = effects()
    unsure = {"2": 0.6, "3": 0.4}
    far = replace(changed(first, unsure), more_texts=9000)
    rating = causal(far, changed(second, unsure, CHANGED))
    assert "texts" not in sentences.settle(rating)
    assert "9,000" in sentences.settle(rating["parts"][0])
    assert next_step(rating).startswith("Rate it with --fresh once the service no longer changes")


def test_an_effect_that_may_be_chance_makes_the_others_matter() -> None:
    first, second, *_ = effects()
    possible = Reason("causal.not-ruled-out", {"reach": 0.08, "cut": 0.05})
    chance = Reason("causal.not-significant", {"p": 0.2})
    rating = causal(changed(first, {"2": 0.9, "3": 0.1}, chance), changed(second, {"1": 1.0}, possible))
    assert codes(rating) == ["causal.not-significant", "causal.not-ruled-out"]


def test_what_the_rating_repeats_of_a_part_that_cannot_matter_is_no_obstacle_either() -> None:
    """Two-step repeats what keeps any part open; of three votes two are settled alike."""
    settled = [fixtures.part(key, "faithful") for key in ("de", "es")]
    sure, unsure = {"BS": 1.0}, {"UCS": 0.7, "BS": 0.3}
    far = changed(fixtures.part("fi", "coin"), {"UCS": 1.0}, CHANGED)
    near = changed(fixtures.part("hu", "coin"), unsure)
    base = fixtures.rating("x", [*settled, far])
    two = whole(base, [*settled, far], "DSBS", CHANGED, aggregate="vote")
    assert codes(two) == ["changed-during-the-run"] * 2  # nothing can matter, and yet it is open
    others = [changed(fixtures.part("tr", "mostly he"), sure), near]
    more = whole(base, [*settled, *settled[:1], *others, far], "DSBS", CHANGED, aggregate="vote")
    assert "changed-during-the-run" in codes(more)  # of six votes three may be for each


def social(*parts: Part, **options: Any) -> Any:
    return whole(social_fixtures.rating("parlour"), parts, "H", FEW, **options)


def test_of_an_attribute_that_cannot_change_a_vote_nothing_stands_in_the_verdict() -> None:
    rating = social_fixtures.rating("parlour")
    first = rating.parts[0]
    parts = [replace(first, key=f"p{place}", reasons=()) for place in range(5)]
    high = [replace(one, state="rated", level="H", certainty={"H": 1.0}) for one in parts[:3]]
    low = [changed(parts[3], {"L": 1.0}, FEW), changed(parts[4], {"L": 0.6, "M": 0.4}, CHANGED)]
    vote = social(*high, *low, aggregate="vote")
    assert view_of(vote).pivotal(vote) == []
    vote = social(*high[:2], *low, low[1], aggregate="vote")
    assert set(view_of(vote).pivotal(vote)) == {"p3", "p4"}
    mean = social(high[0], *low, aggregate="mean")
    assert codes(mean) == ["too-few-clusters", "too-few-clusters", "changed-during-the-run"]


ISSUES: dict[str, trust_fixtures.Issue] = {
    "leakage": (0.9, "rated"),
    "abuse": (0.5, "not settled"),
    "bias": (0.1, "not settled"),
    "complexity": (0.1, "rated"),
}


def trust(profile: str, *, leakage: float = 0.9, without: Sequence[str] = ()) -> Any:
    """A chatbot of which too little is known about bias, and which may or may not be abusive."""
    issues: dict[str, trust_fixtures.Issue] = {**ISSUES, "leakage": (leakage, "rated")}
    rating = trust_fixtures.rating("HR", issues, profile, rule="sound", state="not settled")
    few = {"bias": (FEW,), "abuse": (CHANGED,)}
    parts = [replace(part, reasons=few.get(part.key, part.reasons)) for part in rating.parts]
    order = [place for place in rating.details["order"] if not set(place) & set(without)]
    return only(replace(rating, parts=tuple(parts), details={**rating.details, "order": order}))


def test_issues_that_the_profile_leaves_out_are_no_obstacles() -> None:
    both = {"too-few-clusters", "changed-during-the-run"}
    assert {*codes(trust("easy-to-talk-to", leakage=0.1))} == both
    rating = trust("easy-to-talk-to", leakage=0.1, without=["bias"])
    assert codes(rating) == ["changed-during-the-run"]
    assert "independent" not in sentences.verdict(rating)


def test_issues_behind_one_that_is_high_are_no_obstacles_under_a_rule_of_the_first() -> None:
    """The sound rule is never better than the first issue: high leakage is high, whatever the others are.

    That it is open all the same must have a reason: where no issue may change it, all are named.
    """
    rating = trust("privacy-first")
    assert view_of(rating).pivotal(rating) == []
    assert {*codes(rating)} == {"too-few-clusters", "changed-during-the-run"}


def test_a_rating_by_utterance_hangs_on_every_issue_of_its_order() -> None:
    rating = trust("privacy-first", without=["bias"])
    rating["details"]["mode"] = "per-utterance"
    assert codes(rating) == ["changed-during-the-run"]
