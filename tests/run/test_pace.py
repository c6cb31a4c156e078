"""How quickly services answer: noted by a run, read by the estimates of later ones."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.run.plans import faithful, translator_plan
from tests.servers import LocalServer, Request, Response
from trustgauge.plan import load_plan
from trustgauge.run.cost import REMOTE_SECONDS, Estimate, Stopwatch
from trustgauge.run.options import RunOptions
from trustgauge.run.prepare import forecast, prepare
from trustgauge.run.run import rate
from trustgauge.services.http import Http

EACH = 0.02
"""Seconds a call of a server that answers one after the other, however many are sent at once."""


def one_by_one() -> Callable[[Request], Any]:
    turn = asyncio.Semaphore(1)

    async def answer(request: Request) -> Response:
        async with turn:
            await asyncio.sleep(EACH)
        return faithful(request)

    return answer


@pytest.fixture(scope="module")
def server() -> Iterator[LocalServer]:
    with LocalServer(one_by_one()) as server:
        yield server


@pytest.fixture
def timed(small: Path, tmp_path: Path) -> Path:
    """The folder of a small run, to be changed."""
    return shutil.copytree(small, tmp_path / "ratings" / small.name)


@pytest.fixture(scope="module")
def small(server: LocalServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    ratings = tmp_path_factory.mktemp("ratings")
    assert expected(ratings, server, 5).untimed == ("mine",)
    return rate(load_plan(translator_plan(server.url, texts=5)), RunOptions(ratings)).folder


def expected(ratings: Path, server: LocalServer, texts: int = 200, **service: Any) -> Estimate:
    """What is to be expected; nothing is asked for it."""
    sitting, asked = RunOptions(ratings), len(server.requests)
    estimate = forecast(
        prepare(load_plan(translator_plan(server.url, texts=texts, service=service)), sitting), sitting
    )
    assert len(server.requests) == asked
    return estimate


def noted(run: Path) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads((run / "manifest.json").read_text())
    return manifest


def note(run: Path, paces: Any) -> None:
    (run / "manifest.json").write_text(json.dumps({**noted(run), "paces": paces}))


def test_a_later_estimate_goes_by_the_pace_of_an_earlier_run(timed: Path, server: LocalServer) -> None:
    (pace,) = noted(timed)["paces"].values()
    assert pace["seconds"] >= pace["calls"] * EACH
    assert pace["quickest"] >= EACH
    later = expected(timed.parent, server)
    assert later.timed_in == (timed.name,)
    assert later.untimed == ()
    assert later.seconds == pytest.approx(later.calls * pace["seconds"] / pace["calls"], rel=0.01)
    assert later.units == {"mine es": later.calls / 2}
    guessed = expected(timed.parent / "elsewhere", server)
    assert guessed.untimed == ("mine",)
    assert guessed.timed_in == ()
    assert guessed.seconds == pytest.approx(guessed.calls * REMOTE_SECONDS / 64, rel=0.01)


def test_limits_of_now_count_and_what_the_plan_says_goes_before(timed: Path, server: LocalServer) -> None:
    (mark,) = noted(timed)["paces"]
    note(timed, {mark: {"calls": 100, "seconds": 0.1, "quickest": 0.04}})
    for limits, each in (
        ({}, 0.001),
        ({"concurrency": 2}, 0.02),
        ({"rate": 10.0}, 0.1),
        ({"seconds_per_call": 6.4}, 0.1),
    ):
        estimate = expected(timed.parent, server, **limits)
        assert estimate.seconds == pytest.approx(estimate.calls * each, rel=0.03)
        assert estimate.untimed == ()
        assert bool(estimate.timed_in) == ("seconds_per_call" not in limits)


def test_an_answer_that_is_told_late_belongs_to_no_go() -> None:
    at = "2026-11-22T12:00:0{}.000Z"
    answer: dict[str, Any] = {"event": "answer", "part": "a", "turns": 1, "status": "answered", "millis": 1.0}
    events: list[dict[str, Any]] = [
        {"event": "plan", "at": at.format(0), "part": "a", "service": "a", "total": 20},
        *({**answer, "at": at.format(2)} for _ in range(20)),
        {"event": "done", "at": at.format(3)},
        {**answer, "at": at.format(9)},  # by a worker that was slow to tell
    ]
    service = Http(url="http://127.0.0.1:9/", task="chat")
    stopwatch = Stopwatch({"a": service})
    for event in events:
        stopwatch.feed(event)
    (pace,) = stopwatch.facts().values()
    assert pace == {"calls": 20, "seconds": 2.0, "quickest": 0.001}


@pytest.mark.parametrize(
    "facts",
    [
        {"calls": 0, "seconds": 1.0, "quickest": 0.1},
        {"calls": 20, "seconds": 0, "quickest": 0.1},
        {"calls": 20, "seconds": float("inf"), "quickest": 0.1},
        {"calls": True, "seconds": "1", "quickest": None},
        [20, 1.0, 0.1],
        None,
    ],
)
def test_a_manifest_that_tells_no_pace_makes_a_guess(timed: Path, server: LocalServer, facts: Any) -> None:
    note(timed, dict.fromkeys(noted(timed)["paces"], facts))
    assert expected(timed.parent, server, 10).untimed == ("mine",)


def test_paces_that_are_no_table_make_a_guess(timed: Path, server: LocalServer) -> None:
    note(timed, "quick")
    assert expected(timed.parent, server, 10).untimed == ("mine",)
