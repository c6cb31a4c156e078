"""Cells of sheets: what every kind of sheet can hold, and how none of them is run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from trustgauge.data.tables import fault
from trustgauge.data.words import FORMULA
from trustgauge.services.normalise_output import storable

_GUARDED = re.compile(rf"['\s]*[{re.escape(FORMULA)}]")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]")


def plain(text: str) -> str:
    r"""A text as every kind of sheet can hold it: line ends as \n, no control or half characters.

    >>> plain("a\r\nb\x1b")
    'a\nb'
    """
    ends = text.replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub("", storable(ends))


def guard(cell: str) -> str:
    """The cell so that a spreadsheet shows it and does not run it; `unguard` undoes this exactly.

    >>> guard("=1+1"), guard("'=1"), guard("'tis")
    ("'=1+1", "''=1", "'tis")
    """
    return f"'{cell}" if _GUARDED.match(cell) else cell


def unguard(cell: str) -> str:
    """The cell without the apostrophe that guards it.

    >>> unguard("'=1+1"), unguard("''=1"), unguard("'tis"), unguard("=1")
    ('=1+1', "'=1", "'tis", '=1')
    """
    return cell[1:] if cell.startswith("'") and _GUARDED.match(cell) else cell


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
