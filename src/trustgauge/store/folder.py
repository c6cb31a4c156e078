"""The folder of a run: which one a plan gets, what lies in it, and what it may copy from others.

A run lives in one folder that can be copied, zipped and opened elsewhere:
`store.sqlite` (or `store.parquet/`), `plan.toml`, `manifest.json`, `events.jsonl`, `rating.json`,
`report.html`.

Files are written whole or not at all, private to their owner, and locked while a run writes; a full disk is
said in words. The event log (JSON lines, appended) is a convenience for people, not evidence.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import shutil
import sqlite3
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import IO, Any, Literal, Self

from trustgauge.errors import DiskFullError, IntegrityError, StoreError
from trustgauge.records import canonical
from trustgauge.store import Key, copy_stored_answers, kind_of, open_store

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FREE = "free some space, then run the same command again: all received answers are saved"


_OWN_FILE, _OWN_FOLDER = 0o600, 0o700
# Windows has none of these: links need a right of their own there, and opening a pipe does not wait.
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


@contextmanager
def map_errors(path: Path) -> Iterator[None]:
    """Turn errors of SQLite and of the file system at `path` into StoreError or DiskFullError."""
    try:
        yield
    except sqlite3.Error as error:
        raise _of_sqlite(path, error) from error
    except OSError as error:
        raise _of_system(path, error) from error


def _of_sqlite(path: Path, error: sqlite3.Error) -> StoreError:
    code = getattr(error, "sqlite_errorcode", None)
    name = getattr(error, "sqlite_errorname", "") or type(error).__name__
    main = None if code is None else code & 0xFF
    if main == sqlite3.SQLITE_FULL or name in ("SQLITE_IOERR_WRITE", "SQLITE_IOERR_SHMSIZE"):
        return DiskFullError(f"no space left for {path}", got=f"{error} ({name})", do=_FREE)
    if main == sqlite3.SQLITE_NOTADB:
        return IntegrityError(
            f"{path} is not a store", must="a SQLite database", got=str(error), do="name another folder"
        )
    if main == sqlite3.SQLITE_CORRUPT:
        return IntegrityError(
            f"{path} is damaged",
            got=f"{error} ({name})",
            do="restore the folder from a copy, or move it away and run the plan again",
        )
    if main in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return StoreError(
            f"{path} cannot be opened or written",
            must="a file in a folder that can be written",
            got=f"{error} ({name})",
            do="check its permissions, or name another folder with --ratings",
        )
    if main in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreError(
            f"{path} is in use", got=f"{error} ({name})", do="close the program that has it open"
        )
    return StoreError(
        f"{path} cannot be used", got=f"{error} ({name})", do="check the disk, or name another folder"
    )


def _of_system(path: Path, error: OSError) -> StoreError:
    what = error.strerror or type(error).__name__
    if error.errno in _NO_ROOM:
        return DiskFullError(f"no space left for {path}", got=what, do=_FREE)
    if error.errno in (errno.EMFILE, errno.ENFILE):
        do = "allow more (`ulimit -n 1024`), then run the same command again"
        return StoreError(f"no more files can be opened: {path}", got=what, do=do)
    return StoreError(
        f"{path} cannot be opened or written",
        must="a file in a folder that can be written",
        got=what,
        do="check its permissions, or name another folder with --ratings",
    )


def write_file(path: Path, data: str | bytes | memoryview, *, private: bool = True) -> None:
    """Write a file whole or not at all: to a temporary one, synced, then renamed, and its name synced too.

    Args:
        path: of the file.
        data: text is written as UTF-8.
        private: only its owner can read it, whatever the umask; else it is as the umask says.

    Raises StoreError or DiskFullError; then the file is as it was before.
    """
    raw = data.encode("utf-8", "replace") if isinstance(data, str) else data
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    with map_errors(path):
        try:
            fresh.unlink(missing_ok=True)  # left by a killed process, or laid there as a trap
            handle = make_private(fresh, os.O_WRONLY) if private else fresh
            with open(handle, "wb" if private else "xb") as file:  # noqa: PTH123  perhaps a handle
                file.write(raw)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(path)
            sync_names(path.parent)
        finally:
            fresh.unlink(missing_ok=True)


def open_private(path: Path, flags: int) -> int:
    """Open a file, made for its owner alone if it is absent. Returns the handle, as `os.open` does.

    A file that is there keeps its permissions: its owner may have opened it to others.

    Args:
        path: of the file. Only its folders may be reached through links.
        flags: `os.O_WRONLY | os.O_APPEND`, say.

    Raises:
        OSError: it cannot be opened.
        StoreError: a link, a pipe or a device lies there. Writing through a link would change a file
            somewhere else, which whoever laid the link may have chosen.
    """
    while True:
        try:
            return make_private(path, flags)
        except FileExistsError:
            pass
        try:
            handle = os.open(path, flags | _NO_LINK)
        except FileNotFoundError:
            if path.is_symlink():  # where the system follows links, and this one leads nowhere
                raise _is_link(path) from None
            continue  # it was removed meanwhile
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.EMLINK) or path.is_symlink():
                raise _is_link(path) from None
            if error.errno == errno.ENXIO:  # a pipe that nobody reads
                raise _is_special(path) from None
            raise
        if stat.S_ISREG(os.fstat(handle).st_mode):
            return handle
        os.close(handle)
        raise _is_special(path)


def make_private(path: Path, flags: int) -> int:
    """Make a file that only its owner can read or write, whatever the umask. Returns its handle.

    Raises FileExistsError if anything lies there, be it a link.
    """
    handle = os.open(path, flags | os.O_CREAT | os.O_EXCL | _NO_LINK, _OWN_FILE)
    if hasattr(os, "fchmod"):  # not on Windows
        with contextlib.suppress(OSError):  # a medium without permissions
            os.fchmod(handle, _OWN_FILE)  # a umask may take from the owner, too
    return handle


def private_folder(path: Path, *, exist_ok: bool = False) -> None:
    """Make a folder that only its owner can look into, whatever the umask; those above it are made as usual.

    Raises OSError if it cannot be made, or is there already and may not be.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        path.mkdir(_OWN_FOLDER)
    except FileExistsError:
        if exist_ok and path.is_dir():
            return
        raise
    with contextlib.suppress(OSError):  # a medium without permissions
        path.chmod(_OWN_FOLDER)


