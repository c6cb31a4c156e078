"""Shipped data that several methods use: attributes, word lists, groups; each file has a data card."""

from __future__ import annotations

import re
from collections.abc import Sequence

FORMULA = "=+-@＝＋－＠\t\r"
"""Signs with which a spreadsheet begins a formula: some programs take the full-width ones, too."""

# Scripts written without spaces: word boundaries mean nothing there.
SPACELESS = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")


def article(word: str) -> str:
    """The indefinite article by sound, told from the spelling.

    >>> [article(word) for word in ("engineer", "hourly", "university", "umpire", "one-off", "Ukrainian")]
    ['an', 'an', 'a', 'an', 'a', 'a']
    """
    lower = word.lower()
    if re.match(r"hour|honest|honou?r|heir|lgb", lower):
        return "an"
    if re.match(r"uni([^nmd]|$)|us[aeiu]|uti|uk|uga|uy|us\b|eu|ewe|one\b|once|ubiq|uran|urol|u-", lower):
        return "a"
    return "an" if lower[:1] in tuple("aeiou") else "a"


def word_pattern(words: Sequence[str], ending: str = "") -> str:
    """A regular expression, in Python's dialect and Rust's, for any of `words` as a whole word.

    Args:
        words: the words, at least one; longer ones are tried first.
        ending: pattern allowed after the word, such as a plural ending.
    """
    ordered = sorted(words, key=lambda word: (-len(word), word))
    return "|".join(_bounded(word, ending) for word in ordered)


def _bounded(word: str, ending: str) -> str:
    body = re.escape(word)
    if SPACELESS.search(word):
        return body
    left = r"\b" if re.match(r"\w", word) else ""
    right = r"\b" if re.search(r"\w$", word) else ""
    return f"{left}{body}{ending}{right}"
