"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from trustgauge.errors import StoreError
from trustgauge.store.faults import translate


def write_file(path: Path, data: str | bytes | memoryview) -> None:
    """Write a file whole or not at all: to a temporary one, synced, then renamed, and its name synced too.

    Raises StoreError or DiskFullError; then the file is as it was before.
    """
    raw = data.encode("utf-8", "replace") if isinstance(data, str) else data
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    with translate(path):
        try:
            fresh.unlink(missing_ok=True)  # left by a killed process, or laid there as a trap
            with fresh.open("xb") as file:  # a new file, never the one that a link points to
                file.write(raw)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(path)
            _sync_names(path.parent)
        finally:
            fresh.unlink(missing_ok=True)


def ordinary(folder: Path) -> None:
    """Check that a folder holds nothing but files and folders: reading a pipe or a device has no end.

    Raises StoreError naming what is none.
    """
    for place, _, names in os.walk(folder):
        for path in (Path(place, name) for name in names):
            if path.exists() and not path.is_file():
                raise StoreError(
                    f"{path} is a pipe, a device or a socket",
                    must="an ordinary file",
                    do="remove it, or restore the folder from a copy",
                )


def _sync_names(folder: Path) -> None:
    """Wait until the names in a folder are on the disk."""
    if os.name == "nt":  # pragma: no cover  folders cannot be opened there
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