def check_no_links(folder: Path) -> None:
    """Check that nothing in a folder that is to be written is a link to somewhere else.

    Raises StoreError naming what is one.
    """
    for place, folders, names in os.walk(folder):
        for path in (Path(place, name) for name in (*folders, *names)):
            if path.is_symlink():
                raise _is_link(path)


def _is_link(path: Path) -> StoreError:
    return StoreError(
        f"{path} is a link, and what is written there would change another file",
        must="an ordinary file or folder",
        do="remove the link, or name the file that it points to",
    )


def _is_special(path: Path) -> StoreError:
    return StoreError(
        f"{path} is a pipe, a device or a socket",
        must="an ordinary file",
        do="remove it, or restore the folder from a copy",
    )


def check_ordinary(folder: Path) -> None:
    """Check that a folder holds nothing but files and folders: reading a pipe or a device has no end.

    Raises StoreError naming what is none.
    """
    for place, _, names in os.walk(folder):
        for path in (Path(place, name) for name in names):
            if path.exists() and not path.is_file():
                raise _is_special(path)


def sync_names(folder: Path) -> None:
    """Wait until the names in a folder are on the disk."""
    if os.name == "nt":  # pragma: no cover  folders cannot be opened there
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


if sys.platform == "win32":  # pragma: no cover
    import msvcrt

    _MARK = 1 << 30  # far behind the text, since Windows refuses to read locked bytes

    def lock(file: IO[Any]) -> None:
        """Lock a file against other processes until it is closed; OSError at once if one has it."""
        file.seek(_MARK)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def lock(file: IO[Any]) -> None:
        """Lock a file against other processes until it is closed; OSError at once if one has it."""
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)


