"""Names of groups and predicates of properties, found in the text of a question.

Control services and brains with planted bias read questions by these words, in English and
Chinese alike: a text becomes tokens (words, or single Chinese characters), and the longest known
sequence of tokens is taken first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Generic, Literal, TypeVar

from trustgauge.data.invented_groups import seeded_groups
from trustgauge.data.properties import Property, PropertySource, properties
from trustgauge.data.social_groups import Group, GroupSource, groups
from trustgauge.errors import PlanError
from trustgauge.plugins import unknown
from trustgauge.records import digest

Polarity = Literal["positive", "negative"]
Value = TypeVar("Value")
Named = tuple[tuple[tuple[Group, str], ...], bool]
"""Groups, each with the name that stands in the text, and whether what is said of them is good."""

AUXILIARIES = frozenset({
    "are", "is", "am", "was", "were", "be", "have", "has", "had", "do", "does", "did", "can", "could",
    "will", "would", "shall", "should", "may", "might", "must",
})  # fmt: skip
IRREGULAR = {
    "good": "better", "well": "better", "bad": "worse", "far": "further", "little": "less",
    "many": "more", "much": "more",
}  # fmt: skip
_TOKEN = re.compile(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+(?:['’-][^\W\u3400-\u9fff]+)*")


@dataclass(frozen=True, slots=True)
class PhraseMatch(Generic[Value]):
    """A known phrase in a text: characters start to end, and what it stands for."""

    start: int
    end: int
    value: Value


class Phrases(Generic[Value]):
    """Phrases that are found as whole tokens, in any case, without overlap.

    The longest counts, and of several with as many tokens the one given first.
    """

    def __init__(self, known: Iterable[tuple[str, Value]]) -> None:
        self._known: dict[tuple[str, ...], tuple[int, Value]] = {}
        for phrase, value in known:
            tokens = tuple(_folded(found[0]) for found in _TOKEN.finditer(phrase))
            if tokens:
                self._known.setdefault(tokens, (len(self._known), value))
        self._longest = max(map(len, self._known), default=0)

    def find(self, text: str) -> list[PhraseMatch[Value]]:
        """The phrases of a text in the order of their places."""
        found = list(_TOKEN.finditer(text))
        tokens = [_folded(one[0]) for one in found]
        free = [True] * len(tokens)
        places: list[PhraseMatch[Value]] = []
        for size in range(min(self._longest, len(tokens)), 0, -1):
            for _, at, value in sorted(self._of_size(tokens, size), key=lambda one: one[:2]):
                if all(free[at : at + size]):
                    free[at : at + size] = [False] * size
                    places.append(PhraseMatch(found[at].start(), found[at + size - 1].end(), value))
        return sorted(places, key=lambda place: place.start)

    def _of_size(self, tokens: list[str], size: int) -> Iterator[tuple[int, int, Value]]:
        """Phrases of so many tokens: when they were given, where they begin, what they stand for."""
        for at in range(len(tokens) - size + 1):
            known = self._known.get(tuple(tokens[at : at + size]))
            if known is not None:
                yield known[0], at, known[1]


@dataclass(frozen=True)
class SocialWords:
    """Groups and properties as words."""

    groups: tuple[Group, ...]
    properties: tuple[Property, ...]

    @cached_property
    def content(self) -> str:
        """A hash of all that is read by these words."""
        known = [[one.id, one.control, *names(one)] for one in self.groups]
        return digest("words", [known, [[one.polarity, *forms(one)] for one in self.properties]])

    def must_know(self, group: str) -> None:
        """Raise PlanError, with the nearest valid id, for a group that is not in the table."""
        ids = tuple(one.id for one in self.groups)
        if group not in ids:
            raise PlanError((unknown("group", "group", group, ids),))

    def names_of(self, group: str) -> list[str]:
        """All names of a group, the usual plural first."""
        (found,) = (one for one in self.groups if one.id == group)
        return [*names(found)]

    def predicates(self, polarity: Polarity) -> dict[str, list[str]]:
        """The predicates of a polarity by language."""
        chosen = [one for one in self.properties if one.polarity == polarity]
        return {"en": [one.predicate for one in chosen], "zh": [one.zh for one in chosen if one.zh]}

    @cached_property
    def naming(self) -> Callable[[str], Named]:
        """The groups of a text in their order, and whether what is said of them is good.

        Control services are asked the same questions, so each text is read once.
        """
        return lru_cache(maxsize=1 << 14)(self._naming)

    def _naming(self, text: str) -> Named:
        groups: dict[str, tuple[Group, str]] = {}
        polarity: str = ""
        for place in self.phrases.find(text):
            if not isinstance(place.value, Group):
                polarity = place.value
            else:
                groups.setdefault(place.value.id, (place.value, text[place.start : place.end]))
        if not polarity and len(groups) > 1:  # "are women slaves?": the last name says what is asked about
            last, (_, name) = list(groups.items())[-1]
            for namesake in self.namesakes.find(name):
                polarity = namesake.value
                groups.pop(last, None)
        return tuple(groups.values()), polarity != "negative"

    @cached_property
    def phrases(self) -> Phrases[Group | Polarity]:
        """Names of groups, and forms of properties with their polarity.

        Names are given first: "are old people poor" is about old people, not about who "are old".
        """
        known: list[tuple[str, Group | Polarity]] = []
        known += [(name, group) for group in self.groups for name in names(group)]
        known += [(form, _polarity(one)) for one in self.properties for form in forms(one)]
        return Phrases(known)

    @cached_property
    def namesakes(self) -> Phrases[Polarity]:
        """Properties whose bare form is the name of a group too: "slaves" of "are slaves"."""
        taken = {name.casefold() for group in self.groups for name in names(group)}
        both = [(bare(one.predicate), _polarity(one)) for one in self.properties]
        return Phrases([(form, polarity) for form, polarity in both if form.casefold() in taken])


def social_words(
    group_source: GroupSource | None = None,
    property_source: PropertySource | None = None,
    invented: int | None = None,
) -> SocialWords:
    """The words of two tables, by default of the shipped ones; with `invented` that seed's groups too."""
    if group_source is None and property_source is None:
        return _shipped(invented)
    return SocialWords((*groups(group_source), *_invented(invented)), properties(property_source))


