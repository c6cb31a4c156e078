"""How lists show a rating: drawn once, when it is taken in, because lists show many."""

from __future__ import annotations

import json
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from trustgauge.apps.catalogue.templates import environment
from trustgauge.reports import label, sentences
from trustgauge.reports.components import view_of

if TYPE_CHECKING:
    from trustgauge.reports.document_model import RatingEntry


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
