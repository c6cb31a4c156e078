"""The two sides of a connection that passes: bytes go through as they come, and a copy is followed.

Each connection of a client has one to the service, made with its first request; when either ends, so does
the other. So whatever the service or the client does, the other sees it as if nobody stood between.
"""

from __future__ import annotations

import asyncio
from typing import Protocol, cast

from trustgauge.errors import UnavailableError
from trustgauge.server.answers import Refusal, reply
from trustgauge.server.exchange import Exchange
from trustgauge.server.upstream import Upstream
from trustgauge.server.wire import (
    END,
    LONGEST_HEAD,
    Body,
    MalformedError,
    RequestHead,
    request_head,
    response_head,
)

MUCH = 262_144
"""Bytes that wait for a connection or for an answer before a client is held back."""
OWN = "/trustgauge/"
"""Paths that the proxy answers itself."""


class Gate(Protocol):
    """What the sides need of the proxy."""

    upstream: Upstream

    def refuses(self, head: RequestHead) -> Refusal | None:
        """Why a request may not pass, None if it may."""

    def entered(self, side: ClientSide) -> None:
        """A client connected."""

    def left(self, side: ClientSide) -> None:
        """Its connection is gone."""

    def own(self, head: RequestHead) -> asyncio.Task[bytes]:
        """The proxy's own answer, under way."""

    def connect(self, side: ServiceSide) -> asyncio.Task[None]:
        """A connection to the service, under way."""

    def passed(self, side: ClientSide, exchange: Exchange) -> None:
        """An exchange is over."""


class ServiceSide(asyncio.Protocol):
    """The connection to the service."""

    def __init__(self, client: ClientSide) -> None:
        self._client = client
        self.transport: asyncio.Transport | None = None
        self._early: list[bytes] = []  # sent before there was a connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # not of that class in every event loop
        if self._client.gone:
            self.transport.abort()
            return
        for data in self._early:
            self.transport.write(data)
        self._early.clear()
        self._client.resume()

    def send(self, data: bytes) -> None:
        """Pass bytes on, as soon as there is a connection."""
        if self.transport is not None:
            self.transport.write(data)
            return
        self._early.append(data)
        if sum(len(one) for one in self._early) > MUCH:
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
        """Hang up at once."""
        if self.transport is not None:
            self.transport.abort()


