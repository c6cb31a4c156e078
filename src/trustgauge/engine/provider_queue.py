"""Services that one provider limits together take turns at one gate."""

from __future__ import annotations

import asyncio
import math
from typing import Protocol

from trustgauge.engine.adaptive_limiter import AdaptiveLimiter
from trustgauge.engine.run_state import RunState


class Sender(Protocol):
    """What a line needs of each service: when it wants to send, and that it sends."""

    def wait(self, now: float) -> float: ...

    def send(self, now: float) -> None: ...


class ProviderQueue:
    """Services that share one gate, since one provider limits them together."""

    def __init__(self, desk: RunState, gate: AdaptiveLimiter) -> None:
        self.desk, self.gate = desk, gate
        self.runners: list[Sender] = []
        self._woken = False
        self._turn = 0
        self._timer: asyncio.TimerHandle | None = None
        self._due = math.inf

    def wake(self) -> None:
        """Send what may be sent, once what is going on now is done."""
        if not self._woken:
            self._woken = True
            self.desk.soon(self.pump)

    def hold(self) -> None:
        """Do not wake until `pump`: more is about to come in."""
        self._woken = True

    def pump(self) -> None:
        """Send all that may be sent now."""
        self._woken = False
        now = self.desk.loop.time()
        while not self.desk.halted and (closed := self.gate.wait(now)) != math.inf:
            runner, wait = self._next(now)
            if runner is None or closed > 0:
                self._wait(now, max(wait, closed))
                return
            runner.send(now)

    def _next(self, now: float) -> tuple[Sender | None, float]:
        """The next runner that may send, in turn, and 0; else the shortest wait of those that may not."""
        shortest = math.inf
        count = len(self.runners)
        if count == 1:
            wait = self.runners[0].wait(now)
            return (None if wait > 0 else self.runners[0]), wait
        for step in range(count):
            runner = self.runners[(self._turn + step) % count]
            wait = runner.wait(now)
            if wait <= 0:
                self._turn = (self._turn + step + 1) % count
                return runner, 0.0
            shortest = min(shortest, wait)
        return None, shortest

    def _wait(self, now: float, seconds: float) -> None:
        """Come back then; an earlier date replaces a later one."""
        due = now + seconds
        if due >= self._due or seconds == math.inf:
            return
        if self._timer is not None:
            self._timer.cancel()
            self.desk.pending -= 1
        self._due = due
        self._timer = self.desk.later(seconds, self._ring)

    def _ring(self) -> None:
        self._timer, self._due = None, math.inf
        self.pump()
