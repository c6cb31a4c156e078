"""Whether texts of a frame differ in more than the person they are about (causal 2.1).

A table that says which texts share a frame may be wrong: where women's texts have a sentence more than
men's, a difference of their scores is no effect of gender. What belongs to a person is taken out of the text
first: its name, pronouns, articles, titles; nouns of persons stand for each other, and so do words that
differ in their ending only, as adjectives do by gender in many languages.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice, takewhile

import polars as pl

from trustgauge.data import load_attribute, package_table
from trustgauge.data.emotions import NA

MOST_DIFFERENT = 0.01
"""Share of the texts that may differ otherwise, a fifth of the first cut: they cannot make up an effect."""
MOST_WORDINGS = 50
"""Wordings of one frame and word: texts that say as many different things are alike in nothing."""
STEM, ENDING = 3, 3
"""Letters that two words share at least, and that each has beyond them at most, to differ in the ending."""
ROUNDING = 1e-9
TOKEN = re.compile(r"[^\W_]+")
NOUN = "\N{BULLET}"
"""Stands for any noun of a person."""

_Words = tuple[tuple[str, ...], str]
"""The words of a text that do not belong to the person, and the text."""


@dataclass(frozen=True)
class TextDifference:
    """That texts of a frame differ in more than the person.

    Attributes:
        share: of the texts that can be compared, how many have no counterpart in another class.
        texts: that can be compared.
        example: two of one frame and word.
    """

    share: float
    texts: int
    example: tuple[str, str]


def text_difference(rows: pl.DataFrame) -> TextDifference | None:
    """What else differs between texts of two classes with one frame and word; None if hardly anything does.

    Only texts in which the person is named can be compared.

    Args:
        rows: columns set, frame, word, person, gender, race, text.
    """
    named = rows.filter((pl.col("gender") != NA) | (pl.col("race") != NA))
    nouns = _nouns() | _single_names(rows["person"].unique().to_list())
    cells: dict[tuple[str, ...], dict[tuple[str, str], list[_Words]]] = defaultdict(lambda: defaultdict(list))
    columns = ("set", "frame", "word", "gender", "race", "person", "text")
    for *cell, gender, race, person, text in named.select(columns).iter_rows():
        words = _without_person(text, person, nouns)
        if words is not None:
            cells[tuple(cell)][gender, race].append((words, text))
    texts, differing, worst, example = 0, 0.0, 0.0, ("", "")
    for by_class in cells.values():
        if len(by_class) < 2:
            continue
        found = _Cell.of(by_class.values())
        texts += found.texts
        differing += found.apart * found.texts
        if found.apart > worst:
            worst, example = found.apart, found.example()
    if not texts or differing <= MOST_DIFFERENT * texts + ROUNDING:
        return None
    return TextDifference(differing / texts, texts, example)


@dataclass(frozen=True)
class _Cell:
    """The texts of one frame and word: for each class the number of each wording, and a text of each."""

    counts: tuple[Counter[int], ...]
    examples: Mapping[int, str]

    @classmethod
    def of(cls, classes: Iterable[Sequence[_Words]]) -> _Cell:
        known = _Wordings()
        examples: dict[int, str] = {}
        counts = []
        for texts in classes:
            places = [known.place(words) for words, _ in texts]
            counts.append(Counter(places))
            for place, (_, text) in zip(places, texts, strict=True):
                examples.setdefault(place, text)
        return cls(tuple(counts), examples)

    @cached_property
    def texts(self) -> int:
        return sum(own.total() for own in self.counts)

    @cached_property
    def shares(self) -> tuple[Mapping[int, float], ...]:
        """For each class the share of its texts that has each wording of the cell."""
        totals = [own.total() for own in self.counts]
        return tuple(
            {place: own[place] / total for place in self.examples}
            for own, total in zip(self.counts, totals, strict=True)
        )

    @cached_property
    def apart(self) -> float:
        """The share of the texts of each class that the other classes have no counterpart of."""
        return max(0.0, 1.0 - sum(min(own[place] for own in self.shares) for place in self.examples))

    def example(self) -> tuple[str, str]:
        """Texts of the two wordings of which the shares differ most, one way and the other."""
        first, *others = self.shares
        for other in others:
            gaps = {place: first[place] - other[place] for place in self.examples}
            more, less = max(gaps, key=lambda one: gaps[one]), min(gaps, key=lambda one: gaps[one])
            if gaps[more] > 0 > gaps[less]:
                return self.examples[more], self.examples[less]
        return "", ""


class _Wordings:
    """The wordings of a cell and their places; those that differ in the person only have one.

    A new one is compared with the first `MOST_WORDINGS` only, so that time is linear in the texts.
    """

    def __init__(self) -> None:
        self._places: dict[tuple[str, ...], int] = {}
        self._different: list[tuple[str, ...]] = []

    def place(self, words: tuple[str, ...]) -> int:
        """The place of a wording; a new one comes last."""
        known = self._places.get(words)
        if known is None:
            some = islice(enumerate(self._different), MOST_WORDINGS)
            known = next((place for place, one in some if _are_alike(words, one)), len(self._different))
            self._places[words] = known
            if known == len(self._different):
                self._different.append(words)
        return known


def _are_alike(words: tuple[str, ...], others: tuple[str, ...]) -> bool:
    return len(words) == len(others) and all(map(_alike, words, others))


def _alike(one: str, other: str) -> bool:
    """Whether two words in one place are the same but for the person."""
    if one == other or NOUN in (one, other):
        return True
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    return shared >= STEM and max(len(one), len(other)) - shared <= ENDING


def _without_person(text: str, person: str, nouns: Set[str]) -> tuple[str, ...] | None:
    """The words of a text that do not belong to the person; None where the text does not name it.

    Args:
        text: a text.
        person: whom it is about.
        nouns: words that stand for each other.
    """
    name, words = set(_tokens([person])), list(_tokens([text]))
    if not name.intersection(words):
        return None
    skipped = name | _skipped()
    return tuple(NOUN if word in nouns else word for word in words if word not in skipped)


def _single_names(persons: Iterable[str]) -> frozenset[str]:
    """Names of one word: others of the persons may stand in a text too."""
    names = (list(_tokens([person])) for person in persons)
    return frozenset(tokens[0] for tokens in names if len(tokens) == 1)


@lru_cache(maxsize=1)
def _skipped() -> frozenset[str]:
    """Words that one person has and another has not: pronouns, articles, titles."""
    gender = load_attribute("gender")
    ours = (word for value in gender.values for word in gender.read_words(value))
    residual = (word for kind in gender.residual.values() for word in kind)
    words = package_table(__package__, "person_words.toml")
    return frozenset(_tokens((words["articles"], words["pronouns"], words["titles"], *ours, *residual)))


@lru_cache(maxsize=1)
def _nouns() -> frozenset[str]:
    gender = load_attribute("gender")
    listed = (word for table in (gender.nouns, gender.kin) for words in table.values() for word in words)
    classes = package_table(__package__, "person_words.toml")["classes"]
    return frozenset(_tokens((classes, *listed)))


def _tokens(words: Iterable[str]) -> Iterator[str]:
    return (token for word in words for token in TOKEN.findall(word.casefold()))
