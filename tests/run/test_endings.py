"""Why not everything was asked: a limit, or a service that failed, in rating, screens and gate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.run.plans import faithful, translator_plan
from tests.servers import LocalServer, Request, Response
from trustgauge.cli.main import group
from trustgauge.plan import load_plan
from trustgauge.run.options import RunOptions
from trustgauge.run.run import RunResult, rate
from trustgauge.run.verify import rerate


def ending(command: str, ratings: Path) -> str:
    asked = [*command.split(), "--ratings", str(ratings)]
    return CliRunner().invoke(group, asked, standalone_mode=False, catch_exceptions=False).output


def done(plan: Any, folder: Path) -> RunResult:
    return rate(load_plan(plan), RunOptions(folder))


@pytest.mark.parametrize("status", [401, 404])
def test_a_service_that_fails_is_the_cause(tmp_path: Path, status: int) -> None:
    with LocalServer(lambda _: Response.json({"error": "no such model"}, status=status)) as server:
        finished = done(translator_plan(server.url), tmp_path)
        asked = len(server.requests)
    (rating,) = finished.document["ratings"]
    (failure,) = finished.document["run"]["failures"].values()
    assert f"answered {status}" in failure["error"]
    assert 0 < failure["calls"] <= asked
    assert {one["code"] for one in rating["reasons"]} == {"not-finished"}
    for facts in (rating["reasons"][0]["facts"], rating["parts"][0]["reasons"][0]["facts"]):
        assert (facts["error"], facts["calls"]) == (failure["error"], failure["calls"])
    for command in ("show latest", "gate latest --fail-on worst"):
        said = ending(command, tmp_path)
        assert f"The service failed: {failure['calls']} calls ended with “" in said
        assert "no such model" in said
        assert "The run was stopped" not in said
    assert "next     See what `trustgauge check` gets" in ending("gate latest --fail-on worst", tmp_path)
    assert "incomplete" in ending("list", tmp_path)
    assert "the service failed" in ending("list", tmp_path)
    assert "The service failed" in (finished.folder / "report.html").read_text("utf-8")
    assert ending("verify latest", tmp_path).startswith("ok")
    assert rerate(finished.folder) == finished.document


def test_a_service_that_refuses_is_asked_once_and_not_once_a_round(tmp_path: Path) -> None:
    refusal = Response.json({"error": {"message": "quota", "code": "insufficient_quota"}}, status=429)
    with LocalServer(lambda _: refusal) as server:
        bot = {"use": "openai", "model": "m", "url": server.url, "key": "", "concurrency": 1}
        experiment = {"method": "social-bias", "services": ["bot"], "attributes": ["gender"]}
        plan = {"services": {"bot": bot}, "experiments": [{**experiment, "questions": 40}]}
        finished = done(plan, tmp_path)
        assert len(server.requests) == finished.asked.calls == 1


def test_parts_that_are_read_from_one_service_say_what_is_outstanding_of_their_own_texts(
    tmp_path: Path,
) -> None:
    scorer = {"use": "http", "task": "score", "response": "score"}
    small = {"groups": [1, 2], "frames": 2, "persons": 2, "resamples": 1000, "permutations": 999}
    with LocalServer(lambda _: Response.json({"score": "0,5"})) as server:
        plan = {
            "services": {"comma": {**scorer, "url": server.url}},
            "experiments": [{"method": "causal", "services": ["comma"], **small}],
        }
        (rating,) = done(plan, tmp_path).document["ratings"]
    held = (rating["reasons"], *(part["reasons"] for part in rating["parts"]))
    facts = [one["facts"] for reasons in held for one in reasons]
    assert [one["missing"] for one in facts] == [one["planned"] for one in facts]
    assert facts[0]["missing"] == sum(one["missing"] for one in facts[1:])


def test_a_limit_is_the_cause_until_it_is_raised(tmp_path: Path) -> None:
    with LocalServer(faithful) as server:
        short = done(translator_plan(server.url, budget={"calls": 20}), tmp_path)
        said = {
            name: ending(name, tmp_path) for name in ("show latest", "gate latest --fail-on worst", "list")
        }
        page = (short.folder / "report.html").read_text("utf-8")
        checked = ending("verify latest", tmp_path)
        whole = done(translator_plan(server.url), tmp_path)
    (rating,) = short.document["ratings"]
    assert rating["reasons"][0]["facts"]["limit"] == "calls 20"
    assert "failures" not in short.document["run"]
    assert "The limit of the run was reached (calls 20)" in said["show latest"]
    assert "The limit of the run was reached (calls 20)" in page
    assert "next     Raise the limit and run the same command" in said["gate latest --fail-on worst"]
    assert "a limit was reached" in said["list"]
    assert checked.startswith("ok")
    assert whole.document["ratings"][0]["state"] == "rated"


def test_a_service_that_works_is_not_blamed_for_another(tmp_path: Path) -> None:
    def half(request: Request) -> Response:
        return faithful(request) if request.path.startswith("/good") else Response.json({}, status=401)

    with LocalServer(half) as server:
        plan = translator_plan(server.url)
        service = plan["services"]["mine"]
        plan["services"] = {
            way: {**service, "translator": {**service["translator"], "url": f"{server.url}/{way}"}}
            for way in ("good", "bad")
        }
        plan["experiments"][0]["services"] = ["good", "bad"]
        finished = done(plan, tmp_path)
    good, bad = finished.document["ratings"]
    assert (good["state"], bad["state"]) == ("rated", "incomplete")
    assert "401" in bad["reasons"][0]["facts"]["error"]
    assert len(finished.document["run"]["failures"]) == 1


def test_what_a_service_rejects_is_named_with_what_it_said(tmp_path: Path) -> None:
    def choosy(request: Request) -> Response:
        if b"She" in request.body:
            rejected.append(request.body)  # repeated in the error, so that every error is another
            said = f"cannot translate {request.body.decode()}"
            return Response.json({"error": said}, status=400)
        return faithful(request)

    rejected: list[bytes] = []
    with LocalServer(choosy) as server:
        first = done(translator_plan(server.url), tmp_path)
        assert len(set(rejected)) == len(rejected) > 1
        second = done(translator_plan(server.url), tmp_path)  # an error is remembered by its run
    for finished in (first, second):
        (rating,) = finished.document["ratings"]
        (lost,) = finished.document["run"]["lost"].values()
        assert "answered 400" in lost["error"]
        assert "cannot translate" in lost["error"]
        assert lost["calls"] == len(rejected)
        reason = next(one for one in rating["parts"][0]["reasons"] if one["code"] == "incomplete-loss")
        assert (reason["facts"]["error"], reason["facts"]["calls"]) == (lost["error"], lost["calls"])
        assert "failures" not in finished.document["run"]
        assert rerate(finished.folder) == finished.document
    assert f"{lost['calls']} calls ended with “" in ending("show latest", tmp_path)
