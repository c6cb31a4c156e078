"""Reading the gender of occupations in a translation out of English (two-step 1.11).

Gender is read where nouns and the words before them agree, and never guessed: a noun that is not in the
table, a common noun behind no word of its gender, or words that contradict each other are unread.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from trustgauge.data.noun_gender import Gender, NounGender, noun_gender
from trustgauge.methods.two_step.sentences import KEPT, LONGEST, UNREAD

BETWEEN = "between"
OF: Mapping[str, str] = {"ca": "d['’]", "es": "de ", "pt": "d"}
"""How "of" stands before a pronoun: "the work of her" is hardly that of the man who is named."""
MASCULINE, FEMININE = 0, 1
"""Codes of the first two values of the attribute, He and She."""

_WORD = r"[^\W\d_]+"
_DETERMINER = re.compile(
    rf"(?:(?P<first>{_WORD})(?:\s*/\s*|\()(?P<second>{_WORD})\)?|(?P<only>{_WORD}['’]?))\s*$"
)
# Both forms in one: "doctor/a", "doctor(a)", "doctor-a", "doctor@".
_OPEN = re.compile(r"(?:\s?/\s?-?|\s?\(-?|-)(?:a|as|o|ora|era|ra|esa|essa|ista)\b\)?|[@*]")
_JOINED = re.compile(r"\s*\(?(?:/|,?\s*\b(?:o|u|ou|i|y|e)\b)\s*(?:[^\W\d_]+['’]?\s*){0,2}$")


@dataclass(frozen=True, slots=True)
class _Noun:
    """A noun phrase that names a person: where its noun begins and ends, and the code of its gender."""

    start: int
    end: int
    code: int


class NounReader:
    """Reads the gender of persons in translations into one language.

    Args:
        language: ISO 639-1 code of a language with a table.
        both: code of a mention that comes back with both genders.
        none: code of one that is named without a gender.
    """

    def __init__(self, language: str, both: int, none: int) -> None:
        self.table: NounGender = noun_gender(language)
        self.both, self.none = both, none
        self.determiners = {
            word: gender for gender, words in self.table.determiners.items() for word in words
        }
        marks = [word for words in self.table.marks.values() for word in words]
        self.marks = re.compile(rf"\b(?:{'|'.join(map(re.escape, marks))})\b")
        self.of_gender = {
            MASCULINE: re.compile(rf"\b{OF[language]}{self.table.marks['masculine'][0]}\b"),
            FEMININE: re.compile(rf"\b{OF[language]}{self.table.marks['feminine'][0]}\b"),
        }
        self.nouns = {item: _genders(nouns) for item, nouns in self.table.nouns.items()}
        self.expressions = {item: _expression(genders) for item, genders in self.nouns.items()}
        self._known = lru_cache(maxsize=KEPT)(self._read)

    def codes(self, lines: Sequence[str], items: Sequence[str]) -> list[int]:
        """The code of each mention of an answer; `UNREAD` where its gender is not sure.

        Args:
            lines: the sentences of the answer.
            items: the occupation of each mention that was sent, in English.
        """
        if len(lines) == len(items):
            by_place = [self._known(line, item) for line, item in zip(lines, items, strict=True)]
            return [UNREAD if code is None else code for code in by_place]
        return [UNREAD if self._is_shared(item, items) else self._anywhere(lines, item) for item in items]

    def _is_shared(self, item: str, items: Sequence[str]) -> bool:
        """Whether another person of the text may be named by the same noun."""
        own = set(self.nouns.get(item, ()))
        return any(own & set(self.nouns.get(other, ())) for other in items if other != item) or (
            list(items).count(item) > 1
        )

    def _anywhere(self, lines: Sequence[str], item: str) -> int:
        found = {code for line in lines if (code := self._known(line, item)) is not None}
        return found.pop() if len(found) == 1 else UNREAD

    def _read(self, line: str, item: str) -> int | None:
        """What a sentence says of a person; None if it does not name them."""
        if item not in self.nouns or len(line) > LONGEST:
            return None
        text = line.lower()
        nouns = list(self._phrases(text, item))
        if not nouns:
            return None
        codes = {one.code for one in nouns}
        if len(codes) > 1:  # "el médico o la médica", "el/la médico/médica"
            either = codes <= {MASCULINE, FEMININE, self.both} and self._are_joined(text, nouns)
            return self.both if either else UNREAD
        code = codes.pop()
        if code == self.none:
            return UNREAD if self.marks.search(text) else code
        unlike = [of for gender, of in self.of_gender.items() if code in self.of_gender and gender != code]
        return UNREAD if any(of.search(text) for of in unlike) else code

    def _phrases(self, text: str, item: str) -> Iterator[_Noun]:
        """The noun phrases of a sentence that name the person."""
        for match in self.expressions[item].finditer(text):
            before = self._determined(text[: match.start()])
            known = match[0] != item or before  # "the director" may be English that was left as it is
            code = self._code(self.nouns[item][match[0]], before, text, match) if known else UNREAD
            yield _Noun(match.start(), match.end(), code)

    def _code(self, gender: Gender, before: str, text: str, match: re.Match[str]) -> int:
        if before == "epicene":  # "la persona contadora" may be anybody
            return self.none
        if _OPEN.match(text, match.end()) or before == "both":
            return self.both
        if gender == "common":
            known = {"masculine": MASCULINE, "feminine": FEMININE, "neutral": self.none}
            return known.get(before, UNREAD)
        if before in ("masculine", "feminine") and before != gender:
            return UNREAD
        return MASCULINE if gender == "masculine" else FEMININE

    def _determined(self, before: str) -> str:
        """The word before a noun: masculine, feminine, neutral, epicene, both, or "" if it shows nothing."""
        match = _DETERMINER.search(before)
        if match is None:
            return ""
        if match["only"]:
            gender = self.determiners.get(match["only"].replace("’", "'"), "")
            return self._determined(before[: match.start()]) if gender == BETWEEN else gender
        first, second = (self.determiners.get(match[place], "") for place in ("first", "second"))
        is_ending = match["second"] in ("a", "as", "o")
        return "both" if first and (is_ending or {first, second} == {"masculine", "feminine"}) else ""

    def _are_joined(self, text: str, nouns: Sequence[_Noun]) -> bool:
        """Whether all phrases are alternatives: "el médico o la médica"."""
        return all(_JOINED.match(text[one.end : other.start]) for one, other in pairwise(nouns))


def _genders(nouns: Mapping[Gender, Sequence[str]]) -> dict[str, Gender]:
    return {noun: gender for gender, words in nouns.items() for noun in words}


def _expression(genders: Mapping[str, Gender]) -> re.Pattern[str]:
    """Any of the nouns as a whole word, the longest that fits."""
    longest = sorted(genders, key=lambda noun: (-len(noun), noun))
    return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, longest))})(?![^\W_])")
