"""Clocks that jump: dates of rows and ratings may be odd, what was measured is not."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.run.plans import but_for_times
from tests.servers import LocalServer, Request, Response
from trustgauge.engine import EngineClock
from trustgauge.engine.local import Job, LocalEngine, run
from trustgauge.plan import load_plan
from trustgauge.records import Answer, Message
from trustgauge.reports.html import report
from trustgauge.run.options import RunOptions
from trustgauge.run.render import expiry_date
from trustgauge.run.run import rate
from trustgauge.run.verify import verify
from trustgauge.services.http import Http

PLAN = {
    "services": {"a": {"use": "anchor", "behaviour": "coin"}},
    "experiments": [{"method": "two-step", "services": ["a"], "texts": 20, "draws": 1000}],
}
JUMPS = {
    "a day back": (datetime(2026, 5, 1, tzinfo=UTC), datetime(2026, 4, 30, tzinfo=UTC)),
    "to the epoch": (datetime(2026, 5, 1, tzinfo=UTC), datetime(1970, 1, 1, tzinfo=UTC)),
    "ten years on": (datetime(2026, 5, 1, tzinfo=UTC), datetime(2036, 5, 1, tzinfo=UTC)),
    "the last day": (datetime(9999, 12, 31, 23, 59, tzinfo=UTC),),
}


def clock(moments: tuple[datetime, ...]) -> Callable[[], datetime]:
    ticking = itertools.cycle(moments)
    return lambda: next(ticking)


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> str:
    return undated(rate(load_plan(PLAN), RunOptions(ratings=tmp_path_factory.mktemp("usual"))).document)


def undated(document: Any) -> str:
    """A document without times, and without the id, which tells the day."""
    text = json.dumps(but_for_times(json.loads(json.dumps(document))), sort_keys=True)
    return text.replace(document["run"]["id"], "ID")


@pytest.mark.parametrize("jump", JUMPS)
def test_a_run_on_a_clock_that_jumps(usual: str, tmp_path: Path, jump: str) -> None:
    now = clock(JUMPS[jump])
    first = rate(load_plan(PLAN), RunOptions(ratings=tmp_path, now=now))
    again = rate(load_plan(PLAN), RunOptions(ratings=tmp_path, now=now))
    assert again.folder == first.folder, "the same plan goes on in its folder, whatever the date"
    assert again.asked.calls == 0
    for found in (first.document, again.document):
        assert undated(found) == usual
        assert "anchor/coin" in report(found)
    assert verify(first.folder, date(2026, 12, 1)).differences == ()


def test_the_date_of_expiry_never_overflows() -> None:
    assert expiry_date("2026-11-22T12:00:00+00:00", 90) == "2027-02-20"
    assert expiry_date("9999-12-31T00:00:00+00:00", 90) == "9999-12-31"
    assert expiry_date("2026-11-22T12:00:00+00:00", 10**30) == "9999-12-31"


def units(count: int) -> list[tuple[Message, ...]]:
    return [(Message(f"text {number}"),) for number in range(count)]


def test_waits_hang_on_no_date() -> None:
    """The clock of the wall goes back a year with every look; the engine's waits do not notice."""
    years = itertools.count(3000, -1)
    busy = itertools.count()

    def answer(request: Request) -> Response:
        if next(busy) % 5 == 0:
            return Response(429, b"{}", (("retry-after", "0"),))
        return Response.json({"output": "fine"})

    kept: list[Answer] = []
    with LocalServer(answer) as server:
        about = Http(url=server.url, task="chat", concurrency=4)
        engine = LocalEngine(clock=EngineClock(utc=lambda: datetime(next(years), 1, 1, tzinfo=UTC)))
        outcome = run([Job("part", about, units(50))], lambda *answers: kept.extend(answers), engine=engine)
    assert outcome.stopped is None
    assert {answer.status for answer in kept} == {"answered"}
    assert len(kept) == 50
    assert kept[0].at > kept[-1].at, "the dates are as the clock told them"
