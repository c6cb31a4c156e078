"""What lists and filters of the catalogue call a service, a rule, and the values that they narrow by."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import RowMapping

from trustgauge.apps.catalogue.identity import slug_of
from trustgauge.apps.catalogue.method_words import TASKS, WORDS, level_names

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
