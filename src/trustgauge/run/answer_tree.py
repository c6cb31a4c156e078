"""A Merkle tree over the answers of a run, so that some rows can be shown and proven without the others.

The tree is that of RFC 6962, section 2.1 (SHA-256, leaves and nodes tagged apart). Its leaf for row i is
the hash of a nonce and of the row's own hash. The nonce is derived from all rows together: who knows them all
derives the same tree, and a row that is not shown cannot be found by guessing it alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from tempfile import SpooledTemporaryFile
from typing import NamedTuple

LEAF, NODE = b"\x00", b"\x01"
_IN_MEMORY = 1 << 25  # bytes of row hashes; a million rows
_HASH, _NONCE = 32, 16  # bytes
_TOGETHER = 1024  # nonces that are derived at once


class RowProof(NamedTuple):
    """What proves that a row stands in a tree: its place, nonce and text, and the hashes beside its path."""

    place: int
    nonce: bytes
    row: bytes
    path: Sequence[bytes]


class AnswerTree:
    """Takes rows in any number of pieces; what is in memory does not grow with their number.

    Args:
        wanted: places of the rows that will be proven.
    """

    def __init__(self, wanted: Collection[int] = ()) -> None:
        self.rows = 0
        self._wanted: dict[int, bytes] = dict.fromkeys(wanted, b"")
        self._all = hashlib.blake2b(digest_size=32, person=b"trustgauge nonce")
        self._hashes = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 (closed in __del__)

    def __del__(self) -> None:
        self._hashes.close()

    def add(self, lines: bytes) -> None:
        """Take rows, each ended by a newline."""
        self._all.update(lines)
        rows = lines.split(b"\n")[:-1]
        for place, row in enumerate(rows, start=self.rows):
            self._hashes.write(hashlib.sha256(row).digest())
            if place in self._wanted:
                self._wanted[place] = row
        self.rows += len(rows)

    def root(self) -> bytes:
        """The hash of all rows."""
        return merkle_tree(self._leaves())[0]

    def proofs(self) -> list[RowProof]:
        """The proofs of the rows that are wanted, by their places. Raises IndexError for one there is not."""
        if missing := [place for place in self._wanted if not 0 <= place < self.rows]:
            raise IndexError(min(missing))
        paths = merkle_tree(self._leaves(), sorted(self._wanted))[1]
        secret = self._all.digest()
        return [
            RowProof(place, nonces(secret, place // _TOGETHER)[place % _TOGETHER], self._wanted[place], path)
            for place, path in paths.items()
        ]

    def _leaves(self) -> Iterator[bytes]:
        secret = self._all.digest()
        self._hashes.seek(0)
        for first in range(0, self.rows, _TOGETHER):
            hashes = self._hashes.read(_TOGETHER * _HASH)
            ours = nonces(secret, first // _TOGETHER)
            for place in range(len(hashes) // _HASH):
                yield leaf(ours[place], hashes[place * _HASH : (place + 1) * _HASH])


def nonces(secret: bytes, batch: int) -> list[bytes]:
    """What hides the rows of a batch, 16 bytes each."""
    stream = hashlib.shake_256(secret + batch.to_bytes(8, "big")).digest(_NONCE * _TOGETHER)
    return [stream[place : place + _NONCE] for place in range(0, len(stream), _NONCE)]


def leaf(nonce: bytes, row_hash: bytes) -> bytes:
    """The leaf of a row."""
    return hashlib.sha256(LEAF + nonce + row_hash).digest()


def merkle_tree(
    leaves: Iterable[bytes], wanted: Collection[int] = ()
) -> tuple[bytes, Mapping[int, Sequence[bytes]]]:
    """The root over leaves, and the audit path of each wanted one, from the leaf upwards (RFC 6962, 2.1)."""
    stack: list[tuple[int, int, bytes]] = []  # whole subtrees: first leaf, number of leaves, hash
    paths: dict[int, list[bytes]] = {place: [] for place in wanted}

    def join() -> None:
        middle, right_size, right = stack.pop()
        first, left_size, left = stack.pop()
        for place, path in paths.items():
            if first <= place < middle:
                path.append(right)
            elif middle <= place < middle + right_size:
                path.append(left)
        stack.append((first, left_size + right_size, hashlib.sha256(NODE + left + right).digest()))

    for place, one in enumerate(leaves):
        stack.append((place, 1, one))
        while len(stack) > 1 and stack[-1][1] == stack[-2][1]:
            join()
    while len(stack) > 1:
        join()
    return (stack[0][2] if stack else hashlib.sha256().digest()), paths


def root_from(proof: RowProof, rows: int) -> bytes | None:
    """The root that a proof leads to in a tree of so many rows (RFC 9162, 2.1.3.2); None if it fits none."""
    place, last = proof.place, rows - 1
    if not 0 <= place <= last:
        return None
    found = leaf(proof.nonce, hashlib.sha256(proof.row).digest())
    for other in proof.path:
        if last == 0:
            return None
        if place & 1 or place == last:
            found = hashlib.sha256(NODE + other + found).digest()
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            found = hashlib.sha256(NODE + found + other).digest()
        place, last = place >> 1, last >> 1
    return found if last == 0 else None
