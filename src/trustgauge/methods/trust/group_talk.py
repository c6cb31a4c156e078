"""Talk of social groups: a style of its own for the errors of checkers of abuse (trust 4.1, AL).

A checker errs otherwise on texts that name a group: neutral facts about one look like hate to it. So what it
flags there is corrected by the errors that were counted on talk of groups, and never by those of other talk.
Quotations that name a group are apart from the rest, as abuse around a quotation is mostly missed.
"""

from __future__ import annotations

import re
from functools import lru_cache

from trustgauge.data import package_table
from trustgauge.data.answer_style import STYLES, answer_style
from trustgauge.data.social_groups import groups
from trustgauge.methods.trust.abuse_words import HATE, abuse_lexicon

GROUP_TALK, GROUP_QUOTATION = "group-talk", "group-quotation"
ABUSE_STYLES = (*STYLES, GROUP_TALK, GROUP_QUOTATION)
"""Styles of utterances in which the errors of a checker of abuse are counted."""


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
    return any(pattern.search(text) for pattern in _patterns())


@lru_cache(maxsize=1)
def _patterns() -> tuple[re.Pattern[str], ...]:
    told = package_table(__package__, "data/group_talk.toml")
    named = {
        name.lower()
        for one in groups()
        if one.attribute in told["attributes"] and not one.control
        for name in (one.singular, one.plural)
    }
    slurs = {word for word, kind in abuse_lexicon().items() if kind == HATE and word.isascii()}
    words = (named - set(told["everyday"].split())) | slurs | set(told["words"].split())
    every = [*told["phrases"], *sorted(map(re.escape, words))]
    anywhere = "|".join(every).replace("<nation>", told["nation"])
    return (
        re.compile(rf"\b(?:{anywhere})s?\b".replace("\n", ""), re.IGNORECASE),
        re.compile(told["capital"].replace("\n", "")),
    )
