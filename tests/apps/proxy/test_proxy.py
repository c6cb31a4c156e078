"""What passes is not changed, not held up, and heard."""

from __future__ import annotations

import gzip
import http.client
import json
import socket
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openai
import pytest

from tests.apps.proxy.proxies import lines_of, proxied, raw, received
from tests.servers import LocalServer, Request, Response
from tests.services.protocols import chats
from trustgauge.apps.proxy.listener import ListenerConfig
from trustgauge.errors import StoreError
from trustgauge.run.transcript import lines

Serve = Callable[..., LocalServer]
HELLO: list[Any] = [{"role": "user", "content": "hello"}]
HEAD = b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\n"


def bot(request: Request) -> Response:
    """OpenAI's protocol, strict about what it is sent."""
    return chats.openai(request, path="/v1/chat/completions")


def client(url: str, **more: Any) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{url}/v1", api_key=chats.KEY, max_retries=0, timeout=10, **more)


def utterances(path: Path) -> list[tuple[str, int, str, str]]:
    """Dialog, turn, speaker and text of a transcript; dialogs by the number in their name."""
    rows = list(lines(path))
    return [(row["dialog"].split("-")[-1], row["turn"], row["speaker"], row["text"]) for row in rows]


def post(body: Any, path: str = "/v1/chat/completions", more: str = "") -> bytes:
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost:8001\r\nContent-Length: {len(data)}\r\n{more}\r\n"
    return head.encode() + data


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    return tmp_path / "proxy" / "transcript.jsonl"


def test_a_real_client_talks_through_it(serve: Serve, transcript: Path) -> None:
    server = serve(bot)
    with (
        proxied(f"{server.url}/v1", transcript) as proxy,
        client(server.url) as direct,
        client(proxy.url) as through,
    ):
        first = through.chat.completions.create(model="m", messages=HELLO, user="ann")
        same = direct.chat.completions.create(model="m", messages=HELLO, user="ann")
        assert first == same
        said = first.choices[0].message.content
        assert said == f"1 turns, last: hello{chats.WIDE}end"
        more = [*HELLO, {"role": "assistant", "content": said}, {"role": "user", "content": "and now?"}]
        stream = through.chat.completions.create(model="m", messages=more, user="ann", stream=True)
        pieces = [event.choices[0].delta.content or "" for event in stream]
    assert len(pieces) > 3
    again = "".join(pieces)
    assert utterances(transcript) == [
        ("1", 0, "user", "hello"),
        ("1", 0, "bot", said),
        ("1", 1, "user", "and now?"),
        ("1", 1, "bot", again),
    ]
    rows = list(lines(transcript))
    assert rows[1]["status"] == "answered"
    assert 0 < rows[1]["millis"] < 5000
    assert len({row["user"] for row in rows}) == 1
    assert "ann" not in {row["user"] for row in rows}
    assert proxy.served.counts.read == 2


def test_a_request_arrives_as_it_was_sent(serve: Serve, transcript: Path) -> None:
    server = serve(bot)
    with proxied(f"{server.url}/v1", transcript) as proxy:
        for url in (server.url, proxy.url):
            with client(url, default_headers={"X-Odd": "two  words"}) as one:
                one.chat.completions.create(model="m", messages=HELLO)
    direct, passed = server.requests
    assert passed.body == direct.body
    assert lines_of(passed) == lines_of(direct)
    assert passed.headers["authorization"] == f"Bearer {chats.KEY}"


@pytest.mark.parametrize(
    "back",
    [
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nX-One: a\r\nx-one: b\r\n\r\n{}",
        b"HTTP/1.1 429 Slow Down\r\nRetry-After: 3\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\n{} \r\n0\r\nTrailer: t\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n1",
        b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nuntil the end",
        b"HTTP/1.1 304 Not Modified\r\ncontent-length: 500\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\ncut",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nno chunk",
        b"HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\nbytes",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}and more than was asked for",
        b"\x00\xffno HTTP at all\r\n\r\n",
        b"",
    ],
)
def test_an_answer_arrives_byte_for_byte(serve: Serve, transcript: Path, back: bytes) -> None:
    server = serve(lambda request: Response(raw=back))
    with proxied(f"{server.url}/v1", transcript) as proxy:
        asked = post({"model": "m", "messages": HELLO})
        assert raw(proxy.port, asked) == raw(server.port, asked) == back


