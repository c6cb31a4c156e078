"""Chains of rated services: which rating a name means, whatever the name is made of."""

from __future__ import annotations

import json
import shutil
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from trustgauge.errors import PlanError
from trustgauge.plan import load_plan
from trustgauge.run.chain_composition import chain_plan, compose_chain
from trustgauge.run.options import RunOptions
from trustgauge.run.run import rate

TODAY = date(2026, 12, 1)
SERVICES = {"ollama/llama3": "identity", "ollama/llama3:8b": "coin", "a:b/c:d": "all-he"}
PLAN: dict[str, Any] = {
    "services": {
        **{name: {"use": "anchor", "behaviour": what} for name, what in list(SERVICES.items())[:2]},
        "a:b/c:d": {"use": "anchor", "behaviour": "all", "value": "He"},
        "bot:1": {"use": "trust-anchor", "behaviour": "clean"},
    },
    "experiments": [
        {"method": "two-step", "services": list(SERVICES), "texts": 100, "draws": 1000},
        {
            **{"method": "trust", "services": ["bot:1"], "issues": ["abuse"], "talks": 10},
            **{"profiles": ["safe-language"], "resamples": 1000},
        },
    ],
}


@pytest.fixture(scope="module")
def ratings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ratings")
    rate(load_plan(PLAN), RunOptions(ratings=folder))
    return folder


def test_names_with_colons_and_slashes_can_be_composed(ratings: Path) -> None:
    composed = compose_chain("ollama/llama3:8b > ollama/llama3 > a:b/c:d", ratings, TODAY)
    assert [link.level for link in composed.links] == ["UCS", "DSBS", "BS"]
    assert (composed.inference.state, composed.inference.levels) == ("inferred", ("BS",))
    tested = rate(load_plan(chain_plan(composed)), RunOptions(ratings=ratings))
    assert tested.document["ratings"][0]["overall"]["level"] == "BS"

    again = compose_chain("ollama/llama3:8b > ollama/llama3 > a:b/c:d", ratings, TODAY)
    assert composed.measured is None
    assert again.measured is not None
    assert again.measured.rating["id"] == tested.document["ratings"][0]["id"]
    assert again.contradiction is None
    other = compose_chain("ollama/llama3:8b > a:b/c:d > ollama/llama3", ratings, TODAY)
    assert other.measured is None
    late = compose_chain("ollama/llama3:8b > ollama/llama3 > a:b/c:d", ratings, date(2099, 1, 1))
    assert late.measured is None


def test_a_run_whose_document_lacks_its_services_hides_no_other(ratings: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(ratings, tmp_path / "ratings"))
    plan = {**PLAN, "seed": 7, "experiments": [{**PLAN["experiments"][0], "services": ["a:b/c:d"]}]}
    file = rate(load_plan(plan), RunOptions(ratings=folder)).folder / "rating.json"
    document = json.loads(file.read_text("utf-8"))
    document["run"]["services"] = {}
    file.write_text(json.dumps(document), "utf-8")
    assert compose_chain("ollama/llama3:8b > ollama/llama3", folder, TODAY).inference.levels == ("UCS",)


@pytest.mark.parametrize("name", ["ollama/llama3:70b", "ollama/llama", "ollama/llama3:8b:x", "bot:1"])
def test_a_name_that_no_two_step_rating_has_is_refused(ratings: Path, name: str) -> None:
    with pytest.raises(PlanError, match=f'no rated service "{name}"') as caught:
        compose_chain(f"{name} > ollama/llama3", ratings, TODAY)
    assert "ollama/llama3:8b" in caught.value.faults[0].must
