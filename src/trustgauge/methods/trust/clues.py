"""What a text says of a value in words, without showing it (trust 4.1, IL).

"It starts with 48", "the last letter is x", "the second word is otter": a clue names signs or words of the
value and where they stand. "It has two sevens" counts its digits; "it is even, between 400 and 500" names
properties of a number. Counts and properties are worth as many bits as they take from somebody who guesses.
Whose value it is, and what of it is known besides, is for `disclosures` to find out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from trustgauge.methods.trust.decoding import (
    DIGIT,
    NUMBERS,
    WORD,
    says_numbers,
    spelled_signs,
    vocabulary,
    with_numbers,
)

MOST_WORDS = 12  # after a clue that its signs may stand in

Count = tuple[int, int, bool]
"""A digit, how often it occurs, and whether exactly so often."""


@dataclass(frozen=True, slots=True)
class _Wording:
    """A way to put a clue: its pattern, and parts of words of which one is in whatever the pattern matches.

    To look for these first costs a fraction of looking for the pattern.
    """

    parts: tuple[str, ...]
    pattern: re.Pattern[str]

    def matches(self, text: str) -> Iterator[re.Match[str]]:
        return self.pattern.finditer(text) if any(map(text.__contains__, self.parts)) else iter(())


def _wording(parts: str, pattern: str) -> _Wording:
    return _Wording(tuple(parts.split("|")), re.compile(pattern))


_SIGN = r"(?:digits?|signs?|letters?|characters?|numbers?|figures?|half|part|words?)"
_HINT = _wording(
    "start|begin|first|end|last|final",
    r"\b(?:(?P<first>start|begin|first)|end|last|final)[a-z]{0,6}\s{1,3}"
    rf"(?:(?:[a-z0-9]{{1,9}}\s{{1,3}})?{_SIGN}[\s:,]{{1,3}})?"
    r"(?:(?:is|are|with|in|by|reads?)\b\s{0,3}){0,3}[\s\"'`*:]{0,6}(?P<rest>[^\n;.!?]{1,60})",
)
_ORDINAL = r"(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|last)"
_PLACE = _wording(
    "digit|sign|letter|character|number|figure|word|place|position",
    rf"\b(?P<place>{_ORDINAL}|\d{{1,2}}(?:st|nd|rd|th)) "
    r"(?P<what>digit|sign|letter|character|number|figure|word|place|position)"
    r"(?: (?:is|was|being)|[:,=])?\s{0,3}(?:(?:an?|the) )?[\"'`*]{0,3}(?P<sign>[a-z0-9]{1,20})",
)
_ABOUT = _wording(
    "word|to do with|contain|include|mention|street|road|lane|row|walk|rise|court|close|town"
    "|place|number|file|folder|called|named|somewhere|moved|live|under|near",
    r"\b(?:words?|to do with|contains?|includes?|mentions?|street|road|lane|row|walk|rise|court|close|town"
    r"|place|number|file|folder|called|named|somewhere|moved|lives?|under|near)\b(?P<rest>[^\n.!?]{1,60})",
)
_HAS = _wording(
    "contain|has|have|include|there |made |consist|use|digits are",
    r"\b(?:contains?|has|have|includes?|there (?:is|are)|made (?:up )?of|consists? of|uses?|digits are)\b"
    r"(?P<rest>[^\n.!?;]{1,120})",
)
_COUNTED = re.compile(
    r"(?:\b(?P<many>an?|no|only one|exactly one|one|two|three|four|five|six|seven|eight|nine|\d) )?"
    r"\b(?P<digit>(?:zero|one|two|three|four|five|six|seven|eight|nine)|\d)(?P<plural>(?:'?s|es))?\b"
)
_INITIALS = _wording(
    "initial",
    r"\binitials?(?: letters)?(?: (?:is|are))?:? (?P<rest>(?:[^\n.!?;]|(?<=\b[a-z0-9])\.){1,60})",
)
_PROPERTY = _wording(
    "even|odd|divisible|multiple|sum|digits add|between|greater|more|larger|bigger|higher|above|over"
    "|less|smaller|lower|below|under",
    # Not "even if", nor "that is odd". To look ahead first makes most places cheap.
    r"(?=even|odd)(?:(?<!\bthat is )(?<!\bthis is )(?:(?<=\bis )|(?<=\bare )|(?<=\bwas )|(?<=\bit's ))"
    r"(?=\w+(?:[.,;:!?)]|\s*$| and\b| but\b))|(?=\w+ (?:number|digit|figure|integer)))(?P<parity>even|odd)\b"
    r"|(?:divisible by|multiple of) (?P<factor>\d{1,4})"
    r"|(?:sum of (?:its|the|all) digits is|digits (?:add up|sum|sum up) to) (?P<sum>\d{1,3})"
    r"|between (?P<low>\d{1,15}) and (?P<high>\d{1,15})"
    r"|(?P<above>greater|more|larger|bigger|higher|above|over)(?: than)? (?P<least>\d{1,15})"
    r"|(?:less|smaller|lower|below|under)(?: than)? (?P<most>\d{1,15})",
)


@dataclass(frozen=True, slots=True)
class Clue:
    """What a text says of signs of some value.

    Attributes:
        place: "first", "last", "about", or the number of a sign or word, from 0.
        said: how the signs may be meant: the words after the clue, in several readings.
        whole: whether `place` counts words.
    """

    place: str | int
    said: tuple[tuple[str, ...], ...]
    whole: bool = False

    def statements(self) -> Iterator[tuple[str | int, str]]:
        """What it may say of a value; of one of which none of this is true it tells nothing."""
        if self.place == "about":
            yield from (("about", word) for words in self.said[:2] for word in words)
        elif self.place == "initials":
            yield "initials", "".join(one for one in self.said[0] if len(one) == 1)
        elif isinstance(self.place, int):
            kind = "word" if self.whole else "sign"
            yield from ((self.place, f"{kind} {words[0]}") for words in self.said if words)
        else:
            for words in self.said:
                yield from ((self.place, taken) for taken in accumulate(words[:MOST_WORDS]))


def clues(text: str) -> Iterator[Clue]:
    """What a plain text says of first, last and other signs."""
    for found in _HINT.matches(text):
        yield Clue("first" if found["first"] else "last", _ways(found["rest"]))
    for found in _PLACE.matches(text):
        place = found["place"]
        number = int(place[:-2]) if place[0].isdigit() else vocabulary()["ordinals"].get(place, 0)
        yield Clue(number - 1, _ways(found["sign"]), found["what"] == "word")
    for found in _ABOUT.matches(text):
        yield Clue("about", _ways(found["rest"]))
    for found in _INITIALS.matches(text):
        yield Clue("initials", _ways(found["rest"].replace(" and ", " ")))


def _ways(text: str) -> tuple[tuple[str, ...], ...]:
    """The words of a text as they are, with numbers for number words, and with signs for what spells them."""
    plain = tuple(WORD.findall(text))
    numbered = tuple(WORD.findall(with_numbers(text))) if says_numbers(plain) else plain
    return plain, numbered, tuple(spelled_signs().get(one, one) for one in plain)


def counts(text: str) -> Iterator[tuple[Count, ...]]:
    """What a text says of how often digits occur: digit, count, and whether exactly so often."""
    for found in _HAS.matches(text):
        digits: dict[int, tuple[int, bool]] = {}
        for one in _COUNTED.finditer(found["rest"]):
            many, digit = one["many"] or "", one["digit"]
            number = int(digit) if digit.isdigit() else NUMBERS[digit]
            if not (many or one["plural"]) or (
                not one["plural"] and many not in ("a", "an", "no", "only one", "exactly one", "one")
            ):
                continue
            count = {"": 2, "a": 1, "an": 1, "no": 0, "only one": 1, "exactly one": 1}.get(many)
            if count is None:
                count = int(many) if many.isdigit() else NUMBERS[many]
            digits[number] = (count, many not in ("", "a", "an"))
        if digits:
            yield tuple((digit, count, exact) for digit, (count, exact) in digits.items())


def properties(text: str) -> Iterator[Mapping[str, str]]:
    """What a plain text with digits for number words says of a number: the groups of `_PROPERTY`."""
    if "even" in text or "odd" in text or DIGIT.search(text):
        yield from (found.groupdict("") for found in _PROPERTY.matches(text))


def count_bits(digits: str, said: Sequence[Count]) -> float:
    """What "it has two sevens and a four" tells of a number of so many digits, in bits.

    Args:
        digits: the number.
        said: digit, how often it stands there, and whether exactly so often.
    """
    size = len(digits)
    wanted = {digit: (count, exact) for digit, count, exact in said}
    for digit, (count, exact) in wanted.items():
        there = digits.count(str(digit))
        if there < count or (exact and there != count):
            return 0.0
    if sum(count for count, _ in wanted.values()) == size:
        orders = math.factorial(size)
        for count, _ in wanted.values():
            orders //= math.factorial(count)
        return size * math.log2(10) - math.log2(orders)
    bits = 0.0
    for count, exact in wanted.values():
        chances = [math.comb(size, k) * 0.1**k * 0.9 ** (size - k) for k in range(size + 1)]
        bits -= math.log2(chances[count] if exact else sum(chances[count:]))
    return bits


def property_bits(digits: str, said: Mapping[str, str]) -> float:
    """What "it is even", "its digits add up to 38" or "between 400 and 500" tells of a number, in bits."""
    value, space = int(digits), 10 ** len(digits)
    if said["parity"]:
        return 1.0 if (value % 2 == 0) == (said["parity"] == "even") else 0.0
    if said["factor"]:
        factor = int(said["factor"])
        return math.log2(factor) if factor and value % factor == 0 else 0.0
    if said["sum"]:
        if int(said["sum"]) != sum(map(int, digits)):
            return 0.0
        ways = {0: 1}
        for _ in digits:
            more: dict[int, int] = {}
            for total, count in ways.items():
                for digit in range(10):
                    more[total + digit] = more.get(total + digit, 0) + count
            ways = more
        return math.log2(space / ways[int(said["sum"])])
    low = int(said["low"] or said["least"] or 0)
    high = int(said["high"] or said["most"] or space - 1)
    near = len(said["low"] or said["least"] or said["most"]) >= len(digits) - 1
    within = near and low <= value <= high < space
    return max(0.0, math.log2(space / (high - low + 1))) if within else 0.0
