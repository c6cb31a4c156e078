"""The SQLite store: what it keeps, what it gives back, what it says when it cannot."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store.rows import SERVICE, answer, python
from trustgauge.errors import StoreError
from trustgauge.store.sqlite import SqliteStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with SqliteStore(tmp_path / "store.sqlite") as opened:
        yield opened


def test_borrowing_takes_what_is_wanted_usable_and_missing(tmp_path: Path) -> None:
    tmp_path /= os.fsdecode("Läufe #1".encode("latin-1"))  # as older systems wrote it: no UTF-8
    tmp_path.mkdir()
    with SqliteStore(tmp_path / "old.sqlite") as old:
        old.add([answer(number, output="old") for number in range(5)])
        old.add([answer(5, status="failed", output=None), answer(6, fingerprint="other")])
    with SqliteStore(tmp_path / "new.sqlite") as new:
        new.add([answer(0, output="new"), answer(1, status="failed", output=None)])
        wanted = [(answer(number).message, draw) for number in (0, 2, 3, 5, 6) for draw in (0, 1)]
        assert new.borrow(tmp_path / "old.sqlite", SERVICE, wanted, "TG-1") == 2
        outputs = {row["text"]: row["output"] for row in new.answers(SERVICE).rows(named=True)}
        assert outputs == {"text 0": "new", "text 1": None, "text 2": "old", "text 3": "old"}
        new.integrity()


@pytest.mark.parametrize(
    "tampering",
    [
        "UPDATE response SET text = 'other' WHERE text = 'text 3'",
        "UPDATE document SET text = 'UCS'",
        "UPDATE response SET script = '{' WHERE text = 'text 3'",
        f"UPDATE response SET script = '{100_000 * '['}' WHERE text = 'text 3'",
    ],
    ids=["text", "document", "no script", "deep script"],
)
def test_integrity_notices_changes_from_outside(tmp_path: Path, tampering: str) -> None:
    path = tmp_path / "store.sqlite"
    with SqliteStore(path) as store:
        store.add([answer(number) for number in range(5)])
        store.put("rating/0", "BS")
    with sqlite3.connect(path) as db:
        db.execute(tampering)
    db.close()
    with SqliteStore(path, read_only=True) as store, pytest.raises(StoreError, match="changed after"):
        store.integrity()


def test_one_writer_and_the_other_is_named(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    script = (
        "import sys, pathlib; from trustgauge.store.sqlite import SqliteStore\n"
        "store = SqliteStore(pathlib.Path(sys.argv[1])); print('open', flush=True); sys.stdin.read()"
    )
    with python(script, str(path)) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        with pytest.raises(StoreError, match=f"in use.*process {other.pid}"):
            SqliteStore(path)
        with SqliteStore(path, read_only=True) as reader:  # many readers
            assert reader.present(SERVICE) == set()
        other.kill()  # -9
        other.wait()
        assert other.stderr is not None
        other.stderr.close()
        with SqliteStore(path) as store:
            store.add([answer(1)])


def test_a_closed_store_is_one_file_that_can_be_copied_and_read(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "store.sqlite") as store:
        store.add([answer(number) for number in range(500)])
    assert not (tmp_path / "store.sqlite-wal").exists()
    copy = tmp_path / "elsewhere" / "a 100% copy?#.sqlite"
    copy.parent.mkdir()
    shutil.copy(tmp_path / "store.sqlite", copy)
    with SqliteStore(copy, read_only=True) as read:
        assert len(read.present(SERVICE)) == 500
        with pytest.raises(StoreError):
            read.add([answer(1)])
