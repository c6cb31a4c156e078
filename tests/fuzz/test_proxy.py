"""Whatever a client sends the proxy, and whatever a service answers through it: it goes on serving."""

from __future__ import annotations

import json
import socket
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.apps.proxy.proxies import proxied, raw, received
from tests.fuzz.mutations import damaged, fuzzed
from tests.servers import LocalServer, Request, Response

BODY = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Who?"}]}).encode()
HEAD = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
WHOLE = f"{HEAD}Content-Length: {len(BODY)}\r\n\r\n".encode() + BODY
CHUNKED = f"{HEAD}Transfer-Encoding: chunked\r\n\r\n{len(BODY):x}\r\n".encode() + BODY + b"\r\n0\r\n\r\n"
ACCEPT = b"GET /trustgauge/rating HTTP/1.1\r\nHost: localhost\r\nAccept: text/html;q=0.5, */*\r\n\r\n"
SAID = json.dumps({"choices": [{"index": 0, "message": {"role": "assistant", "content": "Both."}}]}).encode()
ANSWERED = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(SAID) + SAID
)


def sent(port: int, data: bytes) -> bytes:
    """What comes back for these bytes when nothing follows them."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        return received(connection)


def test_any_bytes_of_a_client_are_answered_or_refused(tmp_path: Path) -> None:
    with (
        LocalServer(lambda request: Response(200, SAID, (("content-type", "application/json"),))) as server,
        proxied(f"{server.url}/v1", tmp_path / "proxy" / "transcript.jsonl") as proxy,
    ):

        @fuzzed
        @given(
            data=st.one_of(*(damaged(whole) for whole in (WHOLE, CHUNKED, ACCEPT)), st.binary(max_size=200))
        )
        def holds(data: bytes) -> None:
            back = sent(proxy.port, data)
            assert back == b"" or back.startswith(b"HTTP/1.1 ")

        holds()
        assert SAID in raw(proxy.port, WHOLE, until=SAID)


def test_any_bytes_of_a_service_are_passed_on_or_told(tmp_path: Path) -> None:
    now = [ANSWERED]

    def answer(request: Request) -> Response:
        return Response(raw=now[0])

    with (
        LocalServer(answer) as server,
        proxied(f"{server.url}/v1", tmp_path / "proxy" / "transcript.jsonl") as proxy,
    ):

        @fuzzed
        @given(data=damaged(ANSWERED))
        def holds(data: bytes) -> None:
            now[0] = data
            raw(proxy.port, WHOLE)  # it comes to an end

        holds()
        now[0] = ANSWERED
        assert SAID in raw(proxy.port, WHOLE, until=SAID)
