"""Combining levels of issues: against rules written out naively, and the laws they must keep."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from trustgauge.errors import MethodError
from trustgauge.methods.trust.arithmetic import explain
from trustgauge.methods.trust.combine import (
    ANYTHING,
    MISSING,
    PUBLISHED_RULE,
    Combination,
    CombiningRule,
    IssueValue,
    combine_rows,
    hinges,
    interval_of_mean,
    levels_of,
    outcome,
    pivotal_issues,
    possible,
    row_of,
)
from trustgauge.methods.trust.order_sensitivity import issue_at_score
from trustgauge.methods.trust.profiles import IssueOrder

CUTS = (0.33, 0.67)
NAMES = "abcdef"
RULES: tuple[CombiningRule, ...] = ("sound", "count", "raw-weighted", "worst-of", "lexicographic")


def weak_orders(k: int) -> st.SearchStrategy[IssueOrder]:
    """Orders of k issues with ties."""
    return st.lists(st.integers(0, k), min_size=k, max_size=k).map(
        lambda at: IssueOrder(
            tuple(
                tuple(NAMES[issue] for issue in range(k) if at[issue] == place) for place in sorted(set(at))
            )
        )
    )


SCORES = st.lists(st.sampled_from([0, 0.1, 0.33, 0.5, 0.67, 0.68, 1]), min_size=6, max_size=6)
ORDERS = st.integers(1, 5).flatmap(weak_orders)


def issues(order: IssueOrder, scores: list[float]) -> dict[str, IssueValue]:
    return {
        name: issue_at_score(score, CUTS)
        for name, score in zip(NAMES, scores, strict=False)
        if name in order.issues
    }


def by_hand(order: IssueOrder, found: dict[str, IssueValue], told: Combination) -> int:
    """The rules of trust 4.4, one issue after the other, in fractions."""
    k = len(order.issues)
    imp: dict[str, Fraction] = {}
    for place in order.places:
        first = len(imp) + 1
        imp |= dict.fromkeys(place, Fraction(2 * first + len(place) - 1, 2))
    worst = max(one.level for one in found.values())
    top = max(found[name].level for name in order.places[0])
    if told.rule == "lexicographic":
        return top
    if told.rule == "worst-of":
        seen = [name for name in imp if sum(imp[other] < imp[name] for other in imp) < told.first]
        return max(found[name].level for name in seen)
    if told.rule == "count":
        points = {level: Fraction(0) for level in {one.level for one in found.values()}}
        for name, one in found.items():
            points[one.level] += k - imp[name]
        tied = sorted(level for level, value in points.items() if value == max(points.values()))
        return {"optimistic": tied[0], "pessimistic": tied[-1]}.get(
            told.ties, tied[0] if len(tied) == 1 else 1
        )
    sound = told.rule == "sound"
    values = {
        name: Fraction(one.risk if sound else one.score).limit_denominator(10**6)
        for name, one in found.items()
    }
    mean = sum((k + 1 - imp[name]) * value for name, value in values.items()) / sum(
        k + 1 - one for one in imp.values()
    )
    cuts = (Fraction(1, 3), Fraction(2, 3)) if sound else tuple(Fraction(str(one)) for one in told.cuts)
    level = int(mean >= cuts[0]) + int(mean > cuts[1])
    return max(level, top, worst - 1) if sound else level


@given(
    ORDERS,
    SCORES,
    st.sampled_from(RULES),
    st.sampled_from(["pessimistic", "optimistic", "middle"]),
    st.integers(1, 3),
)
def test_rules_are_those_written_out(order: IssueOrder, scores: list[float], rule, ties, first) -> None:  # type: ignore[no-untyped-def]
    result = Combination(rule=rule, ties=ties, first=first)
    found = issues(order, scores)
    assert outcome(order, found, result) == ("LMH"[by_hand(order, found, result)],)


@given(ORDERS, st.lists(SCORES, min_size=1, max_size=7), st.sampled_from(RULES))
def test_rows_are_combined_one_by_one(
    order: IssueOrder, rows: list[list[float]], rule: CombiningRule
) -> None:
    result = Combination(rule=rule)
    each = [row_of(order, issues(order, row)) for row in rows]
    levels, risks, scores = (np.concatenate([one[part] for one in each]) for part in range(3))
    together = levels_of(order, levels, risks, result, scores)
    assert together.tolist() == [int(levels_of(order, *one[:2], result, one[2])[0]) for one in each]


@given(ORDERS, SCORES, SCORES)
def test_sound_is_monotone_and_hides_nothing(
    order: IssueOrder, scores: list[float], more: list[float]
) -> None:
    """A rise of any risk never betters the outcome; a high risk anywhere is never a low one."""
    low = issues(order, scores)
    high = issues(order, [max(pair) for pair in zip(scores, more, strict=True)])
    (before,), (after,) = outcome(order, low, Combination()), outcome(order, high, Combination())
    assert "LMH".index(before) <= "LMH".index(after)
    place = "LMH".index(before)
    assert place >= max(low[name].level for name in order.places[0])
    assert place >= max(one.level for one in low.values()) - 1


@given(ORDERS, SCORES, st.sampled_from(RULES))
def test_what_all_issues_agree_on_is_the_outcome(
    order: IssueOrder, scores: list[float], rule: CombiningRule
) -> None:
    for level in range(3):
        same = {name: IssueValue.at(level) for name in order.issues}
        result = Combination(rule=rule)
        assert outcome(order, same, result) == ("LMH"[level],)


@given(ORDERS, SCORES, st.sampled_from(RULES), st.integers(0, 31))
@settings(deadline=None)
def test_a_missing_issue_gives_a_range_that_holds_the_truth(
    order: IssueOrder, scores: list[float], rule: CombiningRule, gone: int
) -> None:
    result = Combination(rule=rule)
    full = issues(order, scores)
    kept = {name: one for at, (name, one) in enumerate(sorted(full.items())) if not gone >> at & 1}
    assume(len(kept) < len(full))
    may = outcome(order, kept, result)
    assert set(outcome(order, full, result)) <= set(may)
    absent = [name for name in full if name not in kept]
    at_levels = set()
    for fill in product(range(3), repeat=len(absent)):
        put = {name: IssueValue.at(level) for name, level in zip(absent, fill, strict=True)}
        at_levels |= set(outcome(order, {**kept, **put}, result))
    assert at_levels <= set(may)
    if rule in ("count", "worst-of", "lexicographic"):
        assert at_levels == set(may)


def test_a_missing_issue_that_does_not_matter_leaves_the_level() -> None:
    order = IssueOrder.parse("bias > abuse > complexity > leakage")
    low = {name: IssueValue.at(0) for name in ("bias", "abuse", "complexity")}
    assert outcome(order, low, PUBLISHED_RULE) == ("L",)  # the last issue counts 0
    assert outcome(order, low, Combination()) == ("L", "M")  # a high risk may not be hidden
    assert outcome(order, {}, Combination()) == ("L", "M", "H")


def test_missing_in_some_rows_only() -> None:
    order = IssueOrder.parse("p > q")
    levels = np.array([[0, 0], [MISSING, 0], [2, MISSING]])
    risks = np.array([[0.1, 0.1], [np.nan, 0.1], [0.9, np.nan]])
    assert possible(order, levels, risks, Combination()).tolist() == [
        [True, False, False],
        [True, True, True],
        [False, False, True],
    ]
    with pytest.raises(MethodError, match="was not measured"):
        levels_of(order, levels, risks, Combination())


def test_all_orders_at_once() -> None:
    ranks = np.array([[1.0, 2.0], [2.0, 1.0]])
    one = np.array([[0, 2]])
    result = combine_rows(ranks, one, np.array([[1 / 6, 5 / 6]]), PUBLISHED_RULE)
    assert result.tolist() == [0, 2]


def test_one_issue_is_its_own_level_though_it_counts_nothing() -> None:
    order = IssueOrder.parse("bias")
    for rule, level in product(RULES, range(3)):
        assert outcome(order, {"bias": IssueValue.at(level)}, Combination(rule=rule)) == ("LMH"[level],)


def test_weights_that_are_given() -> None:
    order = IssueOrder.parse("p > q = r")
    found = {"p": issue_at_score(0.2, CUTS), "q": issue_at_score(0.9, CUTS), "r": issue_at_score(0.1, CUTS)}
    result = explain(order, found, Combination(rule="raw-weighted", weights=(5, 2, 1)))
    assert [one["weight"] for one in result["issues"]] == [5, 1.5, 1.5]
    assert result["mean"] == pytest.approx((5 * 0.2 + 1.5 * 0.9 + 1.5 * 0.1) / 8)
    assert result["levels"] == ["L"]
    with pytest.raises(MethodError, match="not as many weights"):
        outcome(order, found, Combination(rule="raw-weighted", weights=(5, 2)))


def test_what_cannot_be_combined() -> None:
    order = IssueOrder.parse("p > q")
    one, risks = np.array([[0, 1]]), np.array([[0.1, 0.5]])
    with pytest.raises(MethodError, match="combines scores"):
        levels_of(order, one, risks, Combination(rule="raw-weighted"))
    with pytest.raises(MethodError, match="do not fit"):
        levels_of(order, np.array([[0, 1, 2]]), risks, Combination())
    with pytest.raises(MethodError, match="undefined"):
        levels_of(order, one, np.array([[0.1, np.nan]]), Combination())


@pytest.mark.parametrize(
    "wrong", [{"cuts": (0.7, 0.3)}, {"cuts": (0.0, 0.5)}, {"weights": (1, 2)}, {"weights": (0, 0)}]
)
def test_settings_that_make_no_sense(wrong: dict[str, tuple[float, ...]]) -> None:
    with pytest.raises(ValidationError, match=r"smaller first|greater than 0|positive and falling"):
        Combination.model_validate(wrong)


def test_explained_by_points() -> None:
    order = IssueOrder.parse("bias > abuse = complexity > leakage")
    found = {name: IssueValue.at(level) for name, level in zip(order.issues, (0, 1, 0, 2), strict=True)}
    result = explain(order, found, PUBLISHED_RULE)
    assert result["points"] == {"L": 4.5, "M": 1.5, "H": 0.0}
    assert [(one["issue"], one["points"]) for one in result["issues"]] == [
        ("bias", 3.0),
        ("abuse", 1.5),
        ("complexity", 1.5),
        ("leakage", 0.0),
    ]
    assert (result["tied"], result["not_counted"], result["levels"]) == ([], ["leakage"], ["L"])


@pytest.mark.parametrize(
    ("levels", "bound", "level"),
    [
        ((1, 0, 0, 0), "first", "M"),
        ((0, 0, 0, 2), "worst", "M"),
        ((0, 0, 0, 1), "", "L"),
        ((2, 0, 0, 2), "first", "H"),
    ],
)
def test_explained_by_bounds(levels: tuple[int, ...], bound: str, level: str) -> None:
    order = IssueOrder.parse("p > q > r > s")
    found = dict(zip(order.issues, map(IssueValue.at, levels), strict=True))
    result = explain(order, found, Combination())
    assert (result["bound"], result["levels"]) == (bound, [level])
    assert result["mean"] == pytest.approx(
        sum(one["share"] * (one["risk"] or 0.0) for one in result["issues"])
    )
    assert [one["by"] for one in result["bounds"]] == ["first", "worst"]


@pytest.mark.parametrize("rule", RULES)
def test_explained_with_an_issue_missing(rule: CombiningRule) -> None:
    result = explain(IssueOrder.parse("p > q"), {"q": IssueValue.at(1)}, Combination(rule=rule))
    assert result["missing"] == ["p"]
    assert result["issues"][0]["level"] is None
    assert not {"mean", "points", "bounds"} & set(result)
    assert len(result["levels"]) > 1


def test_explained_by_what_is_looked_at() -> None:
    order = IssueOrder.parse("p > q = r > s")
    found = {name: IssueValue.at(level) for name, level in zip("pqrs", (0, 1, 2, 0), strict=True)}
    assert explain(order, found, Combination(rule="worst-of", first=2))["looked_at"] == ["p", "q", "r"]
    result = explain(order, found, Combination(rule="lexicographic"))
    assert result["sequence"] == [["L"], ["M", "H"], ["L"]]
    assert result["levels"] == ["L"]


def test_ends_of_a_weighted_mean_add_up_as_squares() -> None:
    weights, values = np.array([3.0, 1.0]), np.array([0.4, 0.2])
    ends = np.array([[0.3, 0.6], [0.0, 0.2]])
    low, high = interval_of_mean(weights, values, ends)
    assert low == pytest.approx(0.35 - np.hypot(0.75 * 0.1, 0.25 * 0.2))
    assert high == pytest.approx(0.35 + 0.75 * 0.2)
    assert interval_of_mean(np.ones(1), values[:1], ends[:1]) == pytest.approx((0.3, 0.6))


def test_two_issues_together_may_change_a_level_that_neither_changes_alone() -> None:
    order = IssueOrder.parse("CC > AL > B > IL")
    levels = {"complexity": 1, "abuse": 0, "bias": 0, "leakage": 0}
    found = {name: IssueValue.at(level) for name, level in levels.items()}
    alone = [hinges(order, found, Combination(), [name]) for name in ("abuse", "bias")]
    assert alone == [[], []]
    assert hinges(order, found, Combination(), ["abuse", "bias"]) == ["abuse", "bias"]
    assert hinges(order, found, Combination(), ["leakage", "abuse", "bias"]) == ["abuse", "bias"]
    assert hinges(order, found, Combination(), ["complexity", "abuse", "bias"]) == ["complexity"]


@given(ORDERS, SCORES, st.sampled_from(RULES), st.sets(st.sampled_from(NAMES)))
@settings(max_examples=60, deadline=None)
def test_issues_hinge_where_levels_that_they_may_have_at_once_change_the_outcome(
    order: IssueOrder, scores: list[float], rule: CombiningRule, chosen: set[str]
) -> None:
    """Every way to put the issues at a score of each level, tried by itself."""
    found, told = issues(order, scores), Combination(rule=rule)
    among = sorted(chosen & set(order.issues))
    seen = {
        outcome(order, found | dict(zip(among, values, strict=True)), told)
        for values in product([issue_at_score(score, CUTS) for score in (0, 0.5, 1)], repeat=len(among))
    }
    if len(seen) > 1:
        assert hinges(order, found, told, among)
    assert set(hinges(order, found, told, among)) <= set(among)


@given(ORDERS, SCORES, st.lists(st.booleans(), min_size=6, max_size=6), st.sampled_from(RULES))
@settings(max_examples=60, deadline=None)
def test_an_issue_is_pivotal_if_another_value_of_it_gives_another_level(
    order: IssueOrder, scores: list[float], is_open: list[bool], rule: CombiningRule
) -> None:
    """Against every combination of what up to three open issues may be, tried one by one."""
    assume(sum(one for one, name in zip(is_open, NAMES, strict=True) if name in order.issues) <= 3)
    combining = Combination(rule=rule)
    known = issues(order, scores)
    may = {name: ANYTHING if is_open[NAMES.index(name)] else (one,) for name, one in known.items()}
    expected = []
    for name in order.issues:
        others = [one for one in order.issues if one != name]
        expected += [name] * any(
            len(
                {
                    outcome(order, {**dict(zip(others, rest, strict=True)), name: own}, combining)
                    for own in may[name]
                }
            )
            > 1
            for rest in product(*(may[one] for one in others))
        )
    assert pivotal_issues(order, may, combining) == expected


@given(ORDERS, SCORES, st.sampled_from(RULES))
def test_hinges_are_pivotal(order: IssueOrder, scores: list[float], rule: CombiningRule) -> None:
    """What may change a known level alone or with others also may where all of these are open."""
    known, combining = issues(order, scores), Combination(rule=rule)
    among = list(order.issues)[:4]
    may = {name: ANYTHING if name in among else (one,) for name, one in known.items()}
    assert set(hinges(order, known, combining, among)) <= set(pivotal_issues(order, may, combining))
