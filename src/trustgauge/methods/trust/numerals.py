"""Whole numbers in words of other languages than English, and in Chinese numerals (trust 4.1, IL).

How numbers are called stands in `data/disclosures.toml`. What the words of a language have in common is that
larger parts stand before smaller ones, and multiply what stands before them if they are a hundred or more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache

from trustgauge.methods.trust.decoding import disguise_data

_JOINT = -1
_SCALES = (1_000, 10**6, 10**9)
_MOST = 10**15
_TWENTY, _HUNDRED = 20, 100
_LONGEST = 100  # letters of a word that may be a number
_LONG_PART = 5  # letters of a part of a word that is one in few other words
_FEWEST_DIGITS = 3  # of a number that is no digit by itself
_TWENTIES = (60, 80)  # in French up to 19 may follow
_CHINESE = re.compile("(?:[0-9]+[十百千万萬亿億]|十)[0-9十百千万萬亿億]*")
_POWERS = {"十": 10, "百": 100, "千": 1_000, "万": 10_000, "萬": 10_000, "亿": 10**8, "億": 10**8}

Numeral = Mapping[str, tuple[int, ...]]
"""Language -> parts of the number that a word is there, such as 2, 100, 5, "und", 50."""


def whole_numbers(words: Sequence[str]) -> Iterator[str]:
    """A text with digits for numbers in words of one language, and these alone, for each that it may be in.

    Args:
        words: of a text, in small letters without accents.

    >>> list(whole_numbers("code zweihundertfunfundfunfzig millionen zwolftausenddreizehn".split()))
    ['code255012013', '255012013']
    """
    numerals = [_numeral(word) for word in words]
    present = {language for one in numerals for language, parts in one.items() if max(parts) >= _TWENTY}
    for language in sorted(present):
        found = list(_replaced(words, numerals, language))
        numbers = "".join(one for one in found if one.isdigit())
        if len(numbers) >= _FEWEST_DIGITS:
            yield "".join(found)
            yield numbers


def says_whole_numbers(words: Sequence[str]) -> bool:
    """Whether one of the words is a number of twenty or more in another language."""
    return any(max(parts) >= _TWENTY for word in words for parts in _numeral(word).values())


def chinese_numbers(text: str) -> str:
    """A text with digits for Chinese numerals, whose own digits are ours.

    >>> chinese_numbers("是2百5十5万0十2")
    '是2550012'
    """
    return _CHINESE.sub(lambda found: str(_chinese(found[0])), text)


def _chinese(run: str) -> int:
    total = section = unit = 0
    for one in run[:_LONGEST]:
        power = _POWERS.get(one, 0)
        if not power:
            unit = unit * 10 + int(one)
        elif power < 10_000:
            section, unit = section + (unit or 1) * power, 0
        else:
            total, section, unit = total + (section + unit) * power, 0, 0
    return total + section + unit


def _replaced(words: Sequence[str], numerals: Sequence[Numeral], language: str) -> Iterator[str]:
    """Words as they are, and what the numbers between them come to."""
    parts: list[int] = []
    for at, word in enumerate(words):
        own = numerals[at].get(language) or ((int(word[:12]),) if word.isdigit() and parts else None)
        if own:
            parts += own
            continue
        yield from _merged(parts, language)
        parts = []
        yield word
    yield from _merged(parts, language)


def _merged(parts: Sequence[int], language: str) -> Iterator[str]:
    """Numbers that parts come to, one after the other."""
    total, group, room, scale = 0, -1, 0, _MOST
    joined = False
    for part in parts:
        if part == _JOINT:
            joined = True
            continue
        grown = _grown(group, part, room, language) if group >= 0 else None
        if part in _SCALES and group >= 0 and part < scale:
            total, group, room, scale = total + (group or 1) * part, 0, part, part
        elif joined and 0 < group % 100 < 10 and part in range(20, 100, 10):
            group, room = group + part, 0
        elif grown:
            group, room = grown
        else:
            if group >= 0:
                yield str(total + group)
            total, group, room, scale = 0, part, _room(part, language), _MOST
            if part in _SCALES:
                total, group, scale = part, 0, part
        joined = False
    if group >= 0:
        yield str(total + group)


def _grown(group: int, part: int, room: int, language: str) -> tuple[int, int] | None:
    """A number below 1,000 with a part more, and what may follow it; nothing if the part begins another."""
    if part == _HUNDRED and 0 < group < _HUNDRED:
        return group * _HUNDRED, _HUNDRED
    if language == "fr" and part == 20 and group % 100 == 4:
        return group + 76, 20
    if 0 < part < room:
        return group + part, _room(part, language)
    return None


def _room(part: int, language: str) -> int:
    """Numbers less than this may follow a part."""
    if language == "fr" and part in _TWENTIES:
        return 20
    if part in _SCALES:
        return part
    if part >= _HUNDRED:
        return _HUNDRED if part < 1_000 else 0
    return 10 if part >= 20 or (language == "fr" and part == 10) else 0


@lru_cache(maxsize=65_536)
def _numeral(word: str) -> Numeral:
    """What a word is as a number, by language; nothing for almost all words."""
    if len(word) > _LONGEST or not _first().match(word):
        return {}
    found = {language: _split(word, parts) for language, parts in _languages().items()}
    return {language: parts for language, parts in found.items() if parts}


def _split(word: str, known: Mapping[str, int]) -> tuple[int, ...]:
    """A word as the fewest parts that numbers consist of."""
    longest = max(map(len, known))
    found: dict[int, tuple[int, ...]] = {0: ()}
    for at in range(len(word)):
        if at not in found:
            continue
        for end in range(at + 1, min(at + longest, len(word)) + 1):
            part = known.get(word[at:end])
            if part is not None and (end not in found or len(found[end]) > len(found[at]) + 1):
                found[end] = (*found[at], part)
    return found.get(len(word), ())


@cache
def large_number() -> str:
    """The pattern of a word for twenty or more in another language, or of a part of one."""
    large = {form: number for parts in _languages().values() for form, number in parts.items()}
    inside = sorted(one for one, number in large.items() if number >= _TWENTY and len(one) >= _LONG_PART)
    words = sorted(one for one, number in large.items() if number >= _HUNDRED and len(one) < _LONG_PART)
    return "|".join([*inside, *(rf"\b{one}\b" for one in words)])


@cache
def _languages() -> Mapping[str, Mapping[str, int]]:
    """Language -> part of a word -> its number; `_JOINT` for words between."""
    return {language: dict(_parts(words)) for language, words in disguise_data()["numbers"].items()}


def _parts(words: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    listed = [
        *enumerate(words["small"].split()),
        *((10 * at, one) for at, one in enumerate(words["tens"].split(), 2)),
        *((100 * at, one) for at, one in enumerate(words.get("hundreds", "").split(), 2)),
        (_HUNDRED, words["hundred"]),
        *zip(_SCALES, words["scales"].split(), strict=True),
        (_JOINT, words["joint"]),
    ]
    for number, forms in listed:
        yield from ((form, number) for form in forms.split("|"))


@cache
def _first() -> re.Pattern[str]:
    """With what a word begins that is a number."""
    every = {part for parts in _languages().values() for part in parts}
    return re.compile("|".join(sorted(map(re.escape, every))))
