"""Which answers of the runs beside it a run takes (methods 0.3 (5))."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.servers import LocalServer, Request, Response
from trustgauge.apps.sheets import manual_answers
from trustgauge.plan import load_plan
from trustgauge.run.options import RunOptions
from trustgauge.run.prepare import forecast, prepare
from trustgauge.run.run import RunResult, rate, run

CALLS = 80


def tossing() -> Callable[[Request], Response]:
    """A scorer that tosses a coin."""
    rng = random.Random(4)
    return lambda _: Response.json({"score": rng.choice((-1.0, 1.0))})


def steady(request: Request) -> Response:
    return Response.json({"score": len(request.json()["text"]) / 100})


def plan_with(url: str, seed: int, *, service: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    request = {"text": "{text}", "draw": "{draw}"}
    scorer = {"use": "http", "url": url, "task": "score", "request": request, "response": "score"}
    small = {"groups": [1], "frames": 2, "persons": 2, "resamples": 1000, "permutations": 999}
    return {
        "name": "test",
        "seed": seed,
        "retest": 0,
        "services": {"mine": {**scorer, **(service or {})}},
        "experiments": [{"method": "causal", "services": ["mine"], **small, **more.pop("experiment", {})}],
        **more,
    }


def rated(plan: dict[str, Any], ratings: Path) -> tuple[int, RunResult]:
    """The calls that `plan` announces, and the run."""
    sitting = RunOptions(ratings)
    return forecast(prepare(load_plan(plan), sitting), sitting).calls, rate(load_plan(plan), sitting)


def test_a_new_seed_of_a_service_that_varies_asks_anew(tmp_path: Path) -> None:
    with LocalServer(tossing()) as server:
        first, second, again = (rated(plan_with(server.url, seed), tmp_path) for seed in (11, 12, 11))
    assert [(calls, run.asked.calls) for calls, run in (first, second, again)] == [
        (CALLS, CALLS),
        (CALLS, CALLS),
        (0, 0),
    ]
    both = [set(run.ask_plan.probes[0, "score"]["message"]) for _, run in (first, second)]
    assert both[0] & both[1], "some texts are those of the first run"


@pytest.mark.parametrize("verified", [True, False])
def test_a_new_seed_takes_the_answers_of_a_service_that_was_verified_deterministic(
    tmp_path: Path, verified: bool
) -> None:
    service = {"deterministic": True}
    with LocalServer(steady) as server:
        # Messages are asked twice at the end: a run that was cut short before has verified nothing.
        limit = {} if verified else {"budget": {"calls": 20}}
        rate(load_plan(plan_with(server.url, 11, service=service, **limit)), RunOptions(tmp_path))
        calls, run = rated(plan_with(server.url, 12, service=service), tmp_path)
        alone, _ = rated(plan_with(server.url, 12, service=service), tmp_path / "alone")
    assert calls == run.asked.calls
    assert calls < alone if verified else calls == alone


def test_another_plan_of_the_same_seed_takes_the_answers_of_a_service_that_varies(tmp_path: Path) -> None:
    with LocalServer(tossing()) as server:
        rated(plan_with(server.url, 11), tmp_path)
        other = plan_with(server.url, 11, experiment={"settle": 0.9})
        assert rated(other, tmp_path)[0] == 0


def test_answers_of_a_service_that_changed_during_its_run_are_not_taken(tmp_path: Path) -> None:
    """A smaller plan took them in another order, where a level of the mixture was settled."""
    asked = 0

    def updated(request: Request) -> Response:
        nonlocal asked
        asked += 1
        text = request.json()["text"]
        return Response.json({"output": text if asked < 150 else text.replace("She is", "He is")})

    def plan(url: str, texts: int) -> dict[str, Any]:
        service = {"use": "http", "url": url}
        experiment = {"method": "two-step", "services": ["mine"], "texts": texts, "patterns": ["subject"]}
        return {"seed": 4, "retest": 0, "services": {"mine": service}, "experiments": [experiment]}

    with LocalServer(updated) as server:
        _, first = rated(plan(server.url, 100), tmp_path)
        (rating,) = first.document["ratings"]
        assert "changed-during-the-run" in {one["code"] for one in rating["reasons"]}
        assert rated(plan(server.url, 100), tmp_path)[0] == 0, "its own plan goes on with them"
        calls, second = rated(plan(server.url, 40), tmp_path)
        assert calls == second.asked.calls == 120
        (later,) = second.document["ratings"]
        assert (later["state"], later["overall"]["level"]) == ("rated", "BS"), "what it is now"
        assert rated({**plan(server.url, 40), "only": []}, tmp_path)[0] == 0


def test_people_are_asked_anew_for_another_seed(tmp_path: Path) -> None:
    with LocalServer(tossing()) as server:
        rated(plan_with(server.url, 11), tmp_path)
        for seed, pending in ((11, 0), (12, CALLS)):
            prepared = manual_answers.prepare(load_plan(plan_with(server.url, seed)))
            exported = manual_answers.export(
                prepared, "mine", tmp_path / f"{seed}.csv", tmp_path, manual_answers.PendingRows()
            )
            assert exported.pending == pending


def test_what_was_pending_when_a_plan_was_prepared_is_asked_unless_it_is_kept_by_then(tmp_path: Path) -> None:
    with LocalServer(steady) as server:
        plan = load_plan(plan_with(server.url, 11))
        longer = load_plan(plan_with(server.url, 11, experiment={"persons": 3}))
        options = RunOptions(tmp_path)
        prepared, other = prepare(plan, options), prepare(longer, options)
        assert prepared.pending is not None
        asked = [run(prepared, options).asked.calls, run(prepared, options).asked.calls]
        fewer = forecast(prepare(longer, options), options).calls
        copying = run(other, options).asked.calls
    assert asked == [CALLS, 0]
    assert copying == fewer < forecast(other, options).calls  # copied from the run that ended since
