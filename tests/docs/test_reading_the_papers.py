"""Every block of the page on the papers is what the command above it prints."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from trustgauge.apps.reproduce.page import text as lines
from trustgauge.apps.reproduce.paper_tables import PaperTable
from trustgauge.apps.reproduce.reproduction import ALL, PAPERS, document, reproduce
from trustgauge.reports import terminal

PAGE = Path(__file__).parents[2] / "docs/guide/reading-the-papers.md"
BLOCKS = [
    (command, printed)
    for command, printed in re.findall(r"```text\n\$ ([^\n]+)\n(.*?)```", PAGE.read_text("utf-8"), re.S)
    if "--data" not in command
]


@cache
def _tables(method: str) -> tuple[PaperTable, ...]:
    if method == ALL:
        return tuple(table for one in PAPERS for table in _tables(one))
    return tuple(reproduce(method))


def test_there_are_blocks_of_every_paper() -> None:
    text = " ".join(command for command, _ in BLOCKS)
    assert len(BLOCKS) > 10
    assert all(method in text for method in PAPERS)


@pytest.mark.parametrize(("command", "printed"), BLOCKS)
def test_a_block_is_what_its_command_prints(command: str, printed: str) -> None:
    whole, _, pipe = command.partition(" | ")
    words = [word for word in whole.split()[2:] if not word.startswith("-")]
    tables = [
        table for table in _tables(words[0] if words else ALL) if len(words) < 2 or table.name == words[1]
    ]
    result = terminal.plain(lines(document(tables), every="-v" in whole.split())).rstrip("\n")
    if pipe:
        assert pipe == "tail -1"
        result = result.splitlines()[-1]
    assert printed == f"{result}\n"
