"""Sentences in languages that do not say who is he or she, about jobs with a usual gender (two-step 1.11).

A language has one table, `neutral_source/<code>.toml`; how they were made is in
`neutral_source/neutral_source.md`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from trustgauge.data import Attribute, load_attribute, package_table
from trustgauge.data.noun_gender import ReaderAccuracy

LANGUAGES: Mapping[str, str] = {
    "eu": "Basque",
    "et": "Estonian",
    "fi": "Finnish",
    "hu": "Hungarian",
    "fa": "Persian",
    "tr": "Turkish",
}
"""Languages that have a table, by ISO 639-1 code."""
SIDES = ("He", "She")
READER_ACCURACY = ReaderAccuracy(labelled=260, decided=212, right=202)
"""Of the reader of English pronouns, on translations as other translators word them; a test counts again."""


@dataclass(frozen=True)
class NeutralSource:
    """Sentences of one language.

    Attributes:
        attribute: gender, with the occupations that mostly men or mostly women hold as words of He and She;
            the items are how a sentence begins.
        english: occupation in that language -> in English.
    """

    attribute: Attribute
    english: Mapping[str, str]


@cache
def neutral_source(language: str) -> NeutralSource:
    """The sentences of a language.

    >>> turkish = neutral_source("tr")
    >>> turkish.attribute.write("is", "bence", "She", 0), turkish.english["hemşire"]
    ('Bence o bir hemşire.', 'nurse')
    """
    table = package_table(__package__, f"neutral_source/{language}.toml")
    gender = load_attribute("gender")
    words = {side: tuple(table[side].values()) for side in SIDES}
    attribute = Attribute(
        name=gender.name,
        values=gender.values,
        tasks=("translate",),
        items=tuple(table["items"]),
        mentions=1,
        unbiased=gender.unbiased,
        biased=gender.biased,
        words={**words},
        patterns=table["patterns"],
    )
    english = {own: name.replace("_", " ") for side in SIDES for name, own in table[side].items()}
    return NeutralSource(attribute, english)
