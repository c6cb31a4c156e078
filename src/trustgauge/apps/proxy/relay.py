"""The two sides of a connection that passes: bytes go through as they come, and a copy is followed.

Each connection of a client has one to the service, made with its first request; when either ends, so does
the other. So whatever the service or the client does, the other sees it as if nobody stood between.

What all clients hold together is counted in one `Room`; a client that goes beyond it, or keeps the proxy
waiting for longer than `Limits` say, gets a message and is dismissed.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Protocol, cast

from trustgauge.apps.proxy.error_responses import Refusal
from trustgauge.apps.proxy.exchange import LARGEST, Exchange
from trustgauge.apps.proxy.limits import SMALL, IdleTimer, MemoryBudget, TrafficLimits
from trustgauge.apps.proxy.upstream import Upstream
from trustgauge.apps.proxy.wire import (
    END,
    LONGEST_HEAD,
    Body,
    MalformedError,
    RequestHead,
    ResponseReader,
    request_head,
)
from trustgauge.errors import UnavailableError

MUCH = 262_144
"""Bytes that wait for a connection or for an answer before a client is held back."""
OWN = "/trustgauge/"
"""Paths that the proxy answers itself."""
FULL = Refusal(
    503,
    "proxy.full",
    "the proxy has no room for this request now, as too much passes at once: try again soon",
    ("retry-after: 1",),
)
_SLOW = Refusal(408, "request.slow", "the request did not come in time")
_STALLED = Refusal(504, "service.stalled", "the service did not take the request in time")
_LINGER = 5.0  # seconds that a client has to read why it is dismissed


class RelayHooks(Protocol):
    """What the sides need of the proxy."""

    upstream: Upstream
    limits: TrafficLimits
    room: MemoryBudget

    def refuses(self, head: RequestHead) -> Refusal | None:
        """Why a request may not pass, None if it may."""

    def begins(self, head: RequestHead) -> Exchange:
        """The exchange that a request begins."""

    def on_connect(self, side: ClientConnection) -> Refusal | None:
        """A client connected; why it may not, None if it may."""

    def on_refusal(self, side: ClientConnection, refusal: Refusal) -> None:
        """A client was asked to go, and is given a moment to read why."""

    def on_disconnect(self, side: ClientConnection) -> None:
        """Its connection is gone."""

    def own(self, head: RequestHead) -> asyncio.Task[bytes]:
        """The proxy's own answer, under way."""

    def connect(self, side: ServiceConnection) -> asyncio.Task[None]:
        """A connection to the service, under way."""

    def on_exchange_end(self, side: ClientConnection, exchange: Exchange) -> None:
        """An exchange is over."""


