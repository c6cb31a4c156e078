"""A server that misbehaves on the wire in every way we know of, one way for each path.

    with HostileServer() as server:
        server.url("/reset-in-the-body")

Each connection has a thread and is answered once: what a way writes may be no HTTP at all. `asked`
counts the requests of each path, `headers` keeps the heads of those that came in, and `sent` tells
how many bytes of endless bodies went out before the client hung up.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import socket
import struct
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import import_module
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

HUGE = 100_000_000
"""Bytes of the largest body, and of what the bombs unpack to."""
PATIENCE = 20.0
"""Seconds for which a way goes on that waits for the client to give up."""

JSON = "content-type: application/json"
GOOD = b'{"translatedText": "fine"}'


class Peer:
    """One connection as a way of misbehaving sees it: bytes out, and how it ends."""

    def __init__(self, server: HostileServer, sock: socket.socket, path: str, head: bytes) -> None:
        self.server, self.sock, self.path, self.head = server, sock, path, head

    def write(self, data: bytes) -> None:
        self.sock.sendall(data)

    def answer(self, body: bytes, *lines: str, status: str = "200 OK", length: int | None = None) -> None:
        """A whole answer, with a length that may be a lie."""
        head = [f"HTTP/1.1 {status}", *lines, f"content-length: {len(body) if length is None else length}"]
        self.write("\r\n".join([*head, "connection: close", "", ""]).encode("latin-1") + body)

    def reset(self) -> None:
        """End with a TCP reset, not with an orderly close."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def pour(self, piece: bytes, total: int) -> None:
        """Write `total` bytes, and note how many went out."""
        sent = 0
        try:
            while sent < total and not self.server.closing.is_set():
                self.write(piece)
                sent += len(piece)
        finally:
            with self.server.guard:
                self.server.sent[self.path] = max(self.server.sent.get(self.path, 0), sent)


Way = Callable[[Peer], None]


def _reset_at_once(peer: Peer) -> None:
    peer.reset()


def _reset_in_the_body(peer: Peer) -> None:
    peer.answer(GOOD[:5], JSON, length=len(GOOD))
    time.sleep(0.02)  # else the reset can overtake the bytes before it
    peer.reset()


def _slow_body(peer: Peer) -> None:
    """A byte a second, past any time limit."""
    peer.write(f"HTTP/1.1 200 OK\r\n{JSON}\r\ncontent-length: {len(GOOD)}\r\n\r\n".encode())
    _drip(peer, GOOD)


