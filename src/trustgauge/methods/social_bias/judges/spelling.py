"""Whether given words stand at given places of many texts, eight bytes at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trustgauge.methods.social_bias.judges.plain_text import Bytes, Places

EIGHT = 8

Eights = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Spelling:
    """Words as numbers of eight bytes each.

    Attributes:
        lengths: of each word, in bytes.
        eights: the bytes of words, eight to a number, [numbers, words].
        masks: which of these bytes are of the word.
        lasts: the last eight bytes of words, behind others if a word has fewer.
        last_masks: which of these are of the word.
    """

    lengths: Places
    eights: Eights
    masks: Eights
    lasts: Eights
    last_masks: Eights

    def stands(self, texts: Bytes, starts: Places, at: Places, words: Places) -> Places:
        """Which of the words stand, the whole of each, where they are looked for.

        The first and the last bytes tell nearly all; only of words that have more are those between read.

        Args:
            texts: the bytes of texts.
            starts: places of these bytes.
            at: for each word which of `starts` it is looked for at.
            words: their numbers.
        """
        before, behind = (np.zeros(EIGHT * number, dtype=np.uint8) for number in (1, len(self.eights) + 1))
        padded = np.concatenate([before, texts, behind])
        eights = np.ndarray((len(padded) - EIGHT + 1,), np.uint64, padded, strides=(1,))
        differ = (eights[starts + EIGHT].take(at) ^ self.eights[0].take(words)) & self.masks[0].take(words)
        found = np.flatnonzero(differ == 0)
        words, starts = words.take(found), starts.take(at.take(found))
        lengths = self.lengths.take(words)
        differ = (eights[starts + lengths] ^ self.lasts.take(words)) & self.last_masks.take(words)
        same = differ == 0
        more = np.flatnonzero(same & (lengths > 2 * EIGHT))
        for place in range(1, len(self.eights) - 1):
            of = words.take(more)
            same[more] &= eights[starts.take(more) + EIGHT * (place + 1)] == self.eights[place].take(of)
            more = more[lengths.take(more) > EIGHT * (place + 2)]
        standing: Places = found[same]
        return standing


def spelling(words: Sequence[str]) -> Spelling:
    """The spelling of words, which are numbered in their order."""
    encoded = [word.encode() for word in words]
    lengths = np.array(list(map(len, encoded)), dtype=np.int64)
    width = -(-max(map(len, encoded), default=1) // EIGHT) * EIGHT
    inside = [b"\xff" * len(one) for one in encoded]
    firsts = (_eights([one.ljust(width, b"\0") for one in kind], width) for kind in (encoded, inside))
    lasts = (
        _eights([one[-EIGHT:].rjust(EIGHT, b"\0") for one in kind], EIGHT)[0] for kind in (encoded, inside)
    )
    return Spelling(lengths, *firsts, *lasts)


def _eights(words: Sequence[bytes], width: int) -> Eights:
    """The numbers of words of `width` bytes, [numbers, words]."""
    return np.frombuffer(b"".join(words), dtype=np.uint64).reshape(-1, width // EIGHT).T.copy()
