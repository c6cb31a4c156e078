"""What is tried again, when, and when a service counts as down."""

from __future__ import annotations

from dataclasses import dataclass

from trustgauge.errors import BusyError, GarbledError, ServiceError

_TRUSTED = 2  # times a service's own word on when to come back is taken for it
_PATIENT = 2  # further probes of a service that is busy: it is alive


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The policy of retries. Times in seconds.

    `attempts` is the most times one message is sent to one service; `garbled` the same while the
    answers cannot be read, `busy` while the service refuses it as too many: that says nothing of the
    message. Waits double from `first` to `most`, with jitter over their upper half. A service that
    asks to wait longer than `patience` is stopped instead.
    """

    attempts: int = 6
    busy: int = 16
    garbled: int = 3
    first: float = 0.5
    most: float = 30.0
    patience: float = 900.0

    def again(self, error: ServiceError, tries: int) -> bool:
        """Whether a message that was sent `tries` times is sent again after this error."""
        most = self.attempts
        if isinstance(error, (GarbledError, BusyError)):
            most = self.garbled if isinstance(error, GarbledError) else self.busy
        return error.retry and tries < most

    def wait(self, tries: int, chance: float) -> float:
        """Seconds before the next attempt; `chance` is uniform in [0, 1)."""
        longest = min(self.most, self.first * 2.0 ** min(max(tries, 1) - 1, 30))
        return longest * (0.5 + 0.5 * chance)

    def wait_asked(self, asked: float | None, tries: int, chance: float) -> float:
        """The same where the service may have asked for a wait: that, and more if it does not help."""
        if asked is None:
            return self.wait(tries, chance)
        return asked if tries <= _TRUSTED else max(asked, self.wait(tries - _TRUSTED, chance))


class CircuitBreaker:
    """Tells a service that is plainly down from one that fails now and then.

    After `streak` failed calls without a success between them the service is *probed*: one call
    at a time, each after a longer wait. After `probes` failed probes the breaker is *open*: the
    service is not asked again in this run; one that says "busy" has two probes more. Any sign of life
    closes it. A service that is alive but never gave a single usable answer to `useless` calls (a
    wrong address, say) opens it too.
    """

    def __init__(self, streak: int = 8, probes: int = 4, useless: int = 20) -> None:
        self._most, self._most_probes, self._most_useless = streak, probes, useless
        self._streak = self._useless = 0
        self._ever = False
        self.probes = 0
        self.probing = False

    def failed(self, *, busy: bool = False) -> bool:
        """Note a call that got no answer. True when the breaker opens."""
        if self.probing:
            self.probes += 1
            return self.probes >= self._most_probes + _PATIENT * busy
        self._streak += 1
        self.probing = self._streak >= self._most
        return False

    def declined(self) -> bool:
        """Note an answer that was a rejection or unreadable. True when the breaker opens."""
        self._alive()
        self._useless += 1
        return not self._ever and self._useless >= self._most_useless

    def worked(self) -> bool:
        """Note a success. True if the service was being probed."""
        self._ever = True
        return self._alive()

    def _alive(self) -> bool:
        was, self.probing = self.probing, False
        self._streak = self.probes = 0
        return was
