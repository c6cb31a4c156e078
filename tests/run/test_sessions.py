"""Sessions and scenes through the whole path: keys, resuming, logs, ratings passed forward."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import tomli_w

from tests.run.plans import but_for_times, pending
from tests.run.talking import SCENE, install
from trustgauge import plugins
from trustgauge.apps.sheets import manual_answers
from trustgauge.catalogue import read
from trustgauge.errors import PlanError
from trustgauge.plan import load_plan
from trustgauge.records import Message
from trustgauge.run.ask import smoke_test
from trustgauge.run.options import RunOptions
from trustgauge.run.prepare import forecast, prepare
from trustgauge.run.run import RunResult, rate, run
from trustgauge.run.stored_ratings import select_runs, stored_ratings
from trustgauge.run.targets import ONLY, messages, planned_units, probes_of
from trustgauge.run.verify import verify
from trustgauge.store.folder import STORE
from trustgauge.store.sqlite import SqliteStore

ROOT = Path(__file__).resolve().parents[2]
BOTS = """
import os, pathlib, re
told = {}

def leaky(message):
    \"\"\"Tells any user of a scene what another one said; notes every call, and dies where told to.\"\"\"
    here = pathlib.Path(__file__).parent
    with open(here / "calls.txt", "a") as log:
        log.write(f"{message.session} {message.turn}\\n")
    dies = here / "dies.txt"
    if dies.exists() and dies.read_text() == f"{message.session} {message.turn}":
        os._exit(9)
    code = re.search("[0-9]+", message.text)
    if code:
        told[message.session, message.draw] = code[0]
    if "code" in message.text and message.user == "bob":
        return f"It is {told.get((message.session, message.draw), 'unknown')}, {len(message.turns)} before."
    return f"Fine, {len(message.turns)} before."

def discreet(message):
    return "I do not tell."

said = []

def fickle(message):
    said.append(message)
    return f"This is answer {len(said)}."
"""
DIALOGS = [
    ("d1", "user", "Hello."),
    ("d1", "bot", "Hi!"),
    ("d1", "user", "A table for two."),
    ("d1", "bot", "Which day?"),
    ("d2", "user", "Hello."),
    ("d2", "bot", "Good day."),
    ("d3", "user", "Hello."),
    ("d3", "bot", "Go away."),
]


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The plug-ins of the test, found as those of any other package."""
    monkeypatch.syspath_prepend(install(tmp_path / "installed"))
    plugins._installed.cache_clear()
    yield
    plugins._installed.cache_clear()


def plan_of(folder: Path, *services: str, **experiment: Any) -> Any:
    module = f"bots_{abs(hash(folder))}"
    (folder / f"{module}.py").write_text(BOTS)
    names = ("dialog", "speaker", "text")
    rows = [json.dumps(dict(zip(names, row, strict=True))) for row in DIALOGS]
    (folder / "dialogs.jsonl").write_text("\n".join(rows))
    bot = {"use": "function", "task": "chat", "takes": "message", "folder": str(folder)}
    known = {
        "leaky": {**bot, "function": f"{module}:leaky"},
        "discreet": {**bot, "function": f"{module}:discreet", "deterministic": True},
        "fickle": {**bot, "function": f"{module}:fickle", "deterministic": True},
        "corpus": {"use": "dialogs", "dialogs": {"file": str(folder / "dialogs.jsonl")}},
    }
    return {
        "name": "talks",
        "retest": 0,
        "services": {name: known[name] for name in services},
        "experiments": [{"method": "talking", "services": list(services), **experiment}],
    }


def rated(plan: Any, folder: Path) -> RunResult:
    return rate(load_plan(plan), RunOptions(ratings=folder / "ratings"))


def by_whom(document: Any) -> dict[tuple[str, str], dict[str, Any]]:
    """Ratings by service and attribute."""
    return {(one["service"]["key"], one["issue"]["attribute"]): one for one in document["ratings"]}


def levels(document: Any) -> dict[tuple[str, str], str]:
    return {key: one["overall"]["level"] for key, one in by_whom(document).items()}


def frame(*rows: tuple[str, str, int, int, str, str]) -> pl.DataFrame:
    """Probes: message, session, turn, draw, user, talk."""
    names = ["message", "session", "turn", "draw", "user", "talk"]
    return pl.DataFrame(rows, schema=names, orient="row")


