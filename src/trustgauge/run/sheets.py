"""Sheets that people fill in: CSV, TSV, JSON lines and XLSX.

Written so that no spreadsheet program runs a cell; read whatever such a program made of it: other
separators, line ends and encodings, added columns, empty and doubled rows. Rows are numbered as
spreadsheet programs do: the header is row 1. In JSON lines a row is a line.

Cells of sheets: what every kind of sheet can hold, and how none of them is run.

XLSX files as sheets of plain text: what is written is never run, what is read was never computed.
"""

from __future__ import annotations

import csv
import io
import json
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

from trustgauge.data import guard, unguard
from trustgauge.data.archives import unescape, xlsx_bytes
from trustgauge.data.tables import CHINESE, LONGEST_CELL, NAMES, fault, read_text
from trustgauge.errors import Fault, PlanError
from trustgauge.records import json_or_none
from trustgauge.services import storable

TITLE = "answers"  # of the sheet that is written, and read if there are several
LONGEST = 32_767  # characters of a cell
WIDTHS = {"id": 20, "text": 70, "answer": 70}
UNTOUCHED = {"s", "inlineStr", "str"}  # kinds of cells whose value is the text that was typed

_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")


def workbook(file: Path, place: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> bytes:
    """The bytes of an XLSX file with one sheet; every cell is text and stays so when it is edited.

    Raises:
        PlanError: openpyxl is not installed, or a text is longer than a cell may be.
    """
    openpyxl = _library(file, place)
    from openpyxl.cell import WriteOnlyCell

    escaped = [[_escaped(text) for text in row] for row in [columns, *rows]]
    for number, row in enumerate(escaped, 1):
        longest = max(map(len, row))
        if longest > LONGEST:
            what, do = f"row {number} is too long for XLSX", "choose a name ending in .csv or .jsonl"
            raise fault(file, place, what, got=f"{longest} characters", do=do)
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet(TITLE)
    sheet.freeze_panes = "A2"
    for at, name in enumerate(columns):
        sheet.column_dimensions[chr(ord("A") + at)].width = WIDTHS.get(name, 12)
    for row in escaped:
        cells = [WriteOnlyCell(sheet, text) for text in row]
        for cell in cells:
            cell.data_type, cell.number_format = "s", "@"  # also what begins with an equals sign
            cell.quotePrefix = True
        sheet.append(cells)
    made = io.BytesIO()
    book.save(made)
    return made.getvalue()


def _escaped(text: str) -> str:
    """The text as it stands in a cell, so that reading gives it back; text cells need no guard of ours."""
    kept = text if unguard(text) == text else f"'{text}"
    return _ESCAPED.sub(r"_x005F\g<0>", kept)


def read_workbook(
    file: Path, place: str, known: Sequence[str]
) -> Iterator[tuple[int, dict[str, str | Fault]]]:
    """The rows of an XLSX file below its header: row number and cells by column.

    A formula, a date or an error in a known column is a fault, as the spreadsheet program has put
    it in the place of what was answered.

    Raises:
        PlanError: openpyxl is not installed, or the file cannot be read.
    """
    openpyxl = _library(file, place)
    data = xlsx_bytes(file, place)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of decoration that openpyxl does not keep
            book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, keep_links=False)
            rows = [
                (row, _values(cells)) for row, cells in enumerate(_sheet(file, place, book).iter_rows(), 1)
            ]
    except PlanError:
        raise
    except Exception as error:  # a damaged file can break a reader anywhere
        got = f"{type(error).__name__}: {error}"[:200]
        raise fault(file, place, "the file cannot be read as XLSX", got=got) from None
    names = [str(value or "") for _, value in rows[0][1]] if rows else []
    columns = header(file, place, names, known)
    yield 1, dict.fromkeys(columns, "")  # a sheet without rows has its columns, too
    for row, cells in rows[1:]:
        yield row, {name: _text(name, *cells[at]) if at < len(cells) else "" for name, at in columns.items()}


