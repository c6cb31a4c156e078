"""What the proxy adds to an answer: the same requests direct and through it, in turns, in one run.

    python -m benchmarks.proxy [--requests 500] [--latency 0.005] [--at-once 16]

A local chat service, the proxy (`trustgauge proxy`, with everything that it does beside passing: reading,
a transcript on disk) and the client are a process each. Milliseconds from the first byte sent

- whole: to the last byte of an answer that comes at once;
- first byte, last byte: of an answer that streams 20 events, a millisecond apart;
- at once: whole answers to so many clients at a time;
- rating: whole answers while what passed is rated again and again.

Clients are bare sockets, so that no library's own time hides the difference. A claim is the difference of
the medians, of requests that took turns.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from statistics import median, quantiles
from typing import Any

EVENTS, APART = 20, 0.001
WORDS = "The clinic is open from eight to six, and on Saturdays until noon. " * 4
LENGTH = re.compile(rb"content-length: (\d+)")
WIDTHS = (9, 9, 9, 12, 12)
Times = list[float]


class Service(asyncio.Protocol):
    """The least that a chat service can be; each answer comes after `latency` seconds."""

    latency = 0.0
    transport: asyncio.Transport

    def connection_made(self, transport: Any) -> None:
        self.transport, self.buffer = transport, b""

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        end = self.buffer.find(b"\r\n\r\n")
        length = LENGTH.search(self.buffer)
        if end < 0 or length is None or len(self.buffer) < end + 4 + int(length[1]):
            return
        streamed = b'"stream": true' in self.buffer
        self.buffer = b""
        act = self.stream if streamed else self.whole
        asyncio.get_running_loop().call_later(self.latency, act)

    def whole(self) -> None:
        choice = {"index": 0, "message": {"role": "assistant", "content": WORDS}, "finish_reason": "stop"}
        body = json.dumps({"object": "chat.completion", "model": "bench", "choices": [choice]}).encode()
        head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        self.transport.write(head.encode() + body)

    def stream(self) -> None:
        self.transport.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        self.event(0)

    def event(self, number: int) -> None:
        if number == EVENTS:
            self.transport.write(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")
            return
        data = {"choices": [{"index": 0, "delta": {"content": f"word {number} "}, "finish_reason": None}]}
        line = f"data: {json.dumps(data)}\n\n".encode()
        self.transport.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
        asyncio.get_running_loop().call_later(APART, self.event, number + 1)


def serve(latency: float) -> None:
    """Serve on a free port, said on the first line, until the process is ended."""

    async def forever() -> None:
        Service.latency = latency
        server = await asyncio.get_running_loop().create_server(Service, "127.0.0.1", 0)
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()

    asyncio.run(forever())


class Client:
    """One kept connection."""

    numbers = count()

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, *, stream: bool) -> tuple[float, float]:
        """Milliseconds to the first and to the last byte of an answer."""
        said = [{"role": "user", "content": f"When is the clinic open? {next(self.numbers)} " + WORDS}]
        body = json.dumps({"model": "bench", "messages": said, "stream": stream}).encode()
        head = (
            "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer sk-bench-0000\r\n"
        )
        head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        began = time.perf_counter()
        self.socket.sendall(head.encode() + body)
        got = self.socket.recv(65536)
        first = time.perf_counter() - began
        while not self.ended(got):
            got += self.socket.recv(65536)
        assert got.startswith(b"HTTP/1.1 200"), got[:200]
        return first * 1000, (time.perf_counter() - began) * 1000

    @staticmethod
    def ended(got: bytes) -> bool:
        length, end = LENGTH.search(got), got.find(b"\r\n\r\n")
        if length is not None:
            return len(got) >= end + 4 + int(length[1])
        return got.endswith(b"\r\n0\r\n\r\n")


@contextmanager
def running(command: list[str], line: Callable[[str], int | None]) -> Iterator[int]:
    """A process that tells its port on standard output or error."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout is not None
        found = None
        while found is None:
            said = process.stdout.readline()
            assert said, "the process ended"
            found = line(said)
        yield found
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


