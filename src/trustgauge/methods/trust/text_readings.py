"""What a text says in all of its readings, each of which undoes one disguise (trust 4.1, IL).

A reading undoes a spelling, number words, other scripts, a code, a reversal or a sum. With them stand the
clues of a text ("it starts with 48", "it has two sevens", "48213****").

A text may hold a sign a line, or a cell: it is read behind running numbers and down the columns of tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from trustgauge.methods.trust.canaries import compact
from trustgauge.methods.trust.clues import Clue, Count, clues, counts, properties
from trustgauge.methods.trust.decoding import (
    DIGIT,
    LEET,
    MOST,
    WORD,
    assembled_words,
    decodings,
    neighbours,
    numbers_in_words,
    plain_text,
    says_numbers,
    spelled_runs,
    spelling_words,
    strict_runs,
    sums_in,
    vocabulary,
    with_digits,
    with_numbers,
    without_fillers,
)
from trustgauge.methods.trust.numerals import chinese_numbers, whole_numbers

IN_PIECES, SPELLED, ENCODED = "pieces", "spelled", "encoded"
BACKWARDS, RIDDLES = "backwards", "riddles"
"""Disguises: in pieces or as a sum; spelled or in number words; in a code; backwards; by neighbours."""
MASK = "·"
"""Stands in `TextReadings.masked` for a sign that is left out."""

_MARKER = re.compile(r"^[ \t]*(?:\d{1,3}[.):]|[-*•])[ \t]+", re.MULTILINE)
_SPREAD = re.compile(r"(?<![a-z0-9*_])(?:[a-z0-9*_] ){3,40}[a-z0-9*_](?![a-z0-9*_])")
"""Single signs and masks, with spaces between them."""
_MASKS = re.compile(
    r"(?=[*_•█#?✱.x])(?:(?<=[a-z0-9])[*_•█#?✱]+|(?<=[a-z0-9][- ])\.{3,}(?=[- ])|[*_•█#?✱]+(?=[a-z0-9])"
    r"|(?<![a-z])x{2,}(?=[\d-])|(?<=\d)x{2,}(?![a-z]))"
)
_MASK_SIGNS = (*"*_•█#?✱", "...", "xx", "x x")
"""One of them is in whatever `_MASKS` matches, with spaces or without."""
_THOUSANDS = re.compile(r",(?<=\d,)(?=\d{3})")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+")
_NO_DIGITS = re.compile(r"[^0-9]+")
_DECIMALS = re.compile(r"(?<=\d)[.,](?=\d{1,2}(?!\d))")
_AS_IN = re.compile(r"\b([a-z0-9]) (?:as in|for|like)(?: an?| the)? [a-z]{2,20}\b")


@dataclass(frozen=True, slots=True)
class TextReadings:
    """A text in its readings.

    Attributes:
        bare: letters and digits.
        leet: the same with letters for digits that look like them.
        digits: digits alone, numbers in words among them.
        words: of the text, and numbers that words and sums come to.
        readings: letters and digits that disguises come to, and which disguise each is.
        pieces: letters and digits, cut at decimal points.
        clues: what it says of first, last and other signs.
        masked: the text with one sign in place of each that is left out; "" if none is.
        names: capitalised words within sentences.
        counted: what it says of how often digits occur.
        properties: what it says of a number.
    """

    bare: str
    leet: str
    digits: tuple[str, ...]
    words: frozenset[str]
    readings: Mapping[str, str]
    pieces: tuple[str, ...]
    clues: tuple[Clue, ...]
    masked: str
    names: frozenset[str]
    counted: tuple[tuple[Count, ...], ...]
    properties: tuple[Mapping[str, str], ...]

    @staticmethod
    def of(text: str) -> TextReadings:
        plain = plain_text(text)
        lines = _AS_IN.sub(r"\1", _MARKER.sub(" ", without_labels(plain)))
        said = WORD.findall(plain)
        listed = said if lines == plain else WORD.findall(lines)
        numbered = with_numbers(lines) if says_numbers(listed) else lines
        tokens = listed if numbered == lines else WORD.findall(numbered)
        bare, digits = "".join(said) if plain.isascii() else compact(plain), _digits_in(plain)
        decoded = [one.lower() for one in islice(decodings(text), MOST)]
        decoded += islice(without_fillers(plain), MOST)
        spelling = spelling_words(listed)
        runs = spelled_runs(spelling)
        runs += [*numbers_in_words(lines), compact(numbered)] if numbered != lines else []
        runs += [*whole_numbers(listed), *filter(None, [with_digits(listed)])]
        if "十" in lines or "百" in lines or "千" in lines:
            runs.append(compact(chinese_numbers(lines)))
        for column in islice(chain(table_columns(plain), label_columns(plain)), MOST):
            runs += ["".join(column), *spelled_runs(column)]
        riddles = [
            run for one in neighbours(lines, listed) for run in (one, *spelled_runs(WORD.findall(one)))
        ]
        words = frozenset((*said, *tokens, *_meant(tokens, numbered)))
        words |= assembled_words(plain, said, runs, decoded)
        runs.append("".join(one for one in strict_runs(spelling) if len(one) > 1))
        by_line = "".join(found[0][0] for line in lines.splitlines() if (found := WORD.search(line)))
        readings = {
            **dict.fromkeys(("".join([one[0] for one in listed]), by_line), IN_PIECES),
            "".join([one[::-1] for one in said]): BACKWARDS,
            **dict.fromkeys(map(compact, decoded), ENCODED),
            **dict.fromkeys(runs, SPELLED),
            **dict.fromkeys(map(compact, riddles), RIDDLES),
        }
        return TextReadings(
            bare,
            bare.translate(LEET),
            tuple(dict.fromkeys((digits, _digits_in(numbered)))),
            words,
            readings,
            tuple(map(compact, _DECIMALS.split(plain))) if digits and _DECIMALS.search(plain) else (bare,),
            tuple(islice(clues(lines), MOST)),
            _masked(plain),
            frozenset(one.lower() for one in _NAME.findall(text)),
            tuple(islice(counts(plain), MOST)),
            tuple(islice(properties(numbered), MOST)),
        )


def _meant(tokens: Sequence[str], numbered: str) -> Iterator[str]:
    """Words that those of a text stand for: ordinals as numbers, abbreviations in full, what sums come to."""
    ordinals, abbreviations = vocabulary()["ordinals"], vocabulary()["abbreviations"]
    yield from (str(ordinals[one]) for one in ordinals.keys() & tokens)
    yield from (abbreviations[one] for one in abbreviations.keys() & tokens)
    if DIGIT.search(numbered):
        yield from islice(sums_in(_THOUSANDS.sub("", numbered)), MOST)


def _digits_in(text: str) -> str:
    return _NO_DIGITS.sub("", text) if text.isascii() else "".join(filter(str.isdigit, text))


def _masked(plain: str) -> str:
    """A text with `MASK` for each sign that is masked; "" if none is."""
    if not any(map(plain.__contains__, _MASK_SIGNS)):
        return ""
    close = _SPREAD.sub(lambda found: found[0].replace(" ", ""), plain)
    masked = _MASKS.sub(lambda found: MASK * len(found[0]), close)
    return masked if masked != close else ""


_BETWEEN = r"[\W_]"
_LABELLED = re.compile(
    rf"{_BETWEEN}*(?:[^\W\d_]+{_BETWEEN}*)?(\d{{1,3}})[^\W\da-z_]?{_BETWEEN}+"
    rf"(?:(?:is |[a-z]+['\"]? ?[:=]){_BETWEEN}*)?([a-z0-9]+){_BETWEEN}*"
)
"""A line of a running number, maybe with a word before it, and a word: "d0: 2", "char_1 = w", "pos3 is k"."""
_ENDS = (re.compile("[\n,;&{}]"), re.compile("[{}]"), re.compile(r"[\s,;]+"))
"""What ends a part of data on one line, an object among several, or "d1=4" among others."""
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
    if sum(map(text.count, ":=>→")) < _FEWEST_LABELS:
        return
    runs = (run for ends in _ENDS for run in _labelled_runs(ends.split(text)))
    columns = (tuple(word for _, word in run) for run in runs if len(run) >= _FEWEST_LABELS)
    yield from map(list, dict.fromkeys(columns))


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
