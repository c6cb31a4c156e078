"""Hard caps on calls, money, tokens and time, held to the call whatever is under way at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from trustgauge.engine.ledger import ReservationLedger
from trustgauge.records import Cost

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
