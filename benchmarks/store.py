"""Answers a second into the stores and back, against plain sqlite3 with the same columns, in one run.

    python -m benchmarks.store [--answers 100000] [--folder .]

Answers of about 1 kB are written

- in groups of 50 and of 1,000, each group committed before the next begins (`SqliteStore.add`), against
  `executemany` in one transaction a group, of rows made beforehand;
- one by one through the group writer, as asking does, into the SQLite and into the Parquet store.

All files have a write-ahead log and full sync. Everything is read back, and both ways must give the same
rows. Wall seconds of one pass, the ways one after the other; the speed of the disk decides, so what counts
are the ratios.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from benchmarks.results import Found, Row, Target, as_json, line
from trustgauge.records import Answer, Message
from trustgauge.store import COLUMNS, GroupWriter, Store, row_of
from trustgauge.store.parquet import ParquetStore
from trustgauge.store.sqlite import ANSWERS, SqliteStore

FINGERPRINT = "benchmark"
GROUPS = {50: 22_000, 1_000: 66_000}
"""Answers a group, and how many answers a second are to be written so (on the disk of the design)."""
SAID = "The nurse said that she had finished her work for the day and was on her way home. "
Piece = TypeVar("Piece")
Made = TypeVar("Made")


def answers(count: int) -> list[Answer]:
    """Different answers of about 1 kB with their keys."""
    told = (f"Number {n}: {SAID * 5}" for n in range(count))
    when = "2026-01-01T00:00:00.000Z"
    return [
        Answer(
            FINGERPRINT, Message(text).key, 0, text, "answered", text[::-1], millis=20.0, tokens=200, at=when
        )
        for text in told
    ]


def groups(every: Sequence[Piece], size: int) -> Iterator[Sequence[Piece]]:
    """In their order, `size` at a time."""
    return (every[start : start + size] for start in range(0, len(every), size))


def timed(work: Callable[[], Made]) -> tuple[float, Made]:
    """Wall seconds, and what came out."""
    began = time.perf_counter()
    made = work()
    return time.perf_counter() - began, made


class Plain:
    """The least that keeps answers with sqlite3: one table with the same columns and key."""

    def __init__(self, path: Path) -> None:
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("PRAGMA synchronous = FULL")
        self.db.execute(f"CREATE TABLE response ({', '.join(COLUMNS)}, UNIQUE (fingerprint, message, draw))")

    def add(self, rows: Sequence[tuple[object, ...]]) -> None:
        """One transaction."""
        self.db.execute("BEGIN IMMEDIATE")
        self.db.executemany(f"INSERT INTO response VALUES ({', '.join('?' * len(COLUMNS))})", rows)
        self.db.execute("COMMIT")

    def read(self) -> list[tuple[object, ...]]:
        """All rows by key, in the columns that stores give back."""
        wanted = f"SELECT {', '.join(ANSWERS)} FROM response WHERE fingerprint = ? ORDER BY message, draw"
        return self.db.execute(wanted, (FINGERPRINT,)).fetchall()

    def close(self) -> None:
        """Release the file."""
        self.db.close()


def plain(
    path: Path, rows: Sequence[tuple[object, ...]], size: int
) -> tuple[float, float, list[tuple[object, ...]]]:
    """Seconds to write in groups, seconds to read, and what was read."""
    store = Plain(path)

    def write() -> None:
        for group in groups(rows, size):
            store.add(group)

    try:
        written, _ = timed(write)
        read, found = timed(store.read)
    finally:
        store.close()
    return written, read, found


def grouped(path: Path, every: Sequence[Answer], size: int) -> float:
    """Seconds to write in groups of exactly `size`."""
    with SqliteStore(path) as store:

        def write() -> None:
            for group in groups(every, size):
                store.add(group)

        return timed(write)[0]


def one_by_one(
    store: Store, every: Sequence[Answer], expected: Sequence[tuple[object, ...]]
) -> tuple[float, float]:
    """Seconds to write through the group writer until all is acknowledged, and to read it back.

    Raises AssertionError if what is read is not `expected`.
    """

    def write() -> int:
        with GroupWriter(store) as writer:
            for answer in every:
                writer.keep(answer)
            return writer.flush()

    written, acknowledged = timed(write)
    assert acknowledged == len(every), f"{acknowledged} of {len(every)} acknowledged"
    read, frame = timed(lambda: store.answers(FINGERPRINT))
    assert frame.select(list(ANSWERS)).rows() == list(expected)
    return written, read


def measure(count: int, folder: Path) -> Found:
    """All ways in a folder of their own, which is removed."""
    every = answers(count)
    rows = [row_of(answer) for answer in every]
    size = sum(len(answer.text) + len(answer.output or "") for answer in every) / count / 1000
    what = f"{count:,} answers of {size:.1f} kB written"
    found: list[Row] = []
    plain_read, expected = 0.0, list[tuple[object, ...]]()
    with tempfile.TemporaryDirectory(dir=folder) as name:
        at = Path(name)
        for group, aim in GROUPS.items():
            other, plain_read, expected = plain(at / f"plain-{group}.sqlite", rows, group)
            ours = grouped(at / f"grouped-{group}.sqlite", every, group)
            target = Target(
                aim, "syncing bounds plain sqlite3 on this disk too, see the ratio; next, larger groups"
            )
            how = f"{what} in groups of {group:,}"
            found.append(
                _row(how, count, ours, (f"sqlite3 executemany, {group:,} a transaction", other), target)
            )
        for kind, store in _stores(at, count):
            with store:
                written, read = one_by_one(store, every, expected)
            against = ("sqlite3 executemany, 1,000 a transaction", other)
            found.append(_row(f"{what} one by one, {kind} store", count, written, against))
            found.append(
                _row(f"{count:,} answers read, {kind} store", count, read, ("sqlite3 fetchall", plain_read))
            )
    return Found(tuple(found))


def _stores(at: Path, count: int) -> Iterator[tuple[str, SqliteStore | ParquetStore]]:
    yield "SQLite", SqliteStore(at / "one.sqlite")
    yield "Parquet", ParquetStore(at / "store.parquet", seal=max(1, count // 4))


def _row(
    what: str, count: int, seconds: float, against: tuple[str, float], target: Target | None = None
) -> Row:
    who, other = against
    return Row(
        what=what,
        unit="answers/s",
        ours=count / seconds,
        against=who,
        other=count / other,
        better="more",
        target=target,
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--answers", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, default=Path(), help="on the disk that is measured")
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    options = parser.parse_args()
    found = measure(options.answers, options.folder)
    for row in found.rows:
        print(line(row))
    if options.json:
        print(json.dumps(as_json(found)))


if __name__ == "__main__":
    main()
