"""The caps of a plan hold over all its sittings, whatever was broken off in each."""

from __future__ import annotations

import itertools
import os
import signal
from datetime import date
from pathlib import Path

import pytest

from tests.run.plans import faithful, translator_plan
from tests.servers import LocalServer, Request, Response
from trustgauge.engine.local import Interruption
from trustgauge.plan import load_plan
from trustgauge.run.options import RunOptions
from trustgauge.run.prepare import forecast, prepare
from trustgauge.run.run import rate
from trustgauge.run.verify import verify
from trustgauge.store import open_store
from trustgauge.store.folder import read_manifest


def kept_calls(folder: Path, sitting: RunOptions, plan: dict[str, object]) -> int:
    prints = [one.fingerprint for one in prepare(load_plan(plan), sitting).targets if not one.control]
    with open_store(folder) as store:
        return store.cost(prints).calls


def test_the_same_command_again_sends_nothing_beyond_the_cap(tmp_path: Path) -> None:
    turns = itertools.count()

    def flaky(request: Request) -> Response:
        return faithful(request) if next(turns) % 3 else Response(503, b"")

    with LocalServer(flaky) as server:
        plan = translator_plan(server.url, budget={"calls": 100})
        sitting = RunOptions(tmp_path)
        for _ in range(3):
            finished = rate(load_plan(plan), sitting)
            assert len(server.requests) == 100
            assert finished.asked.stopped == "limit reached: calls 100"
        unkept = read_manifest(finished.folder)["unkept"]
        assert 0 < unkept["calls"] == 100 - kept_calls(finished.folder, sitting, plan)
        assert forecast(prepare(load_plan(plan), sitting), sitting).spent.calls == 100
        assert verify(finished.folder, date(2026, 1, 2)).differences == ()
        more = rate(load_plan({**plan, "budget": {"calls": 130}}), sitting)
        assert len(server.requests) == 130
        assert more.folder == finished.folder


def test_calls_that_an_interrupt_broke_off_count(tmp_path: Path) -> None:
    turns = itertools.count(1)

    def stopping(request: Request) -> Response:
        if next(turns) == 60:
            os.kill(os.getpid(), signal.SIGINT)
        return faithful(request)

    with LocalServer(stopping, 0.01) as server:
        plan = translator_plan(server.url)
        sitting = RunOptions(tmp_path)
        with pytest.raises(Interruption):
            rate(load_plan(plan), sitting)
        (folder,) = tmp_path.iterdir()
        made = len(server.requests)
        unkept = read_manifest(folder)["unkept"]["calls"]
        assert made == kept_calls(folder, sitting, plan) + unkept
        assert unkept > 0
        capped = rate(load_plan({**plan, "budget": {"calls": made + 10}}), sitting)
        assert len(server.requests) == made + 10
        assert capped.asked.stopped == f"limit reached: calls {made + 10}"


def test_a_calm_run_has_nothing_to_add(tmp_path: Path) -> None:
    with LocalServer(faithful) as server:
        finished = rate(load_plan(translator_plan(server.url)), RunOptions(tmp_path))
    assert finished.document["run"]["state"] == "complete"
    assert "unkept" not in read_manifest(finished.folder)
