"""The walks through the code in docs/architecture.md name files and functions that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STEP = re.compile(r"`([\w/]+\.py)::(\w+)`")
STEPS = sorted(set(STEP.findall((ROOT / "docs" / "architecture.md").read_text("utf-8"))))


def test_there_are_walks() -> None:
    assert len(STEPS) > 15


@pytest.mark.parametrize(("file", "name"), STEPS)
def test_a_step_of_a_walk_exists(file: str, name: str) -> None:
    tree = ast.parse((ROOT / "src" / "trustgauge" / file).read_text("utf-8"))
    assert name in {getattr(node, "name", None) for node in tree.body}