def test_other_paths_pass_untouched(serve: Serve, transcript: Path) -> None:
    server = serve(lambda request: Response.json({"path": request.target, "sent": request.text()}))
    with proxied(f"{server.url}/openai/v1", transcript) as proxy:
        for target, asked in {
            "/v1/models?limit=2": "/openai/v1/models?limit=2",
            "/v1": "/openai/v1",
            "/v10/x": "/v10/x",
            "/health": "/health",
            "/openai/v1/embeddings": "/openai/v1/embeddings",
        }.items():
            with urllib.request.urlopen(proxy.url + target, timeout=10) as answer:
                assert json.load(answer)["path"] == asked
        data = raw(proxy.port, post(["kept"], "/v1/embeddings", "Connection: close\r\n"), until=b"kept")
        assert data.startswith(b"HTTP/1.1 200 OK")
    assert utterances(transcript) == []
    assert proxy.served.counts.read == 0
    assert not proxy.served.counts.missed


def test_events_pass_as_they_come(serve: Serve, transcript: Path) -> None:
    event = 'data: {"choices": [{"index": 0, "delta": {"content": "hi"}}]}\n\n'
    body = (event + "data: [DONE]\n\n").encode()
    slow = Response(body=body, headers=chats.EVENTS, drip=0.01)
    server = serve(lambda request: slow)
    with proxied(f"{server.url}/v1", transcript) as proxy, client(proxy.url) as one:
        began = time.monotonic()
        stream = one.chat.completions.create(model="m", messages=HELLO, stream=True)
        assert next(iter(stream)).choices[0].delta.content == "hi"
        first = time.monotonic() - began
        assert list(stream) == []
        last = time.monotonic() - began
    assert last - first > 0.01 * len("data: [DONE]")
    assert utterances(transcript)[1] == ("1", 0, "bot", "hi")


def test_who_leaves_is_missed_by_the_service(serve: Serve, transcript: Path) -> None:
    server = serve(lambda request: Response(hang=True))
    with proxied(f"{server.url}/v1", transcript) as proxy:
        with pytest.raises(openai.APITimeoutError), client(proxy.url) as one:
            one.with_options(timeout=0.2).chat.completions.create(model="m", messages=HELLO)
        deadline = time.monotonic() + 30
        while server.connections and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not server.connections
    assert server.accepted == 1
    assert dict(proxy.served.counts.missed) == {"cut": 1}


def test_errors_stay_what_they_are(serve: Serve, transcript: Path) -> None:
    server = serve(bot)
    with proxied(f"{server.url}/v1", transcript) as proxy:
        stranger = openai.OpenAI(base_url=f"{proxy.url}/v1", api_key="sk-wrong", max_retries=0)
        with stranger, pytest.raises(openai.AuthenticationError, match="Incorrect API key"):
            stranger.chat.completions.create(model="m", messages=HELLO)
    assert dict(proxy.served.counts.missed) == {"failed": 1}
    assert dict(proxy.served.counts.statuses) == {401: 1}
    assert utterances(transcript) == []