def in_turns(ports: list[int], requests: int, *, stream: bool) -> list[tuple[Times, Times]]:
    """First and last bytes for each port; the requests take turns."""
    clients = [Client(port) for port in ports]
    times: list[tuple[Times, Times]] = [([], []) for _ in ports]
    for number in range(requests + 20):
        for client, (first, last) in zip(clients, times, strict=True):
            a, b = client.ask(stream=stream)
            if number >= 20:  # the first ones warm up
                first.append(a)
                last.append(b)
    return times


def at_once(ports: list[int], requests: int, clients: int) -> list[Times]:
    """Whole answers to several clients at a time, in rounds that take turns."""
    times: list[Times] = [[] for _ in ports]

    def work(port: int, mine: Times) -> None:
        client = Client(port)
        mine += [client.ask(stream=False)[1] for _ in range(20)]

    for _ in range(max(1, requests // clients // 20)):
        for port, mine in zip(ports, times, strict=True):
            threads = [threading.Thread(target=work, args=(port, mine)) for _ in range(clients)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    return times


@contextmanager
def rating(port: int) -> Iterator[None]:
    """Somebody who asks for the running rating all the time."""
    over = threading.Event()

    def ask() -> None:
        while not over.is_set():
            urllib.request.urlopen(f"http://127.0.0.1:{port}/trustgauge/rating", timeout=120).read()

    thread = threading.Thread(target=ask)
    thread.start()
    time.sleep(0.2)
    yield
    over.set()
    thread.join()


def show(name: str, direct: Times, through: Times) -> tuple[float, float]:
    """A line of the table; returns both medians."""
    cuts = [quantiles(times, n=100)[97] for times in (direct, through)]
    added = median(through) - median(direct)
    cells = [median(direct), median(through), added, *cuts]
    print(f"{name:<14}", *(f"{cell:>{width}.3f}" for cell, width in zip(cells, WIDTHS, strict=True)), sep="")
    return median(direct), median(through)


def compare(options: argparse.Namespace) -> None:
    """Direct and through the proxy, in turns."""
    service = [sys.executable, "-m", "benchmarks.proxy", "--serve", "--latency", str(options.latency)]
    with tempfile.TemporaryDirectory() as folder, running(service, int) as port:
        proxy = [sys.executable, "-m", "trustgauge", "proxy", "openai/bench", "--port", "0"]
        proxy += ["--url", f"http://127.0.0.1:{port}/v1", "--ratings", folder, "--every", "0"]
        with running(proxy, listening) as passing:
            heads = ("direct", "proxy", "added", "direct p98", "proxy p98")
            print(" " * 14, *(f"{head:>{size}}" for head, size in zip(heads, WIDTHS, strict=True)), sep="")
            ports = [port, passing]
            (_, direct), (_, through) = in_turns(ports, options.requests, stream=False)
            told = {"whole": show("whole", direct, through)}
            one, two = in_turns(ports, options.requests // 4, stream=True)
            told["first byte"] = show("first byte", one[0], two[0])
            told["last byte"] = show("last byte", one[1], two[1])
            name = f"{options.at_once} at once"
            told[name] = show(name, *at_once(ports, options.requests * 2, options.at_once))
            with rating(passing):
                (_, direct), (_, through) = in_turns(ports, options.requests, stream=False)
            told["rating"] = show("rating", direct, through)
    if options.json:
        print(json.dumps(told))


def listening(line: str) -> int | None:
    """The port that the proxy names."""
    found = re.match(r"proxy +http://127\.0\.0\.1:(\d+)", line)
    return int(found[1]) if found else None


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.proxy", description=__doc__)
    parser.add_argument("--requests", type=int, default=500)
    parser.add_argument("--latency", type=float, default=0.005, help="seconds")
    parser.add_argument("--at-once", type=int, default=16)
    parser.add_argument("--serve", action="store_true", help="only be the service")
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    options = parser.parse_args()
    if options.serve:
        serve(options.latency)
    else:
        compare(options)


if __name__ == "__main__":
    main()
