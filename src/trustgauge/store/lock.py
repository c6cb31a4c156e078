"""One writer a store: a lock of the operating system, gone with the process that held it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import IO

from trustgauge.errors import StoreError
from trustgauge.store.atomic_write import open_private

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
