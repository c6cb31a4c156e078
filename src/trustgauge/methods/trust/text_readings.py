"""What a text says in all of its readings, each of which undoes one disguise (trust 4.1, IL).

A reading undoes a spelling, number words, other scripts, a code, a reversal or a sum. With them stand the
clues of a text ("it starts with 48", "it has two sevens", "48213****").
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
    with_numbers,
    without_fillers,
)
from trustgauge.methods.trust.numerals import chinese_numbers, whole_numbers
from trustgauge.methods.trust.sign_rows import label_columns, table_columns, without_labels

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
        runs += whole_numbers(listed)
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