class ServiceConnection(asyncio.Protocol):
    """The connection to the service."""

    def __init__(self, client: ClientConnection) -> None:
        self._client = client
        self.transport: asyncio.Transport | None = None
        self._early = bytearray()  # sent before there was a connection
        self._ended = False

    @property
    def waiting(self) -> int:
        """Bytes that the service has not taken yet."""
        return len(self._early) if self.transport is None else self.transport.get_write_buffer_size()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # not of that class in every event loop
        if self._ended:
            self.transport.abort()
            return
        early, self._early = bytes(self._early), bytearray()
        self.transport.write(early)
        self._client.resume()

    def send(self, data: bytes) -> None:
        """Pass bytes on, as soon as there is a connection."""
        if self.transport is not None:
            self.transport.write(data)
            return
        self._early += data
        if len(self._early) > MUCH:
            self._client.hold()

    def data_received(self, data: bytes) -> None:
        self._client.came_back(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._client.service_left()

    def pause_writing(self) -> None:
        self._client.hold()

    def resume_writing(self) -> None:
        self._client.resume()

    def end(self) -> None:
        """Hang up at once, or as soon as there is a connection."""
        self._ended = True
        if self.transport is not None:
            self.transport.abort()


class ClientConnection(asyncio.Protocol):
    """The connection of a client, and where its conversation with the service stands."""

    transport: asyncio.Transport

    def __init__(self, gate: RelayHooks) -> None:
        self._gate = gate
        self._service: ServiceConnection | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._own: asyncio.Task[bytes] | None = None
        self._waiting = b""  # bytes of requests that are not sent on yet
        self._request: Body | None = None  # what is still to come of a request
        self._answer: ResponseReader | None = None  # the answer under way
        self._blind = False  # what comes back is no HTTP that can be followed: it only passes
        self._tunnel = False  # both sides changed to another protocol
        self.exchange: Exchange | None = None
        self.gone = False
        self._weight = 0  # bytes that it is counted for in the room
        self._wait = IdleTimer(asyncio.get_running_loop().time)
        self._new = True  # nothing was answered yet

    # --- from the client

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # not of that class in every event loop
        self._wait.begin()
        refused = self._gate.on_connect(self)
        if refused is not None:
            self._refuse(refused)

    def data_received(self, data: bytes) -> None:
        if self._wait.leaving:
            return  # it is read, so that the client reads why nobody listens
        if self._tunnel and self._service is not None:
            self._service.send(data)
            return
        self._wait.note_bytes(len(data))
        self._waiting = self._waiting + data if self._waiting else data
        self._go_on()
        self._weigh()

    def connection_lost(self, exc: Exception | None) -> None:
        self.gone = True
        if self._own is not None:
            self._own.cancel()
        self._end_service()
        self._over(whole=False)
        self._waiting = b""
        self._weigh()
        self._gate.on_disconnect(self)

    def pause_writing(self) -> None:
        self._wait.taking = False
        self._wait.begin()
        if self._service is not None and self._service.transport is not None:
            self._service.transport.pause_reading()

    def resume_writing(self) -> None:
        self._wait.taking = True
        self._wait.begin()
        if self._service is not None and self._service.transport is not None:
            self._service.transport.resume_reading()

    def hold(self) -> None:
        """Read no more from the client until the service has taken what came."""
        if not self._wait.leaving:
            if not self._wait.paused:
                self._wait.paused = True
                self._wait.begin()
            self.transport.pause_reading()

    def resume(self) -> None:
        """Read from the client again."""
        if not self.gone and not self.transport.is_closing():
            if self._wait.paused:
                self._wait.paused = False
                self._wait.begin()
            self.transport.resume_reading()

    def leave(self) -> None:
        """Close the connection, sending what is still to be sent."""
        self._wait.leaving = True
        self._wait.begin()
        self.transport.close()

    def look(self) -> None:
        """See whether the client keeps the proxy waiting for too long."""
        self._weigh()
        limits, wait = self._gate.limits, self._wait
        if wait.leaving or not wait.taking:  # it does not take what is for it
            if wait.seconds > limits.body_seconds:
                self.transport.abort()
        elif wait.paused:  # while nothing is read from a client, it cannot be seen to hang up either
            if wait.seconds > limits.held_seconds:
                self._refuse(_STALLED)
        elif self._request is not None:
            if wait.is_slow(limits.body_seconds):
                self._refuse(_SLOW)
        elif self._is_idle and wait.seconds > (limits.head_seconds if self._new else limits.idle_seconds):
            if not self._waiting:
                self.leave()
            elif self._new or wait.seconds > limits.idle_seconds + limits.head_seconds:
                self._refuse(_SLOW)

    @property
    def _is_idle(self) -> bool:
        """Whether the client has to begin, or to go on with the head of a request."""
        return not (self._request or self.exchange or self._own or self._tunnel or self._blind)

    def _weigh(self) -> None:
        """Count what this client holds."""
        queued = len(self._waiting)
        if not self.gone:
            queued += self.transport.get_write_buffer_size()
            queued += self._service.waiting if self._service is not None else 0
            queued += self.exchange.size if self.exchange is not None else 0
        self._gate.room.used += queued - self._weight
        self._weight = queued

    def _is_too_much(self, more: int = 0) -> bool:
        """Whether there is no room for what this client holds, and so many bytes more."""
        self._weigh()
        return self._weight + more > SMALL and not self._gate.room.holds(more)

    def _go_on(self) -> None:
        """Send on as much of what waits as may go now."""
        try:
            while self._waiting and not self.transport.is_closing():
                if self._request is not None:
                    self._send_body(self._request)
                elif self.exchange is not None or self._own is not None or self._blind:
                    if len(self._waiting) > MUCH:
                        self.hold()  # requests sent ahead wait for the answer to this one
                    return
                elif not self._begin():
                    return
        except MalformedError as error:
            self._refuse(Refusal(400, "request.malformed", f"the request cannot be passed on: {error}"))

    def _begin(self) -> bool:
        """Begin with the next request; False if its head is not whole, or it may not pass."""
        self._waiting = self._waiting.lstrip(b"\r\n")  # some clients end a body with a line of its own
        end = self._waiting.find(END)
        if end < 0 or end > LONGEST_HEAD:
            if len(self._waiting) > LONGEST_HEAD:
                self._refuse(Refusal(431, "request.malformed", "the head of the request is too long"))
            return False
        head = request_head(self._waiting[:end])
        refused = self._gate.refuses(head)
        if refused is not None:
            self._refuse(refused)
            return False
        body = head.body
        exchange = None if head.path.startswith(OWN) else self._gate.begins(head)
        if exchange is not None and exchange.read and self._is_too_much(min(body.length, LARGEST)):
            self._refuse(FULL)
            return False
        self._waiting = self._waiting[end + len(END) :]
        self._request = None if body.done else body
        self._wait.begin()
        if exchange is None:
            self._own = self._gate.own(head)
            self._own.add_done_callback(self._answer_own)
            return True
        self.exchange, self._answer = exchange, ResponseReader(head)
        target = self._gate.upstream.target(head.target)
        self._to_service(head.sent_to(self._gate.upstream.host, target))
        return True

    def _send_body(self, body: Body) -> None:
        """Send on what has come of the body, and follow it."""
        data, exchange = self._waiting, self.exchange
        stop = body.take(data, exchange.sent if exchange and exchange.read else None)
        self._waiting = data[stop:]
        if self._own is None:
            self._to_service(data[:stop])
        if body.done:
            self._request = None
        elif self._is_too_much():
            self._refuse(FULL)

    def _to_service(self, data: bytes) -> None:
        if self._service is None:
            self._service = ServiceConnection(self)
            self._connecting = self._gate.connect(self._service)
            self._connecting.add_done_callback(self._connected)
        self._service.send(data)

    def _connected(self, task: asyncio.Task[None]) -> None:
        if task.cancelled() or self.gone or self._wait.leaving:
            return
        error = task.exception()
        if error is None:
            return
        why = error if isinstance(error, UnavailableError) else self._gate.upstream.unreachable(error)
        self._refuse(Refusal(502, why.code, str(why)))

    def _answer_own(self, task: asyncio.Task[bytes]) -> None:
        if not task.cancelled() and not self.gone and not self._wait.leaving:
            self.transport.write(task.result())
            self.leave()

    def _refuse(self, refusal: Refusal) -> None:
        """Answer in the service's place, unless it has begun to answer itself, and hang up.

        What the client still sends is read and thrown away for a moment: a connection that is closed before
        would be reset, and the client might not read the answer.
        """
        if self.gone or self._wait.leaving or self.transport.is_closing():
            return
        begun = self._answer is not None and self._answer.begun
        self._end_service()
        if self.exchange is not None:
            self.exchange.read = False  # it is counted as refused, and holds nothing to read
        self._over(whole=False)
        self._waiting, self._request = b"", None
        self.resume()
        self._wait.leaving = True
        self._wait.begin()
        if begun:
            self.transport.close()
        else:
            self.transport.write(refusal.answer())
            with suppress(OSError):  # it is gone, and we do not know yet
                self.transport.write_eof()
        asyncio.get_running_loop().call_later(_LINGER, self.transport.abort)
        self._gate.on_refusal(self, refusal)

    def _end_service(self) -> None:
        if self._connecting is not None:
            self._connecting.cancel()
        if self._service is not None:
            self._service.end()

    # --- from the service

    def came_back(self, data: bytes) -> None:
        """Pass on what the service sent, then follow it."""
        if self._wait.leaving or self.transport.is_closing():
            return
        self.transport.write(data)
        if not (self._blind or self._tunnel):
            try:
                self._follow(data)
            except MalformedError:
                self._blind = True  # it passes as it is; only nothing can be read in it
        self._weigh()

    def _follow(self, data: bytes) -> None:
        exchange, answer = self.exchange, self._answer
        if exchange is None or answer is None:
            raise MalformedError("an answer to no request")
        head = answer.take(data, exchange.back if exchange.read else None)
        self._tunnel = answer.switched
        if head is not None:
            exchange.note_head(head)
        if answer.done:
            self._over(whole=True)
            if answer.rest:
                raise MalformedError("more than an answer")
        elif self._is_too_much():
            exchange.lose()

    def service_left(self) -> None:
        """The service hung up: so does the proxy, after all that came."""
        self._over(whole=self._answer is not None and self._answer.ends_by_closing())
        if not self.gone and not self._wait.leaving:
            self.leave()

    def _over(self, *, whole: bool) -> None:
        """The exchange is over; the next request may go."""
        exchange, self.exchange, self._answer = self.exchange, None, None
        if exchange is None:
            return
        exchange.end(whole=whole)
        self._new = False
        self._wait.begin()
        self._gate.on_exchange_end(self, exchange)
        if whole and not self.gone and self._waiting:
            self.resume()
            asyncio.get_running_loop().call_soon(self._go_on)