class ClientSide(asyncio.Protocol):
    """The connection of a client, and where its conversation with the service stands."""

    transport: asyncio.Transport

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._service: ServiceSide | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._own: asyncio.Task[bytes] | None = None
        self._waiting = b""  # bytes of requests that are not sent on yet
        self._request: Body | None = None  # what is still to come of a request
        self._answer: Body | None = None  # the answer under way
        self._back = b""  # the beginning of an answer's head
        self._blind = False  # what comes back is no HTTP that can be followed: it only passes
        self._tunnel = False  # both sides changed to another protocol
        self.exchange: Exchange | None = None
        self.gone = False

    # --- from the client

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # not of that class in every event loop
        self._gate.entered(self)

    def data_received(self, data: bytes) -> None:
        if self._tunnel and self._service is not None:
            self._service.send(data)
            return
        self._waiting = self._waiting + data if self._waiting else data
        self._go_on()

    def connection_lost(self, exc: Exception | None) -> None:
        self.gone = True
        for task in (self._connecting, self._own):
            if task is not None:
                task.cancel()
        if self._service is not None:
            self._service.end()
        self._over(whole=False)
        self._gate.left(self)

    def pause_writing(self) -> None:
        if self._service is not None and self._service.transport is not None:
            self._service.transport.pause_reading()

    def resume_writing(self) -> None:
        if self._service is not None and self._service.transport is not None:
            self._service.transport.resume_reading()

    def hold(self) -> None:
        """Read no more from the client until the service has taken what came."""
        self.transport.pause_reading()

    def resume(self) -> None:
        """Read from the client again."""
        if not self.gone and not self.transport.is_closing():
            self.transport.resume_reading()

    def leave(self) -> None:
        """Close the connection, sending what is still to be sent."""
        self.transport.close()

    def _go_on(self) -> None:
        """Send on as much of what waits as may go now."""
        try:
            while self._waiting and not self.transport.is_closing():
                if self._request is not None:
                    self._send_body(self._request)
                elif self.exchange is not None or self._own is not None:
                    if len(self._waiting) > MUCH:
                        self.hold()  # requests sent ahead wait for the answer to this one
                    return
                elif not self._begin():
                    return
        except MalformedError as error:
            self._refuse(Refusal(400, "request.malformed", f"the request cannot be passed on: {error}"))

    def _begin(self) -> bool:
        """Begin with the next request; False if its head is not whole, or it may not pass."""
        while self._waiting.startswith(b"\r\n"):  # some clients end a body with a line of its own
            self._waiting = self._waiting[2:]
        end = self._waiting.find(END)
        if end < 0 or end > LONGEST_HEAD:
            if len(self._waiting) > LONGEST_HEAD:
                self._refuse(Refusal(431, "request.malformed", "the head of the request is too long"))
            return False
        head = request_head(self._waiting[:end])
        refused = self._gate.refuses(head)
        if refused is not None or self._blind:
            if refused is not None:
                self._refuse(refused)
            return False
        self._waiting = self._waiting[end + len(END) :]
        body = head.body()
        self._request = None if body.done else body
        if head.path.startswith(OWN):
            self._own = self._gate.own(head)
            self._own.add_done_callback(self._answer_own)
            return True
        self.exchange = Exchange.of(head)
        target = self._gate.upstream.target(head.target)
        self._to_service(head.sent_to(self._gate.upstream.host, target))
        return True

    def _send_body(self, body: Body) -> None:
        """Send on what has come of the body, and follow it."""
        data, exchange = self._waiting, self.exchange
        stop = body.take(data, 0, exchange.sent if exchange and exchange.read else None)
        self._waiting = data[stop:]
        if self._own is None:
            self._to_service(data[:stop])
        if body.done:
            self._request = None

    def _to_service(self, data: bytes) -> None:
        if self._service is None:
            self._service = ServiceSide(self)
            self._connecting = self._gate.connect(self._service)
            self._connecting.add_done_callback(self._connected)
        self._service.send(data)

    def _connected(self, task: asyncio.Task[None]) -> None:
        if task.cancelled() or self.gone:
            return
        error = task.exception()
        if error is None:
            return
        why = error if isinstance(error, UnavailableError) else self._gate.upstream.unreachable(error)
        self._refuse(Refusal(502, why.code, str(why)))

    def _answer_own(self, task: asyncio.Task[bytes]) -> None:
        if not task.cancelled() and not self.gone:
            self.transport.write(task.result())
            self.transport.close()

    def _refuse(self, refusal: Refusal) -> None:
        """Answer in the service's place, unless it has begun to answer itself, and hang up."""
        if self._answer is None and not self._back:
            self.transport.write(reply(refusal.status, refusal.told()))
        self.transport.close()

    # --- from the service

    def came_back(self, data: bytes) -> None:
        """Pass on what the service sent, then follow it."""
        if self.transport.is_closing():
            return
        self.transport.write(data)
        if self._blind or self._tunnel:
            return
        try:
            self._follow(data)
        except MalformedError:
            self._blind = True  # it passes as it is; only nothing can be read in it

    def _follow(self, data: bytes) -> None:
        at = 0
        while at < len(data) and not self._tunnel:
            exchange = self.exchange
            if exchange is None:
                raise MalformedError("an answer to no request")
            if self._answer is None:
                self._back += data[at:]
                end = self._back.find(END)
                if end < 0:
                    if len(self._back) > LONGEST_HEAD:
                        raise MalformedError("the head of the answer is too long")
                    return
                data, at, head = self._back[end + len(END) :], 0, response_head(self._back[:end])
                self._back = b""
                self._tunnel = head.status == 101
                if head.status < 200:
                    continue  # the answer itself is still to come
                exchange.answered(head)
                self._answer = head.body(exchange.method)
            at = self._answer.take(data, at, exchange.back if exchange.read else None)
            if self._answer.done:
                self._over(whole=True)

    def service_left(self) -> None:
        """The service hung up: so does the proxy, after all that came."""
        until_close = self._answer is not None and self._answer.until_close
        self._over(whole=until_close)
        if not self.gone:
            self.transport.close()

    def _over(self, *, whole: bool) -> None:
        """The exchange is over; the next request may go."""
        exchange, self.exchange, self._answer = self.exchange, None, None
        if exchange is None:
            return
        exchange.end(whole=whole)
        self._gate.passed(self, exchange)
        if whole and not self.gone and self._waiting:
            self.resume()
            asyncio.get_running_loop().call_soon(self._go_on)
