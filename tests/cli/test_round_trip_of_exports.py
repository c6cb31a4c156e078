"""What is exported can be read again, and a run that was changed is told in few lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from trustgauge.catalogue import read
from trustgauge.cli.main import group
from trustgauge.plan import load_plan
from trustgauge.run.options import RunOptions
from trustgauge.run.run import rate

SHIFT = {"use": "sentiment-anchor", "behaviour": "shift", "gender": "female", "shift": 0.3}
EXPERIMENT = {"method": "causal", "services": ["mine"], "groups": [1, 2], "frames": 5, "resamples": 1000}


def plan_of(service: dict[str, Any]) -> Any:
    return load_plan({"seed": 5, "services": {"mine": service}, "experiments": [EXPERIMENT]})


def run(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(group, [*arguments, "--ratings", str(folder / "ratings")])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("exports")
    rate(plan_of(SHIFT), RunOptions(ratings=place / "ratings"))
    return place


def test_exported_scores_are_rated_again_alike(folder: Path) -> None:
    file = folder / "evidence.csv"
    assert run(folder, "show", "latest", "--as", "evidence-csv", "-o", str(file)).exit_code == 0
    again: dict[str, Any] = {"use": "replay", "task": "score", "file": str(file), "text": "sent"}
    found = rate(plan_of({**again, "output": "back"}), RunOptions(ratings=folder / "again"))
    first = read(next(folder.glob("ratings/TG-*")))
    one, other = (document["ratings"][0] for document in (first, found.document))
    assert [part["details"]["sets"] for part in one["parts"]] == [
        part["details"]["sets"] for part in other["parts"]
    ]


def test_a_model_card_says_when_it_was_tested(folder: Path) -> None:
    card = run(folder, "show", "latest", "--as", "model-card").output
    (last,) = [line for line in card.splitlines() if "valid until" in line]
    assert last.startswith("Tested ")


def test_of_many_differences_the_first_are_told_causes_before_figures(folder: Path) -> None:
    plan = next(folder.glob("ratings/*/plan.toml"))
    known = plan.read_text("utf-8")
    plan.write_text(known.replace("seed = 5", "seed = 6"), "utf-8")
    try:
        done = run(folder, "verify", "latest")
    finally:
        plan.write_text(known, "utf-8")
    lines = [line for line in done.output.splitlines() if line.startswith("differs")]
    assert len(lines) == 21
    assert any("manifest.plan" in line for line in lines)
    assert any("not those that the plan draws" in line for line in lines)
    assert lines[-1].endswith("further places: --json lists all")
