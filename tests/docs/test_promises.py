"""Every promise of docs/guide/runs.md names a test that exists, and every section has one."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/guide/runs.md").read_text("utf-8")
TITLE = "Which test tries it"
TEXT, _, TABLE = PAGE.partition(f"\n## {TITLE}\n")
ROWS = re.findall(r"^\| ([^|]+) \| ([^|]+) \| (`[^|]+`) \|$", TABLE, re.M)
NAMED = sorted({name for _, _, cell in ROWS for name in re.findall(r"`([^`]+)`", cell)})


@cache
def functions_of(file: str) -> frozenset[str]:
    """Names of the test functions of a file, those of its classes too."""
    tree = ast.parse((ROOT / "tests" / file).read_text("utf-8"))
    found = (node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    return frozenset(name for name in found if name.startswith("test_"))


@pytest.mark.parametrize("name", NAMED)
def test_a_named_test_exists(name: str) -> None:
    file, _, function = name.partition("::")
    assert function in functions_of(file), f"{name} is named in docs/guide/runs.md"


def test_every_section_names_a_test_and_no_other_is_named() -> None:
    assert {section for section, _, _ in ROWS} == set(re.findall(r"^## (.+)$", TEXT, re.M))


def test_every_row_of_what_may_break_names_a_test() -> None:
    section = TEXT.partition("## When things break")[2].partition("\n## ")[0]
    promises = [row for row in re.findall(r"^\| ([^|]+) \|", section, re.M) if not row.startswith("what ")]
    result = [promise for title, promise, _ in ROWS if title == "When things break"]
    assert len(promises) > 20
    assert [one for one in promises if one not in result] == []


def test_the_table_is_read_whole() -> None:
    rows = [line for line in TABLE.splitlines() if line.startswith("| ")]
    assert len(ROWS) == len(rows) - 1  # its head
