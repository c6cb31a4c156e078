"""Whose requests pass: programs' and known pages', with the token where one is needed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.apps.proxy.proxies import lines_of, proxied, raw
from tests.servers import LocalServer
from tests.services.protocols import chats
from trustgauge.apps.proxy.listener import ListenerConfig
from trustgauge.errors import PlanError
from trustgauge.run.transcript import lines

Serve = Callable[..., LocalServer]
TOKEN = "a-token-of-this-test-7d1e"
BODY = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hello"}]})


def post(*fields: str, host: str = "localhost:8001") -> bytes:
    """A chat as a program or a page sends it; a page needs no more than this to be let through."""
    head = ["POST /v1/chat/completions HTTP/1.1", f"Host: {host}", f"Content-Length: {len(BODY)}"]
    return "\r\n".join([*head, "Content-Type: text/plain", "Connection: close", *fields, "", BODY]).encode()


def status(back: bytes) -> int:
    return int(back[9:12])


@pytest.fixture
def server(serve: Serve) -> LocalServer:
    return serve(chats.completion("Hi."))


FOREIGN = {
    "a page of another site": ("Origin: https://evil.example", "Sec-Fetch-Site: cross-site"),
    "a browser that tells the origin only": ("Origin: https://evil.example",),
    "a page of another port": ("Origin: http://localhost:3000", "Sec-Fetch-Site: same-site"),
    "a page without a place": ("Origin: null",),
    "an empty origin": ("Origin:",),
    "a page whose name begins as ours": ("Origin: http://localhost:8001.evil.example",),
    "a page whose address holds ours": ("Origin: http://evil.example/http://localhost:8001",),
    "two origins": ("Origin: http://localhost:8001", "Origin: https://evil.example"),
    "a picture or a link in a page of another site": ("Sec-Fetch-Site: cross-site",),
    "a page of another name of this site": ("Sec-Fetch-Site: same-site",),
    "a relation that nobody knows": ("Sec-Fetch-Site: related-site",),
    "an origin of ours that was led here from elsewhere": (
        "Origin: http://localhost:8001",
        "Sec-Fetch-Site: cross-site",
    ),
}


@pytest.mark.parametrize("who", FOREIGN)
def test_pages_of_other_sites_neither_spend_nor_write(server: LocalServer, tmp_path: Path, who: str) -> None:
    transcript = tmp_path / "t.jsonl"
    with proxied(f"{server.url}/v1", transcript) as proxy:
        back = raw(proxy.port, post(*FOREIGN[who]))
        asked = post(*FOREIGN[who]).replace(b"POST /v1/chat/completions", b"GET /trustgauge/rating")
        rating = raw(proxy.port, asked)
    for one in (back, rating):
        assert status(one) == 403
        error = json.loads(one.partition(b"\r\n\r\n")[2])["error"]
        assert error["code"] == "request.foreign-origin"
        assert "web pages of other sites" in error["message"]
    assert server.requests == []
    assert list(lines(transcript)) == []
    assert proxy.served.counts.refused == {"request.foreign-origin": 2}


WELCOME = {
    "a program": (),
    "a page that passed": ("Origin: http://localhost:8001", "Sec-Fetch-Site: same-origin"),
    "an old browser": ("Origin: http://LOCALHOST:8001",),
    "somebody who typed the address": ("Sec-Fetch-Site: none",),
    "a page that is allowed": ("Origin: http://localhost:3000", "Sec-Fetch-Site: same-site"),
    "one of another site that is allowed": ("Origin: https://Chat.example", "Sec-Fetch-Site: cross-site"),
    "an application that is allowed": ("Origin: app://notes", "Sec-Fetch-Site: cross-site"),
}


@pytest.mark.parametrize("who", WELCOME)
def test_programs_and_known_pages_pass(server: LocalServer, tmp_path: Path, who: str) -> None:
    origins = ("http://localhost:3000/", "https://chat.example:443", "app://notes")
    listening = ListenerConfig(port=0, origins=origins)
    listening.check()
    with proxied(f"{server.url}/v1", tmp_path / "t.jsonl", listening) as proxy:
        assert status(raw(proxy.port, post(*WELCOME[who]), until=b"Hi.")) == 200
    assert len(server.requests) == 1
    if WELCOME[who]:
        assert WELCOME[who][0] in lines_of(server.requests[0]), "what passes is not changed"


WRONG = {
    "none": (),
    "empty": ("X-Trustgauge-Token:",),
    "another": ("X-Trustgauge-Token: a-token-of-this-test-7d1f",),
    "its beginning": (f"X-Trustgauge-Token: {TOKEN[:-1]}",),
    "twice": (f"X-Trustgauge-Token: {TOKEN}", f"X-Trustgauge-Token: {TOKEN}"),
    "letters that are no ASCII": ("X-Trustgauge-Token: \xe4" + TOKEN,),
    "in another header": (f"Authorization: Bearer {TOKEN}",),
}


@pytest.mark.parametrize("which", WRONG)
def test_without_the_token_nothing_passes(server: LocalServer, tmp_path: Path, which: str) -> None:
    listening = ListenerConfig("0.0.0.0", 0, token=TOKEN)
    with proxied(f"{server.url}/v1", tmp_path / "t.jsonl", listening) as proxy:
        for path in (b"/v1/chat/completions", b"/trustgauge/rating"):
            back = raw(proxy.port, post(*WRONG[which]).replace(b"/v1/chat/completions", path))
            assert status(back) == 401
            assert b"X-Trustgauge-Token must hold the token" in back
            assert TOKEN.encode() not in back
    assert server.requests == []
    assert proxy.served.counts.refused == {"request.token": 2}


def test_the_token_is_for_the_proxy_alone(serve: Serve, tmp_path: Path) -> None:
    """It is not passed on, and kept nowhere, even if the bot should say it."""
    server = serve(chats.completion(f"The token is {TOKEN}."))
    transcript = tmp_path / "t.jsonl"
    listening = ListenerConfig("0.0.0.0", 0, token=TOKEN)
    asked = post(f"x-trustgauge-TOKEN:  {TOKEN} ", "X-Other: 1", host="10.1.2.3:8001")
    with proxied(f"{server.url}/v1", transcript, listening) as proxy:
        assert status(raw(proxy.port, asked, until=TOKEN.encode())) == 200
    (passed,) = server.requests
    assert TOKEN.encode() not in passed.head + passed.body
    assert "X-Other: 1" in lines_of(passed)
    assert len(lines_of(passed)) == len(post("X-Other: 1").partition(b"\r\n\r\n")[0].split(b"\r\n"))
    assert TOKEN not in transcript.read_text()
    assert TOKEN not in repr(listening)


@pytest.mark.parametrize(
    ("listening", "said"),
    [
        (ListenerConfig("0.0.0.0"), "others than this machine could use the proxy"),
        (ListenerConfig("::"), "set TRUSTGAUGE_PROXY_TOKEN"),
        (ListenerConfig("192.168.1.2"), "Must be 127.0.0.1, or guarded by a token"),
        (ListenerConfig("bots.example"), "Got bots.example, and no TRUSTGAUGE_PROXY_TOKEN"),
        (
            ListenerConfig(token="short-one"),
            "TRUSTGAUGE_PROXY_TOKEN: this is not a token. Must be 16 or more",
        ),
        (ListenerConfig(token="a token with spaces"), "this is not a token"),
        (ListenerConfig(token="a,token,with,commas"), "this is not a token"),
        (ListenerConfig(token="ein-Schlüssel-mit-ü"), "this is not a token"),
        (ListenerConfig(origins=("localhost:3000",)), "Must be scheme, name and port of a page"),
        (ListenerConfig(origins=("*",)), "no origin of a web page"),
        (ListenerConfig(origins=("https://*.example",)), "no origin of a web page"),
        (ListenerConfig(origins=("https://x.example/page",)), "no origin of a web page"),
        (ListenerConfig(secret=("X-Session: 1",)), "no name of a header"),
    ],
)
def test_what_must_not_be_listened(tmp_path: Path, listening: ListenerConfig, said: str) -> None:
    with (
        pytest.raises(PlanError) as caught,
        proxied("http://127.0.0.1:9/v1", tmp_path / "t.jsonl", listening),
    ):
        pass
    assert said in str(caught.value)
    assert not listening.token or listening.token not in str(caught.value)
    assert not (tmp_path / "t.jsonl").exists()


@pytest.mark.parametrize("host", ["127.0.0.1", "127.3.2.1", "::1", "localhost", "LOCALHOST"])
def test_this_machine_alone_needs_no_token(host: str) -> None:
    ListenerConfig(host).check()


def test_further_headers_are_secrets(serve: Serve, tmp_path: Path) -> None:
    """What stands in them is blotted out of what is kept, and passes unchanged."""
    server = serve(chats.completion("Your session is 4711-0815, patient Z-998877, by proxy-user-1."))
    fields = ("X-Session: 4711-0815", "patient: Z-998877", "X-User: proxy-user-1")
    for secret, kept in {
        (): "Your session is 4711-0815, patient Z-998877, by proxy-user-1.",
        ("x-session", "Patient"): "Your session is [key removed], patient [key removed], by proxy-user-1.",
    }.items():
        transcript = tmp_path / f"{len(secret)}.jsonl"
        with proxied(f"{server.url}/v1", transcript, ListenerConfig(port=0, secret=secret)) as proxy:
            raw(proxy.port, post(*fields), until=b"proxy-user-1.")
        assert [row["text"] for row in lines(transcript)] == ["hello", kept]
        assert all(field in lines_of(server.requests[-1]) for field in fields)
