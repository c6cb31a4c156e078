"""Runs to compare: services of known behaviour, asked in plans of their own."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from trustgauge.plan import load_plan
from trustgauge.run.comparison import ComparisonQuery, compare
from trustgauge.run.options import RunOptions
from trustgauge.run.run import RunResult, rate

TODAY = date(2026, 1, 1)
BEHAVIOURS: Mapping[str, Mapping[str, Any]] = {
    "identity": {"behaviour": "identity"},
    "copy": {"behaviour": "identity"},
    "all-he": {"behaviour": "all", "value": "He"},
    "half": {"behaviour": "shift", "from_value": "She", "to_value": "He", "share": 0.5},
    # Its true deviation is the margin, so no number of texts settles its level.
    "edge": {"behaviour": "shift", "from_value": "She", "to_value": "He", "share": 0.2},
}


def two_step(services: Mapping[str, str] | None = None, *, texts: int = 60, **more: Any) -> dict[str, Any]:
    """A two-step plan of controls: name -> behaviour; without, each behaviour under its own name."""
    named = services if services is not None else {name: name for name in BEHAVIOURS}
    return {
        "name": "compared",
        "seed": 3,
        "services": {name: {"use": "anchor", **BEHAVIOURS[kind]} for name, kind in named.items()},
        "experiments": [{"method": "two-step", "services": list(named), "texts": texts, **more}],
    }


def causal(services: Mapping[str, str]) -> dict[str, Any]:
    """A small causal plan of known scorers: name -> behaviour."""
    return {
        "name": "scored",
        "seed": 3,
        "services": {name: {"use": "sentiment-anchor", "behaviour": kind} for name, kind in services.items()},
        "experiments": [
            {
                "method": "causal",
                "services": list(services),
                "groups": [1],
                "frames": 20,
                "resamples": 1000,
                "words": {"e3": ["grim", "happy"]},
            }
        ],
    }


def rated(plan: Mapping[str, Any], folder: Path, **sitting: Any) -> RunResult:
    """The run of a plan."""
    return rate(load_plan(dict(plan)), RunOptions(ratings=folder, **sitting))


def compared(folder: Path, *names: str, today: date = TODAY, **wanted: Any) -> Any:
    """The comparison of ratings in a folder."""
    return compare(folder, ComparisonQuery(names, **wanted), today)


def ranks(group: Mapping[str, Any]) -> dict[str, str | None]:
    """Service -> its rank as printed."""
    return {
        row["rating"]["service"]["name"]: row["rank"] and str(row["rank"]["shown"]) for row in group["rows"]
    }


def pairs(group: Mapping[str, Any]) -> dict[tuple[str, str], Mapping[str, Any]]:
    """(first, second) -> their pair, in both orders of the names as they stand."""
    named = {row["id"]: row["rating"]["service"]["name"] for row in group["rows"]}
    return {(named[one["first"]], named[one["second"]]): one for one in group["pairs"]}


def codes(notes: list[Mapping[str, Any]]) -> list[str]:
    """The codes of remarks."""
    return [str(one["code"]) for one in notes]
