"""Tables of users: what they begin with does not change how they are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from trustgauge.data.tables import read_table


@pytest.mark.parametrize("first", ["x^2", "x\x01", "(\xb5/\xfd"])
def test_a_table_that_begins_like_compressed_data_is_text(tmp_path: Path, first: str) -> None:
    file = tmp_path / "table.csv"
    file.write_text(f"{first},y\n1,2\n", "utf-8")
    table = read_table(file, "file")
    assert table.columns == [first, "y"]
    assert table.rows() == [("1", "2")]