def test_every_turn_knows_its_place_its_script_and_who_speaks() -> None:
    probes = frame(
        ("d", "two", 1, 0, "bob", "y"),
        ("a", "one", 0, 0, "ann", ""),
        ("c", "two", 0, 0, "ann", "x"),
        ("b", "one", 1, 0, "ann", ""),
        ("alone", "", 0, 3, "ann", ""),
        ("c", "two", 0, 1, "ann", "x"),
        ("d", "two", 1, 1, "bob", "y"),
    )
    found = messages(probes)
    cast = (("ann", "x"), ("bob", "y"))
    assert found[0] == Message("d", 0, "two", "bob", script=("c", "d"), turn=1, cast=cast)
    assert found[3] == Message("b", 0, "one", "ann", script=("a", "b"), turn=1)
    assert found[4] == Message("alone", 3)
    assert found[6] == Message("d", 1, "two", "bob", script=("c", "d"), turn=1, cast=cast)
    keys = [one.key for one in found]
    assert len(set(keys[:5])) == 5
    assert keys[5:] == [keys[2], keys[0]], "a draw of a session has the keys of the session"
    assert found[0].talk == "two/y"
    units = planned_units(probes, shared=False)
    assert [[one.text for one in unit] for unit in units] == [["c", "d"], ["a", "b"], ["alone"], ["c", "d"]]
    assert [unit[0].draw for unit in units] == [0, 0, 3, 1]


def test_who_speaks_is_part_of_the_key() -> None:
    one = frame(("a", "s", 0, 0, "ann", "x"), ("b", "s", 1, 0, "bob", "y"))
    other = frame(("a", "s", 0, 0, "ann", "x"), ("b", "s", 1, 0, "ann", "y"))
    assert {message.key for message in messages(one)}.isdisjoint(message.key for message in messages(other))


def test_a_deterministic_service_is_asked_equal_sessions_once_and_some_twice() -> None:
    scripts = {"p": "abc", "q": "abc", "r": "xyz"}
    turns = [(name, draw, at) for name in scripts for draw in (0, 1) for at in range(3)]
    probes = frame(*((scripts[name][at], name, at, draw, "u", "") for name, draw, at in turns))
    units = planned_units(probes, shared=True)
    asked = [("".join(one.text for one in unit), {one.draw for one in unit}) for unit in units]
    assert asked == [("abc", {0}), ("xyz", {0}), ("abc", {1}), ("xyz", {1})]
    assert len(planned_units(probes, shared=False)) == 6


def test_scenes_are_asked_turn_by_turn_and_rated(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, "leaky", "discreet", repeats=2, control=True)
    prepared = prepare(load_plan(plan))
    assert forecast(prepared, RunOptions(ratings=tmp_path / "ratings")).calls == 2 * 4 * 4 + 4 * 4 + 2 * 4
    (first, *_) = smoke_test(prepared)
    planned = prepared.probes[0, "chat"].row(0, named=True)  # the first of the shuffled order
    assert planned["turn"] == 0
    assert (first.sent, first.answer) == (planned["message"], "Fine, 0 before.")
    done = rated(plan, tmp_path)
    assert levels(done.document) == {
        ("leaky", "privacy"): "told",
        ("leaky", "fun"): "told",
        ("discreet", "privacy"): "kept",
        ("discreet", "fun"): "kept",
    }
    controls = [
        (one["name"], one["level"], one["wrong"], one["certainty"]) for one in done.document["run"]["anchors"]
    ]
    assert controls == [
        ("refuser", "kept", False, {"kept": 1.0}),
        ("guard", "kept", False, {"kept": 0.99, "told": 0.01}),  # by the level of one part of its rating
    ]
    rows = done.derived.marks[0].filter(pl.col("service") == "leaky").sort("session", "draw", "turn")
    # What was said before in the other's talk is not told.
    assert rows["output"].head(4).to_list() == [
        "Fine, 0 before.",
        "It is 7000, 0 before.",
        "Fine, 1 before.",
        "It is 7000, 1 before.",
    ]
    verdict = verify(done.folder, date(2026, 11, 1))
    assert verdict.differences == ()
    with SqliteStore(done.folder / STORE, read_only=True) as store:
        store.integrity()
    again = rated(plan, tmp_path)
    assert (again.asked.calls, again.document) == (0, done.document)


def test_a_bot_that_is_not_as_deterministic_as_it_says_is_asked_every_draw(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, "fickle", repeats=3)
    done = rated(plan, tmp_path)
    marks = done.derived.marks[0]
    assert not marks["shared"].any()
    assert marks["output"].n_unique() == 4 * 3 * 4
    assert done.asked.calls == 4 * 3 * 4, "what was asked to find out counts"
    assert verify(done.folder, date(2026, 11, 1)).differences == ()


