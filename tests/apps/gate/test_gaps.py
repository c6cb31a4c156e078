"""What is missing or unread, or was measured by a doubtful figure, is no evidence for or against a run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.apps.gate.test_gate import gate, well_formed
from tests.run.comparisons import compared, pairs, ranks
from trustgauge.plan import load_plan
from trustgauge.run import run
from trustgauge.run.options import RunOptions

SERVICES = """
import hashlib
import re

PRONOUN = re.compile(r"\\b(He|She)\\b")


def lot(text):
    return hashlib.blake2b(text.encode()).digest()[0] / 256


def identity(text):
    return text


def unread(text):
    return "Xqz vbn kjw plm rty." if lot(text) < 0.02 else text


def names(text):
    return text if lot(text) < 0.2 else PRONOUN.sub(lambda m: {"He": "John", "She": "Maria"}[m[1]], text)


def all_he(text):
    return PRONOUN.sub("He", text)


def some_he(text):
    return all_he(text) if lot(text) < 0.4 else text


def rejects(text):
    if lot(text) < 0.2:
        raise ValueError("rejected")
    return text


CALLS = []


def drifts(text):
    CALLS.append(text)
    return all_he(text) if len(CALLS) > 150 else text


def fair(text):
    return 0.2 * (lot(text) - 0.5) + (0.3 if "happy" in text else -0.3)


def constant(text):
    return 0.25


def unfair(text):
    return fair(text) - (0.5 if re.search(r"\\b(she|her|woman|girl|sister|mother|wife|aunt)\\b", text) else 0)


def half_scored(text):
    return fair(text) if lot(text) < 0.95 else float("nan")
"""
TWO_STEP = {"method": "two-step", "texts": 100, "patterns": ["subject"], "draws": 1000}
CAUSAL = {
    "method": "causal",
    "groups": [1],
    "frames": 20,
    "resamples": 1000,
    "words": {"e3": ["grim", "happy"]},
}


def plan(folder: Path, names: Mapping[str, str], experiment: Mapping[str, Any]) -> dict[str, Any]:
    """A plan of the services above: name -> function."""
    deterministic = "drifts" not in names.values()
    common = {"use": "function", "folder": str(folder), "deterministic": deterministic}
    if experiment["method"] == "causal":
        common |= {"task": "score"}
    services = {name: {**common, "function": f"services_with_gaps:{one}"} for name, one in names.items()}
    return {
        "name": "gaps",
        "seed": 3,
        "services": services,
        "experiments": [{**experiment, "services": list(names)}],
    }


@pytest.fixture(scope="module")
def gaps(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A folder of runs, and the run of each function."""
    folder = tmp_path_factory.mktemp("gaps")
    (folder / "services_with_gaps.py").write_text(SERVICES, "utf-8")
    options = RunOptions(ratings=folder / "ratings")
    made = {}
    for experiment, names in (
        (TWO_STEP, ("identity", "unread", "names", "all_he", "rejects", "drifts")),
        (CAUSAL, ("fair", "constant", "unfair", "half_scored")),
    ):
        for one in names:
            made[one] = run.rate(load_plan(plan(folder, {"bot": one}, experiment)), options).folder.name
    return options.ratings, made


def asked(gaps: tuple[Path, dict[str, str]], after: str, before: str) -> tuple[int, str]:
    folder, runs = gaps
    return gate(runs[after], "--against", runs[before], "--ratings", str(folder))


def test_a_few_unread_answers_make_nobody_worse_or_better(gaps: tuple[Path, dict[str, str]]) -> None:
    for after, before in (("unread", "identity"), ("identity", "unread")):
        code, said = asked(gaps, after, before)
        assert code == 0
        assert "Same: off balance 0 points" in said
        assert "p = 1.00 after Holm. 0 of " in said


