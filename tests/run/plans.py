"""Plans against a local server, for tests of whole runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tests.servers import Request, Response, toy_translation
from trustgauge.run.options import KeysOf, Pending, lookup_in, pending_batches
from trustgauge.run.probe_batches import Probes
from trustgauge.run.targets import Target


def translator_plan(
    url: str, *, texts: int = 40, via: tuple[str, ...] = ("es",), **more: Any
) -> dict[str, Any]:
    """A round trip through a server that is told the draw, so that every call can be told apart."""
    return {
        "name": "test",
        "seed": 11,
        "retest": 0,
        "services": {
            "mine": {
                "use": "round-trip",
                "via": list(via),
                "translator": {
                    "use": "http",
                    "url": url,
                    "request": {"q": "{text}", "draw": "{draw}", "source": "{source}", "target": "{target}"},
                    "response": "translatedText",
                    **more.pop("service", {}),
                },
            }
        },
        "experiments": [
            {"method": "two-step", "services": ["mine"], "texts": texts, **more.pop("experiment", {})}
        ],
        **more,
    }


def faithful(request: Request) -> Response:
    """A translator that loses nothing (but through Turkish and Hindi)."""
    asked = request.json()
    return Response.json({"translatedText": toy_translation(asked["q"], asked["source"], asked["target"])})


def but_for_times(document: Any) -> Any:
    """A rating.json without what may differ between two runs of one plan: when, how long, killed."""
    run = {key: value for key, value in document["run"].items() if key not in TIMES}
    run["costs"] = {name: _untimed(cost) for name, cost in document["run"]["costs"].items()}
    ratings = []
    for rating in document["ratings"]:
        kept = {key: value for key, value in rating.items() if key not in (*TIMES, "tested")}
        kept["cost"] = _untimed(rating["cost"])
        kept["provenance"] = {k: v for k, v in rating["provenance"].items() if k not in TIMES}
        ratings.append(kept)
    return {"run": run, "ratings": ratings}


TIMES = ("started", "ended", "expires", "command", "sent", "uncertain")


def _untimed(cost: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in cost.items() if key not in ("seconds", "latency_median_ms")}


def pending(found: Sequence[Target], probes: Probes, present: KeysOf) -> list[Pending]:
    """Wanted minus present, subject by subject; a key that two subjects want is asked once."""
    return pending_totals(found, pending_batches(found, probes, lookup_in(present)))


def pending_totals(found: Sequence[Target], steps: Iterable[list[Pending]]) -> list[Pending]:
    """What is pending of all slices together, subject by subject."""
    rows: dict[int, list[Pending]] = {id(one): [] for one in found}
    for step in steps:
        for row in step:
            rows[id(row.target)].append(row)
    return [
        Pending(
            one,
            tuple(unit for row in rows[id(one)] for unit in row.units),
            sum(row.planned for row in rows[id(one)]),
            sum(row.kept for row in rows[id(one)]),
        )
        for one in found
    ]
