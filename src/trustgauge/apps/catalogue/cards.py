"""How lists show a rating: drawn once, when it is taken in, because lists show many.

And the columns that lists are filtered and ordered by.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from typing import Any

from trustgauge.apps.catalogue.queries import LANGUAGE_CODE, UNKNOWN
from trustgauge.apps.catalogue.templates import environment
from trustgauge.reports import label, sentences
from trustgauge.reports.components import view_of
from trustgauge.reports.document import certainty, levels
from trustgauge.reports.document_model import RatingEntry
from trustgauge.reports.sanitize import visible

DRAWING = 2
"""Counts changes of how cards look between two versions of trustgauge."""


@cache
def own_version() -> str:
    """The version that draws cards."""
    return f"{version('trustgauge')} {DRAWING}"


def card(rating: RatingEntry) -> dict[str, Any]:
    """What a list shows of a rating: two drawings, already escaped, and texts that are not."""
    drawn = environment().get_template("card.html.j2").module
    return {
        "by": own_version(),
        "pill": str(drawn.pill(rating)),  # type: ignore[attr-defined]
        "sure": str(drawn.sure(rating)),  # type: ignore[attr-defined]
        "issue": label.issue(rating),
        "audience": view_of(rating).audience(rating),
        "outcome": label.outcome(rating),
        "headline": sentences.headline(rating),
    }


def read_card(text: str) -> dict[str, Any]:
    """A card as it was kept."""
    facts: dict[str, Any] = json.loads(text)
    return facts


_OWN_TEXTS = ("sentences", "conversations")
"""Options of methods that name a table of texts."""


def columns(rating: RatingEntry) -> dict[str, Any]:
    """What lists and filters need of a rating."""
    order, level = levels(rating), rating["overall"]["level"]
    return {
        "version": visible(rating["service"]["version"])[:200],
        "task": visible(rating["service"]["task"] or "")[:20],
        "method": visible(rating["method"]["name"])[:80],
        "rule": visible(rating["method"]["rule"])[:20],
        "sound": int(rating["method"]["rule"] == "sound"),
        "dimension": visible(rating["overall"]["profile"] or rating["issue"]["attribute"])[:200],
        "languages": _languages(rating),
        "level": visible(view_of(rating).mark(rating, level) if level in order and level else "")[:80],
        "badness": order.index(level) if level in order and level else UNKNOWN,
        "state": visible(rating["state"])[:20],
        "certainty": certainty(rating["overall"]),
        "tested": rating["tested"][:10],
        "expires": rating["expires"][:10],
        "assessor": visible(rating["assessor"]["name"])[:200],
        "relationship": visible(rating["assessor"]["relationship"])[:20],
        "supersedes": visible(rating["supersedes"] or "")[:90],
    }


def _languages(rating: RatingEntry) -> str:
    """The languages that were tested, as codes between blanks: a translator's, or the method's.

    Nobody says which language texts of one's own are in.
    """
    options = rating["method"]["options"]
    is_own = any(options.get(name) for name in _OWN_TEXTS)
    found = [str(options.get("language", "" if is_own else "en"))]
    if rating["service"]["task"] == "translate":
        found += [code for part in rating["parts"] for code in part["key"].split(">")]
    codes = sorted({code for code in found if LANGUAGE_CODE.fullmatch(code)})
    return f" {' '.join(codes)} "


def utc(time: str) -> str:
    """A time in ISO 8601 as all of them are compared; "" for what is none.

    >>> utc("2026-11-28T10:00:00Z"), utc("soon")
    ('2026-11-28T10:00:00.000000+00:00', '')
    """
    try:
        moment = datetime.fromisoformat(time)
        return (
            (moment if moment.tzinfo else moment.replace(tzinfo=UTC))
            .astimezone(UTC)
            .isoformat(timespec="microseconds")
        )
    except (ValueError, OverflowError):
        return ""
