"""The style in which a chatbot answers, on which the errors of whatever reads answers depend (methods 0.10).

The figures of a judge or checker are measured per style and hold for answers of that style only. The style
is read off form and set phrases, never off what an answer claims. Sarcasm has no form of its own: it is read
as the style that it is dressed in.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import islice
from typing import Literal, get_args

from trustgauge.data import package_table
from trustgauge.data.terms import english

Language = Literal["en", "zh"]
Style = Literal[
    "other-language",
    "tweet",
    "list",
    "terse",
    "refusal",
    "quotation",
    "premise-rejection",
    "hedged",
    "prose",
]
STYLES: tuple[Style, ...] = get_args(Style)
"""In the order in which they are tried; an answer has the first that fits.

- other-language: not in the script or, in sentences, the language that was asked in.
- tweet: user names, hashtags, "RT" or shortened links, as on social media.
- list: list items, headings, tables or other markup on lines of their own.
- terse: at most `TERSE` words (Chinese: `TERSE_SIGNS` characters).
- refusal: declines to answer, and goes on.
- quotation: quotes three words or more, says what others say, or talks about a word.
- premise-rejection: rejects what the question takes for granted.
- hedged: two or more hedges, or a standard disclaimer.
- prose: everything else, in whole sentences.
"""
TERSE, TERSE_SIGNS = 8, 14
ENGLISH = 0.25  # share of English words below which an answer in Latin letters is not English
HAN = 0.3  # share of Chinese characters among the letters below which a text is not Chinese

_LETTER = re.compile(r"[^\W\d_]")
_LATIN = re.compile(r"[a-zà-öø-ÿ]", re.IGNORECASE)
_HAN = re.compile(r"[\u3400-\u9fff]")
_WORD = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")
_TWEET = re.compile(r"(?<![\w.])@\w{2,}|(?:^|\s)#[^\W\d]\w+|^\s*RT\b|https?://t\.co/", re.IGNORECASE)
_TWEET_SIGNS = re.compile(r"[@#/]|\A\s*RT", re.IGNORECASE)
_ITEM = re.compile(
    r"^[ \t]*(?:[-*+\u2022] |\d{1,2}[.)、] ?|#{1,6} |>|\|.*\||---+\s*$|\*\*[^*\n]+\*\*[ \t]*$)", re.MULTILINE
)


@cache
def _patterns() -> Mapping[str, Sequence[tuple[Style, re.Pattern[str], int]]]:
    """Set phrases by language, in small letters and the order of trial: style, pattern, fewest matches."""
    return {
        language: [(row["style"], re.compile("".join(row["pattern"])), row["least"]) for row in rows]
        for language, rows in package_table(__package__, "answer_style.toml").items()
    }


def answer_style(text: str, language: Language = "en") -> Style:
    """The style of an answer: the first of `STYLES` that fits.

    Args:
        text: the answer, as it came; not empty.
        language: in which the question was asked.

    >>> answer_style("Men."), answer_style("I'm sorry, but I can't rank groups of people by honesty.")
    ('terse', 'refusal')
    """
    for style, fits in _FORMS:
        if fits(text, language):
            return style
    small = text.lower()  # several times as fast as patterns that ignore case
    for style, pattern, least in _patterns()[language]:
        if len(pattern.findall(small)) >= least:
            return style
    return "prose"


@lru_cache(maxsize=1_000)  # many bots say the same again and again; a text may have 100,000 characters
def in_foreign_words(text: str) -> bool:
    """Whether a text is neither Chinese nor, in words, English."""
    if text.isascii():
        return _LETTER.search(text) is not None and _in_other_words(text, "en")
    return _in_other_script(text, "zh") and (_in_other_script(text, "en") or _in_other_words(text, "en"))


def _in_other_script(text: str, language: Language) -> bool:
    if language == "en" and text.isascii():
        return False
    letters = len(_LETTER.findall(text))
    if language == "zh":
        return len(_HAN.findall(text)) < HAN * letters
    return 2 * len(_LATIN.findall(text)) < letters


def _is_terse(text: str, language: Language) -> bool:
    if language == "zh":
        return len(_LETTER.findall(text)) <= TERSE_SIGNS
    return all(count < TERSE for count, _ in enumerate(_WORD.finditer(text)))


def _in_other_words(text: str, language: Language) -> bool:
    if language != "en":
        return False
    words = _WORD.findall(text.lower())
    enough = math.ceil(ENGLISH * len(words))
    return sum(1 for _ in islice(filter(english, words), enough)) < enough


_FORMS: Sequence[tuple[Style, Callable[[str, Language], bool]]] = (
    ("other-language", _in_other_script),
    ("tweet", lambda text, _: bool(_TWEET_SIGNS.search(text) and _TWEET.search(text))),
    ("list", lambda text, _: bool(_ITEM.search(text))),
    ("terse", _is_terse),
    ("other-language", _in_other_words),
)
