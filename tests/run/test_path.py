"""Whole runs against a real local server: resume, limits, refusals, losses, hostile answers, void runs."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from tests.run.plans import but_for_times, faithful, translator_plan
from tests.servers import LocalServer, Request, Response
from trustgauge.errors import KeyMissingError, PlanError, StoreError
from trustgauge.methods.two_step.method import TwoStep
from trustgauge.plan import Plan, load_plan
from trustgauge.records import Control, Task
from trustgauge.run.options import RunOptions
from trustgauge.run.prepare import forecast, prepare
from trustgauge.run.run import RunResult, rate, run
from trustgauge.run.verify import evidence_of_run, verify

Serve = Callable[..., LocalServer]


def rated(plan: Any, folder: Path, **sitting: Any) -> RunResult:
    return rate(load_plan(plan), RunOptions(ratings=folder, **sitting))


def only(finished: RunResult) -> Any:
    (rating,) = finished.document["ratings"]
    return dict(rating)


def test_each_language_gets_a_rating_and_the_worst_decides(serve: Serve, tmp_path: Path) -> None:
    server = serve(faithful)
    rating = only(rated(translator_plan(server.url, texts=60, via=("es", "tr")), tmp_path))
    parts = {part["title"]: (part["level"], part["state"]) for part in rating["parts"]}
    assert parts == {"Spanish": ("DSBS", "rated"), "Turkish": ("BS", "rated")}
    assert rating["overall"]["level"] == "BS"
    assert rating["overall"]["worst"] == ["tr"]


def test_the_same_plan_is_rated_again_without_a_call(serve: Serve, tmp_path: Path) -> None:
    server = serve(faithful)
    first = rated(translator_plan(server.url, texts=10), tmp_path)
    calls = len(server.requests)
    second = rated(translator_plan(server.url, texts=10), tmp_path)
    assert len(server.requests) == calls
    assert second.folder == first.folder
    assert second.document == first.document


def test_a_changed_plan_reuses_every_answer_it_can(serve: Serve, tmp_path: Path) -> None:
    server = serve(faithful)
    first = rated(translator_plan(server.url, texts=10), tmp_path)
    calls = len(server.requests)
    second = rated(translator_plan(server.url, texts=10, experiment={"margin": 0.12}), tmp_path)
    assert second.folder != first.folder
    assert len(server.requests) == calls
    fresh = rated(translator_plan(server.url, texts=10), tmp_path, fresh=True)
    assert len(server.requests) == 2 * calls
    assert but_for_times(fresh.document)["ratings"][0]["parts"] == only(first)["parts"]


def test_a_limit_stops_to_the_call_and_a_higher_one_resumes(serve: Serve, tmp_path: Path) -> None:
    server = serve(faithful, 0.002)
    plan = translator_plan(server.url, texts=30, budget={"calls": 101}, service={"concurrency": 64})
    stopped = rated(plan, tmp_path)
    assert len(server.requests) <= 101
    assert stopped.document["run"]["state"] == "incomplete"
    assert only(stopped)["state"] == "incomplete"
    resumed = rated(translator_plan(server.url, texts=30, budget={"calls": 180}), tmp_path)
    assert resumed.folder == stopped.folder
    assert resumed.document["run"]["state"] == "complete"
    assert len(server.requests) == 180


def test_a_missing_key_sends_nothing(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEST_SERVICE_KEY", raising=False)
    server = serve(faithful)
    secret = {"key": "TEST_SERVICE_KEY", "headers": {"Authorization": "Bearer {key}"}}
    with pytest.raises(KeyMissingError, match="TEST_SERVICE_KEY"):
        rated(translator_plan(server.url, service=secret), tmp_path)
    assert server.requests == []
    assert list(tmp_path.iterdir()) == []


def test_a_planted_key_is_in_no_file(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "sk-planted-0123456789"
    monkeypatch.setenv("TEST_SERVICE_KEY", key)

    def tells(request: Request) -> Response:
        assert request.headers["authorization"] == f"Bearer {key}"
        if len(server.requests) > 40:
            return Response(401, f"no such key: {key}".encode())
        return Response.json({"translatedText": f"{request.json()['q']} {key}"})

    server = serve(tells)
    secret = {"key": "TEST_SERVICE_KEY", "headers": {"Authorization": "Bearer {key}"}}
    finished = rated(translator_plan(server.url, texts=20, service=secret), tmp_path)
    assert finished.asked.refused
    assert key not in json.dumps(dict(finished.asked.refused))
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or key.encode() not in path.read_bytes(), path


HOSTILE = (
    "</script><img src=x onerror=alert(1)>",
    "\x1b]0;owned\x07 \x00 \u202e he is",
    "",
    "   ",
    "O bir hemşire. Una enfermera. 他是护士",
    "He " * 300_000,
    "{{ 7*7 }} {% raw %} ${jndi} `id`",
    "\ud83d alone",
)


def test_hostile_answers_neither_break_a_run_nor_reach_the_page_unescaped(
    serve: Serve, tmp_path: Path
) -> None:
    def hostile(request: Request) -> Response:
        return Response.json(
            {
                "translatedText": HOSTILE[
                    request.json()["draw"] % 3 + crc32(request.json()["q"].encode("utf-8", "replace")) % 6
                ]
            }
        )

    server = serve(hostile)
    finished = rated(translator_plan(server.url, texts=20), tmp_path)
    page = (finished.folder / "report.html").read_text("utf-8")
    assert "<img src=x" not in page
    assert "</script><img" not in page
    assert "\x1b" not in page
    assert only(finished)["overall"]["level"] == "BS"
    assert verify(finished.folder, finished_day(finished)).differences == ()


def finished_day(finished: RunResult) -> date:
    return date.fromisoformat(finished.document["run"]["ended"][:10])


def test_answers_lost_for_one_value_only_leave_no_level(serve: Serve, tmp_path: Path) -> None:
    def loses_her(request: Request) -> Response:
        if request.json()["target"] != "en" and "She" in request.json()["q"] and request.json()["draw"] == 0:
            return Response(400, b"{}")
        return faithful(request)

    server = serve(loses_her)
    rating = only(rated(translator_plan(server.url, texts=60), tmp_path))
    assert rating["state"] == "incomplete"
    assert rating["coverage"]["failed"] > 0
    assert rating["overall"]["level"] is None


def test_a_service_that_varies_although_declared_deterministic_is_asked_every_draw(
    serve: Serve, tmp_path: Path
) -> None:
    def wavers(request: Request) -> Response:
        asked = request.json()
        return Response.json({"translatedText": asked["q"] + (" Again." if asked["draw"] else "")})

    server = serve(wavers)
    finished = rated(translator_plan(server.url, texts=20, service={"deterministic": True}), tmp_path)
    assert finished.document["run"]["services"]["mine"]["deterministic"] is True
    marks = finished.derived.marks[0].filter(service="mine")
    assert not marks["shared"].any()
    assert (marks["error"] != "not-asked").all()
    assert marks["draw"].cast(int).sum() > 0


class WrongControls(TwoStep):
    """The method with an instrument that is out of order: a control whose truth is told wrongly."""

    def controls(self, task: Task) -> tuple[Control, ...]:
        return tuple(Control(one.name, one.settings, "UCS") for one in super().controls(task))


def test_a_wrong_control_voids_the_run(serve: Serve, tmp_path: Path) -> None:
    server = serve(faithful)
    plan = load_plan(translator_plan(server.url))
    broken = WrongControls.model_validate(plan.experiments[0].model_dump())
    finished = rate(plan.model_copy(update={"experiments": (broken,)}), RunOptions(ratings=tmp_path))
    assert finished.document["run"]["state"] == "void"
    assert finished.document["ratings"] == []


def test_two_runs_with_one_seed_are_byte_identical(serve: Serve, tmp_path: Path) -> None:
    server = serve(faithful)
    plan = load_plan(translator_plan(server.url, texts=10))
    one, two = (prepare(plan).probes for _ in range(2))
    assert [frame.write_json() for frame in one.values()] == [frame.write_json() for frame in two.values()]
    first, second = (rate(plan, RunOptions(ratings=tmp_path / name)).document for name in "ab")
    assert json.dumps(but_for_times(first)) == json.dumps(but_for_times(second))
    other = load_plan(translator_plan(server.url, texts=10) | {"seed": 12})
    assert [f.write_json() for f in prepare(other).probes.values()] != [f.write_json() for f in one.values()]


def test_the_forecast_is_what_is_asked(serve: Serve, tmp_path: Path) -> None:
    server = serve(faithful)
    prepared = prepare(load_plan(translator_plan(server.url, texts=25)))
    sitting = RunOptions(ratings=tmp_path)
    before = forecast(prepared, sitting)
    assert server.requests == []
    run(prepared, sitting)
    after = forecast(prepared, sitting)
    assert (before.calls, before.kept) == (len(server.requests), 0)
    assert (after.calls, after.kept) == (0, 75)


def test_what_experiments_share_is_not_called_stored(tmp_path: Path) -> None:
    one = {"method": "trust", "services": ["bot"], "issues": ["abuse"], "talks": 4, "resamples": 1000}
    bot = {"bot": {"use": "trust-anchor"}}
    plan = {"services": bot, "experiments": [one, {**one, "combination": {"rule": "count"}}]}
    sitting = RunOptions(ratings=tmp_path)
    prepared = prepare(load_plan(plan), sitting)
    before = forecast(prepared, sitting)
    assert before.kept == 0
    assert before.shared > 0
    run(prepared, sitting)
    after = forecast(prepare(load_plan(plan), sitting), sitting)
    assert (after.calls, after.kept, after.shared) == (0, before.calls + before.shared, 0)


def test_verify_finds_a_changed_answer(serve: Serve, tmp_path: Path) -> None:
    import sqlite3

    server = serve(faithful)
    finished = rated(translator_plan(server.url, texts=10), tmp_path)
    day = finished_day(finished)
    assert verify(finished.folder, day).differences == ()
    assert evidence_of_run(finished.folder).height == 30
    with sqlite3.connect(finished.folder / "store.sqlite") as db:
        db.execute("UPDATE response SET output = 'He is it.' WHERE trail != '[]'")
    db.close()
    differences = verify(finished.folder, day).differences
    assert any(one.startswith("run.hashes.answers") for one in differences)


FORGERIES: Any = {
    "ratings.0.overall.level": "UCS",
    "ratings.0.overall.score": 0.001,
    "ratings.0.overall.unchanged.value": 0.5,
    "ratings.0.parts.0.unchanged.low": 0.99999,
    "ratings.0.parts.0.details.matrix": [[1, 0, 0], [0, 1, 0], [0, 0, 0]],
    "ratings.0.coverage.answered": 99_999,
    "ratings.0.reasons": [],
    "ratings.0.limits": [],
    "ratings.0.service.name": "Another service",
    "ratings.0.service.fingerprint": "0" * 32,
    "ratings.0.method.rule": "published",
    "ratings.0.expires": "2999-01-01",
    "run.state": "void",
    "run.seed": 5,
    "run.expires": "2999-01-01",
    "run.assessor.name": "Somebody else",
    "run.anchors.0.level": "UCS",
    "run.hashes.answers": "0" * 32,
}


def test_verify_finds_nothing_in_a_copy_that_nobody_forged(honest: Path, tmp_path: Path) -> None:
    import shutil

    folder = Path(shutil.copytree(honest, tmp_path / honest.name))
    ended = json.loads((folder / "rating.json").read_text("utf-8"))["run"]["ended"]
    assert verify(folder, date.fromisoformat(ended[:10])).differences == ()


@pytest.mark.parametrize("place", FORGERIES)
def test_verify_finds_every_forgery(honest: Path, tmp_path: Path, place: str) -> None:
    import shutil

    folder = tmp_path / honest.name
    shutil.copytree(honest, folder)
    path = folder / "rating.json"
    claimed = json.loads(path.read_text("utf-8"))
    day = date.fromisoformat(claimed["run"]["ended"][:10])
    inner, *steps, last = [claimed, *(int(one) if one.isdigit() else one for one in place.split("."))]
    for step in steps:
        inner = inner[step]
    assert inner[last] != FORGERIES[place]
    inner[last] = FORGERIES[place]
    path.write_text(json.dumps(claimed), "utf-8")
    assert verify(folder, day).differences


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of two experiments whose controls have the same names."""
    plan = {
        "services": {"one": {"use": "anchor", "behaviour": "swap", "share": 0.05}},
        "experiments": [
            {"method": "two-step", "services": ["one"], "texts": 30, "draws": 1000},
            {"method": "two-step", "services": ["one"], "texts": 10, "draws": 1000, "rule": "published"},
        ],
    }
    return rate(load_plan(plan), RunOptions(ratings=tmp_path_factory.mktemp("ratings"))).folder


