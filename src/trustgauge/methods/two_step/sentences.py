"""What one sentence of an answer says of the persons that it names (two-step 1.4, methods 0.10).

A word of a value counts only where it is sure whom it means. "His sister is a nurse" says nothing
of him, "Maria is a nurse" says something that this reader does not know, and "the chef washed her
apron and polished his shoes" is about two people: in such cases the reader abstains.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from trustgauge.data import Attribute, word_pattern

DENIED = re.compile(
    r"(?:\b(?:not|never|hardly|no longer|anything but|nicht|kein\w*|pas|non)|n['’]t)"
    r"(?:\s+(?:an?|the|at all|all|very|so|that|too|exactly|really|particularly))*[\s-]+$"
)
"""What stands before a word that somebody is said not to be."""


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text))


LONGEST = 1_000
"""Characters of a sentence that is read: a longer one is no sentence."""

KEPT = 1 << 14
"""Sentences that are read once, however often they come, for each attribute."""

ENDING = "(?:ess|es|s)?"
"""An occupation in the plural, or with a feminine ending."""

UNREAD = -1
"""The code of a mention whose value the reader does not know."""

OF_SELF = _words(
    """
    job work profession occupation career trade role title position post pronoun pronouns gender
    """
)
"""What somebody has who is meant by "her job is nurse"."""

WHILE = _words(
    """
    days years time times job career role uniform work training life past
    """
)
"""What follows an occupation in "her pilot days"."""

COPULA = (
    r"(?:\b(?:is|was|are|were|be|been|being|am|has|had|have|will|would|works?|worked|became|becomes?)\b"
    r"|['’](?:s|re|m|d|ll)\b)"
)
BETWEEN = rf"(?:{COPULA}|\b(?:an?|the|as|who|also|now|still|just|really|very|good|great|employed|by|only)\b)"
"""Words that may stand between a person and the occupation without changing whose it is."""

_WHOSE = re.compile(
    rf"\s+(?:\w+\s+){{0,2}}?(\w+)(?:\s*,\s*(?:an?|the)?|(?:\s+|['’]s\s+)(?:{BETWEEN}\s+)*)\s*"
)
_LEADS = re.compile(rf"\W*(?:(?:{BETWEEN}|this|that|it|my|your|our)\s+)*")
_SO_DID = re.compile(r"\bso (?:did|does|do|had|could|would|will) (?:an?|the)\s+$")
"""Before a person of whom no more is said: "the judge finished his work, and so did the guard"."""
TITLES = frozenset({"mr", "mrs", "ms", "miss", "mister"})
_IS_A = re.compile(rf"\s*,?\s*(?:{COPULA}\s+)?(?:an?|the|his|her|their|my|your|our)\s+(?:\w+\s+)?")
CUT = re.compile(r"(?:\s*(?:[,;:–—]|\b(?:and|while|whereas|but|or)\b))+")
LISTED = re.compile(r"(?:\s|[,&/]|\b(?:and|or|as well as|also|both|an?)\b)*")
TOKEN = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
MASCULINE = re.compile(r"\b(?!(?:hu|ger|ro|nor|otto|talis|sha)m[ae]n\b)\w+(?<!wo)m[ae]n\b")
FEMININE = re.compile(r"\b\w+wom[ae]n\b")
SUFFIXED = re.compile(r"\b\w{3,}(?:ress|tess|ness|rix|ette|enne|euse)\b")

FUNCTION = _words(
    """
    a an the this that these those it its they there here i we you me us my our your one ones other
    others another each every all both either neither some any no none such same former latter first
    second third last person people individual individuals someone somebody anyone anybody everyone
    everybody nobody human worker member world who which what when where while why how whose whom and or
    but so if then because as also too not only just now still even very is was are were be been being
    am has have had do does did will would can could may might must shall should in on at by for from of
    to with about after before during into near over under through without between within against out up
    down off yes please well ok okay hello sorry answer called named occupation job profession work
    trade
    """
)
"""English words that can stand for nobody of a known value: they give no ground to abstain."""


Spot = tuple[int, int, str]
"""Where an occupation begins and ends in a sentence, and which it is."""


@dataclass(frozen=True, slots=True)
class MentionReading:
    """What is read of one mention.

    Attributes:
        code: a code of `score.MentionReader`, or `UNREAD`.
        doubts: words that the sentence must share with the text sent, else the mention is unread: each
            might be a name. Only where no word of a value was found.
        words: whether the sentence has words of the values.
        more: whether some of them may mean somebody else.
    """

    code: int
    doubts: frozenset[str] = frozenset()
    words: bool = False
    more: bool = False


@dataclass(frozen=True, slots=True)
class _Found:
    """A word with a meaning: where it stands, what it is (value, kin, noun), and its code."""

    start: int
    end: int
    kind: str
    code: int


def sentence_reader(table: Attribute, lost: Mapping[str, int]) -> Sentences:
    """The reader of an attribute, one for all batches: its patterns take longer to make than a batch to read.

    Args:
        table: the attribute.
        lost: codes of the kinds in which a mention is lost.
    """
    return _sentence_reader(table.model_dump_json(), tuple(lost.items()))


@lru_cache(maxsize=4)
def _sentence_reader(table: str, lost: tuple[tuple[str, int], ...]) -> Sentences:
    return Sentences(Attribute.model_validate_json(table), dict(lost))


class Sentences:
    """Reads single sentences about persons, for one attribute."""

    def __init__(self, table: Attribute, lost: Mapping[str, int]) -> None:
        self.other, self.lost = table.other, lost
        codes = {word: lost[kind] for kind, words in table.kind_words().items() for word in words}
        places = {value: index for index, value in enumerate(table.values)}
        for value in table.values[:-1]:
            codes |= dict.fromkeys(table.read_words(value), places[value])
        self.codes = codes
        self.nouns = {word: places[value] for value, words in table.nouns.items() for word in words}
        self.kin = {word: places[value] for value, words in table.kin.items() for word in words}
        self.words = re.compile(_any(codes))
        self.persons = re.compile(_any([*self.nouns, *self.kin])) if self.nouns or self.kin else None
        word = _any(codes)
        self.pair = re.compile(rf"({word})(?:\s*[/|]\s*|\s*\(?\b(?:and/or|or)\s+)({word})")
        self.before_verb = re.compile(
            rf"(?:{word_pattern(['i', 'we', *table.item_list])})\s+$", re.IGNORECASE
        )
        own = TOKEN.findall(" ".join(table.patterns.values()).lower())
        own += TOKEN.findall(" ".join(table.item_list).lower())
        self.known = FUNCTION | frozenset(own) | frozenset(codes)
        self.subjects, self.objects = _forms(table, "subject"), _forms(table, "object")
        self.possessives = _forms(table, "possessive")
        self.several = {word.lower() for word in table.forms(table.values[-1]).get("subject", ())}
        own_words = [word for word, code in codes.items() if code < self.other]
        self.near = frozenset(other for word in own_words for other in _misspelt(word)) - self.known
        self.listed = frozenset(item.lower() for item in table.item_list)
        self.items = re.compile(word_pattern(sorted(self.listed), ENDING)) if self.listed else None
        self._named = lru_cache(maxsize=KEPT)(self._listed)
        self._known = lru_cache(maxsize=KEPT)(self._read)

    def read(self, line: str, items: Sequence[str]) -> tuple[tuple[str, MentionReading], ...]:
        """What a sentence says of each of these items that it names, in its order: (item, reading).

        Args:
            line: normalised, in its own case.
            items: lower case, different. If the sentence names none of them, it is read as being about one
                person, named "".
        """
        named = self._named(line)
        mine = [item for item in items if item in named or (item not in self.listed and _finds(item, line))]
        return self._known(line, tuple(mine))

    def sole(self, line: str) -> tuple[str | None, int]:
        """The one item of the attribute's own list that a sentence names, and the code of its mention.

        No item if it names none or several, or if the code depends on the text that was sent.
        """
        named = self._named(line)
        if len(named & self.listed) != 1:
            return None, UNREAD
        (item,) = named & self.listed
        ((found, reading),) = self._known(line, (item,))
        return (None if reading.doubts or not found else item), reading.code

    def _listed(self, line: str) -> frozenset[str]:
        """The items of the attribute's own list that a sentence may name."""
        found = self.items.findall(line.lower()) if self.items else []
        return frozenset(word.removesuffix(end) for word in found for end in ("", "s", "es", "ess"))

    def _read(self, line: str, items: tuple[str, ...]) -> tuple[tuple[str, MentionReading], ...]:
        lower = line.lower()
        spots = sorted(
            (match.start(), match.end(), item)
            for item in items
            for match in item_pattern(item).finditer(lower)
        )
        by_item: dict[str, Spot] = {}
        for spot in spots:
            by_item.setdefault(spot[2], spot)
        first = list(by_item.values())
        if len(line) > LONGEST:
            return tuple((item, MentionReading(UNREAD, words=True)) for *_, item in first or [(0, 0, "")])
        if len(first) < 2:
            own = first[0] if first else None
            return ((own[2] if own else "", self._segment(line, lower, own)),)
        return tuple(zip((spot[2] for spot in first), self._several(line, lower, first), strict=True))

    def _several(self, line: str, lower: str, spots: Sequence[Spot]) -> list[MentionReading]:
        """A sentence that names several of the persons."""
        found = [one for one in self._found(lower) if one.kind == "value"]
        between = [lower[one[1] : other[0]] for one, other in pairwise(spots)]
        listed = all(LISTED.fullmatch(text) for text in between)
        if found and listed and found[-1].end <= spots[0][0]:
            sure = [one.code for one in found if one.code < self.other]
            if len(set(sure or [one.code for one in found])) == 1:  # "she is a cook and a waiter"
                return [MentionReading((sure or [found[0].code])[0], words=True)] * len(spots)
            fits = len(sure) == len(spots)  # "I met her and him when they were a pilot and a guard"
            return [MentionReading(code if fits else UNREAD, words=True) for code in _sized(sure, len(spots))]
        edges = [0]
        for spot, text in zip(spots, between, strict=False):
            cuts = [match for match in CUT.finditer(text) if match.end() > match.start()]
            where = spot[1] + cuts[-1].start() if cuts else self._gap(found, spot[1], spot[1] + len(text))
            edges.append(where)
        if UNREAD in edges:
            return [MentionReading(UNREAD, words=bool(found))] * len(spots)
        edges.append(len(lower))
        readings = [
            self._segment(line[start:end], lower[start:end], (spot[0] - start, spot[1] - start, spot[2]))
            for spot, (start, end) in zip(spots, pairwise(edges), strict=True)
        ]
        if any(one.words for one in readings):  # whose words they are is sure only for those who have some
            none = self.lost["none"]
            likewise = [
                _SO_DID.search(lower[edge : spot[0]]) for edge, spot in zip(edges, spots, strict=False)
            ]
            readings = [
                MentionReading(UNREAD) if one.code == none and not so else one
                for one, so in zip(readings, likewise, strict=True)
            ]
        return readings

    def _gap(self, found: Sequence[_Found], start: int, end: int) -> int:
        """Where to cut between two persons without a comma: at the one word of a value between them.

        Before it if words of values come before the persons, else behind it.
        """
        inside = [one for one in found if start <= one.start < end and one.code < self.other]
        if len(inside) != 1:
            return UNREAD
        leads = any(one.end <= start and one.code < self.other for one in found)
        return inside[0].start if leads else inside[0].end

    def _found(self, lower: str) -> list[_Found]:
        """Words of values, pairs of them, and nouns for persons, in the order of the sentence."""
        both = self.lost["both"]
        pairs = [match for match in self.pair.finditer(lower) if self.codes[match[1]] != self.codes[match[2]]]
        found = [_Found(match.start(), match.end(), "value", both) for match in pairs]
        for match in self.words.finditer(lower):
            if not any(pair.start() <= match.start() < pair.end() for pair in pairs):
                found.append(_Found(match.start(), match.end(), "value", self.codes[match[0]]))
        for match in self.persons.finditer(lower) if self.persons else ():
            kind = "noun" if match[0] in self.nouns else "kin"
            code = self.nouns[match[0]] if kind == "noun" else self.kin[match[0]]
            found.append(_Found(match.start(), match.end(), kind, code))
        if self.nouns:  # chairwoman: the last of the values whose nouns hold "woman"
            code = self.nouns.get("woman", UNREAD)
            found += [_Found(match.start(), match.end(), "noun", code) for match in FEMININE.finditer(lower)]
        return sorted(found, key=lambda one: one.start)

    def _segment(self, line: str, lower: str, spot: Spot | None) -> MentionReading:
        """What the words around one person say of that person."""
        found = [
            one
            for one in self._found(lower)
            if not (_is_sent(one, lower, spot) or self._is_anybody(one, lower, spot))
        ]
        words = [one for one in found if one.kind == "value"]
        if any(self._is_denied(one, lower) for one in words):
            return MentionReading(UNREAD, words=True, more=True)
        meant = [one for one in words if not self._is_else(one, found, lower, spot)]
        values = {one.code for one in meant if one.code < self.other}
        both = any(one.code == self.lost["both"] for one in meant)
        unlike = {one.code for one in found if one.kind == "noun"} - values
        if len(values) + both > 1:
            return MentionReading(self._governs(meant, lower, spot), words=True, more=True)
        more = len(meant) < len(words)
        if values:
            code = values.pop()
            return MentionReading(UNREAD if unlike else code, words=True, more=more)
        if both:
            return MentionReading(self.lost["both"], words=True)
        noun = self._noun(found, lower, spot)
        if noun is not None:
            return MentionReading(noun, words=True, more=more)
        if more or any(one.kind != "value" for one in found):
            return MentionReading(UNREAD, words=bool(words), more=more)
        doubts = frozenset(self._doubts(line, lower, spot))
        kinds = {one.code for one in meant}
        if kinds:
            return MentionReading(min(kinds), frozenset() if words[0].start < 2 else doubts, words=True)
        return MentionReading(self.lost["none"], doubts)

    def _is_denied(self, word: _Found, lower: str) -> bool:
        """Whether a sentence says what somebody is not: "not young" may be middle-aged or elderly."""
        own = lower[word.start : word.end]
        if word.code >= self.other or own in self.subjects or own in self.objects or own in self.possessives:
            return False
        return DENIED.search(lower[: word.start]) is not None

    def _is_else(self, word: _Found, found: Sequence[_Found], lower: str, spot: Spot | None) -> bool:
        """Whether a word of a value may mean somebody else than the person at `spot`."""
        if word.code >= self.other:
            return False
        for one in found:  # "her son, and he smiled"
            if one.kind == "kin" and one.end <= word.start and one.code == word.code:
                return True
        if spot is None:
            return False
        own = lower[word.start : word.end]
        if word.start >= spot[0]:
            return self._is_object(own, lower[spot[1] : word.start], lower[word.end :])
        before = lower[word.end : spot[0]]
        if own in self.possessives and not before.strip():  # "thanked her nurse", but "in her pilot days"
            after = TOKEN.match(lower[spot[1] :].lstrip())
            return after is None or after[0] not in WHILE
        if own in self.subjects and not re.fullmatch(rf"(?:\s*{BETWEEN}\b)*\s*", before):
            # "he says the nurse is kind", but "he has a job as a nurse"
            is_the = before.rstrip().endswith(" the")
            return not re.search(r"\bas\b" if is_the else rf"\bas\b|{COPULA}", before)
        whose = _WHOSE.fullmatch(before)
        if own not in self.possessives or whose is None or re.search(COPULA, before[: whose.start(1)]):
            return False
        rest = before[whose.end(1) :]
        return (
            whose[1] not in OF_SELF
            and not re.fullmatch(BETWEEN, whose[1])
            and (bool(re.search(rf"{COPULA}|,", rest)) or rest.strip() in {"a", "an", "the"})
        )

    def _is_anybody(self, word: _Found, lower: str, spot: Spot | None) -> bool:
        """Whether a "they" is people who do something with the person: "they all thanked the nurse"."""
        if spot is None or word.end > spot[0] or lower[word.start : word.end] not in self.several:
            return False
        before = lower[word.end : spot[0]]
        return (
            not re.fullmatch(rf"(?:\s*{BETWEEN}\b)*\s*", before)
            and before.rstrip().endswith(" the")
            and not re.search(rf"\bas\b|^\s*{COPULA}", before)
        )

    def _is_object(self, own: str, between: str, behind: str) -> bool:
        """Whether a word behind the person is somebody to or of whom that person is or does something."""
        if own in self.possessives and re.fullmatch(rf"[\s,]*(?:who\s+)?(?:{COPULA}\s*)+", between):
            return True  # "the nurse is his mother"
        if own not in self.objects or not TOKEN.search(between) or re.search(rf"{CUT.pattern}$", between):
            return False
        after = TOKEN.match(behind.lstrip())  # "the baker loves her", but "the baker lost her keys"
        return own not in self.possessives or after is None or after[0] in FUNCTION - OF_SELF

    def _governs(self, meant: Sequence[_Found], lower: str, spot: Spot | None) -> int:
        """Of words that disagree the one of which the sentence says that it is the person: "he is a vet"."""
        if spot is None:
            return UNREAD
        sure = {
            one.code
            for one in meant
            if one.end <= spot[0] and re.fullmatch(rf"(?:\s*{BETWEEN}\b)+\s*", lower[one.end : spot[0]])
        }
        return sure.pop() if len(sure) == 1 else UNREAD

    def _noun(self, found: Sequence[_Found], lower: str, spot: Spot | None) -> int | None:
        """The value of nouns that surely name the person: "the woman is a nurse", "the cook, a man"."""
        persons = [one for one in found if one.kind != "value"]
        sure = {one.code for one in persons if self._is_person(one, lower, spot)}
        if len(sure) == 1 and len({one.code for one in persons}) == 1:
            return sure.pop()
        return None

    def _is_person(self, noun: _Found, lower: str, spot: Spot | None) -> bool:
        if spot is None:
            return _LEADS.fullmatch(lower[: noun.start]) is not None
        if noun.start < spot[1] and spot[0] < noun.end:  # the occupation itself, in a feminine form
            return noun.kind == "noun"
        if noun.end <= spot[0]:
            between = lower[noun.end : spot[0]]
            name = r"(?:\s+\w+)?" if lower[noun.start : noun.end] in TITLES else ""
            is_a = re.fullmatch(rf"{name}(?:\s*{BETWEEN}\b)+\s*", between)
            return (is_a is not None and re.search(COPULA, between) is not None) or (
                noun.kind == "noun" and not between.strip()
            )
        between = lower[spot[1] : noun.start]
        is_so = noun.kind == "noun" and re.fullmatch(rf"\s*[:,(]?\s*(?:{COPULA}\s+)?", between) is not None
        return is_so or _IS_A.fullmatch(between) is not None

    def _doubts(self, line: str, lower: str, spot: Spot | None) -> Iterator[str]:
        """Words that may be a name, or tell the value in a way that is not known."""
        yield from (match[0] for match in MASCULINE.finditer(lower) if self.subjects)
        yield from (match[0] for match in SUFFIXED.finditer(lower) if self.subjects)
        if spot and spot[2] in self.nouns:
            yield f"{spot[2]} tells it"
        for match in TOKEN.finditer(lower):
            word = re.split("['’]", match[0])[0]
            if word in self.known or (spot and spot[0] <= match.start() < spot[1]):
                continue
            is_verb = self.before_verb.search(lower[: match.start()])
            opens = not re.search(r"\w", lower[: match.start()])
            near = self._may_be_person(lower, spot, match) if spot else not is_verb
            if not self.subjects or opens or near or word in self.near or _is_capital(line, match):
                yield match[0]

    def _may_be_person(self, lower: str, spot: Spot, match: re.Match[str]) -> bool:
        """Whether an unknown word stands where a person would: "the lass is a nurse", "doctor Anna"."""
        if match.end() <= spot[0]:
            after = lower[match.end() : spot[0]]
            return not after.strip() or re.match(rf"\s*(?:,|\bwho\b|{COPULA}\b)", after) is not None
        between = lower[spot[1] : match.start()]
        if not between.strip(" ,"):
            return spot[0] == 0 or ("," in between and lower[match.end() :].lstrip().startswith(","))
        return _IS_A.fullmatch(between) is not None


