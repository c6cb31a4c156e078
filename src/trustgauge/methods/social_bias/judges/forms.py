"""The names of many groups, laid out so that those that may stand at a place are found at once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from trustgauge.data.social_groups import Group
from trustgauge.methods.social_bias.judges.marks import HAN
from trustgauge.methods.social_bias.judges.names import all_forms
from trustgauge.methods.social_bias.judges.plain import (
    ACCENTED,
    LETTERS,
    PLAIN,
    Bytes,
    Flags,
    Places,
    in_words,
)

WRITTEN = str.maketrans(ACCENTED)
REGULAR = re.compile(rf"[{LETTERS}](?:.*[{LETTERS}])?", re.DOTALL)
"""A name without Chinese characters that begins and ends as a word does."""
STRANGE = re.compile(r"\s\s|[^\S ]|\.\.")
"""What `names.py` takes for one space, and an ellipsis, in a name."""
SIMPLE = re.compile(rf"[{LETTERS} ]+")
MOST_CELLS = 30_000_000
WORD = in_words(np.arange(256, dtype=np.uint8))
SYMBOLS = np.arange(256, dtype=np.int32) & 63
SYMBOLS[:128] = np.cumsum(WORD[:128]) * WORD[:128]
"""A number below 64 for each byte: 0 for those between words of letters, its own for one of a word."""


def heads_of(texts: Bytes, starts: Places) -> NDArray[np.int32]:
    """The heads of what begins at `starts` in texts: numbers that are equal where three bytes are."""
    first, second, third = (SYMBOLS[texts.take(starts + place, mode="clip")] for place in range(3))
    return first << 12 | second << 6 | third


@dataclass(frozen=True, slots=True)
class Forms:
    """The names of groups, which have codes 0, 1, ...; the last code is of no group.

    A cell is a group and a head, by which names begin (`heads_of`). Names of one cell lie one behind another.

    Attributes:
        heads: head -> its number; 0 if no name begins so.
        cells: number of the first name in each cell, [groups + 1, heads + 1].
        counts: how many names there are in it.
        lengths: of each name, in bytes.
        eights: the bytes of names, eight to a number, [numbers, names].
        masks: which of these bytes are of the name.
        bounded: whether a name counts only as a whole word.
        simple: whether it has no signs but spaces.
        odd: for each group, whether it has a name that only `names.py` can find.
    """

    heads: NDArray[np.int32]
    cells: NDArray[np.int32]
    counts: NDArray[np.int32]
    lengths: Places
    eights: NDArray[np.uint64]
    masks: NDArray[np.uint64]
    bounded: Flags
    simple: Flags
    odd: Flags


def forms_of(groups: Sequence[Group | None], *, chinese: bool) -> Forms:
    """The names of groups, whose codes are their places; Chinese ones only if some text is Chinese."""
    owners: list[int] = []
    names: list[str] = []
    odd = np.zeros(len(groups) + 1, dtype=bool)
    for code, group in enumerate(groups):
        for written, han, strange in _written(group) if group else ():
            if strange:
                odd[code] = True
            elif chinese or not han:
                owners.append(code)
                names.append(written)
    of = np.array(owners, dtype=np.int64)
    begins = np.frombuffer(b"".join(name.encode()[:3].ljust(3, b"\0") for name in names), dtype=np.uint8)
    here, number = np.unique(heads_of(begins, np.arange(0, len(begins), 3)), return_inverse=True)
    shape = (len(groups) + 1, len(here) + 1)
    if shape[0] * shape[1] > MOST_CELLS:
        return _none_of(len(odd))
    heads = np.zeros(1 << 18, dtype=np.int32)
    heads[here] = np.arange(1, len(here) + 1)
    order = np.lexsort((number, of))
    cell = (of * shape[1] + number + 1)[order]
    counts = np.bincount(cell, minlength=shape[0] * shape[1]).astype(np.int32)
    cells = (np.cumsum(counts) - counts).astype(np.int32)
    return Forms(
        heads, cells.reshape(shape), counts.reshape(shape), *_names([names[at] for at in order]), odd
    )


def _none_of(groups: int) -> Forms:
    """What to take where there are so many groups that all texts are left to `names.py`."""
    empty = np.zeros((groups, 1), dtype=np.int32)
    return Forms(np.zeros(1 << 18, dtype=np.int32), empty, empty, *_names([]), np.ones(groups, dtype=bool))


def _names(
    names: Sequence[str],
) -> tuple[Places, NDArray[np.uint64], NDArray[np.uint64], Flags, Flags]:
    """Lengths, bytes and masks of names, and whether each is bounded and simple."""
    encoded = [name.encode() for name in names]
    lengths = np.array(list(map(len, encoded)), dtype=np.int64)
    width = -(-max(map(len, encoded), default=1) // 8) * 8
    letters = np.frombuffer(b"".join(one.ljust(width, b"\0") for one in encoded), dtype=np.uint8)
    inside = (np.arange(width) < lengths[:, None]).astype(np.uint8) * np.uint8(255)
    chinese = np.array([HAN.search(name) is not None for name in names], dtype=bool)
    simple = np.array([SIMPLE.fullmatch(name) is not None for name in names], dtype=bool)
    eights, masks = (one.reshape(-1, width).view(np.uint64).T.copy() for one in (letters, inside))
    return lengths, eights, masks, ~chinese, simple


@lru_cache(maxsize=20_000)
def _written(group: Group) -> tuple[tuple[str, bool, bool], ...]:
    """The names of a group that plain texts can hold: as written, whether Chinese, whether strange."""
    found = []
    for form in all_forms(group):
        strange, written = STRANGE.search(form) is not None, form.translate(WRITTEN)
        if strange or re.search(PLAIN, form):
            han = HAN.search(form) is not None
            found.append((written, han, strange or not (han or REGULAR.fullmatch(written))))
    return tuple(found)
