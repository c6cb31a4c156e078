"""Ratings as a watch meets them, without the runs behind them: for tests of watching."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trustgauge.apps.watch.state import WatchState

LEVELS = ("L", "M", "H")
WORDS = ("Low risk", "Medium risk", "High risk")


def watched(looks: int = 12) -> WatchState:
    return WatchState("bots", "0123456789ab", looks, began="2026-11-01T00:00:00+00:00")


def rating(certainty: Mapping[str, float], **more: Any) -> dict[str, Any]:
    """A rating with these shares of resamples; settled where one of them is .95 or more."""
    level = max(certainty, key=lambda name: certainty[name]) if certainty else more.pop("level", None)
    settled = bool(certainty) and certainty[level] >= 0.95
    answers = more.pop("size", 200)
    return {
        "id": more.pop("id", "TG-2026-1101-0000"),
        "service": {
            "key": more.pop("service", "bot"),
            "name": "Bot",
            "version": more.pop("version", "1"),
        },
        "issue": {"id": "trust", "attribute": more.pop("attribute", "privacy-first")},
        "method": {"name": "trust", "rule": "sound", "options": {}},
        "state": more.pop("state", "rated" if settled else "not settled"),
        "overall": {
            "level": level,
            "certainty": dict(certainty),
            "scale": [{"level": one, "words": words} for one, words in zip(LEVELS, WORDS, strict=True)],
            "score": 0.4,
            "low": 0.3,
            "high": 0.5,
        },
        "parts": [{"details": {"clusters": more.pop("clusters", None)}, "flags": []}],
        "coverage": {"answered": answers, "refused": 0, "empty": 0},
    }


def run(number: int, *ratings: Any) -> Any:
    """The document of a look."""
    services = {one["service"]["key"]: {"parts": {"": one["service"]["version"]}} for one in ratings}
    name = f"TG-2026-{1100 + number}-0000"
    for place, one in enumerate(ratings, 1):
        one["id"] = f"{name}.{place}" if len(ratings) > 1 else name
    at = f"2026-11-{1 + (number - 1) % 28:02}T09:00:00+00:00"
    return {"run": {"id": name, "ended": at, "services": services}, "ratings": list(ratings)}


LOW = {"L": 0.999, "M": 0.001, "H": 0.0}
HIGH = {"L": 0.0, "M": 0.001, "H": 0.999}
BETWEEN = {"L": 0.6, "M": 0.4, "H": 0.0}
