"""Foreign text made harmless: what services answer and are called, for each grammar it enters.

Everything that comes from outside is text to show, never markup, never a command to a terminal,
never a formula. Escaping for HTML is done by the templates, which always escape.
"""

from __future__ import annotations

import re
import unicodedata
from html import escape

from trustgauge.data.words import FORMULA

KEPT_INVISIBLE = frozenset("\u200c\u200d\u200e\u200f\u00ad")
"""Joiners and direction marks that ordinary writing in many scripts needs."""

_FORMULA = re.compile(rf"\s*[{re.escape(FORMULA)}\n]")
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()<>#|~!&])")
_LINK = re.compile(r"(?i)\b(https?|ftp|mailto|javascript|data|file)(:)|\b(www)(\.)")


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

    Such cells get a leading apostrophe. Neither a full width nor blanks before it hide the sign.
    """
    shown = visible(text, lines=True)
    return "'" + shown if _FORMULA.match(shown) else shown
