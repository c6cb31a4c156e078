"""How much passes at once, and how long anybody is waited for: what strangers can hold is bounded."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

SMALL = 65_536
"""Bytes that a connection may hold whatever others hold, so that large bodies do not shut out small ones."""
SLOWEST = 1_000
"""Bytes of a body that must come in a second, on the whole."""
LEAVING = 256
"""Connections that got the reason of their refusal and are not gone yet, beside those that are served."""
_SPARE = LEAVING + 64  # open files beside those of connections


@dataclass(frozen=True, slots=True)
class TrafficLimits:
    """What all connections together may take, and how long each may keep the proxy waiting.

    Attributes:
        connections: at once; each has one of its own to the service.
        body_bytes: that requests and answers under way may hold together.
        head_seconds: from a connection to the end of its first request's head.
        body_seconds: without a byte of a body, or without the client taking any of its answer. As a whole
            a body has these seconds, and one more for each `SLOWEST` bytes.
        held_seconds: while the client is not read from, as the service takes nothing.
        idle_seconds: from an answer to the next request; its head may take `head_seconds` more.
    """

    connections: int = 400
    body_bytes: int = 128_000_000
    head_seconds: float = 30.0
    body_seconds: float = 60.0
    held_seconds: float = 600.0
    idle_seconds: float = 120.0

    @property
    def look(self) -> float:
        """Seconds from one look at all connections to the next."""
        return min(1.0, min(self.head_seconds, self.body_seconds, self.held_seconds, self.idle_seconds) / 4)


class MemoryBudget:
    """Counts the bytes that all connections hold together."""

    def __init__(self, size: int) -> None:
        self.size, self.used = size, 0

    def holds(self, more: int) -> bool:
        """Whether there is room for so many bytes more."""
        return self.used + more <= self.size


class IdleTimer:
    """What a client is waited for, since when, and how much of it came.

    Attributes:
        paused: the proxy itself does not read on.
        taking: the client takes what is for it.
        leaving: it got everything, and is to go.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.paused, self.taking, self.leaving = False, True, False
        self._clock = clock
        self.begin()

    def begin(self) -> None:
        """From now on something else is waited for."""
        self._since = self._last = self._clock()
        self._came = 0

    def note_bytes(self, size: int) -> None:
        """So many bytes came."""
        self._last = self._clock()
        self._came += size

    @property
    def seconds(self) -> float:
        """How long it is waited for."""
        return self._clock() - self._since

    def is_slow(self, limit: float) -> bool:
        """Whether nothing came for so many seconds, or, all in all, too little."""
        return self._clock() - self._last > limit or self.seconds > limit + self._came / SLOWEST


def affordable_connections(connections: int) -> int:
    """As many of these connections as this process may open files for; it is allowed more where it can be."""
    try:
        import resource
    except ImportError:  # Windows, where sockets are no files
        return connections
    needed = 2 * connections + _SPARE
    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed == resource.RLIM_INFINITY or allowed >= needed:
        return connections
    wanted = needed if most == resource.RLIM_INFINITY else min(needed, most)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
        allowed = wanted
    return max(1, min(connections, (allowed - _SPARE) // 2))
