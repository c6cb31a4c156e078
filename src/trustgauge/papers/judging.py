"""Verdicts on cells with figures of several rules: whether the printed one is what a rule makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from trustgauge.papers.cells import Cell
from trustgauge.records import Json, Rule

Within = float | Sequence[float]
NEAR = 1e-6
"""Figures this near are the same figure: what binary fractions add to decimal ones."""


def judged(cell: Cell, by: Rule = "published", *, within: Within = NEAR, reason: str = "") -> Cell:
    """The cell with its verdict: printed against the figure of one rule.

    Args:
        cell: with the figures of the rules it has.
        by: the rule the paper claims.
        within: largest difference of numbers that still agree: half a unit of the last printed
            place, or the error of a simulation; of a list also one for each element.
        reason: why the two differ, if that is known: a difference with a reason is documented.
    """
    if alike(cell.printed, getattr(cell, by), within):
        return replace(cell, verdict="agrees", reason="", documented=False)
    told = reason or "no reason is known"
    return replace(cell, verdict="differs", reason=told, documented=bool(reason))


def derived(cell: Cell, by: Rule = "published", *, within: Within = NEAR) -> Cell:
    """The verdict on a figure that no paper prints but that follows from one.

    Args:
        cell: its `printed` holds what is expected; the result has no printed figure.
        by: the rule.
        within: as of `judged`.
    """
    told = judged(cell, by, within=within)
    if told.verdict == "differs":
        reason = f"computed {getattr(cell, by)}, expected {cell.printed}"
        return replace(told, printed=None, reason=reason)
    return replace(told, printed=None)


def alike(printed: Json, found: Json, within: Within = NEAR) -> bool:
    """Whether two figures agree: numbers within a distance, lists element by element, words exactly.

    >>> alike([0.5, 12], [0.51, 12], within=0.02), alike(True, 1), alike("BS", "UCS")
    (True, False, False)
    """
    if isinstance(printed, list) and isinstance(found, list):
        distances = [within] * len(printed) if isinstance(within, int | float) else within
        triples = zip(printed, found, distances, strict=False)
        return len(printed) == len(found) and all(alike(*one) for one in triples)
    if isinstance(within, int | float) and _number(printed) and _number(found):
        return abs(float(printed) - float(found)) <= within
    return printed == found and type(printed) is type(found)


def _number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
