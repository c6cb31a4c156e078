"""Sentences and clauses of a string of marks (social-bias 3.6 sound, steps 1 and 4).

A clause is how far a negator reaches. It ends at a stop, at "but" and "although", after a leading "no" or
"yes", before "and" with a subject of its own, and before "not" that denies a second group ("women, not
men"). What follows a clause that "although" opens is set against it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache, update_wrapper
from itertools import pairwise
from typing import NamedTuple, TypeVar, TypeVarTuple

LONE = {"y": "V", "z": "N", "x": "M", "n": "M", "O": "N"}
"""What a mark means where a clause says nothing else: V agrees, if the answer begins so, and M denies."""
AMONG_OTHERS = str.maketrans({"y": "w", "V": "w", "z": "n", "O": "n"})
"""What it means where it says more."""
FILLERS = re.compile("[wictkH]+")
UNLIKE = re.compile("(?<=[AB])([^AB]*)z(?=[AB][^ABvx]*p)")
"""A Chinese negator between two groups compares them: "men have-not women's patience"."""
CLEFT = re.compile("I(?!w{0,2}n?[ABfl])")
"""An "it is" that names no group: Z."""
TO_NO = re.compile("[^ABTpXO_]*_?[^ABTpXO_]*O")
STRETCH = re.compile("([^,.?bd]*)([,.?bd])")
SHORT = 60  # marks of the longest stretch of which it is kept what was found
LONGEST = 100  # marks of the longest clause that is read, so that time is linear
MOST = 50_000  # stretches of which it is

Of = TypeVarTuple("Of")
T = TypeVar("T")


def kept(of: Callable[[str, *Of], T]) -> Callable[[str, *Of], T]:
    """A function of marks that keeps what it found, for answers are made of the same few clauses.

    Long ones, of which a hostile answer may have any number, are not kept.
    """
    known = lru_cache(maxsize=MOST)(of)

    def found(marks: str, *more: *Of) -> T:
        return known(marks, *more) if len(marks) <= SHORT else of(marks, *more)

    return update_wrapper(found, of)


class Clause(NamedTuple):
    """A stretch of marks.

    Attributes:
        start: token at which it begins.
        end: token behind its last.
        marks: its marks, with those that depend on being alone resolved.
        sentence: number of its sentence.
        but: whether "but" or the like opened it, or a clause before it in its sentence.
        question: whether its sentence ends with a question mark.
        yields: whether "although" or the like opened it.
    """

    start: int
    end: int
    marks: str
    sentence: int
    but: bool
    question: bool
    yields: bool


def clauses(marks: str) -> list[Clause]:
    """The clauses of a string of marks, in order; empty ones are left out. Linear in its length."""
    made: list[Clause] = []
    found: list[tuple[int, int, str, bool, bool]] = []
    start = sentence = 0
    but = yields = False
    for stretch, stop in STRETCH.findall(f"{marks}."):
        if stretch:
            for first, last, said in _between(stretch):
                found.append((start + first, start + last, said, but, yields))
        start += len(stretch) + 1
        but |= yields or stop == "b"
        yields = stop == "d"
        if stop in ".?":
            asks = stop == "?"
            for first, last, said, after, opened in found:
                made.append(Clause(first, last, said, sentence, after, asks, opened))
            sentence += bool(found)
            found = []
            but = False
    return made


@kept
def _between(stretch: str) -> tuple[tuple[int, int, str], ...]:
    """The clauses of marks between two stops: start, end and resolved marks of each."""
    cuts = [0, *_cuts(stretch), len(stretch)]
    return tuple(
        (first, last, resolved(stretch[first:last])) for first, last in pairwise(cuts) if last > first
    )


def resolved(marks: str) -> str:
    """A clause with the marks that depend on being alone resolved.

    >>> resolved("wy"), resolved("yT"), resolved("O"), resolved("iv"), resolved("IwvO")
    ('V', 'wT', 'N', 'Y', 'N')
    """
    if len(marks) > LONGEST:
        return marks
    core = FILLERS.sub("", marks)
    if core == "v" and "i" in marks:  # "I do"
        return "Y"
    if len(core) == 1 and core in LONE:
        return LONE[core]
    if len(marks) > 1 and TO_NO.fullmatch(marks):  # "the answer is a clear no"
        return "N"
    return CLEFT.sub("Z", UNLIKE.sub(r"\1L", marks)).translate(AMONG_OTHERS)


def _cuts(stretch: str) -> Iterator[int]:
    """Where clauses begin within a stretch without stops."""
    verb = name = False  # whether the clause has had one
    leading = True  # whether nothing but fillers has come
    last = ""
    for place, mark in enumerate(stretch):
        following = stretch[place + 1 : place + 2]
        fresh = (
            (last == "O!" and mark not in "AB_p")
            or last == "Y!"
            or (mark == "k" and verb and following in ("A", "B", "T"))
            or (mark == "k" and name and last not in "AB" and AGAIN.match(stretch, place + 1) is not None)
            or (mark == "n" and name and following in ("A", "B"))
        )
        if fresh:
            yield place
            verb, name, leading = False, False, True
        last = f"{mark}!" if mark in "YO" and leading else mark
        verb |= mark in "vxp"
        name |= mark in "AB"
        leading &= mark in "wictkHO"


AGAIN = re.compile("w{0,3}[AB]")
"""A second subject behind "and"."""
