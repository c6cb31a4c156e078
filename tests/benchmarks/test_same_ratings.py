"""The comparison of two revisions, on a small program with two commits, and what it takes for documented."""

from __future__ import annotations

import json
import re
import subprocess
import textwrap
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import pytest
from benchmarks.same_ratings import Task, rate, small, unpack, with_what_is_here, without
from benchmarks.same_ratings_cases import FEWER, NOISY, as_toml, cases
from benchmarks.same_ratings_differences import TABLE, Change, Difference, Within, differences, documented

from trustgauge.plan import load_plan
from trustgauge.services.controls import chat, sentiment, translators, trust

ROOT = Path(__file__).parents[2]
RATING = {
    "method": {"name": "causal", "rule": "sound", "options": {}},
    "reasons": [],
    "overall": {"level": "1"},
}
PROGRAM = """
import json, pathlib, sys, tomllib
plan = tomllib.loads(pathlib.Path(sys.argv[2]).read_text())
if "absent" in plan["services"]:
    sys.exit("error    services.absent.folder: no such folder")
folder = pathlib.Path(sys.argv[sys.argv.index("--ratings") + 1]) / "TG-1"
folder.mkdir(parents=True, exist_ok=True)
rating = {"ratings": [], "level": LEVEL, "copied": (folder / "old").exists()}
(folder / "rating.json").write_text(json.dumps(rating))
(folder / "old").touch()
"""
PLAN = {
    "services": {"mine": {"use": "x"}, "absent": {"use": "y"}},
    "experiments": [{"services": ["mine", "absent"], "before": {"mine": "absent"}}, {"services": ["absent"]}],
}


def document(**changed: Any) -> dict[str, Any]:
    return {"run": {"started": "1", "hashes": {"answers": "a"}}, "ratings": [{**RATING, **changed}]}


