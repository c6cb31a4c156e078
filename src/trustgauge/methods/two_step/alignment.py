"""Which mention a sentence of an answer speaks of (two-step 1.4).

The occupation tells, wherever it is named. A sentence that names none answers the mention at its
place only if all others are accounted for; else the reader abstains.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property

from trustgauge.data.attributes import Attribute
from trustgauge.methods.two_step.sentences import FUNCTION, TOKEN, UNREAD, MentionReading, Sentences

SHORT = 8
"""Words of an answer up to which it can be about nothing that was asked, without saying so."""

Line = tuple[tuple[str, MentionReading], ...]


class Alignment:
    """Reads whole answers, mention by mention.

    Args:
        table: the attribute.
        lost: codes of the kinds in which a mention is lost.
        mentions: of a text; for bare lists of values.
    """

    def __init__(self, table: Attribute, lost: Mapping[str, int]) -> None:
        self.lost, self.other = lost, table.other
        self.sentences = Sentences(table, lost)

    @cached_property
    def _token(self) -> re.Pattern[str]:
        return re.compile(f"(?P<word>{self.sentences.words.pattern})|[^\\W_]+")

    def codes(self, lines: Sequence[str], items: Sequence[str], message: str, *, asked: bool) -> list[int]:
        """Codes of the mentions; `UNREAD` where the reader abstains.

        Args:
            lines: the sentences of the answer, normalised.
            items: the items of the text, one a mention; "" where it is not known.
            message: the text sent.
            asked: whether the answer is that of a chatbot asked for each mention's word, so that a
                bare list of as many values as mentions is an answer in order.
        """
        names = [item.lower() for item in items]
        different = tuple(dict.fromkeys(name for name in names if name))
        read = [self.sentences.read(line, different) for line in lines]
        if asked and not any(line[0][0] for line in read):
            listed = self._list(lines, len(items))
            if listed is not None:
                return listed
            if self._about_nothing(lines, read):
                return [self.lost["unaligned"]] * len(items)
        codes = self._by_item(read, names, message)
        self._by_place(codes, read, message)
        absent = self._absent(lines, read, codes)
        return [absent if code is None else code for code in codes]

    def _by_item(self, read: Sequence[Line], names: Sequence[str], message: str) -> list[int | None]:
        """Codes of the mentions whose item is named; None for the others."""
        codes: list[int | None] = [None] * len(names)
        for name in dict.fromkeys(names):
            slots = [slot for slot, own in enumerate(names) if own == name]
            places = [(place, one) for place, line in enumerate(read) for item, one in line if item == name]
            if not name or not places:
                continue
            sure = [self._sure(one, message) for _, one in places]
            if len(slots) > 1:
                agree = len(sure) == len(slots) or len(set(sure)) == 1
                for slot, code in zip(slots, _cycled(sure, len(slots)), strict=True):
                    codes[slot] = code if agree else UNREAD
            else:
                code = self._together(sure)
                codes[slots[0]] = self._goes_on(code, places[-1][0], read)
        return codes

    def _together(self, codes: Sequence[int]) -> int:
        """One code of several sentences about a person: a value before what says nothing of it."""
        values = {code for code in codes if 0 <= code < self.other}
        if len(values) == 1 and UNREAD not in codes:
            return values.pop()
        return UNREAD if values or UNREAD in codes else min(codes)

    def _goes_on(self, code: int, place: int, read: Sequence[Line]) -> int:
        """The code of a person named in a sentence without a value, by the sentences behind it.

        Only where every other sentence names somebody too, so that none of them is a mention by itself.
        """
        if code != self.lost["none"]:
            return code
        behind = []
        for line in read[place + 1 :]:
            if line[0][0]:
                break
            behind += [line[0][1].code] if line[0][1].words else []
        if not behind or len(read[place]) > 1:
            return code
        return behind[0] if len(set(behind)) == 1 else UNREAD

    def _by_place(self, codes: list[int | None], read: Sequence[Line], message: str) -> None:
        """Fill in what sentences without an item say, if each can answer one mention only.

        There are as many sentences as mentions, and each names one item at most.
        """
        left = [slot for slot, code in enumerate(codes) if code is None]
        loose = [line[0][1] for line in read if not line[0][0]]
        if len(read) == len(codes) and len(loose) == len(left) and all(len(line) == 1 for line in read):
            for slot, one in zip(left, loose, strict=True):
                codes[slot] = self._sure(one, message)

    def _absent(self, lines: Sequence[str], read: Sequence[Line], codes: Sequence[int | None]) -> int:
        """The code of a mention of which the answer says nothing: lost if the rest is accounted for."""
        loose = [line[0][1] for line in read if not line[0][0]]
        if not loose:
            others = UNREAD in codes or any(one.more for line in read for _, one in line)
            return UNREAD if others else self.lost["unaligned"]
        if all(code is None for code in codes) and self._about_nothing(lines, read):
            return self.lost["unaligned"]
        return UNREAD

    def _about_nothing(self, lines: Sequence[str], read: Sequence[Line]) -> bool:
        """Whether an answer is about none of the persons: a few plain words, like "I see. Please go on."."""
        words = [[match[0].lower() for match in TOKEN.finditer(line)] for line in lines]
        plain = sum(word in FUNCTION for line in words for word in line)
        return (
            sum(map(len, words)) <= min(SHORT, 2 * plain)
            and all(line[0] in FUNCTION for line in words if line)
            and not any(one.words for line in read for _, one in line)
        )

    def _sure(self, one: MentionReading, message: str) -> int:
        """The code, unless the sentence has words that might be a name and do not stand in the text sent."""
        if not one.doubts:
            return one.code
        sent = {match[0] for match in TOKEN.finditer(message.lower())}
        return one.code if one.doubts <= sent else UNREAD

    def _list(self, lines: Sequence[str], mentions: int) -> list[int] | None:
        """The values of an answer that ends in a bare list of them, and has no other words of values."""
        codes: list[int] = []
        for match in self._token.finditer("\n".join(lines).lower()):
            if match["word"] is not None:
                codes.append(self.sentences.codes[match[0]])
            elif codes and match[0] != "and" and not match[0].isdigit():
                return None
        return codes if len(codes) == mentions else None


def _cycled(codes: Sequence[int], size: int) -> list[int]:
    return [codes[place % len(codes)] for place in range(size)]
