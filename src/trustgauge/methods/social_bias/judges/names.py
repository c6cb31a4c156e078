"""Where an answer names the groups of a question (social-bias 3.6 sound, step 2).

All singular, plural and alias forms of both languages count, as whole words, the longest first, without
overlap: "women" holds no "men", "old people" no "people". Chinese has no word boundaries.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from trustgauge.data.social_groups import Group
from trustgauge.methods.social_bias.judges.lexer import FILL, FIRST, HAN, SECOND, trie_pattern

PLAIN = re.compile(r"[a-z](?:[\w' -]*\w)?")
"""A form that begins and ends as a word does."""
PEOPLE = " people"


def all_forms(group: Group) -> tuple[str, ...]:
    """Every name of a group, folded, longest first."""
    forms = {group.singular, group.plural, *group.aliases, group.zh, *group.zh_aliases}
    known = {_folded(form) for form in forms}
    known |= {f"{form.removesuffix(PEOPLE)} ones" for form in known if form.endswith(PEOPLE)}
    return tuple(sorted((form for form in known if form), key=lambda form: (-len(form), form)))


def _folded(form: str) -> str:
    if form.isascii():
        return form.lower().strip()
    return unicodedata.normalize("NFKC", form).casefold().strip()


@dataclass(slots=True)
class Names:
    """Finds the groups of a question in texts; patterns are made once for each group.

    Attributes:
        groups: id -> group. A group that is not there is never found.
    """

    groups: Mapping[str, Group]
    _forms: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _padded: dict[str, tuple[list[str], str]] = field(default_factory=dict)
    _alone: dict[str, re.Pattern[str]] = field(default_factory=dict)
    _joint: dict[tuple[str, str], re.Pattern[str] | None] = field(default_factory=dict)

    def hold(self, text: str, first: str, second: str) -> str:
        """The folded text with each name replaced by a held place of the same length.

        Args:
            text: folded.
            first: id of the group whose names become `FIRST`.
            second: id of the group whose names become `SECOND`; "" if there is one group only.
        """
        if second:
            joint = self._together(first, second)
            if joint is not None:
                return joint.sub(_held_by_group, text)
            text = self._pattern(second).sub(_HELD_SECOND, text)
        return self._pattern(first).sub(_HELD_FIRST, text)

    def _pattern(self, group: str) -> re.Pattern[str]:
        found = self._alone.get(group)
        if found is None:
            found = self._alone[group] = re.compile(_alternation(self._of(group)))
        return found

    def _of(self, group: str) -> tuple[str, ...]:
        if group not in self._forms:
            self._forms[group] = all_forms(self.groups[group]) if group in self.groups else ()
        return self._forms[group]

    def _padded_of(self, group: str) -> tuple[list[str], str]:
        if group not in self._padded:
            forms = _padded(self._of(group))
            self._padded[group] = forms, "\n".join(forms).replace("-", " ")
        return self._padded[group]

    def _together(self, first: str, second: str) -> re.Pattern[str] | None:
        """One pattern for both groups, if a name of one holds a name of the other; else none is needed."""
        key = (first, second)
        if key not in self._joint:
            ours, theirs = self._padded_of(first), self._padded_of(second)
            clash = any(one in theirs[1] for one in ours[0]) or any(one in ours[1] for one in theirs[0])
            self._joint[key] = _joint(self._of(first), self._of(second)) if clash else None
        return self._joint[key]


def _joint(ours: tuple[str, ...], theirs: tuple[str, ...]) -> re.Pattern[str]:
    both = [(form, "a") for form in ours] + [(form, "b") for form in theirs if form not in ours]
    both.sort(key=lambda pair: (-len(pair[0]), pair))
    # A group of a pattern has one name, so each form is tried in its order and told by its place.
    return re.compile("|".join(f"({_bounded(form)})" if of == "a" else _bounded(form) for form, of in both))


def _padded(forms: tuple[str, ...]) -> list[str]:
    """Forms as they would stand within a longer one: English words between spaces."""
    return [form if HAN.search(form) else f" {form} " for form in forms]


def _alternation(forms: tuple[str, ...]) -> str:
    """A pattern for any form, longest first; quick, for it begins with the letters that forms begin with."""
    plain = [form for form in forms if PLAIN.fullmatch(form)]
    chinese = [form for form in forms if HAN.search(form)]
    odd = [form for form in forms if form not in plain and form not in chinese]
    parts = [_bounded(form) for form in odd]
    for letter in sorted({form[0] for form in plain}):
        rest = trie_pattern([form[1:] for form in plain if form[0] == letter])
        # That nothing stands before the word is looked at behind its first letter, not before each letter.
        parts.append(rf"{letter}(?<![\w-]{letter}){rest}(?![\w-])")
    if chinese:
        parts.append(trie_pattern(chinese))
    return "|".join(parts) or r"(?!)"


def _bounded(form: str) -> str:
    body = r"\s+".join(map(re.escape, form.split()))
    if HAN.search(form):
        return body
    left = r"(?<![\w-])" if re.match(r"\w", form) else r"(?<!\S)"
    right = r"(?![\w-])" if re.search(r"\w$", form) else r"(?!\w)"
    return f"{left}{body}{right}"


def _held(mark: str, found: re.Match[str]) -> str:
    return mark + FILL * (found.end() - found.start() - 1)


def _held_by_group(found: re.Match[str]) -> str:
    return _held(FIRST if found.lastindex else SECOND, found)


_HELD_FIRST = partial(_held, FIRST)
_HELD_SECOND = partial(_held, SECOND)


def shown(group: Group, language: Literal["en", "zh"]) -> str:
    """The name that questions use."""
    return group.zh if language == "zh" and group.zh else group.plural
