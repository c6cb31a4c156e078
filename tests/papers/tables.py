"""Tables of `reproduce`, and cells in them."""

from __future__ import annotations

from collections.abc import Iterable

from trustgauge.apps.reproduce.cells import Cell, Table


def table_of(name: str, tables: Iterable[Table]) -> Table:
    (found,) = [one for one in tables if one.name == name]
    return found


def cell(table: Table, row: str, column: str) -> Cell:
    (found,) = [one for one in table.cells if (one.row, one.column) == (row, column)]
    return found
