"""The proxy: an OpenAI-compatible pass-through that listens to what it passes.

    client -> ClientSide -> ServiceSide -> service     bytes as they come, both ways
                   |
                   +-> Recorder -> transcript -> rating     off the path

Nothing on the path waits for what is off it.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from trustgauge.server.answers import Refusal, reply
from trustgauge.server.exchange import Exchange
from trustgauge.server.passing import OWN, ClientSide, ServiceSide
from trustgauge.server.recording import Recorder
from trustgauge.server.upstream import Upstream
from trustgauge.server.wire import RequestHead

RATING = OWN + "rating"
"""Where the running rating is found."""
GRACE = 10.0
"""Seconds that answers under way have to end when the proxy is asked to."""

Rated = Callable[[], Awaitable[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Listening:
    """Where the proxy listens, and by which names it may be called.

    A page in a browser can make a name of its own mean 127.0.0.1; its requests still carry that name, so
    only known ones pass. Addresses in digits cannot be made to mean something else.
    """

    host: str = "127.0.0.1"
    port: int = 8001
    names: tuple[str, ...] = ()

    def knows(self, host: str) -> bool:
        """Whether a Host header is one of ours.

        >>> Listening().knows("localhost:8001"), Listening().knows("elsewhere.example")
        (True, False)
        """
        try:
            name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
        except ValueError:
            return False
        if name in {"localhost", self.host.lower(), *(one.lower() for one in self.names)}:
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or not self.only_here

    @property
    def only_here(self) -> bool:
        """Whether only this machine can reach it."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host.lower() == "localhost"


class Proxy:
    """A running pass-through; a `passing.Gate`."""

    def __init__(self, upstream: Upstream, recorder: Recorder, rated: Rated, listening: Listening) -> None:
        self.upstream, self.recorder, self.listening = upstream, recorder, listening
        self._rated = rated
        self._sides: set[ClientSide] = set()
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
            lambda: ClientSide(self), place.host, place.port, backlog=1024
        )

    async def close(self, grace: float = GRACE) -> None:
        """Stop: no new connections, answers under way have `grace` seconds to end."""
        if self._server is not None:
            self._server.close()
        for side in list(self._sides):
            if side.exchange is None:
                side.leave()
        if self._sides:
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
        for side in list(self._sides):
            side.transport.abort()

    # --- what the sides ask for

    def refuses(self, head: RequestHead) -> Refusal | None:
        host = head.fields.get("host", "")
        if not self.listening.knows(host):
            told = "the proxy is not known by this name: start it with --allow-host, or call it localhost"
            return Refusal(421, "request.foreign-host", told)
        if not head.target.startswith("/"):
            return Refusal(400, "request.malformed", "the proxy passes paths on, not whole addresses")
        return None

    def entered(self, side: ClientSide) -> None:
        self._sides.add(side)

    def left(self, side: ClientSide) -> None:
        self._sides.discard(side)
        if not self._sides:
            self._empty.set()

    def passed(self, side: ClientSide, exchange: Exchange) -> None:
        if exchange.read:
            self.recorder.offer(exchange)
        if self._server is not None and not self._server.is_serving():
            side.leave()

    def connect(self, side: ServiceSide) -> asyncio.Task[None]:
        return self._held(asyncio.ensure_future(self.upstream.connect(side)))

    def own(self, head: RequestHead) -> asyncio.Task[bytes]:
        return self._held(asyncio.ensure_future(self._own(head)))

    async def _own(self, head: RequestHead) -> bytes:
        if head.path != RATING:
            return reply(404, Refusal(404, "request.unknown", f"the proxy itself has only {RATING}").told())
        if head.method not in ("GET", "HEAD"):
            return reply(405, Refusal(405, "request.unknown", f"{RATING} is read with GET").told())
        return reply(200, await self._rated())

    def _held(self, task: asyncio.Task[Any]) -> asyncio.Task[Any]:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
