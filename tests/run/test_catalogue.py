"""The index of a ratings folder: quick with many runs, and never older than what it tells of."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.run.comparisons import TODAY, rated, two_step
from trustgauge import catalogue
from trustgauge.catalogue import index, run_folders
from trustgauge.cli import list as listing
from trustgauge.run.comparison import ComparisonQuery, compare

MANY = 300


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return rated(two_step({"mine": "half"}), tmp_path_factory.mktemp("one")).folder


@pytest.fixture
def ratings(original: Path, tmp_path: Path) -> Path:
    """Many runs of one plan, each begun a minute after the one before."""
    document = json.loads((original / "rating.json").read_text("utf-8"))
    for number in range(MANY):
        name = f"TG-2026-0101-{number:04d}"
        folder = tmp_path / name
        folder.mkdir()
        document["run"] |= {"id": name, "started": f"2026-01-01T{number // 60:02d}:{number % 60:02d}:00Z"}
        document["ratings"][0]["id"] = name
        (folder / "rating.json").write_text(json.dumps(document), "utf-8")
    for folder in list(run_folders(tmp_path))[:3]:
        for path in original.iterdir():
            if path.name != "rating.json":
                shutil.copy(path, folder)
    return tmp_path


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch, ratings: Path) -> list[str]:
    """Names of the run folders whose `rating.json` is parsed once there is an index."""
    assert len(index(ratings)) == MANY
    seen: list[str] = []
    real = catalogue.read_claims

    def noting(folder: Path) -> Any:
        seen.append(folder.name)
        return real(folder)

    monkeypatch.setattr(catalogue, "read_claims", noting)
    return seen


def test_a_list_reads_only_what_has_changed(ratings: Path, reads: list[str]) -> None:
    seen = reads
    rows = listing.ratings(ratings)
    assert [row["id"] for row in rows] == [f"TG-2026-0101-{number:04d}" for number in reversed(range(MANY))]
    assert not seen
    changed = ratings / "TG-2026-0101-0007" / "rating.json"
    document = json.loads(changed.read_text("utf-8"))
    document["ratings"][0]["service"]["name"] = "renamed"
    changed.write_text(json.dumps(document), "utf-8")
    shutil.rmtree(ratings / "TG-2026-0101-0008")
    (ratings / "TG-2026-0101-0009" / "rating.json").write_text("{", "utf-8")
    facts = {row["id"]: row["service"] for row in listing.ratings(ratings)}
    assert len(facts) == MANY - 2
    assert facts["TG-2026-0101-0007"] == "renamed"
    assert sorted(seen) == ["TG-2026-0101-0007", "TG-2026-0101-0009"]
    listing.ratings(ratings)
    assert len(seen) == 2  # a broken run is not tried again until it changes


@pytest.mark.parametrize(
    "content", ["", "[]", '{"version": 1, "runs": {"TG-2026-0101-0001": 3}}', "{" * 5000]
)
def test_a_broken_index_is_made_again(ratings: Path, content: str) -> None:
    (ratings / ".index.json").write_text(content, "utf-8")
    assert len(index(ratings)) == MANY
    assert len(json.loads((ratings / ".index.json").read_text("utf-8"))["runs"]) == MANY
    assert not list(ratings.glob(".index.json.*"))


def test_a_comparison_opens_only_the_last_two_dates_of_a_service(ratings: Path, reads: list[str]) -> None:
    document = compare(ratings, ComparisonQuery(), TODAY)
    newest = [f"TG-2026-0101-{number:04d}" for number in (MANY - 1, MANY - 2)]
    assert set(reads) == set(newest)
    (group,) = document["groups"]
    assert [row["id"] for row in group["rows"]] == newest[:1]
    (dates,) = document["dates"]
    assert (dates["after"]["id"], dates["before"]["id"]) == tuple(newest)
    (passed,) = [note for note in document["notes"] if note["code"] == "compare.passed-over"]
    assert passed["facts"] == {"runs": MANY - 2}