def test_a_service_that_varies_in_a_few_answers_only_is_found_out(tmp_path: Path) -> None:
    import polars as pl

    from trustgauge.run.rate import is_deterministic

    rows = [(f"m{n:03}", draw, "answered", f"a{n}") for n in range(200) for draw in (0, 1)]
    rows[-1] = ("m199", 1, "answered", "another")
    kept = pl.DataFrame(rows, schema=["message", "draw", "status", "output"], orient="row")
    assert not is_deterministic(kept)
    assert is_deterministic(kept.head(398))


def test_a_language_that_loses_its_answers_cannot_pass_a_gate(serve: Serve, tmp_path: Path) -> None:
    def loses_french(request: Request) -> Response:
        asked = request.json()
        return Response(400, b"{}") if asked["target"] == "fr" and "She" in asked["q"] else faithful(request)

    server = serve(loses_french)
    finished = rated(translator_plan(server.url, texts=30, via=("es", "fr")), tmp_path, fail_on=("BS",))
    rating = only(finished)
    assert (rating["overall"]["level"], rating["state"]) == (None, "incomplete")
    assert rating["gate"]["passed"] is None


def test_a_fresh_run_that_is_resumed_copies_nothing(serve: Serve, tmp_path: Path) -> None:
    server = serve(faithful)
    rated(translator_plan(server.url, texts=10), tmp_path)
    limited = translator_plan(server.url, texts=10, budget={"calls": 10})
    rated(limited, tmp_path, fresh=True)
    calls = len(server.requests)
    rated(translator_plan(server.url, texts=10), tmp_path)
    assert len(server.requests) - calls == 50