def test_a_service_that_is_not_there(transcript: Path) -> None:
    with LocalServer(bot) as gone:
        url = gone.url
    with proxied(f"{url}/v1", transcript) as proxy, client(proxy.url) as one:
        with pytest.raises(
            openai.InternalServerError, match=r"the bot cannot be reached .*refused"
        ) as caught:
            one.chat.completions.create(model="m", messages=HELLO)
        assert caught.value.status_code == 502
        assert caught.value.code == "service.unavailable"
    assert dict(proxy.served.counts.refused) == {"service.unavailable": 1}
    assert not proxy.served.counts.missed, "counted once"


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:8001", "127.0.0.1.evil.example", "10.0.0.1", ""),
        *("evil.example@localhost", "localhost/evil.example", "localhost:8001:9", "[::1", "::1"),
    ],
)
def test_only_known_names_pass(serve: Serve, transcript: Path, host: str) -> None:
    server = serve(bot)
    with proxied(f"{server.url}/v1", transcript) as proxy:
        for target in ("/v1/models", "/trustgauge/rating"):
            back = raw(proxy.port, f"GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            assert back.startswith(b"HTTP/1.1 421 Misdirected Request")
    assert server.requests == []


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:9", "[::1]:8001", "LOCALHOST:1", "bots.example"])
def test_names_that_are_known(serve: Serve, transcript: Path, host: str) -> None:
    server = serve(lambda request: Response.json({}))
    with proxied(f"{server.url}/v1", transcript, ListenerConfig(port=0, names=("Bots.Example",))) as proxy:
        asked = f"GET /v1/models HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
        assert raw(proxy.port, asked, until=b"{}").startswith(b"HTTP/1.1 200 OK")
    assert server.requests[0].headers["host"] == f"127.0.0.1:{server.port}"


@pytest.mark.parametrize(
    "asked",
    [
        b"GET /v1/models HTTP/1.1\r\n\r\n",
        HEAD + b"Host: localhost\r\n\r\n",
        HEAD + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        HEAD + b"Content-Length: 1, 2\r\n\r\n",
        HEAD + b" folded\r\n\r\n",
        HEAD + b"Transfer-Encoding: gzip\r\n\r\n",
        b"GET http://elsewhere.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"\x16\x03\x01 a TLS hello\r\n\r\n",
        HEAD + b"X: " + b"a" * 70_000,
    ],
)
def test_what_cannot_be_passed_on_safely_is_refused(serve: Serve, transcript: Path, asked: bytes) -> None:
    server = serve(lambda request: Response.json({}))
    with proxied(f"{server.url}/v1", transcript) as proxy:
        back = raw(proxy.port, asked)
    assert back[:12] in (b"HTTP/1.1 400", b"HTTP/1.1 431")
    assert json.loads(back.partition(b"\r\n\r\n")[2])["error"]["code"] == "request.malformed"
    assert server.requests == []


def test_requests_sent_ahead_are_answered_in_order(serve: Serve, transcript: Path) -> None:
    server = serve(lambda request: Response.json({"said": request.text()}), latency=0.05)
    with proxied(f"{server.url}/v1", transcript) as proxy:
        three = b"".join(post({"n": n}, "/v1/x") for n in range(3))
        back = raw(proxy.port, three, until=b'{\\"n\\": 2}')
    assert [back.index(b'{\\"n\\": %d}' % n) for n in range(3)] == sorted(
        back.index(b'{\\"n\\": %d}' % n) for n in range(3)
    )
    assert len(server.requests) == 3
    assert server.accepted == 1


def test_a_large_body_passes_in_pieces_and_is_not_read(serve: Serve, transcript: Path) -> None:
    text = "x" * 5_000_000
    server = serve(lambda request: chats.completion(str(len(request.body)))(request))
    with proxied(f"{server.url}/v1", transcript) as proxy, client(proxy.url) as one:
        said = one.chat.completions.create(model="m", messages=[{"role": "user", "content": text}])
        assert int(said.choices[0].message.content or 0) > len(text)
    assert dict(proxy.served.counts.missed) == {"too-large": 1}


def test_chunked_requests_and_packed_answers_are_read(serve: Serve, transcript: Path) -> None:
    packed = gzip.compress(json.dumps({"choices": [{"message": {"content": "packed"}}]}).encode())
    headers = f"content-encoding: gzip\r\ncontent-length: {len(packed)}\r\nconnection: close\r\n\r\n"
    back = b"HTTP/1.1 200 OK\r\n" + headers.encode() + packed
    server = serve(lambda request: Response(raw=back))
    body = json.dumps({"messages": HELLO}).encode()
    asked = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    asked += b"%x\r\n%b\r\n%x\r\n%b\r\n0\r\n\r\n" % (5, body[:5], len(body) - 5, body[5:])
    with proxied(f"{server.url}/v1", transcript) as proxy:
        assert raw(proxy.port, asked) == back
    assert utterances(transcript) == [("1", 0, "user", "hello"), ("1", 0, "bot", "packed")]


def test_another_protocol_passes_both_ways(serve: Serve, transcript: Path) -> None:
    def echo(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            received(connection, b"\r\n\r\n")
            connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\n\r\n")
            connection.sendall(connection.recv(100).upper())

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=echo, args=(listener,))
        thread.start()
        with (
            proxied(f"http://127.0.0.1:{listener.getsockname()[1]}/v1", transcript) as proxy,
            socket.create_connection(("127.0.0.1", proxy.port), timeout=10) as connection,
        ):
            connection.sendall(HEAD + b"Connection: Upgrade\r\nUpgrade: echo\r\n\r\n")
            assert b"101 Switching" in received(connection, b"\r\n\r\n")
            connection.sendall(b"\x00 any bytes")
            assert received(connection) == b"\x00 ANY BYTES"
        thread.join(5)


def test_only_the_rating_is_its_own(serve: Serve, transcript: Path) -> None:
    server = serve(bot)
    with proxied(f"{server.url}/v1", transcript) as proxy:
        connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=10)
        connection.request("GET", "/trustgauge/keys")
        assert connection.getresponse().status == 404
        connection.close()
        connection.request("POST", "/trustgauge/rating", body=b"x")
        assert connection.getresponse().status == 405
        connection.close()
    assert server.requests == []


