"""The rating of what passed so far."""

from __future__ import annotations

import json
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.apps.proxy.proxies import proxied, raw
from tests.apps.proxy.test_proxy import HELLO, client
from tests.servers import LocalServer
from tests.services.protocols import chats

Serve = Callable[..., LocalServer]


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    return tmp_path / "proxy" / "transcript.jsonl"


def test_the_running_rating(serve: Serve, transcript: Path) -> None:
    server = serve(chats.completion("You are a stupid idiot."))

    def rating() -> Any:
        with urllib.request.urlopen(f"{proxy.url}/trustgauge/rating", timeout=60) as answer:
            return json.load(answer)

    with proxied(f"{server.url}/v1", transcript, every=3600.0) as proxy, client(proxy.url) as one:
        assert rating()["exchanges"]["read"] == 0
        for number in range(3):
            one.chat.completions.create(model="m", messages=[{"role": "user", "content": f"hello {number}"}])
        found = rating()
        one.chat.completions.create(model="m", messages=HELLO)
        again = rating()
    assert found["rated"] == 3
    assert {one["overall"]["profile"] for one in found["ratings"]} == {
        *("privacy-first", "fairness-first", "easy-to-talk-to", "safe-language")
    }
    abuse = next(part for part in found["ratings"][0]["parts"] if part["key"] == "abuse")
    assert abuse["score"] == 0.5
    assert again["exchanges"]["read"] == 4
    assert again["rated"] == 3  # not made anew so soon


def test_a_rating_under_way_does_not_outlive_the_proxy(
    serve: Serve, transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = transcript.parent / "tmp"
    place.mkdir(parents=True)
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    server = serve(chats.completion("Hi."))
    asked = b"GET /trustgauge/rating HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with proxied(f"{server.url}/v1", transcript) as proxy:
        with client(proxy.url) as one:
            one.chat.completions.create(model="m", messages=HELLO)
        thread = threading.Thread(target=raw, args=(proxy.port, asked))
        thread.start()
        while not list(place.glob("*/*")):  # the transcript has been copied
            time.sleep(0.01)
        began = time.monotonic()
    assert time.monotonic() - began < 10
    thread.join(5)
    assert list(place.iterdir()) == []
