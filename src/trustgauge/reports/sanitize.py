"""Foreign text made harmless: what services answer and are called, for each grammar it enters.

Everything that comes from outside is text to show, never markup, never a command to a terminal,
never a formula. Escaping for HTML is done by the templates, which always escape. Names and facts
within sentences are kept short and formatted by kind.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

from trustgauge.data import guard
from trustgauge.reports import numbers

KEPT_INVISIBLE = frozenset("\u200c\u200d\u200e\u200f\u00ad")
"""Joiners and direction marks that ordinary writing in many scripts needs."""

_NEGATIVE = re.compile(r"-[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?", re.ASCII | re.IGNORECASE)
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()<>#|~!&])")
_LINK = re.compile(r"(?i)\b(https?|ftp|mailto|javascript|data|file)(:)|\b(www)(\.)")


NAME_LIMIT = 120
"""Characters of a name within a sentence."""


def visible(text: str, *, lines: bool = False) -> str:
    """`text` with every control character shown instead of sent.

    Control characters become their Unicode pictures (ESC is shown as U+241B); overrides of
    writing direction, lone surrogates and other invisible characters become their number in
    angle brackets. With `lines`, tabs and line ends are kept for a grammar that can bear them.
    """
    if text.isprintable():
        return text
    return "".join(_visible(char, lines) for char in text)


def _visible(char: str, lines: bool) -> str:
    if lines and char in "\n\t":
        return char
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if char in KEPT_INVISIBLE:
        return char
    if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"} or code & 0xFFFE == 0xFFFE:
        return f"‹U+{code:04X}›"
    return char


def short(text: str, limit: int) -> str:
    """At most `limit` characters of `text`, with an ellipsis when something was cut."""
    return text if len(text) <= limit else text[: max(0, limit - 1)].rstrip() + "…"


def excerpt(text: str, place: int, limit: int) -> str:
    """At most `limit` characters of a text on one line, those around a place, with an ellipsis at each cut.

    >>> excerpt("One moment please. The code, as far as I know, is 4821.", 50, 30)
    '…as far as I know, is 4821.'
    """
    whole, before = " ".join(text.split()), len(" ".join(text[:place].split()))
    first = min(before - limit // 4, len(whole) - limit + 1)
    if before <= limit // 2 or first <= 0:
        return short(whole, limit)
    start = whole.find(" ", first, first + limit // 4) + 1 or first  # not every language has spaces
    return short(f"…{whole[start:]}", limit)


def xml(text: str) -> str:
    """`text` for XML and SVG: visible, escaped, and legal in XML 1.0."""
    return escape(visible(text), quote=True)


def terminal(text: str) -> str:
    """`text` for a terminal: one line, nothing that moves a cursor or turns the writing direction."""
    return "".join(f"‹U+{ord(char):04X}›" if char in "\u200e\u200f" else char for char in visible(text))


def markdown(text: str) -> str:
    """`text` for a Markdown table cell: no markup, no link, no line end."""
    plain = _MARKDOWN.sub(r"\\\1", visible(text))
    return _LINK.sub(lambda found: "\u200b".join(filter(None, found.groups())), plain)


def cell(text: str) -> str:
    """`text` for a CSV cell: spreadsheets would run a leading `=`, `+`, `-` or `@` as a formula.

    A negative number, such as the answer of a scorer, is no formula.

    >>> cell("-0.5"), cell("-0.5+1"), cell("+49")
    ('-0.5', "'-0.5+1", "'+49")
    """
    shown = visible(text, lines=True)
    return shown if _NEGATIVE.fullmatch(shown) else guard(shown)


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


def count_with_noun(value: Any, singular: str, plural: str) -> str:
    """A number, or how many a list holds, with its noun: "1 set", "1,200 sets"."""
    said = _count(value)
    return f"{said} {singular if said == '1' else plural}"


def _count(value: Any) -> str:
    return numbers.count(len(value) if isinstance(value, list | tuple) else value)


_FORMATS: Mapping[str, Callable[[Any], str]] = {
    "certainty": numbers.certainty,
    "hundredths": lambda value: numbers.signed_number(100 * value, 0),
    "ratio": lambda value: f"{value:.1f}",
    "number": lambda value: f"{value:g}",
    "p": numbers.p_value,
    "count": _count,
    "signed": numbers.signed_number,
}


class FactWords(string.Formatter):
    """Formats `{share:percent}`, `{value:points}`, `{p:p}`, `{parts:list}`, `{levels:either}` and others.

    `{sets:set|sets}` counts: "1 set", "1,200 sets".
    """

    def __init__(self, facts: Mapping[str, object]) -> None:
        n = facts.get("n")
        self.n = n if isinstance(n, int) else 0

    def format_field(self, value: Any, format_spec: str) -> str:
        if "|" in format_spec:
            return count_with_noun(value, *format_spec.split("|"))
        if format_spec == "percent":
            return numbers.percent(value, self.n)
        if format_spec == "points":
            return numbers.points(value, n=self.n)
        if format_spec in ("list", "either"):
            many = value if isinstance(value, list | tuple) else [value]
            return listing(many, "and" if format_spec == "list" else "or")
        if format_spec in _FORMATS:
            return _FORMATS[format_spec](value)
        return name(str(value))
