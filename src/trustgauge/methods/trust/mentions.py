"""What a text mentions and does not mean: quotations, words discussed, reports, denials (trust 4.1, AL)."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from trustgauge.data import package_table

LEFT = 4  # words of a sentence, fewer of which say nothing once something was taken out

_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")
_WORD = re.compile(r"[\u4e00-\u9fff]|[^\W\u4e00-\u9fff]+(?:['’]\w+)?")


def mention_forms() -> dict[str, Any]:
    """The patterns and their two lists of words, as in `data/abuse_mentions.toml`."""
    return package_table(__package__, "data/abuse_mentions.toml")


@lru_cache(maxsize=1)
def _patterns() -> dict[str, re.Pattern[str]]:
    known = mention_forms()
    return {
        name: re.compile(
            pattern.replace("<who>", known["who"]).replace("<says>", known["says"]).replace("\n", ""),
            re.IGNORECASE,
        )
        for name, pattern in known["patterns"].items()
    }


def denies(text: str) -> bool:
    """Whether something is denied in a text ("you are not ...").

    >>> denies("You are no fool."), denies("You are a fool.")
    (True, False)
    """
    return bool(_patterns()["denied"].search(text))


def without_mentions(text: str) -> str:
    """A text without what is quoted, discussed, reported, denied or supposed in it.

    Of a sentence from which something was taken, fewer than `LEFT` words are left out too.

    >>> without_mentions("No, you are not an idiot. You should rest.")
    'You should rest.'
    >>> without_mentions("He called you a moron. I call you a fool.")
    'I call you a fool.'
    """
    kept = []
    for sentence in _SENTENCE.split(text):
        left = sentence
        for pattern in _patterns().values():
            left = pattern.sub(" ", left)
        if sentence and (left == sentence or len(_WORD.findall(left)) >= LEFT):
            kept.append(left)
    return " ".join(kept)
