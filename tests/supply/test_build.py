"""What an index of packages gets: the wheel and the source archive, built as a release is."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
REPOSITORY = "https://code.example/someone/trustgauge"


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of both, built with an address of the repository."""
    folder = tmp_path_factory.mktemp("dist")
    ran = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)],
        cwd=ROOT,
        env={**os.environ, "TRUSTGAUGE_REPOSITORY": REPOSITORY},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return folder


def wheel(dist: Path) -> zipfile.ZipFile:
    return zipfile.ZipFile(next(dist.glob("*.whl")))


def metadata(dist: Path) -> Message:
    with wheel(dist) as packed:
        (name,) = (one for one in packed.namelist() if one.endswith(".dist-info/METADATA"))
        return Parser().parsestr(packed.read(name).decode())


def test_an_index_would_take_both(dist: Path) -> None:
    files = [str(one) for one in sorted(dist.iterdir())]
    assert [Path(one).suffix for one in files] == [".whl", ".gz"]
    ran = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", *files],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout


def test_every_address_of_the_readme_is_absolute(dist: Path) -> None:
    found = metadata(dist)
    targets = re.findall(r"\]\(([^)]+)\)", str(found.get_payload()))
    version = found["Version"]
    assert f"{REPOSITORY}/raw/v{version}/docs/figures/report.png" in targets
    assert f"{REPOSITORY}/blob/v{version}/docs/guide/audit.md" in targets
    assert [one for one in targets if not one.startswith(("https://", "#"))] == []
    assert {one.partition(", ")[0] for one in found.get_all("Project-URL", [])} >= {"Source", "Documentation"}


def test_the_wheel_holds_every_page_that_it_names(dist: Path) -> None:
    with wheel(dist) as packed:
        names = set(packed.namelist())
        texts = [
            packed.read(one).decode("utf-8")
            for one in names
            if one.endswith((".py", ".toml")) and one.startswith("trustgauge/")
        ]
    cited = {
        page for text in texts for page in re.findall(r"docs/(?:guide|methods|reference)/[\w-]+\.md", text)
    }
    assert len(cited) > 5
    assert sorted(cited - {one.removeprefix("trustgauge/") for one in names}) == []
    assert "trustgauge/py.typed" in names
    assert any(one.endswith(".data/data/share/man/man1/trustgauge.1") for one in names)
    assert any(one.startswith("trustgauge/docs/reference/schemas/") for one in names)


def test_the_source_archive_holds_what_it_is_tested_and_released_with(dist: Path) -> None:
    with tarfile.open(next(dist.glob("*.tar.gz"))) as packed:
        names = {one.partition("/")[2] for one in packed.getnames()}
    assert {"bin/test", "bin/release", "hatch_build.py", "pyproject.toml", "plans/trust.toml"} <= names
    assert "tests/supply/test_build.py" in names
    assert not any(one.startswith((".git/", "node_modules/", "ratings/")) for one in names)


def test_actions_of_the_release_are_pinned_by_commit() -> None:
    lines = [
        line.strip().removeprefix("- uses: ")
        for file in sorted((ROOT / ".github" / "workflows").glob("*.yml"))
        for line in file.read_text("utf-8").splitlines()
        if "uses: " in line
    ]
    pinned = re.compile(r"[\w-]+/[\w-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+")
    loose = [line for line in lines if not pinned.fullmatch(line)]
    assert len(lines) > 5
    assert loose == ["pypa/gh-action-pypi-publish@release/v1"]
