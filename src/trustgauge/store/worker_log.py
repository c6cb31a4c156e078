"""Where a worker of a distributed run keeps answers as they arrive: a file of its own, only ever appended.

A store has one writer, and SQLite's write-ahead log does not work on a network file system. So each worker
process appends to a file of its own, and whoever holds the store takes the answers over. A file has one
writer and is never changed behind its end, which every shared medium can do.

Each line is one JSON object: a group of answers (`answers`: the columns in `COLUMNS`, one list each
answer) or of events (`events`). A group is synced before it counts as acknowledged. A line that was
cut short by a kill has no end and is passed over, the whole group with it: so the turns of a session
stay together.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from trustgauge.errors import StoreError
from trustgauge.records import Answer
from trustgauge.store import Key, Store
from trustgauge.store.folder import WriterLock, make_private, map_errors, private_folder, sync_names

COLUMNS = tuple(one.name for one in fields(Answer))
_SUFFIX, _LOCK, _CLAIM = ".answers", ".lock", ".begun"
_HEAD = {"schema": "trustgauge.answer-log/1", "columns": list(COLUMNS)}


@dataclass(slots=True)
class LogGroup:
    """What was written at once: answers, or events."""

    answers: list[Answer] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)


class WorkerLog:
    """Appends to the log called `name` in `folder`. May be used from several threads.

    Raises StoreError or DiskFullError when the file cannot be written; what was acknowledged is safe.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.path = folder / (name + _SUFFIX)
        self._guard = threading.Lock()
        self._events: list[Mapping[str, Any]] = []
        with map_errors(self.path):
            private_folder(folder, exist_ok=True)
            self._lock = WriterLock(folder / (name + _LOCK))
            self._file = -1
            try:
                self._file = make_private(self.path, os.O_WRONLY | os.O_APPEND)
                self._write(_HEAD)
                os.fsync(self._file)
            except BaseException:
                self._release()
                raise
            _sync_folder(folder)

    def add(self, answers: Sequence[Answer]) -> None:
        """Keep answers, and tell the events that wait. They are on the disk when this returns."""
        rows = [[getattr(one, name) for name in COLUMNS] for one in answers]
        with self._guard, map_errors(self.path):
            self._tell()
            self._write({"answers": rows})
            os.fsync(self._file)

    def tell(self, event: Mapping[str, Any]) -> None:
        """Take an event; it goes with the next answers, or with `flush`. Nothing depends on it."""
        with self._guard:
            self._events.append(event)

    def flush(self) -> None:
        """Tell the events that wait."""
        with self._guard, map_errors(self.path):
            self._tell()

    def _tell(self) -> None:
        events, self._events = self._events, []
        if events:
            self._write({"events": events})

    def _write(self, line: Mapping[str, Any]) -> None:
        data = memoryview(json.dumps(line, separators=(",", ":")).encode() + b"\n")
        try:
            while data:
                data = data[os.write(self._file, data) :]
        except OSError:
            self._release()  # nothing may follow a line that was cut short
            raise

    def close(self) -> None:
        """Release the file. May be called twice."""
        with self._guard:
            self._release()

    def _release(self) -> None:
        if self._file >= 0:
            os.close(self._file)
        self._file = -1
        self._lock.release()


