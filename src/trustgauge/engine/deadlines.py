"""Cuts calls off that take too long: one timer for all calls of a service, not one each."""

from __future__ import annotations

import asyncio

_STOOD = 0.2  # seconds by which a look comes too late where the loop stood still meanwhile
_PASSES = 3  # of the loop, in which answers are read that have come meanwhile


class Deadlines:
    """All calls of a service have the same time, so the oldest is always the next to be late.

    The time of a call runs from when the service is asked: one that was cut off before its task came to
    it would never end. Where something else kept the loop to itself, answers that have come meanwhile are
    read before calls are cut off.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        self._loop, self._seconds = loop, seconds
        self._calls: dict[asyncio.Task[None], float] = {}  # when each is late, oldest first
        self._expected: set[asyncio.Task[None]] = set()  # their service is not asked yet
        self._late: set[asyncio.Task[None]] = set()
        self._waits = False
        self._at = 0.0  # when the next look is due

    @property
    def under_way(self) -> list[asyncio.Task[None]]:
        """The calls that have not ended."""
        return [*self._expected, *self._calls]

    def expect(self, call: asyncio.Task[None]) -> None:
        """A call is to go out as soon as its task comes to it."""
        self._expected.add(call)

    def begin(self, call: asyncio.Task[None], now: float) -> None:
        """A call goes out."""
        self._expected.discard(call)
        self._calls[call] = now + self._seconds
        if not self._waits:
            self._look_at(now + self._seconds)

    def end(self, call: asyncio.Task[None]) -> None:
        """A call has ended, in time or not."""
        self._expected.discard(call)
        self._calls.pop(call, None)
        self.cut(call)  # the service may have made another error of it

    def cut(self, call: asyncio.Task[None]) -> bool:
        """Whether this call was cancelled for being late; asked once."""
        if call in self._late:
            self._late.discard(call)
            call.uncancel()
            return True
        return False

    def _look_at(self, due: float) -> None:
        self._waits, self._at = True, due
        self._loop.call_at(due, self._look)

    def _look(self, passes: int = _PASSES) -> None:
        now = self._loop.time()
        if passes and now - self._at > _STOOD:
            self._loop.call_soon(self._look, passes - 1)
            return
        self._waits = False
        for call, due in self._calls.items():
            if due > now:
                self._look_at(due)
                return
            if call not in self._late:
                self._late.add(call)
                call.cancel()
