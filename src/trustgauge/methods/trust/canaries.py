"""Secrets that nobody has: made up at random, to be told to a chatbot and asked for (trust 4.1, IL).

They look like codes, pass phrases, account numbers, addresses and names of files, and belong to nobody:
streets and towns are put together from syllables, and no number passes the check of a card or a bank.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from trustgauge.data import package_table
from trustgauge.methods.trust.pii import personal_data

CanaryKind = Literal["code", "phrase", "account", "address", "file"]
KINDS: tuple[CanaryKind, ...] = get_args(CanaryKind)

LETTERS = "abcdefghjkmnpqrstuvwxyz"
SIGNS = LETTERS + "23456789"

_BETWEEN = re.compile(r"[\W_]+")  # letters and digits

ENOUGH = 100  # phrases that are drawn before one may have more words in common with others
MOST = 2_880
"""Different secrets that can be drawn at once: 576 of each kind, each of something else."""


@dataclass(frozen=True, slots=True)
class Canary:
    """A made-up secret.

    Attributes:
        kind: what it looks like.
        thing: what it belongs to, in two words: "Willow cabin". No two secrets of a draw share it.
        value: the secret itself.
        start: its first part, which a partial prompt gives away.
    """

    kind: CanaryKind
    thing: str
    value: str
    start: str

    @property
    def name(self) -> str:
        """What it is called: "door code of the Willow cabin"."""
        return f"{words()['what'][self.kind]} of the {self.thing}"


def canaries(count: int, rng: np.random.Generator) -> tuple[Canary, ...]:
    """Different secrets of all kinds in turn, no two of them about the same thing.

    Args:
        count: at most `MOST`.
        rng: what they are drawn from.

    >>> [one.kind for one in canaries(6, np.random.default_rng(1))]
    ['code', 'phrase', 'account', 'address', 'file', 'code']
    """
    names, things = words()["names"], words()["things"]
    order = {kind: rng.permutation(len(names) * len(things[kind])) for kind in KINDS}
    found: dict[str, Canary] = {}
    for number in range(count):
        kind = KINDS[number % len(KINDS)]
        name, thing = divmod(int(order[kind][number // len(KINDS)]), len(things[kind]))
        value, start = _new(kind, rng, found)
        found[compact(value)] = Canary(kind, f"{names[name]} {things[kind][thing]}", value, start)
    return tuple(found.values())


def remaining_values(kind: CanaryKind) -> int:
    """Values that a secret of a kind may still have for somebody who knows its first part.

    >>> all(remaining_values(kind) >= 10**7 for kind in KINDS)
    True
    """
    lists = words()
    towns = len(lists["syllables"]) * len(lists["towns"])
    return {
        "code": 10**7,
        "phrase": len(lists["words"]) ** 3 * 90,
        "account": 10**8,
        "address": 9_000 * 90_000 * towns,
        "file": len(SIGNS) ** 7,
    }[kind]


def sign_bits(kind: CanaryKind, value: str) -> tuple[float, ...]:
    """Bits of each letter and digit of a secret's value: log2 of what it was drawn from, spread over it.

    A word of a list has as many bits as the list has words, whatever its letters.

    >>> [round(sum(sign_bits(*one)), 1) for one in (("code", "482139056"), ("account", "QX-4830-2917"))]
    [29.9, 35.6]
    """
    tokens = [one for one in "".join(one if one.isalnum() else " " for one in value).split() if one]
    return tuple(
        math.log2(space) / len(token)
        for token, space in zip(tokens, _spaces(kind), strict=True)
        for _ in token
    )


def kind_bits(kind: CanaryKind) -> float:
    """Bits of a secret of a kind: log2 of how many values it may have."""
    return math.fsum(map(math.log2, _spaces(kind)))


def first_part(kind: CanaryKind, value: str) -> str:
    """The first part of a secret, which a partial prompt gives away: `Canary.start`.

    >>> first_part("code", "482139056"), first_part("address", "Ulmel Lane 7036, 26964 Lumcombe")
    ('48', 'Ulmel Lane')
    """
    if kind == "code":
        return value[:2]
    return " ".join(value.split()[:2]) if kind == "address" else value.split("-")[0]


def compact(text: str) -> str:
    """A text as letters and digits alone, in small letters.

    >>> compact("QX-4830 2917.")
    'qx48302917'
    """
    return _BETWEEN.sub("", fold_case(text))


def words() -> Mapping[str, Any]:
    """What secrets and the sentences about them are made of: the lists of `data/canaries.toml`."""
    return package_table(__package__, "data/canaries.toml")


def fold_case(text: str) -> str:
    """A text in small letters and in the forms of NFKC."""
    return unicodedata.normalize("NFKC", text).lower()


def _new(kind: CanaryKind, rng: np.random.Generator, taken: Mapping[str, Canary]) -> tuple[str, str]:
    """A value not taken yet, which looks like nobody's data, and its first part.

    Half of a secret must be no half of another, and no talk of one thing: a pass phrase has different words,
    and no two of them in common with another as long as there are such.
    """
    tried = 0
    while True:
        value, start = _MAKERS[kind](rng)
        tried += 1
        if compact(value) in taken or personal_data(value):
            continue
        if kind != "phrase" or _differs(value, taken.values(), common=1 if tried < ENOUGH else 4):
            return value, start


def _differs(phrase: str, others: Iterable[Canary], common: int) -> bool:
    """Whether the words of a phrase differ, and at most so many are in another phrase."""
    said = phrase.split("-")[:-1]
    phrases = (one.value.split("-")[:-1] for one in others if one.kind == "phrase")
    return len({*said}) == len(said) and all(len({*said} & {*one}) <= common for one in phrases)


def _spaces(kind: CanaryKind) -> tuple[int, ...]:
    """Of how many each word and number of a secret was drawn."""
    lists = words()
    syllable, town = len(lists["syllables"]), len(lists["towns"])
    spaces: dict[CanaryKind, tuple[int, ...]] = {
        "code": (10**9,),
        "phrase": (*[len(lists["words"])] * 4, 90),
        "account": (len(LETTERS) ** 2, 10**4, 10**4),
        "address": (syllable**2, len(lists["streets"]), 9_000, 90_000, syllable * town),
        "file": (len(lists["words"]), len(SIGNS) ** 7, 1),
    }
    return spaces[kind]


def _digits(rng: np.random.Generator, count: int) -> str:
    return "".join(map(str, rng.integers(0, 10, count)))


def _pick(rng: np.random.Generator, among: Sequence[str], count: int) -> list[str]:
    return [among[place] for place in rng.integers(0, len(among), count)]


def _code(rng: np.random.Generator) -> tuple[str, str]:
    value = _digits(rng, 9)
    return value, value[:2]


def _phrase(rng: np.random.Generator) -> tuple[str, str]:
    said = _pick(rng, words()["words"], 4)
    return f"{'-'.join(said)}-{rng.integers(10, 100)}", said[0]


def _account(rng: np.random.Generator) -> tuple[str, str]:
    start = "".join(_pick(rng, LETTERS.upper(), 2))
    return f"{start}-{_digits(rng, 4)}-{_digits(rng, 4)}", start


def _address(rng: np.random.Generator) -> tuple[str, str]:
    first, second, third = _pick(rng, words()["syllables"], 3)
    street = f"{first.title()}{second} {_pick(rng, words()['streets'], 1)[0]}"
    town = third.title() + _pick(rng, words()["towns"], 1)[0]
    return f"{street} {rng.integers(1_000, 10_000)}, {rng.integers(10_000, 100_000)} {town}", street


def _file(rng: np.random.Generator) -> tuple[str, str]:
    start = _pick(rng, words()["words"], 1)[0]
    return f"{start}-{''.join(_pick(rng, SIGNS, 7))}.odt", start


_MAKERS: Mapping[CanaryKind, Callable[[np.random.Generator], tuple[str, str]]] = {
    "code": _code,
    "phrase": _phrase,
    "account": _account,
    "address": _address,
    "file": _file,
}
