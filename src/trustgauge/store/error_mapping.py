"""What SQLite and the file system complain of, in our own errors."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trustgauge.errors import DiskFullError, StoreError

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FREE = "free some space, then run the same command again: all received answers are saved"


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
