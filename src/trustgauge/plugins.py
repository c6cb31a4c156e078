"""Plug-ins: built-in and third-party plug-ins load through entry points.

Groups: `trustgauge.services`, `.methods`, `.views`, `.judges`, `.issues`, `.engines`, `.stores`, `.exports`,
`.importers`, `.commands`.
"""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from trustgauge.errors import Fault, PlanError

GROUPS = (
    "services",
    "methods",
    "views",
    "judges",
    "issues",
    "engines",
    "stores",
    "exports",
    "importers",
    "commands",
)


@cache
def _installed() -> dict[str, dict[str, EntryPoint]]:
    """The plug-ins of each group. To find them the metadata of every package is read, so all come at once."""
    found = entry_points()
    return {
        group: {point.name: point for point in found.select(group=f"trustgauge.{group}")} for group in GROUPS
    }


def names(group: str) -> tuple[str, ...]:
    """Names of all plug-ins of a group, sorted. Imports none of them."""
    return tuple(sorted(_installed()[group]))


def load(group: str, name: str, place: str = "") -> Any:
    """Import exactly the plug-in asked for.

    Raises PlanError with the nearest valid name if there is none; `place` says where in the
    plan the name stands.
    """
    found = _installed()[group].get(name)
    if found is None:
        kind = group.removesuffix("s")
        raise PlanError((unknown(place or group, kind, name, names(group)),))
    return found.load()


def unknown(place: str, kind: str, name: str, valid: tuple[str, ...]) -> Fault:
    """The fault for a word that is not one of the valid ones, with the nearest valid word."""
    near = get_close_matches(name, valid, n=1, cutoff=0.5)
    do = f'Did you mean "{near[0]}"?' if near else ""
    return Fault(place, f'no {kind} "{name}"', must="one of: " + ", ".join(valid), do=do)
