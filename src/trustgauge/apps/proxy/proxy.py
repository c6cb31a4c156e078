"""The proxy: an OpenAI-compatible pass-through that listens to what it passes.

    client -> ClientSide -> ServiceSide -> service     bytes as they come, both ways
                   |
                   +-> Recorder -> transcript -> rating     off the path

Nothing on the path waits for what is off it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from trustgauge.apps.proxy.error_responses import Refusal, reply
from trustgauge.apps.proxy.exchange import Exchange
from trustgauge.apps.proxy.limits import LEAVING, MemoryBudget, TrafficLimits
from trustgauge.apps.proxy.listener import ListenerConfig
from trustgauge.apps.proxy.recorder import Recorder
from trustgauge.apps.proxy.relay import FULL, OWN, ClientConnection, ServiceConnection
from trustgauge.apps.proxy.upstream import Upstream
from trustgauge.apps.proxy.wire import RequestHead

RATING = OWN + "rating"
"""Where the running rating is found."""
GRACE = 10.0
"""Seconds that answers under way have to end when the proxy is asked to."""

Rated = Callable[[], Awaitable[Mapping[str, Any]]]


class Proxy:
    """A running pass-through; a `passing.Gate`."""

    def __init__(
        self,
        upstream: Upstream,
        recorder: Recorder,
        rated: Rated,
        listening: ListenerConfig,
        limits: TrafficLimits,
    ) -> None:
        self.upstream, self.recorder, self.listening, self.limits = upstream, recorder, listening, limits
        self.room = MemoryBudget(limits.body_bytes)
        self._rated = rated
        self._sides: set[ClientConnection] = set()
        self._leaving: dict[ClientConnection, None] = {}  # the first dismissed first
        self._looking: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._server: asyncio.Server | None = None
        self._empty = asyncio.Event()

    @property
    def port(self) -> int:
        """Where it listens."""
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    async def open(self) -> None:
        """Begin to listen.

        Raises:
            OSError: the address is taken, or none of this machine.
        """
        loop = asyncio.get_running_loop()
        place = self.listening
        self._server = await loop.create_server(
            lambda: ClientConnection(self), place.host, place.port, backlog=1024
        )
        self._look()

    async def close(self, grace: float = GRACE) -> None:
        """Stop: no new connections, answers under way have `grace` seconds to end."""
        if self._server is not None:
            self._server.close()
        if self._looking is not None:
            self._looking.cancel()
        for side in list(self._sides):
            if side.exchange is None:
                side.leave()
        if self._sides or self._leaving:
            self._empty.clear()
            try:
                await asyncio.wait_for(self._empty.wait(), grace)
            except TimeoutError:
                self.abort()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def abort(self) -> None:
        """Hang up on everybody."""
        for side in [*self._sides, *self._leaving]:
            side.transport.abort()

    def _look(self) -> None:
        """Look again and again whether somebody keeps us waiting."""
        self._looking = asyncio.get_running_loop().call_later(self.limits.look, self._look)
        for side in list(self._sides):
            side.look()

    # --- what the sides ask for

    def refuses(self, head: RequestHead) -> Refusal | None:
        refused = self.listening.refuses(head)
        if refused is not None:
            return refused
        if not head.target.startswith("/"):
            return Refusal(400, "request.malformed", "the proxy passes paths on, not whole addresses")
        return None

    def begins(self, head: RequestHead) -> Exchange:
        return Exchange.of(head, self.listening.secret)

    def on_connect(self, side: ClientConnection) -> Refusal | None:
        self._sides.add(side)
        return FULL if len(self._sides) > self.limits.connections else None

    def on_refusal(self, side: ClientConnection, refusal: Refusal) -> None:
        self.recorder.counts.refused[refusal.code] += 1
        self._sides.discard(side)
        self._leaving[side] = None
        if len(self._leaving) > LEAVING:
            first = next(iter(self._leaving))
            del self._leaving[first]
            first.transport.abort()

    def on_disconnect(self, side: ClientConnection) -> None:
        self._sides.discard(side)
        self._leaving.pop(side, None)
        if not self._sides and not self._leaving:
            self._empty.set()

    def on_exchange_end(self, side: ClientConnection, exchange: Exchange) -> None:
        if exchange.read:
            self.recorder.offer(exchange)
        if self._server is not None and not self._server.is_serving():
            side.leave()

    def connect(self, side: ServiceConnection) -> asyncio.Task[None]:
        return self._held(asyncio.ensure_future(self.upstream.connect(side)))

    def own(self, head: RequestHead) -> asyncio.Task[bytes]:
        return self._held(asyncio.ensure_future(self._own(head)))

    async def _own(self, head: RequestHead) -> bytes:
        if head.path != RATING:
            return reply(
                404, Refusal(404, "request.unknown", f"the proxy itself has only {RATING}").as_json()
            )
        if head.method not in ("GET", "HEAD"):
            return reply(405, Refusal(405, "request.unknown", f"{RATING} is read with GET").as_json())
        return reply(200, await self._rated())

    def _held(self, task: asyncio.Task[Any]) -> asyncio.Task[Any]:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