def _slow_head(peer: Peer) -> None:
    _drip(peer, b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")


def _drip(peer: Peer, data: bytes) -> None:
    end = time.monotonic() + PATIENCE
    for at in range(len(data)):
        peer.write(data[at : at + 1])
        if peer.server.closing.wait(1.0) or time.monotonic() > end:
            return


def _silence(peer: Peer) -> None:
    peer.server.closing.wait(PATIENCE)


def _huge(peer: Peer) -> None:
    peer.write(f"HTTP/1.1 200 OK\r\n{JSON}\r\ncontent-length: {HUGE}\r\n\r\n".encode())
    peer.pour(b"x" * 65_536, HUGE)


def _endless_chunks(peer: Peer) -> None:
    peer.write(f"HTTP/1.1 200 OK\r\n{JSON}\r\ntransfer-encoding: chunked\r\n\r\n".encode())
    peer.pour(b"10000\r\n" + b"y" * 65_536 + b"\r\n", HUGE)


def _header_bomb(peer: Peer) -> None:
    peer.write(b"HTTP/1.1 200 OK\r\n")
    peer.pour(b"x-filler: " + b"z" * 8_000 + b"\r\n", HUGE)


def _many_headers(peer: Peer) -> None:
    peer.answer(GOOD, JSON, *(f"x-{number}: 1" for number in range(5_000)))


def _hints_without_end(peer: Peer) -> None:
    """Informational answers, one after the other, and never the real one."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and not peer.server.closing.is_set():
        peer.write(b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n" * 100)


@lru_cache(maxsize=3)
def bomb(packing: str) -> bytes:
    """`HUGE` spaces packed to a hundred kilobytes or less; by gzip where there is no Brotli."""
    if packing == "deflate":
        return zlib.compress(b" " * HUGE, 9)
    if packing == "br":
        with contextlib.suppress(ImportError):
            brotli: Any = import_module("brotli")
            return bytes(brotli.compress(b" " * HUGE, quality=5))
    return gzip.compress(b" " * HUGE)


def _bomb(packing: str) -> Way:
    return lambda peer: peer.answer(bomb(packing), JSON, f"content-encoding: {packing}")


def said(body: bytes, *lines: str, status: str = "200 OK", length: int | None = None) -> Way:
    """A way that answers so."""
    return lambda peer: peer.answer(body, *lines, status=status, length=length)


def raw(data: bytes) -> Way:
    """A way that writes so, and closes."""
    return lambda peer: peer.write(data)


def told(text: Any) -> bytes:
    """An answer of a translator with such a text."""
    return json.dumps({"translatedText": text}).encode()


DEEP = 10_000

UNREACHED: Mapping[str, Way] = {
    "/reset-at-once": _reset_at_once,
    "/reset-in-the-body": _reset_in_the_body,
    "/closed-at-once": raw(b""),
    "/closed-in-the-head": raw(b"HTTP/1.1 200 OK\r\ncontent-le"),
    "/truncated": said(GOOD[:9], JSON, length=len(GOOD)),
    "/truncated-chunks": raw(b'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nff\r\n{"tr'),
    "/bad-chunks": raw(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n"),
    "/slow-body": _slow_body,
    "/slow-head": _slow_head,
    "/silence": _silence,
    "/hints-without-end": _hints_without_end,
    "/500": said(b"oops", status="500 Oops"),
    "/503-forever": said(b"", "retry-after: 99999999999", status="503 Away"),
    "/429-for-a-century": said(b"", "retry-after: Fri, 31 Dec 9999 23:59:59 GMT", status="429 Slow"),
    "/600": said(GOOD, JSON, status="600 What"),
}
"""Ways after which nothing usable came: the service counts as unreachable or down."""

REJECTED: Mapping[str, Way] = {
    "/301": said(b"", "location: http://127.0.0.1:9/elsewhere", status="301 Moved"),
    "/304": said(b"", status="304 Not Modified"),
    "/307": said(b"", "location: /fine", status="307 Moved"),
    "/400": said(b"{}", JSON, status="400 Bad"),
    "/404": said(b"<html>", status="404 No"),
    "/418": said(b"short and stout", status="418 I'm a teapot"),
    "/451": said(b"", status="451 Law"),
    "/499": said(b"", status="499 Gone"),
}
"""Ways that decline each message: it is not sent again."""

GARBLED: Mapping[str, Way] = {
    "/http-0.9": raw(b'{"translatedText": "fine"}\n'),
    "/http-9.9": raw(b"HTTP/9.9 200 OK\r\ncontent-length: 2\r\n\r\n{}"),
    "/status-99999": raw(b"HTTP/1.1 99999 OK\r\ncontent-length: 2\r\n\r\n{}"),
    "/two-lengths": raw(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 26\r\n\r\n" + GOOD),
    "/nul-in-header": raw(b"HTTP/1.1 200 OK\r\nx\x00y: z\r\ncontent-length: 2\r\n\r\n{}"),
    "/huge": _huge,
    "/endless-chunks": _endless_chunks,
    "/header-bomb": _header_bomb,
    "/many-headers": _many_headers,
    "/broken-gzip": said(b"\x1f\x8b\x08nonsense", JSON, "content-encoding: gzip"),
    "/gzip-bomb": _bomb("gzip"),
    "/brotli-bomb": _bomb("br"),
    "/deflate-bomb": _bomb("deflate"),
    "/latin-1-as-utf-8": said('{"translatedText": "café"}'.encode("latin-1"), f"{JSON}; charset=utf-8"),
    "/utf-16-as-utf-8": said('{"translatedText": "é"}'.encode("utf-16"), f"{JSON}; charset=utf-8"),
    "/unknown-charset": said(GOOD, "content-type: text/plain; charset=punycode"),
    "/html": said(b"<html><script>alert(1)</script>", "content-type: text/html"),
    "/image": said(b"\x89PNG\r\n\x1a\n" + bytes(100), "content-type: image/png"),
    "/empty": said(b"", JSON),
    "/nothing-but-204": said(b"", status="204 No Content"),
    "/deep-lists": said(b"[" * DEEP + b"]" * DEEP, JSON),
    "/deep-objects": said(b'{"translatedText":' * DEEP + b"1" + b"}" * DEEP, JSON),
    "/half-json": said(GOOD[:-2], JSON),
    "/two-jsons": said(GOOD + GOOD, JSON),
    "/endless-number": said(b'{"translatedText": ' + b"1" * 100_000 + b"}", JSON),
    "/nan": said(b'{"translatedText": NaN}', JSON),
    "/null": said(b'{"translatedText": null}', JSON),
    "/a-list": said(told(["a", "b"]), JSON),
    "/another-key": said(b'{"error": "overloaded"}', JSON),
    "/a-text": said(b'"fine"', JSON),
}
"""Ways whose answers cannot be read."""

ODD: Mapping[str, Way] = {
    "/fine": said(GOOD, JSON),
    "/duplicated-keys": said(b'{"translatedText": "first", "translatedText": "He is a second."}', JSON),
    "/lone-surrogate": said(b'{"translatedText": "half \\ud83d and \\udc00"}', JSON),
    "/nul-bytes": said(told("He\0 is\0 a \0nurse."), JSON),
    "/control-characters": said(told("\x1b[2J\x1b]0;owned\x07 He is a nurse.\r\n\x08\x08"), JSON),
    "/markup": said(told("</script><img src=x onerror=alert(1)>{{7*7}}"), JSON),
    "/a-megabyte": said(told("He is a nurse. " * 70_000), JSON),
    "/wrong-type": said(told("She is a nurse."), "content-type: image/png"),
    "/a-hint-first": raw(
        b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nconnection: close\r\n"
        b"content-length: 26\r\n\r\n" + GOOD
    ),
    "/no-length": raw(b"HTTP/1.1 200 OK\r\n\r\n" + GOOD),
    "/http-1.0": raw(b"HTTP/1.0 200 OK\r\n\r\n" + GOOD),
    "/utf-16": said('{"translatedText": "He is é."}'.encode("utf-16"), f"{JSON}; charset=utf-16"),
}
"""Ways whose answers are odd and can be read all the same."""

WAYS: Mapping[str, Way] = {**UNREACHED, **REJECTED, **GARBLED, **ODD}


class HostileServer:
    """Serves `WAYS` on a free port of 127.0.0.1; a context manager.

    Args:
        ways: path -> what to do with a request of that path; any other path is answered 404.
    """

    def __init__(self, ways: Mapping[str, Way] = WAYS) -> None:
        self.ways = ways
        self.asked: Counter[str] = Counter()
        self.heads: dict[str, bytes] = {}
        self.sent: dict[str, int] = {}
        self.guard = threading.Lock()
        self.closing = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=512)
        self._thread = threading.Thread(target=self._accept, name="hostile-server", daemon=True)

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}{path}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.set()
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(5)

    def _accept(self) -> None:
        while not self.closing.is_set():
            try:
                sock, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        try:
            with sock:
                sock.settimeout(PATIENCE)
                path, head = self._request(sock)
                if not path:
                    return
                with self.guard:
                    self.asked[path] += 1
                    self.heads[path] = head
                peer = Peer(self, sock, path, head)
                self.ways.get(path, said(b"", status="404 Not Found"))(peer)
                self._close(sock)
        except OSError:
            pass  # the client hung up, as it should

    def _request(self, sock: socket.socket) -> tuple[str, bytes]:
        """Path and head of a request whose body has been read."""
        data = b""
        while b"\r\n\r\n" not in data:
            piece = sock.recv(65_536)
            if not piece:
                return "", b""
            data += piece
        head, _, body = data.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        found = [line.partition(":")[2] for line in lines if line.lower().startswith("content-length:")]
        left = int(found[0] if found else 0) - len(body)
        while left > 0 and (piece := sock.recv(65_536)):
            left -= len(piece)
        return urlsplit(lines[0].split(" ")[1]).path, head

    def _close(self, sock: socket.socket) -> None:
        """Close so that what was written arrives: a reset could overtake it."""
        if sock.fileno() < 0:
            return
        sock.shutdown(socket.SHUT_WR)
        sock.settimeout(1.0)
        while sock.recv(65_536):
            pass
