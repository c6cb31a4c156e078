"""The budget of a run, handed out in slices: what several workers spend together stays within it.

A worker gets a slice with each batch and keeps to it by itself. What it does not spend comes back. All
slices that are out and all that was spent never add up to more than the limit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from trustgauge.engine import BudgetAccount, BudgetLimits, ReservationLedger
from trustgauge.records import Cost

_DUST = 1e-9  # rounding of sums of dollars


@dataclass(frozen=True, slots=True)
class BatchNeed:
    """What a batch takes if nothing goes wrong, with some room for retries. None where nobody knows yet."""

    calls: int
    usd: float | None = None
    tokens: int | None = None


class BudgetAllocation:
    """Keeps the account of one run over all its workers."""

    def __init__(self, limits: BudgetLimits, ledger: ReservationLedger | None = None) -> None:
        self.limits, self._ledger = limits, ledger
        self._spent = limits.before
        self._out = Cost()  # slices that did not come back yet
        self._needed = 0  # calls that their batches take

    @property
    def seconds(self) -> float | None:
        """Seconds left, None for no limit."""
        if self.limits.seconds is None:
            return None
        return max(0.0, self.limits.seconds - self._spent.seconds)

    def add_seconds(self, seconds: float) -> None:
        """Note how long a run took."""
        self._spent = replace(self._spent, seconds=self._spent.seconds + seconds)

    def cut(self, need: BatchNeed, among: int, seconds: float | None) -> BudgetLimits | None:
        """A slice for one of so many who want one, or None if nothing is left to give.

        It has what is needed, or a fair share of what is left, whichever is less; of money and tokens
        whose need is not known, the share.
        """
        limits, spent, out = self.limits, self._spent, self._out
        calls = tokens = usd = None
        if limits.calls is not None:
            calls = min(need.calls, (limits.calls - spent.calls - out.calls) // among)
            if calls < 1:
                return None
        if limits.tokens is not None:
            left = (limits.tokens - spent.tokens - out.tokens) // among
            tokens = left if need.tokens is None else min(left, need.tokens)
            if tokens < 1 and left < 1:
                return None
            tokens = max(1, tokens)  # a service that counts none is asked as long as any are left
        if limits.usd is not None:
            left_usd = limits.usd - spent.usd - out.usd
            # Whoever gets no money makes one call all the same where nobody knows yet what it costs.
            if left_usd < -_DUST or (need.usd is None and out.usd > _DUST and left_usd <= _DUST):
                return None
            share = max(0.0, left_usd / among)
            usd = share if need.usd is None else min(share, need.usd)
        self._out = Cost(out.calls + (calls or 0), out.usd + (usd or 0.0), out.tokens + (tokens or 0))
        self._needed += need.calls
        if self._ledger is not None:
            self._cover(self._ledger)
        return BudgetLimits(calls, usd, tokens, seconds)

    def _cover(self, ledger: ReservationLedger) -> None:
        """Have the slices that are out on disk before a worker gets the next one."""
        before, spent, out = self.limits.before, self._spent, self._out
        # Without a cap a slice says nothing of calls; what the batches need is then the best guess.
        calls = self._needed if self.limits.calls is None else out.calls
        ledger.cover(
            spent.calls - before.calls + calls,
            spent.usd - before.usd + out.usd,
            spent.tokens - before.tokens + out.tokens,
        )

    def back(self, slice_: BudgetLimits, spent: Cost, needed: int) -> None:
        """A slice comes back, with what was spent of it; `needed` are the calls that its batch took."""
        out, mine = self._out, self._spent
        self._needed -= needed
        self._out = Cost(
            out.calls - (slice_.calls or 0),
            max(0.0, out.usd - (slice_.usd or 0.0)),
            out.tokens - (slice_.tokens or 0),
        )
        self._spent = Cost(
            mine.calls + spent.calls, mine.usd + spent.usd, mine.tokens + spent.tokens, mine.seconds
        )

    def write_off(self, slice_: BudgetLimits, known: Cost, most: Cost) -> None:
        """A worker died with a slice: what it may have spent counts as spent.

        Args:
            slice_: what it had.
            known: what its answers cost.
            most: what its batch could cost in all, as far as is known.
        """
        calls = known.calls if slice_.calls is None else max(known.calls, slice_.calls)
        usd = known.usd if slice_.usd is None else max(known.usd, min(slice_.usd, most.usd))
        tokens = known.tokens if slice_.tokens is None else max(known.tokens, min(slice_.tokens, most.tokens))
        self.back(slice_, Cost(calls, usd, tokens), most.calls)

    def reason(self) -> str:
        """Which limit is reached, in words, as `Budget.reason`."""
        return BudgetAccount(replace(self.limits, before=self._spent)).reason()
