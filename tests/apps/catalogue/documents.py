"""Documents for the tests of the catalogue, changed copies of those that the reports are tested with."""

from __future__ import annotations

import copy
from typing import Any

from tests.reports import fixtures, trust_fixtures
from trustgauge.reports.document import document


def two_step(run: str = "TG-2026-1122-7f3a", **changes: Any) -> dict[str, Any]:
    """The run of the demonstration; `changes` are of every rating: service, tested, level, assessor."""
    made, ratings = fixtures.demo()
    return _changed(document(made, ratings), run, changes)


def chatbots(run: str = "TG-2026-1122-c0de", **changes: Any) -> dict[str, Any]:
    """One bot, rated for two kinds of users."""
    issues: dict[str, trust_fixtures.Issue] = {
        "leakage": (0.9, "rated"),
        "abuse": (0.0, "rated"),
        "bias": (0.1, "rated"),
    }
    ratings = [
        trust_fixtures.rating("bot", issues, profile) for profile in ("privacy-first", "safe-language")
    ]
    return _changed(trust_fixtures.document_of(*ratings), run, changes)


def _changed(told: Any, run: str, changes: dict[str, Any]) -> dict[str, Any]:
    told = copy.deepcopy(told)
    told["run"]["id"] = run
    told["run"]["ended"] = changes.get("ended", told["run"]["ended"])
    several = len(told["ratings"]) > 1
    for number, rating in enumerate(told["ratings"], 1):
        rating["id"] = f"{run}.{number}" if several else run
        if "service" in changes:
            rating["service"]["key"] = rating["service"]["name"] = changes["service"]
        if "talked_with" in changes:
            rating["service"]["talked_with"] = changes["talked_with"]
        if "provisional" in changes:
            rating["details"]["provisional"] = changes["provisional"]
        if "assessor" in changes:
            rating["assessor"]["name"] = changes["assessor"]
        for name in ("tested", "expires", "supersedes"):
            if name in changes:
                rating[name] = changes[name]
    result: dict[str, Any] = told
    return result
