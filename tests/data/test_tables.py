"""Tables of users: what they begin with does not change how they are read."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from trustgauge.data.tables import csv_rows, read_parquet, read_table
from trustgauge.errors import PlanError


@pytest.mark.parametrize("first", ["x^2", "x\x01", "(\xb5/\xfd"])
def test_a_table_that_begins_like_compressed_data_is_text(tmp_path: Path, first: str) -> None:
    file = tmp_path / "table.csv"
    file.write_text(f"{first},y\n1,2\n", "utf-8")
    table = read_table(file, "file")
    assert table.columns == [first, "y"]
    assert table.rows() == [("1", "2")]


def test_a_parquet_file_of_more_cells_than_memory_holds_is_refused_before_it_is_read(tmp_path: Path) -> None:
    file = tmp_path / "table.parquet"
    pl.DataFrame({"text": ["the same"] * 100_000, "score": [0.0] * 100_000}).write_parquet(file)
    assert file.stat().st_size < 10_000
    assert read_parquet(file, "file").shape == (100_000, 2)
    with pytest.raises(PlanError, match=r"at most 199,999 cells.*200,000"):
        read_parquet(file, "file", most=199_999)


ROWS = [('He said "yes, no; or\tboth"\nand left', "0.5"), ("Schön", "1")]


def written(separator: str, end: str) -> str:
    rows = [("text", "score"), *((f'"{text.replace(chr(34), chr(34) * 2)}"', score) for text, score in ROWS)]
    return "".join(separator.join(row) + end for row in rows)


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_tables_of_spreadsheets_are_read(tmp_path: Path, separator: str, end: str, mark: str) -> None:
    file = tmp_path / "table.csv"
    file.write_bytes((mark + written(separator, end)).encode())
    assert read_table(file, "file").rows() == ROWS
    assert [tuple(row.values()) for row in csv_rows(file, "file")] == ROWS


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            b"text,score\nWell, yes,1\n",
            r"row 1 has more cells .* 2, as the header has. Got 3\.\s+Put texts .*comma",
        ),
        (b"text;score\nA;1\nWell; yes;1\n", r"row 2 has more cells .*\s+Put texts .*semicolon"),
        (b'text,score\nA,1\n"B,1\n', r"at line 3.*\s+Close every double quote"),
        ("text,score\nSchön,1\n".encode("latin-1"), r"not UTF-8.*\s+Save it as UTF-8"),
        ("text\tscore\nA\t1\n".encode("utf-16"), r"not UTF-8.*\s+Save it as UTF-8"),
    ],
)
def test_tables_that_cannot_be_read_say_why_in_our_words(tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "table.csv"
    file.write_bytes(content)
    for read in (read_table, lambda file, place: list(csv_rows(file, place))):
        with pytest.raises(PlanError, match=said):
            read(file, "file")


def test_cells_of_nothing_beyond_the_header_are_no_fault_of_a_log(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text("text,score\nA,1,\nB\n", "utf-8")
    assert list(csv_rows(file, "file")) == [{"text": "A", "score": "1"}, {"text": "B", "score": None}]


def test_lines_of_old_macs_are_lines(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_bytes(b"text,score\rA,1\rB,2\r")
    assert read_table(file, "file").rows() == [("A", "1"), ("B", "2")]