@pytest.mark.parametrize("before", ["identity", "all_he"])
def test_unread_answers_that_could_decide_it_leave_it_open(
    before: str, gaps: tuple[Path, dict[str, str]]
) -> None:
    """Four in five are unread: all as Other would be far worse than before, unchanged they would not."""
    code, said = asked(gaps, "names", before)
    assert code == 5
    assert "Cannot tell: missing or uninterpreted answers could decide it. Compared: off balance" in said
    assert "next     Have people label the answers that could not be interpreted" in said
    folder, runs = gaps
    well_formed(
        ["compare", runs[before], runs["names"], "--paired", "--as", "json", "--ratings", str(folder)]
    )


def test_what_is_far_worse_fails_though_some_answers_are_unread(gaps: tuple[Path, dict[str, str]]) -> None:
    assert asked(gaps, "all_he", "unread")[0] == 10
    assert asked(gaps, "unread", "all_he")[0] == 0


def test_a_service_that_changed_during_the_run_is_compared_with_none(
    gaps: tuple[Path, dict[str, str]],
) -> None:
    code, said = asked(gaps, "drifts", "identity")
    assert code == 5
    assert "cannot be subtracted: the service changed during the new run." in said
    assert "next     Rate it with --fresh once the service no longer changes" in said


def test_a_run_without_a_rating_is_named_as_the_cause(gaps: tuple[Path, dict[str, str]]) -> None:
    code, said = asked(gaps, "rejects", "identity")
    assert code == 4
    assert "The runs cannot be subtracted: the new run has no rating." in said


def test_a_scorer_that_became_constant_cannot_be_told_from_a_fair_one(
    gaps: tuple[Path, dict[str, str]],
) -> None:
    code, said = asked(gaps, "constant", "fair")
    assert code == 5
    assert "cannot be subtracted: only the new run gave every text the same score." in said
    assert asked(gaps, "constant", "constant")[0] == 0


def test_scores_that_are_missing_and_cannot_be_bounded_leave_it_open(
    gaps: tuple[Path, dict[str, str]],
) -> None:
    code, said = asked(gaps, "half_scored", "fair")
    assert code in (4, 5)
    assert "Worse" not in said
    assert "Better" not in said


def test_services_that_answered_alike_share_a_rank_whatever_is_unread(
    gaps: tuple[Path, dict[str, str]],
) -> None:
    folder, _ = gaps
    three = plan(folder.parent, {"whole": "identity", "gaps": "unread", "he": "all_he"}, TWO_STEP)
    made = run.rate(load_plan(three), RunOptions(ratings=folder)).folder.name
    (group,) = compared(folder, made)["groups"]
    assert ranks(group) == {"whole": "=1", "gaps": "=1", "he": "3"}
    (pair,) = (one for names, one in pairs(group).items() if "he" not in names)
    assert (pair["sign"], pair["verdict"]) == ("=", "same")


def test_scores_behind_a_failure_are_shown_with_few_digits(gaps: tuple[Path, dict[str, str]]) -> None:
    code, said = asked(gaps, "unfair", "fair")

    assert code == 10
    assert re.search(r": -?\d(\.\d{1,3})? → -?\d(\.\d{1,3})?$", said, re.MULTILINE)
    assert not re.search(r"\d\.\d{5}", said)


def test_of_many_services_that_became_worse_each_fails(tmp_path: Path) -> None:
    """A p of 2,000 draws is at least .001, and of six tests .006: more are drawn where that decides."""
    (tmp_path / "services_with_gaps.py").write_text(SERVICES, "utf-8")
    options = RunOptions(ratings=tmp_path / "ratings")
    names = tuple("abcdef")
    made = [
        run.rate(load_plan(plan(tmp_path, dict.fromkeys(names, one), TWO_STEP)), options).folder.name
        for one in ("some_he", "all_he")
    ]
    code, said = gate(made[1], "--against", made[0], "--ratings", str(options.ratings))
    assert code == 10
    assert said.count("adds bias (BS) → adds bias (BS). Worse: off balance") == len(names), said
    assert gate(made[0], "--against", made[0], "--ratings", str(options.ratings))[0] == 0
