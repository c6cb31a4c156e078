"""What strangers can hold: memory, connections and time are bounded, and who is refused is told why."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from tests.apps.proxy.proxies import Sink, proxied, raw, received
from tests.servers import LocalServer, Response
from tests.services.protocols import chats
from trustgauge.apps.proxy.limits import SLOWEST, IdleTimer, TrafficLimits

resource = pytest.importorskip("resource", reason="sockets are files")

Serve = Callable[..., LocalServer]
SHORT = 0.3  # seconds of a limit that is to be reached
SOON = 30.0  # seconds within which what has to happen has happened


def head(length: int, path: str = "/v1/chat/completions") -> bytes:
    return f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n".encode()


def chat(words: str = "hello") -> bytes:
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": words}]}).encode()
    return head(len(body)) + body


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=SOON)


def is_refused(back: bytes, status: int, code: str) -> bool:
    return (
        int(back[9:12] or 0) == status and json.loads(back.partition(b"\r\n\r\n")[2])["error"]["code"] == code
    )


@pytest.fixture
def sink() -> Iterator[Sink]:
    with Sink() as running:
        yield running


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    return tmp_path / "t.jsonl"


# --- connections


def test_further_connections_are_refused_in_words(sink: Sink, transcript: Path) -> None:
    with proxied(sink.url, transcript, limits=TrafficLimits(connections=3)) as proxy, ExitStack() as held:
        three = [held.enter_context(connected(proxy.port)) for _ in range(3)]
        for one in three:
            one.sendall(chat())
            assert received(one, b"Hi.").startswith(b"HTTP/1.1 200")
        back = raw(proxy.port, chat())
        assert is_refused(back, 503, "proxy.full")
        assert b"retry-after: 1\r\n" in back
        assert b"has no room for this request now" in back
        three[0].close()
        deadline = time.monotonic() + SOON
        while not (back := raw(proxy.port, chat(), until=b"Hi.")).startswith(b"HTTP/1.1 200"):
            assert time.monotonic() < deadline, back
    assert proxy.served.counts.read == 4
    assert proxy.served.counts.refused["proxy.full"] >= 1


def test_who_sends_on_reads_why_it_is_refused(sink: Sink, transcript: Path) -> None:
    """A connection that is closed while a body comes would be reset, and the words lost."""
    with (
        proxied(sink.url, transcript, limits=TrafficLimits(connections=1)) as proxy,
        connected(proxy.port) as first,
    ):
        first.sendall(chat())
        received(first, b"Hi.")
        with connected(proxy.port) as second:
            second.sendall(head(3_000_000) + b"x" * 3_000_000)
            assert is_refused(received(second), 503, "proxy.full")


@pytest.mark.parametrize(
    ("soft", "hard", "wanted", "affordable", "allowed"),
    [
        (500, None, 80, 80, 500),
        (500, None, 300, 300, 920),  # more files are allowed where they can be
        (700, 700, 400, 190, 700),
        (700, 700, 10, 10, 700),
    ],
)
def test_as_many_connections_as_files_may_be_opened(
    soft: int, hard: int | None, wanted: int, affordable: int, allowed: int
) -> None:
    """In a process of its own: how many files this one has open depends on the tests before."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1] if hard is None else hard
    code = f"import resource as r; r.setrlimit(r.RLIMIT_NOFILE, ({soft}, {most})); "
    code += "from trustgauge.apps.proxy.limits import affordable_connections as fit; "
    code += f"print(fit({wanted}), r.getrlimit(r.RLIMIT_NOFILE)[0])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"{affordable} {allowed}\n"


# --- bytes


CHUNKED = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"


def test_bodies_beyond_the_room_are_refused_and_small_ones_pass(sink: Sink, transcript: Path) -> None:
    with proxied(sink.url, transcript, limits=TrafficLimits(body_bytes=1_000_000)) as proxy:
        with connected(proxy.port) as slow:
            slow.sendall(head(700_000) + b"x" * 600_000)
            assert waited(slow) == b"", "there is room for this one"
            back = raw(proxy.port, head(500_000) + b"x" * 100)
            assert is_refused(back, 503, "proxy.full"), "it says how long it will be: nothing is sent on"
            assert len(sink.heads) == 1
            back = raw(proxy.port, CHUNKED + b"7a120\r\n" + b"x" * 500_000)
            assert is_refused(back, 503, "proxy.full"), "it did not say so"
            assert b"Hi." in raw(proxy.port, chat(), until=b"Hi.")
            assert b"Hi." in raw(proxy.port, chat("x" * 40_000), until=b"Hi.")
        deadline = time.monotonic() + SOON
        while b"Hi." not in raw(proxy.port, chat("x" * 500_000), until=b"Hi."):
            assert time.monotonic() < deadline, "there is room again"
    assert proxy.served.counts.read == 3


