"""Keys of answers, many at a time: sixteen bytes each, in arrays and sets that stay small.

A key is (fingerprint, message, draw). Message keys are hashes of 128 bits written as hex; here they are
the bytes themselves, with fingerprint and draw mixed in, but for sixteen bits that tell the service: so
keys of one service are neighbours when keys are sorted. By the 112 bits that are left two of a billion
answers are taken for one with a chance of one in 10^16.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from trustgauge.store.store import Key

Packed = NDArray[np.uint64]
"""Keys as an array [n, 2] of two numbers each."""

SIZE = 16  # bytes of a key
LOOSE = 100_000
"""Keys of a `KeySet` above which they are packed: a set of tuples takes twelve times the memory."""

_SERVICE = np.uint64(0xFFFF) << np.uint64(48)  # the bits of the first number that tell the service


def pack_keys(fingerprint: str, messages: Sequence[str], draws: Sequence[int]) -> Packed:
    """Keys of one service as numbers, in the given order.

    Args:
        fingerprint: of the service.
        messages: keys of messages, [n].
        draws: [n].
    """
    if not len(messages):
        return np.empty((0, 2), dtype=np.uint64)
    words = np.frombuffer(_raw(messages), dtype="<u8").astype(np.uint64).reshape(-1, 2)
    service = np.frombuffer(_hashed(fingerprint), dtype="<u8").astype(np.uint64)
    words ^= service
    words ^= np.asarray(draws, dtype=np.int64).view(np.uint64)[:, None]
    words[:, 0] = (words[:, 0] & ~_SERVICE) | (service[0] & _SERVICE)
    return words


def order_of(keys: Packed) -> NDArray[np.int64]:
    """The places of keys in ascending order: [n]."""
    return np.lexsort((keys[:, 1], keys[:, 0]))


def is_ascending(keys: Packed) -> bool:
    """Whether keys are sorted and none stands twice."""
    first, second = keys[1:], keys[:-1]
    more = (first[:, 0] > second[:, 0]) | ((first[:, 0] == second[:, 0]) & (first[:, 1] > second[:, 1]))
    return bool(more.all())


def _raw(messages: Sequence[str]) -> bytes:
    """The bytes that hex digits stand for; what is no hash of ours is hashed."""
    joined = "".join(messages)
    if set(map(len, messages)) == {2 * SIZE}:
        try:
            found = bytes.fromhex(joined)
        except ValueError:
            found = b""
        if len(found) == SIZE * len(messages):
            return found
    return b"".join(_one(message) for message in messages)


def _one(message: str) -> bytes:
    if len(message) == 2 * SIZE:
        try:
            found = bytes.fromhex(message)
        except ValueError:
            found = b""
        if len(found) == SIZE:
            return found
    return _hashed(message)


def _hashed(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=SIZE).digest()


def positions_in(ordered: Packed, keys: Packed) -> NDArray[np.int64]:
    """Where each of `keys` stands in an ascending array, -1 where it does not: [n]."""
    found = np.full(len(keys), -1, dtype=np.int64)
    if not len(ordered):
        return found
    heads, tails = ordered[:, 0], ordered[:, 1]
    places = np.searchsorted(heads, keys[:, 0])
    left = np.arange(len(keys))
    while len(left):  # once, but for keys of which half is the same
        inside = places[left] < len(heads)
        left = left[inside]
        left = left[heads[places[left]] == keys[left, 0]]
        same = tails[places[left]] == keys[left, 1]
        found[left[same]] = places[left[same]]
        left = left[~same]
        places[left] += 1
    return found


class KeySet:
    """A growing set of (message, draw) of one service, small also when it holds millions."""

    def __init__(self, keys: Iterable[Key] = ()) -> None:
        self._loose: set[Key] = set()
        self._packed: list[Packed] = []  # each sorted, each at least twice as long as the next
        self.add(keys)

    def add(self, keys: Iterable[Key]) -> None:
        """Take keys in; those that are there already change nothing."""
        self._loose.update(keys)
        if len(self._loose) > LOOSE:
            self._pack()

    def holds(self, keys: Sequence[Key]) -> list[bool]:
        """Which of `keys` are in the set, in their order."""
        loose = [key in self._loose for key in keys]
        if not self._packed or not keys:
            return loose
        wanted = pack_keys("", [message for message, _ in keys], [draw for _, draw in keys])
        found = np.array(loose)
        for run in self._packed:
            found |= positions_in(run, wanted) >= 0
        return found.tolist()  # type: ignore[no-any-return]

    def _pack(self) -> None:
        loose = list(self._loose)
        self._loose = set()
        keys = pack_keys("", [one for one, _ in loose], [draw for _, draw in loose])
        self._packed.append(np.asfortranarray(keys[order_of(keys)]))
        while len(self._packed) > 1 and 2 * len(self._packed[-1]) > len(self._packed[-2]):
            last = self._packed.pop()
            merged = np.concatenate([self._packed.pop(), last])
            self._packed.append(np.asfortranarray(merged[order_of(merged)]))
