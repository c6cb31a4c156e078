"""Levels that are places in an order of systems, in words (causal 2.7)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trustgauge.reports import names
from trustgauge.reports.causal_phrases import RELATIVE_LEVEL
from trustgauge.reports.level_words import LevelWords

RatingDocument = Mapping[str, Any]


def relative_level(rating: RatingDocument, key: str | None) -> LevelWords:
    """The words of a level that is a place in an order of systems, best first."""
    order = [str(entry["level"]) for entry in rating["overall"]["scale"]]
    place = order.index(str(key)) + 1 if str(key) in order else 0
    told = RELATIVE_LEVEL["first" if place == 1 else "last" if place == len(order) else "middle"]
    facts = {"level": place or names.name(str(key)), "levels": len(order), "systems": _systems(rating)}
    return LevelWords(*(words.format(**facts) for words in (told.short, told.line, told.sentence)))


def _systems(rating: RatingDocument) -> str:
    orders = rating["details"].get("orders")
    told = [orders, *orders.values()] if isinstance(orders, Mapping) else []
    of = next((one["of"] for one in told if isinstance(one, Mapping) and one.get("of")), None)
    return f"{of} systems" if of else "systems"
