"""Where many texts name the groups that they are about, found for all of them in one pass.

The same names at the same places as in `names.py`, which looks for the two groups of one question in one
text. Here each word of all texts is looked up: whether names of its own text's groups begin as it does, and
if so, whether they stand there. A text of which it cannot be told so is not settled here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trustgauge.methods.social_bias.judges.forms import LETTER, WORD, Forms, heads_of
from trustgauge.methods.social_bias.judges.marks import FILL, FIRST, SECOND
from trustgauge.methods.social_bias.judges.plain import BEGINS_HAN, Bytes, Flags, Laid, Places, told

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
    # A Chinese character is part of a word, unless it is part of a name.
    doubtful = bounded & (BEGINS_HAN[behind] | BEGINS_HAN[of.bytes[starts - 3]])
    unsettled = forms.odd[first] | forms.odd[second]
    unsettled[rows[whole & doubtful]] = True
    kept = np.flatnonzero(whole)
    kept = kept[np.argsort(starts[kept], kind="stable")]
    if (starts[kept[1:]] < ends[kept[:-1]]).any():
        kept = kept[np.lexsort((-ends[kept], starts[kept]))]
        clear = forms.simple[which[kept]]
        within, mixed = _overlaps(of.bytes, starts[kept], ends[kept], is_first[kept], clear)
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
    likely = np.flatnonzero(heads)
    starts, heads = starts[likely], heads[likely]
    rows = np.repeat(np.arange(len(first)), np.diff(np.searchsorted(starts, of.starts)))
    bits = (forms.bits[first] | forms.bits[second])[rows]
    likely = np.flatnonzero(bits >> (heads % 64).astype(np.uint64) & np.uint64(1))
    starts, heads, rows = starts[likely], heads[likely], rows[likely]
    pairs = [_with_names(groups[rows] * forms.cells.shape[1] + heads, forms) for groups in (first, second)]
    at, which = (np.concatenate(both) for both in zip(*pairs, strict=True))
    found = forms.spelling.stands(of.bytes, starts[at], which)
    at = at[found]
    return starts[at], rows[at], which[found], found < len(pairs[0][0])


def _with_names(cells: Places, forms: Forms) -> tuple[Places, Places]:
    """The places of cells in which there are names, once for each name, and these names."""
    found = forms.counts.ravel().take(cells)
    here = np.flatnonzero(found)
    counts = found[here].astype(np.int64)
    at = np.repeat(here, counts)
    # The names in a cell lie one behind another.
    nth = np.arange(len(at)) - np.repeat(np.cumsum(counts) - counts, counts)
    return at, forms.cells.ravel().take(cells[at]) + nth


def _overlaps(texts: Bytes, starts: Places, ends: Places, first: Flags, simple: Flags) -> tuple[Flags, Flags]:
    """Which names are within others, and which overlap so that `names.py` must look.

    Names are in the order of their starts, longer ones first. Where they lie within each other the
    outermost, which is the leftmost and longest, counts: among names of one group always, of two groups
    if the inner one stands there between spaces, by which `names.py` knows that it must look for both at
    once.
    """
    reach = np.maximum.accumulate(ends)
    before = np.concatenate([[0], reach[:-1]])  # how far the names before it reach
    within = ends <= before
    holder = np.maximum.accumulate(np.where(within, 0, np.arange(len(starts))))
    same_start, same_end = starts == starts[holder], ends == ends[holder]
    left = same_start | (texts[starts - 1] == SPACE)
    right = same_end | (texts[ends] == SPACE)
    clear = (first == first[holder]) | (simple & left & right & ~(same_start & same_end))
    return within, np.where(within, ~clear, starts < before)


def held(of: Laid, named: Named, turned: Flags) -> Bytes:
    """The bytes of texts with their names replaced by held places of the same length.

    Args:
        of: the texts.
        named: names in them.
        turned: for each text, whether its second group is held as the first, and the other way round.
    """
    inside = np.zeros(len(of.bytes), dtype=np.int8)
    inside[named.starts] += 1
    inside[named.ends] -= 1  # names do not overlap, so that no place is met twice
    np.cumsum(inside, dtype=np.int8, out=inside)
    filled = of.bytes.copy()
    np.copyto(filled, ord(FILL), where=inside.view(np.bool_))
    is_first = named.first != turned[named.rows]
    filled[named.starts] = np.where(is_first, np.uint8(ord(FIRST)), np.uint8(ord(SECOND)))
    return filled
