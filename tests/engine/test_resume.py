"""Engine, store and a real server together: killed at random moments, then the same again."""

from __future__ import annotations

import random
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.servers import LocalServer, Request, Response
from tests.store.rows import python
from trustgauge.records import Message
from trustgauge.services.http import Http
from trustgauge.store.sqlite import SqliteStore

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")

COUNT = 600

RUNS = """
import pathlib, sys
from trustgauge.engine.local import Job, run
from trustgauge.records import Message
from trustgauge.services.http import Http
from trustgauge.store.sqlite import SqliteStore
from trustgauge.store import GroupWriter

path, url, count = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
service = Http(url=url, task="chat", concurrency=16)
told = lambda group: print(*(one.text for one in group), sep="\\n", flush=True)
with SqliteStore(path) as store:
    present = store.present(service.fingerprint)
    wanted = [Message(f"text {number}") for number in range(count)]
    units = [(one,) for one in wanted if (one.key, one.draw) not in present]
    print("asking", len(units), flush=True)
    with GroupWriter(store, notify=told) as writer:
        outcome = run([Job("part", service, units)], writer.keep)
print("stopped", outcome.stopped, flush=True)
"""


def test_no_acknowledged_call_is_sent_twice(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    chance = random.Random(7)

    def answer(request: Request) -> Response:
        return Response.json({"output": request.json()["text"].upper()})

    acknowledged: set[str] = set()
    with LocalServer(answer, latency=0.02) as server:
        for number in range(4):
            already, seen = set(acknowledged), len(server.requests)
            with python(RUNS, str(path), server.url, str(COUNT)) as child:
                assert child.stdout is not None
                assert child.stdout.readline().startswith("asking")
                first = child.stdout.readline() if number == 3 else ""  # however slow the machine is
                time.sleep(0.1 + 0.2 * chance.random())
                child.send_signal(signal.SIGKILL)
                out = first + child.stdout.read()  # `communicate` loses what `readline` took in advance
            assert child.returncode == -signal.SIGKILL, out
            acknowledged.update(out[: out.rfind("\n") + 1].splitlines())
            sent = [request.json()["text"] for request in server.requests[seen:]]
            assert not already & set(sent)
        assert 0 < len(acknowledged) < COUNT
        with python(RUNS, str(path), server.url, str(COUNT)) as child:
            out, err = child.communicate(timeout=60)
        assert out.splitlines()[-1] == "stopped None", err
        assert len(server.requests) < COUNT + 5 * 16 * 5  # at most what was in flight or not yet committed
    fingerprint = Http(url=server.url, task="chat").fingerprint
    with SqliteStore(path) as store:
        store.integrity()
        frame = store.answers(fingerprint)
    wanted = {Message(f"text {number}").key: f"TEXT {number}" for number in range(COUNT)}
    assert dict(frame.select("message", "output").rows()) == wanted
    assert set(frame["status"]) == {"answered"}


def test_ctrl_c_keeps_everything(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"

    def answer(request: Request) -> Response:
        return Response.json({"output": "fine"})

    with LocalServer(answer, latency=0.02) as server:
        with python(RUNS, str(path), server.url, "100000") as child:
            assert child.stdout is not None
            assert child.stdout.readline().startswith("asking")
            time.sleep(0.4)
            child.send_signal(signal.SIGINT)
            assert child.stderr is not None
            out, err = child.stdout.read(), child.stderr.read()
            assert child.wait(20) != 0
        assert err.rstrip().endswith("Interruption: interrupted")
        answered = {request.json()["text"] for request in server.requests}
    with SqliteStore(path) as store:
        kept = set(store.answers(Http(url=server.url, task="chat").fingerprint)["text"])
    assert kept == answered == set(out.splitlines())
    assert kept
