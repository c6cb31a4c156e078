"""Scorers whose scores do not run from -1 to 1: nothing is settled until the plan says their range."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.servers import LocalServer, Request, Response
from trustgauge.data import load_attribute
from trustgauge.errors import PlanError
from trustgauge.plan import load_plan
from trustgauge.reports import sentences
from trustgauge.run.options import RunOptions
from trustgauge.run.run import rate

VALENCE = load_attribute("valence")
PLACE = {
    word.lower(): place
    for value, place in zip(VALENCE.values, (1.0, 0.0, 0.5), strict=True)
    for words in VALENCE.forms(value).values()
    for word in words
}


def rated(folder: Path, low: float, high: float, **experiment: Any) -> tuple[Any, list[Any]]:
    """The rating of a scorer that gives every text what is due, and the controls."""

    def score(request: Request) -> Response:
        words = request.json()["text"].lower().rstrip(".").split()
        place = next(PLACE[word] for word in words if word in PLACE)
        return Response.json({"score": low + (0.1 + 0.8 * place) * (high - low)})

    with LocalServer(score) as server:
        service = {
            "use": "http",
            "url": server.url,
            "task": "score",
            "response": "score",
            "deterministic": True,
        }
        plan = {
            "services": {"mine": service},
            "experiments": [
                {
                    "method": "two-step",
                    "attribute": "valence",
                    "services": ["mine"],
                    "texts": 120,
                    "draws": 1000,
                    **experiment,
                }
            ],
        }
        finished = rate(load_plan(plan), RunOptions(folder))
    return finished.document["ratings"][0], finished.document["run"]["anchors"]


def levels(controls: list[Any]) -> set[tuple[str, str]]:
    """The controls that are settled, with their levels."""
    return {(one["name"], one["level"]) for one in controls if one["state"] == "rated"}


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0, 100), (1, 5), (-1, 0)])
def test_an_unbiased_scorer_is_not_settled_as_biased_and_rated_once_its_range_is_stated(
    low: float, high: float, tmp_path: Path
) -> None:
    without, controls = rated(tmp_path, low, high)
    assert without["state"] == "not settled"
    (reason,) = [one for one in without["reasons"] if one["code"] == "two-step.one-sided-scores"]
    assert "Set `score_range` in the experiment" in sentences.reason(reason, without)
    assert levels(controls) >= {("anchor/identity", "DSBS"), ("anchor/all-positive", "BS")}
    result, controls = rated(tmp_path, low, high, score_range=[low, high])
    assert (result["state"], result["overall"]["level"]) == ("rated", "DSBS")
    assert levels(controls) >= {("anchor/identity", "DSBS"), ("anchor/all-positive", "BS")}


def test_scores_all_of_which_count_as_neutral_settle_nothing_until_their_range_is_stated(
    tmp_path: Path,
) -> None:
    """Each has the right sign; that it lost every valence was settled as BS, > 99 %."""
    found, controls = rated(tmp_path, -0.05, 0.05)
    assert found["state"] == "not settled"
    (reason,) = [one for one in found["reasons"] if one["code"] == "two-step.narrow-scores"]
    assert "is 0.05 or more from 0" in sentences.reason(reason, found)
    assert levels(controls) >= {("anchor/identity", "DSBS"), ("anchor/all-neutral", "BS")}
    stated, _ = rated(tmp_path, -0.05, 0.05, score_range=[-1, 1])
    assert (stated["state"], stated["overall"]["level"]) == ("rated", "BS")
    result, _ = rated(tmp_path, -0.05, 0.05, score_range=[-0.05, 0.05])
    assert (result["state"], result["overall"]["level"]) == ("rated", "DSBS")


def test_usual_scores_need_no_range(tmp_path: Path) -> None:
    found, _ = rated(tmp_path, -1, 1)
    assert (found["state"], found["overall"]["level"]) == ("rated", "DSBS")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"score_range": [1, 0], "attribute": "valence"}, "the lowest score, then the highest"),
        ({"score_range": [0, 1]}, "an attribute that is read off scores"),
    ],
)
def test_a_range_that_is_none_is_a_fault(settings: dict[str, Any], said: str) -> None:
    service = {
        "use": "http",
        "url": "http://localhost",
        "task": "score" if "attribute" in settings else "translate",
    }
    with pytest.raises(PlanError, match=said):
        load_plan(
            {
                "services": {"mine": service},
                "experiments": [{"method": "two-step", "services": ["mine"], **settings}],
            }
        )