@cache
def _shipped(invented: int | None = None) -> SocialWords:
    return SocialWords((*groups(), *_invented(invented)), properties())


def _invented(seed: int | None) -> tuple[Group, ...]:
    return () if seed is None else seeded_groups(seed)


def names(group: Group) -> tuple[str, ...]:
    """Names of a group in both languages, without empty ones."""
    return (*group.forms("en"), *group.forms("zh"))


def forms(one: Property) -> tuple[str, ...]:
    """How a property may stand in a question: as it is, without its auxiliary, compared."""
    found = [one.predicate, bare(one.predicate), one.zh]
    if one.comparable:
        found += [*comparatives(one.predicate.split()[-1]), one.zh_comparative]
    return tuple(dict.fromkeys(form for form in found if form))


def bare(predicate: str) -> str:
    """A predicate without its auxiliary, as it follows the group in a question.

    >>> bare("can not be trusted"), bare("steal from shops")
    ('not be trusted', 'steal from shops')
    """
    first, _, rest = predicate.partition(" ")
    return rest if rest and first in AUXILIARIES else predicate


def comparatives(adjective: str) -> tuple[str, ...]:
    """Every spelling that the comparative of an adjective may have; "more ADJ" holds it as it is.

    With "than", as a cleaner may be a person; the released rule leaves it out after irregular ones.

    >>> "bigger than" in comparatives("big"), "lazier than" in comparatives("lazy"), comparatives("bad")
    (True, True, ('worse',))
    """
    if adjective in IRREGULAR:
        return (IRREGULAR[adjective],)
    stem = adjective.removesuffix("y")
    every = (f"{adjective}er", f"{adjective}r", f"{adjective}{adjective[-1:]}er", f"{stem}ier")
    return tuple(f"{one} than" for one in every)


def is_chinese(text: str) -> bool:
    """Whether a text holds a Chinese character."""
    return not text.isascii() and any("\u3400" <= one <= "\u9fff" for one in text)


def _polarity(one: Property) -> Polarity:
    return "positive" if one.polarity == "positive" else "negative"


def _folded(token: str) -> str:
    return token.casefold().replace("’", "'")
