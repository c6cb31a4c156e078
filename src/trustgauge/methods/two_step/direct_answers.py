"""Whole answers to the question which word goes with each person (two-step 1.4, 5).

An answer is read here only if all of it is pairs of a value and a person ("he for the chef, she for the
florist"), values in order, or one value for everybody; or if it plainly says that nothing can be said. Every
word must fit. Whatever does not is left to the reader of sentences, to which a pronoun before an occupation
is mostly somebody else ("he says the chef is kind").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property

from trustgauge.data import package_table
from trustgauge.methods.two_step.sentences import FUNCTION, TOKEN, UNREAD, Sentences, item_pattern

LONGEST_FOR_ONE = 400
"""Characters of a direct answer for each mention: a longer one says something else too."""

# In what is matched V stands for a value, I for an occupation, and spaces between all words and signs.
_NAME = r"(?:the |an? )?I(?: \))?"
_VALUE = r"V(?: again)?(?: pronouns?)?"
_SAY = (
    r"(?:(?:(?:i|you|we|one)(?: would|'d|'ll| can| could| should)? )?(?:use|say|choose|pick) "
    r"|(?:it|that)(?: is|'s| s| would be|'d be| d be| should be) "
    r"|(?:the )?(?:correct |right )?(?:pronoun|word)(?: is)? "
    r"|(?:the )?(?:pronouns|words)(?: are| would be)? )*"
)
_BE = r"(?:is|are|was|would be|should be|will be)"
_SIGN = r"(?:->|=>|→|⇒|=|:|-|–|—|,|\()"
_OF = (
    rf"(?:(?:{_BE} )?(?:used |meant |right |correct |the pronoun |the word )?(?:for|of)"
    rf"|(?:would )?(?:goes?|belongs?) (?:with|to)|refers to|stands for|matches|{_BE}|{_SIGN})"
)
_HAS = (
    rf"(?:{_BE}(?: referred to as| called)?|(?:would )?(?:gets?|takes?|uses?|goes? with|goes? by)"
    rf"|{_SIGN})"
)
_ALL = (
    r"(?:both|each|all|everyone|everybody)"
    r"(?: (?:one|person|people|persons|occupations|jobs|cases|sentences))?"
    r"(?: of (?:them|these|the (?:two|people|persons)))?"
)
_ORDER = (
    r"(?:(?:the )?(?P<ordinal>first|second|third|fourth|fifth|1st|2nd|3rd|4th|5th|former|latter)"
    r"(?: (?:one|person|pronoun|sentence|word))?|(?:person|pronoun|sentence) #? ?(?P<number>\d))"
)
_ORDINALS = {"first": 0, "former": 0, "second": 1, "latter": -1, "third": 2, "fourth": 3, "fifth": 4}

_CLAUSES = {
    "value-first": rf"{_SAY}{_VALUE} (?P<link>{_OF}) (?:both )?{_NAME}(?: (?:and|,|, and) (?:for )?{_NAME})*",
    "person-first": rf"(?:for )?{_NAME} (?P<link>{_HAS} )?{_SAY}{_VALUE}(?: \))?",
    "of-person": rf"{_SAY}(?:for|of) {_NAME} (?:{_BE}|{_SIGN}) {_VALUE}",
    "same": rf"(?:so (?:is|does|would be)|(?:the )?same(?: goes)?(?: for)?|likewise(?: for)?) {_NAME}",
    "one-for-all": rf"{_SAY}{_VALUE} (?:{_BE} )?(?:used )?(?:for|in) {_ALL}",
    "all-are-one": rf"(?:for )?(?:{_ALL}|they are both|they're both|they both)(?: {_HAS}| would)? {_VALUE}",
    "by-order": rf"{_ORDER}(?: (?:{_HAS}|\)))? {_SAY}{_VALUE}",
    "next": rf"{_SAY}(?:(?:then|next|finally|lastly) )?{_VALUE}",
}
_JOINT = r"(?:(?:[,;&\n]|and|while|whereas|but|then|also)(?: |$))+"
_PATTERNS = {kind: re.compile(rf"{clause}(?=$| {_JOINT}| then )") for kind, clause in _CLAUSES.items()}
_JOINTS = re.compile(rf"(?: |\b|^){_JOINT}|(?: |$)")
_OPENING = re.compile(
    r"(?:(?:sure|certainly|of course|okay|ok|yes|in order|here (?:you go|they are|you are|it is)|answers?"
    r"|(?:the|my)(?: correct| right)? answers? (?:is|are|would be)|here are the pronouns|they are(?= [:V])"
    r"|(?:the )?pronouns(?: (?:are|would be))?(?! (?:for|of) ))(?: [,:\n-])*(?: |$))+"
)
_CLOSING = re.compile(
    r"(?:^|\n)\W*(?:(?:please )?let me know\b[^\n]*|i? ?hope (?:this|that|it) helps"
    r"|is there anything else[^\n]*"
    r"|anything else[^\n]*|would you like[^\n]*|does (?:that|this) help)\s*$",
    re.IGNORECASE,
)
_BULLET = re.compile(r"(?m)^\s*(?:[-*•]|\d{1,2}[.)])\s+")
_ENDS = re.compile(r"[.!\n]|(?P<asks>[?？؟])")
_POLITE = re.compile(
    r"\W*(?:is there anything|anything else|does (?:that|this)|(?:how )?(?:can|may) i"
    r"|would you like|do you (?:want|need))"
)
_SIGNS = re.compile(
    r"(?P<word>[^\W\d_]+(?:['’][^\W\d_]+)?|\d(?:st|nd|rd|th)?\b)|(?P<sign>->|=>|[→⇒=:–—,;&\n()/|#-])|(?P<other>\w)"
)
_NO_ANSWER = re.compile(
    r"\b(?:cannot|can ?not|can['’]t|don['’]t"
    r"|doesn['’]t|isn['’]t|aren['’]t|won['’]t|wouldn['’]t|couldn['’]t|not|no"
    r"|never|neither|nothing|any|(?:could|may|might) be|unable|impossible|unknown|unclear|unspecified"
    r"|undetermined|indeterminate|ambiguous"
    r"|depends?|depending|sorry|without|unless|either|insufficient|clarify|n/a)\b"
)
DECLINING = FUNCTION | frozenset(package_table(__package__, "declining.toml")["words"].split())
"""Words of answers that say that nothing can be said: an answer of other words may name somebody."""


class DirectAnswers:
    """Reads whole answers in which each person gets a value.

    Args:
        sentences: the reader of single sentences, which knows the words of values.
        lost: codes of the kinds in which a mention is lost.
        other: code of the first of them.
    """

    def __init__(self, sentences: Sentences, lost: dict[str, int], other: int) -> None:
        self.sentences, self.lost, self.other = sentences, lost, other

    @cached_property
    def _values(self) -> re.Pattern[str]:
        return re.compile(f"{self.sentences.pair.pattern}|(?P<value>{self.sentences.words.pattern})")

    @staticmethod
    def asks_back(output: str) -> bool:
        """Whether an answer asks what may hold values: "He for the chef?", but not "Anything else?"."""
        start = 0
        for end in _ENDS.finditer(output):
            said = output[start : end.start()].strip().lower()
            if end["asks"] and said and not _POLITE.match(said):
                return True
            start = end.end()
        return False

    def codes(self, lines: Sequence[str], items: Sequence[str]) -> list[int] | None:
        """A code for each mention, `UNREAD` for all if pairs disagree; None if it is no such answer.

        Args:
            lines: the sentences of the answer, normalised.
            items: the item of each mention, lower case; "" where it is not known.
        """
        if sum(map(len, lines)) > LONGEST_FOR_ONE * max(1, len(items)):
            return None
        text = _BULLET.sub("", _CLOSING.sub("", "\n".join(lines)))
        pairs = _Pairs(items)
        said = self._symbols(text.lower(), pairs)
        if not said or not pairs.values:
            return None
        return pairs.read(said)

    def declines(self, lines: Sequence[str], items: Sequence[str]) -> list[int] | None:
        """The code of a lost mention for each, if the answer plainly says that it cannot tell."""
        if sum(map(len, lines)) > LONGEST_FOR_ONE * max(1, len(items)):
            return None
        text = "\n".join(lines).lower()
        if self.sentences.persons and self.sentences.persons.search(text):
            return None
        pairs = _Pairs(items)
        said = self._symbols(text, pairs)
        if not said or min(pairs.values, default=self.other) < self.other or not _NO_ANSWER.search(text):
            return None
        words = {word for match in TOKEN.finditer(said) for word in re.split("['’]", match[0]) if word}
        if not words - {"V", "I"} <= DECLINING:
            return None
        kind = "both" if self.lost["both"] in pairs.values else "none"
        return [self.lost[kind]] * len(items)

    def _symbols(self, text: str, pairs: _Pairs) -> str:
        """The answer with V and I for values and occupations, which go to `pairs`; "" if it has more."""
        spots: list[tuple[int, int, str]] = []
        for match in self._values.finditer(text):
            spots.append((match.start(), match.end(), "V"))
        for item in dict.fromkeys(filter(None, pairs.items)):
            spots += [(match.start(), match.end(), item) for match in item_pattern(item).finditer(text)]
        spots.sort()
        made: list[str | None] = []
        place = 0
        for start, end, what in spots:
            if start < place:
                return ""
            made += _signs(text[place:start])
            own = text[start:end]
            if what != "V":
                pairs.named.append(what)
                made.append("I")
            elif _is_no_value(own, text[:start], text[end:]):
                made.append(own)
            else:
                made.append("V")
                pairs.values.append(self._code(own))
            place = end
        made += _signs(text[place:])
        if None in made:
            return ""
        return self._merge([one for one in made if one is not None], pairs)

    def _code(self, own: str) -> int:
        code = self.sentences.codes.get(own)
        if code is not None:
            return code
        found = {self.sentences.codes[match[0]] for match in self.sentences.words.finditer(own)}
        return found.pop() if len(found) == 1 else self.lost["both"]

    def _merge(self, made: Sequence[str], pairs: _Pairs) -> str:
        """Values with a slash between them as one: "he/him" is he, "he/she/they" is both."""
        kept: list[str] = []
        values: list[int] = []
        given = iter(pairs.values)
        joined = False
        for place, one in enumerate(made):
            if one == "V":
                code = next(given)
                if joined and kept and kept[-1] == "V":
                    values[-1] = code if values[-1] == code else self.lost["both"]
                else:
                    kept.append(one)
                    values.append(code)
                joined = False
            elif one in ("/", "|") and kept and kept[-1] == "V" and "V" in made[place + 1 : place + 2]:
                joined = True
            else:
                kept.append(one)
        pairs.values = values
        return " ".join(kept)


def _signs(text: str) -> Iterator[str | None]:
    """Words and signs of a text, None for what is not known; quotes and marks of emphasis mean nothing."""
    for match in _SIGNS.finditer(text):
        yield match[0].replace("’", "'") if not match["other"] else None


def _is_no_value(own: str, before: str, after: str) -> bool:
    """Whether a word of the residual means no person's pronoun: "both of them", "they are both he"."""
    if own == "it":
        return (
            re.match(r"['’]\w|\s+(?:is|was|would|should|depends?|could|can|says?|does|all)\b", after)
            is not None
        )
    if own == "them":
        return re.search(r"\bof\s+$", before) is not None
    return own == "they" and re.match(r"(?:['’]re|\s+are)?\s+both\s|\s+are\s*:", after) is not None


