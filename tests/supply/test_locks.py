"""The lock files: whole, with a hash for everything, in the ranges of pyproject.toml, and without a host."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from supply.locks import LOCKS, ROOT, Pin, pin, read_lock

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
CORE: list[str] = PROJECT["project"]["dependencies"]
EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]
GROUPS: dict[str, list[str]] = PROJECT["dependency-groups"]
NPM: dict[str, Any] = json.loads((ROOT / "package-lock.json").read_text("utf-8"))
ELSEWHERE = {"torch", "dowhy"}  # which build is right depends on the machine; has an environment of its own
INPUTS = {
    "demo": [*CORE, *EXTRAS["all"]],
    "sentiment": [*CORE, *EXTRAS["all"], *EXTRAS["torch"]],
    "language-model": [*CORE, *EXTRAS["all"], *EXTRAS["llm"], *GROUPS["language-model"]],
    "test": [*CORE, *GROUPS["test"], *GROUPS["lint"]],
    "build": GROUPS["build"],
    "supply": GROUPS["supply"],
}
locks = pytest.mark.parametrize("name", INPUTS)


def spread(lines: list[str]) -> Iterator[Requirement]:
    """Requirements, with those that trustgauge[...] stands for in its place."""
    for line in lines:
        requirement = Requirement(line)
        if requirement.name != "trustgauge":
            yield requirement
            continue
        for extra in sorted(requirement.extras):
            yield from spread(EXTRAS[extra])


def pins(name: str) -> list[Pin]:
    return read_lock(LOCKS / f"{name}.txt")


def test_every_lock_file_is_known_and_no_other_is_there() -> None:
    assert {path.name for path in LOCKS.iterdir()} == {f"{name}.txt" for name in INPUTS}


@locks
def test_a_lock_has_what_the_project_asks_for_in_the_range_it_asks_for(name: str) -> None:
    found = pins(name)
    for requirement in spread(INPUTS[name]):
        wanted = canonicalize_name(requirement.name)
        if wanted in ELSEWHERE:
            assert not [each for each in found if each.name == wanted]
            continue
        versions = [each.version for each in found if each.name == wanted]
        assert versions, f"{wanted} is in no line of locks/{name}.txt: run bin/lock"
        assert [one for one in versions if one not in requirement.specifier] == [], f"{wanted}: run bin/lock"


@locks
def test_every_package_of_a_lock_has_hashes_and_one_version_for_each_machine(name: str) -> None:
    found = pins(name)
    assert [each.name for each in found if not each.hashes] == []
    here = [each.name for each in found if each.wanted_here()]
    assert len(here) == len(set(here)) > 5


def test_all_locks_agree_on_versions() -> None:
    tested = {(each.name, each.version) for each in pins("test")}
    names = {name for name, _ in tested}
    for lock in INPUTS:
        others = {(each.name, each.version) for each in pins(lock) if each.name in names}
        assert others <= tested, f"locks/{lock}.txt has versions that were not tested"


def texts(value: Any, key: str = "") -> Iterator[str]:
    """Every text of a JSON document but whom to thank (`funding`)."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from () if name == "funding" else (name, *texts(inner, name))
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)
    elif isinstance(value, str):
        yield value


def test_no_lock_names_a_place_to_fetch_from_or_a_path() -> None:
    lines = [line for path in LOCKS.iterdir() for line in path.read_text("utf-8").splitlines()]
    result = [*(line for line in lines if not line.lstrip().startswith("# ")), *texts(NPM)]
    fetched = re.compile(r"https?:|file:|git\+|index-url|find-links|^resolved$")
    assert [one for one in result if fetched.search(one)] == []
    assert [line for line in lines if re.search(r"(^|\s)[./~]*/\w|\w+\.(org|com|net|io)\b", line)] == []


def test_the_npm_lock_is_that_of_package_json_with_a_hash_for_every_package() -> None:
    wanted = json.loads((ROOT / "package.json").read_text("utf-8"))["dependencies"]
    packages = dict(NPM["packages"])
    assert packages.pop("")["dependencies"] == wanted
    assert [path for path, each in packages.items() if not each["integrity"].startswith("sha512-")] == []
    assert {f"node_modules/{name}" for name in wanted} <= packages.keys()


def test_what_is_below_one_has_an_upper_bound() -> None:
    """Before its first full version a package may change anything with the next one."""
    locked = {each.name: each.version for name in INPUTS for each in pins(name)}
    below = {name for name, version in locked.items() if version < Version("1")} | {"dowhy"}
    asked = [line for lines in (CORE, *EXTRAS.values(), *GROUPS.values()) for line in lines]
    young = [each for each in spread(asked) if canonicalize_name(each.name) in below]
    assert {each.name for each in young} >= {"pyreqwest", "afinn", "safetensors", "ruff", "dowhy"}
    assert [str(each) for each in young if "0.9999" in each.specifier or "1.0" in each.specifier] == []


def test_a_line_that_names_no_single_version_is_refused() -> None:
    with pytest.raises(ValueError, match="must name one version"):
        pin("rich>=13")


def test_entries_are_read_with_their_marker_and_hashes(tmp_path: Path) -> None:
    path = tmp_path / "lock.txt"
    first, second = "a" * 64, "0" * 64
    path.write_text(
        "rich==15.0.0 ; sys_platform == 'nowhere' \\\n"
        f"    --hash=sha256:{first} \\\n    --hash=sha256:{second}\n"
        f"    # via trustgauge\nTomli_W==1.2.0 \\\n    --hash=sha256:{first}\n# The end.\n"
    )
    there, here = read_lock(path)
    assert (there.name, there.hashes, there.wanted_here()) == ("rich", (first, second), False)
    assert (here.name, str(here.version), here.wanted_here()) == ("tomli-w", "1.2.0", True)
