"""Many answers as marks: the tokens and marks of `marks.py`, for whole columns of plain texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trustgauge.methods.social_bias.judges.lexer import (
    FILL,
    FIRST,
    HELD,
    PROPERTY,
    SECOND,
    STOPS,
    Language,
    lexicon,
)
from trustgauge.methods.social_bias.judges.plain_text import (
    ACCENTED,
    END,
    HAN,
    LETTERS,
    Bytes,
    Places,
    one_text,
)

GAP = 255
"""The mark of what is no token."""
JOINTS = {"'": "Q", "-": "Z"}
"""Signs within English words -> letters that no folded text holds. So a word ends where letters end, and
what stands behind it (`marks.TAIL`) can be told without looking ahead, in linear time."""
_FROM_LETTERS = {ord(letter): sign for sign, letter in JOINTS.items()}
_FROM_ACCENTED = {ord(letter): accented for accented, letter in ACCENTED.items()}


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of texts that lie one behind another.

    Attributes:
        marks: one byte for each token, and a byte `END` behind the last of each text.
        words: code of the word of each.
        starts: first byte of each.
        ends: the byte behind its last.
        begins: the first token of each text.
        texts: the first byte of each text.
        listed: the words by their codes.
    """

    marks: Bytes
    words: NDArray[np.uint32]
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]
    begins: Places
    texts: Places
    listed: Sequence[str]


def tokens_of(texts: Bytes, language: Language) -> Tokens:
    """Cut plain texts with held names, each with a byte `END` behind it, into tokens."""
    if language == "en":
        texts = texts.copy()
        for sign, letter in JOINTS.items():
            np.copyto(texts, ord(letter), where=texts == ord(sign))
    whole = one_text(texts)
    pieces = whole.str.extract_all(_pattern(language)).explode()
    codes, distinct, _ = coded(pieces)
    told = [_told(piece, language) for piece in distinct]
    lengths = distinct.str.len_bytes().to_numpy().astype(np.int32)
    ends = np.cumsum(lengths[codes], dtype=np.int32)
    marks = np.array([mark for _, mark, _ in told], dtype=np.uint8)[codes]
    kept = np.flatnonzero(marks != GAP)
    codes, ends, marks = codes[kept], ends[kept], marks[kept]
    spaces = np.array([behind for _, _, behind in told], dtype=np.int32)
    closing = np.flatnonzero(marks == END)
    begins = np.concatenate([[0], closing[:-1] + 1])
    starts = np.concatenate([[0], ends[closing[:-1]]])
    words = [word for word, _, _ in told]
    return Tokens(marks, codes, ends - lengths[codes], ends - spaces[codes], begins, starts, words)


def coded(texts: pl.Series) -> tuple[NDArray[np.uint32], pl.Series, Places]:
    """A code for each text, the texts by their codes, and a place at which each of these stands."""
    found = texts.cast(pl.Categorical).to_physical().to_numpy()
    # A text that has the code; none, if it is one of categories that are in use elsewhere.
    place = np.full(found.max() + 1, -1, dtype=np.int64)
    place[found] = np.arange(len(found))
    used = np.flatnonzero(place >= 0)
    if len(used) < len(place):
        found = np.cumsum(place >= 0, dtype=np.uint32)[found] - np.uint32(1)
    places = place[used]
    return found, texts.gather(places), places


@lru_cache(maxsize=2)
def _pattern(language: Language) -> str:
    """The pattern of `marks.lexicon` so that pieces, each with a space behind it, are the whole text."""
    listed = lexicon(language).marks
    held = f"[{FIRST}{SECOND}{PROPERTY}]{FILL}*"
    stops = r"[.!?。]+|[,;:、]"
    if language == "en":
        signs = str.maketrans({**JOINTS, **ACCENTED})
        phrases = _any_of([phrase.translate(signs) for phrase in listed])
        joints = "".join(JOINTS.values())
        words = rf"(?:{phrases})(?-u:\b{{end-half}})|[{LETTERS}]+(?:[{joints}][{LETTERS}]+)*|&"
    else:
        words = rf"{_any_of(list(listed))}|[a-z0-9]+|[{HAN}{LETTERS}]"
    return rf"\x00|(?:{held}|{words}|{stops}|(?s:.)) ?"


def _any_of(phrases: list[str]) -> str:
    """A pattern for the longest of `phrases` at a place; plain texts have single spaces."""
    longest_first = sorted(phrases, key=lambda phrase: (-len(phrase), phrase))
    return re.escape("\n".join(longest_first)).replace("\\\n", "|").replace("\\ ", " ")


@lru_cache(maxsize=20_000)
def _told(piece: str, language: Language) -> tuple[str, int, int]:
    """The word of a piece, its mark (`GAP` if it is no token), and how many spaces stand behind it."""
    word = piece.removesuffix(" ")
    if language == "en":
        word = word.translate(_FROM_LETTERS)
    marks = lexicon(language).marks
    phrase = word.translate(_FROM_ACCENTED)
    known = phrase in marks or (word == "&" and language == "en")
    if word == chr(END):
        mark = END
    elif known or (word and (word[0].isalnum() or word[0] in HELD or word[0] in STOPS)):
        mark = ord(marks[phrase])
    else:
        mark = GAP
    return word, mark, int(piece.endswith(" "))
