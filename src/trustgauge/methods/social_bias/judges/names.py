"""Where an answer names the groups of a question (social-bias 3.6 sound, step 2).

All singular, plural and alias forms of both languages count, and names that only talk has, as whole words,
the longest first, without overlap: "women" holds no "men", "old people" no "people". Chinese has no word
boundaries.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import combinations
from typing import Literal

from trustgauge.data.social_groups import Group
from trustgauge.methods.social_bias.judges.lexer import FILL, FIRST, HAN, SECOND, epithets
from trustgauge.methods.social_bias.judges.phrases import trie_pattern

REGULAR = re.compile(r"[a-z](?:[\w' -]*\w)?")
"""A form that begins and ends as a word does."""
PEOPLE = " people"
ENDING = re.compile(r"(?:的人|[教信]徒|患者|受害者|幸存者|人士|灾民|人|者)$")
"""How Chinese names of groups end, which talk leaves out: 威尔士人, 威尔士那边; 直发的人, 直发女生."""
SHORTEST = 2  # characters of a name without its ending


@lru_cache(maxsize=20_000)
def all_forms(group: Group) -> tuple[str, ...]:
    """Every name of a group, folded, longest first."""
    forms = {group.singular, group.plural, *group.aliases, group.zh, *group.zh_aliases}
    forms |= {*epithets().get(group.id, ())}
    known = {_folded(form) for form in forms}
    known |= {f"{form.removesuffix(PEOPLE)} ones" for form in known if form.endswith(PEOPLE)}
    stems = {ENDING.sub("", form) for form in known if HAN.search(form)}
    known |= {form for form in stems if len(form) >= SHORTEST}
    return tuple(sorted((form for form in known if form), key=lambda form: (-len(form), form)))


def _folded(form: str) -> str:
    if form.isascii():
        return form.lower().strip()
    return unicodedata.normalize("NFKC", form).casefold().strip()


class NameFinder:
    """Finds the groups of a question in texts; each pattern is compiled once."""

    def __init__(self, groups: Mapping[str, Group]) -> None:
        """`groups`: id -> group. A group that is missing is never found."""
        self._forms = {name: all_forms(group) for name, group in groups.items()}
        self._clashes = _clashes(self._forms)
        self._patterns: tuple[dict[str, re.Pattern[str]], ...] = ({}, {})  # for any text, for ASCII

    def mask(self, text: str, first: str, second: str, *, fill: bool = True) -> str:
        """The text with each name replaced by a mask.

        Args:
            text: folded.
            first: id of the group whose names become `FIRST`.
            second: id of the group whose names become `SECOND`; "" if there is one group only.
            fill: whether masks are padded with `FILL` to the length of the name.
        """
        patterns = self._patterns[text.isascii()]
        if second:
            if (first, second) in self._clashes:
                joint = _joint(self._forms[first], self._forms[second])
                return joint.sub(_fill_by_group if fill else _mark_by_group, text)
            pattern = patterns.get(second) or self._pattern(patterns, second)
            text = pattern.sub(_fill_second if fill else SECOND, text)
        pattern = patterns.get(first) or self._pattern(patterns, first)
        return pattern.sub(_fill_first if fill else FIRST, text)

    def _pattern(self, patterns: dict[str, re.Pattern[str]], group: str) -> re.Pattern[str]:
        forms = self._forms.get(group, ())
        if patterns is self._patterns[True]:
            forms = tuple(form for form in forms if form.isascii())
        patterns[group] = pattern = _alternation(forms)
        return pattern


def _clashes(forms: Mapping[str, tuple[str, ...]]) -> frozenset[tuple[str, str]]:
    """Pairs of groups of which a name of one holds a name of the other, so that both are sought at once."""
    owners: dict[str, list[str]] = {}
    for group, names in forms.items():
        for name in names:
            owners.setdefault(name, []).append(group)
    found: set[tuple[str, str]] = set()
    for group, names in forms.items():
        for inner in {inner for name in names for inner in _within(name.replace("-", " "))}:
            found.update((group, owner) for owner in owners.get(inner, ()))
    return frozenset(found | {(owner, group) for group, owner in found})


def _within(name: str) -> Iterator[str]:
    """The names that a name may hold: runs of its words, and any stretch of a Chinese one."""
    if HAN.search(name):
        yield from {name[at:end].strip() for at, end in combinations(range(len(name) + 1), 2)}
    else:
        words = name.split(" ")
        yield from (" ".join(words[at:end]) for at, end in combinations(range(len(words) + 1), 2))


@lru_cache(maxsize=2_000)
def _joint(ours: tuple[str, ...], theirs: tuple[str, ...]) -> re.Pattern[str]:
    both = [(form, "a") for form in ours] + [(form, "b") for form in theirs if form not in ours]
    both.sort(key=lambda pair: (-len(pair[0]), pair))
    # A group of a pattern has one name, so each form is tried in its order and identified by its place.
    return re.compile("|".join(f"({_bounded(form)})" if of == "a" else _bounded(form) for form, of in both))


@lru_cache(maxsize=20_000)
def _alternation(forms: tuple[str, ...]) -> re.Pattern[str]:
    """A pattern for any form, longest first; quick, for it begins with the letters that forms begin with."""
    plain = [form for form in forms if REGULAR.fullmatch(form)]
    chinese = [form for form in forms if HAN.search(form)]
    odd = [form for form in forms if form not in plain and form not in chinese]
    parts = [_bounded(form) for form in odd]
    for letter in sorted({form[0] for form in plain}):
        rest = trie_pattern([form[1:] for form in plain if form[0] == letter])
        # That nothing stands before the word is looked at behind its first letter, not before each letter.
        parts.append(rf"{letter}(?<![\w-]{letter}){rest}(?![\w-])")
    if chinese:
        parts.append(trie_pattern(chinese))
    return re.compile("|".join(parts) or r"(?!)")


def _bounded(form: str) -> str:
    body = r"\s+".join(map(re.escape, form.split()))
    if HAN.search(form):
        return body
    left = r"(?<![\w-])" if re.match(r"\w", form) else r"(?<!\S)"
    right = r"(?![\w-])" if re.search(r"\w$", form) else r"(?!\w)"
    return f"{left}{body}{right}"


def _fill_first(match: re.Match[str]) -> str:
    return FIRST + FILL * (match.end() - match.start() - 1)


def _fill_second(match: re.Match[str]) -> str:
    return SECOND + FILL * (match.end() - match.start() - 1)


def _fill_by_group(match: re.Match[str]) -> str:
    return _fill_first(match) if match.lastindex else _fill_second(match)


def _mark_by_group(match: re.Match[str]) -> str:
    return FIRST if match.lastindex else SECOND


def question_name(group: Group, language: Literal["en", "zh"]) -> str:
    """The name that questions use."""
    return group.zh if language == "zh" and group.zh else group.plural