def waited(connection: socket.socket) -> bytes:
    """What comes within half a second, if anything."""
    connection.settimeout(0.5)
    try:
        return received(connection)
    except TimeoutError:
        return b""
    finally:
        connection.settimeout(SOON)


def test_what_passed_makes_room(sink: Sink, transcript: Path) -> None:
    """Over one connection and over many, whole and cut off: nothing is counted for good."""
    with proxied(sink.url, transcript, limits=TrafficLimits(body_bytes=600_000)) as proxy:
        with connected(proxy.port) as one:
            for _ in range(7):
                one.sendall(chat("x" * 100_000))
                assert b"Hi." in received(one, b"Hi.")
        for _ in range(7):
            with connected(proxy.port) as one:
                one.sendall(head(250_000) + b"x" * 100_000)
                time.sleep(0.02)
        deadline = time.monotonic() + SOON
        while b"Hi." not in raw(proxy.port, chat("x" * 250_000), until=b"Hi."):
            assert time.monotonic() < deadline
    assert proxy.served.counts.read == 8


def test_an_answer_beyond_the_room_passes_and_is_not_rated(serve: Serve, transcript: Path) -> None:
    server = serve(chats.completion("y" * 500_000))
    with proxied(f"{server.url}/v1", transcript, limits=TrafficLimits(body_bytes=200_000)) as proxy:
        back = raw(proxy.port, chat(), until=b'"}')
        assert back.count(b"y") >= 500_000
    assert dict(proxy.served.counts.missed) == {"lost": 1}
    assert not proxy.served.counts.refused


PEAK = re.compile(r"VmHWM:\s+(\d+) kB")


