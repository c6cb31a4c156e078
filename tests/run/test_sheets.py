"""Sheets come back from spreadsheet programs in many shapes; each has a defined reading."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from datetime import date
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trustgauge.data import guard, unguard
from trustgauge.errors import PlanError
from trustgauge.run.sheets import SheetRow, plain, read_sheet, sheet_bytes

COLUMNS = ("id", "text", "answer")
HOSTILE = [
    '=HYPERLINK("http://example.org","click")',
    "+1",
    "-1",
    "@SUM(A1)",
    "'=quoted before",
    "''+twice",
    "'tis plain",
    'quotes " and , and ; and\ttab',
    "two\nlines",
    "_x0041_ and _x005F_",
    "女性比男性穷吗？",
    "<b>&amp;</b>",
]


def written(tmp_path: Path, name: str, texts: list[str]) -> Path:
    file = tmp_path / name
    rows = [{"id": f"q{at}", "text": text, "answer": text} for at, text in enumerate(texts)]
    file.write_bytes(sheet_bytes(file, "--export", COLUMNS, rows))
    return file


def read(file: Path) -> tuple[SheetRow, ...]:
    return read_sheet(file, "--import", COLUMNS).lines


@pytest.mark.parametrize("name", ["s.csv", "s.tsv", "s.jsonl", "s.ndjson", "S.XLSX"])
def test_every_kind_of_sheet_gives_back_what_was_written(name: str, tmp_path: Path) -> None:
    lines = read(written(tmp_path, name, HOSTILE))
    assert [line.cells["text"] for line in lines] == HOSTILE
    assert [line.cells["answer"] for line in lines] == HOSTILE
    first = 1 if "json" in name or "ndjson" in name else 2
    assert [line.row for line in lines] == list(range(first, len(HOSTILE) + first))


def test_no_cell_of_a_csv_file_can_be_run(tmp_path: Path) -> None:
    data = written(tmp_path, "s.csv", HOSTILE).read_bytes()
    assert data.startswith(b"\xef\xbb\xbf")
    cells = [cell for row in csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")) for cell in row]
    assert not [cell for cell in cells if cell[:1] in "=+-@＝＋－＠\t\r" and cell]


def test_no_cell_of_a_workbook_is_a_formula(tmp_path: Path) -> None:
    book = openpyxl.load_workbook(written(tmp_path, "s.xlsx", HOSTILE))
    cells = [cell for row in book["answers"].iter_rows() for cell in row]
    assert {cell.data_type for cell in cells} == {"s"}
    assert {cell.number_format for cell in cells} == {"@"}


@given(st.text())
def test_guarding_is_undone_exactly(text: str) -> None:
    assert unguard(guard(text)) == text
    assert not guard(text).lstrip().startswith(("=", "+", "-", "@", "＝", "＋", "－", "＠"))


@given(st.text(alphabet=st.characters()))
def test_plain_text_can_be_held_by_every_sheet_and_is_plain(text: str) -> None:
    once = plain(text)
    assert plain(once) == once
    assert "\r" not in once
    assert all(ord(one) >= 32 or one in "\t\n" for one in once)
    once.encode()


def test_control_characters_and_half_characters_are_left_out(tmp_path: Path) -> None:
    texts = ["a\x00b\x1b[31mc\x7f", "half \ud83d", "line\r\nends\rof all\nkinds"]
    expected = ["ab[31mc", "half \N{REPLACEMENT CHARACTER}", "line\nends\nof all\nkinds"]
    for name in ("s.csv", "s.jsonl", "s.xlsx"):
        assert [line.cells["answer"] for line in read(written(tmp_path, name, texts))] == expected
    raw = tmp_path / "raw.csv"
    raw.write_bytes(b'id,text,answer\r\nq1,t,"a\x00b\x1bc"\r\n')
    assert read(raw)[0].cells["answer"] == "abc"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030", "utf-16"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_encodings_separators_and_line_ends(encoding: str, separator: str, ends: str, tmp_path: Path) -> None:
    rows = [["Answer ", "note", "ID", "text"], ["是的。", "x", "q1", "女性？"], [], ["", "", "q2", "男性？"]]
    file = tmp_path / "s.csv"
    file.write_bytes("".join(separator.join(row) + ends for row in rows).encode(encoding))
    found = read_sheet(file, "--import", COLUMNS)
    assert found.lines == (
        SheetRow(2, {"id": "q1", "text": "女性？", "answer": "是的。"}),
        SheetRow(4, {"id": "q2", "text": "男性？", "answer": ""}),
    )
    names = {"gb18030": "GB18030", "utf-16": "UTF-16"}
    assert found.encoding == names.get(encoding, "UTF-8")


def test_numbers_and_other_columns_of_a_workbook(tmp_path: Path) -> None:
    file = workbook(
        tmp_path, [["id", "sum", "answer"], ["q1", "=1+1", 5], ["q2", None, 0.25], ["q3", 1, True]]
    )
    assert [line.cells["answer"] for line in read(file)] == ["5", "0.25", "TRUE"]


def workbook(tmp_path: Path, rows: list[list[Any]], *more: str, title: str = "Sheet1") -> Path:
    book = openpyxl.Workbook()
    book.active.title = title
    for row in rows:
        book.active.append(row)
    for name in more:
        book.create_sheet(name)
    file = tmp_path / "s.xlsx"
    book.save(file)
    return file


@pytest.mark.parametrize(
    ("cell", "what"),
    [
        ('=HYPERLINK("http://example.org","Yes")', "answer is a formula"),
        (date(2026, 1, 2), "answer was turned into a date"),
        ("#N/A", "answer is an error of the spreadsheet"),
        ("a" * 32_767, "answer fills its cell"),
    ],
)
def test_a_cell_that_is_not_what_was_typed_is_refused_by_row(cell: Any, what: str, tmp_path: Path) -> None:
    file = workbook(tmp_path, [["id", "answer"], ["q1", "fine"], ["q2", cell]])
    with pytest.raises(PlanError) as caught:
        read(file)
    (fault,) = caught.value.faults
    assert fault.place == "s.xlsx, row 3"
    assert what in fault.what


def test_the_sheet_called_answers_is_read_if_there_are_several(tmp_path: Path) -> None:
    rows = [["id", "answer"], ["q1", "yes"]]
    assert len(read(workbook(tmp_path, rows, "Notes", title="Answers"))) == 1
    with pytest.raises(PlanError, match='no sheet "answers"'):
        read(workbook(tmp_path, rows, "Notes"))


def test_workbooks_that_are_none_or_too_large_or_declare_types_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "s.xlsx"
    file.write_bytes(b"id,answer\n")
    with pytest.raises(PlanError, match="cannot be read as XLSX"):
        read(file)
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    with pytest.raises(PlanError, match="cannot be read as XLSX"):
        read(file)
    good = workbook(tmp_path, [["id", "answer"], ["q1", "x"]])
    parts = {name: zipfile.ZipFile(good).read(name) for name in zipfile.ZipFile(good).namelist()}
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in parts.items():
            archive.writestr(
                name, data.replace(b"<worksheet", b'<!DOCTYPE x [<!ENTITY a "b">]><worksheet', 1)
            )
    with pytest.raises(PlanError, match="declares a document type"):
        read(file)
    with zipfile.ZipFile(file, "w") as archive:
        for at in range(1001):
            archive.writestr(f"{at}.xml", b"")
    with pytest.raises(PlanError, match="at most 1,000 parts"):
        read(file)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", b"")
        for at in range(2):
            archive.writestr(f"{at}.xml", bytes(1 << 26))
    with pytest.raises(PlanError, match="too large"):
        read(file)


def test_a_text_too_long_for_a_workbook_is_refused_and_fits_into_csv(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="row 2 is too long for XLSX"):
        written(tmp_path, "s.xlsx", ["x" * 40_000])
    assert len(read(written(tmp_path, "s.csv", ["x" * 200_000]))[0].cells["answer"]) == 200_000


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('id,answer\nq1,"open', "cannot be read as CSV"),
        ('id,answer\nq1,"a"b', "cannot be read as CSV"),
        ("id,answer,Answer\nq1,a,b", 'two columns are called "answer"'),
        ("id,answer\nq1,yes, women", "3 cells, but the header has 2"),
    ],
)
def test_broken_csv_is_refused(text: str, what: str, tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text(text)
    with pytest.raises(PlanError, match=what):
        read(tmp_path / "s.csv")


def test_short_rows_and_trailing_separators_are_read(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("id,text,answer\nq1\nq2,t,a,,\n,,\n")
    assert read(tmp_path / "s.csv") == (
        SheetRow(2, {"id": "q1", "text": "", "answer": ""}),
        SheetRow(3, {"id": "q2", "text": "t", "answer": "a"}),
    )


def test_json_lines_hold_texts_numbers_and_null(tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    rows = [
        {"id": "q1", "answer": 0.5},
        {"id": "q2", "answer": None, "more": [1]},
        {"id": "q3", "answer": "'=x"},
    ]
    file.write_text("\n\n".join(json.dumps(row) for row in rows))
    assert [line.cells["answer"] for line in read(file)] == ["0.5", "", "'=x"]
    assert [line.row for line in read(file)] == [1, 3, 5]
    file.write_text('{"id": "q1", "answer": ["yes"]}\n{"id": "q2", "answer": true}\n')
    with pytest.raises(PlanError) as caught:
        read(file)
    assert [fault.place for fault in caught.value.faults] == ["s.jsonl, row 1", "s.jsonl, row 2"]
    file.write_text("[" * 100_000)
    with pytest.raises(PlanError, match="line 1 is not a JSON object"):
        read(file)


def test_files_that_cannot_be_read_say_why(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="unknown kind of sheet"):
        read(tmp_path / "s.ods")
    with pytest.raises(PlanError, match="No such file"):
        read(tmp_path / "s.csv")
    with pytest.raises(PlanError, match="No such file"):
        read(tmp_path / "s.xlsx")
    (tmp_path / "s.csv").write_bytes(b"id,answer\nq1,\xff\xff\n")
    with pytest.raises(PlanError, match="UTF-8 or GB18030"):
        read(tmp_path / "s.csv")
