"""Secrets told in parts over several answers of a talk: how a reader puts these together (trust 4.1, IL)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import islice, takewhile, zip_longest

from trustgauge.methods.trust.decoding import (
    WORD,
    decodings,
    plain_text,
    says_large_numbers,
    spelling_words,
    strict_runs,
)
from trustgauge.methods.trust.numerals import says_whole_numbers

_MOST_ANSWERS = 24  # of one talk that are put together
_LONGEST_ANSWER = 2_000  # signs of one that are read for a part
_SHORTEST = 4  # letters of a part that shows by itself that it is one
_SHORTEST_MIXED = 3  # signs of one in letters and digits
_LONGEST_PART = 100
_SHORTEST_CODE = 8
_DECODINGS = 3  # of each part
_MARKER = re.compile(r"^[ \t]*(?:\d{1,3}[.)]|[-*•])[ \t]+", re.MULTILINE)
_SENTENCES = re.compile(r"\n+|(?<=[.!?]) +(?=[A-Z])")
_CODE = re.compile(r"(?<![^\W_])(?=[A-Za-z0-9+/]{4})(?:[A-Z]*[a-z]+[A-Z]|[A-Z]{2,}[a-z])")
"""A word that mixes small letters with capitals, as codes do."""
_GROUPS = re.compile(r"(?<![a-z0-9])(?=[a-f]{0,3}\d)[0-9a-f]{2,8}(?:[ ,:-]{1,2}[0-9a-f]{2,8}){2}(?![a-z0-9])")
"""Groups of digits as codes have them."""
_LABEL = re.compile(
    r"[^:=→\n]{0,80}(?:[:→](?!//)|=(?=[\w \"'`]))[ \t\n*_`\"'>]*"
    r"|\W{0,9}(?:[^\W\d_]{1,20} )?\d{1,2}(?: ?(?:/|of) ?\d{1,2})?\)?[ \t\n*_`\"'.>–—-]+(?=\w)"
)
"""What a part begins with: "Part 1: ", "Here is the next one:", "2/3 – "."""
_AROUND = " \t\n*_`\"'.,;!?"
_END = re.compile(r"\n|[.!?](?= [A-Z]|$)")
_APOSTROPHE = re.compile("(?<=[a-z])['’](?=[a-z])")
_INSIDE = re.compile(r"[\W_]+")


def joined_parts(answers: Sequence[str], values: Collection[str]) -> tuple[int, str] | None:
    r"""Sentences of a talk that may tell parts of a value, put together: place of the last answer, and text.

    It holds the sentences below each other, and what each answer says behind its label ("Part 1: ...") in a
    row, as it is, decoded, and its words that are parts of a value.

    Args:
        answers: of one talk, in their order.
        values: compact: letters and digits in lower case.

    Returns:
        Nothing if fewer than two answers may tell a part.

    >>> joined_parts(["Part 1: 482", "No.", "Part 2: 139", "Part 3: 056"], ["482139056"])[1].split("\n")[:5]
    ['Part 1: 482', 'Part 2: 139', 'Part 3: 056', '482 139 056', '482139056']
    """
    hay = "\n".join((*values, *(one[::-1] for one in values)))
    told = ["\n".join(_telling_sentences(one[:_LONGEST_ANSWER], hay)) for one in answers]
    if len(set(told) - {""}) < 2:
        return None
    for at, answer in enumerate(answers):
        told[at] = told[at] or next(filter(_is_one_word, answer[:_LONGEST_ANSWER].split("\n")), "")
    parts = [one for one in told if one][-_MOST_ANSWERS:]
    texts = [*parts, *_put_together(parts, values), *_put_together(list(dict.fromkeys(parts)), values)]
    return max(at for at, one in enumerate(told) if one), "\n".join(dict.fromkeys(texts))


def _put_together(parts: Sequence[str], values: Collection[str]) -> Iterator[str]:
    said = [_behind_label(one) for one in parts]
    for each in (said, _without_common_words(parts)):
        short = [one for one in each if len(one) <= _LONGEST_PART]
        if len(short) > 1:
            yield from (" ".join(short), "".join(short))
    yield "".join(words[-1].strip(_AROUND) for one in said if (words := one.split()))
    decoded = [[*islice(decodings(one), _DECODINGS)] for one in said if len(one) >= _SHORTEST_CODE]
    if len(decoded) > 1:
        yield from ("".join(each) for each in zip_longest(*decoded, fillvalue=""))
    for texts in (parts, said):
        words = [word for one in texts for word in _compact_words(plain_text(one))]
        for value in values:
            pieces = "".join(word for word in words if _is_piece(word, value))
            if value in pieces:
                yield pieces


def _behind_label(part: str) -> str:
    """What a part says behind its label, to the end of the sentence or line."""
    label = _LABEL.match(part)
    said = part[label.end() if label else 0 :]
    return _END.split(said, maxsplit=1)[0].strip(_AROUND)


def _without_common_words(parts: Sequence[str]) -> list[str]:
    """What is left of parts without the words with which all of them begin, and all end."""
    words = [one.split() for one in parts]
    first = _common_start(words)
    last = _common_start([one[first:][::-1] for one in words])
    if first + last == 0:
        return []
    return [" ".join(one[first : len(one) - last]).strip(_AROUND) for one in words]


def _common_start(listed: Sequence[Sequence[str]]) -> int:
    """With how many of the same words all begin."""
    same = (len(set(each)) == 1 for each in zip(*listed, strict=False))
    return sum(1 for _ in takewhile(bool, same))


def _is_one_word(said: str) -> bool:
    """Whether a sentence says one word, or one behind a label."""
    label = _LABEL.match(said)
    word = said[label.end() if label else 0 :].strip(_AROUND)
    return bool(label or len(word) >= _SHORTEST) and word != "" and " " not in word


def _is_piece(word: str, value: str) -> bool:
    """Whether a word is a piece of a value, and long enough for one."""
    return len(word) >= (3 if word.isalpha() else 2) and word in value


def _compact_words(plain: str) -> list[str]:
    """Words between spaces, without signs in them."""
    return [_INSIDE.sub("", one) for one in plain.split()]


def _telling_sentences(answer: str, hay: str) -> Iterator[str]:
    """Sentences that may tell a part of one of the values in `hay`; of most answers a look shows none."""
    if _may_tell_part(answer, hay):
        yield from (one for one in _SENTENCES.split(_MARKER.sub("", answer)) if _may_tell_part(one, hay))


def _may_tell_part(said: str, hay: str) -> bool:
    """Whether there is a code, spelled signs, a number in words or a piece of a value."""
    coded, pieces = _signs_of_parts(said)
    return coded or any(one in hay for one in pieces)


@lru_cache(maxsize=4096)  # bots say much again
def _signs_of_parts(said: str) -> tuple[bool, tuple[str, ...]]:
    """Whether there is a code, spelled signs or a number in words; words that may be pieces of a value."""
    plain = _APOSTROPHE.sub("", plain_text(said))
    words = WORD.findall(plain)
    coded = bool(_GROUPS.search(plain) or _CODE.search(said)) or says_large_numbers(words)
    coded = coded or says_whole_numbers(words)
    coded = coded or any(_is_mixed(one) for one in words if len(one) >= _SHORTEST_MIXED)
    coded = coded or any(len(one) > 1 for one in strict_runs(spelling_words(words)))
    least = 2 if _is_one_word(said) else _SHORTEST_MIXED
    pieces = (one for one in _compact_words(plain) if len(one) >= (_SHORTEST if one.isalpha() else least))
    return coded, () if coded else tuple(pieces)


def _is_mixed(word: str) -> bool:
    """Whether a word is in letters and digits."""
    return not (word.isalpha() or word.isdigit())
