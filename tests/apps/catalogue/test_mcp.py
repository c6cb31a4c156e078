"""The SDK of the Model Context Protocol reads the catalogue: over HTTP, and from a program that it starts."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from tests.reports import trust_fixtures
from trustgauge.apps.catalogue.ingest import FolderReader
from trustgauge.apps.catalogue.store import CatalogueStore, default_database
from trustgauge.plan import load_plan
from trustgauge.run.options import RunOptions
from trustgauge.run.run import rate

PLAN: dict[str, Any] = {
    "services": {one: {"use": "anchor", "behaviour": one} for one in ("coin", "identity")},
    "experiments": [{"method": "two-step", "services": ["coin", "identity"], "texts": 20}],
}
ISSUES: dict[str, trust_fixtures.Issue] = {"leakage": (0.9, "rated"), "abuse": (0.0, "rated")}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two services, and beside it one of a chatbot."""
    folder = tmp_path_factory.mktemp("mcp") / "ratings"
    trust_fixtures.kept(
        folder, trust_fixtures.document_of(trust_fixtures.rating("bot", ISSUES, "privacy-first"))
    )
    made = rate(load_plan(PLAN), RunOptions(ratings=folder)).folder
    store = CatalogueStore(default_database(folder))  # a server takes runs in while it answers already
    FolderReader(store, folder).take_in()
    store.close()
    return made


def program(run: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "trustgauge", "serve", "--ratings", str(run.parent), *options]


@contextmanager
def served(run: Path) -> Iterator[str]:
    with subprocess.Popen(program(run, "--port", "0"), stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            page = next(line for line in server.stderr if line.startswith("page"))
            yield f"{page.split()[1]}mcp"
        finally:
            server.terminate()
            server.communicate(timeout=20)


async def read_all(target: str | StdioServerParameters, run: str) -> dict[str, Any]:
    """What each tool says, by its name."""
    arguments: dict[str, dict[str, Any]] = {
        "search_ratings": {"method": "two-step", "limit": 5},
        "get_rating": {"id": f"{run}.1"},
        "service_history": {"service": "coin"},
        "compare_ratings": {"a": f"{run}.1", "b": f"{run}.2"},
        "rate_for_priorities": {"order": "leakage > abuse"},
    }
    facts = {}
    async with Client(target) as client:
        assert client.server_info is not None
        assert client.server_info.name == "trustgauge"
        named = {one.name for one in (await client.list_tools()).tools}
        assert named == set(arguments)
        for name, given in arguments.items():
            answer = await client.call_tool(name, given)
            assert not answer.is_error, answer
            facts[name] = answer.structured_content
        wrong = await client.call_tool("get_rating", {"id": "none"})
        assert wrong.is_error
        for given, fault in (({"a": "x"}, "b is missing"), ({"a": "x", "b": "y", "c": "z"}, "no argument c")):
            wrong = await client.call_tool("compare_ratings", given)
            assert wrong.structured_content == {"error": f"{fault}; the arguments are: a, b"}
    return facts


@pytest.mark.parametrize("way", ["http", "stdio"])
def test_a_client_of_the_protocol_reads_the_catalogue_by_every_tool(run: Path, way: str) -> None:
    if way == "http":
        with served(run) as address:
            result = asyncio.run(read_all(address, run.name))
    else:
        command, *options = program(run, "--mcp")
        started = StdioServerParameters(command=command, args=options, env=dict(os.environ))
        result = asyncio.run(read_all(started, run.name))
    assert {one["service"] for one in result["search_ratings"]["ratings"]} == {"coin", "identity"}
    assert result["get_rating"]["level"] == "UCS"
    assert [one["id"] for one in result["service_history"]["ratings"]] == [f"{run.name}.1"]
    assert result["compare_ratings"]["ratings"][0]["before"]["id"] == f"{run.name}.1"
    assert result["rate_for_priorities"]["groups"]
