"""The catalogue as files: the same pages, for any static host.

Pages are the bytes that a server sends, but for the list of ratings: it holds all of them, and a script of a
few lines filters it in place by `search.json`. Forms that need a server (two chosen ratings, chains, an order
without a script) are left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

from starlette.responses import JSONResponse

from trustgauge.apps.catalogue import exports, feed
from trustgauge.apps.catalogue.api_requests import openapi_text
from trustgauge.apps.catalogue.method_words import whole_methods
from trustgauge.apps.catalogue.queries import RatingQuery
from trustgauge.apps.catalogue.site import Site
from trustgauge.apps.catalogue.store import CatalogueStore
from trustgauge.apps.catalogue.summaries import rating_summary, service_facts
from trustgauge.apps.catalogue.templates import own_file
from trustgauge.errors import StoreError, TrustgaugeError
from trustgauge.records import canonical
from trustgauge.reports.document_model import document_schema
from trustgauge.store.folder import write_file

MOST = 100_000
"""Ratings in a frozen catalogue."""


def freeze(
    store: CatalogueStore,
    ratings: Path,
    to: Path,
    *,
    address: str = "",
    today: Callable[[], date] | None = None,
    show: Callable[[str], None] = lambda text: None,
) -> int:
    """Write the catalogue into a folder, and tell `show` how far that is. Returns how many files there are.

    Raises:
        StoreError: a file cannot be written.
    """
    site = Site(store, ratings, address=address, today=today, frozen=True)
    count = 0
    for name, data in frozen_files(site):
        path = to / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{path.parent} cannot be created", got=error.strerror or str(error)) from None
        write_file(path, data, private=False)
        count += 1
        show(f"Writing the catalogue: {count:,} files so far")
    return count


def frozen_files(site: Site) -> Iterator[tuple[str, str | bytes]]:
    """Names and contents of all files."""
    store = site.store
    yield "index.html", site.index({})
    for name, render in (("compare", site.compare), ("personal", site.personal), ("compose", site.compose)):
        yield f"{name}/index.html", render({})
    yield "chat/index.html", site.needs_server("A chat")
    yield "audit/index.html", site.needs_server("Labelling")
    yield "methods/index.html", site.methods()
    yield "about/index.html", site.about()
    for method in whole_methods():
        yield f"methods/{method}/index.html", site.method(method)
    for service in store.services():
        yield f"s/{service['slug']}/index.html", site.service(service["slug"])
    rows = store.list_ratings(RatingQuery(earlier="1"), site.today(), MOST).rows
    for row in rows:
        yield from _rating_files(site, row["id"])
    listed = [
        rating_summary(row)
        | {"name": row["name"], "kind": row["kind"], "testing_forbidden": bool(row["testing"])}
        for row in rows
        if row["latest"]
    ]
    yield from _data_files(site, [rating_summary(row) for row in rows if row["latest"]])
    yield "search.json", json.dumps(listed, ensure_ascii=False, separators=(",", ":"))
    yield "search.js", own_file("search.js")
    yield "feed.atom", feed.atom(store, site.address or "https://catalogue.invalid/")
    yield "openapi.json", openapi_text()
    yield "schemas/rating-1.json", json.dumps(document_schema())


def _data_files(site: Site, ratings: list[dict[str, Any]]) -> Iterator[tuple[str, bytes]]:
    """The data of the pages, as a server sends them: at their addresses with `.json`."""
    from trustgauge.run.profile_ratings import ProfileQuery, rate_for_profile

    yield "index.json", _json({"ratings": ratings, "next": None})
    yield "methods.json", _json(site.methods_facts())
    yield "about.json", _json(site.about_facts())
    for method in whole_methods():
        yield f"methods/{method}.json", _json(site.method_facts(method))
    for service in site.store.services():
        yield f"s/{service['slug']}.json", _json(service_facts(site.store, service["slug"]))
    with suppress(TrustgaugeError):  # nothing here to compare
        yield "compare.json", _json(site.comparison())
    with suppress(TrustgaugeError):
        yield "personal.json", _json(rate_for_profile(site.ratings, ProfileQuery(), site.today()))


def _json(content: Any) -> bytes:
    """As a server writes it."""
    return bytes(JSONResponse(content).body)


def _rating_files(site: Site, name: str) -> Iterator[tuple[str, str | bytes]]:
    found = site.store.rating(name)
    if found is None:
        return
    yield f"r/{name}/index.html", site.rating(name)
    yield f"r/{name}.json", canonical(found.document)
    evidence = site.store.evidence(found.row["run"]) if found.row["has_evidence"] else None
    rows = exports.evidence_rows(evidence, str(found.entry["service"]["key"]))
    for file in exports.export_files(found, evidence=rows is not None):
        export = exports.export_of(file)
        if export is None:
            continue
        try:
            data = exports.export(export, found, rows, site.today(), site.rating_address(name))
        except TrustgaugeError:
            continue  # a plug-in that has no form for this rating
        yield f"r/{name}/{file}", data
