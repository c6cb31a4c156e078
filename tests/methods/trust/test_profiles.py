"""Orders of issues as people write them."""

from __future__ import annotations

import pytest

from trustgauge.errors import PlanError
from trustgauge.methods.trust.profiles import (
    PAPER_NAMES,
    PUBLISHED,
    TITLES,
    IssueOrder,
    order_of,
    profile_order,
    title,
)

KNOWN = ("abuse", "bias", "complexity", "leakage")


@pytest.mark.parametrize(
    "written",
    [
        "IL > AL = B > CC",
        "leakage, bias = abuse, complexity",
        "Leakage;Abuse=b;cc",
        ["leakage", "abuse = bias", "CC"],
        ("il", "al=b", "complexity"),
    ],
)
def test_ways_of_writing_one_order(written: str | list[str]) -> None:
    order = order_of(written, KNOWN)
    assert order.places == (("leakage",), ("abuse", "bias"), ("complexity",))
    assert order.written == ("leakage", "abuse = bias", "complexity")
    assert str(order) == "leakage > abuse = bias > complexity"
    assert order_of(order.written, KNOWN) == order_of(str(order), KNOWN) == order


def test_tied_issues_have_the_mean_of_their_ranks() -> None:
    assert IssueOrder.parse("a > b = c = d > e").ranks == (1, 3, 3, 3, 5)
    assert IssueOrder.parse("a = b > c").ranks == (1.5, 1.5, 3)
    assert IssueOrder.parse("a").ranks == (1,)


def test_left_out_issues_are_left_out() -> None:
    order = IssueOrder.parse("leakage > abuse = bias > complexity")
    assert order.among(["bias", "complexity"]) == IssueOrder.parse("bias > complexity")
    assert order.among([]).issues == ()


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("", "a place is empty"),
        ("bias > > abuse", "a place is empty"),
        ("bias =", "a place is empty"),
        ("bias > B", "bias stands in it more than once"),
        ("bias > abuze", 'did you mean "abuse"?'),
        (["bias", "x" * 65], "more than 64 characters"),
    ],
)
def test_what_is_no_order(written: str | list[str], said: str) -> None:
    with pytest.raises(PlanError) as result:
        order_of(written, KNOWN, "profiles.mine.order")
    assert said in str(result.value)
    assert str(result.value).startswith("profiles.mine.order: ")


def test_any_name_is_an_issue_where_none_are_known() -> None:
    assert order_of("accuracy > IL").issues == ("accuracy", "leakage")


def test_published_profiles() -> None:
    assert set(PUBLISHED) == set(TITLES) == set(PAPER_NAMES.values())
    assert str(profile_order("P_AU", {})) == "abuse > complexity > bias > leakage"
    assert profile_order("safe-language", {}) == profile_order("P_AU", {})
    assert title("easy-to-talk-to") == "Easy to talk to"


def test_own_profiles_come_first() -> None:
    own = {"parents": ["abuse", "bias = leakage"], "safe-language": ["abuse"]}
    assert str(profile_order("parents", own, KNOWN)) == "abuse > bias = leakage"
    assert profile_order("safe-language", own, KNOWN).issues == ("abuse",)
    with pytest.raises(PlanError, match=r"profiles\.parents\.order: no order of issues"):
        profile_order("parents", {"parents": ["abusing"]}, KNOWN)


def test_unknown_profile_names_the_nearest() -> None:
    with pytest.raises(PlanError, match=r'Did you mean "parents"\?'):
        profile_order("parent", {"parents": ["abuse"]})
