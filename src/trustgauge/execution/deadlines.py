"""Cuts calls off that take too long: one timer for all calls of a service, not one each."""

from __future__ import annotations

import asyncio


class Deadlines:
    """All calls of a service have the same time, so the oldest is always the next to be late."""

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        self._loop, self._seconds = loop, seconds
        self._calls: dict[asyncio.Task[None], float] = {}  # when each is late, oldest first
        self._late: set[asyncio.Task[None]] = set()
        self._waits = False

    @property
    def under_way(self) -> list[asyncio.Task[None]]:
        """The calls that have not ended."""
        return list(self._calls)

    def begin(self, call: asyncio.Task[None], now: float) -> None:
        """A call goes out."""
        self._calls[call] = now + self._seconds
        if not self._waits:
            self._waits = True
            self._loop.call_at(now + self._seconds, self._look)

    def end(self, call: asyncio.Task[None]) -> None:
        """A call has ended, in time or not."""
        self._calls.pop(call, None)
        self.cut(call)  # the service may have made another error of it

    def cut(self, call: asyncio.Task[None]) -> bool:
        """Whether this call was cancelled for being late; asked once."""
        if call in self._late:
            self._late.discard(call)
            call.uncancel()
            return True
        return False

    def _look(self) -> None:
        now = self._loop.time()
        self._waits = False
        for call, due in self._calls.items():
            if due > now:
                self._waits = True
                self._loop.call_at(due, self._look)
                return
            if call not in self._late:
                self._late.add(call)
                call.cancel()
