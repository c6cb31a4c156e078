"""Occupations as nouns with a gender, by language: for reading translations out of English (two-step 1.11).

A language has one table, `noun_gender/<code>.toml`: the masculine, feminine and common nouns of each
occupation, the words before them that show a gender, and sentences that simulated translators write. How
often a reader of these tables is right is in `noun_gender/accuracy.csv`; see `noun_gender/noun_gender.md`.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from trustgauge.data import package_table, package_text

Gender = Literal["masculine", "feminine", "common"]
GENDERS: tuple[Gender, ...] = ("masculine", "feminine", "common")
LANGUAGES: Mapping[str, str] = {"ca": "Catalan", "es": "Spanish", "pt": "Portuguese"}
"""Languages that have a table, by ISO 639-1 code."""


@dataclass(frozen=True)
class NounGender:
    """How occupations show a gender in a language.

    Attributes:
        language: ISO 639-1 code.
        nouns: occupation in English -> its nouns by gender, singular, in small letters. The first gender
            and the first noun are the usual ones; a common noun has the gender of the word before it.
        determiners: words that stand before a noun, by the gender they show: masculine, feminine, neutral;
            `epicene`: nouns for anybody, with which the noun behind agrees; `between`: words of no gender
            that may stand between such a word and the noun.
        marks: words elsewhere in a sentence that show the gender of somebody, such as the pronoun "ella".
        sentences: pattern of the attribute `gender` -> the sentence with {item}, the noun and its article.
        articles: indefinite, masculine and feminine.
    """

    language: str
    nouns: Mapping[str, Mapping[Gender, tuple[str, ...]]]
    determiners: Mapping[str, tuple[str, ...]]
    marks: Mapping[str, tuple[str, ...]]
    sentences: Mapping[str, str]
    articles: tuple[str, str]

    def phrase(self, item: str, gender: Gender) -> str:
        """An occupation with its indefinite article; both forms where the gender is to stay open.

        >>> [noun_gender("es").phrase("nurse", gender) for gender in GENDERS]
        ['un enfermero', 'una enfermera', 'un enfermero o una enfermera']
        """
        he, she = self.articles
        nouns = self.nouns[item]
        forms: tuple[Gender, Gender] = ("masculine", "feminine")
        first, last = (nouns["common" if next(iter(nouns)) == "common" else own][0] for own in forms)
        both = {"masculine": f"{he} {first}", "feminine": f"{she} {last}"}
        return both.get(gender, f" {OR[self.language]} ".join(both.values()))

    def write(self, pattern: str, item: str, gender: Gender) -> str:
        """The sentence of a pattern about a person of this occupation."""
        phrase = self.phrase(item, gender)
        return self.sentences[pattern].format(item=phrase, Item=phrase[:1].upper() + phrase[1:])


OR: Mapping[str, str] = {"ca": "o", "es": "o", "pt": "ou"}
"""The word that joins two nouns of which one may be meant."""


@dataclass(frozen=True)
class ReaderAccuracy:
    """How a reader of one of these tables does on labelled translations that its makers had not seen.

    Attributes:
        labelled: translations with the gender that people read.
        decided: those of which the reader says something.
        right: those of which it says what people say.
    """

    labelled: int
    decided: int
    right: int


@cache
def noun_gender(language: str) -> NounGender:
    """The table of a language; KeyError if it has none."""
    if language not in LANGUAGES:
        raise KeyError(language)
    table = package_table(__package__, f"noun_gender/{language}.toml")
    nouns = {
        item: {gender: tuple(words) for gender, words in of.items()}
        for item, of in sorted(table["items"].items())
    }
    return NounGender(
        language=language,
        nouns=nouns,
        determiners={gender: tuple(words) for gender, words in table["determiners"].items()},
        marks={gender: tuple(words) for gender, words in table["marks"].items()},
        sentences=table["sentences"],
        articles=(table["articles"]["masculine"], table["articles"]["feminine"]),
    )


@cache
def reader_accuracy(language: str) -> ReaderAccuracy:
    """What the reader of a language was worth on held-out sentences; KeyError if it was not measured."""
    text = package_text(__package__, "noun_gender/accuracy.csv")
    for row in csv.DictReader(text.splitlines()):
        if row["language"] == language:
            return ReaderAccuracy(int(row["labelled"]), int(row["decided"]), int(row["right"]))
    raise KeyError(language)
