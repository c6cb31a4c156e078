"""Stock sentences with which answers open and end, and which say nothing of what was asked (social-bias 3.6).

Weights learned of whole answers take "ask me more any time" for part of a refusal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from trustgauge.methods.social_bias.judges.clauses import STOPS
from trustgauge.methods.social_bias.judges.lexer import stock_sentences

Parts = Sequence[tuple[str, tuple[str, ...]]]
"""Marks and words of each part of an answer."""
MOST_WORDS = 14  # of such a sentence
ENDS = 3  # sentences at the end of an answer that may be such


@lru_cache(maxsize=1)
def _stock() -> re.Pattern[str]:
    """The pattern of a stock sentence of either language."""
    return re.compile("|".join((*stock_sentences("en"), *stock_sentences("zh"))))


def without_closers(parts: Parts) -> Parts:
    """The parts without stock sentences at the start and the end; all of them if nothing else is said."""
    sentences = list(_sentences(parts))
    if len(sentences) < 2:
        return parts
    first = 1 if _is_stock(sentences[0]) else 0
    last = len(sentences)
    while last > max(first, len(sentences) - ENDS) and _is_stock(sentences[last - 1]):
        last -= 1
    if first == last or (not first and last == len(sentences)):
        return parts
    return [part for sentence in sentences[first:last] for part in sentence]


def _sentences(parts: Parts) -> Iterator[list[tuple[str, tuple[str, ...]]]]:
    sentence: list[tuple[str, tuple[str, ...]]] = []
    for number, part in enumerate(parts, 1):
        sentence.append(part)
        if number == len(parts) or not part[0].endswith(","):
            yield sentence
            sentence = []


def _is_stock(sentence: Parts) -> bool:
    words = [
        word.strip()
        for marks, of in sentence
        for mark, word in zip(marks, of, strict=True)
        if mark not in STOPS
    ]
    if not words or len(words) > MOST_WORDS:
        return False
    chinese = not words[0].isascii()
    return _stock().fullmatch(("" if chinese else " ").join(words)) is not None
