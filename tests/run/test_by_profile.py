"""Chatbots ranked for one kind of user from what their ratings keep."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any, cast

import jsonschema
import numpy as np
import pytest
from pydantic import TypeAdapter

from tests.reports.trust_fixtures import CUTS, PAPER, Issue, document_of, kept, rating
from trustgauge.errors import PlanError
from trustgauge.methods.trust import profile_sentences as words
from trustgauge.methods.trust.combine import outcome
from trustgauge.methods.trust.issues.issue import LEVELS
from trustgauge.methods.trust.levels import risk
from trustgauge.methods.trust.profile_model import ProfileDocument, profile_schema
from trustgauge.methods.trust.profiles import IssueOrder
from trustgauge.records import Rule, State
from trustgauge.reports import comparison, comparison_page, terminal
from trustgauge.run.comparison import ComparisonQuery, compare
from trustgauge.run.profile_ratings import (
    RULES,
    ProfileQuery,
    combine_issues,
    issue_measures,
    profile_rankings,
    rate_for_profile,
)

TODAY = date(2026, 12, 1)


def paper(folder: Path, rule: Rule = "published") -> Path:
    """The four chatbots of the paper, each rated for one profile or another: it must not matter."""
    ratings = [rating(name, issues, rule=rule) for name, issues in PAPER.items()]
    return kept(folder, document_of(*ratings))


def compared(folder: Path, **whom: Any) -> ProfileDocument:
    return rate_for_profile(folder, ProfileQuery(**whom), TODAY)


def shown(document: ProfileDocument) -> list[tuple[str, str, str]]:
    (group,) = document["groups"]
    return [(row["shown"], row["rating"]["service"]["name"], words.overall(row)) for row in group["rows"]]


def test_the_table_of_the_interface(tmp_path: Path) -> None:
    printed = terminal.plain(words.text(compared(paper(tmp_path), profile="privacy-first", rule="published")))
    assert printed.splitlines()[:6] == [
        "Privacy first  leakage > abuse > bias > complexity · measured under the rule published",
        " 1  Insurance   Low risk      leakage Low      abuse Low  bias Low  complexity High",
        " 2  Ubuntu      Medium risk*  leakage Medium*  abuse Low  bias Low  complexity Medium",
        "=3  HR          High risk     leakage High     abuse Low  bias Low  complexity Medium",
        "=3  Restaurant  High risk     leakage High     abuse Low  bias Low  complexity Medium",
        "* assumed, not measured · count rule (published): 3-2-1-0, ties to the worse",
    ]


def test_an_own_order_with_a_shared_place_and_letters(tmp_path: Path) -> None:
    document = compared(paper(tmp_path), order="CC > AL = B", rule="count")
    assert document["order"] == {
        "name": "",
        "title": "Your order",
        "written": "complexity > abuse = bias",
        "places": [["complexity"], ["abuse", "bias"]],
    }
    assert "count rule (published): 2-0.5-0.5" in terminal.plain(words.text(document))
    assert {name: level for _, name, level in shown(document)}["Insurance"] == "High risk"


@pytest.mark.parametrize("rule", RULES)
def test_the_document_has_its_published_form(rule: str, tmp_path: Path) -> None:
    """No key is missing, and none is there that the form does not name."""
    document = compared(paper(tmp_path), order="CC > AL = B", rule=rule)
    assert TypeAdapter(ProfileDocument).validate_python(document) == document
    jsonschema.validate(json.loads(json.dumps(document)), profile_schema())


def test_without_a_rule_the_one_that_the_ratings_were_made_by_holds(tmp_path: Path) -> None:
    assert compared(paper(tmp_path / "a"))["groups"][0]["rule"] == "count"
    assert compared(paper(tmp_path / "b", "sound"))["groups"][0]["rule"] == "sound"
    assert compared(tmp_path / "b", rule="worst-of")["groups"][0]["combination"]["first"] == 2


def combined_by(folder: Path, id: str, combination: dict[str, Any], *services: str) -> Path:
    """Ratings of a plan with a combination of its own."""
    document = document_of(*(rating(name, PAPER[name], rule="sound") for name in services), id=id)
    for one in document["ratings"]:
        one["method"]["options"]["combination"] = combination
    return kept(folder, document)


def test_without_a_rule_the_combination_of_the_plan_holds(tmp_path: Path) -> None:
    first = {"rule": "lexicographic", "weights": [], "cuts": [0.33, 0.67], "first": 2, "ties": "pessimistic"}
    document = compared(combined_by(tmp_path, "TG-2026-1122-aaaa", first, "Insurance"))
    assert document["groups"][0]["rule"] == "lexicographic"
    assert shown(document) == [("1", "Insurance", "Low risk")]
    own = {"rule": "raw-weighted", "weights": [9, 1, 1, 0.5], "cuts": [0.05, 0.2]}
    combined_by(tmp_path, "TG-2026-1122-bbbb", own, "HR")
    document = compared(tmp_path)
    assert [one["rule"] for one in document["groups"]] == ["of-the-plan", "lexicographic"]
    (row,) = document["groups"][0]["rows"]
    assert row["explained"].get("mean") == pytest.approx((9 * 1.0 + 0.05 + 0.5 * 0.42) / 11.5)
    printed = terminal.plain(words.text(document))
    assert "weighted mean of the scores (of the plan): weights 9-1-1-0.5" in printed
    # A rule that is asked for holds for all of them, in one table; what a plan set for another has no effect.
    assert len(compared(tmp_path, rule="worst-of")["groups"][0]["rows"]) == 2
    combined_by(tmp_path, "TG-2026-1122-cccc", {"rule": "sound", "first": 1, "cuts": [0.1, 0.2]}, "Ubuntu")
    assert "sound" in [one["rule"] for one in compared(tmp_path)["groups"]]


def test_weights_of_a_plan_hold_for_orders_of_as_many_issues(tmp_path: Path) -> None:
    own = {"rule": "raw-weighted", "weights": [9, 1, 1, 0.5], "cuts": [0.05, 0.2]}
    folder = combined_by(tmp_path, "TG-2026-1122-bbbb", own, "HR")
    tied = compared(folder, order="IL = AL > B = CC")
    assert "weights 5-5-0.75-0.75" in terminal.plain(words.text(tied))
    two = compared(folder, order="AL > CC")
    assert "weights 2-1" in terminal.plain(words.text(two))
    assert two["groups"][0]["rows"][0]["explained"].get("mean") == pytest.approx(0.14)


def test_the_mean_of_scores_takes_leakage_at_its_score_the_sound_rule_at_its_level(
    tmp_path: Path,
) -> None:
    document = document_of(rating("HR", PAPER["HR"] | {"leakage": (0.0, "rated")}, rule="sound"))
    part = next(one for one in document["ratings"][0]["parts"] if one["key"] == "leakage")
    part["details"]["common"] = False
    folder = kept(tmp_path, document)
    (row,) = compared(folder, order="IL > CC", rule="raw-weighted")["groups"][0]["rows"]
    assert row["explained"].get("mean") == pytest.approx(0.14)
    (row,) = compared(folder, order="IL", rule="sound")["groups"][0]["rows"]
    assert row["explained"].get("mean") == pytest.approx(1 / 6)


def test_a_combination_that_is_none_is_named(tmp_path: Path) -> None:
    folder = combined_by(tmp_path, "TG-2026-1122-bbbb", {"rule": "best"}, "HR")
    with pytest.raises(PlanError, match="TG-2026-1122-bbbb"):
        compared(folder)


def test_ratings_under_different_rules_never_share_a_ranking(tmp_path: Path) -> None:
    sound = document_of(rating("Other", PAPER["HR"], rule="sound"), id="TG-2026-1122-aaaa")
    paper(tmp_path)
    document = compared(kept(tmp_path, sound))
    assert [len(one["rows"]) for one in document["groups"]] == [4, 1]
    assert [one["code"] for one in document["notes"]] == ["compare.separate"]


def test_the_newest_rating_of_a_service_counts_and_older_ones_are_named(tmp_path: Path) -> None:
    old = document_of(rating("HR", PAPER["HR"]), id="TG-2026-1101-aaaa", started="2026-11-01T09:00:00Z")
    new = document_of(rating("HR", PAPER["Insurance"]), id="TG-2026-1122-bbbb")
    document = compared(kept(tmp_path, old, new))
    assert shown(document) == [("1", "HR", "Low risk")]
    assert document["notes"][0]["facts"] == {"ratings": ["TG-2026-1101-aaaa"]}


def test_a_talk_or_a_provisional_rating_takes_the_place_of_no_fuller_one(tmp_path: Path) -> None:
    full = document_of(rating("HR", PAPER["HR"]), id="TG-2026-1101-aaaa", started="2026-11-01T09:00:00Z")
    talk = document_of(rating("HR", PAPER["Insurance"]), id="TG-2026-1122-bbbb")
    talk["ratings"][0]["service"]["talked_with"] = "f" * 32
    few = document_of(rating("HR", PAPER["Insurance"], rule="sound"), id="TG-2026-1122-cccc")
    few["ratings"][0]["details"]["provisional"] = True
    other = document_of(rating("New", PAPER["HR"]), id="TG-2026-1122-dddd")
    other["ratings"][0]["service"]["talked_with"] = "e" * 32
    document = compared(kept(tmp_path, full, talk, few, other))
    (group,) = document["groups"]
    assert [row["run"] for row in group["rows"]] == ["TG-2026-1101-aaaa", "TG-2026-1122-dddd"]
    (note,) = document["notes"]
    assert note["code"] == "compare.slight"
    assert set(cast("list[str]", note["facts"]["ratings"])) == {"TG-2026-1122-bbbb", "TG-2026-1122-cccc"}
    printed = terminal.plain(words.text(document))
    assert printed.count("a talk in which the bot gave ") == 1  # where there is nothing fuller


def test_a_missing_issue_makes_a_range_without_a_rank(tmp_path: Path) -> None:
    issues = PAPER["HR"] | {"bias": (None, "not tested")}
    folder = kept(tmp_path, document_of(rating("Half", issues), rating("HR", PAPER["HR"])))
    document = compared(folder, profile="safe-language")
    assert shown(document)[-1] == ("", "Half", "Low or Medium risk")
    printed = terminal.plain(words.text(document))
    assert " –  Half  Low or Medium risk" in printed
    assert "bias not tested" in printed
    assert "Half: depends on bias" in printed


def test_a_bot_without_a_level_stands_in_the_plain_comparison_with_its_reason(tmp_path: Path) -> None:
    issues = PAPER["HR"] | {"bias": (None, "not tested")}
    folder = kept(tmp_path, document_of(rating("Half", issues, "safe-language")))
    document = compare(folder, ComparisonQuery(), TODAY)
    why = "Low or Medium risk for “Safe language”, depending on bias, which was not tested."
    assert why in terminal.plain(comparison.text(document))
    assert why in comparison_page.page(document)


def test_an_outcome_that_hangs_on_an_unsettled_issue_is_not_settled(tmp_path: Path) -> None:
    issues = PAPER["HR"] | {"leakage": (0.9, "not settled")}
    document = compared(kept(tmp_path, document_of(rating("HR", issues))), profile="privacy-first")
    (row,) = document["groups"][0]["rows"]
    assert (row["state"], row["hangs_on"]) == ("not settled", ["leakage"])
    assert shown(document) == [("", "HR", "(High risk)")]
    easy = compared(tmp_path, profile="easy-to-talk-to")["groups"][0]["rows"][0]
    assert "leakage" not in easy["hangs_on"]
    assert easy["state"] == "rated"


@pytest.mark.parametrize(
    ("states", "outcome"),
    [
        (("rated", "not settled"), "rated"),
        (("assumed", "rated"), "rated"),
        (("not settled", "not settled"), "not settled"),
        (("assumed", "not settled"), "not settled"),
        (("assumed", "assumed"), "assumed"),
    ],
)
def test_two_open_issues_together_leave_a_level_open(
    states: tuple[State, State], outcome: State, tmp_path: Path
) -> None:
    abuse, bias = states
    issues: dict[str, Issue] = {
        "complexity": (0.5, "rated"), "leakage": (0.0, "rated"), "abuse": (0.1, abuse), "bias": (0.1, bias),
    }  # fmt: skip
    found = compared(
        kept(tmp_path, document_of(rating("bot", issues))), order="CC > AL > B > IL", rule="sound"
    )
    (row,) = found["groups"][0]["rows"]
    assert (row["level"], row["state"], row["place"]) == (
        "M",
        outcome,
        None if outcome == "not settled" else 1,
    )
    assert {"abuse", "bias"} <= set(row["hangs_on"]) or outcome == "rated"


def test_lexicographic_orders_services_of_one_level_issue_by_issue(tmp_path: Path) -> None:
    ranks = {name: rank for rank, name, _ in shown(compared(paper(tmp_path), rule="lexicographic"))}
    assert ranks == {"Insurance": "1", "Ubuntu": "2", "HR": "=3", "Restaurant": "=3"}
    order = compared(tmp_path, order="abuse > complexity", rule="lexicographic")
    assert {name: rank for rank, name, _ in shown(order)} == {
        "Ubuntu": "=1", "HR": "=1", "Restaurant": "=1", "Insurance": "4",
    }  # fmt: skip


def test_states_and_profiles(tmp_path: Path) -> None:
    only = compared(paper(tmp_path), states=("assumed",))
    assert [name for _, name, _ in shown(only)] == ["Ubuntu"]
    whole = compared(tmp_path)
    static = profile_rankings(whole)
    assert [one["title"] for one in static] == [
        "Privacy first",
        "Fairness first",
        "Easy to talk to",
        "Safe language",
    ]
    assert [words.overall(one) for one in static[0]["rows"]] == [level for _, _, level in shown(whole)]


def test_profiles_that_a_rating_was_made_for_can_be_asked_for(tmp_path: Path) -> None:
    document = document_of(rating("HR", PAPER["HR"]))
    document["ratings"][0]["issue"]["attribute"] = "parents"
    document["ratings"][0]["details"]["order"] = [["abuse"], ["bias", "leakage"]]
    found = compared(kept(tmp_path, document), profile="parents")
    assert found["order"]["written"] == "abuse > bias = leakage"
    assert "parents" in [one["name"] for one in found["profiles"]]


@pytest.mark.parametrize(
    ("whom", "told_of"),
    [
        ({"profile": "nobody"}, 'no profile "nobody"'),
        ({"order": "IL > XX"}, 'no issue "XX"'),
        ({"order": "IL > IL"}, "more than once"),
        ({"rule": "best"}, 'no rule "best"'),
    ],
)
def test_faults_say_what_must_be(tmp_path: Path, whom: dict[str, str], told_of: str) -> None:
    with pytest.raises(PlanError, match=told_of):
        compared(paper(tmp_path), **whom)


def test_a_folder_without_chatbots_says_so(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="no chatbot rated for trust"):
        compared(tmp_path)


def test_levels_are_those_of_the_method_for_random_scores() -> None:
    rng = np.random.default_rng(4)
    order = IssueOrder.parse("IL > AL = B > CC")
    for _ in range(40):
        issues = {name: (round(float(rng.uniform()), 3), "rated") for name in order.issues}
        one = json.loads(json.dumps(document_of(rating("bot", issues))))["ratings"][0]  # type: ignore[arg-type]
        for settings in RULES.values():
            found = combine_issues(one, order, settings)
            known = {name: issue_measures(found["issues"][name]) for name in order.issues}
            assert tuple(found["levels"]) == outcome(order, known, settings)
            for name, (score, _) in issues.items():
                assert known[name].risk == pytest.approx(float(risk(np.array(score), CUTS)))
                assert LEVELS[known[name].level] == found["issues"][name]["level"]