def _library(file: Path, place: str) -> Any:
    try:
        import openpyxl
    except ImportError:
        do = "pip install 'trustgauge[sheets]', or choose a name ending in .csv"
        raise fault(
            file, place, "XLSX needs a library that is not installed", must="openpyxl", do=do
        ) from None
    return openpyxl


def _sheet(file: Path, place: str, book: Any) -> Any:
    """The sheet called "answers", or the only one."""
    sheets = {one.title.strip().lower(): one for one in book.worksheets}
    found = sheets.get(TITLE) or (book.worksheets[0] if len(sheets) == 1 else None)
    if found is None:
        raise fault(file, place, f'no sheet "{TITLE}"', must="one sheet, or one of that name")
    found.reset_dimensions()  # other programs may tell them wrongly
    return found


def _values(cells: Sequence[Any]) -> list[tuple[str, Any]]:
    """Kind and value of each cell of a row."""
    return [(str(getattr(cell, "data_type", "n")), cell.value) for cell in cells]


def _text(name: str, kind: str, value: Any) -> str | Fault:
    """What was typed into a cell."""
    typed = "the text itself, in a cell formatted as text"
    if value is None:
        return ""
    if kind == "f":
        return Fault("", f"{name} is a formula", must=typed)
    if kind == "e":
        return Fault("", f"{name} is an error of the spreadsheet", must=typed, got=str(value)[:20])
    if isinstance(value, date | datetime):
        return value.isoformat() if name == "at" else Fault("", f"{name} was turned into a date", must=typed)
    if kind in UNTOUCHED:
        text = plain(unescape(str(value)))
        if len(str(value)) >= LONGEST:
            do = "put this answer in a CSV file"
            return Fault("", f"{name} fills its cell, so it may be cut short", do=do)
        return unguard(text)
    if isinstance(value, bool):
        return str(value).upper()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]")


def plain(text: str) -> str:
    r"""A text as every kind of sheet can hold it: line ends as \n, no control or half characters.

    >>> plain("a\r\nb\x1b")
    'a\nb'
    """
    ends = text.replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub("", storable(ends))


def header(file: Path, place: str, names: Sequence[str], known: Sequence[str]) -> dict[str, int]:
    """Known column -> where it stands.

    Raises:
        PlanError: a known column stands there twice.
    """
    folded = [name.strip().lower() for name in names]
    for name in known:
        if folded.count(name) > 1:
            raise fault(file, place, f'two columns are called "{name}"', do="rename one of them")
    return {name: folded.index(name) for name in known if name in folded}


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


def read_sheet(file: Path, place: str, known: Sequence[str], encodings: Sequence[str] = CHINESE) -> Sheet:
    """The rows of a sheet that was filled in. Columns that are not known are passed over.

    Args:
        file: its ending says of which kind.
        place: of the option that names the file, for errors.
        known: names of the columns that are read, in lower case.
        encodings: of a file that is no workbook, tried in this order.

    Raises:
        PlanError: the file cannot be read, or cells are no plain text; every such row has its fault.
    """
    check_name(file, place)
    suffix = file.suffix.lower()
    if suffix == ".xlsx":
        return _told(file, read_workbook(file, place, known), "XLSX")
    with_mark = (b"\xff\xfe", b"\xfe\xff")
    text, encoding = read_text(file, place, ("utf-16",) if _begins(file, with_mark) else encodings)
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
    csv.field_size_limit(LONGEST_CELL)  # of the whole process
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
        found = json_or_none(line)
        if not isinstance(found, dict):
            raise fault(file, place, f"line {row} is not a JSON object", must="one JSON object per line")
        yield row, {name: _json_cell(name, found[name]) for name in known if name in found}


def _json_cell(name: str, value: Any) -> str | Fault:
    if value is None:
        return ""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return json.dumps(value)
    return Fault("", f"{name} is no text", must="a text", got=type(value).__name__)
