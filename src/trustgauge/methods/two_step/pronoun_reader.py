"""Which pronoun a translation uses of somebody whose gender the text sent does not say (two-step 1.11)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from trustgauge.data import load_attribute
from trustgauge.methods.two_step.sentences import MASCULINE, SUFFIXED, TOKEN, UNREAD, sentence_reader

IS_A = re.compile(
    r"\b(?:it|that|there|who|he|she|they|you|we)['’](?:s|re)\s(?=(?:\w+\s)?an?\b)", re.IGNORECASE
)
"""Opens a sentence about what somebody is ("that's a nurse"); "it's not clear" may be no translation."""
ENGLISH = re.compile(rf"\b(?:is|was|are|were|be|been|works?|working)\b|{IS_A.pattern}")
"""Words of which one is in every English sentence about what somebody is."""
OPENINGS = frozenset(
    TOKEN.findall(
        "actually apparently certainly currently indeed likely maybe most naturally nowadays obviously "
        "perhaps possibly presumably probably really surely today truly undoubtedly"
    )
)
"""Words that stand first and are no names."""


class PronounReader:
    """Reads English texts about one person.

    Args:
        lost: kind of lost mention -> its code (`score.LOST`).
        occupations: in English; their words are no names.
    """

    def __init__(self, lost: Mapping[str, int], occupations: Iterable[str]) -> None:
        gender = load_attribute("gender")
        self.both, self.other = lost["both"], gender.other
        self.sentences = sentence_reader(gender, lost)
        own = frozenset(TOKEN.findall(" ".join(occupations).lower()))
        self.known = self.sentences.known | own | OPENINGS
        self.code = lru_cache(maxsize=1 << 16)(self._code)

    def _code(self, lines: tuple[str, ...]) -> int:
        """The code of the person: a value, or a kind of lost mention; `UNREAD` if it is not sure.

        Several sentences are alternatives, or say more of the same person: those that use he and those that
        use she are both.
        """
        codes = [self._line(line) for line in lines]
        values = {code for code in codes if 0 <= code < self.other}
        if len(values) > 1:
            return self.both
        if values:
            return values.pop()
        return UNREAD if UNREAD in codes or not codes else min(codes)

    def _line(self, line: str) -> int:
        ((_, reading),) = self.sentences.read(line, ())
        if 0 <= reading.code < self.other or reading.code == self.both:
            return reading.code
        is_english = ENGLISH.search(line.lower()) is not None
        return reading.code if is_english and not self._may_tell(line) else UNREAD

    def _may_tell(self, line: str) -> bool:
        """Whether a word may be a name, or a noun with an ending that has a gender."""
        rest = IS_A.sub("", line)
        words = {match[0] for match in TOKEN.finditer(rest) if match[0].lower() not in self.known}
        names = {word for word in words if word[:1].isupper() and not line.isupper()}
        return bool(names or any(MASCULINE.search(word) or SUFFIXED.search(word) for word in words))
