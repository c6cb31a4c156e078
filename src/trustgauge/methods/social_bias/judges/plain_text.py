"""Plain texts, many at once: which they are, and how they lie in memory.

A plain text is short and made of letters, signs and Chinese characters that fold one to one (social-bias 3.6
sound, step 1), with single spaces, no line breaks and no backticks. All others are read one by one
(`sound.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trustgauge.methods.social_bias.judges.lexer import FILL

LONGEST = 1_000  # bytes
HAN = "一-龥"
"""Characters of Chinese that are words in every version of Unicode."""
SIGNS = "—–“”《》「」『』【】、。·•\U0001f300-\U0001f64f\U0001f900-\U0001f9ff"
"""Signs that belong to no word and fold to themselves."""
ACCENTED = dict(zip("áàâäãåāéèêëíïñóôöøúüçčğš", "ABCDEFGHIJKLMNOPRSTUVWXY", strict=True))
"""Letters that take more than a byte -> letters that stand for them: capitals, which no folded text has."""
ELLIPSIS = "…"
"""It folds to three stops, which say no more than one."""
FOLDED = {
    **{"‘": "'", "’": "'", "，": ",", "？": "?", "！": "!"},
    **{"：": ":", "；": ";", "（": "(", "）": ")", "～": "~", "％": "%", ELLIPSIS: "."},
    **ACCENTED,
    **{letter.upper(): capital for letter, capital in ACCENTED.items()},
}
"""Characters that are written as another, besides those of ASCII."""
LETTERS = f"a-z0-9{''.join(ACCENTED.values())}"
"""What English words are made of, as they are written."""
PLAIN = rf"^(?: ?[!-_a-~{HAN}{SIGNS}{''.join(FOLDED)}])* ?$"
END = 0
"""The byte behind each text; no plain text holds it."""

BEGINS_HAN = np.zeros(256, dtype=bool)
BEGINS_HAN[0xE4:0xEA] = True
"""First bytes of the Chinese characters of plain texts; no other sign of theirs has them."""

CONTINUES = (np.arange(256) & 0xC0) == 0x80
"""Bytes of characters of more than one, behind the first."""

BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1, dtype=np.uint8)
"""How many bits of a byte are set."""
BELOW = (1 << np.arange(8)) - 1
"""The bits of a byte that are below each."""

Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]
Flags = NDArray[np.bool_]
_FIRST_OF_FOLDED = sorted({character.encode()[0] for character in FOLDED})
_INSTEAD = np.zeros(1 << 16, dtype=np.uint8)
_INSTEAD[list(map(ord, FOLDED))] = list(map(ord, FOLDED.values()))


def is_plain(column: str) -> pl.Expr:
    """Whether the text of a column is plain."""
    text = pl.col(column)
    return (text.str.len_bytes() <= LONGEST) & text.str.contains(PLAIN)


def may_fold_otherwise(column: str) -> pl.Expr:
    """Whether a plain text may hold what folds to more characters than it has, or that again."""
    return pl.col(column).str.contains(rf"{ELLIPSIS}|\.\.")


def is_han(column: str) -> pl.Expr:
    """Whether a plain text has Chinese characters."""
    return pl.col(column).str.contains(f"[{HAN}]")


def is_wide(column: str) -> pl.Expr:
    """Whether a text has characters beyond ASCII."""
    return pl.col(column).str.len_bytes() != pl.col(column).str.len_chars()


def folded(text: pl.Expr) -> pl.Expr:
    """A plain text as `marks.folded` folds it, but that its letters are written with `FOLDED`."""
    return text.str.to_lowercase().str.replace_many(list(FOLDED), list(FOLDED.values()))


@dataclass(frozen=True, slots=True)
class Laid:
    """Folded texts one behind another, each with a byte `END` behind it.

    Attributes:
        bytes: all of them, in UTF-8; accented letters are written as `ACCENTED`.
        starts: where each begins, and where the next would: texts + 1 places.
        ascii: whether every character is one byte.
        han: whether there are Chinese characters.
    """

    bytes: Bytes
    starts: Places
    ascii: bool
    han: bool


def one_text(texts: Bytes, without: str = "") -> pl.Series:
    """The text of bytes in UTF-8, without a character of ASCII."""
    return pl.Series([texts.tobytes().translate(None, without.encode())]).cast(pl.String)


def told(texts: Bytes, table: Bytes) -> Bytes:
    """What a table of 256 bytes tells of each byte; quicker than to index it with bytes."""
    return np.frombuffer(texts.tobytes().translate(table.tobytes()), dtype=np.uint8)


def laid(texts: pl.Series) -> Laid:
    """Plain texts as `marks.folded` folds them; each character stays at its place in its text."""
    whole = pl.concat([texts, pl.Series([""])]).str.join("\0").cast(pl.Binary)[0].lower()  # ASCII alone
    written = np.frombuffer(whole, dtype=np.uint8)
    ascii = whole.isascii()
    if not ascii:
        written = _narrowed(written)
        ascii = bool((written < 0x80).all())
    starts = np.concatenate([[0], np.flatnonzero(written == END) + 1])
    # Smaller bytes than the first one of Chinese characters become large numbers.
    han = not ascii and bool((written - np.uint8(0xE4) < np.uint8(0xEA - 0xE4)).any())
    return Laid(written, starts, ascii, han)


def _among(texts: Bytes, first: str, last: str) -> Flags:
    """Which bytes are from `first` to `last`; smaller ones become large numbers when `first` is taken off."""
    return texts - np.uint8(ord(first)) <= ord(last) - ord(first)


def in_words(texts: Bytes) -> Flags:
    """Which bytes are of words of letters, hyphens and underscores; no name may begin or end beside them."""
    found = _among(texts, "a", "z")
    for first, last in (("A", "Y"), ("0", "9"), ("-", "-"), ("_", "_")):
        found |= _among(texts, first, last)
    return found


def _narrowed(texts: Bytes) -> Bytes:
    """UTF-8 in which the characters of `FOLDED`, of two or three bytes each, are written as one."""
    may_narrow = np.zeros(len(texts), dtype=bool)
    for byte in _FIRST_OF_FOLDED:
        may_narrow |= texts == byte
    leads = np.flatnonzero(may_narrow)
    first = texts[leads].astype(np.int64)
    second, third = (
        texts[np.minimum(leads + place, len(texts) - 1)].astype(np.int64) & 63 for place in (1, 2)
    )
    wide = first >= 0xE0
    codes = np.where(wide, (first & 15) << 12 | second << 6 | third, (first & 31) << 6 | second)
    instead = _INSTEAD[codes]
    found = instead > 0
    leads, wide = leads[found], wide[found]
    narrow = texts.copy()
    narrow[leads] = instead[found]
    narrow[leads + 1] = narrow[leads[wide] + 2] = ord(FILL)  # no text holds it yet
    return np.frombuffer(narrow.tobytes().translate(None, FILL.encode()), dtype=np.uint8)


def characters(texts: Bytes, *places: Places) -> list[Places]:
    """How many characters lie before the byte at each of the places, which may be the one behind the last."""
    behind = np.packbits((texts & 0xC0) == 0x80, bitorder="little")  # eight bytes to a number
    behind = np.append(behind, np.uint8(0))
    counts = np.cumsum(BITS[behind], dtype=np.int64) - BITS[behind]
    return [one - counts[one >> 3] - BITS[behind[one >> 3] & BELOW[one & 7]] for one in places]
