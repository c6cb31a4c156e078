"""How fast one service is asked: calls at once, calls a second, and pauses it asks for."""

from __future__ import annotations

import math

MOMENT = 1e-6
"""Seconds too short to wait for: timers are no finer."""

_START = 16  # calls at once before anything is known of the service
_SLACK = 0.01  # seconds by which a late timer may be caught up with
_QUICK = 2.0  # answers count as quick up to this multiple of the best mean latency
_WEIGHT = 0.1  # of the newest latency in the running mean
_SLOWEST = 0.05  # calls a second; a learned rate is not lower
_CAREFUL = 0.05  # calls at once gained per round near the level that was too much
_NEAR = 0.75  # of that level
_EASE = 0.02  # growth of a learned rate: per second, times the seconds since it was cut


class Gate:
    """Lets calls through. It adapts the calls at once between 1 and `most`.

    They grow, doubling each round, while answers are quick, and halve when the service says
    "busy" or does not answer in time (once a round, however many calls of that round fail);
    near the level that was too much they grow slowly. `rate` is a declared limit in calls a
    second. A service that tells how long to wait, or is busy even with one call at a time, also
    teaches a rate: what it answered per second since the last time, the pause included; that
    rate grows slowly, and ever faster the longer the service is content.

    All times are seconds of one monotonic clock, given by the caller.
    """

    def __init__(self, most: int, rate: float | None = None) -> None:
        self.most, self.declared = max(1, most), rate
        self.at_once = float(min(self.most, _START))
        self.rate: float | None = rate
        self.under_way = 0
        self._grows_fast_below = float(self.most)
        self._next = -math.inf  # earliest next call by the rate
        self._pause = -math.inf
        self._cut = -math.inf  # when it was slowed last
        self._eased = -math.inf
        self._since: float | None = None  # start of the stretch in which `_worked` counts
        self._worked = 0
        self._mean: float | None = None
        self._best = math.inf

    def join(self, most: int, rate: float | None) -> None:
        """A further service that shares this gate: the tighter limits hold."""
        self.most = max(1, min(self.most, most))
        self.at_once = min(self.at_once, float(self.most))
        self._grows_fast_below = float(self.most)
        rates = [value for value in (self.declared, rate) if value is not None]
        self.declared = self.rate = min(rates, default=None)

    def wait(self, now: float) -> float:
        """Seconds until a call may go: 0 for now, infinity when one under way must end first."""
        if self.under_way >= int(self.at_once):
            return math.inf
        left = max(self._pause, self._next) - now
        return left if left > MOMENT else 0.0

    def enter(self, now: float) -> None:
        """A call goes out."""
        self.under_way += 1
        if self._since is None:
            self._since = now
        if self.rate is not None:
            self._next = max(self._next, now - _SLACK) + 1.0 / self.rate

    def leave(self) -> None:
        """A call ended, however."""
        self.under_way -= 1

    def worked(self, now: float, seconds: float) -> None:
        """A call was answered after so many seconds."""
        self._worked += 1
        mean = seconds if self._mean is None else self._mean + _WEIGHT * (seconds - self._mean)
        self._mean, self._best = mean, min(self._best, mean)
        if mean <= _QUICK * self._best and self.at_once < self.most:
            step = 1.0 if self.at_once < self._grows_fast_below else _CAREFUL / self.at_once
            self.at_once = min(float(self.most), self.at_once + step)
        if self.rate != self.declared:
            self._ease(now)

    def _ease(self, now: float) -> None:
        """Let a learned rate grow; forget it when it does not hold anything back any more."""
        assert self.rate is not None
        start = max(self._eased, self._cut)
        self.rate *= 1.0 + min(1.0, _EASE * max(0.0, now - self._cut) * max(0.0, now - start))
        self._eased = now
        if self.declared is not None:
            self.rate = min(self.rate, self.declared)
        elif self._mean and self.rate > 4.0 * self.most / self._mean:
            self.rate = None

    def slow(self, now: float, sent: float) -> bool:
        """Halve the calls at once, for a call sent at `sent`. False if its round was punished before."""
        if sent < self._cut:
            return False
        self._grows_fast_below = _NEAR * self.at_once
        self.at_once = max(1.0, self.at_once / 2.0)
        self._cut = now
        return True

    def busy(self, now: float, sent: float, seconds: float, *, told: bool) -> bool:
        """The service was busy: wait so many seconds, which it `told` us or we chose.

        True if it was slowed further for it.
        """
        self.pause(now + seconds)
        if not self.slow(now, sent):
            return False
        if told or self.at_once < 2.0:
            self._learn(now, seconds)
        self._since, self._worked = self._pause, 0
        return True

    def _learn(self, now: float, seconds: float) -> None:
        """The rate that would have done since it was slowed last."""
        span = max(self._pause - (now if self._since is None else self._since), 1e-3)
        learned = self._worked / span
        if not self._worked:
            learned = 1.0 / max(seconds, 1e-3) if self.rate is None else self.rate / 2.0
        learned = max(_SLOWEST, learned)
        self.rate = learned if self.declared is None else min(learned, self.declared)
        self._next = self._pause

    def pause(self, until: float) -> None:
        """Send nothing before `until`."""
        self._pause = max(self._pause, until)
