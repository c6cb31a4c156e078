"""English predicates about groups: folding, agreement, and whether they can be compared.

Small closed tables and spelling rules, no tagger: social-bias 3.2 step 3 and what social-bias 3.3
calls comparable.
"""

from __future__ import annotations

import csv
import re
import unicodedata
from functools import lru_cache
from importlib.resources import files

from trustgauge.data import package_table

PLURAL = {"am": "are", "is": "are", "was": "were", "has": "have", "does": "do", "'s": "are"}
"""Forms of verbs -> the form after a plural."""
ENDINGS = re.compile(
    r"(ful|less|ous|ish|ive|able|ible|ical|ional|onal|imal|oral|egal|egual|oyal|inal|ural|ual|ial|ic|ent|ant|"
    r"[^aeiou]y|-(minded|natured|tempered|hearted|meaning|humoured|humored|going|looking))$"
)

CONTRACTED = (
    (re.compile(r"\b(can)(?:not|'?t)\b"), "can not"),
    (re.compile(r"\bwo(?:n't|nt)\b"), "will not"),
    (re.compile(r"\bsha(?:n't|nt)\b"), "shall not"),
    (re.compile(r"\bain'?t\b"), "are not"),
    (
        re.compile(r"\b(are|is|was|were|do|does|did|has|have|had|could|would|should|must)(?:n't|nt)\b"),
        r"\1 not",
    ),
    (re.compile(r"(?<=\w)'re\b"), " are"),
    (re.compile(r"(?<=\w)'ve\b"), " have"),
    (re.compile(r"(?<=\w)'ll\b"), " will"),
    (re.compile(r"(?<=\w)'d\b"), " would"),
)
QUOTES = str.maketrans({"’": "'", "‘": "'", "`": "'", "´": "'", "“": '"', "”": '"'})


@lru_cache(maxsize=16)
def english(name: str) -> frozenset[str]:
    """A list of words of `social/english.toml`, such as "verbs"."""
    return frozenset(package_table(__package__, "social/english.toml")[name])


def fold(text: str) -> str:
    """A statement or predicate as it is compared: case, spaces, quotes and contractions folded.

    >>> fold("  Can’t  be  trusted. "), fold("dont work"), fold("CANNOT drive!")
    ('can not be trusted', 'do not work', 'can not drive')
    """
    plain = unicodedata.normalize("NFKC", text).translate(QUOTES).lower()
    plain = " ".join(plain.split()).strip(" .,;:!\"'")
    for pattern, full in CONTRACTED:
        plain = pattern.sub(full, plain)
    return plain


def agree(predicate: str) -> str:
    """A predicate said of one, as it is said of several.

    Takes folded text, whose first word, adverbs apart, is a verb.

    >>> agree("is lazy"), agree("always has money"), agree("carries knives"), agree("does not work")
    ('are lazy', 'always have money', 'carry knives', 'do not work')
    """
    words = predicate.split(" ")
    at = next((place for place, word in enumerate(words) if word not in english("adverbs")), 0)
    words[at] = PLURAL.get(words[at]) or base(words[at])
    return " ".join(words)


def is_english(predicate: str) -> bool:
    """Whether a predicate begins as an English one does: with an auxiliary or a verb, adverbs apart.

    >>> is_english("always lie"), is_english("sind arm"), is_english("mienten mucho")
    (True, False, False)
    """
    words = [word for word in fold(predicate).split(" ") if word not in english("adverbs")]
    known = english("auxiliaries") | english("verbs") | english("past")
    return bool(words) and not known.isdisjoint((words[0], base(words[0])))


def base(word: str) -> str:
    """The form after a plural of a verb in the present; other forms stay as they are.

    >>> [base(word) for word in ("steals", "cries", "goes", "watches", "miss", "drove")]
    ['steal', 'cry', 'go', 'watch', 'miss', 'drove']
    """
    if word.endswith(("ss", "us", "is")) or not word.endswith("s") or len(word) < 4:
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if re.search(r"(ss|sh|ch|x|z|o)es$", word):
        return word[:-2]
    return word[:-1]


def comparable(predicate: str) -> bool:
    """Whether a predicate is "are ADJ" or "are ADV ADJ" and can be compared (social-bias 3.3).

    By the spelling and by tables: own test items say how well. Participles ("are hated") and
    nouns ("are thieves") count as not comparable unless the shipped properties compare them.

    >>> [comparable(text) for text in ("are poor", "are very poor", "are thieves", "are not poor", "steal")]
    [True, True, False, False, False]
    """
    words = fold(predicate).split(" ")
    if words[0] != "are" or not 2 <= len(words) <= 3:
        return False
    if len(words) == 3 and not (words[1] in english("degrees") or words[1].endswith("ly")):
        return False
    return words[1] != "not" and adjective(words[-1])


def listed_adjective(word: str) -> bool:
    """Whether a word is an adjective by tables alone: by spelling "table" and "sky" are some, too."""
    return word in english("adjectives") or word in _shipped()


def adjective(word: str) -> bool:
    """Whether a word is an adjective, by tables and its spelling."""
    if listed_adjective(word):
        return True
    plural = word.endswith("s") and not word.endswith(("ss", "ous"))
    return (
        word not in english("nouns") and not plural and not word.endswith("ly") and bool(ENDINGS.search(word))
    )


def slug(predicate: str) -> str:
    """The id of a property, from its predicate.

    >>> slug("can't be trusted")
    'can-not-be-trusted'
    """
    return re.sub(r"[^\w]+", "-", fold(predicate)).strip("-")


@lru_cache(maxsize=1)
def _shipped() -> frozenset[str]:
    """The last words of the comparable properties that are shipped."""
    table = files("trustgauge.data").joinpath("social", "properties.csv")
    with table.open(encoding="utf-8") as opened:
        rows = csv.DictReader(opened)
        return frozenset(row["predicate"].split(" ")[-1] for row in rows if row["comparable"] == "1")
