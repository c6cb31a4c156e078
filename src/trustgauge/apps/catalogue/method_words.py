"""The words of the pages; what the methods say of themselves and their levels, there and in filters.

And what lists call a service, a rule and the values that they narrow by, and a page an inferred chain.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import RowMapping

from trustgauge import plugins
from trustgauge.apps.catalogue.identity import slug_of
from trustgauge.data import package_table
from trustgauge.errors import Fault, PlanError, TrustgaugeError
from trustgauge.methods import method_fault
from trustgauge.reports import numbers, sentences
from trustgauge.reports.components import LevelWords, view_by_name

if TYPE_CHECKING:
    from trustgauge.run.chain_composition import ComposedChain

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


MOST_WAYS = 3
"""Ways there and back that are named of a service."""
FILTERS: Mapping[str, str] = WORDS["filters"]


def rule_words(rule: str) -> str:
    """A rule, as it stands behind a rating."""
    return str(WORDS["by-rule"].get(rule, f"rule {rule}"))


def service_words(service: RowMapping, slug: str) -> str:
    """What a service is: its kind, the languages of its ways, and its address if its key has several."""
    from trustgauge.services import languages

    ways = [", ".join(languages.name(code) for code in way.split(">")) for way in service["route"].split()]
    through = f" through {'; '.join(ways[:MOST_WAYS])}" if ways else ""
    more = f" and {len(ways) - MOST_WAYS} more" if len(ways) > MOST_WAYS else ""
    number = "" if slug == slug_of(service["key"]) else f" · {slug}"
    return f"{service['kind']}{through}{more}{number}"


def value_words(name: str, value: str) -> str:
    """A value that a filter may have."""
    if name == "task":
        return TASKS.get(value, value)
    if name == "level":
        return level_names().get(value, value)
    if name == "rule":
        return rule_words(value)
    if name == "language":
        from trustgauge.services import languages

        return languages.name(value)
    return value.replace("-", " ") if name == "dimension" else value


def filter_words(name: str, value: str) -> str:
    """A filter that is set, in words."""
    match name:
        case "q":
            return f"“{value}”"
        case "order":
            return "best level first"
        case "earlier":
            return "earlier ratings too"
        case "certainty":
            return f"certainty at least {value} %"
        case "age":
            return f"tested within {value} days"
    return f"{FILTERS.get(name, name).lower()}: {value_words(name, value)}"


def chain_facts(composed: ComposedChain, ratings: Path) -> dict[str, Any]:
    """An inferred chain as its page shows it."""
    one = composed.inference

    def words_of(level: str | None) -> str:
        return level_names().get(level, level) if level else "no level"

    def said(levels: Sequence[str]) -> str:
        return " or ".join(map(words_of, levels))

    alone = "" if one.fits_steps else "By the levels alone: "
    published = ""
    if one.published != one.levels:
        published = f"The published table gives {said(one.published)}."
    return {
        "names": composed.names,
        "links": [
            {
                "service": link.service,
                "words": words_of(link.level),
                "state": link.state,
                "id": entry.rating["id"],
            }
            for link, entry in zip(composed.links, composed.entries, strict=True)
        ],
        "levels": said(one.levels),
        "state": one.state,
        "words": WORDS["chains"][one.way],
        "certainty": numbers.certainty(one.certainty),
        "steps": [
            f"{alone}{said(step.first)}, then {words_of(step.second)}, gives {said(step.result)}."
            for step in one.steps
        ],
        "published": published,
        "must_test": [
            sentences.reason(reason) for reason in (*composed.notes, *composed.limits, *one.must_test)
        ],
        "measured": _measured(composed),
        "price": price(composed, ratings),
    }


def _measured(composed: ComposedChain) -> dict[str, Any] | None:
    """A kept test of a whole chain as its page shows it."""
    if composed.measured is None:
        return None
    rating, against = composed.measured.rating, composed.contradiction
    level = str(rating["overall"]["level"])
    return {
        "id": rating["id"],
        "words": level_names().get(level, level),
        "state": rating["state"],
        "certainty": numbers.certainty(rating["overall"]["certainty"].get(level, 0.0)),
        "tested": rating["tested"],
        "agrees": composed.agrees,
        "against": sentences.reason(against) if against else "",
    }


def price(composed: ComposedChain, ratings: Path) -> str:
    """What a test of a whole chain would take.

    Only the calls if it is too large to be computed for a page, or its services cannot be asked from here.
    """
    from trustgauge.run.chain_composition import chain_forecast

    calls, forecast = composed.inference.calls, chain_forecast(composed, ratings)
    if forecast is None:
        return f"A test of the whole chain takes about {calls:,} calls." if calls else ""
    if not forecast.calls:
        return "All answers for a test of the whole chain are stored already: it sends no requests."
    price = f"{forecast.calls:,} calls, {numbers.span(forecast.seconds)}, {numbers.usd(forecast.usd)}"
    unknown = " Services whose price is not known are not included." if forecast.unpriced else ""
    return f"A test of the whole chain takes {price}.{unknown}"
