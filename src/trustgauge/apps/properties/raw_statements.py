"""Raw statements about groups as people publish them, and sets that are still being built.

Shapes: `sbic` (the columns of the Social Bias Inference Corpus), `stereoset` (the JSON of StereoSet),
`ours` (what `build-properties` wrote and a person went on with), and `table`, any other table.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from trustgauge.data.tables import CHINESE, fault, need_columns, read_table, read_text
from trustgauge.errors import PlanError
from trustgauge.records import json_or_none

PLACE = "FILE"
Shape = Literal["sbic", "stereoset", "ours", "table"]
Role = Literal[
    "statement",
    "target",
    "antonym",
    "antonym_checked",
    "zh",
    "zh_first",
    "zh_second",
    "zh_antonym_first",
    "zh_antonym_second",
]
DEFAULTS: Mapping[Shape, Mapping[Role, str]] = {
    "sbic": {"statement": "targetStereotype", "target": "targetMinority"},
    "stereoset": {},
    "ours": {"statement": "predicate"},
    "table": {
        "statement": "statement",
        "target": "target",
        "antonym": "antonym",
        "antonym_checked": "antonym_checked",
        "zh": "zh",
        "zh_first": "zh_first",
        "zh_second": "zh_second",
        "zh_antonym_first": "zh_antonym_first",
        "zh_antonym_second": "zh_antonym_second",
    },
}
"""The columns of each shape; those named by the caller stand in their place."""


@dataclass(frozen=True, slots=True)
class RawStatement:
    """One raw statement.

    Attributes:
        text: the statement, or a predicate alone.
        target: the group that the source names beside it.
        labels: the cell of each annotator, "" from those who gave none.
        antonym: the opposite, as a statement or predicate.
        checked: a second person looked at the antonym.
        zh: Chinese of the predicate, settled.
        translations: two independent translations of the predicate, each "" if there is none.
        antonym_translations: the same of the antonym.
    """

    text: str
    target: str = ""
    labels: tuple[str, ...] = ()
    antonym: str = ""
    checked: bool = False
    zh: str = ""
    translations: tuple[str, str] = ("", "")
    antonym_translations: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True)
class RawShape:
    """How a file of raw statements is read.

    Attributes:
        shape: None to tell it from the file.
        columns: column of each role, in place of the shape's own.
        labels: columns of labels, one for each annotator.
        separator: of a CSV file.
    """

    shape: Shape | None = None
    columns: Mapping[Role, str] = field(default_factory=dict)
    labels: tuple[str, ...] = ()
    separator: str = ""


def shape_of(file: Path, how: RawShape) -> Shape:
    """The shape of a file: as given, or by its ending and its columns."""
    if how.shape:
        return how.shape
    if file.suffix.lower() == ".json":
        return "stereoset"
    there = set(read_table(file, PLACE, how.separator, CHINESE).columns)
    if DEFAULTS["sbic"]["statement"] in there:
        return "sbic"
    return "ours" if {"id", "predicate", "person"} <= there else "table"


def statements(file: Path, how: RawShape, shape: Shape) -> list[RawStatement]:
    """The statements of a file of the shape `sbic`, `stereoset` or `table`.

    Raises:
        PlanError: the file cannot be read, or lacks a column.
    """
    if shape == "stereoset":
        return list(_stereoset(file))
    table = read_table(file, PLACE, how.separator, CHINESE)
    roles = {**DEFAULTS[shape], **how.columns}
    columns = {"statement", *how.columns}
    wanted = {f"--column {role}": column for role, column in roles.items() if role in columns}
    need_columns(file, table, wanted | {f"--label {one}": one for one in how.labels})
    texts = table.fill_null("")
    rows = texts.iter_rows(named=True)
    return [one for row in rows for one in _statements(row, roles, how.labels)]


def _statements(
    row: Mapping[str, str], roles: Mapping[Role, str], labels: tuple[str, ...]
) -> Iterator[RawStatement]:
    """The statements of one row: a cell may hold a JSON list of several."""

    def cell(role: Role) -> str:
        return row.get(roles.get(role, ""), "").strip()

    for text in _several(cell("statement")):
        yield RawStatement(
            text,
            ", ".join(_several(cell("target"))),
            tuple(row[one].strip() for one in labels),
            cell("antonym"),
            cell("antonym_checked").lower() in ("1", "yes", "true", "y"),
            cell("zh"),
            (cell("zh_first"), cell("zh_second")),
            (cell("zh_antonym_first"), cell("zh_antonym_second")),
        )


def _several(cell: str) -> list[str]:
    """What a cell holds: one text, or the texts of a JSON list."""
    if not cell.startswith("["):
        return [cell]
    found = json_or_none(cell)
    return [cell] if found is None else [one for one in found if isinstance(one, str) and one.strip()]


def _stereoset(file: Path) -> Iterator[RawStatement]:
    """The sentences that StereoSet calls stereotypes, with the group that each is about."""
    text, _ = read_text(file, PLACE)
    try:
        data = json.loads(text)["data"]
        examples = [one for part in ("intrasentence", "intersentence") for one in data.get(part, ())]
        found = [RawStatement(sentence, target) for one in examples for sentence, target in _stereotypes(one)]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise fault(
            file, PLACE, "not the JSON of StereoSet", must='{"data": {"intrasentence": [...], ...}}'
        ) from None
    if not found:
        raise PlanError.of(PLACE, f"{file.name}: no sentence is labelled a stereotype")
    yield from found


def _stereotypes(example: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for sentence in example["sentences"]:
        if sentence["gold_label"] == "stereotype":
            yield str(sentence["sentence"]), str(example["target"])
