"""Tables of `reproduce`, and cells in them."""

from __future__ import annotations

from collections.abc import Iterable

from trustgauge.apps.reproduce.paper_tables import PaperTable, PrintedFigure


def table_of(name: str, tables: Iterable[PaperTable]) -> PaperTable:
    (found,) = [one for one in tables if one.name == name]
    return found


def cell(table: PaperTable, row: str, column: str) -> PrintedFigure:
    (found,) = [one for one in table.cells if (one.row, one.column) == (row, column)]
    return found