def test_many_clients_at_once_keep_their_conversations(serve: Serve, transcript: Path) -> None:
    def answer(request: Request) -> Response:
        said = request.json()["messages"][-1]["content"]
        return chats.completion(f"You said {said}.")(request)

    def talk(who: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=20)
        past: list[Any] = [{"role": "user", "content": "hello"}]
        for turn in range(5):
            connection.request("POST", "/v1/chat/completions", json.dumps({"messages": past}))
            said = json.load(connection.getresponse())["choices"][0]["message"]["content"]
            past += [{"role": "assistant", "content": said}, {"role": "user", "content": f"{who}, {turn}"}]
        connection.close()

    server = serve(answer, latency=0.005)
    with proxied(f"{server.url}/v1", transcript) as proxy:
        threads = [threading.Thread(target=talk, args=(who,)) for who in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    assert server.accepted == 16
    dialogs: dict[str, list[str]] = {}
    for row in lines(transcript):
        dialogs.setdefault(row["dialog"], []).append(row["text"])
    assert len(dialogs) == 16
    for texts in dialogs.values():
        who = texts[2].split(",")[0]
        users = ["hello", *(f"{who}, {turn}" for turn in range(4))]
        assert texts == [text for said in users for text in (said, f"You said {said}.")]


def test_it_ends_after_the_answers_under_way(serve: Serve, transcript: Path) -> None:
    server = serve(chats.completion("late"), latency=0.5)
    said: list[Any] = []
    with proxied(f"{server.url}/v1", transcript) as proxy:
        idle = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=10)
        idle.connect()
        one = client(proxy.url)
        thread = threading.Thread(
            target=lambda: said.append(one.chat.completions.create(model="m", messages=HELLO))
        )
        thread.start()
        while not server.requests:
            time.sleep(0.01)
        began = time.monotonic()
    assert time.monotonic() - began < 2  # an idle connection holds nobody up
    thread.join(5)
    one.close()
    idle.close()
    assert said[0].choices[0].message.content == "late"
    assert utterances(transcript)[1] == ("1", 0, "bot", "late")


def test_a_port_that_is_taken(serve: Serve, transcript: Path) -> None:
    server = serve(bot)
    with (
        pytest.raises(StoreError, match=r"cannot listen on 127\.0\.0\.1"),
        proxied(server.url, transcript, ListenerConfig(port=server.port)),
    ):
        pass
