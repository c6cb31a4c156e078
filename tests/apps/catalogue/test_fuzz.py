"""Requests made from the description of the API, fitting and not: none fails, all answers are described."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.apps.catalogue.documents import chatbots, two_step
from tests.apps.catalogue.test_pages import BOT, OPENAPI, TODAY, Client
from trustgauge.apps.catalogue.app import application
from trustgauge.apps.catalogue.jobs import JobQueue
from trustgauge.apps.catalogue.options import ServeOptions
from trustgauge.apps.catalogue.store import CatalogueStore

OPERATIONS = sorted((path, way) for path, ways in OPENAPI["paths"].items() for way in ways)
TEXT = st.text(max_size=30) | st.sampled_from(
    [BOT, "bot", "", "\0", "..", "%", "0", "-1", "9" * 30, "ﷺ" * 20]
)
LEAF = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT
ANYTHING = st.recursive(
    LEAF, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=6
)


def values(schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """What fits a schema of the description, and now and then anything."""
    if "$ref" in schema:
        known = OPENAPI["components"]["schemas"].get(schema["$ref"].rpartition("/")[2])
        return values(known) if known else st.sampled_from([DOCUMENT]) | ANYTHING
    if "enum" in schema:
        return st.sampled_from(schema["enum"]) | TEXT
    if "anyOf" in schema or "oneOf" in schema:
        return st.one_of(*map(values, schema.get("anyOf", schema.get("oneOf"))))
    kind = schema.get("type", "any")
    if isinstance(kind, list):
        return st.one_of(*(values({**schema, "type": one}) for one in kind))
    fitting: dict[str, st.SearchStrategy[Any]] = {
        "string": TEXT,
        "integer": st.integers(),
        "number": st.floats(allow_nan=False),
        "boolean": st.booleans(),
        "null": st.none(),
        "array": st.lists(values(schema.get("items", {})), max_size=3) if kind == "array" else st.nothing(),
        "object": st.fixed_dictionaries(
            {}, optional={name: values(one) for name, one in schema.get("properties", {}).items()}
        )
        if kind == "object"
        else st.nothing(),
    }
    return fitting.get(kind, ANYTHING) | ANYTHING


@st.composite
def broken_documents(draw: st.DrawFn) -> Any:
    """A `rating.json` in which one value is another."""
    told = copy.deepcopy(DOCUMENT)
    place: Any = told
    while True:
        keys = list(place) if isinstance(place, dict) else range(len(place))
        key = draw(st.sampled_from(sorted(keys, key=str)))
        if isinstance(place[key], dict | list) and place[key] and draw(st.integers(0, 4)):
            place = place[key]
            continue
        place[key] = draw(ANYTHING)
        return told


DOCUMENT = two_step("TG-2026-1123-f022")


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, str, str, bytes | None]:
    """Path of the description, method, address and body of a request."""
    path, way = draw(st.sampled_from(OPERATIONS))
    told = OPENAPI["paths"][path][way]
    address, query = path, []
    for one in told.get("parameters", ()):
        if one["in"] == "path":
            value = str(draw(TEXT)) or "x"
            address = address.replace(f"{{{one['name']}}}", value.replace("?", ""))
        elif one["in"] == "query" and draw(st.booleans()):
            query.append(f"{one['name']}={quote(str(draw(values(one['schema']))), safe='')}")
    body = None
    if way == "post":
        schema = told.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
        shapes = values(schema) | (broken_documents() if path == "/api/v1/ratings" else st.nothing())
        body = json.dumps(draw(shapes)).encode("utf-8", "surrogatepass")
    return path, way, "?".join([address, *(["&".join(query)] if query else [])]), body


@pytest.fixture
def fuzzed(small: CatalogueStore, tmp_path: Path) -> Client:
    small.add(two_step(), actor="lab", is_checked=True)
    small.add(chatbots(), actor="lab", is_checked=True)
    options = ServeOptions(tmp_path, writes_per_minute=1_000_000, reads_per_minute=1_000_000)
    return Client(application(small, options, today=lambda: TODAY, jobs=JobQueue(small, "", tmp_path)))


def test_no_request_fails_and_every_answer_is_described(fuzzed: Client, small: CatalogueStore) -> None:
    token = {"authorization": f"Bearer {small.make_token('fuzz', 'admin')}"}

    @settings(
        max_examples=250,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    @given(requests())
    def ask(request: tuple[str, str, str, bytes | None]) -> None:
        path, way, address, body = request
        if path.endswith("/events"):
            return  # a stream
        told = fuzzed(address, way.upper(), body, **token)
        assert told.status < 500, (way, address, body, told.text[:300])
        described = OPENAPI["paths"][path][way]["responses"]
        # an address that holds a slash is another one
        assert str(told.status) in described or told.status == 404, (way, address, told.status)
        if told.status >= 400:
            assert told.headers["content-type"] == "application/problem+json"
            assert told.json()["status"] == told.status

    ask()
