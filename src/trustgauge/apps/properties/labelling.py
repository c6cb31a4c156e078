"""Labels that several people gave to properties: recoded, agreed on, or left to a person.

Step 4 of social-bias 3.2: rounds of labelling, between which labels are merged or split; the majority
decides; kappa is reported for each label; "Discard" takes a property out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trustgauge.data.property_rows import CATEGORIES, REJECTING, category, labels
from trustgauge.records import Json

Codes = Mapping[str, tuple[str, ...]]
"""Label -> the categories that stand for it now: one if it was merged, several if it was split."""
Kappa = Callable[[NDArray[np.float64]], float]
"""Counts [items, categories] -> agreement beyond chance, such as `stats.agreement.fleiss_kappa`; data
and statistics do not know each other, so who builds a set brings it."""
DISCARD = "discard"


@dataclass(frozen=True, slots=True)
class Decision:
    """What the annotators of one property decided.

    Attributes:
        categories: those of a majority, in the order of `CATEGORIES`.
        discarded: a majority wants the property out.
        open: why a person has to decide: "labels" (none given, or no majority for any),
            "split" (a label was split, and which part applies is not known), "unknown label", or "".
    """

    categories: tuple[str, ...] = ()
    discarded: bool = False
    open: str = ""


def decide(cells: Sequence[str], codes: Codes) -> Decision:
    """The majority of the annotators who labelled a property.

    Args:
        cells: of each annotator; "" from those who gave no label.
        codes: recoded labels, by folded name.

    Returns:
        The decision: a category counts if more than half of those who labelled gave it.
    """
    votes = [_vote(cell, codes) for cell in cells if cell.strip()]
    if not votes:
        return Decision(open="labels")
    known = [vote for vote, _ in votes]
    if 2 * sum(DISCARD in vote for vote in known) > len(known):
        return Decision(discarded=True)
    found = tuple(one for one in CATEGORIES if 2 * sum(one in vote for vote in known) > len(known))
    reasons = [reason for _, reason in votes if reason]
    if found:
        return Decision(found, open="split" if "split" in reasons else "")
    return Decision(open=reasons[0] if reasons else "labels")


def agreement(rows: Sequence[Sequence[str]], codes: Codes, kappa: Kappa) -> dict[str, Json]:
    """For each category: how many labels were given, and the kappa of having it or not.

    Args:
        rows: cells of each annotator, property by property. Properties with one annotator say nothing
            of agreement.
        codes: recoded labels.
        kappa: of the counts of yes and no.

    Returns:
        Category (and "discard") -> labels given, kappa (None where it is undefined) and the number of
        properties that at least two people labelled.
    """
    votes = [[_vote(cell, codes)[0] for cell in row if cell.strip()] for row in rows]
    paired = sum(len(row) > 1 for row in votes)
    report: dict[str, Json] = {}
    for name in (*CATEGORIES, DISCARD):
        yes = np.array([sum(name in vote for vote in row) for row in votes], dtype=np.float64)
        given = np.array([len(row) for row in votes], dtype=np.float64)
        value = kappa(np.stack([yes, given - yes], axis=1)) if paired else math.nan
        report[name] = {
            "labels": int(yes.sum()),
            "kappa": None if math.isnan(value) else round(value, 6),
            "properties": paired,
        }
    return report


def _vote(cell: str, codes: Codes) -> tuple[frozenset[str], str]:
    """The categories of one annotator, and what is open about them."""
    found: set[str] = set()
    reason = ""
    for written in labels(cell):
        name = written.lower()
        recoded = codes.get(name)
        if name in REJECTING:
            found.add(DISCARD)
        elif recoded is not None and len(recoded) > 1:
            reason = "split"
        elif one := category(recoded[0] if recoded else written):
            found.add(one)
        else:
            reason = reason or "unknown label"
    return frozenset(found), reason
