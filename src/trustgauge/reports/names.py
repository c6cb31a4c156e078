"""Foreign names and facts within sentences: visible, not endless, formatted by kind."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from typing import Any

from trustgauge.reports import numbers
from trustgauge.reports.sanitize import short, visible

NAME_LIMIT = 120
"""Characters of a name within a sentence."""


def name(text: str) -> str:
    """A foreign name within a sentence: visible and not endless."""
    return short(visible(text), NAME_LIMIT)


def listing(items: Sequence[object], last: str = "and") -> str:
    """Names as a list in words: "a, b and c"."""
    names = [
        " / ".join(name(str(each)) for each in item) if isinstance(item, list | tuple) else name(str(item))
        for item in items
    ]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {last} {names[-1]}" if names else "none"


class FactWords(string.Formatter):
    """Formats `{share:percent}`, `{value:points}`, `{p:p}`, `{parts:list}`, `{n:count}`, `{e:ratio}`."""

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self.n = facts.get("n") if isinstance(facts.get("n"), int) else 0

    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec == "percent":
            return numbers.percent(value, self.n or 0)
        if format_spec == "certainty":
            return numbers.certainty(value)
        if format_spec == "points":
            return numbers.points(value, n=self.n or 0)
        if format_spec == "hundredths":
            return numbers.signed_number(100 * value, 0)
        if format_spec == "ratio":
            return f"{value:.1f}"
        if format_spec == "p":
            return numbers.p_value(value)
        if format_spec == "count":
            return numbers.count(len(value) if isinstance(value, list | tuple) else value)
        if format_spec == "list":
            return listing(value if isinstance(value, list | tuple) else [value])
        return name(str(value))
