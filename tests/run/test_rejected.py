"""A text that a service rejected is that text's outcome: asking on by the same command changes no rating."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.run.plans import but_for_times, faithful, translator_plan
from tests.servers import LocalServer, Request, Response
from tests.store.rows import SERVICE, answer
from trustgauge.plan import load_plan
from trustgauge.reports.sentences import next_step
from trustgauge.run.options import RunOptions
from trustgauge.run.prepare import forecast, prepare
from trustgauge.run.run import RunResult, rate
from trustgauge.run.verify import rerate
from trustgauge.store.parquet import ParquetStore
from trustgauge.store.sqlite import SqliteStore


def done(plan: Any, folder: Path) -> RunResult:
    return rate(load_plan(plan), RunOptions(folder))


class Fussy:
    """Rejects texts about women only, each the first time that it is sent, and then answers it."""

    def __init__(self, status: int) -> None:
        self.status, self.seen = status, set[str]()

    def __call__(self, request: Request) -> Response:
        text = request.json()["q"]
        words = set(re.findall("[a-z]+", text.lower()))
        is_hers = bool(words & {"she", "her", "herself"}) and not words & {"he", "his", "him", "himself"}
        if is_hers and text not in self.seen:
            self.seen.add(text)
            return Response.json({"error": "no"}, status=self.status)
        return faithful(request)


def test_a_rejected_text_is_not_asked_again_and_the_rating_stays(tmp_path: Path) -> None:
    with LocalServer(Fussy(400)) as server:
        plan = translator_plan(server.url, texts=60)
        first = done(plan, tmp_path)
        again = done(plan, tmp_path)
        calls = forecast(prepare(load_plan(plan), RunOptions(tmp_path)), RunOptions(tmp_path)).calls
        other = done({**plan, "name": "other"}, tmp_path)
    (rating,) = first.document["ratings"]
    assert (rating["state"], rating["coverage"]["failed"] > 0) == ("incomplete", True)
    assert {one["code"] for one in rating["parts"][0]["reasons"]} == {"incomplete-loss"}
    assert (again.asked.calls, calls, other.asked.calls) == (0, 0, 0)
    assert but_for_times(first.document)["ratings"] == but_for_times(again.document)["ratings"]
    gone = rating["coverage"]["failed"]
    assert next_step(rating).startswith(
        f"Mend the service, which rejected {gone} texts, and rate it with --fresh"
    )


def test_what_failed_otherwise_is_sent_again_though_other_texts_were_rejected(tmp_path: Path) -> None:
    with LocalServer(Fussy(400)) as server:
        plan = translator_plan(server.url, texts=60)
        folder = done(plan, tmp_path).folder
        first = "SELECT min(rowid) FROM response WHERE error = 'service.rejected'"
        with sqlite3.connect(folder / "store.sqlite") as db:
            db.execute(f"UPDATE response SET error = 'service.unavailable' WHERE rowid IN ({first})")
        db.close()
        assert next_step(rerate(folder)["ratings"][0]) == "Run it again: received answers are stored."
        again = done(plan, tmp_path)
    assert again.asked.calls == 2  # there and back
    assert "--fresh" in next_step(again.document["ratings"][0])


def test_a_service_that_rejected_everything_is_asked_again_once_it_is_mended(tmp_path: Path) -> None:
    broken = [True]

    def mended(request: Request) -> Response:
        return Response.json({"error": "no such model"}, status=404) if broken[0] else faithful(request)

    with LocalServer(mended) as server:
        plan = translator_plan(server.url)
        assert done(plan, tmp_path).document["ratings"][0]["overall"]["level"] is None
        broken[0] = False
        rating = done(plan, tmp_path).document["ratings"][0]
    assert (rating["overall"]["level"], rating["coverage"]["failed"]) == ("DSBS", 0)


@pytest.mark.parametrize("kind", [SqliteStore, ParquetStore])
def test_stores_tell_rejections_from_failures_that_pass(kind: Any, tmp_path: Path) -> None:
    failed: dict[str, Any] = {"status": "failed", "output": None}
    rejected = answer(0, error="service.rejected", **failed)
    keys = [(answer(number).message, 0) for number in range(3)]
    with kind(tmp_path / "store") as store:
        store.add([rejected, answer(1, error="service.unavailable", **failed)])
        assert store.holds(SERVICE, keys) == [False, False, False], "it answered nothing so far"
        store.add([answer(2)])
        assert store.holds(SERVICE, keys) == [True, False, True]
        assert store.present(SERVICE) == {keys[0], keys[2]}
        assert len(store.usable(SERVICE, keys)) == 2
    with kind(tmp_path / "other") as other:
        assert other.borrow(tmp_path / "store", SERVICE, keys, "TG-1") == 2
