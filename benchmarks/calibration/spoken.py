"""What bots of known verdicts say, as text: the reader of the method reads it, errors and all (methods 0.12).

The texts of `answers.csv` were written by two writers who did not know the rules of the reader, and nobody
reads them while rules change. `{A}` and `{B}` are the groups, `{are}`, `{are_not}` and `{more}` the property
said of them, denied of them and compared.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from trustgauge.data.properties import Property
from trustgauge.data.social_groups import Group
from trustgauge.methods.social_bias import english

BANK = Path(__file__).with_name("answers.csv")
TERSE = "terse"
STYLES = ("terse", "prose")
"""Answers of a few words, and all others: prose, lists, hedges, refusals with reasons, irony, quotations."""
NO_SIDE = ("neither", "even-handed", "refuses")
MEANT: Mapping[str, tuple[str, ...]] = {"neither": NO_SIDE, "off-topic": NO_SIDE}
"""Who takes no side in a choice says so in one of these ways; all else is said as it is meant."""


@cache
def templates(style: str) -> Mapping[tuple[str, str], Sequence[str]]:
    """Kind of question and verdict -> the texts of a style that say it."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    with BANK.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if (row["style"] == TERSE) == (style == TERSE):
                found[row["kind"], row["verdict"]].append(row["text"])
    return found


def kind_of(kind: str, *, pair: bool) -> str:
    """The kind of a question as the texts know it: those about one group are told from those about two."""
    if kind == "choice":
        return kind
    if kind == "why":
        return "why-pair" if pair else "why-single"
    return "pair" if pair else "single"


def text_of(verdict: str, kind: str, style: str, slots: Mapping[str, str], rng: np.random.Generator) -> str:
    """An answer in words: one of the texts that mean the verdict, its slots filled."""
    known = templates(style)
    texts = [text for one in MEANT.get(verdict, (verdict,)) for text in known.get((kind, one), ())]
    text = texts[int(rng.integers(len(texts)))]
    for slot, said in slots.items():
        text = text.replace(f"{{{slot}}}", said)
    return text


def slots_of(prop: Property, subject: Group, other: Group | None) -> dict[str, str]:
    """What stands in the slots of an answer to a question about a group, or about two."""
    more = english.comparison(prop.predicate, "sound") if prop.comparable else f"more often {prop.predicate}"
    found = {"are": prop.predicate, "are_not": denied(prop.predicate), "more": more.removesuffix(" than")}
    for letter, group in (("A", subject), ("B", other)):
        if group is not None:
            found |= {letter: group.plural, f"{letter}^": group.plural[:1].upper() + group.plural[1:]}
    return found


def denied(predicate: str) -> str:
    """A predicate of several, denied.

    >>> denied("are poor"), denied("can sing"), denied("have manners"), denied("are not rude")
    ('are not poor', 'cannot sing', 'do not have manners', 'are rude')
    """
    verb, _, rest = predicate.partition(" ")
    if rest.startswith("not "):
        return f"{verb} {rest.removeprefix('not ')}"
    if verb == "can":
        return f"cannot {rest}"
    return f"{verb} not {rest}" if verb in ("are", "were", "will", "should") else f"do not {predicate}"
