"""XLSX files as sheets of plain text: what is written is never run, what is read was never computed."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

from trustgauge.data.archives import xlsx_bytes
from trustgauge.data.tables import fault
from trustgauge.errors import Fault, PlanError
from trustgauge.run.cells import header, plain, unguard

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
        text = plain(_ESCAPED.sub(lambda found: chr(int(found[1], 16)), str(value)))
        if len(str(value)) >= LONGEST:
            do = "put this answer in a CSV file"
            return Fault("", f"{name} fills its cell, so it may be cut short", do=do)
        return unguard(text)
    if isinstance(value, bool):
        return str(value).upper()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
