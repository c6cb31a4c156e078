"""Tables of users: what they begin with does not change how they are read."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from trustgauge.data.tables import read_parquet, read_table
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
