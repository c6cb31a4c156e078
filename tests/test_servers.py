"""The local server of the tests is itself right: other tests rely on it."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.servers import LocalServer, Request, Response, busy_every, echo, toy_translation


def post(url: str, value: object) -> tuple[int, bytes]:
    """One POST by the standard library, which knows nothing of ours."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=5)
    try:
        connection.request("POST", "/translate?a=1", json.dumps(value))
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def test_requests_are_read_and_recorded(serve: Callable[..., LocalServer]) -> None:
    server = serve(echo)
    assert post(server.url, {"text": "é"}) == (200, '{"output": "é"}'.encode())
    (request,) = server.requests
    assert (request.method, request.path, request.query) == ("POST", "/translate", {"a": ["1"]})
    assert request.headers["host"] == server.url.removeprefix("http://")


def test_requests_sent_at_once_are_answered_in_order(serve: Callable[..., LocalServer]) -> None:
    def answer(request: Request) -> Response:
        return Response(200, request.body, delay=0.05 if request.body == b"slow" else 0.0)

    server = serve(answer)
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        for body in (b"slow", b"fast"):
            connection.sendall(b"POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\n" + body)
        received = b""
        while b"fast" not in received:
            received += connection.recv(4096)
    assert received.index(b"slow") < received.index(b"fast")
    assert server.accepted == 1


def test_an_awaitable_answer_and_its_latency(serve: Callable[..., LocalServer]) -> None:
    async def answer(request: Request) -> Response:
        await asyncio.sleep(0.01)
        return Response.json("later")

    assert post(serve(answer, latency=0.01).url, {}) == (200, b'"later"')


def test_an_assert_in_a_handler_counts() -> None:
    def answer(request: Request) -> Response:
        assert request.method == "GET"
        return Response()

    with pytest.raises(AssertionError, match="GET"), LocalServer(answer) as server:
        assert post(server.url, {})[0] == 500


def test_every_so_many_are_told_to_wait(serve: Callable[..., LocalServer]) -> None:
    server = serve(busy_every(echo, 3))
    assert [post(server.url, {"text": "x"})[0] for _ in range(6)] == [200, 200, 429, 200, 200, 429]


def test_the_toy_translation_loses_only_where_it_says() -> None:
    text = "She lost her hat. He found his."
    for language, back in (("es", text), ("tr", "He lost his hat. He found his.")):
        there = toy_translation(text, "en", language)
        assert there != text
        assert toy_translation(there, language, "en") == back


def test_as_a_process_it_logs_each_request(tmp_path: Path) -> None:
    log = tmp_path / "requests.jsonl"
    command = [sys.executable, "-m", "tests.servers", "--mode", "translate", "--log", str(log)]
    root = Path(__file__).parent.parent
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        asked = {"q": ["Hi."], "source": "en", "target": "es"}
        assert post(url, asked) == (200, b'{"translatedText": ["iH."]}')
        process.terminate()
    (line,) = log.read_text().splitlines()
    assert json.loads(json.loads(line)["body"]) == asked