class WriterLock:
    """Holds the lock file at `path` until `release` or the end of the process, kill -9 included.

    Raises StoreError naming the process that holds it, or that a link lies there, or that nothing can be
    written there. The file itself stays: removing it would let two processes hold locks on two files of one
    name.
    """

    def __init__(self, path: Path, guards: Path | None = None) -> None:
        """Take the lock that guards a file, or by default the folder in which it lies."""
        self.path = path
        with map_errors(path):
            file = os.fdopen(open_private(path, os.O_RDWR | os.O_APPEND), "r+", encoding="utf-8")
        try:
            lock(file)
        except OSError as error:
            file.seek(0)
            holder = file.read(200).strip() or "another process"
            file.close()
            raise StoreError(
                f"{guards or path.parent} is in use",
                must="used by one run at a time",
                got=f"locked by {holder}",
                do="wait until it has ended, or stop it",
            ) from error
        file.seek(0)
        file.truncate()
        file.write(f"process {os.getpid()}")
        file.flush()
        self._file = file

    def release(self) -> None:
        """Let others in. May be called twice."""
        self._file.close()


_BUFFER = 1 << 16  # bytes

WORKER_LOGS = "workers"
"""Where the logs of workers lie in a run folder, unless the plan names a shared place."""


class EventLog:
    """Appends events to the file at `path`, one JSON object per line, buffered.

    Raises StoreError or DiskFullError when the file cannot be written, or is a link.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with map_errors(path):
            self._file = os.fdopen(open_private(path, os.O_WRONLY | os.O_APPEND), "ab", buffering=_BUFFER)
            if self._torn():
                self._file.write(b"\n")

    def _torn(self) -> bool:
        """Whether the last line was cut short by a kill."""
        if not self._file.tell():
            return False
        with self.path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) != b"\n"

    def add(self, event: Mapping[str, Any]) -> None:
        """Append an event. It reaches the file by `flush`, or when the buffer is full."""
        line = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
        with map_errors(self.path):
            self._file.write(line.encode("utf-8", "replace") + b"\n")

    def flush(self) -> None:
        """Hand everything to the operating system."""
        with map_errors(self.path):
            self._file.flush()

    def close(self) -> None:
        """Write what is left. May be called twice."""
        with map_errors(self.path):
            self._file.close()


STORE, MANIFEST, EVENTS = "store.sqlite", "manifest.json", "events.jsonl"
_ID = re.compile(r"TG-\d{4}-\d{4}-[0-9a-f]{4}(?:-(\d+))?")
_KINDS: Mapping[str, type | tuple[type, ...]] = {
    **{"id": str, "began": str, "fresh": bool, "designed": bool, "seed": int, "seconds": (int, float)},
    **{"subjects": list, "judges": list, "imports": list, "services": dict, "paces": dict, "lock": dict},
    "changed": list,
}
"""Kinds of what a manifest may hold."""
_MOST = 1e15  # of calls, dollars, tokens
_SUMS = ("unkept", "uncertain", "recovered")  # objects of numbers
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def run_id(plan_hash: str, day: date) -> str:
    """TG, the year, month and day the run began, and the first digits of the plan hash.

    >>> run_id("7f3a99c0", date(2026, 11, 22))
    'TG-2026-1122-7f3a'
    """
    return f"TG-{day:%Y-%m%d}-{plan_hash[:4]}"


def read_manifest(folder: Path) -> dict[str, Any]:
    """What a run folder says of itself. Raises StoreError if it does not, or it cannot be read."""
    path = folder / MANIFEST
    with map_errors(path):
        if not path.exists():
            raise StoreError(
                f"there is no {path}",
                must="the folder of a run",
                do="name another folder, or restore this one",
            )
        check_ordinary(folder)
        raw = path.read_bytes()
    try:
        found = json.loads(raw, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise IntegrityError(f"{path} is damaged", must="JSON", got=str(error), do="restore it") from error
    if not isinstance(found, dict) or not isinstance(found.get("plan"), str):
        must = 'a JSON object with a key "plan"'
        raise IntegrityError(f"{path} is not a manifest", must=must, do="restore it")
    odd = [name for name, kind in _KINDS.items() if name in found and not isinstance(found[name], kind)]
    odd += [name for name in _SUMS if not _are_numbers(found.get(name, {}))]
    odd += [] if _are_failures(found.get("lost", {})) else ["lost"]
    if odd:
        got = f"another kind of value in {', '.join(odd)}"
        raise IntegrityError(f"{path} is damaged", must="a file written by a run", got=got, do="restore it")
    return found


def _no_number(written: str) -> float:
    raise ValueError(f"{written} is no number")


def _are_failures(value: Any) -> bool:
    """Whether it is part -> error and number of calls."""
    return isinstance(value, dict) and all(
        isinstance(one, list) and len(one) == 2 and isinstance(one[0], str) and type(one[1]) is int
        for one in value.values()
    )


def _are_numbers(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(one, int | float) and abs(one) < _MOST for one in value.values()
    )


@dataclass(frozen=True, slots=True)
class _Found:
    path: Path
    plan: str
    age: tuple[str, int]  # when it began, then the counter of its id: later is greater
    paces: Mapping[str, Any]


def _runs(ratings: Path) -> list[_Found]:
    """All run folders with a readable manifest, newest first."""
    found = []
    for path in ratings.iterdir() if ratings.is_dir() else ():
        match = _ID.fullmatch(path.name)
        if not match:
            continue
        try:
            manifest = read_manifest(path)
        except StoreError:
            continue  # a folder that cannot tell its plan is never resumed or copied from
        age = (str(manifest.get("began", "")), int(match[1] or 1))
        paces = manifest.get("paces")
        found.append(_Found(path, manifest["plan"], age, paces if isinstance(paces, dict) else {}))
    return sorted(found, key=lambda run: run.age, reverse=True)


def find_run(ratings: Path, plan_hash: str) -> Path | None:
    """The newest run folder with this plan hash, None if there is none."""
    return next((run.path for run in _runs(ratings) if run.plan == plan_hash), None)


def other_runs(ratings: Path, but: Path | None = None) -> list[Path]:
    """All run folders with a store, newest first, except `but`."""
    skipped = but.resolve() if but else None
    return [run.path for run in _runs(ratings) if kind_of(run.path) and run.path.resolve() != skipped]


def stored_paces(ratings: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """How quickly services answered, as runs noted it (`pipeline.pace`): id and facts, newest first."""
    return ((run.path.name, run.paces) for run in _runs(ratings) if run.paces)


def create_run(ratings: Path, plan_hash: str, now: datetime, *, fresh: bool = False) -> Path:
    """Make the folder of a new run, with its manifest. If the id is taken it gets a counter.

    Unless `fresh`, a folder of the same plan that another process made meanwhile is taken.
    """
    name = run_id(plan_hash, now.date())
    with map_errors(ratings):
        ratings.mkdir(parents=True, exist_ok=True)
        draft = ratings / f".new-{name}-{os.getpid()}"
        shutil.rmtree(draft, ignore_errors=True)
        private_folder(draft)
        try:
            for path in numbered_names(ratings / name):
                manifest = {"schema": "trustgauge.manifest/1", "id": path.name, "plan": plan_hash}
                write_file(
                    draft / MANIFEST, canonical({**manifest, "began": now.isoformat(), "fresh": fresh}) + "\n"
                )
                try:
                    draft.rename(path)
                except OSError:
                    if not path.exists():
                        raise
                else:
                    return path
                if not fresh and (found := find_run(ratings, plan_hash)):
                    return found
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    raise AssertionError("names never end")


def numbered_names(first: Path) -> Iterator[Path]:
    """A path, then the same with -2, -3 and so on: for whoever takes the first that is free."""
    yield first
    count = 2
    while True:
        yield first.with_name(f"{first.name}-{count}")
        count += 1


class RunFolder:
    """The open folder of a run: its store and event log, for one writer. A context manager.

    `fresh` tells whether it was made without copying from others; `resumed` whether it was
    there before. `kind` names the store of a new folder; one that has a store keeps it.
    """

    def __init__(
        self, path: Path, *, fresh: bool = False, resumed: bool = True, kind: str | None = None
    ) -> None:
        self.path, self.fresh, self.resumed = Path(path), fresh, resumed
        self.id = self.path.name
        with map_errors(self.path):
            check_no_links(self.path)
        self.store = open_store(self.path, kind, read_only=False)
        try:
            self.events = EventLog(self.path / EVENTS)
        except BaseException:
            self.store.close()
            raise

    @classmethod
    def open(
        cls, ratings: Path, plan_hash: str, *, now: datetime, fresh: bool = False, kind: str | None = None
    ) -> RunFolder:
        """The newest folder with this plan hash, or a new one; always a new one if `fresh`.

        Raises StoreError if it cannot be made or read, or another process is using it.
        """
        with map_errors(ratings):
            found = None if fresh else find_run(ratings, plan_hash)
        path = found or create_run(ratings, plan_hash, now, fresh=fresh)
        fresh = fresh or bool(read_manifest(path).get("fresh"))
        return cls(path, fresh=fresh, resumed=found is not None, kind=kind)

    def manifest(self) -> dict[str, Any]:
        """What the folder says of itself: id, plan (hash), began, and what the run added."""
        return read_manifest(self.path)

    def note(self, **facts: Any) -> None:
        """Add facts to the manifest, or change them; written whole or not at all."""
        self.write(MANIFEST, canonical({**self.manifest(), **facts}) + "\n")

    def write(self, name: str, data: str | bytes) -> Path:
        """Write a file of this folder, whole or not at all. Returns its path."""
        if not _NAME.fullmatch(name):
            raise StoreError(
                "a file of a run must lie in its folder",
                must="a plain file name",
                got=repr(name),
                do="give a name without separators",
            )
        path = self.path / name
        write_file(path, data)
        return path

    def borrow(
        self, wanted: Mapping[str, Iterable[Key]], lends: Callable[[Path, str], bool] | None = None
    ) -> int:
        """Copy usable answers (fingerprint -> keys) from the folders beside this one, newest first.

        `lends` tells of a folder and a fingerprint whether its answers may be copied; all may if not said.
        A neighbour that cannot be read is passed over: it costs calls, never a run. A fresh
        folder copies nothing. Returns how many answers were copied.
        """
        if self.fresh:
            return 0
        missing = {mark: self._lacking(mark, keys) for mark, keys in wanted.items()}
        copied = 0
        for folder in other_runs(self.path.parent, self.path):
            for mark, keys in missing.items():
                if not keys or (lends is not None and not lends(folder, mark)):
                    continue
                try:
                    count = copy_stored_answers(folder, self.store, mark, keys)
                except StoreError:
                    break
                if count:
                    copied += count
                    missing[mark] = self._lacking(mark, keys)
        return copied

    def _lacking(self, fingerprint: str, keys: Iterable[Key]) -> set[Key]:
        wanted = list(keys)
        return {
            key for key, known in zip(wanted, self.store.holds(fingerprint, wanted), strict=True) if not known
        }

    def close(self) -> None:
        """Close store and event log, and let others in. May be called twice."""
        try:
            self.events.close()
        finally:
            self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> Literal[False]:
        self.close()
        return False
