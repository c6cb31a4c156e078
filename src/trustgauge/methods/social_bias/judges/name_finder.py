"""Where many texts name the groups that they are about, found for all of them in one pass.

The same names at the same places as in `names.py`, which looks for the two groups of one question in one
text. Here each word of all texts is looked up: whether names of its own text's groups begin as it does, and
if so, whether they stand there. A text of which it cannot be told so is not settled here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trustgauge.methods.social_bias.judges.forms import LETTER, WORD, Forms, heads_of
from trustgauge.methods.social_bias.judges.lexer import FILL, FIRST, SECOND
from trustgauge.methods.social_bias.judges.plain_text import (
    BEGINS_HAN,
    LONGEST,
    Bytes,
    Flags,
    Laid,
    Places,
    told,
)

SPACE = ord(" ")


@dataclass(frozen=True, slots=True)
class Named:
    """Names in texts, in their order.

    Attributes:
        rows: the text each stands in.
        starts: its first byte, among the bytes of all texts.
        ends: the byte behind its last.
        first: whether it is one of the first group of its text, else of the second.
        unsettled: for each text, whether `names.py` must look; its names are not here.
    """

    rows: Places
    starts: Places
    ends: Places
    first: Flags
    unsettled: Flags


def names_in(of: Laid, forms: Forms, first: Places, second: Places) -> Named:
    """The names of the groups `first` and `second` (codes, one of each for each text) in texts."""
    starts, rows, which, is_first = _candidates(of, forms, first, second)
    ends = starts + forms.spelling.lengths[which]
    before, behind, bounded = of.bytes[starts - 1], of.bytes[ends], forms.bounded[which]
    # Before the first byte stands none, which is as good as the last: it is behind a text.
    whole = ~(bounded & (WORD[before] | WORD[behind]))
    unsettled = forms.odd[first] | forms.odd[second]
    if of.han:  # a Chinese character is part of a word, unless it is part of a name
        doubtful = bounded & (BEGINS_HAN[behind] | BEGINS_HAN[of.bytes[starts - 3]])
        unsettled[rows[whole & doubtful]] = True
    kept = np.flatnonzero(whole)
    # By where they start, longer ones first; that leaves two rows in order to merge.
    kept = kept[np.argsort((starts * (LONGEST + 1) - (ends - starts))[kept], kind="stable")]
    if (starts[kept[1:]] < ends[kept[:-1]]).any():
        names = which[kept]
        kinds = forms.simple[names], forms.bounded[names]
        within, mixed = _overlaps(of.bytes, (starts[kept], ends[kept]), is_first[kept], *kinds)
        unsettled[rows[kept[mixed]]] = True
        kept = kept[~within]
    kept = kept[~unsettled[rows[kept]]]
    return Named(rows[kept], starts[kept], ends[kept], is_first[kept], unsettled)


def _candidates(
    of: Laid, forms: Forms, first: Places, second: Places
) -> tuple[Places, Places, Places, Flags]:
    """What is spelled as names: the first byte, the text, the name, and whether of its first group."""
    letters = told(of.bytes, LETTER)
    if of.han:
        begins = (of.bytes & 0xC0) != 0x80  # Chinese names begin anywhere
        begins[-1] = False
    else:
        begins = (letters - np.uint8(1)) < 127  # 0 becomes the largest number
        np.greater(begins[1:], begins[:-1], out=begins[1:])
    starts = np.flatnonzero(begins)
    heads = forms.heads.take(heads_of(letters, starts))
    likely = np.flatnonzero(heads != 0)
    starts, heads = starts[likely], heads[likely]
    rows = np.repeat(np.arange(len(first)), np.diff(np.searchsorted(starts, of.starts)))
    bits = (forms.bits[first] | forms.bits[second])[rows]
    likely = np.flatnonzero((bits >> (heads & 63).astype(np.uint64) & np.uint64(1)).astype(np.bool_))
    starts, heads, rows = starts[likely], heads[likely], rows[likely]
    pairs = [_with_names(groups[rows] * forms.cells.shape[1] + heads, forms) for groups in (first, second)]
    at, which = (np.concatenate(both) for both in zip(*pairs, strict=True))
    found = forms.spelling.stands(of.bytes, starts, at, which)
    at = at[found]
    return starts[at], rows[at], which[found], found < len(pairs[0][0])


def _with_names(cells: Places, forms: Forms) -> tuple[Places, Places]:
    """The places of cells in which there are names, once for each name, and these names."""
    found = forms.counts.ravel().take(cells)
    here = np.flatnonzero(found != 0)
    counts = found[here].astype(np.int64)
    # The names in a cell lie one behind another.
    names = np.repeat(forms.cells.ravel().take(cells[here]) - np.cumsum(counts) + counts, counts)
    return np.repeat(here, counts), names + np.arange(len(names))


def _overlaps(
    texts: Bytes, spans: tuple[Places, Places], first: Flags, simple: Flags, bounded: Flags
) -> tuple[Flags, Flags]:
    """Which names are within others, and which overlap so that `names.py` must look.

    Names are in the order of their starts, longer ones first. Where they lie within each other the
    outermost, which is the leftmost and longest, counts: among names of one group always, of two groups
    if the inner one is Chinese or stands there between spaces, by which `names.py` knows that it must look
    for both at once.
    """
    starts, ends = spans
    reach = np.maximum.accumulate(ends)
    before = np.concatenate([[0], reach[:-1]])  # how far the names before it reach
    within = ends <= before
    holder = np.maximum.accumulate(np.where(within, 0, np.arange(len(starts))))
    same_start, same_end = starts == starts[holder], ends == ends[holder]
    left = same_start | (texts[starts - 1] == SPACE)
    right = same_end | (texts[ends] == SPACE)
    known = simple & (~bounded | left & right) & ~(same_start & same_end)
    clear = (first == first[holder]) | known
    return within, np.where(within, ~clear, starts < before)


def held(of: Laid, named: Named, turned: Flags) -> Bytes:
    """The bytes of texts with their names replaced by held places of the same length.

    Args:
        of: the texts.
        named: names in them.
        turned: for each text, whether its second group is held as the first, and the other way round.
    """
    filled = of.bytes.copy()
    _fill(filled, named.starts, named.ends)
    is_first = named.first != turned[named.rows]
    filled[named.starts] = np.where(is_first, np.uint8(ord(FIRST)), np.uint8(ord(SECOND)))
    return filled


def _fill(texts: Bytes, starts: Places, ends: Places) -> None:
    """Write `FILL` from starts to ends, eight bytes at a time while there are so many, then fewer."""
    at = starts.copy()
    for width in (8, 4, 2, 1):
        cells = np.ndarray((max(len(texts) - width + 1, 0),), f"u{width}", texts, strides=(1,))
        here = np.flatnonzero(ends - at >= width)
        while len(here):
            cells[at[here]] = int.from_bytes(FILL.encode() * width)
            at[here] += width
            here = here[ends[here] - at[here] >= width]
