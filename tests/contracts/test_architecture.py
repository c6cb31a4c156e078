"""The architecture as the imports show it, with lazy and type-checking imports counted.

`pyproject.toml` holds what import-linter can say; here stands what it cannot.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

import trustgauge
from trustgauge.cli.main import CORE

PACKAGE = Path(trustgauge.__file__).parent
APPS = sorted(one.name for one in (PACKAGE / "apps").iterdir() if (one / "__init__.py").is_file())
ROOMS = ("two_step", "causal", "social_bias", "trust")
CORRIDOR = ("run", "rating", "reports", "engine", "store")
"""Packages that serve every method, and know none of them."""


@cache
def imports() -> Mapping[str, frozenset[str]]:
    """Every module of ours -> the modules of ours that it names in an import, wherever that stands."""
    files = {_name(path): path for path in PACKAGE.rglob("*.py")}
    return {name: frozenset(_imported(path, set(files))) - {name} for name, path in files.items()}


def _name(path: Path) -> str:
    parts = ("trustgauge", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts).removesuffix(".__init__")


def _imported(path: Path, known: set[str]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names if one.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module in known:
            members = (f"{node.module}.{one.name}" for one in node.names)
            yield from (member if member in known else node.module for member in members)


def cycles() -> list[list[str]]:
    """Groups of modules that import each other, each sorted. A module that imports nothing is peeled off."""
    left = {name: set(targets) for name, targets in imports().items()}
    while free := {name for name, targets in left.items() if not targets & left.keys()}:
        left = {name: targets & left.keys() for name, targets in left.items() if name not in free}
    reached = {name: _reached(name) & left.keys() for name in left}
    groups = {frozenset(other for other in reached[name] if name in reached[other]) for name in left}
    return sorted(sorted(group) for group in groups if group)


def _reached(start: str) -> set[str]:
    reached: set[str] = set()
    ahead = [start]
    while ahead:
        fresh = imports()[ahead.pop()] - reached
        reached |= fresh
        ahead += fresh
    return reached


def test_no_modules_import_each_other() -> None:
    assert cycles() == []


KNOW_A_ROOM = {
    "chain_composition",
    "chat_store",  # live chats are of the trust method, in two applications
    "judge_calls",
    "judge_evaluation",
    "live_scores",
    "profile_ratings",
    "rate_transcript",
}
"""Modules of `run` that still name a room; none may be added."""


@pytest.mark.parametrize("package", CORRIDOR)
def test_the_corridor_names_no_room(package: str) -> None:
    rooms = tuple(f"trustgauge.methods.{room}" for room in ROOMS)
    own = (f"trustgauge.{package}", f"trustgauge.{package}.")
    named = {
        name: sorted(one for one in targets if one.startswith(rooms))
        for name, targets in imports().items()
        if name == own[0] or name.startswith(own[1])
    }
    assert {name.rpartition(".")[2] for name, targets in named.items() if targets} <= KNOW_A_ROOM


def test_nothing_imports_applications() -> None:
    outside = {name: targets for name, targets in imports().items() if not name.startswith("trustgauge.apps")}
    named = {
        name for name, targets in outside.items() if any(one.startswith("trustgauge.apps") for one in targets)
    }
    assert named == set()


REMOVE = """
import click, importlib, json, sys
from pathlib import Path

for app in sys.argv[1:]:
    own = Path("trustgauge", "apps", app)
    own.rename(app)
    for name in [one for one in sys.modules if one.partition(".")[0] == "trustgauge"]:
        del sys.modules[name]
    importlib.invalidate_caches()
    import trustgauge.run.run, trustgauge.methods.two_step.method, trustgauge.reports.html
    from trustgauge import plugins
    from trustgauge.cli.main import group
    listed = group.list_commands(click.Context(group))
    print(json.dumps([app, str(Path(trustgauge.__file__).parent), listed]), flush=True)
    Path(app).rename(own)
"""
"""One process for all applications: that imports the libraries once, and all of ours again for each."""


def test_an_application_can_be_removed(tmp_path: Path) -> None:
    """Without its folder its verbs are gone, and all others load."""
    for path in [PACKAGE, *(list(PACKAGE.parent.glob("trustgauge-*.dist-info")) or _entry_points())]:
        shutil.copytree(path, tmp_path / path.name, ignore=shutil.ignore_patterns("__pycache__"))
    done = subprocess.run(
        [sys.executable, "-c", REMOVE, *APPS],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": ""},
        capture_output=True,
        text=True,
    )
    found = {app: (where, set(listed)) for app, where, listed in map(json.loads, done.stdout.splitlines())}
    assert done.returncode == 0, f"without {APPS[len(found)]}: {done.stderr}"
    verbs = {app: {*CORE, *(name for name, at in VERBS.items() if at != app)} for app in APPS}
    assert found == {app: (str(tmp_path / "trustgauge"), verbs[app]) for app in APPS}


def _entry_points() -> list[Path]:
    from importlib.metadata import distribution

    files = distribution("trustgauge").files or ()
    return [Path(str(one.locate())).parent for one in files if one.name == "entry_points.txt"]


def _verbs() -> dict[str, str]:
    from importlib.metadata import entry_points

    return {one.name: one.module.split(".")[2] for one in entry_points(group="trustgauge.commands")}


VERBS = _verbs()
"""The verb of every application -> its folder."""
