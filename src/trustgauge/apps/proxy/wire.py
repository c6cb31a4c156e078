"""HTTP/1.1 as far as a pass-through must know it: heads, and where bodies end (RFC 9112).

Bytes are passed on as they came. What is read here says only who is asked, and where a message ends.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

END = b"\r\n\r\n"
LONGEST_HEAD = 65_536
"""Bytes of a head, and of a line between chunks."""

_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n\0]*?)[ \t]*")
_REQUEST = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([!-~]+) HTTP/1\.[01]")
_STATUS = re.compile(rb"HTTP/1\.[01] ([1-9][0-9][0-9])(?: [^\r\n]*)?")
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?")
TOKEN = "X-Trustgauge-Token"
"""A field for the proxy itself. It is never passed on."""

_HOST = re.compile(rb"\r\n(host:)[^\r\n]*", re.IGNORECASE)
_TOKEN = re.compile(rb"\r\n%b:[^\r\n]*" % TOKEN.encode(), re.IGNORECASE)
_NO_BODY = frozenset({204, 304})


class MalformedError(ValueError):
    """What came is no HTTP/1.1, or leaves open where a message ends."""


class BodyCopy:
    """A copy of a body, up to a limit; beyond it nothing is kept and `over` is set.

    It is one stretch of memory: a body that comes in pieces of a byte must not cost more than another.
    """

    def __init__(self, limit: int) -> None:
        self._data, self._limit = bytearray(), limit
        self.size, self.over, self._dropped = 0, False, False

    def __len__(self) -> int:
        return len(self._data)

    def add(self, piece: bytes) -> None:
        """Keep a piece."""
        self.size += len(piece)
        self.over = self.size > self._limit
        if self.over:
            self.drop()
        if not self._dropped:
            self._data += piece

    def drop(self) -> None:
        """Let go of all that was kept, and keep nothing more."""
        self._data, self._dropped = bytearray(), True

    def whole(self) -> bytes:
        """All pieces as one."""
        return bytes(self._data)


class SizedBody:
    """A body whose length is known; None is a body that ends with its connection."""

    def __init__(self, length: int | None) -> None:
        self._left = length
        self.length = length or 0
        self.until_close = length is None
        self.done = length == 0

    def take(self, data: bytes, at: int, kept: BodyCopy | None) -> int:
        """Follow the body through `data` from `at`. Returns where what belongs to it ends."""
        stop = len(data) if self._left is None else min(len(data), at + self._left)
        if kept is not None:
            kept.add(data[at:stop])
        if self._left is not None:
            self._left -= stop - at
            self.done = self._left == 0
        return stop


class ChunkedBody:
    """A body in chunks: lines with sizes between them, and perhaps trailers after the last."""

    until_close = False
    length = 0  # nobody has told it

    def __init__(self) -> None:
        self.done = False
        self._left = 0  # bytes of the chunk that are still to come
        self._line = b""  # the beginning of a line that is not whole yet
        self._next = self._on_size

    def take(self, data: bytes, at: int, kept: BodyCopy | None) -> int:
        """Follow the body through `data` from `at`. Returns where what belongs to it ends.

        Raises:
            MalformedError: these are no chunks.
        """
        while at < len(data) and not self.done:
            if self._left:
                stop = min(len(data), at + self._left)
                if kept is not None:
                    kept.add(data[at:stop])
                self._left -= stop - at
                at = stop
                continue
            stop = data.find(b"\n", at)
            if stop < 0:
                self._line += data[at:]
                if len(self._line) > LONGEST_HEAD:
                    raise MalformedError("a line between chunks does not end")
                return len(data)
            line, self._line = self._line + data[at:stop], b""
            self._next(line.removesuffix(b"\r"))
            at = stop + 1
        return at

    def _on_size(self, line: bytes) -> None:
        found = _SIZE.fullmatch(line)
        if found is None:
            raise MalformedError("a chunk has no size")
        self._left = int(found[1], 16)
        self._next = self._on_end if self._left else self._on_trailer

    def _on_end(self, line: bytes) -> None:
        if line:
            raise MalformedError("a chunk is longer than its size")
        self._next = self._on_size

    def _on_trailer(self, line: bytes) -> None:
        self.done = not line


Body = SizedBody | ChunkedBody


@dataclass(frozen=True, slots=True)
class RequestHead:
    """The head of a request, without the empty line after it.

    `fields` holds values by lower-case name, those of one name joined by ", ".
    """

    raw: bytes = field(repr=False)  # keys stand in it, and in the next two
    target: str = field(repr=False)
    fields: Mapping[str, str] = field(repr=False)
    method: str

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    def body(self) -> Body:
        """Where the body ends.

        Raises:
            MalformedError: it is told in two ways, or in none that is known.
        """
        length, coding = self.fields.get("content-length"), self.fields.get("transfer-encoding")
        if coding is not None:
            if length is not None or coding.lower() != "chunked":
                raise MalformedError("it is not clear where the body ends")
            return ChunkedBody()
        return SizedBody(_length(length) if length is not None else 0)

    def sent_to(self, host: str, target: str) -> bytes:
        """The head for another host and target, without a token for us, all else byte for byte as it came."""
        line_end = self.raw.find(b"\r\n")
        first, rest = self.raw[:line_end], self.raw[line_end:]
        start, stop = len(self.method) + 1, len(self.method) + 1 + len(self.target)
        first = first[:start] + target.encode("latin-1") + first[stop:]
        rest = _HOST.sub(lambda found: b"\r\n" + found[1] + b" " + host.encode(), rest, count=1)
        return first + _TOKEN.sub(b"", rest) + END


@dataclass(frozen=True, slots=True)
class ResponseHead:
    """The status of an answer, and its fields by lower-case name."""

    status: int
    fields: Mapping[str, str] = field(repr=False)

    def body(self, method: str) -> Body:
        """Where the body of an answer to `method` ends.

        Raises:
            MalformedError: its length is no number.
        """
        if method == "HEAD" or self.status in _NO_BODY or self.status < 200:
            return SizedBody(0)
        coding = self.fields.get("transfer-encoding")
        if coding is not None:
            return ChunkedBody() if coding.lower().split(",")[-1].strip() == "chunked" else SizedBody(None)
        length = self.fields.get("content-length")
        return SizedBody(None if length is None else _length(length))


def request_head(raw: bytes) -> RequestHead:
    r"""Read the head of a request.

    Raises:
        MalformedError: it is none, or names no host or several.

    >>> request_head(b"GET /v1/models?a=b HTTP/1.1\r\nHost: localhost:8001").path
    '/v1/models'
    """
    first, fields = _head(raw)
    found = _REQUEST.fullmatch(first)
    if found is None:
        raise MalformedError("the first line is none of a request")
    if len(_HOST.findall(raw)) != 1:
        raise MalformedError("a request names its host once")
    return RequestHead(raw, found[2].decode(), fields, found[1].decode())


def response_head(raw: bytes) -> ResponseHead:
    """Read the head of an answer.

    Raises:
        MalformedError: it is none.
    """
    first, fields = _head(raw)
    found = _STATUS.fullmatch(first)
    if found is None:
        raise MalformedError("the first line is none of an answer")
    return ResponseHead(int(found[1]), fields)


def _head(raw: bytes) -> tuple[bytes, dict[str, str]]:
    first, *lines = raw.split(b"\r\n")
    fields: dict[str, str] = {}
    for line in lines:
        found = _FIELD.fullmatch(line)
        if found is None:
            raise MalformedError("a line of the head is no field")
        name, value = found[1].decode().lower(), found[2].decode("latin-1")
        fields[name] = f"{fields[name]}, {value}" if name in fields else value
    return first, fields


def _length(value: str) -> int:
    # The same number twice is allowed, as one header that was sent twice (RFC 9112, 6.3).
    given = {one.strip() for one in value.split(",")}
    number = given.pop()
    if given or not (number.isascii() and number.isdigit()) or len(number) > 15:
        raise MalformedError("the length of the body is no number")
    return int(number)
