"""Sheets that people fill in: CSV, TSV, JSON lines and XLSX.

Written so that no spreadsheet program runs a cell; read whatever such a program made of it: other
separators, line ends and encodings, added columns, empty and doubled rows. Rows are numbered as
spreadsheet programs do: the header is row 1. In JSON lines a row is a line.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trustgauge.data.tables import CHINESE, NAMES, fault, read_text
from trustgauge.errors import Fault, PlanError
from trustgauge.run.cells import guard, header, plain, unguard
from trustgauge.run.workbooks import read_workbook, workbook

SUFFIXES = {".csv": ",", ".tsv": "\t", ".jsonl": "", ".ndjson": "", ".xlsx": ""}
"""Kinds of sheets by their ending, and what separates the cells of a line."""
SEPARATORS = (",", ";", "\t")  # spreadsheet programs write those of their language
MOST_FAULTS = 50  # listed one by one


@dataclass(frozen=True, slots=True)
class SheetRow:
    """One row with something in it: its number, and its cells by column, none of them null."""

    row: int
    cells: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Sheet:
    """The rows of a file, the columns of them that are known, and how its text was encoded."""

    lines: tuple[SheetRow, ...]
    columns: tuple[str, ...]
    encoding: str


def check_name(file: Path, place: str) -> None:
    """Raise PlanError if the name of the file does not tell a kind of sheet."""
    if file.suffix.lower() not in SUFFIXES:
        raise fault(file, place, "unknown kind of sheet", must=f"a name ending in {', '.join(SUFFIXES)}")


def sheet_bytes(file: Path, place: str, columns: Sequence[str], rows: Sequence[Mapping[str, str]]) -> bytes:
    """The bytes of a sheet; the ending of `file` says of which kind. Writes nothing.

    CSV is UTF-8 with a byte order mark, every cell quoted and guarded; cells of XLSX are text.

    Args:
        file: its name only.
        place: of the option that names the file, for errors.
        columns: names, in order.
        rows: cells by column.

    Raises:
        PlanError: unknown kind, or a text that this kind cannot hold.
    """
    check_name(file, place)
    suffix = file.suffix.lower()
    cells = [[plain(row.get(name, "")) for name in columns] for row in rows]
    if suffix == ".xlsx":
        return workbook(file, place, columns, cells)
    if not SUFFIXES[suffix]:
        lines = (json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False) for row in cells)
        return "".join(f"{line}\n" for line in lines).encode()
    written = io.StringIO(newline="")
    writer = csv.writer(written, delimiter=SUFFIXES[suffix], quoting=csv.QUOTE_ALL)
    writer.writerow(columns)
    writer.writerows([guard(cell) for cell in row] for row in cells)
    return written.getvalue().encode("utf-8-sig")


def read_sheet(file: Path, place: str, known: Sequence[str]) -> Sheet:
    """The rows of a sheet that was filled in. Columns that are not known are passed over.

    Args:
        file: its ending says of which kind.
        place: of the option that names the file, for errors.
        known: names of the columns that are read, in lower case.

    Raises:
        PlanError: the file cannot be read, or cells are no plain text; every such row has its fault.
    """
    check_name(file, place)
    suffix = file.suffix.lower()
    if suffix == ".xlsx":
        return _told(file, read_workbook(file, place, known), "XLSX")
    with_mark = (b"\xff\xfe", b"\xfe\xff")
    text, encoding = read_text(file, place, ("utf-16",) if _begins(file, with_mark) else CHINESE)
    rows = _csv(file, place, text, known) if SUFFIXES[suffix] else _json_lines(file, place, text, known)
    return _told(file, rows, NAMES.get(encoding, "UTF-16"))


def raise_faults(faults: Sequence[Fault]) -> None:
    """Raise PlanError if there are faults: the first of them, and how many more."""
    if not faults:
        return
    shown = tuple(faults[:MOST_FAULTS])
    if len(faults) > MOST_FAULTS:
        shown += (Fault("and", f"{len(faults) - MOST_FAULTS} more rows with faults"),)
    raise PlanError(shown)


def at_row(file: Path, row: int) -> str:
    """The place of a fault in a sheet."""
    return f"{file.name}, row {row}"


Found = tuple[int, dict[str, str | Fault]]
"""Row number, and its cells by column; a cell that is no plain text is a fault."""


def _told(file: Path, rows: Iterator[Found], encoding: str) -> Sheet:
    """The rows with something in them, or all faults of cells."""
    lines, faults = [], []
    columns: dict[str, None] = {}
    for row, cells in rows:
        columns |= dict.fromkeys(cells)
        faults += [
            Fault(at_row(file, row), cell.what, cell.must, cell.got, cell.do)
            for cell in cells.values()
            if isinstance(cell, Fault)
        ]
        texts = {name: cell for name, cell in cells.items() if isinstance(cell, str)}
        if any(cell.strip() for cell in texts.values()):
            lines.append(SheetRow(row, texts))
    raise_faults(faults)
    return Sheet(tuple(lines), tuple(columns), encoding)


def _begins(file: Path, marks: tuple[bytes, ...]) -> bool:
    try:
        with file.open("rb") as opened:
            return opened.read(2) in marks
    except OSError:
        return False  # `read_text` says why it cannot be read


def _csv(file: Path, place: str, text: str, known: Sequence[str]) -> Iterator[Found]:
    """Rows of a CSV file. Cells beyond the last column are a fault: a comma in an unquoted answer."""
    separator = max(SEPARATORS, key=lambda one: _fits(text, one, known))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        names = next(reader, [])
        columns = header(file, place, names, known)
        yield 1, dict.fromkeys(columns, "")  # a sheet without rows has its columns, too
        for row, cells in enumerate(reader, 2):
            found: dict[str, str | Fault] = {
                name: plain(unguard(cells[at])) if at < len(cells) else "" for name, at in columns.items()
            }
            if any(cell.strip() for cell in cells[len(names) :]):
                what = f"{len(cells)} cells, but the header has {len(names)}"
                found["answer"] = Fault("", what, do="put texts that hold the separator in double quotes")
            yield row, found
    except csv.Error as error:
        do = "close every double quote; write one inside a text twice"
        what = f"line {reader.line_num} cannot be read as CSV"
        raise fault(file, place, what, got=str(error), do=do) from None


def _fits(text: str, separator: str, known: Sequence[str]) -> int:
    """How many known columns the header has if its cells are separated so."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        names = {name.strip().lower() for name in next(reader, [])}
    except csv.Error:
        return 0
    return len(names & set(known))


def _json_lines(file: Path, place: str, text: str, known: Sequence[str]) -> Iterator[Found]:
    """Rows of JSON lines: objects whose values are texts, numbers or null."""
    for row, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise fault(file, place, f"line {row} is no JSON object", must="one JSON object a line")
        yield row, {name: _json_cell(name, found[name]) for name in known if name in found}


def _json_cell(name: str, value: Any) -> str | Fault:
    if value is None:
        return ""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return json.dumps(value)
    return Fault("", f"{name} is no text", must="a text", got=type(value).__name__)
