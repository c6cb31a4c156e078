"""The published tables recomputed: which there are, and what came of them as one document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any

from trustgauge.apps.reproduce.paper_tables import CHECKED, LOST, PaperTable, PrintedFigure
from trustgauge.errors import PlanError
from trustgauge.records import Json

SCHEMA = "trustgauge.reproduction/2"
PAPERS: Mapping[str, str] = {
    "two-step": "two_step",
    "causal": "causal",
    "social-bias": "social_bias",
    "trust": "trust",
}
"""Method -> the module of its paper."""
ALL = "all"
Data = Sequence[tuple[str, Path]]
"""Folders of authors' public files, each with the method of its paper."""


def reproduce(method: str = ALL, table: str | None = None, data: Data = ()) -> list[PaperTable]:
    """The tables of a paper, or of all four, recomputed.

    Args:
        method: one of `PAPERS`, or "all".
        table: the name of one table; None for all.
        data: folders with the public files of the papers' authors, as `folders` reads them. A cell that
            they recompute takes the place of the one that does without them; what else they tell
            stands in tables of its own, last of its paper.

    Returns:
        Tables in the order of the papers.

    Raises:
        PlanError: no such method or table.
        MethodError: the files in `data` are not those of the authors.
    """
    _known(method, (*PAPERS, ALL), "METHOD", "method")
    found: list[PaperTable] = []
    for name in _chosen(method):
        module: Any = import_module(f"trustgauge.apps.reproduce.{PAPERS[name]}")
        public = [one for paper, folder in data if paper == name for one in module.from_data(folder)]
        found += fill_from_data(module.tables(), public)
    if table is None:
        return found
    _known(table, tuple(dict.fromkeys(one.name for one in found)), "TABLE", "table")
    return [one for one in found if one.name == table]


def folders(method: str, given: Iterable[str]) -> list[tuple[str, Path]]:
    """Folders as they are written after `--data`: DIR, or METHOD=DIR.

    Args:
        method: the paper asked for, or "all"; a DIR alone belongs to it.
        given: one or more, of one paper too.

    Raises:
        PlanError: a DIR alone for all papers, a paper that is not asked for, or no folder of that name.
    """
    return [_folder(method, one) for one in given]


def _folder(method: str, given: str) -> tuple[str, Path]:
    name, equals, rest = given.partition("=")
    paper, folder = (name, Path(rest)) if equals and name in PAPERS else (method, Path(given))
    try:
        there = folder.is_dir()
    except OSError:  # a name that no system could hold
        there = False
    if not there:
        raise PlanError.of("--data", f"no folder {folder}", must="a folder, or METHOD=folder")
    if paper == ALL:
        do = f"Say whose files they are, such as: --data causal={given}"
        raise PlanError.of("--data", "the files belong to only one paper", must="METHOD=DIR", do=do)
    if paper not in _chosen(method):
        raise PlanError.of("--data", f"files of {paper}, but the paper asked for is {method}")
    return paper, folder


def _chosen(method: str) -> tuple[str, ...]:
    return tuple(PAPERS) if method == ALL else (method,)


def fill_from_data(tables: Sequence[PaperTable], public: Sequence[PaperTable]) -> list[PaperTable]:
    """Tables with the cells that public data recompute; what else public tables hold comes last.

    A cell of public data replaces the one at its place in the table it fills, unless that one was
    checked and this one cannot be, for a documented reason. Tables of one name become one.
    """
    made = {one.name: one for one in tables}
    for one in public:
        base = made.get(one.fills)
        if base is not None:
            made[base.name] = _joined(base, one, every=False)
            own = {_place(cell) for cell in base.cells}
            one = replace(one, cells=tuple(cell for cell in one.cells if _place(cell) not in own))
        if one.cells:
            made[one.name] = _joined(made[one.name], one, every=True) if one.name in made else one
    return list(made.values())


def _joined(base: PaperTable, one: PaperTable, *, every: bool) -> PaperTable:
    """A table with the cells of another one at the same places, and with `every` also its others."""
    found = {_place(cell): cell for cell in one.cells}
    cells = [_better(cell, found.pop(_place(cell), cell)) for cell in base.cells]
    if cells == list(base.cells) and not (every and found):
        return base
    return replace(
        base,
        cells=(*cells, *(found.values() if every else ())),
        notes=tuple(dict.fromkeys((*base.notes, *one.notes))),
        inputs=", ".join(dict.fromkeys((base.inputs, one.inputs))),
    )


def _place(cell: PrintedFigure) -> tuple[str, str]:
    return cell.row, cell.column


def _better(cell: PrintedFigure, found: PrintedFigure) -> PrintedFigure:
    """What another folder recomputed stays; what was only consistent gives way to files that lack scores."""
    stays = cell.kind == "recomputed" or (cell.kind in CHECKED and found.documented)
    return cell if found.kind in LOST and stays else found


def _known(name: str, valid: Sequence[str], place: str, kind: str) -> None:
    """Raises PlanError, with the nearest valid word, for a word that is not one of the valid ones."""
    if name in valid:
        return
    near = get_close_matches(name, valid, n=1, cutoff=0.5)
    do = f'Did you mean "{near[0]}"?' if near else ""
    raise PlanError.of(place, f'no {kind} "{name}"', must="one of: " + ", ".join(valid), do=do)


def document(tables: Sequence[PaperTable]) -> dict[str, Json]:
    """Tables as one JSON document: every cell, counts of each table and of all together."""
    entries = [_table_entry(one) for one in tables]
    cells = [cell for one in tables for cell in one.cells]
    return {
        "schema": SCHEMA,
        "tables": entries,
        "totals": {"tables": len(entries), "cells": len(cells), **counts(cells)},
        "as_expected": all_agree(tables),
    }


def all_agree(tables: Sequence[PaperTable]) -> bool:
    """Whether every cell of every table agrees or is a documented exception."""
    return all(one.as_expected for one in tables)


def _table_entry(table: PaperTable) -> dict[str, Json]:
    facts: dict[str, Json] = {name: getattr(table, name) for name in ("method", "name", "title", "inputs")}
    return facts | {
        "notes": list(table.notes),
        "counts": counts(table.cells),
        "as_expected": table.as_expected,
        "cells": [asdict(one) for one in table.cells],
    }


def counts(cells: Sequence[PrintedFigure]) -> dict[str, Json]:
    """Cells by kind, those that were checked also by verdict.

    `unexplained` are those of each kind that neither agree nor have a documented reason; `share` is the
    mean share of values that would be consistent, None if no cell is of that kind.
    """
    shares = [one.share for one in cells if one.share is not None]
    checked: dict[str, Json] = {
        kind: {
            verdict: sum((one.kind, one.verdict) == (kind, verdict) for one in cells)
            for verdict in ("agrees", "differs")
        }
        for kind in CHECKED
    }
    odd = [one.kind for one in cells if not one.as_expected]
    return {
        **checked,
        "share": sum(shares) / len(shares) if shares else None,
        "cannot_be_recomputed": {kind: sum(one.kind == kind for one in cells) for kind in LOST},
        "unexplained": {kind: odd.count(kind) for kind in (*CHECKED, *LOST) if kind in odd},
    }
