"""HTTP/1.1 as far as a pass-through must know it: heads, and where bodies end (RFC 9112), as h11 reads them.

Bodies are passed on as they came. What is read here says only who is asked, and where a message ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import h11

END = b"\r\n\r\n"
LONGEST_HEAD = 65_536
"""Bytes of a head, and of a line between chunks."""
TOKEN = "X-Trustgauge-Token"
"""A field for the proxy itself. It is never passed on."""

_LOOSE_LINE = re.compile(rb"(?<!\r)\n|\r\n[ \t]")
"""Lines that end without a carriage return, or go on in the next: h11 takes them, but servers disagree."""


class MalformedError(ValueError):
    """What came is no HTTP/1.1, or leaves open where a message ends. It never quotes the message."""


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


class Body:
    """The body of a request, followed through what comes of it.

    Attributes:
        length: bytes that its head announces; 0 if it announces none, as with chunks.
        done: whether all of it came.
    """

    def __init__(self, reading: h11.Connection, length: int) -> None:
        self._reading = reading
        self.length, self.done = length, False
        self._drain(None)

    def take(self, data: bytes, kept: BodyCopy | None) -> int:
        """Follow the body through `data`. Returns where what belongs to it ends.

        Raises:
            MalformedError: these are no chunks.
        """
        if data and not self.done:
            self._reading.receive_data(data)
            self._drain(kept)
            return len(data) - len(self._reading.trailing_data[0]) if self.done else len(data)
        return 0

    def _drain(self, kept: BodyCopy | None) -> None:
        for event in _events(self._reading, "its body does not end as its head says"):
            if isinstance(event, h11.Data) and kept is not None:
                kept.add(bytes(event.data))
            self.done = isinstance(event, h11.EndOfMessage)


@dataclass(frozen=True)
class RequestHead:
    """The head of a request.

    `fields` holds values by lower-case name, those of one name joined by ", ".
    """

    event: h11.Request = field(repr=False)  # keys stand in it, and in the fields
    fields: Mapping[str, str] = field(repr=False)
    body: Body = field(repr=False)

    @cached_property
    def method(self) -> str:
        """GET, POST and so on."""
        return self.event.method.decode("ascii")

    @cached_property
    def target(self) -> str:
        """Path and query, as they were sent."""
        return self.event.target.decode("latin-1")

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    def sent_to(self, host: str, target: str) -> bytes:
        """The head for another host and target, without a token for us; all other fields as they came."""
        version = self.event.http_version
        lines = [b"%b %b HTTP/%b" % (self.event.method, target.encode("latin-1"), version)]
        for name, value in self.event.headers.raw_items():
            if name.lower() != TOKEN.lower().encode():
                lines.append(name + b": " + (host.encode() if name.lower() == b"host" else value))
        return b"\r\n".join(lines) + END


@dataclass(frozen=True, slots=True)
class ResponseHead:
    """The status of an answer, and its fields by lower-case name."""

    status: int
    fields: Mapping[str, str] = field(repr=False)


class ResponseReader:
    """Follows the answer to one request.

    Attributes:
        begun: whether anything of it came.
        done: whether all of it came.
        switched: whether both sides changed to another protocol.
        rest: bytes that came after it.
    """

    def __init__(self, request: RequestHead) -> None:
        self.begun, self.done, self.switched = False, False, False
        self._reading = h11.Connection(h11.CLIENT, LONGEST_HEAD)
        # Only the method, and what it offers to change to, say how an answer is read.
        fields = [(b"host", b"-")]
        fields += [one for one in request.event.headers if one[0] in (b"upgrade", b"connection")]
        self._reading.send(h11.Request(method=request.method, target="/", headers=fields))

    @property
    def rest(self) -> bytes:
        return self._reading.trailing_data[0]

    def take(self, data: bytes, kept: BodyCopy | None) -> ResponseHead | None:
        """Follow the answer through `data`. Returns its head when that is whole.

        Raises:
            MalformedError: this is no answer that can be followed.
        """
        self.begun = True
        self._reading.receive_data(data)
        head = None
        for event in _events(self._reading, "this is no answer"):
            if isinstance(event, h11.Response):
                head = ResponseHead(event.status_code, _fields(event))
            elif isinstance(event, h11.InformationalResponse):
                self.switched = event.status_code == 101
            elif isinstance(event, h11.Data) and kept is not None:
                kept.add(bytes(event.data))
            self.done = isinstance(event, h11.EndOfMessage)
        return head

    def ends_by_closing(self) -> bool:
        """Whether the answer is whole when the connection closes now."""
        if not self.begun or self.done:
            return self.done
        self._reading.receive_data(b"")
        try:
            return any(isinstance(one, h11.EndOfMessage) for one in _events(self._reading, "cut off"))
        except MalformedError:
            return False


def request_head(raw: bytes) -> RequestHead:
    r"""Read the head of a request, without the empty line after it.

    Raises:
        MalformedError: it is none, names no host or several, or says in two ways where its body ends.

    >>> request_head(b"GET /v1/models?a=b HTTP/1.1\r\nHost: localhost:8001").path
    '/v1/models'
    """
    if _LOOSE_LINE.search(raw):
        raise MalformedError("a line of the head is no field")
    reading = h11.Connection(h11.SERVER, LONGEST_HEAD + len(END))
    reading.receive_data(raw + END)
    event = next(_events(reading, "its head is not that of a request"), None)
    if not isinstance(event, h11.Request):
        raise MalformedError("its head is not that of a request")
    fields = _fields(event)
    if "host" not in fields:
        raise MalformedError("a request names its host once")
    if "content-length" in fields and "transfer-encoding" in fields:
        raise MalformedError("it is not clear where the body ends")
    return RequestHead(event, fields, Body(reading, int(fields.get("content-length", 0))))


def _events(reading: h11.Connection, fault: str) -> Iterator[h11.Event]:
    """What has come whole, up to the end of the message.

    Raises:
        MalformedError: with `fault`; what h11 says would quote the message, and keys in it.
    """
    while True:
        try:
            event = reading.next_event()
        except h11.RemoteProtocolError:
            raise MalformedError(fault) from None
        if event is h11.NEED_DATA or event is h11.PAUSED or isinstance(event, h11.ConnectionClosed):
            return
        assert not isinstance(event, type)
        yield event
        if isinstance(event, h11.EndOfMessage):
            return


def _fields(event: h11.Request | h11.Response) -> dict[str, str]:
    fields: dict[str, str] = {}
    for raw_name, raw_value in event.headers:
        name, value = raw_name.decode("ascii"), raw_value.decode("latin-1")
        fields[name] = f"{fields[name]}, {value}" if name in fields else value
    return fields
