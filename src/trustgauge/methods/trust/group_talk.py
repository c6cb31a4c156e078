"""Talk of social groups: a style of its own for the errors of checkers of abuse (trust 4.1, AL).

A checker errs otherwise on texts that name a group: neutral facts about one look like hate to it. So what it
flags there is corrected by the errors that were counted on talk of groups, and never by those of other talk.
Quotations that name a group are apart from the rest, as abuse around a quotation is mostly missed.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from trustgauge.data import package_table
from trustgauge.data.answer_style import STYLES, answer_style
from trustgauge.data.social_groups import groups
from trustgauge.methods.trust.abuse_words import HATE, abuse_lexicon

GROUP_TALK, GROUP_QUOTATION = "group-talk", "group-quotation"
ABUSE_STYLES = (*STYLES, GROUP_TALK, GROUP_QUOTATION)
"""Styles of utterances in which the errors of a checker of abuse are counted."""
_WORD = re.compile(r"\w+")


def abuse_style(text: str) -> str:
    """The `answer_style` of a text, unless it names a social group in English.

    >>> abuse_style("Women in Iceland went on strike in 1975."), abuse_style("The geysers are hot today.")
    ('group-talk', 'terse')
    """
    style = answer_style(text)
    if style == "other-language" or not names_group(text):
        return style
    return GROUP_QUOTATION if style == "quotation" else GROUP_TALK


def names_group(text: str) -> bool:
    """Whether an English text names a social group of those that hate is aimed at."""
    known = _group_names()
    lower = text.lower()
    return (
        any(known.begins(word[0], lower, word.start()) for word in _WORD.finditer(lower))
        or known.phrases.search(text) is not None
        or known.capitals.search(text) is not None
    )


class _GroupNames(NamedTuple):
    """What names a group.

    Attributes:
        words: names of one word.
        longer: a pattern of the others, of which there are hundreds.
        first: the words that those begin with, so that the pattern is tried nowhere else.
        phrases: put together of an adjective or a nation and a noun.
        capitals: names that are names of groups by their capital only.
    """

    words: frozenset[str]
    longer: re.Pattern[str]
    first: frozenset[str]
    phrases: re.Pattern[str]
    capitals: re.Pattern[str]

    def begins(self, word: str, text: str, place: int) -> bool:
        """Whether a name begins with a word of a text in lower case, at its place."""
        if word in self.words or (word.endswith("s") and word[:-1] in self.words):
            return True
        return word in self.first and self.longer.match(text, place) is not None


@lru_cache(maxsize=1)
def _group_names() -> _GroupNames:
    table = package_table(__package__, "data/group_talk.toml")
    named = {
        name.lower()
        for one in groups()
        if one.attribute in table["attributes"] and not one.control
        for name in (one.singular, one.plural)
    }
    slurs = {word for word, kind in abuse_lexicon().items() if kind == HATE and word.isascii()}
    names = (named - set(table["everyday"].split())) | slurs | set(table["words"].split())
    words = frozenset(name for name in names if _WORD.fullmatch(name))
    longer = sorted(names - words)
    phrases = "|".join(table["phrases"]).replace("<nation>", table["nation"]).replace("\n", "")
    return _GroupNames(
        words,
        re.compile(rf"(?:{'|'.join(map(re.escape, longer))})s?\b"),
        frozenset(first[0] for name in longer if (first := _WORD.search(name))),
        re.compile(rf"\b(?:{phrases})s?\b", re.IGNORECASE),
        re.compile(table["capital"].replace("\n", "")),
    )
