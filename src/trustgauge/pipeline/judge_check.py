"""Judges against labelled answers: how often each is right (methods 0.10, 3.6).

A judge is a plug-in (`trustgauge.judges`), and what follows its name behind a colon is its own:

- a function that takes the groups by id and gives a function from the rows of a labelled table to a frame
  of the same height with the column verdict;
- a class with `named(text)`, which gives such a function (`embedding:PATH`);
- a class with `prompts` and `verdicts`, which a service must be asked for (`model:SERVICE`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import ValidationError

from trustgauge import plugins
from trustgauge.data.social_groups import Group, GroupSource
from trustgauge.data.social_groups import groups as groups_of
from trustgauge.data.tables import fault, short
from trustgauge.errors import Fault, PlanError
from trustgauge.methods.social_bias.judges.judging import VERDICTS
from trustgauge.methods.social_bias.judges.measuring import LABELLED, Judge, labelled, measure, rule_judge
from trustgauge.pipeline.judge_asking import Asking, Told, ask
from trustgauge.pipeline.sheets import Line, at_row, read_sheet, refuse
from trustgauge.plan import faults_of
from trustgauge.records import Json

Judging = Callable[[Mapping[str, Group]], Judge]

SHIPPED = "shipped"
"""Stands for our own labelled pairs where no file has this name."""
MAY_BE_EMPTY = ("answer", "group_b")
FORMS = ("form", "property", "split")  # read where a table has them
KINDS: Mapping[str, tuple[str, ...]] = {
    "language": ("en", "zh"),
    "kind": ("choice", "yes-no", "why"),
    "verdict": VERDICTS,
}
PLACE = "TABLE"
PLACE_OF_JUDGE = "JUDGE"


@dataclass(frozen=True, slots=True)
class Checked:
    """How a judge did on a table. `rows` as `measure` gives them, one a language and question type.

    `asked` says what asking came to, of a judge that is a service; pairs it was not asked about are not
    measured.
    """

    judge: str
    table: str
    split: str
    pairs: int
    rows: tuple[Mapping[str, Json], ...]
    asked: Told | None = None

    def facts(self) -> dict[str, Any]:
        """As JSON."""
        told = {"asked": self.asked.facts()} if self.asked else {}
        return told | {
            "judge": self.judge,
            "table": self.table,
            "split": self.split,
            "pairs": self.pairs,
            "rows": [dict(row) for row in self.rows],
        }


def sound(groups: Mapping[str, Group]) -> Judge:
    """Our own judge (methods 3.6, sound)."""
    return rule_judge("sound", groups)


def published(groups: Mapping[str, Group]) -> Judge:
    """The judge as the paper describes it (methods 3.6, published)."""
    return rule_judge("published", groups)


def released(groups: Mapping[str, Group]) -> Judge:
    """The judge as the paper's program does it (methods 3.6, released)."""
    return rule_judge("released", groups)


def check(
    judge: str,
    table: str,
    *,
    split: str = "",
    group_table: Path | None = None,
    asking: Asking | None = None,
) -> Checked:
    """Measure a judge against a labelled table.

    Args:
        judge: name of the plug-in, and behind a colon what it needs: "sound", "model:openai/NAME",
            "embedding:PATH".
        table: a file with the columns `LABELLED` (CSV, TSV, JSON lines or XLSX), or "shipped".
        split: only rows with this in the column split.
        group_table: groups that the table names (columns of `GroupSource`, layout general); by
            default ours.
        asking: how a judge that is a service is asked; without limits by default.

    Raises:
        PlanError: no such judge or service, or with a fault for each row that names an unknown group,
            verdict, question type or language.
        ServiceError: a judge that is a service cannot be asked.
    """
    name, _, needs = judge.partition(":")
    found: Any = plugins.load("judges", name, PLACE_OF_JUDGE)
    by_id = {one.id: one for one in groups_of(_source(group_table))}
    rows = _table(table, by_id)
    if split:
        if "split" not in rows.columns:
            raise PlanError((Fault("--split", "the table has no column split"),))
        there = tuple(rows["split"].unique().sort())
        if split not in there:
            raise PlanError((plugins.unknown("--split", "split", split, there),))
        rows = rows.filter(pl.col("split") == split)
    if hasattr(found, "prompts"):
        read, told = ask(found(), needs, rows, by_id, asking or Asking())
        verdicts = read(rows)["verdict"]
        rows = rows.with_columns(verdicts.alias("_read")).filter(verdicts != "")
        measured = measure(lambda given: given.select(pl.col("_read").alias("verdict")), rows)
        return Checked(judge, table, split, len(rows), tuple(measured.to_dicts()), told)
    measured = measure(_judging(found, name, needs)(by_id), rows)
    return Checked(judge, table, split, len(rows), tuple(measured.to_dicts()))


def _judging(found: Any, name: str, needs: str) -> Judging:
    """A judge that asks nobody, made of what follows its name."""
    if hasattr(found, "named"):
        made: Judging = found.named(needs)
        return made
    if needs:
        raise PlanError((Fault(PLACE_OF_JUDGE, f'nothing can follow "{name}"', must=name, got=short(needs)),))
    function: Judging = found
    return function


def _source(file: Path | None) -> GroupSource | None:
    if file is None:
        return None
    try:
        return GroupSource.model_validate({"file": [str(file)]})
    except ValidationError as error:
        raise PlanError(tuple(faults_of(error, GroupSource, "--groups"))) from None


def _table(table: str, groups: Mapping[str, Group]) -> pl.DataFrame:
    """The labelled rows, every cell a text."""
    file = Path(table)
    if table == SHIPPED and not file.exists():
        return labelled()
    found = read_sheet(file, PLACE, (*LABELLED, *FORMS))
    missing = [name for name in LABELLED if name not in found.columns]
    if missing:
        raise fault(file, PLACE, f"no column {', '.join(missing)}", must=", ".join(LABELLED))
    if not found.lines:
        raise fault(file, PLACE, "the table has no rows", must="at least one labelled answer")
    refuse([one for line in found.lines for one in _faults(file, line, groups)])
    columns = [*LABELLED, *(name for name in FORMS if name in found.columns)]
    read = {name: [line.cells.get(name, "") for line in found.lines] for name in columns}
    cells = {name: one if name in ("question", "answer") else _folded(one) for name, one in read.items()}
    return pl.DataFrame(cells, schema=dict.fromkeys(columns, pl.String))


def _folded(cells: list[str]) -> list[str]:
    return [cell.strip() for cell in cells]


def _faults(file: Path, line: Line, groups: Mapping[str, Group]) -> list[Fault]:
    """What is wrong with a labelled row."""
    place = at_row(file, line.row)
    cells = {name: line.cells.get(name, "").strip() for name in LABELLED}
    faults = [
        Fault(place, f"{name} is empty")
        for name in LABELLED
        if not cells[name] and name not in (*MAY_BE_EMPTY, *KINDS)
    ]
    faults += [
        Fault(place, f"unknown {name}", must=f"one of: {', '.join(valid)}", got=short(cells[name]))
        for name, valid in KINDS.items()
        if cells[name] not in valid
    ]
    faults += [
        Fault(
            place, f"no group {short(cells[name])}", must="the id of a group", do="name a table with --groups"
        )
        for name in ("group_a", "group_b")
        if cells[name] and cells[name] not in groups
    ]
    return faults
