"""What a run writes is its owner's alone, whatever the umask, and never goes through a link."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.store.rows import answer
from trustgauge.engine import ReservationLedger
from trustgauge.errors import StoreError
from trustgauge.plan import load_plan
from trustgauge.records import Cost
from trustgauge.run import chat_store
from trustgauge.run.chat_store import ChatRecord
from trustgauge.run.options import RunOptions
from trustgauge.run.run import rate
from trustgauge.run.transcript import Transcript, lines
from trustgauge.store.folder import EventLog, RunFolder, WriterLock, create_run, write_file
from trustgauge.store.sqlite import SqliteStore
from trustgauge.store.worker_log import WorkerLog, claim

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="permissions of another kind")
NOW = datetime(2026, 11, 22, tzinfo=UTC)
PLAN = {
    "services": {"a": {"use": "anchor", "behaviour": "coin"}},
    "experiments": [{"method": "two-step", "services": ["a"], "texts": 10, "draws": 1000}],
}


@pytest.fixture(params=[0o000, 0o377], ids=["umask 000", "umask 377"])
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    """The most open umask, and one that would take the owner's own rights."""
    before = os.umask(request.param)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    """Permissions of a folder and of all that lies in it."""
    return {
        str(path.relative_to(folder.parent)): stat.S_IMODE(path.stat().st_mode)
        for path in (folder, *folder.rglob("*"))
    }


def others(folder: Path) -> dict[str, str]:
    """What is not its owner's alone, or not all his, and its permissions."""
    right = {path: 0o700 if (folder.parent / path).is_dir() else 0o600 for path in modes(folder)}
    return {path: oct(mode) for path, mode in modes(folder).items() if mode != right[path]}


@pytest.mark.parametrize("kind", ["sqlite", "parquet"])
def test_every_file_of_a_run(tmp_path: Path, umask: None, kind: str) -> None:
    run = rate(load_plan({**PLAN, "run": {"store": kind}}), RunOptions(ratings=tmp_path)).folder
    assert {"manifest.json", "events.jsonl", "rating.json", "report.html", "plan.toml"} <= {
        path.name for path in run.iterdir()
    }
    assert others(run) == {}


def test_while_a_run_is_under_way(tmp_path: Path, umask: None) -> None:
    """The log beside the store, the ledger and the logs of workers hold answers or costs, too."""
    with RunFolder.open(tmp_path, "a" * 32, now=NOW) as folder:
        folder.store.add([answer(1)])
        assert (folder.path / "store.sqlite-wal").exists()
        ledger = ReservationLedger(folder.path / "ledger.jsonl", (10, None, None), Cost())
        ledger.cover(1, 0.0, 0)
        log = WorkerLog(folder.path / "workers", "one")
        log.add([answer(2)])
        assert claim(folder.path / "workers", "two")
        under_way = {Path(path).name for path in modes(folder.path)}
        assert {"store.sqlite-shm", "store.sqlite.lock", "ledger.jsonl", "one.lock", "two.begun"} < under_way
        assert others(folder.path) == {}
        log.close()


def test_chats_and_transcripts(tmp_path: Path, umask: None) -> None:
    (tmp_path / chat_store.CHATS).mkdir()
    (tmp_path / chat_store.CHATS).chmod(0o700)  # it holds no texts itself, and is as the umask says
    chat = chat_store.create(tmp_path, ChatRecord(Path(), "a", {}, {}, "everyone", 1, ""), NOW)
    for path in (chat.folder / "transcript.jsonl", tmp_path / "proxy" / "t.jsonl"):
        with Transcript(path) as transcript:
            transcript.add("1", 0, "user", "hello")
        assert others(path.parent) == {}


def test_what_is_there_keeps_its_permissions(tmp_path: Path) -> None:
    """Whoever opened a transcript to others goes on with it."""
    path = tmp_path / "t.jsonl"
    path.touch()
    path.chmod(0o640)
    Transcript(path).close()
    assert modes(path) == {"t.jsonl": 0o640}


def test_what_is_meant_for_others_is_as_the_umask_says(tmp_path: Path) -> None:
    before = os.umask(0o022)
    write_file(tmp_path / "watch.html", "page", private=False)
    os.umask(before)
    assert modes(tmp_path / "watch.html") == {"watch.html": 0o644}


WRITERS: dict[str, Callable[[Path], object]] = {
    "the lock": WriterLock,
    "events": EventLog,
    "the store": SqliteStore,
    "a transcript": Transcript,
    "a ledger": lambda path: ReservationLedger(path, (10, None, None), Cost()).cover(1, 0.0, 0),
}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("there", [True, False])
def test_a_link_is_refused_and_what_it_points_to_unchanged(tmp_path: Path, name: str, there: bool) -> None:
    victim = tmp_path / "victim"
    if there:
        victim.write_bytes(b"precious")
    path = tmp_path / "run" / "laid"
    path.parent.mkdir()
    path.symlink_to(victim)
    with pytest.raises(StoreError, match=r"laid is a link.* Must be an ordinary file"):
        WRITERS[name](path)
    assert victim.exists() is there
    assert not there or victim.read_bytes() == b"precious"


@pytest.mark.parametrize("name", WRITERS)
def test_a_pipe_is_refused_at_once(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "laid")
    with pytest.raises(StoreError, match="laid is a pipe"):
        WRITERS[name](tmp_path / "laid")


@pytest.mark.parametrize("name", ["events.jsonl", "store.sqlite.lock", "store.sqlite-wal", "store.parquet"])
def test_a_run_folder_with_a_link_is_not_written(tmp_path: Path, name: str) -> None:
    path = create_run(tmp_path, "a" * 32, NOW)
    (path / name).symlink_to(tmp_path / "victim")
    with pytest.raises(StoreError, match=f"{name} is a link"):
        RunFolder.open(tmp_path, "a" * 32, now=NOW)
    assert not (tmp_path / "victim").exists()


def test_half_a_line_is_cut_off_however_long_it_is(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with Transcript(path) as transcript:
        transcript.add("1", 0, "user", "hello")
    for half in (b'{"dialog', b"x" * 2_500_000):
        with path.open("ab") as file:
            file.write(half)
        with Transcript(path) as transcript:
            transcript.add("1", 0, "bot", "hi")
    assert [row["text"] for row in lines(path)] == ["hello", "hi", "hi"]
    path.write_bytes(b"x" * 1_100_000)
    Transcript(path).close()
    assert path.read_bytes() == b""
