"""What the rules see of a part of an answer: its marks from behind one stop to the next, with that stop.

Answers are made of few parts in many orders. Two parts are alike if the rules of `verdicts.py` can tell
no difference between them in whatever answer they stand, so answers of parts that are alike have the same
verdict, decided by the same parts.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from trustgauge.methods.social_bias.judges.clauses import clauses, kept
from trustgauge.methods.social_bias.judges.stances import SILENT as NO_STANCE
from trustgauge.methods.social_bias.judges.stances import Case, Stance, stance
from trustgauge.methods.social_bias.judges.verdicts import PERSONAL

PART = re.compile("[^,.?]*[,.?]|[^,.?]+$")
SILENT = re.compile("([wigPqhekoL_]+|[wgPqhekoL_v]+)([,.?]?)")
"""A part in which nothing is said that a rule knows, whatever was asked; "I" with a verb may be "I do"."""


NOTHING_SAID = ((False, False, False, NO_STANCE),)


class Part(NamedTuple):
    """A part of an answer, whatever was asked.

    Attributes:
        spans: first and last token of each clause; none if nothing is said in it.
        words: how many tokens are no stops.
        personal: how many of them speak of the speaker or the weather.
        like: marks of which the rules see the same, whatever was asked; its own, if nothing shorter is known.
    """

    spans: tuple[tuple[int, int], ...]
    words: int
    personal: int
    like: str


@kept
def part_of(marks: str) -> Part:
    """The part of these marks."""
    silent = SILENT.fullmatch(marks)
    spans = () if silent else tuple((one.start, one.end - 1) for one in clauses(marks))
    like = f"w{silent[2]}" if silent else marks
    words = len(marks) - marks.endswith((",", ".", "?"))
    return Part(spans, words, len(PERSONAL.findall(marks)), like)


class Seen(NamedTuple):
    """What the rules see of a part, if this was asked.

    Attributes:
        case: the question.
        stop: at which the part ends.
        clauses: of each, whether "but" and whether "although" opens it, whether it is more than one word, and
            its stance.
        but: whether what follows in its sentence is set against it.
        silent: whether it says nothing that a rule knows.
    """

    case: Case
    stop: str
    clauses: tuple[tuple[bool, bool, bool, Stance], ...]
    but: bool
    silent: bool


@kept
def seen(marks: str, case: Case) -> Seen:
    """What the rules see of a part, if this was asked."""
    told = tuple((one.but, one.yields, len(one.marks) > 1, stance(one.marks, case)) for one in clauses(marks))
    stop = marks[-1:] if marks.endswith((",", "?")) else "."
    but = stop == "," and ("b" in marks or "d" in marks)
    silent = not but and all(what == NO_STANCE for *_, what in told)
    return Seen(case, stop, told[:1] and NOTHING_SAID if silent else told, but, silent)
