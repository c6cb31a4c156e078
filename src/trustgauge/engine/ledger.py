"""A write-ahead ledger: what a sitting may spend is on disk before anything is sent.

A process that is killed cannot say how many calls were under way. So calls, dollars and tokens are
reserved on disk in blocks that are small beside the cap, and a block is written and synced before the first
call of it goes out. What a killed sitting had reserved beyond its kept answers counts as spent.
"""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

from trustgauge.errors import StoreError
from trustgauge.records import Cost
from trustgauge.store.atomic_write import open_private
from trustgauge.store.error_mapping import map_errors

NAME = "ledger.jsonl"
SHARE = 50
"""Blocks in what a sitting has left of a cap."""
LARGEST = 1_000  # calls of a block
UNCAPPED = 200  # calls of a block where nothing caps them


class ReservationLedger:
    """Reservations of one sitting, in a file of JSON lines.

    Args:
        path: the file; it stays if the sitting is killed, and `close` removes it.
        left: what the sitting may spend at most, None where there is no cap.
        kept: what the answers that are kept already cost; the first line of the file.
    """

    def __init__(self, path: Path, left: tuple[int | None, float | None, int | None], kept: Cost) -> None:
        calls, usd, tokens = left
        self._path, self._left, self._kept = path, left, kept
        self._block = (
            UNCAPPED if calls is None else min(LARGEST, max(1, calls // SHARE)),
            None if usd is None else usd / SHARE,
            None if tokens is None else max(1, tokens // SHARE),
        )
        self._reserved: tuple[float, ...] = (0, 0.0, 0)
        self._file: int | None = None

    def cover(self, calls: int, usd: float, tokens: int) -> None:
        """See to it that at least so much of this sitting is reserved on disk. Blocks until it is.

        Raises OSError if the file cannot be written; nothing may be sent then.
        """
        total = (calls, usd, tokens)
        capped = [block is not None for block in self._block]  # calls always come in blocks
        if all(now <= have or not cap for now, have, cap in zip(total, self._reserved, capped, strict=True)):
            return
        calls_then = max(self._reserved[0], _within(calls + self._block[0], self._left[0], calls))
        each = calls_then / max(1, calls)  # what nothing caps grows with the calls
        self._reserved = tuple(
            max(have, now * each if block is None else _within(now + block, left, now))
            for now, have, block, left in zip(total, self._reserved, self._block, self._left, strict=True)
        )
        self._reserved = (calls_then, *self._reserved[1:])
        self._write(list(self._reserved))

    def _write(self, line: list[float]) -> None:
        if self._file is None:
            self._file = open_private(self._path, os.O_WRONLY | os.O_TRUNC)
            self._append([self._kept.calls, self._kept.usd, self._kept.tokens])
        self._append(line)
        os.fsync(self._file)

    def _append(self, line: list[float]) -> None:
        assert self._file is not None
        data = json.dumps(line).encode() + b"\n"
        while data:
            data = data[os.write(self._file, data) :]

    def close(self) -> None:
        """The sitting has ended and what it spent is noted: the reservations are not needed any more."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
        self._path.unlink(missing_ok=True)


def _within(wanted: float, left: float | None, least: float) -> float:
    """The wanted amount, within the cap, but never below what is needed now."""
    return wanted if left is None else max(least, min(wanted, left))


def unaccounted_cost(path: Path, kept: Cost) -> Cost:
    """What a killed sitting may have spent beyond the answers that are kept; nothing if it ended.

    Args:
        path: of its ledger.
        kept: what all kept answers cost now.

    Raises:
        StoreError: the ledger cannot be read, or is none.
    """
    try:
        with map_errors(path):
            lines = path.read_bytes().split(b"\n")[:-1]  # a torn last line covered no call
    except StoreError:
        if not path.exists():
            return Cost()
        raise
    if len(lines) < 2:
        return Cost()
    (calls, usd, tokens), reserved = _amounts(path, lines[0]), _amounts(path, lines[-1])
    return Cost(
        max(0, int(reserved[0]) - (kept.calls - int(calls))),
        max(0.0, float(reserved[1]) - (kept.usd - float(usd))),
        max(0, int(reserved[2]) - (kept.tokens - int(tokens))),
    )


def _amounts(path: Path, line: bytes) -> tuple[float, float, float]:
    """Calls, dollars and tokens of a line."""
    try:
        calls, usd, tokens = json.loads(line)
        found = float(calls), float(usd), float(tokens)
        if not all(math.isfinite(one) and one >= 0 for one in found):
            raise ValueError("amounts that are none")
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise StoreError(
            f"{path} is damaged",
            must="calls, dollars and tokens in each line",
            got=str(error)[:80],
            do="restore it, or remove it: what a killed sitting may have spent is then not counted",
        ) from None
    return found
