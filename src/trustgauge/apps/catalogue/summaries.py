"""Services and ratings as the API lists them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import RowMapping

if TYPE_CHECKING:
    from trustgauge.apps.catalogue.store import CatalogueStore


def service_facts(store: CatalogueStore, slug: str) -> dict[str, Any] | None:
    """A service with all its ratings; None if there is none of this name."""
    found = store.service(slug)
    if found is None:
        return None
    return {**service_summary(found), "ratings": [rating_summary(row) for row in store.history(slug)]}


def service_summary(row: RowMapping) -> dict[str, Any]:
    """What lists of the API hold of a service."""
    names = ("slug", "key", "name", "kind", "route", "provider")
    return {**{name: row[name] for name in names}, "testing_forbidden": bool(row["testing"])}


def rating_summary(row: RowMapping) -> dict[str, Any]:
    """What lists of the API hold of a rating."""
    data = json.loads(row["card"])
    names = ("id", "run", "hash", "service", "version", "task", "method", "rule", "dimension", "state")
    dates = ("tested", "expires", "assessor", "relationship", "latest")
    return {
        **{name: row[name] for name in names},
        "languages": row["languages"].split(),
        "level": row["level"] or None,
        "outcome": data["outcome"],
        "headline": data["headline"],
        "certainty": row["certainty"],
        **{name: row[name] for name in dates},
        "withdrawn": row["withdrawn"] or None,
        "supersedes": row["supersedes"] or None,
    }
