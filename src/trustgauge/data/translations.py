"""Translations beside a table, and the choice between two independent ones (social-bias 3.1, 3.2 step 6).

Of two, the second stands if they are alike enough, else a person decides.
"""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from trustgauge.data.tables import CHINESE, fault, text_of_table

TRANSLATION = "Translation"
"""The column of a file of translations alone."""
ALIKE = 0.7
"""Translations less alike than this are given to a person."""
LENGTHS = (1, 2)
Similarity = Callable[[Sequence[tuple[str, str]]], Sequence[float]]
"""Pairs of texts -> how alike they are: cosines of whatever vectors it takes."""


def ngram_cosines(pairs: Sequence[tuple[str, str]]) -> list[float]:
    """Cosine of the counts of n-grams of one and two characters, spaces left out, for each pair.

    No vectors of meaning: translations with the same sense in other characters count as unlike and go
    to a person, which is the safe side.

    >>> [round(one, 2) for one in ngram_cosines([("很穷", "很穷"), ("很穷", "贫穷"), ("好", "坏")])]
    [1.0, 0.33, 0.0]
    """
    return [_cosine(_grams(one), _grams(other)) for one, other in pairs]


def settle(
    pairs: Sequence[tuple[str, str]], similarity: Similarity = ngram_cosines, alike: float = ALIKE
) -> list[tuple[str, float | None]]:
    """The translation that stands, for each pair of independent ones.

    Returns:
        For each pair the second translation if both are alike, else ""; and how alike they are, None
        if one of them is missing, so that nothing can be compared.
    """
    full = [place for place, pair in enumerate(pairs) if all(pair)]
    facts = dict(zip(full, similarity([pairs[place] for place in full]), strict=True)) if full else {}
    found: list[tuple[str, float | None]] = []
    for place, (_, second) in enumerate(pairs):
        value = facts.get(place)
        found.append((second if value is not None and value >= alike else "", value))
    return found


def _grams(text: str) -> Counter[str]:
    plain = "".join(text.split())
    return Counter(plain[place : place + n] for n in LENGTHS for place in range(len(plain) - n + 1))


def _cosine(one: Counter[str], other: Counter[str]) -> float:
    product = sum(count * other[gram] for gram, count in one.items())
    lengths = math.sqrt(
        sum(count * count for count in one.values()) * sum(count**2 for count in other.values())
    )
    return product / lengths if lengths else 0.0


def row_by_row(file: Path, place: str, rows: int) -> list[str]:
    """The translations of a file with one column, one for each row of a table.

    Args:
        file: CSV with the header `TRANSLATION`, UTF-8 or GB18030.
        place: of the setting that names the file, for errors.
        rows: of the table.

    Raises:
        PlanError: the file has another number of rows, so nobody can tell which belongs to which.
    """
    text = text_of_table(file, place, CHINESE)
    try:
        lines = list(csv.reader(io.StringIO(text, newline="")))
    except csv.Error as error:
        raise fault(file, place, "the file cannot be read as csv", got=str(error)) from None
    head, *cells = [line[0].strip() if line else "" for line in lines] or [""]
    if head != TRANSLATION:
        raise fault(
            file,
            place,
            "not a file of translations",
            must=f"the header {TRANSLATION}",
            got=head,
        )
    while len(cells) > rows and not cells[-1]:
        cells.pop()
    if len(cells) != rows:
        raise fault(
            file,
            place,
            "the translations do not match the table row by row",
            must=f"{rows:,} rows",
            got=f"{len(cells):,}",
            do="Export both again from one table",
        )
    return cells
