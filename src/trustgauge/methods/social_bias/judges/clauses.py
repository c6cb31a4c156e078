"""The clauses of an answer, as marks (social-bias 3.6 sound, steps 1 and 4).

An answer is cut into parts at its stops, and a part into clauses. A clause is how far a negator reaches. It
ends at a stop, at "but" and "although", after a leading "no" or "yes", before "and" with a subject of its
own or, behind what others say, with agreement, and before "not" that denies a second group ("women, not
men"). What follows a clause that "although" opens is set against it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache, partial, update_wrapper
from typing import NamedTuple, TypeVar, TypeVarTuple

ALONE = {"y": "V", "z": "N", "x": "M", "n": "M", "O": "N"}
"""What a mark means where a clause says nothing else: V agrees, if the answer begins so, and M denies."""
AMONG_OTHERS = str.maketrans({"y": "w", "V": "w", "z": "n", "O": "n"})
"""What it means where it says more."""
LONE = re.compile("[wictkH]*([yzxnOv])[wictkH]*")
"""One mark that may mean something else where nothing but fillers stands beside it."""
MAY_CUT = re.compile("[YO].|k(?:w{0,3}[AB]|T|Y)|n[AB]")
"""What is in every stretch of more than one clause."""
UNLIKE = re.compile("(?<=[AB])([^AB]*)z(?=[AB][^ABvx]*p)")
"""A Chinese negator between two groups compares them: "men have-not women's patience"."""
CLEFT = re.compile("I(?!w{0,2}n?[ABfl])")
"""An "it is" that names no group: Z."""
TO_NO = re.compile("[^ABTpXO_]*_?[^ABTpXO_]*O")
AGAIN = re.compile("w{0,3}[AB]")
"""A second subject behind "and"."""
OPENER = re.compile("[bd]")
STRETCH = re.compile("([^bd]*)([bd]|$)")
STOPS = (",", ".", "?")
SHORT = 60  # marks up to which results are cached
LONGEST = 100  # marks of the longest clause that is read, so that time is linear
MOST = 50_000  # results that are cached
FEW = 2_000  # parts whose clauses are: several steps need those of an answer

Of = TypeVarTuple("Of")
T = TypeVar("T")


def cache_short(of: Callable[[str, *Of], T], most: int = MOST) -> Callable[[str, *Of], T]:
    """Caches results of a function of marks, for answers are made of the same few clauses.

    Results for long marks, of which a hostile answer may have any number, are not cached.
    """
    cached = lru_cache(maxsize=most)(of)

    def call(marks: str, *more: *Of) -> T:
        return cached(marks, *more) if len(marks) <= SHORT else of(marks, *more)

    return update_wrapper(call, of)


class Clause(NamedTuple):
    """A stretch of marks.

    Attributes:
        start: token of its part at which it begins.
        end: token behind its last.
        marks: its marks, with those that depend on being alone resolved.
        but: whether "but" or the like opened it, or a clause before it in its part.
        yields: whether "although" or the like opened it.
    """

    start: int
    end: int
    marks: str
    but: bool
    yields: bool


@partial(cache_short, most=FEW)
def clauses(part: str) -> tuple[Clause, ...]:
    """The clauses of a part of an answer, in order; empty ones are left out. Linear in its length.

    Args:
        part: marks from behind one stop up to and including the next; the last stop may be missing.
    """
    clauses: list[Clause] = []
    start = 0
    but = yields = False
    body = part[:-1] if part.endswith(STOPS) else part
    for stretch, opener in STRETCH.findall(body) if OPENER.search(body) else [(body, "")]:
        first = 0
        for last in (*(_cuts(stretch) if MAY_CUT.search(stretch) else ()), len(stretch)):
            if last > first:
                marks = resolve_marks(stretch[first:last])
                clauses.append(Clause(start + first, start + last, marks, but, yields))
            first = last
        start += len(stretch) + 1
        but |= yields or opener == "b"
        yields = opener == "d"
    return tuple(clauses)


def resolve_marks(marks: str) -> str:
    """A clause with the marks that depend on being alone resolved.

    >>> [resolve_marks(marks) for marks in ("wy", "yT", "O", "iv", "IwvO")]
    ['V', 'wT', 'N', 'Y', 'N']
    """
    if len(marks) > LONGEST:
        return marks
    lone = LONE.fullmatch(marks)
    if lone and lone[1] in ALONE:
        return ALONE[lone[1]]
    if lone and "i" in marks:  # "I do"
        return "Y"
    if marks.endswith("O") and TO_NO.fullmatch(marks):  # "the answer is a clear no"
        return "N"
    if "z" in marks:
        marks = UNLIKE.sub(r"\1L", marks)
    return (CLEFT.sub("Z", marks) if "I" in marks else marks).translate(AMONG_OTHERS)


def _cuts(stretch: str) -> Iterator[int]:
    """Where clauses begin within a stretch that no "but" or "although" divides."""
    verb = name = quoted = False  # whether the clause has had one
    leading = True  # whether nothing but fillers has come
    last = ""
    for place, mark in enumerate(stretch):
        following = stretch[place + 1 : place + 2]
        begins = (
            (last == "O!" and mark not in "AB_p")
            or last == "Y!"
            or (mark == "k" and verb and following in ("A", "B", "T"))
            or (mark == "k" and name and last not in "AB" and AGAIN.match(stretch, place + 1) is not None)
            or (mark == "n" and name and following in ("A", "B"))
            or (mark == "k" and quoted and following == "Y")
        )
        if begins:
            yield place
            verb, name, quoted, leading = False, False, False, True
        last = f"{mark}!" if mark in "YO" and leading else mark
        verb |= mark in "vxp"
        name |= mark in "AB"
        quoted |= mark in "SK"
        leading &= mark in "wictkHO"
