"""Calls that failed and were answered when sent again are told by what went wrong."""

from __future__ import annotations

import itertools
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

from tests.servers import LocalServer, Request, Response
from trustgauge.plan import load_plan
from trustgauge.reports import terminal
from trustgauge.reports.views import recovered_calls
from trustgauge.run.options import RunOptions
from trustgauge.run.run import rate
from trustgauge.run.verify import verify

BUSY, BROKEN = (Response(code, b"", (("retry-after", "0"),)) for code in (429, 502))


class FlakyScorer:
    """Scores texts, asks to wait at times, is broken at others, and once does not answer; counts which."""

    def __init__(self) -> None:
        self.turns = itertools.count(1)
        self.failed: Counter[str] = Counter()

    def __call__(self, request: Request) -> Response:
        turn, text = next(self.turns), request.json()["text"]
        if turn % 7 == 3:
            self.failed["429"] += 1
            return BUSY
        if turn % 31 == 5:
            self.failed["502"] += 1
            return Response(502)
        if turn == 100:
            self.failed["timeout"] += 1
            return Response(hang=True)
        return Response.json({"output": len(text) / 100})


def scorer_plan(url: str, **more: object) -> dict[str, object]:
    service = {"use": "http", "url": url, "task": "score", "timeout": 2.0, "concurrency": 4}
    experiment = {"method": "two-step", "attribute": "valence", "services": ["mine"], "texts": 40}
    return {"services": {"mine": service}, "experiments": [experiment], **more}


def test_what_was_recovered_is_told_by_class_over_all_sittings(tmp_path: Path) -> None:
    scorer = FlakyScorer()
    with LocalServer(scorer) as server:
        first = rate(load_plan(scorer_plan(server.url, budget={"calls": 80})), RunOptions(tmp_path))
        assert first.asked.stopped
        again = rate(load_plan(scorer_plan(server.url)), RunOptions(tmp_path))
    assert again.folder == first.folder
    run = again.document["run"]
    assert set(scorer.failed) == {"429", "502", "timeout"}
    assert run["recovered"]["timeout"] == 1
    lost = scorer.failed.total() - sum(run["recovered"].values())
    assert 0 <= lost <= 8, "only those of units that the limit broke off"
    text = f"recovered {sum(run['recovered'].values())} (429: {run['recovered']['429']}, 502: "
    assert f"retried  {text}" in terminal.plain(terminal.result(again.document))
    assert f"{text.removeprefix('recovered ')}" in (again.folder / "report.html").read_text("utf-8")
    assert verify(again.folder, date(2026, 12, 1)).differences == ()


def test_what_failed_for_good_was_not_recovered(tmp_path: Path) -> None:
    down: list[str] = []

    def answer(request: Request) -> Response:
        text = request.json()["text"]
        down.append(text)
        return BROKEN if text == down[0] else Response.json({"output": len(text) / 100})

    with LocalServer(answer) as server:
        found = rate(load_plan(scorer_plan(server.url)), RunOptions(tmp_path)).document
    assert down.count(down[0]) > 1
    assert "recovered" not in found["run"]
    assert "recovered" not in terminal.plain(terminal.result(found))


def test_where_one_service_of_several_is_shown_the_calls_are_said_to_be_of_the_whole_run() -> None:
    run: Any = {"recovered": {"unavailable": 8}, "services": {"a": {}, "b": {}}}
    ratings: Any = [{"service": {"key": key}} for key in "ab"]
    assert recovered_calls(run, ratings) == "8 (unavailable: 8)"
    assert recovered_calls(run, ratings[:1]) == "8 (unavailable: 8) in the whole run"
