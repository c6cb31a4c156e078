"""What services say they answered with: kept with each answer, named by the rating, a tick in its history."""

from __future__ import annotations

import asyncio
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tests.servers import LocalServer, Request, Response
from trustgauge.apps.catalogue.history import history
from trustgauge.plan import load_plan
from trustgauge.records import Message, Reply
from trustgauge.run.options import RunOptions
from trustgauge.run.run import rate
from trustgauge.run.verify import verify
from trustgauge.services.http import Http
from trustgauge.store import open_store

MODELS = ["m-1-2026-10-01", "m-1-2026-11-01"]
KEY = "sk-of-nobody-at-all"
EXPERIMENT = {
    **{"method": "social-bias", "services": ["bot"], "attributes": ["gender"], "groups": 2, "properties": 2},
    **{"questions": 0, "resamples": 1000, "permutations": 199, "tuples": ["relative"]},
}


def test_a_model_that_changes_behind_its_name_is_a_tick(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    models = list(MODELS)

    def answer(request: Request) -> Response:
        said = request.json()["messages"][-1]["content"]
        choice = {"message": {"role": "assistant", "content": f"You said {said}"}, "finish_reason": "stop"}
        facts = {"model": models[0], "system_fingerprint": f"fp_{KEY}"}
        return Response.json({**facts, "choices": [choice]})

    ratings: list[Any] = []
    with LocalServer(answer) as server:
        service = {"use": "openai", "model": "m-1", "url": server.url}
        plan = load_plan({"services": {"bot": service}, "experiments": [EXPERIMENT]})
        while models:
            finished = rate(plan, RunOptions(ratings=tmp_path, fresh=True))
            ratings.append(finished.document["ratings"][0])
            assert verify(finished.folder, date(2026, 11, 23)).differences == ()
            facts = finished.document["run"]["services"]["bot"]
            with open_store(finished.folder) as store:
                assert store.answered_as([facts["fingerprint"]]) == tuple(facts["answered_as"])
            models.pop(0)
    for one in ratings:  # this service counts no tokens
        assert one["cost"]["tokens_estimated"] == one["cost"]["tokens"] > 0
    assert [one["service"]["answered_as"] for one in ratings] == [
        [f"model {one}, system_fingerprint fp_[key removed]"] for one in MODELS
    ]
    assert ratings[0]["service"]["fingerprint"] == ratings[1]["service"]["fingerprint"]
    tick = "stroke-width"
    assert str(history(ratings)).count(tick) == 1 + str(history([ratings[0], ratings[0]])).count(tick)


def test_headers_name_the_version_of_an_http_service() -> None:
    answer = Response(200, b'{"output": "Yes."}', (("x-model-version", "7.3"), ("x-secret", "no")))

    async def ask(url: str) -> Reply:
        about = {
            "use": "http",
            "task": "chat",
            "url": url,
            "request": {"text": "{text}"},
            "response": "output",
        }
        service = Http.model_validate(about).open()
        try:
            return (await service.ask([Message("Is it?")]))[0]
        finally:
            await service.close()

    with LocalServer(lambda _: answer) as server:
        assert asyncio.run(ask(server.url)).answered_as == "x-model-version 7.3"
