"""The published tables recomputed: which there are, and what came of them as one document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any

from trustgauge.errors import Fault, PlanError
from trustgauge.papers.cells import Cell, Table, Verdict
from trustgauge.records import Json

SCHEMA = "trustgauge.reproduction/1"
PAPERS: Mapping[str, str] = {
    "two-step": "two_step",
    "causal": "causal",
    "social-bias": "social_bias",
    "trust": "trust",
}
"""Method -> the module of its paper."""
ALL = "all"
VERDICTS: tuple[Verdict, ...] = ("agrees", "differs", "cannot be recomputed")


def reproduce(method: str = ALL, table: str | None = None, data: Path | None = None) -> list[Table]:
    """The tables of a paper, or of all four, recomputed.

    Args:
        method: one of `PAPERS`, or "all".
        table: the name of one table; None for all.
        data: a folder with the public files of the paper's authors; its tables are added.

    Returns:
        Tables in the order of the papers, those from `data` last.

    Raises:
        PlanError: no such method or table, or a paper without public files was asked for them.
        MethodError: the files in `data` are not those of the authors.
    """
    _known(method, (*PAPERS, ALL), "METHOD", "method")
    if data is not None and method == ALL:
        told = "Say whose files they are, such as: trustgauge reproduce causal --data DIR"
        raise PlanError(
            (Fault("--data", "the files belong to one paper", must="given with a METHOD", do=told),)
        )
    modules = [import_module(f"trustgauge.papers.{PAPERS[one]}") for one in _chosen(method)]
    found: list[Table] = [one for module in modules for one in module.tables()]
    if data is not None:
        found += _from_data(method, modules[0], data)
    if table is None:
        return found
    _known(table, tuple(dict.fromkeys(one.name for one in found)), "TABLE", "table")
    return [one for one in found if one.name == table]


def _chosen(method: str) -> tuple[str, ...]:
    return tuple(PAPERS) if method == ALL else (method,)


def _from_data(method: str, module: Any, folder: Path) -> list[Table]:
    """The tables of one paper from its authors' public files."""
    if not hasattr(module, "from_data"):
        do = "Leave --data out: everything that is published travels with trustgauge"
        fault = Fault("--data", f"the paper of {method} has no public files to recompute from", do=do)
        raise PlanError((fault,))
    tables: list[Table] = module.from_data(folder)
    return tables


def _known(name: str, valid: Sequence[str], place: str, kind: str) -> None:
    """Raises PlanError, with the nearest valid word, for a word that is not one of the valid ones."""
    if name in valid:
        return
    near = get_close_matches(name, valid, n=1, cutoff=0.5)
    do = f'Did you mean "{near[0]}"?' if near else ""
    raise PlanError((Fault(place, f'no {kind} "{name}"', must="one of: " + ", ".join(valid), do=do),))


def document(tables: Sequence[Table]) -> dict[str, Json]:
    """Tables as one JSON document: every cell, counts of each table and of all together."""
    told = [_told(one) for one in tables]
    cells = [cell for one in tables for cell in one.cells]
    return {
        "schema": SCHEMA,
        "tables": told,
        "totals": {"tables": len(told), "cells": len(cells), **_counts(cells)},
        "as_expected": as_expected(tables),
    }


def as_expected(tables: Sequence[Table]) -> bool:
    """Whether every cell of every table agrees or is a documented exception."""
    return all(one.as_expected for one in tables)


def _told(table: Table) -> dict[str, Json]:
    return {
        "method": table.method,
        "name": table.name,
        "title": table.title,
        "inputs": table.inputs,
        "notes": list(table.notes),
        "counts": _counts(table.cells),
        "as_expected": table.as_expected,
        "cells": [_cell(one) for one in table.cells],
    }


def _cell(cell: Cell) -> dict[str, Json]:
    return {
        "row": cell.row,
        "column": cell.column,
        "printed": cell.printed,
        "published": cell.published,
        "released": cell.released,
        "sound": cell.sound,
        "verdict": cell.verdict,
        "reason": cell.reason,
        "documented": cell.documented,
    }


def _counts(cells: Sequence[Cell]) -> dict[str, Json]:
    """How many cells have each verdict, and how many of those that do not agree are not documented."""
    counts: dict[str, Json] = {
        verdict.replace(" ", "_"): sum(one.verdict == verdict for one in cells) for verdict in VERDICTS
    }
    open_ones = [one for one in cells if one.verdict != "agrees" and not one.documented]
    return {**counts, "unexplained": len(open_ones)}
