"""The verb proxy, as a process of its own: what it says, what it keeps, and what it never keeps."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import stat
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openai
import pytest

from tests.cli.test_commands import trustgauge
from tests.forks import ForkedCommand
from tests.servers import LocalServer, Request, Response
from tests.services.protocols.chats import sse

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
KEY = "sk-planted-in-this-test-5f1c"
TOKEN = "token-planted-in-this-test-93ab"
MARK = "zanzibar"
"""In everything that is said."""
NAME = f"{MARK}-user"
Serve = Callable[..., LocalServer]


def hostile(request: Request) -> Response:
    """A bot that says the caller's key in every answer, and a mail address that nobody told it."""
    key = request.headers["authorization"].removeprefix("Bearer ")
    if request.path == "/v1/models":
        return Response.json({"error": {"message": f"Incorrect API key provided: {key}"}}, 401)
    asked = request.json()
    text = f"{MARK}: you idiot, your key is {key}, write to {MARK}@example.org. {len(asked['messages'])}"
    if asked.get("stream"):
        pieces = [text[at : at + 9] for at in range(0, len(text), 9)]
        events = [{"choices": [{"index": 0, "delta": {"content": piece}}]} for piece in pieces]
        return sse(*events, "[DONE]")
    choice = {"index": 0, "message": {"role": "assistant", "content": text}}
    return Response.json({"model": key, "choices": [choice]})


@dataclass
class Command:
    """A running `trustgauge proxy`; after the block, what it printed."""

    process: ForkedCommand
    url: str = ""
    said: str = ""
    out: str = ""
    err: str = ""


@contextmanager
def proxy(
    folder: Path, *options: str, end: signal.Signals = signal.SIGINT, token: str = ""
) -> Iterator[Command]:
    """`trustgauge proxy` with these options, ended by a signal."""
    environment = {
        **os.environ,
        "OPENAI_API_KEY": KEY,
        "TMPDIR": str(folder / "tmp"),
        "COLUMNS": "200",
        "TRUSTGAUGE_PROXY_TOKEN": token,
    }
    process = ForkedCommand(["proxy", *options, "--port", "0"], folder, environment)
    deadline = time.monotonic() + 60
    running = Command(process)
    try:
        while "\nstop " not in (said := process.errors()):
            assert process.poll() is None, said
            assert time.monotonic() < deadline, said
            time.sleep(0.02)
        found = re.search(r"http://(127\.0\.0\.1|0\.0\.0\.0):(\d+)", said)
        assert found is not None
        running.url, running.said = f"http://127.0.0.1:{found[2]}", said
        yield running
    finally:
        process.send_signal(end)
        running.out, running.err = process.communicate(timeout=60)


def talk(url: str) -> None:
    """Three conversations of two turns, streamed and not, and a call that fails."""
    with openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0) as client:
        for number in range(3):
            past: list[Any] = [{"role": "user", "content": f"{MARK} {number}, and my key is {KEY}"}]
            first = client.chat.completions.create(model="m", messages=past, user=NAME)
            said = first.choices[0].message.content
            assert said is not None
            assert KEY in said  # what passes is not changed
            past += [{"role": "assistant", "content": said}, {"role": "user", "content": f"{MARK} again"}]
            stream = client.chat.completions.create(model="m", messages=past, user=NAME, stream=True)
            assert KEY in "".join(event.choices[0].delta.content or "" for event in stream)
        with pytest.raises(openai.AuthenticationError):
            client.models.list()


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tmp").mkdir()
    return tmp_path


@pytest.mark.slow
def test_what_passed_is_rated_and_no_key_is_kept_and_a_transcript_goes_on(serve: Serve, folder: Path) -> None:
    server = serve(hostile)
    options = ["openai/m", "--url", f"{server.url}/v1", "--transcript", "talks.jsonl"]
    options += ["--profile", "safe-language"]
    with proxy(folder, *options, "-v") as command:
        talk(command.url)
        with urllib.request.urlopen(f"{command.url}/trustgauge/rating", timeout=60) as answer:
            running = answer.read()
    assert command.process.returncode == 0, command.err
    found = files(folder)
    run = next(name for name in found if name.endswith("rating.json"))
    document = json.loads(found[run])
    assert [one["overall"]["profile"] for one in document["ratings"]] == ["safe-language"]
    abuse = next(part for part in document["ratings"][0]["parts"] if part["key"] == "abuse")
    assert (abuse["n"], abuse["score"]) == (6, 0.5)
    assert {Path(name).name for name in found} >= {
        "store.sqlite",
        "report.html",
        "plan.toml",
        "transcript.jsonl",
    }
    assert f"report   ratings/{document['run']['id']}/report.html" in command.err
    assert "passed   6 exchanges read" in command.err
    assert json.loads(running)["rated"] == 6
    assert MARK.encode() in found[run.replace("rating.json", "report.html")]
    for name, content in {**found, "running": running}.items():
        assert KEY.encode() not in content, name
        assert b"planted-in-this-test" not in content, name
    assert KEY not in command.out + command.err
    verified = trustgauge("verify", folder=folder)
    assert verified.stdout.startswith("ok "), verified.stderr
    with proxy(folder, *options, "--json") as command:
        talk(command.url)
    planned = [one["ratings"][0]["coverage"]["planned"] for one in (document, json.loads(command.out))]
    assert planned == [6, 12]
    rows = [json.loads(line) for line in (folder / "talks.jsonl").read_text("utf-8").splitlines()]
    assert len({row["dialog"] for row in rows}) == 6


