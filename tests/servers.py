"""A real HTTP server for tests: small, quick, scriptable and able to misbehave.

    with LocalServer(lambda request: Response.json({"output": request.json()["text"]})) as server:
        ...  # server.url, server.requests

It runs on asyncio in a thread of its own and keeps connections alive. An answer may also be an
awaitable. Faults are fields of `Response`: a delay, a cut connection, a drip, raw bytes.

As a process of its own (it logs each request as it arrives, for tests that kill the client):

    python -m tests.servers --mode translate --latency 0.02 --log requests.jsonl

The first line on standard output is its URL.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gzip
import inspect
import json
import os
import re
import ssl
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

REASONS = {200: "OK", 400: "Bad Request", 403: "Forbidden", 429: "Too Many Requests", 500: "Server Error"}


@dataclass
class Request:
    """One request as it came over the wire."""

    method: str
    target: str  # as sent; a whole URL when we are used as a proxy
    head: bytes
    body: bytes
    at: float = field(default_factory=time.monotonic)

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @cached_property
    def query(self) -> dict[str, list[str]]:
        return parse_qs(urlsplit(self.target).query, keep_blank_values=True)

    @cached_property
    def headers(self) -> dict[str, str]:
        """Header values by lower-case name."""
        lines = self.head.decode("latin-1").split("\r\n")[1:]
        pairs = (line.partition(":") for line in lines if line)
        return {name.strip().lower(): value.strip() for name, _, value in pairs}

    def text(self) -> str:
        return self.body.decode("utf-8")

    def json(self) -> Any:
        return json.loads(self.body)

    def form(self) -> dict[str, list[str]]:
        return parse_qs(self.text(), keep_blank_values=True)


@dataclass(frozen=True)
class Response:
    """What to send back, and how badly."""

    status: int = 200
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    delay: float = 0.0  # seconds before anything is sent
    cut_after: int | None = None  # send so many bytes of the body, then cut the connection
    drip: float = 0.0  # seconds between single bytes of the body (a slow loris)
    raw: bytes | None = None  # send exactly this instead of HTTP, then close
    hang: bool = False  # never answer

    @classmethod
    def json(cls, value: Any, status: int = 200, **more: Any) -> Response:
        body = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
        return cls(status, body, (("content-type", "application/json"),), **more)

    @classmethod
    def zipped(cls, body: bytes) -> Response:
        """`body` compressed: small on the wire, large when opened."""
        headers = (("content-type", "application/json"), ("content-encoding", "gzip"))
        return cls(200, gzip.compress(body, 9), headers)

    def encoded_head(self) -> bytes:
        lines = [f"HTTP/1.1 {self.status} {REASONS.get(self.status, 'Status')}"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        lines.append(f"content-length: {len(self.body)}\r\n\r\n")
        return "\r\n".join(lines).encode("latin-1")


Handler = Callable[[Request], Response | Awaitable[Response]]
LENGTH = re.compile(rb"\r\ncontent-length:\s*(\d+)", re.IGNORECASE)


class _Connection(asyncio.Protocol):
    """One connection: requests are answered in order, one at a time."""

    transport: asyncio.Transport

    def __init__(self, server: LocalServer) -> None:
        self.server = server
        self.buffer = bytearray()
        self.busy = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.server.connections.add(self)
        self.server.accepted += 1

    def connection_lost(self, exc: Exception | None) -> None:
        self.server.connections.discard(self)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        self.next()

    def next(self) -> None:
        """Take the next whole request out of the buffer, if there is one and none is under way."""
        if self.busy or self.transport.is_closing():
            return
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(self.buffer[:end])
        found = LENGTH.search(head)
        stop = end + 4 + (int(found[1]) if found else 0)
        if len(self.buffer) < stop:
            return
        body = bytes(self.buffer[end + 4 : stop])
        del self.buffer[:stop]
        method, target, _ = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
        self.busy = True
        self.server.receive(Request(method, target, head, body), self)

    def send(self, response: Response) -> None:
        if self.transport.is_closing() or response.hang:
            return
        if response.raw is not None:
            self.transport.write(response.raw)
            self.transport.close()
        elif response.cut_after is not None:
            self.transport.write(response.encoded_head() + response.body[: response.cut_after])
            self.transport.close()
        elif response.drip:
            self.transport.write(response.encoded_head())
            self.drip(response, 0)
        else:
            self.transport.write(response.encoded_head() + response.body)
            self.finish()

    def drip(self, response: Response, at: int) -> None:
        if self.transport.is_closing():
            return
        if at >= len(response.body):
            self.finish()
            return
        self.transport.write(response.body[at : at + 1])
        self.server.loop.call_later(response.drip, self.drip, response, at + 1)

    def finish(self) -> None:
        self.busy = False
        self.next()


class LocalServer:
    """A server on a free port of 127.0.0.1, in a thread of its own, as a context manager.

    Args:
        answer: from a request to a response, or to an awaitable of one. If it raises, the client
            gets a 500 and leaving the `with` block raises it again, so asserts in it count.
        latency: seconds every answer takes at least.
        tls: certificate and key, for https.
    """

    def __init__(
        self, answer: Handler, latency: float = 0.0, port: int = 0, tls: ssl.SSLContext | None = None
    ) -> None:
        self.answer = answer
        self.latency = latency
        self.port = port
        self.tls = tls
        self.requests: list[Request] = []
        self.failures: list[BaseException] = []
        self.connections: set[_Connection] = set()
        self.accepted = 0  # connections made so far
        self.under_way = 0
        self.most_under_way = 0
        self.loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="local-server", daemon=True)

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._started.wait(10), "the local server did not start"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(10)
        if self.failures and error is None:
            raise self.failures[0]

    def _serve(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            server = self.loop.run_until_complete(
                self.loop.create_server(
                    lambda: _Connection(self), "127.0.0.1", self.port, backlog=1024, ssl=self.tls
                )
            )
            self.port = server.sockets[0].getsockname()[1]
            self._started.set()
            self.loop.run_forever()
            server.close()
            for connection in list(self.connections):
                connection.transport.abort()
            for task in list(self._tasks):
                task.cancel()
            self.loop.run_until_complete(asyncio.gather(*self._tasks, return_exceptions=True))
            self.loop.run_until_complete(asyncio.sleep(0))
        finally:
            self.loop.close()

    def receive(self, request: Request, connection: _Connection) -> None:
        """Record a request and see that it is answered."""
        self.requests.append(request)
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            answer = self.answer(request)
        except BaseException as error:  # the test's own failure: kept, and raised at the end
            self.failures.append(error)
            answer = Response(500, b"the handler failed")
        if inspect.isawaitable(answer):
            task = self.loop.create_task(self._await(answer, connection))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        else:
            assert isinstance(answer, Response)
            self._later(answer, connection)

    async def _await(self, answer: Awaitable[Response], connection: _Connection) -> None:
        try:
            response = await answer
        except Exception as error:
            self.failures.append(error)
            response = Response(500, b"the handler failed")
        self._later(response, connection)

    def _later(self, response: Response, connection: _Connection) -> None:
        wait = max(self.latency, response.delay)
        if wait:
            self.loop.call_later(wait, self._send, response, connection)
        else:
            self._send(response, connection)

    def _send(self, response: Response, connection: _Connection) -> None:
        self.under_way -= 1
        connection.send(response)


def script(*responses: Response) -> Callable[[Request], Response]:
    """A handler that gives the responses one after the other, and the last one from then on."""
    waiting = list(responses)

    def answer(request: Request) -> Response:
        return waiting.pop(0) if len(waiting) > 1 else waiting[0]

    return answer


def echo(request: Request) -> Response:
    """`{"text": ...}` comes back as `{"output": ...}`."""
    return Response.json({"output": request.json()["text"]})


NEUTRAL = {"she": "he", "her": "his", "hers": "his", "herself": "himself"}
WORD = re.compile(r"\w+")


def toy_translation(text: str, source: str, target: str) -> str:
    """A made-up translator whose true behaviour is known, for whole runs without a real one.

    Letters of each word are reversed on the way out and back. Into Turkish (`tr`) and Hindi
    (`hi`) feminine pronouns become masculine ones first, as where a language has one pronoun;
    into other languages nothing is lost.
    """
    if source == target:
        return text

    def word(found: re.Match[str]) -> str:
        plain = found[0]
        if target in {"tr", "hi"} and plain.lower() in NEUTRAL:
            other = NEUTRAL[plain.lower()]
            plain = other.capitalize() if plain[0].isupper() else other
        return plain[::-1]

    return WORD.sub(word, text)


def translate(request: Request) -> Response:
    """`POST /translate` as LibreTranslate answers it, by `toy_translation`."""
    asked = request.json()
    source, target, text = asked["source"], asked["target"], asked["q"]
    if isinstance(text, list):
        return Response.json({"translatedText": [toy_translation(one, source, target) for one in text]})
    return Response.json({"translatedText": toy_translation(text, source, target)})


MODES = {"echo": echo, "translate": translate}


@contextlib.contextmanager
def logged(answer: Callable[[Request], Response], path: Path) -> Iterator[Callable[[Request], Response]]:
    """`answer`, and one JSON line a request in `path`, written before the request is answered."""
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def answer_and_log(request: Request) -> Response:
        line = {"at": time.time(), "method": request.method, "target": request.target, "body": request.text()}
        os.write(log, json.dumps(line).encode() + b"\n")
        return answer(request)

    try:
        yield answer_and_log
    finally:
        os.close(log)


def busy_every(answer: Callable[[Request], Response], every: int) -> Callable[[Request], Response]:
    """`answer`, but each `every`-th request is told to wait (0: never)."""
    seen = 0

    def sometimes(request: Request) -> Response:
        nonlocal seen
        seen += 1
        if every and seen % every == 0:
            return Response(429, b"{}", (("retry-after", "0"),))
        return answer(request)

    return sometimes


def main() -> None:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser(prog="python -m tests.servers")
    parser.add_argument("--mode", choices=sorted(MODES), default="echo")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds")
    parser.add_argument("--busy-every", type=int, default=0, help="answer 429 to each Nth request")
    parser.add_argument("--log", type=Path, default=Path(os.devnull), help="JSON lines, one a request")
    options = parser.parse_args()
    handler = busy_every(MODES[options.mode], options.busy_every)
    with (
        logged(handler, options.log) as answer,
        LocalServer(answer, options.latency, options.port) as server,
    ):
        print(server.url, flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()


if __name__ == "__main__":
    main()
