"""Writing never holds traffic up: what cannot be written is lost, counted and said."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.apps.proxy.exchanges import HELLO, bot, said, user
from trustgauge.apps.proxy.recorder import Recorder
from trustgauge.run.transcript import Transcript, lines


def recorder(path: Path, room: int = 100) -> Recorder:
    return Recorder(Transcript(path), room=room)


def test_exchanges_become_lines(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    one = recorder(path)
    one.start()
    one.offer(said(*HELLO, answer="Hi."))
    one.offer(said(*HELLO, bot("Hi."), user("a"), user("b"), answer=""))
    assert one.settle(10)
    rows = [(row["turn"], row["speaker"], row["text"]) for row in lines(path)]
    one.close()
    assert rows == [
        *((0, "user", "hello"), (0, "bot", "Hi.")),
        *((1, "user", "a"), (1, "user", "b"), (1, "bot", "")),
    ]
    assert [row.get("status") for row in lines(path)] == [None, "answered", None, None, "empty"]
    assert one.counts.facts() == {
        "read": 2,
        "utterances": 1,
        "missed": {},
        "statuses": {},
        "models": {"m-1": 2},
        "refused": {},
        "faults": {},
    }


def test_a_full_queue_loses_rows_and_never_waits(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    one = recorder(path, room=3)  # not started yet: nobody takes anything out
    began = time.monotonic()
    for number in range(5):
        one.offer(said(user(str(number))))
    assert time.monotonic() - began < 10
    one.start()
    one.close()
    assert dict(one.counts.missed) == {"lost": 2}
    assert [row["text"] for row in lines(path) if row["speaker"] == "user"] == ["0", "1", "2"]


def test_room_is_given_back(tmp_path: Path) -> None:
    one = recorder(tmp_path / "t.jsonl", room=1)
    one.start()
    for number in range(5):
        one.offer(said(user(str(number))))
        assert one.settle(10)
    one.close()
    assert one.counts.read == 5
    assert not one.counts.missed


def test_names_of_users_are_not_written(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    one = recorder(path)
    one.start()
    for name in ("ann@example.org", "bob", "ann@example.org"):
        one.offer(said(*HELLO, user=name))
    one.close()
    result = [row["user"] for row in lines(path) if row["speaker"] == "bot"]
    assert result[0] == result[2] != result[1]
    assert b"ann" not in path.read_bytes()


FULL = """
import json, pathlib, resource, signal, sys
from tests.apps.proxy.exchanges import said, user
from tests.apps.proxy.test_recorder import recorder

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
one = recorder(pathlib.Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))
one.start()
for number in range(30):
    one.offer(said(user("x" * 100)))
    one.settle(10)
one.close()
print(json.dumps([one.error, one.counts.read, one.counts.missed]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX limits")
def test_a_full_disk_is_said_and_what_comes_after_it_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, check=True, timeout=60
    )
    error, read, missed = json.loads(done.stdout)
    assert "File too large" in error
    assert 1 < read < 30
    assert missed == {"unwritten": 30 - read}
    whole = [row for row in lines(path) if row["speaker"] == "bot"]
    assert len(whole) in (read - 1, read)