class LogReader:
    """Reads what is new in the logs of a folder, each group once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[Path, int] = {}  # how far each was read, in bytes
        self._columns: dict[Path, list[str]] = {}
        self._passed: set[Path] = set()

    @property
    def paths(self) -> list[Path]:
        """The logs that are there."""
        return sorted(set(self._folder.glob("*" + _SUFFIX)) - self._passed)

    def pass_over(self) -> None:
        """Leave the logs that are there now to `take_over`, which counts nothing twice.

        They belong to workers that outlived an earlier invocation.
        """
        self._passed.update(self.paths)

    def has_read(self, path: Path) -> bool:
        """Whether all whole lines of a log were read, whose writer has ended."""
        if path in self._passed:
            return False
        with map_errors(path), path.open("rb") as file:
            file.seek(self._read.get(path, 0))
            return b"\n" not in file.read()

    def new(self) -> Iterator[LogGroup]:
        """The groups that were written since the last time, log by log in order.

        Raises StoreError if a log cannot be read, or is not ours.
        """
        for path in self.paths:
            with map_errors(path), path.open("rb") as file:
                file.seek(self._read.get(path, 0))
                for line in file:
                    if not line.endswith(b"\n"):
                        break  # it is being written, or was cut short
                    if (group := self._group(path, line)) is not None:
                        yield group
                    self._read[path] = self._read.get(path, 0) + len(line)

    def _group(self, path: Path, line: bytes) -> LogGroup | None:
        try:
            found = json.loads(line)
            if path not in self._columns:
                self._columns[path] = _columns(found)
                return None
            names = self._columns[path]
            answers = [_answer(dict(zip(names, row, strict=True))) for row in found.get("answers", ())]
            return LogGroup(answers, found.get("events", []))
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            raise StoreError(
                f"{path} is damaged",
                must="an append-only log of answers",
                got=type(error).__name__,
                do="move it away; the answers in it are then asked again",
            ) from error


def _columns(head: Any) -> list[str]:
    """The columns that the first line of a log names."""
    if head["schema"] != _HEAD["schema"] or not set(head["columns"]) <= set(COLUMNS):
        raise ValueError("another schema")
    return [str(name) for name in head["columns"]]


def _answer(row: dict[str, Any]) -> Answer:
    return Answer(**{**row, "trail": tuple(row["trail"])})


def _sync_folder(folder: Path) -> None:
    """See that the name of a new file survives a loss of power, where a folder can be synced."""
    with contextlib.suppress(OSError):
        sync_names(folder)


def import_worker_logs(folder: Path, store: Store) -> int:
    """Add what the workers of an earlier invocation left to the store, then remove their logs.

    An invocation that was killed may have added a part of them before. Good answers are never
    overwritten; a failed one is added only if it is newer than what is kept, as costs add up.

    Args:
        folder: of the logs.
        store: of their run.

    Returns:
        how many answers were read.
    """
    reader = LogReader(folder)
    if not reader.paths:
        return 0
    read = 0
    for group in reader.new():
        fresh = _fresh(group.answers, store)
        if fresh:
            store.add(fresh)
        read += len(group.answers)
    remove_worker_logs(folder, reader)
    return read


def _fresh(answers: Sequence[Answer], store: Store) -> list[Answer]:
    """The answers that may be added: good ones, and failed ones that are newer than what is kept."""
    failed: dict[str, list[Key]] = {}
    for one in answers:
        if one.status == "failed":
            failed.setdefault(one.fingerprint, []).append((one.message, one.draw))
    last: dict[tuple[str, str, int], str] = {}
    for mark, keys in failed.items():
        rows = store.answers_to(mark, keys).select("message", "draw", "at").iter_rows()
        last.update({(mark, message, draw): at for message, draw, at in rows})
    found = []
    for one in answers:
        key = (one.fingerprint, one.message, one.draw)
        if one.status != "failed" or one.at > last.get(key, ""):
            found.append(one)
            last[key] = one.at
    return found


def claim(folder: Path, name: str) -> bool:
    """Whether this is the first claim of something to do; a scheduler may hand out the same twice.

    Raises StoreError or DiskFullError if the folder cannot be written.
    """
    path = folder / (name + _CLAIM)
    with map_errors(path):
        try:
            os.close(make_private(path, os.O_WRONLY))
        except FileExistsError:
            return False
    return True


def remove_worker_logs(folder: Path, reader: LogReader) -> None:
    """Remove the logs of a run whose store holds everything that `reader` gave.

    A log that a worker still holds, or that was not read to its end, stays: it is taken over the next time.
    """
    if not folder.is_dir():
        return
    with map_errors(folder):
        for path in folder.glob("*" + _CLAIM):
            path.unlink(missing_ok=True)
        for path in folder.glob("*" + _SUFFIX):
            lock_path = path.with_suffix(_LOCK)
            try:
                lock = WriterLock(lock_path)
            except StoreError:
                continue
            if not reader.has_read(path):
                lock.release()
                continue
            path.unlink(missing_ok=True)
            lock.release()
            lock_path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # a log stays
            folder.rmdir()
