"""Where messages begin and end, however they are cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trustgauge.apps.proxy.exchange import secrets_of
from trustgauge.apps.proxy.wire import (
    END,
    BodyCopy,
    MalformedError,
    ResponseReader,
    request_head,
)

PLAIN = b"POST /v1/chat/completions?a=b HTTP/1.1\r\nHost: localhost"
CHUNKED = PLAIN + b"\r\nTransfer-Encoding: chunked"
chunks = st.lists(st.binary(min_size=1, max_size=40), max_size=6)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    """`data` in pieces that begin at these places."""
    ends = sorted({place % (len(data) + 1) for place in places})
    return [data[start:stop] for start, stop in zip([0, *ends], [*ends, len(data)], strict=True)]


def followed(head: bytes, body: bytes, places: list[int], kept: BodyCopy) -> tuple[bool, bytes]:
    """Whether the body of a request came to its end, and what came after that."""
    follower, over = request_head(head).body, b""
    for piece in cut(body, places):
        over += piece[follower.take(piece, kept) :]
    return follower.done, over


@given(chunks, st.lists(st.integers(0, 10_000), max_size=12), st.binary(max_size=10))
def test_chunks_are_followed_to_their_end(parts: list[bytes], places: list[int], rest: bytes) -> None:
    body = b"".join(b"%X;a=b\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\nx: y\r\n\r\n"
    kept = BodyCopy(1000)
    assert followed(CHUNKED, body + rest, places, kept) == (True, rest)
    assert kept.whole() == b"".join(parts)


@given(st.binary(max_size=60), st.lists(st.integers(0, 100), max_size=5), st.binary(max_size=10))
def test_a_length_is_followed_to_its_end(body: bytes, places: list[int], rest: bytes) -> None:
    kept = BodyCopy(1000)
    head = PLAIN + b"\r\nContent-Length: %d" % len(body)
    assert followed(head, body + rest, places, kept) == (True, rest)
    assert kept.whole() == body


@pytest.mark.parametrize(
    "body", [b"\r\n", b"-1\r\n", b"0x3\r\n", b"2\r\nabc\r\n", b"f" * 30 + b"\r\n", b"1" * 70_000]
)
def test_what_is_no_chunk(body: bytes) -> None:
    with pytest.raises(MalformedError):
        request_head(CHUNKED).body.take(body, None)


def test_too_much_is_not_kept() -> None:
    kept = BodyCopy(3)
    kept.add(b"ab")
    kept.add(b"cd")
    kept.add(b"e")
    assert (kept.over, kept.whole(), kept.size) == (True, b"", 5)


def test_only_host_and_target_change() -> None:
    raw = b"GET /v1/a?b HTTP/1.1\r\nX: /v1/a?b\r\nhOsT:  localhost:8001 \r\nY:\tz"
    sent = request_head(raw).sent_to("bot.example", "/x/a?b")
    assert sent == b"GET /x/a?b HTTP/1.1\r\nX: /v1/a?b\r\nhOsT: bot.example\r\nY: z\r\n\r\n"


@pytest.mark.parametrize(
    ("head", "length"),
    [
        (PLAIN, 0),
        (PLAIN + b"\r\nContent-Length: 5", 5),
        (PLAIN + b"\r\nContent-Length: 5\r\ncontent-length: 5", 5),
    ],
)
def test_the_body_of_a_request(head: bytes, length: int) -> None:
    body = request_head(head).body
    assert body.done == (length == 0)
    assert body.take(b"1234567", None) == length


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
        request_head(PLAIN + more)


@pytest.mark.parametrize("first", [b"GET /a b HTTP/1.1", b"GET /a HTTP/2", b"GET", b"", b"HTTP/1.1 200 OK"])
def test_first_lines_of_no_request(first: bytes) -> None:
    with pytest.raises(MalformedError):
        request_head(first + b"\r\nHost: localhost")


def answered(method: bytes = b"GET", more: bytes = b"") -> ResponseReader:
    return ResponseReader(request_head(method + PLAIN.removeprefix(b"POST") + more))


@pytest.mark.parametrize(
    ("head", "method", "taken"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3", b"GET", 3),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3", b"HEAD", 0),
        (b"HTTP/1.1 204", b"GET", 0),
        (b"HTTP/1.1 304 Not\r\nContent-Length: 3", b"GET", 0),
        (b"HTTP/1.1 103 Early\r\nX: y\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3", b"POST", 3),
    ],
)
def test_the_body_of_an_answer(head: bytes, method: bytes, taken: int) -> None:
    answer, kept = answered(method), BodyCopy(10)
    assert not answer.begun
    seen = answer.take(head + END + b"123456"[:taken], kept)
    assert seen is not None
    assert (answer.begun, answer.done, answer.ends_by_closing()) == (True, True, True)
    assert (seen.status, kept.whole(), answer.rest) == (
        int(head[-100:].split(b"HTTP/1.1 ")[-1][:3]),
        b"123"[:taken],
        b"",
    )


def test_what_comes_after_an_answer_is_not_of_it() -> None:
    answer, kept = answered(), BodyCopy(10)
    answer.take(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n123456", kept)
    assert (answer.done, kept.whole(), answer.rest) == (True, b"123", b"456")


def test_an_answer_that_ends_with_its_connection() -> None:
    answer, kept = answered(), BodyCopy(10)
    answer.take(b"HTTP/1.0 200 OK\r\n\r\n123", kept)
    answer.take(b"456", kept)
    assert (answer.done, kept.whole(), answer.ends_by_closing()) == (False, b"123456", True)


@pytest.mark.parametrize(
    "begun", [b"HTTP/1.1 200 OK\r\nContent-Le", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n1"]
)
def test_an_answer_that_is_cut_off(begun: bytes) -> None:
    answer = answered()
    answer.take(begun, None)
    assert not answer.ends_by_closing()
    assert not answered().ends_by_closing()


@pytest.mark.parametrize("packing", [b"gzip", b"gzip, chunked"])
def test_an_answer_whose_end_nobody_knows_is_not_followed(packing: bytes) -> None:
    with pytest.raises(MalformedError):
        answered().take(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: " + packing + END, None)


def test_both_sides_change_to_another_protocol() -> None:
    answer = answered(more=b"\r\nConnection: Upgrade\r\nUpgrade: websocket")
    answer.take(b"HTTP/1.1 101 Yes\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n\x81\x01", None)
    assert (answer.switched, answer.done) == (True, False)


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
