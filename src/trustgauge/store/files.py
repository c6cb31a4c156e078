"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from trustgauge.store.faults import translate


def write_file(path: Path, data: str | bytes | memoryview) -> None:
    """Write a file whole or not at all: to a temporary one, synced, then renamed, and its name synced too.

    Raises StoreError or DiskFullError; then the file is as it was before.
    """
    raw = data.encode("utf-8", "replace") if isinstance(data, str) else data
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    with translate(path):
        try:
            with fresh.open("wb") as file:
                file.write(raw)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(path)
            _sync_names(path.parent)
        finally:
            fresh.unlink(missing_ok=True)


def _sync_names(folder: Path) -> None:
    """Wait until the names in a folder are on the disk."""
    if os.name == "nt":  # pragma: no cover  folders cannot be opened there
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
