"""What can be listed: padded for people, as it is for programs."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from trustgauge.cli.list import LISTS, list_verb


@pytest.mark.parametrize("what", [name for name in LISTS if name not in ("ratings", "schemas")])
def test_programs_get_no_padding(what: str, tmp_path: Path) -> None:
    cells = [str(cell) for row in LISTS[what](tmp_path) for cell in row.values()]
    assert cells
    assert [cell for cell in cells if cell != cell.strip()] == []


def test_columns_are_aligned_for_people(tmp_path: Path) -> None:
    shown = CliRunner().invoke(list_verb, ["groups", "--ratings", str(tmp_path)]).output.splitlines()
    assert len({line.index(line.split()[1]) for line in shown if line.split()[1] != line.split()[0]}) == 1
