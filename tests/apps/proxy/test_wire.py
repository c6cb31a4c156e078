"""Where messages begin and end, however they are cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trustgauge.apps.proxy.exchange import secrets_of
from trustgauge.apps.proxy.wire import (
    BodyCopy,
    ChunkedBody,
    MalformedError,
    SizedBody,
    request_head,
    response_head,
)

PLAIN = b"POST /v1/chat/completions?a=b HTTP/1.1\r\nHost: localhost"
chunks = st.lists(st.binary(min_size=1, max_size=40), max_size=6)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    """`data` in pieces that begin at these places."""
    ends = sorted({place % (len(data) + 1) for place in places})
    return [data[start:stop] for start, stop in zip([0, *ends], [*ends, len(data)], strict=True)]


@given(chunks, st.lists(st.integers(0, 10_000), max_size=12), st.binary(max_size=10))
def test_chunks_are_followed_to_their_end(parts: list[bytes], places: list[int], rest: bytes) -> None:
    body = b"".join(b"%X;a=b\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\nx: y\r\n\r\n"
    follower, kept, over = ChunkedBody(), BodyCopy(1000), b""
    for piece in cut(body + rest, places):
        at = follower.take(piece, 0, kept)
        over += piece[at:]
    assert follower.done
    assert over == rest
    assert kept.whole() == b"".join(parts)


@given(st.binary(max_size=60), st.lists(st.integers(0, 100), max_size=5), st.binary(max_size=10))
def test_a_length_is_followed_to_its_end(body: bytes, places: list[int], rest: bytes) -> None:
    follower, kept, over = SizedBody(len(body)), BodyCopy(1000), b""
    for piece in cut(body + rest, places):
        at = follower.take(piece, 0, kept)
        over += piece[at:]
    assert follower.done
    assert (kept.whole(), over) == (body, rest)


@pytest.mark.parametrize(
    "body", [b"\r\n", b"-1\r\n", b"0x3\r\n", b"2\r\nabc\r\n", b"f" * 20 + b"\r\n", b"1" * 70_000]
)
def test_what_is_no_chunk(body: bytes) -> None:
    with pytest.raises(MalformedError):
        ChunkedBody().take(body, 0, None)


def test_too_much_is_not_kept() -> None:
    kept = BodyCopy(3)
    kept.add(b"ab")
    kept.add(b"cd")
    kept.add(b"e")
    assert (kept.over, kept.whole(), kept.size) == (True, b"", 5)


def test_only_host_and_target_change() -> None:
    raw = b"GET /v1/a?b HTTP/1.1\r\nX: /v1/a?b\r\nhOsT:  localhost:8001 \r\nY:\tz"
    sent = request_head(raw).sent_to("bot.example", "/x/a?b")
    assert sent == b"GET /x/a?b HTTP/1.1\r\nX: /v1/a?b\r\nhOsT: bot.example\r\nY:\tz\r\n\r\n"


@pytest.mark.parametrize(
    ("head", "length"),
    [
        (PLAIN, 0),
        (PLAIN + b"\r\nContent-Length: 5", 5),
        (PLAIN + b"\r\nContent-Length: 5\r\ncontent-length: 5", 5),
    ],
)
def test_the_body_of_a_request(head: bytes, length: int) -> None:
    body = request_head(head).body()
    assert body.done == (length == 0)
    assert body.take(b"1234567", 0, None) == length


@pytest.mark.parametrize(
    "more",
    [
        b"\r\nContent-Length: 5\r\nContent-Length: 6",
        b"\r\nContent-Length: +5",
        b"\r\nContent-Length: ",
        "\r\nContent-Length: ٣".encode(),
        b"\r\nContent-Length: 5\r\nTransfer-Encoding: chunked",
        b"\r\nTransfer-Encoding: chunked, chunked",
        b"\r\nTransfer-Encoding: identity",
        b"\r\nTransfer-Encoding : chunked",
        b"\r\n no field",
        b"\r\nhost: again",
        b"\r\nX: a\x00b",
        b"\r\nX: a\nHost: b",
    ],
)
def test_requests_that_two_servers_could_read_in_two_ways(more: bytes) -> None:
    with pytest.raises(MalformedError):
        request_head(PLAIN + more).body()


@pytest.mark.parametrize("first", [b"GET /a b HTTP/1.1", b"GET /a HTTP/2", b"GET", b"", b"HTTP/1.1 200 OK"])
def test_first_lines_of_no_request(first: bytes) -> None:
    with pytest.raises(MalformedError):
        request_head(first + b"\r\nHost: localhost")


@pytest.mark.parametrize(
    ("head", "method", "taken"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3", "GET", 3),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3", "HEAD", 0),
        (b"HTTP/1.1 204", "GET", 0),
        (b"HTTP/1.1 304 Not\r\nContent-Length: 3", "GET", 0),
        (b"HTTP/1.0 200 OK", "GET", 6),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip", "GET", 6),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked", "GET", 5),
    ],
)
def test_the_body_of_an_answer(head: bytes, method: str, taken: int) -> None:
    body = response_head(head).body(method)
    data = b"0\r\n\r\nx" if isinstance(body, ChunkedBody) else b"123456"
    assert (0 if body.done else body.take(data, 0, None)) == taken


def test_secrets_of_a_head() -> None:
    head = request_head(
        b"POST /v1/chat/completions?key=AIza-in-query&alt=sse HTTP/1.1\r\nHost: localhost\r\n"
        b"Authorization: Bearer sk-in-header\r\nApi-Key: azure-key\r\nCookie: a=session-1; b=c\r\n"
        b"Accept: text/html"
    )
    found = secrets_of(head)
    assert {"AIza-in-query", "sk-in-header", "Bearer sk-in-header", "azure-key", "session-1"} <= set(found)
    assert not {"text/html", "sse", "c", "Bearer"} & set(found)
    assert "sk-in-header" not in repr(head)