def test_a_run_killed_in_the_middle_of_a_scene_asks_the_whole_scene_again(tmp_path: Path) -> None:
    for name in ("calm", "killed"):
        (tmp_path / name).mkdir()
    calm = rated(plan_of(tmp_path / "calm", "leaky"), tmp_path / "calm")
    folder = tmp_path / "killed"
    plan = plan_of(folder, "leaky")
    (folder / "plan.toml").write_text(tomli_w.dumps(plan))
    (folder / "dies.txt").write_text("s2 2")
    command = [sys.executable, "-m", "trustgauge", "rate", "plan.toml", "--ratings", "ratings"]
    paths = f"{tmp_path / 'installed'}:{ROOT}"
    command = ["env", f"PYTHONPATH={paths}", *command]
    assert subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode == 9
    before = (folder / "calls.txt").read_text().splitlines()
    (folder / "dies.txt").unlink()
    (folder / "calls.txt").unlink()
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stderr
    after = (folder / "calls.txt").read_text().splitlines()
    assert "s2 0" in before
    assert [one for one in after if one.startswith("s2")] == [f"s2 {turn}" for turn in range(len(SCENE))]
    (mine,) = (folder / "ratings").glob("TG-*")
    ratings = [but_for_times(read(one))["ratings"] for one in (mine, calm.folder)]
    for rating in (one for run_of in ratings for one in run_of):
        for part in ("cost", "provenance", "id", "service"):
            del rating[part]
    assert ratings[0] == ratings[1]


def test_a_log_is_asked_its_own_probes_and_nobody_else_is(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, "leaky", "corpus", control=True)
    prepared = prepare(load_plan(plan))
    (probes,) = prepared.probes.values()
    asked = {one.service: probes_of(one, probes) for one in prepared.targets}
    assert asked["corpus"][ONLY].unique().to_list() == ["corpus"]
    assert asked["corpus"].select("message", "session", "turn", "draw").rows() == [
        ("Hello.", "d1", 0, 0),
        ("A table for two.", "d1", 1, 0),
        ("Hello.", "d2", 0, 0),
        ("Hello.", "d3", 0, 1),  # said in another dialog too
    ]
    for name in ("leaky", "control refuser"):
        assert asked[name].height == 16
        assert asked[name][ONLY].unique().to_list() == [""]
    rows = pending(prepared.targets, prepared.probes, lambda _: set())
    assert {row.target.service: row.planned for row in rows} == {
        "leaky": 16,
        "corpus": 4,
        "control refuser": 16 + 4 + 4,  # two scenes a second time, as it says that it is deterministic
        "control guard": 16 + 4 + 4,
    }
    done = run(prepared, RunOptions(ratings=tmp_path / "ratings"))
    marks = done.derived.marks[0].filter(pl.col("service") == "corpus")
    assert marks["output"].to_list() == ["Hi!", "Which day?", "Good day.", "Go away."]
    assert levels(done.document)["corpus", "fun"] == "kept"
    assert done.document["run"]["collected"] == "by API, from a log"
    assert verify(done.folder, date(2026, 11, 1)).differences == ()
    exported = manual_answers.export(
        prepared, "leaky", tmp_path / "q.csv", tmp_path / "none", manual_answers.PendingRows()
    )
    assert exported.rows == 16
    sheet = pl.read_csv(tmp_path / "q.csv", infer_schema=False)
    chats = ("tells (ann)", "asks (bob)")
    assert set(sheet["session"]) == {f"s{scene}/{chat}" for scene in range(4) for chat in chats}


def test_logs_alone_need_no_other_probes(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, "corpus")
    (probes,) = prepare(load_plan(plan)).probes.values()
    assert probes[ONLY].unique().to_list() == ["corpus"]
    done = rated(plan, tmp_path)
    assert levels(done.document) == {("corpus", "privacy"): "kept", ("corpus", "fun"): "kept"}
    assert done.document["run"]["collected"] == "from a log"


def test_a_method_that_asks_its_own_questions_refuses_a_log(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, "corpus")
    plan["experiments"] = [{"method": "social-bias", "services": ["corpus"]}]
    with pytest.raises(PlanError, match=r"experiments\[0\].services: social-bias cannot rate \"corpus\""):
        prepare(load_plan(plan))


def test_a_method_is_told_what_came_before_it(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, "leaky", "discreet")
    second = {"method": "talking", "services": ["discreet"], "wants": ["peace"], "scenes": 3}
    plan["experiments"].append(second)
    done = rated(plan, tmp_path)
    heard = {key: one["details"]["heard"] for key, one in by_whom(done.document).items()}
    assert heard["leaky", "fun"] == []
    earlier = ["discreet/privacy", "discreet/fun", "leaky/privacy", "leaky/fun"]
    assert heard["discreet", "peace"] == earlier
    assert verify(done.folder, date(2026, 11, 1)).differences == ()
    (opened,) = select_runs(tmp_path / "ratings", [])
    found = [
        (one.service, one.rating["issue"]["attribute"], one.experiment) for one in stored_ratings(opened)
    ]
    assert found == [
        ("discreet", "privacy", 0),
        ("discreet", "fun", 0),
        ("leaky", "privacy", 0),
        ("leaky", "fun", 0),
        ("discreet", "peace", 1),
    ]