@contextmanager
def command(sink: Sink, folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """`trustgauge proxy` before the sink, and its port."""
    arguments = [sys.executable, "-m", "trustgauge", "proxy", "openai/m", "--url", sink.url, "--port", "0"]
    process = subprocess.Popen([*arguments, *options], stderr=subprocess.PIPE, text=True, cwd=folder)
    assert process.stderr is not None
    try:
        said = ""
        while "\nstop " not in said:
            line = process.stderr.readline()
            assert line, said
            said += line
        port = re.search(r"127\.0\.0\.1:(\d+)", said)
        assert port is not None
        yield process, int(port[1])
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


def peak(process: subprocess.Popen[str]) -> float:
    """Megabytes that a process held at most so far."""
    found = PEAK.search(Path(f"/proc/{process.pid}/status").read_text())
    assert found is not None
    return int(found[1]) / 1000


@pytest.fixture
def files() -> Iterator[None]:
    """Room for a thousand sockets."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(before[0], 4096), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.skipif(sys.platform != "linux", reason="reads memory from /proc")
def test_600_slow_bodies_take_little_memory(sink: Sink, tmp_path: Path, files: None) -> None:
    """Each sends 400 kB of a body and no more: 240 MB, of which the proxy holds what it was allowed."""
    small = head(2, "/v1/embeddings") + b"{}"
    with command(sink, tmp_path, "--limit-megabytes", "20") as (process, port), ExitStack() as held:
        assert b"Hi." in raw(port, small, until=b"Hi.")
        before = peak(process)
        every = [held.enter_context(connected(port)) for _ in range(600)]
        for data in (head(4_000_000), *[b"x" * 100_000] * 4):
            for one in every:
                with suppress(OSError):  # hung up, after it was told why
                    one.sendall(data)
        assert b"Hi." in raw(port, small, until=b"Hi."), "others are served"
        assert peak(process) - before < 100
        refused = 0
        for one in every:
            one.setblocking(False)
            with suppress(OSError):
                refused += b'"proxy.full"' in one.recv(65536)
        assert refused > 200


# --- time


@pytest.mark.parametrize(
    "sent",
    [b"POST /v1/chat/completions HTTP/1.1\r\nHost: local", head(100) + b"x" * 50, b"G"],
    ids=["a head", "a body", "a letter"],
)
def test_who_does_not_go_on_is_told(sink: Sink, transcript: Path, sent: bytes) -> None:
    limits = TrafficLimits(head_seconds=SHORT, body_seconds=SHORT)
    with proxied(sink.url, transcript, limits=limits) as proxy:
        back = raw(proxy.port, sent)
    assert is_refused(back, 408, "request.slow")
    assert b"did not come in time" in back
    assert proxy.served.counts.refused == {"request.slow": 1}


@pytest.mark.parametrize("start", [b"GET /", head(5000)], ids=["a head", "a body"])
def test_who_drips_is_told(sink: Sink, transcript: Path, start: bytes) -> None:
    """Something always comes, and never enough."""
    limits = TrafficLimits(head_seconds=SHORT, body_seconds=SHORT)
    with proxied(sink.url, transcript, limits=limits) as proxy, connected(proxy.port) as one:
        one.sendall(start)
        one.settimeout(0.05)
        back, deadline = b"", time.monotonic() + SOON
        while not back:
            assert time.monotonic() < deadline
            one.sendall(b"x")
            with suppress(TimeoutError):
                back = one.recv(65536)
    assert back.startswith(b"HTTP/1.1 408")


def test_silent_connections_are_closed_without_a_word(sink: Sink, transcript: Path) -> None:
    limits = TrafficLimits(head_seconds=SHORT, idle_seconds=SHORT)
    with proxied(sink.url, transcript, limits=limits) as proxy:
        with connected(proxy.port) as never:
            assert received(never) == b""
        with connected(proxy.port) as once:
            once.sendall(chat())
            assert b"Hi." in received(once, b"Hi.")
            assert received(once).strip(b'"}]\n') == b""
    assert not proxy.served.counts.refused


def test_who_waits_for_the_service_is_not_hurried(serve: Serve, transcript: Path) -> None:
    server = serve(chats.completion("late"), latency=4 * SHORT)
    limits = TrafficLimits(head_seconds=SHORT, body_seconds=SHORT, idle_seconds=SHORT)
    with proxied(f"{server.url}/v1", transcript, limits=limits) as proxy:
        assert b"late" in raw(proxy.port, chat(), until=b"late")
    assert proxy.served.counts.read == 1


def test_a_body_that_the_service_does_not_take_is_not_slow(transcript: Path) -> None:
    body = b"x" * 20_000_000
    limits = TrafficLimits(body_seconds=SHORT)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        with proxied(url, transcript, limits=limits) as proxy, connected(proxy.port) as one:
            one.settimeout(4 * SHORT)
            with pytest.raises(TimeoutError):  # nobody takes it: the client is held back
                one.sendall(head(len(body), "/v1/files") + body)
            service, _ = listener.accept()
            with service:
                service.settimeout(SOON)
                assert len(service.recv(65536)) > 0, "the connection is still there"
                assert waited(one) == b""


def test_a_service_that_takes_nothing_is_given_up(transcript: Path) -> None:
    """Nobody reads from the client meanwhile, so nobody would see that it has hung up."""
    limits = TrafficLimits(held_seconds=SHORT)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        with proxied(url, transcript, limits=limits) as proxy, connected(proxy.port) as one:
            one.sendall(head(30_000_000, "/v1/files"))
            with suppress(OSError):  # hung up on, after it was told why
                one.sendall(b"x" * 30_000_000)
            assert is_refused(received(one), 504, "service.stalled")
    assert proxy.served.counts.refused == {"service.stalled": 1}


def test_who_does_not_take_its_answer_is_hung_up_on(serve: Serve, transcript: Path) -> None:
    body = b"z" * 30_000_000
    server = serve(lambda request: Response(200, body))
    limits = TrafficLimits(body_seconds=SHORT)
    with proxied(f"{server.url}/v1", transcript, limits=limits) as proxy, connected(proxy.port) as one:
        one.sendall(chat())
        deadline = time.monotonic() + SOON
        while not server.requests or server.connections:
            assert time.monotonic() < deadline, "the service is let go of"
            time.sleep(0.02)
    assert dict(proxy.served.counts.missed) == {"cut": 1}


def test_how_long_a_body_may_take() -> None:
    now = [100.0]
    wait = IdleTimer(lambda: now[0])
    for _ in range(200):
        now[0] += 1
        wait.note_bytes(SLOWEST)
        assert not wait.is_slow(60)
    now[0] += 60
    assert not wait.is_slow(60)
    now[0] += 1
    assert wait.is_slow(60), "nothing came for a minute"
    wait.begin()
    for second in range(200):
        now[0] += 1
        wait.note_bytes(SLOWEST // 2)
        assert wait.is_slow(60) == (second + 1 > 60 + (second + 1) / 2)


def test_line_breaks_without_end_cost_nothing(sink: Sink, transcript: Path) -> None:
    began = time.process_time()
    with proxied(sink.url, transcript) as proxy:
        assert b"Hi." in raw(proxy.port, b"\r\n" * 500_000 + chat(), until=b"Hi.")
    assert time.process_time() - began < 2


def test_a_client_of_a_service_that_speaks_no_http_is_held_back(transcript: Path) -> None:
    """What cannot be followed passes; what comes then is not gathered."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        with proxied(url, transcript) as proxy, connected(proxy.port) as one:
            one.sendall(chat())
            service, _ = listener.accept()
            with service:
                answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}and more"
                service.sendall(answer)
                assert received(one, b"more") == answer
                one.settimeout(1.0)
                with pytest.raises(TimeoutError):
                    one.sendall(chat("x" * 20_000_000))