@pytest.mark.slow
def test_redacted_only_scores_are_left(serve: Serve, folder: Path) -> None:
    server = serve(hostile)
    with proxy(
        folder, "openai/m", "--url", f"{server.url}/v1", "--redact", "--json", end=signal.SIGTERM
    ) as command:
        talk(command.url)
        with urllib.request.urlopen(f"{command.url}/trustgauge/rating", timeout=60) as answer:
            running = answer.read()
    assert command.process.returncode == 0, command.err
    found = files(folder)
    assert {Path(name).name for name in found} == {"rating.json", "report.html"}
    assert json.loads(command.out) == json.loads(
        next(found[name] for name in found if name.endswith(".json"))
    )
    for name, content in {**found, "running": running, "out": command.out.encode()}.items():
        assert MARK.encode() not in content, name
        assert KEY.encode() not in content, name
    assert b"Abuse" in next(found[name] for name in found if name.endswith("report.html"))
    assert list((folder / "tmp").iterdir()) == []


def polite(request: Request) -> Response:
    choice = {"index": 0, "message": {"role": "assistant", "content": "Good morning."}}
    return Response.json({"model": request.json()["model"], "choices": [choice]})


def test_several_models_under_one_name_are_said(serve: Serve, folder: Path) -> None:
    server = serve(polite)
    with (
        proxy(folder, "openai/m", "--url", f"{server.url}/v1", "--profile", "safe-language") as command,
        openai.OpenAI(base_url=f"{command.url}/v1", api_key=KEY, max_retries=0) as client,
    ):
        for model in ("m", "n", "n"):
            said = [{"role": "user", "content": "Hello."}]
            client.chat.completions.create(model=model, messages=said)
    assert "passed   3 exchanges read (n × 2, m × 1)" in command.err
    assert "note     answers of 2 models are rated as one service, openai/m" in command.err


def test_nothing_passed(serve: Serve, folder: Path) -> None:
    server = serve(hostile)
    with proxy(folder, "ollama/m", "--url", f"{server.url}/v1") as command:
        pass
    assert command.process.returncode == 0
    assert "none: no answer passed that could be read" in command.err
    assert command.out == ""


def test_beyond_this_machine_the_token_is_wanted_and_never_told(serve: Serve, folder: Path) -> None:
    server = serve(hostile)
    asked = ["ollama/m", "--url", f"{server.url}/v1", "--listen", "0.0.0.0", "-v"]
    with proxy(folder, *asked, token=TOKEN) as command:
        for token, status in ((TOKEN, 404), ("another-token-of-this-test", 401)):
            request = urllib.request.Request(f"{command.url}/trustgauge/x")
            request.add_header("X-Trustgauge-Token", token)
            with pytest.raises(urllib.error.HTTPError) as caught:
                urllib.request.urlopen(request, timeout=60)
            assert caught.value.code == status
            caught.value.close()
    assert "token    every request must bring it in X-Trustgauge-Token" in command.said
    assert "keys and texts travel openly" in command.said
    assert "1 did not pass: without the token" in command.err
    text = command.out + command.err + "".join(map(repr, files(folder).values()))
    assert TOKEN not in text
    with proxy(folder, *asked, "--listen", "127.0.0.1", token=TOKEN) as command:
        assert "token    every" in command.said, "a token that is set is wanted here, too"


def test_texts_are_their_owners_alone(serve: Serve, folder: Path) -> None:
    """Also under the most open umask; of a transcript that others can read it is said."""
    server = serve(hostile)
    before = os.umask(0)
    try:
        with proxy(folder, "ollama/m", "--url", f"{server.url}/v1", "--ratings", "r") as command:
            (transcript,) = (folder / "r" / "proxy").iterdir()
            assert stat.S_IMODE(transcript.stat().st_mode) == 0o600
            assert stat.S_IMODE(transcript.parent.stat().st_mode) == 0o700
        assert "chmod" not in command.said
        (folder / "old.jsonl").touch()
        with proxy(folder, "ollama/m", "--url", f"{server.url}/v1", "--transcript", "old.jsonl") as command:
            assert "others can read the texts of before: chmod 600 old.jsonl" in command.said
    finally:
        os.umask(before)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("openai/m", "--listen", "0.0.0.0"), "others than this machine could use the proxy"),
        (("openai/m", "--allow-origin", "*"), "--allow-origin: no origin of a web page"),
        (("openai/m", "--secret-header", "a b"), "--secret-header: no name of a header"),
        (("openai/m", "--transcript", "link.jsonl"), "link.jsonl is a link"),
        (("eliza/rude",), "the proxy cannot forward to this service"),
        (("anthropic/m",), "the proxy cannot forward to this service"),
        (("nobody/m",), 'no service "nobody"'),
        (("openai/m", "--url", "ftp://x"), "no usable address. Must be an address that begins"),
        (("openai/m", "--url", "https://me:pw@x"), "Must be an address without user, password or key"),
        (("openai/m", "--profile", "nobody-first"), "nobody-first"),
        (("openai/m", "--transcript", "bad.jsonl"), "bad.jsonl: line 2 is not a JSON object"),
        (("openai/m", "--transcript", "talks.txt"), "unknown kind of file"),
        (("openai/m", "--redact", "--transcript", "x.jsonl"), "one of the two"),
    ],
)
def test_what_it_cannot_do(folder: Path, options: tuple[str, ...], said: str) -> None:
    (folder / "link.jsonl").symlink_to(folder / "elsewhere.jsonl")
    (folder / "bad.jsonl").write_text('{"dialog": "d", "speaker": "user", "text": "hello"}\nnot json\n')
    with socket.create_server(("127.0.0.1", 0)) as taken:  # so that none of them would go on to serve
        port = str(taken.getsockname()[1])
        done = trustgauge("proxy", *options, "--port", port, folder=folder)
    assert done.returncode == 2
    assert said in done.stderr
