"""The words of the pages; what the methods say of themselves and their levels, there and in filters."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from trustgauge import plugins
from trustgauge.data import package_table
from trustgauge.errors import Fault, PlanError, TrustgaugeError
from trustgauge.methods import method_fault
from trustgauge.reports.components import LevelWords, view_by_name

WORDS: dict[str, dict[str, Any]] = package_table(__package__, "words.toml")
"""What the pages say, by table of `words.toml`."""
TASKS: Mapping[str, str] = WORDS["tasks"]


def plain(error: TrustgaugeError) -> str:
    """An error without names of files of this machine."""
    text = " ".join(f"{one.what}. {one.do}".strip() for one in error.faults) or error.what
    return f"{text[:1].upper()}{text[1:]}".rstrip(".") + "."


@cache
def why_broken(name: str) -> str:
    """Why the plug-in of a method cannot be shown, without names of files; "" if it can."""
    place = "methods"
    try:
        fault = method_fault(plugins.load(place, name), name, place)
        place = "views"
        view_by_name(name)
    except TrustgaugeError as error:
        return plain(error)
    except Exception as error:  # of a package that anybody may have written
        fault = Fault(place, f'the view of "{name}" cannot be used ({type(error).__name__})')
    return "" if fault is None else plain(PlanError((fault,)))


def whole_methods() -> list[str]:
    """The methods whose plug-ins can be shown, by name."""
    return [name for name in plugins.names("methods") if not why_broken(name)]


@cache
def level_names() -> dict[str, str]:
    """The levels that lists know by letters or numbers, in words first: "adds bias (BS)".

    A level that two methods call so has the words of both.
    """
    found: dict[str, list[str]] = {}
    for method in whole_methods():
        for level, words in view_by_name(method).messages.levels.get("levels", {}).items():
            found.setdefault(level, []).append(words.short)
    return {level: _level_name(level, list(dict.fromkeys(words))) for level, words in found.items()}


def _level_name(level: str, words: list[str]) -> str:
    """A level with the words of all methods that have it.

    >>> _level_name("L", ["Low risk", "lousy"]), _level_name("polite", ["polite"])
    ('Low risk or lousy (L)', 'polite')
    """
    said = " or ".join(words)
    return said if said.lower() == level.lower() else f"{said} ({level})"


@cache
def level_marks(level: str) -> frozenset[str]:
    """How lists write a level that a method calls so: "Low risk" for "L", "3 strong effect" for "3"."""
    found = {level}
    for method in whole_methods():
        words = view_by_name(method).messages.levels.get("levels", {}).get(level)
        if words is not None:
            found |= {words.short, f"{level} {words.short}"}
    return frozenset(found)


def method_facts(name: str, count: int) -> dict[str, Any]:
    """What a method says of itself."""
    kind = plugins.load("methods", name)
    view = view_by_name(name)
    scale = kind.scale
    known = view.messages.levels.get("levels", {})
    levels = [
        {
            "mark": level,
            "words": _level_words(known.get(level), words),
            "tone": f"l{1 + round(2 * place / max(1, len(scale.levels) - 1))}",
        }
        for place, (level, words) in enumerate(zip(scale.levels, scale.words, strict=True))
    ]
    fields = kind.model_fields
    return {
        "name": name,
        "version": kind.version,
        "paper": kind.paper,
        "doc": WORDS["methods"].get(name)
        or " ".join((kind.__doc__ or "").strip().split("\n\n")[0].split()).replace("`", ""),
        "tasks": ", ".join(TASKS.get(task, task) for task in kind.tasks),
        "levels": levels,
        "count": count,
        "settings": [
            (key, "" if field.is_required() else _default(field), field.description or "")
            for key, field in fields.items()
            if key not in ("method", "services")
        ],
    }


def _level_words(known: LevelWords | None, words: str) -> str:
    if known is None:
        return words
    return f"{known.short}: {known.line}" if known.line and "{" not in known.line else known.short


def _default(field: Any) -> str:
    value = field.get_default(call_default_factory=True)
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) < 60 else f"{text[:56]} …"
