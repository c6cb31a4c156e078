"""Verdicts on cells: whether the printed figure is what a rule makes of its published inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from trustgauge.apps.reproduce.paper_tables import Kind, PrintedFigure
from trustgauge.records import Json, Rule

Place = tuple[str, str]
"""Row and column of a cell, in the paper's words."""
Within = float | Sequence[float]
NEAR = 1e-6
"""Figures this near are the same figure: what binary fractions add to decimal ones."""


def judge(
    cell: PrintedFigure, by: Rule = "published", *, within: Within = NEAR, reason: str = ""
) -> PrintedFigure:
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
    text = reason or "no reason is known"
    return replace(cell, verdict="differs", reason=text, documented=bool(reason))


def compare(
    place: Place, printed: Json, found: Json, *, sound: Json = None, exception: str = ""
) -> PrintedFigure:
    """A cell whose figure was computed: it agrees to the decimals that are printed, or it differs.

    Args:
        place: row and column.
        printed: the figure as printed.
        found: the same figure by the rule of the paper.
        sound: the same figure by our own rule, if it has one.
        exception: why the figure is known to differ; "" if it is expected to agree.
    """
    cell = PrintedFigure(*place, printed, published=found, sound=sound)
    return judge(cell, within=unit(printed) / 2 + NEAR, reason=exception)


def compare_unprinted(place: Place, expected: Json, found: Json, *, sound: Json = None) -> PrintedFigure:
    """A cell that the paper does not print: it agrees if it is what was derived from the paper."""
    return drop_printed(compare(place, expected, found, sound=sound))


def judge_unprinted(cell: PrintedFigure, by: Rule = "published", *, within: Within = NEAR) -> PrintedFigure:
    """The verdict on a figure that no paper prints but that follows from one.

    Args:
        cell: its `printed` holds what is expected; the result has no printed figure.
        by: the rule.
        within: as of `judged`.
    """
    return drop_printed(judge(cell, by, within=within))


def drop_printed(cell: PrintedFigure) -> PrintedFigure:
    """A judged cell whose figure is not in the paper: what was expected is named only if it differs."""
    reason = "" if cell.verdict == "agrees" else f"expected {cell.printed}"
    return replace(cell, printed=None, reason=reason, kind="constant")


def as_constant(cell: PrintedFigure) -> PrintedFigure:
    """A judged cell whose figure is a constant of ours, copied from the paper: it can hardly differ."""
    return replace(cell, kind="constant")


def consistent(cell: PrintedFigure, share: float) -> PrintedFigure:
    """A judged cell of which it is known only that some inputs would give the figure.

    Args:
        cell: with its verdict.
        share: of all values that the figure could have, those that would pass the same check, 0 to 1.
    """
    return replace(cell, kind="consistent", share=share)


def with_hint(cell: PrintedFigure, reason: str) -> PrintedFigure:
    """The cell, with a likely reason if it differs without a documented one; it stays undocumented."""
    return replace(cell, reason=reason) if cell.verdict == "differs" and not cell.documented else cell


def unavailable(
    place: Place, printed: Json, reason: str, *, sound: Json = None, kind: Kind = "unpublished"
) -> PrintedFigure:
    """A cell that is not recomputed.

    Args:
        place: row and column.
        printed: the figure as printed.
        reason: why not.
        sound: the same figure by our own rule, if it has one.
        kind: what it would take, a key of `cells.LOST`.
    """
    return PrintedFigure(*place, printed, None, None, sound, "cannot be recomputed", reason, True, kind)


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


def unit(printed: Json) -> float:
    """One unit of the last digit of a number as it is written; 0 for whole numbers and all else.

    >>> unit(780), unit(6.1), unit(0.0278), unit("L")
    (0.0, 0.1, 0.0001, 0.0)
    """
    return 10.0 ** -len(repr(printed).partition(".")[2]) if isinstance(printed, float) else 0.0


def _number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