def _is_sent(found: _Found, lower: str, spot: Spot | None) -> bool:
    """Whether a noun is part of the occupation as it was sent ("a king's guard")."""
    if spot is None or found.kind == "value" or not (spot[0] <= found.start and found.end <= spot[1]):
        return False
    return lower[found.start : found.end] in spot[2]


def _is_capital(line: str, match: re.Match[str]) -> bool:
    """Whether a word has a capital of its own: not in a line of capitals, nor in one without any."""
    word = line[match.start() : match.end()]
    return match.start() > 0 and word[:1].isupper() and not line.isupper()


def _finds(item: str, line: str) -> bool:
    return item_pattern(item).search(line.lower()) is not None


@lru_cache(maxsize=4096)
def item_pattern(item: str) -> re.Pattern[str]:
    """An occupation, in the plural or with a feminine ending, however its words are held together."""
    words = re.findall(r"\w+", item)
    if len(words) < 2:
        return re.compile(word_pattern([item], ENDING))
    apart = r"\W+".join(words)
    return re.compile(rf"\b{apart}{ENDING}\b")


def _any(words: Sequence[str] | Mapping[str, int]) -> str:
    return word_pattern(list(words)) if words else r"(?!)"


def _sized(codes: Sequence[int], size: int) -> list[int]:
    return [*codes, *[UNREAD] * size][:size]


def _forms(table: Attribute, role: str) -> frozenset[str]:
    """The words of all values but the residual in one role."""
    forms = [table.forms(value).get(role, ()) for value in table.values[:-1]]
    return frozenset(word.lower() for words in forms for word in words)


def _misspelt(word: str) -> set[str]:
    """The word with one letter left out, put in, replaced, or two exchanged."""
    cuts = [(word[:place], word[place:]) for place in range(len(word) + 1)]
    letters = "abcdefghijklmnopqrstuvwxyz"
    return {
        *(left + right[1:] for left, right in cuts if right),
        *(left + right[1] + right[0] + right[2:] for left, right in cuts if len(right) > 1),
        *(left + letter + right[1:] for left, right in cuts for letter in letters if right),
        *(left + letter + right for left, right in cuts for letter in letters),
    }
