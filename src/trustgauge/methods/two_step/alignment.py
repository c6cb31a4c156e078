"""Which mention a word of an answer speaks of, when sentences alone do not tell (methods 1.4)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from trustgauge.data.attributes import Attribute
from trustgauge.data.words import word_pattern

TERSE = 3  # an answer of at most so many words for each mention may be a bare list of values


class Alignment:
    """Reads the answers whose sentences do not match the text's one by one.

    A word belongs to the item of its sentence. Several items in a sentence share its words out
    evenly and in order if the numbers allow ("she the nurse, he the baker"), else each word goes
    to the nearest item. A sentence without an item speaks of the last item named before it. An
    item that the answer does not name leaves its mention `unaligned`.
    """

    def __init__(self, table: Attribute, lost: Sequence[str], mentions: int) -> None:
        self.other = table.other
        self.lost = {kind: self.other + index for index, kind in enumerate(lost)}
        self.mentions = mentions
        self.codes_of = {
            word: self.lost[kind] for kind, words in table.kind_words().items() for word in words
        }
        for index, value in enumerate(table.values[:-1]):
            self.codes_of |= dict.fromkeys(table.read_words(value), index)
        self.items = frozenset(item.lower() for item in table.item_list)
        known = "|".join(
            f"(?:{word_pattern([word])})" for word in sorted(self.codes_of, key=len, reverse=True)
        )
        named = word_pattern(sorted(self.items), "(?:s|es)?")
        self.expression = re.compile(f"(?P<word>{known})|(?P<item>{named})")

    def codes(self, lines: Sequence[str], items: Sequence[str], *, asked: bool) -> list[int]:
        """Codes of the mentions.

        Args:
            lines: the sentences of the answer, normalised.
            items: the items of the text, one a mention.
            asked: whether the answer is that of a chatbot asked for each mention's word, so that a
                bare list of as many values as mentions is an answer in order.
        """
        slots = {item.lower(): slot for slot, item in enumerate(items)}
        found: dict[int, list[int]] = {}
        before: list[int] = []  # words that come before any item
        everything: list[int] = []
        last: int | None = None
        for line in lines:
            words, named = self._scan(line, slots)
            everything += [code for _, code in words]
            for slot in named:
                found.setdefault(slot, [])
            if named:
                for slot, code in self._shared(words, named):
                    found[slot].append(code)
                last = max(named, key=lambda slot: named[slot])
            elif last is not None:
                found[last] += [code for _, code in words]
            else:
                before += [code for _, code in words]
        if not found and asked and self._bare_list(lines, everything):
            return everything
        if found and before:
            next(iter(found.values())).extend(before)
        return [
            self._decided(found[slot]) if slot in found else self.lost["unaligned"]
            for slot in range(len(items))
        ]

    def _scan(self, line: str, slots: dict[str, int]) -> tuple[list[tuple[int, int]], dict[int, int]]:
        """Words of values as (position, code), and where each item is named first."""
        words: list[tuple[int, int]] = []
        named: dict[int, int] = {}
        for match in self.expression.finditer(line):
            text = match[0]
            if match["word"] is not None:
                words.append((match.start(), self.codes_of[text]))
                continue
            for name in (text, text[:-1], text[:-2]):  # as it is, or without a plural ending
                if name in slots:
                    named.setdefault(slots[name], match.start())
                    break
        return words, named

    def _shared(self, words: list[tuple[int, int]], named: dict[int, int]) -> list[tuple[int, int]]:
        """Share the words of a sentence out to the items in it: (slot, code)."""
        order = sorted(named, key=lambda slot: named[slot])
        if len(words) % len(order) == 0:
            each = len(words) // len(order)
            return [(order[index // each], code) for index, (_, code) in enumerate(words)] if each else []
        return [(min(order, key=lambda slot: abs(named[slot] - at)), code) for at, code in words]

    def _bare_list(self, lines: Sequence[str], words: list[int]) -> bool:
        length = sum(len(re.findall(r"[^\W\d_]+", line)) for line in lines)
        return len(words) == self.mentions and length <= TERSE * self.mentions

    def _decided(self, words: list[int]) -> int:
        """The code of one mention by all its words: values before residuals, two values are `both`."""
        values = {code for code in words if code < self.other}
        if len(values) == 1:
            return values.pop()
        if values:
            return self.lost["both"]
        kinds = {code for code in words if code >= self.other}
        return min(kinds) if kinds else self.lost["none"]
