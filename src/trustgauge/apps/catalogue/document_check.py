"""What the catalogue takes in: documents of the right form, with plain ids, that can be shown."""

from __future__ import annotations

import re
from datetime import date
from typing import Any, cast

from trustgauge.errors import CatalogueError
from trustgauge.records import canonical
from trustgauge.reports import document_model, label, sentences
from trustgauge.reports.document_model import RunDocument
from trustgauge.reports.html import report

LARGEST = 24_000_000
"""Bytes of a document that is taken in."""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,70}(\.[0-9]{1,6})?")


def check_document(document: Any) -> RunDocument:
    """The document, if it has the form of a `rating.json`, plain ids, and can be shown.

    Raises:
        CatalogueError: it has not.
    """
    if found := document_model.misfit(document):
        raise CatalogueError("this is not a rating.json", must="the document of a run", got=found)
    checked = cast("RunDocument", document)
    if found := document_model.contradiction(checked):
        raise CatalogueError("this rating.json contradicts itself", must="levels as rated", got=found)
    run = checked["run"]["id"]
    names = [rating["id"] for rating in checked["ratings"]]
    if not all(_ID.fullmatch(one) for one in (run, *names)) or len(set(names)) < len(names):
        raise CatalogueError(
            "an id cannot stand in an address", must="letters, digits and hyphens, each id once"
        )
    if not all(one == run or one.startswith(f"{run}.") for one in names):
        raise CatalogueError("a rating's id is not that of its run", must=f"{run}, or {run}.1 and so on")
    try:
        if len(canonical(document).encode()) > LARGEST:  # lone surrogates cannot be encoded, NaN not written
            raise CatalogueError("the document is too large", must=f"at most {LARGEST:,} bytes")
    except (ValueError, RecursionError):
        raise CatalogueError("the document contains values that JSON or UTF-8 cannot represent") from None
    for rating in checked["ratings"]:
        for name in ("tested", "expires"):
            _check_date(name, rating[name])
    _try_out(checked)
    return checked


def _check_date(name: str, value: str) -> None:
    try:
        date.fromisoformat(value)
    except ValueError:
        raise CatalogueError(f"{name} is not a date", must="YYYY-MM-DD") from None


def _try_out(document: RunDocument) -> None:
    """Show every rating once: what no page can show is not taken in."""
    try:
        report(document)
        for rating in document["ratings"]:
            label.badge(rating)
            sentences.headline(rating)
    except Exception as error:  # templates and figures fail in ways of their own
        raise CatalogueError("details that cannot be shown", got=type(error).__name__) from error
