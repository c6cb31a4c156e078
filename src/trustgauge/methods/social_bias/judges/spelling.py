"""Whether given words stand at given places of many texts, eight bytes at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trustgauge.methods.social_bias.judges.plain import Bytes, Places

EIGHT = 8


@dataclass(frozen=True, slots=True)
class Spelling:
    """Words as numbers of eight bytes each.

    Attributes:
        lengths: of each word, in bytes.
        eights: the bytes of words, eight to a number, [numbers, words].
        masks: which of these bytes are of the word.
    """

    lengths: Places
    eights: NDArray[np.uint64]
    masks: NDArray[np.uint64]

    def stands(self, texts: Bytes, starts: Places, words: Places) -> Places:
        """At which of the places the whole of a word stands; words are told by their numbers."""
        padded = np.concatenate([texts, np.zeros(EIGHT * len(self.eights), dtype=np.uint8)])
        at, eights = starts, np.ndarray((len(padded) - EIGHT + 1,), np.uint64, padded, strides=(1,))
        left, found = np.arange(len(starts)), np.zeros(len(starts), dtype=bool)
        for place in range(len(self.eights)):
            same = (eights[starts] & self.masks[place].take(words)) == self.eights[place].take(words)
            left, words = left[same], words[same]
            more = self.lengths.take(words) > EIGHT * (place + 1)
            found[left[~more]] = True
            left, words = left[more], words[more]
            starts = at[left] + EIGHT * (place + 1)
        return np.flatnonzero(found)


def spelling(words: Sequence[str]) -> Spelling:
    """The spelling of words, which are numbered in their order."""
    encoded = [word.encode() for word in words]
    lengths = np.array(list(map(len, encoded)), dtype=np.int64)
    width = -(-max(map(len, encoded), default=1) // EIGHT) * EIGHT
    letters = np.frombuffer(b"".join(one.ljust(width, b"\0") for one in encoded), dtype=np.uint8)
    inside = (np.arange(width) < lengths[:, None]).astype(np.uint8) * np.uint8(255)
    eights, masks = (one.reshape(-1, width).view(np.uint64).T.copy() for one in (letters, inside))
    return Spelling(lengths, eights, masks)
