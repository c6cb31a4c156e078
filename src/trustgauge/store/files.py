"""Files of runs: written whole or not at all, for their owner alone, never through a link; and their lock.

What SQLite and the file system complain of, in our own errors.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from trustgauge.errors import DiskFullError, StoreError

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
        return StoreError(
            f"{path} is not a store", must="a SQLite database", got=str(error), do="name another folder"
        )
    if main == sqlite3.SQLITE_CORRUPT:
        return StoreError(
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
        return StoreError(f"{path} is in use", got=f"{error} ({name})", do="close what else has it open")
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
            _sync_names(path.parent)
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


def _sync_names(folder: Path) -> None:
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

    def _try(file: IO[str]) -> None:
        file.seek(_MARK)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _try(file: IO[str]) -> None:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)


class WriterLock:
    """Holds the lock file at `path` until `release` or the end of the process, kill -9 included.

    Raises StoreError naming the process that holds it, or that a link lies there. The file itself stays:
    removing it would let two processes hold locks on two files of one name.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        file = os.fdopen(open_private(path, os.O_RDWR | os.O_APPEND), "r+", encoding="utf-8")
        try:
            _try(file)
        except OSError as error:
            file.seek(0)
            holder = file.read(200).strip() or "another process"
            file.close()
            raise StoreError(
                f"{path.parent} is in use",
                must="used by one run at a time",
                got=f"held by {holder}",
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