def test_a_complete_run_stays_complete_when_no_time_is_left(serve: Serve, tmp_path: Path) -> None:
    server = serve(faithful)
    rated(translator_plan(server.url, texts=10), tmp_path)
    again = rated(translator_plan(server.url, texts=10, budget={"seconds": 0.0001}), tmp_path)
    assert again.document["run"]["state"] == "complete"


def test_one_broken_run_does_not_hide_the_others(serve: Serve, tmp_path: Path) -> None:
    from trustgauge.catalogue import entries

    server = serve(faithful)
    first = rated(translator_plan(server.url, texts=10), tmp_path)
    second = rated(translator_plan(server.url, texts=11), tmp_path)
    (first.folder / "rating.json").write_text("{bad", "utf-8")
    assert [entry.folder for entry in entries(tmp_path)] == [second.folder]


def test_excluding_a_part_that_there_is_not_is_a_fault(serve: Serve, tmp_path: Path) -> None:
    server = serve(faithful)
    with pytest.raises(PlanError, match='no part "fr"'):
        rated(translator_plan(server.url, experiment={"excluding": ["fr"]}), tmp_path)


def test_a_folder_that_cannot_be_written_is_said_before_anything_is_sent(
    serve: Serve, tmp_path: Path
) -> None:
    server = serve(faithful)
    (tmp_path / "ratings").write_text("a file stands here")
    with pytest.raises(StoreError):
        rated(translator_plan(server.url), tmp_path / "ratings")
    assert server.requests == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_said(serve: Serve, tmp_path: Path) -> None:
    server = serve(faithful)
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    with pytest.raises(StoreError):
        rated(translator_plan(server.url), tmp_path)
    assert server.requests == []


def test_only_asks_one_part(serve: Serve, tmp_path: Path) -> None:
    server = serve(faithful)
    plan = translator_plan(server.url, texts=10, via=("es", "tr"), only=["es"])
    rating = only(rated(plan, tmp_path))
    assert [part["key"] for part in rating["parts"]] == ["es"]
    assert {request.json()["target"] for request in server.requests} == {"es", "en"}
    with pytest.raises(PlanError, match='no part "fr"'):
        rated(translator_plan(server.url, only=["fr"]), tmp_path)


def test_a_method_that_cannot_rate_a_task_says_so() -> None:
    plan: Plan = load_plan(
        {
            "services": {"lexicon": {"use": "vader"}},
            "experiments": [{"method": "two-step", "services": ["lexicon"], "attribute": "gender"}],
        }
    )
    with pytest.raises(Exception, match="score"):
        prepare(plan)
