"""Schemathesis asks a real server for what its description allows and forbids; every answer is described."""

from __future__ import annotations

import copy
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
import uvicorn
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import Case, CheckFunction, GenerationMode
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import positive_data_acceptance

from tests.apps.catalogue.documents import chatbots, two_step
from tests.apps.catalogue.test_pages import BOT, TODAY
from trustgauge.apps.catalogue.app import application
from trustgauge.apps.catalogue.jobs import JobQueue
from trustgauge.apps.catalogue.options import ServeOptions
from trustgauge.apps.catalogue.store import CatalogueStore

OPTIONS = settings(
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
MORE_THAN_ITS_FORM: list[CheckFunction] = [positive_data_acceptance]
"""What fits a schema may still be refused: a rating that does not add up, a service that is not there."""
ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)
DOCUMENT = two_step("TG-2026-1123-f022")


@st.composite
def broken_documents(draw: st.DrawFn) -> Any:
    """A `rating.json` in which one value is another."""
    result = copy.deepcopy(DOCUMENT)
    place: Any = result
    while True:
        keys = list(place) if isinstance(place, dict) else range(len(place))
        key = draw(st.sampled_from(sorted(keys, key=str)))
        if isinstance(place[key], dict | list) and place[key] and draw(st.integers(0, 4)):
            place = place[key]
            continue
        place[key] = draw(ANYTHING)
        return result


class Served:
    """A catalogue on a port, and its description as Schemathesis reads it from there."""

    def __init__(self, address: str, token: str, known: dict[str, str]) -> None:
        self.schema = schemathesis.openapi.from_url(f"{address}openapi.json")
        self.known, self.headers = known, {"Authorization": f"Bearer {token}"}

    def ask(self, case: Case[Any]) -> None:
        """Fails at 5xx, at a status, header, type or content that is not described, and at what is let in."""
        case.call_and_validate(headers=self.headers, excluded_checks=MORE_THAN_ITS_FORM)


@pytest.fixture
def served(small: CatalogueStore, tmp_path: Path) -> Iterator[Served]:
    small.add(two_step(), actor="lab", is_checked=True)
    small.add(chatbots(), actor="lab", is_checked=True)
    jobs = JobQueue(small, "", tmp_path)
    known = {
        "/api/v1/ratings/": BOT,
        "/api/v1/services/": "bot",
        "/api/v1/runs/": jobs.add({"services": {}, "experiments": []})["id"],
    }
    for action in ("corrected", "withdrawn", "replied", "changed"):
        small.record("lab", action, BOT)
    options = ServeOptions(tmp_path, writes_per_minute=1_000_000, reads_per_minute=1_000_000)
    app = application(small, options, today=lambda: TODAY, jobs=jobs)
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield Served(f"http://127.0.0.1:{port}/", small.make_token("fuzz", "admin"), known)
    server.should_exit = True
    thread.join(20)


def test_no_request_fails_and_every_answer_is_described(served: Served) -> None:
    asked: dict[str, int] = {}
    for found in served.schema.get_all_operations():
        assert isinstance(found, Ok)
        operation = found.ok()
        if operation.path.endswith("/events") or operation.label == "POST /api/v1/ratings":
            continue  # a stream; documents, below
        known = {
            name: value for prefix, value in served.known.items() if operation.path.startswith(f"{prefix}{{")
            for name in ("id", "slug") if f"{{{name}}}" in operation.path
        }  # fmt: skip
        ways = operation.as_strategy() | operation.as_strategy(GenerationMode.NEGATIVE)
        if known:
            ways |= operation.as_strategy(path_parameters=known)

        @settings(OPTIONS, max_examples=10)
        @given(ways)
        def ask(case: Case[Any]) -> None:
            served.ask(case)
            asked[case.operation.label] = asked.get(case.operation.label, 0) + 1

        ask()
    assert len(asked) > 20
    assert sum(asked.values()) > 150


def test_no_broken_rating_makes_publishing_fail(served: Served) -> None:
    operation = served.schema["/api/v1/ratings"]["POST"]

    @settings(OPTIONS, max_examples=60)
    @given(broken_documents() | ANYTHING)
    def publish(body: Any) -> None:
        served.ask(operation.Case(body=body, media_type="application/json"))

    publish()
