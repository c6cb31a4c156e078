"""Every failure over a real socket becomes the right error, and no secret leaves."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.servers import LocalServer, Response
from tests.services.protocols.faults import FAULTS, GOOD, JSON
from trustgauge.errors import (
    BusyError,
    GarbledError,
    KeyMissingError,
    RefusedError,
    RejectedError,
    ServiceError,
    UnavailableError,
)
from trustgauge.services import redact
from trustgauge.services.transport import (
    MASK,
    ConnectionSettings,
    HttpResponse,
    Transport,
    address,
    form,
    key_from,
    retry_seconds,
    web_address,
)

Serve = Callable[..., LocalServer]
KEY = "planted/key+with=signs"


def ask(url: str, body: bytes = b"{}", **facts: Any) -> Any:
    """One POST, accepted and read as JSON."""

    async def once() -> Any:
        http = Transport(ConnectionSettings("Test", **facts))
        try:
            return http.json(http.accept(await http.send("POST", url, body, "application/json")))
        finally:
            await http.close()

    return asyncio.run(once())


@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_has_its_error(serve: Serve, name: str) -> None:
    response, expected = FAULTS[name]
    server = serve(lambda request: response)
    started = time.monotonic()
    with pytest.raises(ServiceError) as caught:
        ask(server.url, timeout=0.5 if expected is UnavailableError else 10.0)
    assert type(caught.value) is expected
    assert caught.value.retry is (expected in {BusyError, UnavailableError, GarbledError})
    assert time.monotonic() - started < 15
    assert len(server.requests) == 1, "the transport must not try again by itself"


@pytest.mark.parametrize("name", ["never answers", "slow loris", "gateway late", "request late"])
def test_lateness_is_told_from_other_failures(serve: Serve, name: str) -> None:
    with pytest.raises(UnavailableError) as caught:
        ask(serve(lambda request: FAULTS[name][0]).url, timeout=0.3)
    assert caught.value.timed_out


def test_retry_after_arrives_in_seconds(serve: Serve) -> None:
    with pytest.raises(BusyError) as caught:
        ask(serve(lambda request: FAULTS["too fast"][0]).url)
    assert caught.value.retry_after == 2.0
    with pytest.raises(UnavailableError) as away:
        ask(serve(lambda request: FAULTS["away"][0]).url)
    assert away.value.retry_after == 5.0
    assert not away.value.timed_out


def test_retry_after_as_a_date_is_compared_with_the_clock(serve: Serve) -> None:
    date = (("retry-after", "Thu, 01 Jan 2026 00:00:30 GMT"),)
    server = serve(lambda request: Response(429, b"", date))
    with pytest.raises(BusyError) as caught:
        ask(server.url, now=lambda: 1767225600.0)  # 2026-01-01, midnight
    assert caught.value.retry_after == 30.0


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0.0),
        (" 1.5", 1.5),
        ("-3", 0.0),
        ("Thu, 01 Jan 1970 00:00:10 GMT", 0.0),
        ("Thu, 01 Jan 1970 00:01:40 -0000", 40.0),
        ("Thu, 99 Foo 1970", None),
        ("nan", None),
        ("inf", None),
        ("", None),
        ("soon", None),
        ("9" * 400, None),
    ],
)
def test_retry_after_forms(value: str, seconds: float | None) -> None:
    assert retry_seconds(value, lambda: 60.0) == seconds


@pytest.mark.parametrize(
    ("body", "seconds"),
    [
        (b'{"error": {"message": "Rate limit reached (RPM): Limit 3. Please try again in 20s."}}', 20.0),
        (b'{"error": {"message": "Please try again in 7m12.5s. Visit us."}}', 432.5),
        (b'{"error": {"message": "Please try again in 86ms."}}', 0.086),
        (b'{"error": {"message": "Please retry after 26 seconds."}}', 26.0),
        (b'[{"error": {"details": [{"retryDelay": "37s"}]}}]', 37.0),
        (b'{"error": "Model x is currently loading", "estimated_time": 20.25}', 20.25),
        (b"Try again in 1 hour 2 minutes", 3720.0),
        (b"<html>Please try again in a few minutes.</html>", None),
        (b'{"error": "Slowdown: 40 per 1 minute"}', None),
        (b"try again in 30", None),
        (b"try again in " + b"9" * 1_000 + b"s", None),
        (b"", None),
    ],
)
@pytest.mark.parametrize("status", [429, 503])
def test_an_error_may_ask_to_wait_in_its_words(
    serve: Serve, body: bytes, seconds: float | None, status: int
) -> None:
    with pytest.raises((BusyError, UnavailableError)) as caught:
        ask(serve(lambda request: Response(status, body)).url)
    assert caught.value.retry_after == (None if seconds is None else pytest.approx(seconds))


def test_a_header_counts_more_than_words(serve: Serve) -> None:
    words = b"Please try again in 20s."
    for headers, seconds in (((("retry-after", "3"),), 3.0), ((("retry-after-ms", "250"),), 0.25)):
        with pytest.raises(BusyError) as caught:
            ask(serve(lambda request, headers=headers: Response(429, words, headers)).url)
        assert caught.value.retry_after == seconds


def test_slow_but_whole_answers_are_read(serve: Serve) -> None:
    server = serve(lambda request: Response(200, b'{"a": 1}', JSON, drip=0.01))
    assert ask(server.url) == {"a": 1}
    chunks = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\n[1, \r\n2\r\n2]\r\n0\r\n\r\n"
    assert ask(serve(lambda request: Response(raw=chunks)).url) == [1, 2]


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ('{"a": "é"}'.encode(), "application/json"),
        ('\ufeff{"a": "é"}'.encode(), "application/json; charset=UTF-8"),
        ('{"a": "é"}'.encode("latin-1"), 'application/json; charset="ISO-8859-1"'),
        ('{"a": "é"}'.encode("utf-16"), "application/json;charset=utf-16"),
    ],
)
def test_declared_encodings_are_read(serve: Serve, body: bytes, content_type: str) -> None:
    server = serve(lambda request: Response(200, body, (("content-type", content_type),)))
    assert ask(server.url) == {"a": "é"}


def test_no_secret_in_any_error(serve: Serve) -> None:
    """A service that quotes our key in every way it can does not get it into an error."""
    said = f'{{"error": "bad key {KEY} or {KEY.replace("/", "%2F").replace("+", "%2B").replace("=", "%3D")}"'
    padded = b" " * 3990 + KEY.encode()
    for body in (said.encode(), padded, KEY.encode("utf-16")):
        for status in (200, 301, 400, 401, 429, 500):
            content_type = "text/plain; charset=utf-16" if body.startswith(b"\xff") else "text/plain"
            response = Response(status, body, (("content-type", content_type), ("x-key", KEY)))
            server = serve(lambda request, response=response: response)
            with pytest.raises(ServiceError) as caught:
                ask(f"{server.url}/?key={KEY}", secrets=(KEY,))
            text = f"{caught.value} {caught.value.got} {caught.value.__cause__} {caught.value.__context__}"
            assert "planted" not in text, (status, body)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:9/v1?key=" + KEY, "http://u:" + quote(KEY, "") + "@127.0.0.1:9/" + KEY]
)
def test_no_secret_when_nobody_answers(url: str) -> None:
    with pytest.raises(UnavailableError, match=r"127\.0\.0\.1:9.*refused") as caught:
        ask(url, secrets=(KEY,))
    assert "planted" not in f"{caught.value}{caught.value.__cause__!r}{caught.value.__context__!r}"


def test_an_unknown_host_is_unavailable() -> None:
    with pytest.raises(UnavailableError, match=r"no-such-host\.invalid"):
        ask("http://no-such-host.invalid/")


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"])
def test_a_server_without_tls_is_told_from_one_that_cannot_be_reached(said: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(10_000)
                connection.sendall(said)

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(UnavailableError, match=r"does not speak TLS\. Write http://"):
            ask(f"https://127.0.0.1:{server.getsockname()[1]}/v1")
        thread.join()


@pytest.mark.parametrize("url", ["", "not an address", "http://[::1", "ftp://127.0.0.1/", "http://a b/"])
def test_what_is_no_address_is_rejected(url: str) -> None:
    with pytest.raises(RejectedError):
        ask(url)


def test_a_key_that_cannot_be_a_header_is_refused_before_anything_is_sent() -> None:
    with pytest.raises(RefusedError) as caught:
        Transport(ConnectionSettings("Test", headers={"authorization": "two\nlines-planted"}))
    assert "planted" not in f"{caught.value}{caught.value.__cause__!r}{caught.value.__context__!r}"


def test_control_characters_of_a_service_stay_out_of_errors(serve: Serve) -> None:
    server = serve(lambda request: Response(500, b"\x1b[31mred\x00\r\n\xffX-Injected: 1 " + b"z" * 5000))
    with pytest.raises(UnavailableError) as caught:
        ask(server.url)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 300


def test_kept_text_is_clean() -> None:
    http = Transport(ConnectionSettings("Test", secrets=(KEY, "short")))
    assert http.clean(f"a {KEY} b") == f"a {MASK} b"
    assert http.clean("a short word") == "a short word", "what is no key must not blot words"
    assert http.clean("half \ud83d, whole 😀") == "half \ufffd, whole 😀"
    assert http.clean("joined \ud83d\ude00") == "joined 😀"
    asyncio.run(http.close())


@pytest.mark.parametrize(
    "text",
    [
        "wrong key: SK-PROJ-ABCDEF123456GHIJ",
        "wrong key: sk-proj-AbCdEf**********",
        "wrong key: sk-proj-AbCdEf12...GHij",
        "wrong key: sK-pRoJ-aBcDeF1234",
    ],
)
def test_keys_are_blotted_in_any_case_and_from_their_first_characters(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-proj-AbCdEf123456GHij"
    monkeypatch.setenv("SOME_API_KEY", key)
    for found in (Transport(ConnectionSettings("Test", secrets=(key,))).blot(text), redact(text)):
        assert found.startswith("wrong key: ")
        assert "abcdef" not in found.lower()


def test_ordinary_words_are_left_though_a_secret_begins_with_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_PASSWORD", "administrator-of-the-day")
    monkeypatch.setenv("OTHER_TOKEN", "Bearer sk-proj-AbCdEf123456")
    text = "An administrator is the bearer someone told of sk-proj- keys."
    assert redact(text) == text
    assert redact("it is ADMINISTRATOR-OF-THE-DAY.") == "it is ****."


def test_headers_and_bodies_arrive_and_connections_are_kept(serve: Serve) -> None:
    server = serve(lambda request: Response(200, GOOD, JSON))

    async def many() -> None:
        http = Transport(ConnectionSettings("Test", headers={"X-Key": KEY}))
        for number in range(20):
            await http.send(
                "POST", server.url, http.encode({"n": number, "t": "é\ud83d"}), "application/json"
            )
        await http.close()
        await http.close()
        with pytest.raises(ServiceError):
            await http.send("GET", server.url)

    asyncio.run(many())
    assert server.accepted == 1
    assert [request.json()["n"] for request in server.requests] == list(range(20))
    assert server.requests[0].json()["t"] == "é\ud83d"
    assert server.requests[0].headers["x-key"] == KEY
    assert server.requests[0].headers["user-agent"] == "trustgauge"


def test_redirects_are_not_followed(serve: Serve) -> None:
    thief = serve(lambda request: Response(200, GOOD, JSON))
    server = serve(lambda request: Response(307, b"", (("location", thief.url),)))
    with pytest.raises(RejectedError, match="redirect"):
        ask(server.url)
    assert thief.requests == []


def test_a_proxy_of_the_environment_is_used(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = serve(lambda request: Response(200, b'{"via": "proxy"}', JSON))
    monkeypatch.setenv("http_proxy", proxy.url)
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    assert ask("http://service.example/translate") == {"via": "proxy"}
    assert proxy.requests[0].target == "http://service.example/translate"


def test_form_and_addresses() -> None:
    assert form({"q": "a&b=c é\ud83d"}) == b"q=a%26b%3Dc+%C3%A9%3F"
    assert address("https://user:pass@host.example:81/p/q?key=k#f") == "https://host.example:81/p/q"
    assert web_address("https://host.example/v1/") == "https://host.example/v1"
    for bad in ("host.example", "https://user:pass@host.example", "file:///etc/passwd"):
        with pytest.raises(ValueError, match="must"):
            web_address(bad)


@pytest.mark.parametrize("value", [None, "", "  ", "two\nlines", "schlüssel"])
def test_a_key_must_be_there_and_sendable(value: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if value is None:
        monkeypatch.delenv("TG_TEST_KEY", raising=False)
    else:
        monkeypatch.setenv("TG_TEST_KEY", value)
    with pytest.raises(KeyMissingError, match="TG_TEST_KEY"):
        key_from("TG_TEST_KEY", "Test")


def test_a_key_comes_without_the_spaces_around_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TG_TEST_KEY", " abc\n")
    assert key_from("TG_TEST_KEY", "Test") == "abc"


def test_excerpts_of_hostile_encodings_cost_little() -> None:
    http = Transport(ConnectionSettings("Test"))
    started = time.monotonic()
    with pytest.raises(GarbledError, match="unsupported encoding"):
        http.json(HttpResponse(200, b"a" * 5_000_000, "text/plain; charset=punycode"))
    asyncio.run(http.close())
    assert time.monotonic() - started < 15


@pytest.mark.skipif(sys.platform != "linux", reason="other systems keep authorities in a store of their own")
class TestPrivateAuthority:
    @pytest.fixture
    def authority(self, tmp_path: Path) -> Any:
        pytest.importorskip("cryptography")
        from tests.certificates import PrivateAuthority

        return PrivateAuthority(tmp_path)

    @pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "SSL_CERT_DIR"])
    def test_is_trusted_where_the_environment_names_it(
        self, authority: Any, monkeypatch: pytest.MonkeyPatch, variable: str
    ) -> None:
        place = authority.file if variable == "SSL_CERT_FILE" else authority.folder
        monkeypatch.setenv(variable, str(place))
        with LocalServer(lambda request: Response(200, GOOD, JSON), tls=authority.context()) as server:
            assert ask(server.url) == json.loads(GOOD)

    def test_that_nobody_named_is_told_with_what_to_do(self, authority: Any) -> None:
        with (
            LocalServer(lambda request: Response(200, GOOD, JSON), tls=authority.context()) as server,
            pytest.raises(UnavailableError, match=r"not known here\. Set SSL_CERT_FILE to a file"),
        ):
            ask(server.url)
        assert server.requests == []

    def test_a_certificate_that_is_wrong_in_another_way_says_so(
        self, authority: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
        for tls, said in (
            (authority.context(days=0.5), "it has expired"),
            (authority.context("bot.example"), "made out to another name"),
            (authority.own_context(), "it is an authority's own"),
        ):
            with LocalServer(lambda request: Response.json(GOOD), tls=tls) as server:
                with pytest.raises(
                    UnavailableError, match=f"its certificate is not accepted: .*{said}"
                ) as caught:
                    ask(server.url)
                assert "SSL_CERT_FILE" not in str(caught.value)


ENDING = """
import asyncio, sys
from trustgauge.services.transport import ConnectionSettings, Transport
async def main():
    http = Transport(ConnectionSettings("Test", timeout=1))
    for url in [sys.argv[1]] * 5 + ["http://127.0.0.1:9/", "https://127.0.0.1:9/", "no address"]:
        try:
            await http.send("POST", url, b"{}", "application/json")
        except Exception as error:
            assert type(error).__module__ == "trustgauge.errors", error
    await http.close()
asyncio.run(main())
"""


def test_a_process_that_ends_right_after_closing_ends_well(serve: Serve) -> None:
    server = serve(lambda request: Response(200, b"x" * 100_000, cut_after=50_000))
    for _ in range(5):
        done = subprocess.run([sys.executable, "-c", ENDING, server.url], capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
