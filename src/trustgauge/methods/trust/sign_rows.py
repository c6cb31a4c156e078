"""A sign a line, or a cell: what a reader reads behind running numbers and down the columns of tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from trustgauge.methods.trust.decoding import WORD

_BETWEEN = r"[\W_]"
_LABELLED = re.compile(
    rf"{_BETWEEN}*(?:[^\W\d_]+{_BETWEEN}*)?(\d{{1,3}})[^\W\da-z_]?{_BETWEEN}+"
    rf"(?:(?:is |[a-z]+['\"]? ?[:=]){_BETWEEN}*)?([a-z0-9]+){_BETWEEN}*"
)
"""A line of a running number, maybe with a word before it, and a word: "d0: 2", "char_1 = w", "pos3 is k"."""
_ENDS = (re.compile("[\n,;&{}]"), re.compile("[{}]"))
"""What ends a part of data on one line, or an object among several."""
_FEWEST_LABELS = 4
_OUTER_PIPE = re.compile(r"^[ \t]*\||\|[ \t]*$")
_RULER = frozenset(" \t|:+-")
"""Signs of a line that parts the head of a table from its rows."""
_LONGEST_NUMBER = 4  # of a row


def without_labels(text: str) -> str:
    r"""A text without the running numbers of its lines, where each has one word or sign behind it.

    In small letters: "sign 1: 4", "| 2 | 8 |". A reader takes the numbers for places and reads on in what
    stands behind them. Numbers that do not run from 0 or 1 in order are no places.

    >>> without_labels("sign 1: 4\nsign 2: 8\nsign 3: 2\nsign 4: 1").split()
    ['4', '8', '2', '1']
    """
    lines = text.split("\n")
    for run in _labelled_runs(lines):
        for at, word in run if len(run) >= _FEWEST_LABELS else ():
            lines[at] = word
    return "\n".join(lines)


def _labelled_runs(lines: Sequence[str]) -> Iterator[list[tuple[int, str]]]:
    """Lines whose numbers run in order, and what stands behind these; lines without a word only part them."""
    run: list[tuple[int, str]] = []
    due = -1
    for at, line in enumerate(lines):
        found = _LABELLED.fullmatch(line)
        if found is None and not WORD.search(line):
            continue
        number = int(found[1]) if found else -1
        if found is None or number != due:
            yield run
            run = []
        if found and (run or number in (0, 1)):
            run.append((at, found[2]))
            due = number + 1
    yield run


def label_columns(text: str) -> Iterator[list[str]]:
    r"""What stands behind running numbers in data on one line: "{d0: 4, d1: 8, d2: 2, d3: 1}".

    >>> list(label_columns('{"d0":"4","d1":"8","d2":"2","d3":"1"}'))
    [['4', '8', '2', '1']]
    """
    if sum(map(text.count, ":=>")) < _FEWEST_LABELS:
        return
    for ends in _ENDS:
        for run in _labelled_runs(ends.split(text)):
            if len(run) >= _FEWEST_LABELS:
                yield [word for _, word in run]


def table_columns(text: str) -> Iterator[list[str]]:
    r"""Columns of one word or sign a cell, in tables of several columns: with "|" or tabs between them.

    A reader reads such a column downwards, unless numbers beside it that do not run from 0 or 1 in order
    tell another order.

    >>> list(table_columns("1 | 4 | a digit\n2 | k | a letter\n3 | 2 | a digit\n4 | 1 | a digit"))
    [['4', 'k', '2', '1']]
    """
    for rows in _tables(text):
        columns = [[WORD.findall(cell) for cell in column] for column in zip(*rows, strict=True)]
        words = [[one[0] for one in column] if set(map(len, column)) == {1} else [] for column in columns]
        numbers = [bool(column) and all(map(str.isdecimal, column)) for column in words]
        runs = [is_one and _is_running(column) for column, is_one in zip(words, numbers, strict=True)]
        for at, column in enumerate(words):
            beside = [place for place, is_one in enumerate(numbers) if is_one and place != at]
            if column and not runs[at] and (not beside or any(runs[place] for place in beside)):
                yield column


def _tables(text: str) -> Iterator[list[list[str]]]:
    """Rows below each other with as many cells, two or more; without a head that has a line below it."""
    rows: list[list[str]] = []
    for line in (*text.split("\n"), "") if "|" in text or "\t" in text else ():
        if "-" in line and _RULER.issuperset(line):
            rows = [] if len(rows) == 1 and "|" in line else rows
            continue
        cells = _OUTER_PIPE.sub("", line).split("|" if "|" in line else "\t")
        if rows and len(cells) != len(rows[0]):
            if len(rows) >= _FEWEST_LABELS:
                yield rows
            rows = []
        if len(cells) > 1:
            rows.append(cells)


def _is_running(numbers: Sequence[str]) -> bool:
    """Whether numbers run in order from 0 or 1."""
    first = int(numbers[0][:_LONGEST_NUMBER])
    return first in (0, 1) and list(numbers) == [str(first + at) for at in range(len(numbers))]
