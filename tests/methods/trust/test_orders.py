"""All orders of issues, and what would change a level."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trustgauge.errors import MethodError
from trustgauge.methods.trust.combine import PUBLISHED_RULE, Combination, CombiningRule, IssueValue, outcome
from trustgauge.methods.trust.order_sensitivity import SAMPLED, all_orders, changes, issue_at_score
from trustgauge.methods.trust.profiles import IssueOrder

CUTS = (0.33, 0.67)
MIXED = {
    "bias": issue_at_score(0.05, CUTS),
    "abuse": issue_at_score(0.35, CUTS),
    "complexity": issue_at_score(0.6, CUTS),
    "leakage": IssueValue.at(2),
}


@pytest.mark.parametrize("rule", ["sound", "count", "worst-of", "lexicographic", "raw-weighted"])
def test_all_orders_are_tried_one_by_one(rule: CombiningRule) -> None:
    result = Combination(rule=rule)
    counts = {"L": 0, "M": 0, "H": 0}
    for names in permutations(MIXED):
        (level,) = outcome(IssueOrder.parse(list(names)), MIXED, result)
        counts[level] += 1
    found = all_orders(MIXED, result)
    assert found["levels"] == counts
    assert (found["orders"], found["of"], found["open"], found["sampled"]) == (24, 24, 0, False)


def test_orders_that_hang_on_a_missing_issue_are_counted_apart() -> None:
    known = {name: one for name, one in MIXED.items() if name != "leakage"}
    known["leakage"] = IssueValue.at(-1)
    result = all_orders(known, PUBLISHED_RULE)
    open_ones = 0
    for names in permutations(known):
        open_ones += len(outcome(IssueOrder.parse(list(names)), known, PUBLISHED_RULE)) > 1
    assert result["open"] == open_ones > 0
    assert sum(result["levels"].values()) + result["open"] == 24


def test_many_issues_are_sampled() -> None:
    many = {f"i{number}": IssueValue.at(number % 3) for number in range(8)}
    result = all_orders(many, PUBLISHED_RULE, seed=1)
    assert (result["orders"], result["of"], result["sampled"]) == (SAMPLED, 40_320, True)
    assert result == all_orders(many, PUBLISHED_RULE, seed=1)
    exact = all_orders(many, PUBLISHED_RULE, exact_up_to=8)
    assert (exact["orders"], exact["sampled"]) == (40_320, False)
    for level, count in exact["levels"].items():
        assert result["levels"][level] / SAMPLED == pytest.approx(count / 40_320, abs=0.05)
    with pytest.raises(MethodError, match="no orders to try"):
        all_orders(many, PUBLISHED_RULE, exact_up_to=9)
    with pytest.raises(MethodError, match="no orders to try"):
        all_orders({}, PUBLISHED_RULE)


def test_the_nearest_cut_that_changes_a_count() -> None:
    order = IssueOrder.parse("bias > abuse > complexity > leakage")
    result = changes(order, MIXED, PUBLISHED_RULE)
    assert result["now"] == ["M"]
    first = result["issues"][0]
    assert (first["issue"], first["level"], first["to_level"], first["result"]) == ("abuse", "M", "L", ["L"])
    assert first["crosses"] == [0.33]
    assert first["by"] == pytest.approx(-0.02)
    assert first["to_score"] < 0.33
    assert [abs(one["by"]) for one in result["issues"] if one["by"] is not None] == sorted(
        abs(one["by"]) for one in result["issues"] if one["by"] is not None
    )


def test_a_score_may_change_a_mean_without_crossing_a_cut() -> None:
    order = IssueOrder.parse("p > q")
    found = {"p": issue_at_score(0.32, CUTS), "q": issue_at_score(0.34, CUTS)}
    result = changes(order, found, Combination())
    assert result["now"] == ["L"]
    near = result["issues"][0]
    assert (near["issue"], near["result"]) == ("p", ["M"])
    beyond = {**found, "p": issue_at_score(near["to_score"], CUTS)}
    short = {**found, "p": issue_at_score(near["to_score"] - 1e-6, CUTS)}
    assert outcome(order, beyond, Combination()) == ("M",)
    assert outcome(order, short, Combination()) == ("L",)
    assert near["crosses"] == []


@given(
    st.permutations(["p", "q", "r"]),
    st.lists(st.floats(0, 1), min_size=3, max_size=3),
    st.sampled_from(["sound", "count", "raw-weighted"]),
)
@settings(deadline=None, max_examples=40)
def test_every_counterfactual_is_true_and_the_least(
    names: list[str], scores: list[float], rule: CombiningRule
) -> None:
    order, result = IssueOrder.parse(names), Combination(rule=rule)
    found = {name: issue_at_score(score, CUTS) for name, score in zip("pqr", scores, strict=True)}
    now = outcome(order, found, result)
    moves = changes(order, found, result)["issues"]
    for move in moves:
        there = {**found, move["issue"]: issue_at_score(move["to_score"], CUTS)}
        assert list(outcome(order, there, result)) == move["result"] != list(now)
    # Whatever a grid of single moves finds is not nearer than what was told.
    for name in "pqr":
        for step in range(-20, 21):
            score = found[name].score + step / 20
            if (
                0 <= score <= 1
                and outcome(order, {**found, name: issue_at_score(score, CUTS)}, result) != now
            ):
                told_by = [
                    abs(one["by"]) for one in moves if one["issue"] == name and (one["by"] > 0) == (step > 0)
                ]
                assert told_by
                assert told_by[0] <= abs(step) / 20 + 1e-9


def test_exchanges_of_neighbours() -> None:
    order = IssueOrder.parse("leakage > bias > abuse = complexity")
    result = changes(order, MIXED, Combination(rule="lexicographic"))
    assert result["now"] == ["H"]
    assert result["swaps"] == [
        {
            "swap": [["leakage"], ["bias"]],
            "order": ["bias", "leakage", "abuse = complexity"],
            "result": ["L"],
        }
    ]


def test_levels_alone_are_moved_by_levels() -> None:
    order = IssueOrder.parse("leakage > bias")
    found = {"leakage": IssueValue.at(2), "bias": IssueValue.at(0)}
    result = changes(order, found, Combination(rule="worst-of", first=1))
    (move,) = result["issues"]
    assert (move["issue"], move["to_level"], move["result"], move["by"]) == ("leakage", "M", ["M"], None)


def test_a_missing_issue_is_told_by_what_hangs_on_it() -> None:
    order = IssueOrder.parse("bias > leakage")
    result = changes(order, {"bias": IssueValue.at(0)}, Combination())
    assert result["now"] == ["L", "M"]
    assert result["issues"] == []
    (depends,) = result["depends"]
    assert depends["issue"] == "leakage"
    assert depends["levels"]["L"] == ["L"]
    assert depends["levels"]["H"] == ["M"]
