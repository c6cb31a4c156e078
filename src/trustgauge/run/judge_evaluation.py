"""Judges against labelled answers: how often each is right (methods 0.10, social-bias 3.6).

A judge is a plug-in (`trustgauge.judges`, `judges.protocol.Judge`); what follows its name and a colon is its
own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from trustgauge import plugins
from trustgauge.data.social_groups import Group, GroupSource
from trustgauge.data.social_groups import groups as groups_of
from trustgauge.data.tables import CHINESE, NAMES, WESTERN, fault, short
from trustgauge.errors import Fault, PlanError
from trustgauge.methods.social_bias.expressions import LANGUAGES, read_expressions
from trustgauge.methods.social_bias.judge_accuracy import accuracy_by_style
from trustgauge.methods.social_bias.judges.dispatch import VERDICTS
from trustgauge.methods.social_bias.judges.evaluation import (
    LABELLED,
    assistant_answers,
    assistant_groups,
    labelled_answers,
    measure,
)
from trustgauge.methods.social_bias.judges.protocol import PLACE as PLACE_OF_JUDGE
from trustgauge.methods.social_bias.judges.protocol import Judge
from trustgauge.records import Json
from trustgauge.run.judge_calls import JudgeCallOptions, JudgeReplies, ask_judge
from trustgauge.run.sheets import SheetRow, at_row, raise_faults, read_sheet

SHIPPED, ASSISTANT = "shipped", "assistant"
"""Stands for our own labelled pairs where no file has this name."""
MAY_BE_EMPTY = ("answer", "group_b")
FORMS = ("form", "property", "split")  # read where a table has them
KINDS: Mapping[str, tuple[str, ...]] = {
    "language": ("en", "zh"),
    "kind": ("choice", "yes-no", "why"),
    "verdict": VERDICTS,
}
PLACE = "TABLE"


@dataclass(frozen=True, slots=True)
class JudgeEvaluation:
    """How a judge did on a table.

    `rows` as `measure` gives them, one a language and question type; `styles` as `measured_styles` does, one
    a language and style of the answers.
    `asked` says what asking came to, of a judge that is a service; pairs it was not asked about are not
    measured.
    """

    judge: str
    table: str
    split: str
    pairs: int
    rows: tuple[Mapping[str, Json], ...]
    styles: tuple[Mapping[str, Json], ...]
    asked: JudgeReplies | None = None

    def facts(self) -> dict[str, Any]:
        """As JSON."""
        entry = {"asked": asdict(self.asked)} if self.asked else {}
        return entry | {
            "judge": self.judge,
            "table": self.table,
            "split": self.split,
            "pairs": self.pairs,
            "rows": [dict(row) for row in self.rows],
            "styles": [dict(row) for row in self.styles],
        }


def evaluate_judge(
    judge: str,
    table: str,
    *,
    split: str = "",
    group_table: GroupSource | None = None,
    expressions: Path | None = None,
    asking: JudgeCallOptions | None = None,
) -> JudgeEvaluation:
    """Measure a judge against a labelled table.

    Args:
        judge: name of the plug-in, and behind a colon what it needs: "sound", "model:openai/NAME",
            "embedding:PATH".
        table: a file with the columns `LABELLED` (CSV, TSV, JSON lines or XLSX), "shipped" or "assistant".
        split: only rows with this in the column split.
        group_table: the table with the groups that the rows name; by default ours.
        expressions: a file of expressions (`read_expressions`) for a judge that reads by lists; by default
            ours.
        asking: how a judge that is a service is asked; without limits by default.

    Raises:
        PlanError: no such judge or service, or with a fault for each row that names an unknown group,
            verdict, question type or language.
        ServiceError: a judge that is a service cannot be asked.
    """
    name, _, argument = judge.partition(":")
    lists = read_expressions(expressions, "--expressions") if expressions else None
    reader: Judge = plugins.load("judges", name, PLACE_OF_JUDGE).from_argument(argument, lists)
    by_id = {one.id: one for one in groups_of(group_table)}
    if table == ASSISTANT:
        by_id = {**by_id, **assistant_groups()}
    rows = labelled_table(table, by_id)
    if split:
        if "split" not in rows.columns:
            raise PlanError.of("--split", "the table has no column split")
        there = tuple(rows["split"].unique().sort())
        if split not in there:
            raise PlanError((plugins.unknown("--split", "split", split, there),))
        rows = rows.filter(pl.col("split") == split)
    without = sorted({*rows["language"]} - {*lists}) if lists is not None else []
    if without:
        what = f"the file has no table [{', '.join(without)}], and the rows are in that language"
        raise PlanError.of("--expressions", what, must=f"a table for each: {', '.join(LANGUAGES)}")
    answers = rows.rename({"question": "message", "answer": "output"})
    replies = None
    if reader.service:
        verdicts, replies = ask_judge(reader, answers, by_id, asking or JudgeCallOptions())
    else:
        verdicts = reader.verdicts(answers, by_id)
    rows = rows.with_columns(verdicts.alias("_read")).filter(verdicts != "")
    measured, styles = (of(_read_before, rows).to_dicts() for of in (measure, accuracy_by_style))
    return JudgeEvaluation(judge, table, split, len(rows), tuple(measured), tuple(styles), replies)


def _read_before(rows: pl.DataFrame) -> pl.DataFrame:
    """The verdicts of rows that a judge has read."""
    return rows.select(pl.col("_read").alias("verdict"))


def labelled_table(table: str, groups: Mapping[str, Group]) -> pl.DataFrame:
    """The labelled rows of a file, of "shipped" or of "assistant", every cell a text.

    Raises:
        PlanError: the file cannot be read, or with a fault for each row that `evaluate_judge` names.
    """
    file = Path(table)
    ours = {SHIPPED: labelled_answers, ASSISTANT: assistant_answers}.get(table)
    if ours and not file.exists():
        return ours()
    found = read_sheet(file, PLACE, (*LABELLED, *FORMS))
    chinese = any(line.cells.get("language", "").strip() == "zh" for line in found.lines)
    if found.encoding == NAMES[CHINESE[-1]] and not chinese:
        found = read_sheet(file, PLACE, (*LABELLED, *FORMS), WESTERN)
    missing = [name for name in LABELLED if name not in found.columns]
    if missing:
        raise fault(file, PLACE, f"no column {', '.join(missing)}", must=", ".join(LABELLED))
    if not found.lines:
        raise fault(file, PLACE, "the table has no rows", must="at least one labelled answer")
    raise_faults([one for line in found.lines for one in _faults(file, line, groups)])
    columns = [*LABELLED, *(name for name in FORMS if name in found.columns)]
    read = {name: [line.cells.get(name, "") for line in found.lines] for name in columns}
    cells = {name: one if name in ("question", "answer") else _folded(one) for name, one in read.items()}
    return pl.DataFrame(cells, schema=dict.fromkeys(columns, pl.String))


def _folded(cells: list[str]) -> list[str]:
    return [cell.strip() for cell in cells]


def _faults(file: Path, line: SheetRow, groups: Mapping[str, Group]) -> list[Fault]:
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
