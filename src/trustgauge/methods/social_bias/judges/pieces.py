"""Many answers as the pieces of text between their stops, each distinct one of which is cut once.

A piece ends with its stop. No phrase that the judge knows holds one, so pieces are read alone as they are
read within the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from trustgauge.methods.social_bias.judges.lexer import FILL, Language
from trustgauge.methods.social_bias.judges.plain_text import END, Bytes, Places, one_text
from trustgauge.methods.social_bias.judges.sound import REPLACED
from trustgauge.methods.social_bias.judges.tokens import Tokens, coded, tokens_of

PIECE = r"[^,.;:!?、。\x00]*(?:(?:[.!?。]+|[,;:、]) ?\x00?|\x00)"
_REPLACED = np.zeros(256, dtype=bool)
_REPLACED[[ord(mark) for mark in REPLACED]] = True


@dataclass(frozen=True, slots=True)
class Pieces:
    """The pieces of answers.

    Attributes:
        rows: the answer that each is of.
        firsts: the first piece of each answer.
        texts: the distinct text of each.
        starts: its first byte; names count one byte.
        kept: the place of each of these bytes in the answers.
        tokens: of distinct texts.
        variants: the number of each piece's marks, which depend on the property that was asked about.
        marks: by that number.
    """

    rows: Places
    firsts: Places
    texts: Places
    starts: Places
    kept: Places
    tokens: Tokens
    variants: Places
    marks: Sequence[str]

    def byte(self, pieces: Places, tokens: Places, *, behind: bool) -> Places:
        """The byte in the answers at which tokens of pieces begin, or the one behind them."""
        texts = self.texts[pieces]
        at = self.tokens.begins[texts] + tokens
        within = (self.tokens.ends if behind else self.tokens.starts)[at] - self.tokens.texts[texts]
        found: Places = self.kept[self.starts[pieces] + within]
        return found


def pieces_of(
    answers: Bytes, language: Language, properties: Places, words: Sequence[frozenset[str]]
) -> Pieces:
    """The pieces of plain answers with held names, each with a byte `END` behind it.

    Args:
        answers: they lie one behind another.
        language: of all of them.
        properties: for each the place of its property's words in `words`.
        words: of properties.
    """
    kept = np.flatnonzero(answers != ord(FILL))
    pieces = one_text(answers, without=FILL).str.extract_all(PIECE).explode()
    texts, distinct, _ = coded(pieces)
    lengths = distinct.str.len_bytes().to_numpy().astype(np.int64)[texts]
    last = distinct.str.ends_with(chr(END)).to_numpy()[texts]
    firsts = np.concatenate([[0], np.flatnonzero(last)[:-1] + 1])
    rows = np.cumsum(last) - last
    together = distinct.str.strip_suffix(chr(END)).str.join(chr(END)).cast(pl.Binary)[0] + bytes([END])
    tokens = tokens_of(np.frombuffer(together, dtype=np.uint8), language)
    which = texts.astype(np.int64)
    variants, marks = _variants(tokens, which, properties[rows], words)
    return Pieces(rows, firsts, which, np.cumsum(lengths) - lengths, kept, tokens, variants, marks)


def _variants(
    tokens: Tokens, texts: Places, properties: Places, words: Sequence[frozenset[str]]
) -> tuple[Places, list[str]]:
    """The number of the marks of each piece, and marks by it: words of its own property are marked so."""
    begins = np.append(tokens.begins, len(tokens.marks))
    of_token = np.repeat(np.arange(len(tokens.begins)), np.diff(begins))
    used = np.flatnonzero(np.bincount(properties, minlength=len(words)))
    sets = np.searchsorted(used, np.arange(len(words)))[properties]
    codes: dict[str, int] = {}
    of_words = np.array([codes.setdefault(word, len(codes)) for word in tokens.listed])[tokens.words]
    members = np.array(
        [
            place * len(codes) + codes[word]
            for place, number in enumerate(used.tolist())
            for word in codes.keys() & words[number]
        ],
        dtype=np.int64,
    )
    telling = np.zeros(len(codes), dtype=bool)
    telling[members % len(codes)] = True
    places = np.flatnonzero(telling[of_words] & _REPLACED[tokens.marks])
    counts = np.bincount(of_token[places], minlength=len(tokens.begins))
    here = np.flatnonzero(counts[texts])
    pairs, number = np.unique(texts[here] * len(used) + sets[here], return_inverse=True)
    text, of = np.divmod(pairs, len(used))
    # The telling words of each pair of a text and a property lie one behind another.
    pair, nth = _ranges(counts[text])
    place = places[(np.cumsum(counts) - counts)[text][pair] + nth]
    said = np.isin(of[pair] * len(codes) + of_words[place], members)
    pair, place = pair[said], place[said]
    changed, nth_changed = np.unique(pair, return_inverse=True)
    lengths = np.diff(begins)[text[changed]]
    row, nth = _ranges(lengths)
    more = tokens.marks[tokens.begins[text[changed]][row] + nth]
    starts = np.cumsum(lengths) - lengths
    more[starts[nth_changed] + place - tokens.begins[text[changed]][nth_changed]] = ord("p")
    variants = texts.copy()
    instead = text.copy()
    instead[changed] = len(tokens.begins) + np.arange(len(changed))
    variants[here] = instead[number]
    marks = np.concatenate([tokens.marks, more]).tobytes().decode().split(chr(END))[:-1]
    return variants, marks


def _ranges(lengths: Places) -> tuple[Places, Places]:
    """For ranges one behind another: which range, and which place in it, each place is."""
    which = np.repeat(np.arange(len(lengths)), lengths)
    return which, np.arange(len(which)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
