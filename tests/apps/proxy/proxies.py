"""A proxy in a thread of its own, before a real local server."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Self, cast

from tests.servers import Request
from trustgauge.apps.proxy.app import ProxyConfig, ProxyResult, serve_until
from trustgauge.apps.proxy.limits import TrafficLimits
from trustgauge.apps.proxy.listener import ListenerConfig
from trustgauge.apps.proxy.rating_worker import RatingTarget
from trustgauge.apps.proxy.upstream import Upstream
from trustgauge.engine import EngineClock


class Running:
    """A proxy that is listening. After the `with` block `served` says what became of it."""

    served: ProxyResult

    def __init__(self, serving: ProxyConfig) -> None:
        self.serving = replace(serving, ready=self._ready)
        self.port = 0
        self.failure: BaseException | None = None
        self._listening = threading.Event()
        self._thread = threading.Thread(target=self._run, name="proxy")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        self._thread.start()
        assert self._listening.wait(10)
        if self.failure is not None:
            raise self.failure

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(30)
        if self.failure is not None:
            raise self.failure

    def _ready(self, port: int) -> None:
        self.port = port
        self._listening.set()

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=EngineClock().loop) as runner:
                self._loop = runner.get_loop()
                self._stop = asyncio.Event()
                self.served = runner.run(serve_until(self.serving, self._stop))
        except BaseException as error:
            self.failure = error
            self._listening.set()


@contextmanager
def proxied(
    url: str,
    transcript: Path,
    listening: ListenerConfig | None = None,
    *,
    every: float = 0.0,
    limits: TrafficLimits | None = None,
) -> Iterator[Running]:
    """A proxy before the service at `url`; it ends with the block, and must have had no fault."""
    upstream = Upstream("the bot", url)
    where = listening or ListenerConfig(port=0)
    serving = ProxyConfig(
        upstream, RatingTarget("bot"), transcript, where, limits or TrafficLimits(), every, grace=2.0
    )
    running = Running(serving)
    running.start()
    try:
        yield running
    finally:
        running.stop()
    assert not running.served.counts.faults


class Sink:
    """A chat service that throws away what it gets, and says "Hi." to what ends like JSON.

    A context manager.
    """

    def __init__(self) -> None:
        self.heads: list[bytes] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="sink")
        self._listening = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        server = await self._loop.create_server(lambda: _Sunk(self), "127.0.0.1", 0, backlog=1024)
        self.port: int = server.sockets[0].getsockname()[1]
        self._listening.set()
        await self._stop.wait()
        server.close()

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._listening.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)


class _Sunk(asyncio.Protocol):
    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if data.startswith(b"POST "):
            self._sink.heads.append(data.partition(b"\r\n\r\n")[0])
        if data.endswith(b"}"):
            body = b'{"choices": [{"message": {"content": "Hi."}}]}'
            head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
            self._transport.write(head.encode() + body)


def raw(port: int, data: bytes, *, until: bytes = b"") -> bytes:
    """What comes back for these bytes, up to `until` or the end of the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(data)
        return received(connection, until)


def received(connection: socket.socket, until: bytes = b"") -> bytes:
    """What comes next, up to `until` or the end of the connection."""
    got = b""
    while not (until and until in got):
        try:
            piece = connection.recv(65536)
        except ConnectionResetError:
            break
        if not piece:
            break
        got += piece
    return got


def lines_of(request: Request) -> list[str]:
    """The head of a request as it arrived."""
    return request.head.decode("latin-1").split("\r\n")
