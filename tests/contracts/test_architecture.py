"""The architecture as the imports show it, with lazy and type-checking imports counted.

`pyproject.toml` holds what import-linter can say; here stands what it cannot.
"""

from __future__ import annotations

import ast
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


@pytest.mark.parametrize("app", APPS)
def test_an_application_can_be_removed(app: str, tmp_path: Path) -> None:
    """Without its folder its verbs are gone, and all others load."""
    for path in [PACKAGE, *PACKAGE.parent.glob("trustgauge-*.dist-info")]:
        shutil.copytree(path, tmp_path / path.name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.rmtree(tmp_path / "trustgauge" / "apps" / app)
    if not list(tmp_path.glob("*.dist-info")):
        (found,) = _entry_points()
        shutil.copytree(found, tmp_path / found.name)
    code = (
        "import click\nfrom trustgauge import plugins\nfrom trustgauge.cli.main import group\n"
        "context = click.Context(group)\nlisted = group.list_commands(context)\n"
        "import trustgauge.run.run, trustgauge.methods.two_step.method, trustgauge.reports.html\n"
        "print(trustgauge.__file__)\nprint(*listed)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    where, listed = done.stdout.splitlines()
    assert Path(where).parent == tmp_path / "trustgauge"
    assert set(CORE) <= set(listed.split())
    gone = {name for name, at in VERBS.items() if at == app}
    assert set(listed.split()) == {*CORE, *VERBS} - gone


def _entry_points() -> list[Path]:
    from importlib.metadata import distribution

    files = distribution("trustgauge").files or ()
    return [Path(str(one.locate())).parent for one in files if one.name == "entry_points.txt"]


def _verbs() -> dict[str, str]:
    from importlib.metadata import entry_points

    return {one.name: one.module.split(".")[2] for one in entry_points(group="trustgauge.commands")}


VERBS = _verbs()
"""The verb of every application -> its folder."""
