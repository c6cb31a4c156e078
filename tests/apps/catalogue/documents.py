"""Documents for the tests of the catalogue, changed copies of those that the reports are tested with."""

from __future__ import annotations

import copy
from typing import Any

from tests.reports import fixtures, trust_fixtures
from trustgauge.reports.document import document


def two_step(run: str = "TG-2026-1122-7f3a", **changes: Any) -> dict[str, Any]:
    """The run of the demonstration; `changes` are of every rating: service, tested, rule, assessor, ..."""
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
        _change_service(told, rating, changes)
        rating["method"]["rule"] = changes.get("rule", rating["method"]["rule"])
        if "provisional" in changes:
            rating["details"]["provisional"] = changes["provisional"]
        if "assessor" in changes:
            rating["assessor"]["name"] = changes["assessor"]
        for name in ("tested", "expires", "supersedes"):
            if name in changes:
                rating[name] = changes[name]
    result: dict[str, Any] = told
    return result


def _change_service(told: Any, rating: Any, changes: dict[str, Any]) -> None:
    service = rating["service"]
    if "service" in changes:
        service["key"] = service["name"] = changes["service"]
    for name in ("talked_with", "version", "kind", "fingerprint", "place"):
        if name in changes:
            service[name] = changes[name]
    if "ways" in changes:
        told["run"]["services"][service["key"]] = {"parts": dict.fromkeys(changes["ways"], "f")}
