"""The names of many groups, laid out so that those that may stand at a place are found at once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from trustgauge.data.social_groups import Group
from trustgauge.methods.social_bias.judges.lexer import HAN
from trustgauge.methods.social_bias.judges.names import all_forms
from trustgauge.methods.social_bias.judges.plain_text import (
    ACCENTED,
    BEGINS_HAN,
    CONTINUES,
    LETTERS,
    PLAIN,
    Bytes,
    Flags,
    Places,
    in_words,
)
from trustgauge.methods.social_bias.judges.spelling import Spelling, spelling

WRITTEN = str.maketrans(ACCENTED)
REGULAR = re.compile(rf"[{LETTERS}](?:.*[{LETTERS}])?", re.DOTALL)
"""A name without Chinese characters that begins and ends as a word does."""
STRANGE = re.compile(r"\s\s|[^\S ]|\.\.")
"""What `names.py` takes for one space, and an ellipsis, in a name."""
SIMPLE = re.compile(rf"(?:[{LETTERS} ]|{HAN.pattern})+")
USUAL = re.compile("[a-z]+(?:[ -][a-z]+)*[a-z]")
"""A name as most are, with no more to find out about it."""
IS_PLAIN = re.compile(PLAIN)
MOST_CELLS = 30_000_000
MOST_ALIKE = 255  # names of a group that begin alike
WORD = in_words(np.arange(256, dtype=np.uint8))
LETTER = np.where(WORD | BEGINS_HAN | CONTINUES, np.arange(256), 0).astype(np.uint8)
"""Bytes of words of letters and of Chinese characters; others, which stand between words, are 0."""
HEADS = 16  # bits


def heads_of(letters: Bytes, starts: Places) -> NDArray[np.uint32]:
    """Numbers of what begins at `starts`, equal where three bytes of `LETTER` are; 0 is behind the last."""
    padded = np.concatenate([letters, np.zeros(3, dtype=np.uint8)])
    # Laid out in memory first: that is quicker than to pick numbers that lie within each other.
    fours = np.ndarray((len(letters),), "<u4", padded, strides=(1,)).astype(np.uint32).take(starts)
    fours &= np.uint32(0xFFFFFF)
    fours *= np.uint32(0x9E3779B1)  # an odd number that mixes all bits into the upper ones
    fours >>= np.uint32(32 - HEADS)
    return fours


@dataclass(frozen=True, slots=True)
class Forms:
    """The names of groups, which have codes 0, 1, ...; the last code is of no group.

    A cell is a group and a head, by which names begin (`heads_of`). Names of one cell lie one behind another.

    Attributes:
        heads: head -> its number; 0 if no name begins so.
        cells: number of the first name in each cell, [groups + 1, heads + 1].
        counts: how many names there are in it.
        bits: for each group the bits of the numbers of its heads, modulo 64.
        spelling: of each name.
        bounded: whether a name counts only as a whole word.
        simple: whether it has no signs but spaces.
        odd: for each group, whether it has a name that only `names.py` can find.
    """

    heads: NDArray[np.int32]
    cells: NDArray[np.int32]
    counts: Bytes
    bits: NDArray[np.uint64]
    spelling: Spelling
    bounded: Flags
    simple: Flags
    odd: Flags


@lru_cache(maxsize=4)
def forms_of(groups: tuple[Group | None, ...], *, chinese: bool) -> Forms:
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
    here, number = np.unique(heads_of(LETTER[begins], np.arange(0, len(begins), 3)), return_inverse=True)
    shape = (len(groups) + 1, len(here) + 1)
    if shape[0] * shape[1] > MOST_CELLS:
        return _none_of(len(odd))
    heads = np.zeros(1 << HEADS, dtype=np.int32)
    heads[here] = np.arange(1, len(here) + 1)
    order = np.lexsort((number, of))
    cell = (of * shape[1] + number + 1)[order]
    counts = np.bincount(cell, minlength=shape[0] * shape[1])
    if counts.max() > MOST_ALIKE:
        return _none_of(len(odd))
    cells = np.cumsum(counts, dtype=np.int32) - counts.astype(np.int32)
    bits = np.zeros(shape[0], dtype=np.uint64)
    np.bitwise_or.at(bits, of, np.uint64(1) << ((number + 1) % 64).astype(np.uint64))
    named = _names([names[at] for at in order])
    return Forms(heads, cells.reshape(shape), counts.astype(np.uint8).reshape(shape), bits, *named, odd)


def _none_of(groups: int) -> Forms:
    """What to take where there are so many groups, or names of one, that all texts are left to `names.py`."""
    heads, bits = np.zeros(1 << HEADS, dtype=np.int32), np.zeros(groups, dtype=np.uint64)
    cells, counts = np.zeros((groups, 1), dtype=np.int32), np.zeros((groups, 1), dtype=np.uint8)
    return Forms(heads, cells, counts, bits, *_names([]), np.ones(groups, dtype=bool))


def _names(names: Sequence[str]) -> tuple[Spelling, Flags, Flags]:
    """Names as they are spelled, and whether each is bounded and simple."""
    chinese = np.array([not name.isascii() and HAN.search(name) is not None for name in names], dtype=bool)
    simple = np.array([SIMPLE.fullmatch(name) is not None for name in names], dtype=bool)
    return spelling(names), ~chinese, simple


@lru_cache(maxsize=20_000)
def _written(group: Group) -> tuple[tuple[str, bool, bool], ...]:
    """The names of a group that plain texts can hold: as written, whether Chinese, whether strange."""
    found = []
    for form in all_forms(group):
        if USUAL.fullmatch(form):
            found.append((form, False, False))
            continue
        strange, written = STRANGE.search(form) is not None, form.translate(WRITTEN)
        if strange or IS_PLAIN.search(form):
            han = HAN.search(form) is not None
            regular = han or (len(written) > 1 and REGULAR.fullmatch(written) is not None)
            found.append((written, han, strange or not regular))
    return tuple(found)