def reason(code: str, **facts: Any) -> dict[str, Any]:
    return {"code": code, "facts": facts}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository of a program that gives level 1, and in its second commit level 2."""
    folder = tmp_path / "repository"
    (folder / "src" / "trustgauge").mkdir(parents=True)
    (folder / "pyproject.toml").write_text(
        textwrap.dedent("""\
            [project]
            name = "trustgauge"
            [project.entry-points."trustgauge.methods"]
            one = "a:B"
            """)
    )
    (folder / "src" / "trustgauge" / "__init__.py").touch()
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q"], check=True)
    for level in ("1", "2"):
        (folder / "src" / "trustgauge" / "__main__.py").write_text(PROGRAM.replace("LEVEL", level))
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "-q", "-m", level], check=True)
    return folder


def test_each_revision_rates_by_its_own_program_and_the_new_one_what_the_old_one_got(
    repository: Path, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    (work / "plans").mkdir(parents=True)
    old, new = unpack("HEAD~1", work, repository), unpack("HEAD", work, repository)
    entries = (old.folder / "src" / "trustgauge-0.dist-info" / "entry_points.txt").read_text()
    assert entries == "[trustgauge.methods]\none = a:B\n"
    task = with_what_is_here(Task("plans/p", PLAN, reuse=True), new, work)
    assert task.left_out == {"absent": "no such folder"}
    assert task.plan == without(PLAN, {"absent"})
    before, after = rate(task, old, work), rate(task, new, work, old)
    assert before.document == {"ratings": [], "level": 1, "copied": False}
    assert after.document == {"ratings": [], "level": 2, "copied": True}
    (old.folder / "src" / "trustgauge" / "__main__.py").unlink()
    assert rate(task, old, work) == before, "kept"


def test_an_unknown_revision_is_named(repository: Path, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no revision nowhere"):
        unpack("nowhere", tmp_path, repository)


def test_left_out_services_leave_no_trace() -> None:
    assert without(PLAN, {"absent"}) == {
        "services": {"mine": {"use": "x"}},
        "experiments": [{"services": ["mine"], "before": {}}],
    }


def test_small_plans_have_at_most_the_small_sizes() -> None:
    plan = {
        "experiments": [{"method": "two-step", "texts": 20}, {"method": "social-bias", "questions": 40_000}]
    }
    two_step, social = small(plan)["experiments"]
    assert (two_step["texts"], social["questions"], social["resamples"]) == (20, 2000, 1000)


def test_times_pass_and_a_hash_counts_only_if_nothing_else_differs() -> None:
    later = {"started": "2", "hashes": {"answers": "b"}}
    other = {**document(), "run": later}
    assert [one.key for one in differences(document(), other, reuse=False)] == ["run.hashes.answers"]
    other = {**document(overall={"level": "2"}), "run": later}
    assert [str(one) for one in differences(document(), other, reuse=False)] == [
        "ratings.overall.level: 1 -> 2"
    ]
    costs = document(cost={"calls": 3}), document(cost={"calls": 0})
    assert differences(*costs, reuse=False)
    assert not differences(*costs, reuse=True)


def test_a_further_reason_shifts_no_other() -> None:
    old = document(reasons=[reason("a", n=1), reason("b", n=1)])
    new = document(reasons=[reason("new"), reason("a", n=1), reason("b", n=2)])
    found = {one.key for one in differences(old, new, reuse=False)}
    assert found == {"ratings.reasons.new", "ratings.reasons.b.facts.n"}


def test_a_change_explains_its_keys_of_its_ratings_between_its_dates() -> None:
    change = Change(datetime(2026, 1, 2, tzinfo=UTC), "words", keys=(r"ratings\.state",), reason="new")
    within = Within("causal", "sound", frozenset(), frozenset({"new"}))
    difference = Difference("ratings.state", "rated", "incomplete", within)
    assert change.explains(difference)
    assert not change.explains(difference._replace(key="ratings.states"))
    assert not change.explains(difference._replace(within=within._replace(reasons=frozenset())))
    assert not Change(change.date, "words", methods=("trust",)).explains(difference)
    assert not Change(change.date, "words", option="disguise").explains(difference)


def test_documented_changes_count_between_their_dates_only(tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text(
        '[[change]]\ndate = 2026-01-02T00:00:00Z\nchangelog = "x"\nkeys = ["a"]\n'
    )
    first, day, last = (datetime(2026, 1, one, tzinfo=UTC) for one in (1, 2, 3))
    assert [one.keys for one in documented(first, last, tmp_path / "t.toml")] == [("a",)]
    assert documented(first, day, tmp_path / "t.toml")
    assert not documented(day, last, tmp_path / "t.toml")


def test_documented_changes_stand_in_the_changelog() -> None:
    said = re.sub(r"\s+", " ", (ROOT / "CHANGELOG.md").read_text("utf-8"))
    every = documented(datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC), TABLE)
    assert every
    assert [one.changelog for one in every if one.changelog not in said] == []


def test_cases_are_plans_of_every_control_and_rule(tmp_path: Path) -> None:
    (tmp_path / "noisy.py").write_text(NOISY, "utf-8")
    every = dict(cases(3))
    behaviours, rules = set(), set()
    for name, plan in every.items():
        if not name.endswith("#1"):
            continue
        file = tmp_path / "plan.toml"
        file.write_text(as_toml(plan), "utf-8")
        load_plan(file)
        behaviours |= {(one["use"], one.get("behaviour")) for one in plan["services"].values()}
        rules |= {(one["method"], one.get("rule")) for one in plan["experiments"]}
    controls = {
        "anchor": translators,
        "sentiment-anchor": sentiment,
        "chat-anchor": chat,
        "trust-anchor": trust,
    }
    for use, module in controls.items():
        assert {(use, one) for one in get_args(module.Behaviour)} <= behaviours
    for method in ("two-step", "causal", "social-bias", "trust"):
        assert {(method, one) for one in ("sound", "published", "released")} <= rules
    assert {name for name in every if name.endswith(f"#{FEWER + 1}")} == {
        f"{method}-{rule} #{FEWER + 1}"
        for method in ("two-step", "causal", "social-bias", "trust")
        for rule in ("sound", "published", "released")
    }
    assert json.loads(json.dumps(every)) == every, "plain values"
