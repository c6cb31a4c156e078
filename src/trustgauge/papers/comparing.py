"""Cells of one rule: a figure that was computed beside the printed one, or beside none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from trustgauge.errors import MethodError
from trustgauge.papers.cells import Cell
from trustgauge.papers.judging import NEAR, judged
from trustgauge.records import Json

Place = tuple[str, str]
"""Row and column of a cell, in the paper's words."""


def compared(place: Place, printed: Json, found: Json, *, sound: Json = None, exception: str = "") -> Cell:
    """A cell whose figure was computed: it agrees to the decimals that are printed, or it differs.

    Args:
        place: row and column.
        printed: the figure as printed.
        found: the same figure by the rule of the paper.
        sound: the same figure by our own rule, if it has one.
        exception: why the figure is known to differ; "" if it is expected to agree.
    """
    cell = Cell(*place, printed, published=found, sound=sound)
    return judged(cell, within=unit(printed) / 2 + NEAR, reason=exception)


def told(place: Place, expected: Json, found: Json, *, sound: Json = None) -> Cell:
    """A cell that the paper does not print: it agrees if it is what was derived from the paper."""
    return unprinted(compared(place, expected, found, sound=sound))


def unprinted(cell: Cell) -> Cell:
    """A judged cell whose figure is not in the paper: what was expected is told only if it differs."""
    reason = "" if cell.verdict == "agrees" else f"expected {cell.printed}"
    return replace(cell, printed=None, reason=reason)


def hinted(cell: Cell, reason: str) -> Cell:
    """The cell, with a likely reason if it differs without a documented one; it stays undocumented."""
    return replace(cell, reason=reason) if cell.verdict == "differs" and not cell.documented else cell


def beyond(place: Place, printed: Json, reason: str, *, sound: Json = None) -> Cell:
    """A cell that nobody can recompute from what was published."""
    return Cell(*place, printed, None, None, sound, "cannot be recomputed", reason, documented=True)


def nothing(folder: Path, must: str) -> MethodError:
    """The error for a folder that holds none of a paper's public files.

    Args:
        folder: that was named.
        must: what it should hold.
    """
    got = f"{sum(1 for _ in folder.iterdir())} others" if folder.is_dir() else "no folder"
    do = "Copy the authors' public files into one folder, and name it"
    return MethodError(f"no public files of the paper in {folder.name}", must=must, got=got, do=do)


def unit(printed: Json) -> float:
    """One unit of the last digit of a number as it is written; 0 for whole numbers and all else.

    >>> unit(780), unit(6.1), unit(0.0278), unit("L")
    (0.0, 0.1, 0.0001, 0.0)
    """
    return 10.0 ** -len(repr(printed).partition(".")[2]) if isinstance(printed, float) else 0.0