class _Pairs:
    """The pairs of one answer.

    Attributes:
        items: the item of each mention.
        named: the items that the answer names, in its order.
        values: the codes that it gives, in its order.
    """

    def __init__(self, items: Sequence[str]) -> None:
        self.items = items
        self.named: list[str] = []
        self.values: list[int] = []
        self.codes: dict[int, int] = {}
        self.consistent = True
        self.links: set[str] = set()
        self.listed: list[int] = []

    def read(self, said: str) -> list[int] | None:
        """The code of each mention, if every word of the answer is part of a pair."""
        opening = _OPENING.match(said)
        place = opening.end() if opening else 0
        names, values = iter(self.named), iter(self.values)
        last = UNREAD
        while place < len(said):
            match = self._clause(said, place)
            if match is None:
                return None
            kind, found = match
            own = [next(values) for _ in range(found[0].count("V"))]
            last = own[0] if own else last
            people = [next(names) for _ in range(found[0].count("I"))]
            self._take(kind, found, last, people)
            place = found.end()
            joint = _JOINTS.match(said, place)
            place = joint.end() if joint else place
        return self._result()

    def _clause(self, said: str, place: int) -> tuple[str, re.Match[str]] | None:
        for kind, pattern in _PATTERNS.items():
            found = pattern.match(said, place)
            if found is not None:
                return kind, found
        return None

    def _take(self, kind: str, found: re.Match[str], code: int, people: Sequence[str]) -> None:
        if kind == "next" or found[0].startswith("first V"):
            self.listed.append(code)
            return
        if kind in ("one-for-all", "all-are-one"):
            slots = list(range(len(self.items)))
        elif kind == "by-order":
            slots = [self._ordinal(found)]
        else:
            if kind in ("value-first", "person-first") and re.fullmatch(
                _SIGN, (found["link"] or ",").strip()
            ):
                self.links.add(kind)
            slots = [self.items.index(one) for one in people]
            self.consistent &= all(self.items.count(one) == 1 for one in people)
        for slot in slots:
            self.consistent &= 0 <= slot < len(self.items) and self.codes.get(slot, code) == code
            self.codes[slot] = code

    def _ordinal(self, found: re.Match[str]) -> int:
        if found["number"]:
            return int(found["number"]) - 1
        said = found["ordinal"]
        place = int(said[0]) - 1 if said[0].isdigit() else _ORDINALS[said]
        return len(self.items) - 1 if place < 0 else place

    def _result(self) -> list[int] | None:
        if self.listed and not self.codes:  # "first he, then she"
            return self.listed if len(self.listed) == len(self.items) else None
        if self.listed:  # "first he, second she"
            self.consistent &= len(self.listed) == 1 and 0 not in self.codes
            self.codes[0] = self.listed[0]
        if not self.consistent or len(self.links) > 1 or UNREAD in self.codes.values():
            return [UNREAD] * len(self.items)
        complete = self.codes.keys() == set(range(len(self.items)))
        return [self.codes[slot] for slot in range(len(self.items))] if complete else None
