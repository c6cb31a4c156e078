"""Hard caps on calls, money, tokens and time, held to the call whatever is under way at once.

A write-ahead ledger: what a sitting may spend is on disk before anything is sent.

A process that is killed cannot say how many calls were under way. So calls, dollars and tokens are
reserved on disk in blocks that are small beside the cap, and a block is written and synced before the first
call of it goes out. What a killed sitting had reserved beyond its kept answers counts as spent.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from trustgauge.errors import StoreError
from trustgauge.records import Cost
from trustgauge.store.folder import map_errors, open_private

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


_DUST = 1e-12  # rounding of sums of dollars


@dataclass(frozen=True, slots=True)
class BudgetLimits:
    """What a run may spend at most, None for no limit; `before` is what earlier sittings spent.

    A *call* is one message sent to one service once: a message of a batch, a leg of a chain and
    every retry count one each. `seconds` is the time of all sittings together.
    """

    calls: int | None = None
    usd: float | None = None
    tokens: int | None = None
    seconds: float | None = None
    before: Cost = field(default_factory=Cost)


class BudgetAccount:
    """Keeps the account of one run. Nothing is sent that was not reserved here, and in the ledger, first.

    The price of a call is known before it where the service declares one, and is then exact.
    Where only the reply tells the price (`Reply.usd`, `Reply.tokens`), the dearest reply seen so
    far is reserved and the first call goes alone: such a cap can be passed only by what the last
    calls under way cost more than any before them.
    """

    def __init__(self, limits: BudgetLimits, ledger: ReservationLedger | None = None) -> None:
        self.limits, self._ledger = limits, ledger
        self.calls, self.usd, self.tokens = limits.before.calls, limits.before.usd, limits.before.tokens
        self._lasted = limits.before.seconds
        self._held_usd = 0.0
        self._held_tokens = 0
        self._planned = 0

    @property
    def seconds(self) -> float | None:
        """Seconds left for this sitting, None for no limit."""
        if self.limits.seconds is None:
            return None
        return max(0.0, self.limits.seconds - self._lasted)

    def lasted(self, seconds: float) -> None:
        """Note how long a run took."""
        self._lasted += seconds

    @property
    def exhausted(self) -> bool:
        """Whether no further call can ever be sent."""
        return self.limits.calls is not None and self.calls >= self.limits.calls

    def room(self, usd: Sequence[float], tokens: int) -> int:
        """How many of the calls at these prices, in order, can be reserved now.

        `usd` has the price of each call in dollars; `tokens` is reserved for each.
        """
        count = len(usd)
        if self.limits.calls is not None:
            count = min(count, self.limits.calls - self.calls)
        if self.limits.tokens is not None:
            left = self.limits.tokens - self.tokens - self._held_tokens
            count = min(count, left // tokens if tokens else (count if left > 0 else 0))
        if self.limits.usd is not None:
            left_usd = self.limits.usd - self.usd - self._held_usd + _DUST
            fits = 0
            while fits < count and (left_usd := left_usd - usd[fits]) >= 0:
                fits += 1
            count = fits
        return max(0, count)

    def take(self, calls: int, usd: float, tokens: int) -> None:
        """Reserve: the calls are spent at once, money and tokens are held until `settle`."""
        self.calls += calls
        self._held_usd += usd
        self._held_tokens += tokens
        self._cover()

    def _cover(self) -> None:
        """Have all of this on disk before anything is sent."""
        if self._ledger is not None:
            before = self.limits.before
            usd, tokens = self.usd + self._held_usd, self.tokens + self._held_tokens
            self._ledger.cover(self.calls - before.calls, usd - before.usd, tokens - before.tokens)

    def settle(self, held: tuple[float, int], usd: float, tokens: int) -> None:
        """Give back what was held for some calls, and book what they cost."""
        self._held_usd -= held[0]
        self._held_tokens -= held[1]
        self.usd += usd
        self.tokens += tokens
        self._cover()

    def plan(self, calls: int) -> bool:
        """Set calls aside for a unit of work that is to begin; False if it could not be finished."""
        if self.limits.calls is not None and self.calls + self._planned + calls > self.limits.calls:
            return False
        self._planned += calls
        return True

    def unplan(self, calls: int) -> None:
        """Calls set aside that were made, or are not needed any more."""
        self._planned -= calls

    def reason(self) -> str:
        """Which limit is reached, in words that `Outcome.stopped` and people get."""
        limits = self.limits
        if limits.usd is not None and not self.exhausted and limits.tokens is None:
            return f"limit reached: usd {limits.usd:.2f}"
        if limits.tokens is not None and not self.exhausted:
            near_tokens = self.tokens / limits.tokens if limits.tokens else 1.0
            near_usd = self.usd / limits.usd if limits.usd else float(limits.usd == 0)
            if near_usd > near_tokens:
                return f"limit reached: usd {limits.usd:.2f}"
            return f"limit reached: tokens {limits.tokens}"
        return f"limit reached: calls {limits.calls}"
