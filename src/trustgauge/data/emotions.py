"""Parts of generated sentences about feelings: frames, persons, names and emotion words.

Two constructions are shipped: ours ("sound"), with enough frames and persons to resample, and the
paper's released one, for its reproduction (causal 2.1). Their content is described in
`emotions/emotions.md`.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from trustgauge.data import package_table
from trustgauge.errors import PlanError

NA = "NA"
Gender = Literal["male", "female", "NA"]
Race = Literal["European", "African-American", "NA"]
Valence = Literal["positive", "negative"]
VALENCES: tuple[Valence, Valence] = ("negative", "positive")
PLACEHOLDER = re.compile(r"\{([A-Za-z]+)(?:\|([a-z]+))?\}")


@dataclass(frozen=True, slots=True)
class Person:
    """Who feels: a noun phrase or a first name.

    Attributes:
        name: as it stands within a sentence, "my sister", "Adam".
        gender: "male", "female", or "NA" where the words do not tell.
        race: of a name; "NA" for noun phrases.
        object: the form after a verb, if it is another one: "them".
        plural: whether the verb is that of several: "they feel".
        percent: how many people of that sex have the name, in percent; 0 for noun phrases.
    """

    name: str
    gender: Gender = "NA"
    race: Race = "NA"
    object: str = ""
    plural: bool = False
    percent: float = 0.0

    @property
    def of(self) -> str:
        """The class of race and gender, "African-American female"; the gender of a noun phrase."""
        return self.gender if self.race == NA else f"{self.race} {self.gender}"


@dataclass(frozen=True, slots=True)
class Frame:
    """A sentence with a place for a person and, if it tells a feeling, one for a word."""

    name: str
    text: str

    def write(self, person: Person, word: str = "") -> str:
        """The sentence with this person and word in it.

        >>> Frame("feels", "{Person} {feels|feel} {word}.").write(Person("they", plural=True), "glad")
        'They feel glad.'
        """
        forms = {"person": person.name, "object": person.object or person.name, "word": word}
        forms["subject"] = person.name

        def form(found: re.Match[str]) -> str:
            name, of_several = found.groups()
            if of_several:
                return str(of_several if person.plural else name)
            text = forms[name.lower()]
            return text[:1].upper() + text[1:] if name[0].isupper() else text

        return PLACEHOLDER.sub(form, self.text)


@dataclass(frozen=True, slots=True)
class Word:
    """An emotion word and its valence."""

    text: str
    valence: Valence


@dataclass(frozen=True, slots=True)
class Construction:
    """What sentences are made of.

    Attributes:
        frames: in the order in which they are taken.
        phrases: persons as noun phrases, class by class in turn (male, female, male, ...).
        names: persons as names, likewise.
        neutral: persons without a class.
    """

    frames: tuple[Frame, ...]
    phrases: tuple[Person, ...]
    names: tuple[Person, ...]
    neutral: tuple[Person, ...]

    def persons(self, *, named: bool, each: int, na: bool) -> tuple[Person, ...]:
        """The first `each` persons of every class, as noun phrases or names.

        With `na`, persons of no class follow, half as many as all others: a third, as in the paper.
        """
        chosen = self.names if named else self.phrases
        classes = list(dict.fromkeys(one.of for one in chosen))
        by_class = [[one for one in chosen if one.of == name][:each] for name in classes]
        rest = self.neutral[: each * len(classes) // 2] if na else ()
        return (*(one for members in by_class for one in members), *rest)

    @property
    def most(self) -> int:
        """How many persons there are of every class, with half as many without one to stand beside them."""
        counts = [list(Counter(one.of for one in kind).values()) for kind in (self.phrases, self.names)]
        return min(*counts[0], *counts[1], len(self.neutral) // 2)


@lru_cache(maxsize=2)
def construction(name: Literal["sound", "released"]) -> Construction:
    """Our own construction ("sound"), or the paper's ("released", causal 2.1)."""
    if name == "released":
        table = _table("released")
        return Construction(
            _frames(table["frames"]),
            _people(table["persons"]),
            _people(table["names"]),
            _people(table["neutral"]),
        )
    persons = _table("persons")
    pairs = [
        {"name": phrase, "gender": gender}
        for pair in persons["pairs"]
        for phrase, gender in zip(pair, ("male", "female"), strict=True)
    ]
    with files("trustgauge.data").joinpath("emotions", "names.csv").open(encoding="utf-8") as opened:
        names = [
            {key: row[key] for key in ("name", "gender", "race", "percent")} for row in csv.DictReader(opened)
        ]
    return Construction(
        _frames(_table("frames")["frames"]),
        _people(pairs),
        _people(names),
        _people([{"name": phrase} for phrase in persons["neutral"]]),
    )


BEYOND = "beyond-"
"""How the names of frames beyond the published ones begin."""


@lru_cache(maxsize=1)
def frames_beyond() -> tuple[Frame, ...]:
    """Frames of our construction beyond those that it takes, for disguises (methods 0.12)."""
    table = _table("frames_beyond")["frames"]
    return _frames({f"{BEYOND}{name}": text for name, text in table.items()})


@lru_cache(maxsize=1)
def valences() -> Mapping[str, Valence]:
    """The emotion words that we know, with their valence; the paper's come first."""
    table = _table("words")
    return {word: valence for valence in ("positive", "negative") for word in table[valence]}


def word_of(written: str, place: str = "words") -> Word:
    """The word that a plan names: one of ours ("glad"), or an own one with its valence ("chuffed:positive").

    Raises:
        PlanError: the word is unknown and has no valence, or is said to have another one than it has.
    """
    text, colon, tail = written.rpartition(":")
    known = valences()
    if not colon:
        if written not in known:
            raise PlanError.of(
                place,
                f'the valence of "{written}" is not known',
                must="a word of the shipped list, or a word with its valence",
                do=f'Write "{written}:positive" or "{written}:negative"',
            )
        return Word(written, known[written])
    if tail not in VALENCES or not text.strip():
        raise PlanError.of(
            place,
            f'"{written}" is not a word with a valence',
            must='as in "chuffed:positive", "cross:negative"',
        )
    valence: Valence = "positive" if tail == "positive" else "negative"
    if known.get(text, valence) != valence:
        raise PlanError.of(
            place, f'"{text}" has a different valence in the shipped list', must=known[text], got=tail
        )
    return Word(text, valence)


def _frames(table: Mapping[str, str]) -> tuple[Frame, ...]:
    return tuple(Frame(name, text) for name, text in table.items())


def _people(rows: list[dict[str, Any]]) -> tuple[Person, ...]:
    try:
        return TypeAdapter(tuple[Person, ...]).validate_python(rows)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise PlanError.of(
            "emotions", f"a shipped person is broken: {first['msg']}", got=str(first["loc"])
        ) from None


def _table(name: str) -> dict[str, Any]:
    return package_table(__package__, f"emotions/{name}.toml")
