"""Sentences and clauses of a string of marks (methods 3.6 sound, steps 1 and 4).

A clause is how far a negator reaches. It ends at a stop, at "but", after a leading "no" or "yes", before
"and" with a subject and verb of its own, and before "not" that denies a second group ("women, not men").
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

LONE = {"y": "Y", "z": "N", "x": "N", "n": "N", "O": "N"}
"""What a mark means where a clause says nothing else."""
AMONG_OTHERS = str.maketrans({"y": "w", "z": "n", "O": "n"})
"""What it means where it says more."""
FILLERS = re.compile("[wi]+")


@dataclass(frozen=True, slots=True)
class Clause:
    """A stretch of marks.

    Attributes:
        start: token at which it begins.
        end: token behind its last.
        marks: its marks, with those that depend on being alone resolved.
        sentence: number of its sentence.
        but: whether "but" or the like opened it, or a clause before it in its sentence.
        question: whether its sentence ends with a question mark.
    """

    start: int
    end: int
    marks: str
    sentence: int
    but: bool
    question: bool


def clauses(marks: str) -> Iterator[Clause]:
    """The clauses of a string of marks, in order; empty ones are left out. Linear in its length."""
    found: list[tuple[int, int, bool]] = []
    sentence = 0
    but = False
    start = 0
    for at, end, stop in _cuts(marks):
        if end > start:
            found.append((start, end, but))
        start = at
        if stop == "b":
            but = True
        elif stop in ("?", "."):
            for first, last, after in found:
                yield Clause(first, last, resolved(marks[first:last]), sentence, after, stop == "?")
            sentence += bool(found)
            found, but = [], False


def resolved(marks: str) -> str:
    """A clause with the marks that depend on being alone resolved.

    >>> resolved("wy"), resolved("yT"), resolved("O"), resolved("iv")
    ('Y', 'wT', 'N', 'Y')
    """
    core = FILLERS.sub("", marks)
    if core == "v" and "i" in marks:  # "I do"
        return "Y"
    if len(core) == 1 and core in LONE:
        return LONE[core]
    return marks.translate(AMONG_OTHERS)


def _cuts(marks: str) -> Iterator[tuple[int, int, str]]:
    """Where clauses end: (start of the next, end of this, the stop or "" where no stop stands)."""
    verb = name = False  # whether the clause has had one
    leading = True  # whether nothing but fillers has come
    last = ""
    for place, mark in enumerate(marks):
        if mark in ",.?b":
            yield place + 1, place, mark
            verb, name, leading, last = False, False, True, ""
            continue
        following = marks[place + 1 : place + 2]
        fresh = (
            (last == "O" and mark not in "AB")
            or last == "Y!"
            or (mark == "k" and verb and following in ("A", "B", "T"))
            or (mark == "n" and name and following in ("A", "B"))
        )
        if fresh:
            yield place, place, ""
            verb, name, leading = False, False, True
        last = "Y!" if mark == "Y" and leading else mark
        verb |= mark in "vxp"
        name |= mark in "AB"
        leading &= mark in "wivHO"
    yield len(marks), len(marks), "."
