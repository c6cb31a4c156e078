"""The event log of a run: JSON lines, appended. A convenience for people, not evidence."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from trustgauge.store.atomic_write import open_private
from trustgauge.store.error_mapping import map_errors

_BUFFER = 1 << 16  # bytes


class EventLog:
    """Appends events to the file at `path`, one JSON object a line, buffered.

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


def read_events(path: Path) -> Iterator[dict[str, Any]]:
    """The events of a log in order; lines cut short by a kill are passed over."""
    with map_errors(path), path.open("rb") as file:
        for line in file:
            try:
                event = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(event, dict):
                yield event
