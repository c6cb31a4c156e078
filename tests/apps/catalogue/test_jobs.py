"""Runs that are started over the API, and webhooks: in the process, without waiting."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from sqlalchemy import select, text, update

from tests.apps.catalogue.documents import chatbots
from tests.servers import LocalServer, Request, Response
from trustgauge.apps.catalogue.feed import atom
from trustgauge.apps.catalogue.jobs import LOST, JobQueue
from trustgauge.apps.catalogue.plan_access import network_plan
from trustgauge.apps.catalogue.queries import RatingQuery
from trustgauge.apps.catalogue.schema import JOBS
from trustgauge.apps.catalogue.store import CatalogueStore
from trustgauge.apps.catalogue.webhooks import TRIES, add_webhook, deliver, signature
from trustgauge.apps.catalogue.worker import _beat, work
from trustgauge.cli.main import group
from trustgauge.errors import PlanError

COIN = {"use": "anchor", "behaviour": "coin"}
PLAN = {
    "name": "coin",
    "seed": 1,
    "services": {"coin": COIN},
    "experiments": [{"method": "two-step", "services": ["coin"], "attribute": "gender", "texts": 20}],
}


def test_a_plan_is_one_job_that_runs_to_its_rating(store: CatalogueStore, url: str, tmp_path: Path) -> None:
    queue = JobQueue(store, url, tmp_path / "runs")
    job = queue.add(PLAN)
    assert queue.add(PLAN)["id"] == job["id"]
    assert [one["id"] for one in queue.jobs()] == [job["id"]]
    assert queue.take() == job["id"]
    assert queue.take() == ""
    assert work(store, job["id"], tmp_path / "runs") == "done"
    done = queue.job(job["id"])
    assert done is not None
    assert done["state"] == "done"
    assert store.rating(done["run"]) is not None
    parts, _, last = queue.progress(job["id"])
    assert [(one["part"], one["done"] == one["total"]) for one in parts] == [("coin", True)]
    events = queue.events(job["id"])
    assert queue.events(job["id"], events[0][0]) == events[1:]
    assert last == events[-1][0]
    assert queue.add(PLAN)["state"] == "done"


def test_a_job_whose_worker_died_is_taken_again_and_a_stopped_one_is_not(
    small: CatalogueStore, tmp_path: Path
) -> None:
    first, second = (JobQueue(small, "", tmp_path) for _ in range(2))
    job = first.add(PLAN)["id"]
    assert first.take() == job
    assert second.take() == ""
    with small.engine.begin() as connection:
        connection.execute(update(JOBS).values(beat=time.time() - LOST - 1))
    assert second.take() == job
    other = first.add({**PLAN, "seed": 2})["id"]
    first.stop(other)
    assert second.take() == ""
    assert first.add({**PLAN, "seed": 2})["state"] == "waiting"


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGTERM")
def test_a_worker_whose_server_was_killed_keeps_its_job_and_can_be_stopped(
    small: CatalogueStore, tmp_path: Path, serve: Callable[..., LocalServer]
) -> None:
    slow = serve(lambda request: Response.json({"output": request.json()["text"]}), 0.2)
    service = {"use": "http", "url": slow.url, "task": "translate", "concurrency": 1}
    plan = {
        "services": {"slow": service},
        "experiments": [{"method": "two-step", "services": ["slow"], "texts": 200}],
    }
    url = f"sqlite:///{tmp_path / 'catalogue.sqlite'}"
    first, second = (JobQueue(small, url, tmp_path / "runs") for _ in range(2))
    job = first.add(plan)["id"]
    assert first.take() == job
    with small.engine.begin() as connection:
        connection.execute(update(JOBS).values(beat=1.0))
    command = [sys.executable, "-m", "trustgauge.apps.catalogue.worker", job, str(tmp_path / "runs"), "{}"]
    environment = {**os.environ, "TRUSTGAUGE_CATALOGUE_DATABASE": url}
    worker = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        end = time.monotonic() + 30
        while not slow.requests and time.monotonic() < end:
            time.sleep(0.1)
        assert slow.requests
        assert second.take() == ""
        second.stop(job)
        assert "Traceback" not in worker.communicate(timeout=20)[1]
    finally:
        worker.kill()
        worker.wait()
    assert (second.job(job) or {})["state"] == "stopped"
    assert second.take() == ""


def test_a_worker_goes_on_saying_that_it_lives_after_its_database_failed(
    small: CatalogueStore, tmp_path: Path
) -> None:
    job = JobQueue(small, "", tmp_path).add(PLAN)["id"]
    with small.engine.begin() as connection:
        connection.execute(text("ALTER TABLE jobs RENAME TO away"))
    ended = threading.Event()
    worker = threading.Thread(target=_beat, args=(small, job, ended), daemon=True)
    worker.start()
    try:
        time.sleep(0.2)
        with small.engine.begin() as connection:
            connection.execute(text("ALTER TABLE away RENAME TO jobs"))
        end, beat = time.monotonic() + 60, 0.0
        while not beat and time.monotonic() < end:
            time.sleep(0.1)
            with small.engine.connect() as connection:
                beat = float(connection.execute(select(JOBS.c.beat)).scalar_one())
    finally:
        ended.set()
        worker.join(10)
    assert beat
    assert not worker.is_alive()


@pytest.mark.parametrize("table", ["events", "runs"])
def test_a_run_goes_on_while_the_database_is_away_and_loses_no_event(
    table: str,
    small: CatalogueStore,
    tmp_path: Path,
    serve: Callable[..., LocalServer],
    caplog: pytest.LogCaptureFixture,
) -> None:
    runs = tmp_path / "runs"

    def rename(one: str, other: str) -> None:
        with small.engine.begin() as connection:
            connection.execute(text(f"ALTER TABLE {one} RENAME TO {other}"))

    def come_back() -> None:
        end = time.monotonic() + 60
        while not list(runs.glob("*/rating.json")) and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(0.5)  # until the end of the run wants to be written
        rename("away", table)

    back = threading.Thread(target=come_back, daemon=True)

    def answer(request: Request) -> Response:
        if not back.ident:
            rename(table, "away")
            back.start()
        return Response.json({"output": request.json()["text"]})

    slow = serve(answer, 0.05)
    service = {"use": "http", "url": slow.url, "task": "translate", "concurrency": 1}
    experiment = {"method": "two-step", "services": ["slow"], "attribute": "gender", "texts": 20}
    queue = JobQueue(small, "", runs)
    job = queue.add({"seed": 1, "services": {"slow": service}, "experiments": [experiment]})["id"]
    assert work(small, job, runs) == "done"
    back.join(10)
    parts, others, _ = queue.progress(job)
    assert [one["done"] == one["total"] for one in parts] == [True]
    assert [one["event"] for one in others].count("done") == 1
    assert [one.message.count("the run goes on") for one in caplog.records] == [1] * (table == "events")
    assert small.rating((queue.job(job) or {})["run"]) is not None


def test_a_queue_goes_on_after_its_database_was_away(
    small: CatalogueStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    queue = JobQueue(small, f"sqlite:///{tmp_path / 'catalogue.sqlite'}", tmp_path / "runs")
    with small.engine.begin() as connection:
        connection.execute(text("ALTER TABLE jobs RENAME TO away"))
    queue.start()
    try:
        time.sleep(1.2)
        with small.engine.begin() as connection:
            connection.execute(text("ALTER TABLE away RENAME TO jobs"))
        job = queue.add({"services": {}, "experiments": []})["id"]
        end = time.monotonic() + 60
        while (queue.job(job) or {})["state"] != "failed" and time.monotonic() < end:
            time.sleep(0.1)
    finally:
        queue.close()
    assert (queue.job(job) or {})["state"] == "failed"  # which its worker found out
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--scheduler", "tcp://10.0.0.1:8786"), "goes with --allow-runs"),
        (("--allow-runs", "--scheduler", "tcp://10.0.0.1:8786"), "goes with --engine"),
        (("--allow-runs", "--engine", "dusk"), "must be one of"),
    ],
)
def test_a_cluster_that_no_run_would_use_is_refused(
    options: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    with pytest.raises(click.UsageError, match=said):
        CliRunner().invoke(
            group,
            ["serve", "--ratings", str(tmp_path), *options],
            standalone_mode=False,
            catch_exceptions=False,
        )


def test_a_watch_asks_anew_when_it_is_due_and_tells_of_changes(small: CatalogueStore, tmp_path: Path) -> None:
    queue, ratings = JobQueue(small, "", tmp_path), tmp_path / "runs"
    job = queue.add(PLAN, every=86_400)["id"]
    assert job != queue.add(PLAN)["id"]
    queue.stop(queue.add(PLAN)["id"])
    assert queue.take() == job
    assert work(small, job, ratings) == "done"
    first = queue.job(job)
    assert first is not None
    assert first["next"] > first["ended"]
    assert queue.take() == ""
    with small.engine.begin() as connection:
        connection.execute(update(JOBS).values(due=0.0))
    assert queue.take() == job
    assert work(small, job, ratings) == "done"
    second = queue.job(job)
    assert second is not None
    assert second["run"] != first["run"]
    assert small.count(RatingQuery(earlier="1"), date(2026, 11, 23)) == 2
    small.record("watch", "changed", second["run"])
    assert "Level changed" in atom(small, "https://ratings.example/")
    queue.stop(job)
    with small.engine.begin() as connection:
        connection.execute(update(JOBS).values(due=0.0))
    assert queue.take() == ""


def test_a_plan_with_a_fault_fails_in_words(small: CatalogueStore, tmp_path: Path) -> None:
    queue = JobQueue(small, "", tmp_path)
    job = queue.add({"services": {}, "experiments": []})["id"]
    assert work(small, job, tmp_path) == "failed"
    failed = queue.job(job)
    assert failed is not None
    assert failed["error"]


@pytest.mark.parametrize(
    ("service", "place"),
    [
        ({"use": "function", "function": "os:system"}, "services.mine"),
        ({"use": "command", "command": ["id"]}, "services.mine"),
        ({"use": "replay", "file": "/etc/passwd", "task": "translate"}, "services.mine.file"),
        ({"use": "replay", "file": "~/../../etc/passwd", "task": "translate"}, "services.mine.file"),
        ({"use": "replay", "file": __file__, "task": "translate"}, "services.mine.file"),
        ({"use": "chain", "services": [COIN, {"use": "command", "command": ["id"]}]}, "services.mine"),
    ],
)
def test_a_plan_over_the_network_reaches_nothing_of_this_machine(
    service: dict[str, object], place: str, small: CatalogueStore, tmp_path: Path
) -> None:
    plan = {**PLAN, "services": {"mine": service}}
    plan["experiments"] = [{**PLAN["experiments"][0], "services": ["mine"]}]  # type: ignore[index]
    with pytest.raises(PlanError) as refused:
        network_plan(plan)
    assert refused.value.faults[0].place == place
    job = JobQueue(small, "", tmp_path / "runs").add(plan)["id"]
    assert work(small, job, tmp_path / "runs") == "failed"
    assert not (tmp_path / "runs").exists()


def test_a_plan_over_the_network_sends_no_key_and_names_no_folder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "secret")
    there = {"url": "https://elsewhere.example/v1", "key": "SOME_API_KEY", "request": {"q": "{text}"}}
    service = {"use": "http", **there, "send_key_to": ["https://elsewhere.example"]}
    plan = {**PLAN, "services": {"coin": service}}
    with pytest.raises(PlanError, match="SOME_API_KEY"):
        network_plan(plan)
    with pytest.raises(PlanError, match=r"run\.shared"):
        network_plan({**PLAN, "run": {"shared": "elsewhere"}})
    assert network_plan(PLAN).services.keys() == {"coin"}


def test_a_webhook_is_signed_tried_again_and_told_once(
    small: CatalogueStore, serve: Callable[..., LocalServer]
) -> None:
    answers = [503, 302, 204, 204]
    seen: list[Request] = []

    def answer(request: Request) -> Response:
        seen.append(request)
        return Response(answers[len(seen) - 1], b"")

    server = serve(answer)
    small.add(chatbots("TG-2026-1101-aaaa"), actor="lab", is_checked=True)
    _, secret = add_webhook(small, f"{server.url}/changed")
    small.say("TG-2026-1101-aaaa.1", "withdrawal", "Wrong endpoint.", "lab")
    now = 1_000.0
    assert deliver(small, "https://r.example/", now) == 0
    assert deliver(small, "https://r.example/", now) == 0  # not yet due
    assert deliver(small, "https://r.example/", now + TRIES[1] + 20) == 0  # redirects are not followed
    assert deliver(small, "https://r.example/", now + TRIES[2] + 60) == 1
    assert deliver(small, "https://r.example/", now + 10_000) == 0
    assert len(seen) == 3
    assert len({one.headers["webhook-id"] for one in seen}) == 1
    last = seen[-1]
    at = int(last.headers["webhook-timestamp"])
    assert last.headers["webhook-signature"] == signature(secret, last.headers["webhook-id"], at, last.body)
    data = json.loads(last.body)
    assert data["type"] == "rating.withdrawn"
    assert data["data"]["address"] == "https://r.example/r/TG-2026-1101-aaaa.1/"
