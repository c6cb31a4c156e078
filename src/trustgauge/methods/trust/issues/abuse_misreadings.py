"""How much of what a bot says a checker may misread, if all of it is harmless (trust 4.1, AL).

A checker errs on sentences: the worst one makes the utterance. So each different sentence is one chance to
err, and wherever the bot says it again, alone or among others, the checker errs again. A bot that puts its
answers together from twenty phrases has twenty chances, however many answers come of them. A sentence that
is filled in with what the user said is the same sentence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from zlib import crc32

import numpy as np

from trustgauge.methods.trust.abuse_sentences import sentences, strip_quotations
from trustgauge.methods.trust.resampling import Floats, Ints

BETWEEN = "-"  # of the marks of sentences
SHORTEST = 5  # letters of a word of the user that an answer takes up
AT_ONCE = 4_000_000  # chances that are drawn at once
_WORD = re.compile(r"[\w']+")
_DIGITS = re.compile(r"\d+")


def sentence_marks(text: str, said: str) -> str:
    """What stands for the different sentences of a text; equal ones have the same mark in every text.

    Args:
        text: of the bot.
        said: by the user before it; its longer words are left out, as are numbers.

    >>> sentence_marks("I can sort out the kettle.", "My kettle leaks") == sentence_marks(
    ...     "I can sort out the curtains.", "My curtains are torn"
    ... )
    True
    """
    taken_up = {word for word in _WORD.findall(said.lower()) if len(word) >= SHORTEST}
    marks = []
    for sentence in sentences(strip_quotations(text)):
        words = _WORD.findall(_DIGITS.sub("", sentence.lower()))
        own = " ".join(word for word in words if word not in taken_up)
        marks.append(f"{crc32((own or sentence).encode()):08x}")
    return BETWEEN.join(dict.fromkeys(marks))


@dataclass(frozen=True, slots=True)
class SaidSentences:
    """The sentences of what a bot says; utterances of the same sentences stand together.

    Attributes:
        n: how often each utterance was said, [G].
        own: how many of its sentences stand in no other, [G].
        shared: places of those that do, [G, K]; `several` where there are fewer.
        several: how many sentences stand in more than one utterance.
        decisive: how many different sentences the flagged utterances seem to be flagged for.
    """

    n: Ints
    own: Ints
    shared: Ints
    several: int
    decisive: int

    @staticmethod
    def apart(n: int) -> SaidSentences:
        """`n` utterances of a sentence each, all different."""
        one = np.ones(1, dtype=np.int64)
        return SaidSentences(n * one, one, np.zeros((1, 0), dtype=np.int64), 0, n)

    @staticmethod
    def from_utterances(rows: Iterable[tuple[str, bool, int]]) -> SaidSentences:
        """Of utterances: `sentence_marks`, whether it was flagged, and how often it was said.

        Without marks each utterance is a sentence of its own.
        """
        said, flagged = Counter[tuple[str, ...]](), Counter[tuple[str, ...]]()
        unknown = decisive = 0
        for marks, is_flagged, n in rows:
            if not marks:
                unknown, decisive = unknown + n, decisive + is_flagged * n
                continue
            pieces = tuple(marks.split(BETWEEN))
            said[pieces] += n
            flagged[pieces] += is_flagged * n
        often, often_flagged = _by_sentence(said), _by_sentence(flagged)
        worst = {
            max(pieces, key=lambda one: (often_flagged[one] / often[one], often[one], one))
            for pieces, n in flagged.items()
            if n
        }
        common = {one: place for place, one in enumerate(one for one, n in often.items() if n > 1)}
        places = [[common[one] for one in pieces if one in common] for pieces in said]
        own = [len(pieces) - len(some) for pieces, some in zip(said, places, strict=True)]
        widest = max(map(len, places), default=0)
        shared = [some + [len(common)] * (widest - len(some)) for some in places]
        shared += [[len(common)] * widest] * bool(unknown)
        return SaidSentences(
            np.array([*said.values(), *[unknown] * bool(unknown)], dtype=np.int64),
            np.array([*own, *[1] * bool(unknown)], dtype=np.int64),
            np.array(shared, dtype=np.int64).reshape(len(shared), widest),
            len(common),
            decisive + len(worst),
        )

    @property
    def length(self) -> float:
        """The mean number of sentences of an utterance."""
        return float(self._each @ self.n / self.n.sum())

    @property
    def _each(self) -> Ints:
        """The number of sentences of each utterance, [G]."""
        return np.asarray(self.own + (self.shared < self.several).sum(axis=1))

    def expected_alarms(self, alarms: float, length: float | None) -> float:
        """The share of the utterances that is flagged on average.

        Args:
            alarms: share of harmless labelled texts that is flagged.
            length: mean number of sentences of these; None if nobody knows.
        """
        passed = 1.0 - self._of_sentence(np.array(alarms), length)
        return float(1.0 - passed**self._each @ self.n / self.n.sum())

    def draw_alarms(self, alarms: Floats, length: float | None, rng: np.random.Generator) -> Floats:
        """The share that is flagged in each draw: each sentence in all its utterances or in none, [R].

        Args:
            alarms: share of harmless labelled texts that is flagged, [R].
            length: as of `expected_alarms`.
            rng: for the sentences that stand in several utterances.
        """
        chance = self._of_sentence(alarms, length)
        sizes, at = np.unique(self.own, return_inverse=True)
        found = np.empty(len(chance))
        step = max(1, AT_ONCE // max(self.several + 1, len(self.n)))
        for start in range(0, len(chance), step):
            some = chance[start : start + step]
            misread = np.zeros((len(some), self.several + 1), dtype=np.bool_)
            misread[:, : self.several] = rng.random((len(some), self.several)) < some[:, None]
            passed = ((1.0 - some)[:, None] ** sizes)[:, at]
            for column in self.shared.T:
                passed[misread[:, column]] = 0.0
            found[start : start + step] = 1.0 - passed @ self.n / self.n.sum()
        return found

    def _of_sentence(self, alarms: Floats, length: float | None) -> Floats:
        """The chance that a harmless sentence is misread; no bot misleads less than the labelled texts do."""
        least = self.length if length is None else min(length, self.length)
        return np.asarray(1.0 - (1.0 - alarms) ** (1.0 / least))


def _by_sentence(said: Counter[tuple[str, ...]]) -> Counter[str]:
    often = Counter[str]()
    for pieces, n in said.items():
        for one in pieces:
            often[one] += n
    return often
