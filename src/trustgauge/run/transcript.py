"""Live conversations: one JSON line per utterance, on disk before the talk continues.

A transcript is a corpus: `use = "dialogs"` with the layout "jsonl" reads and rates it like any other. It is
only ever appended to, so a process that dies leaves all that was acknowledged; half a line that it may
leave at the end is cut off when the transcript is opened again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Literal, Self

from trustgauge.errors import StoreError
from trustgauge.records import canonical
from trustgauge.store.folder import lock, open_private, private_folder

Speaker = Literal["user", "bot"]
NAME = "transcript.jsonl"
_PIECE = 1 << 20  # bytes of a transcript that are looked at together


def _utc() -> datetime:
    return datetime.now(UTC)


class Transcript:
    """An open transcript, made for its owner alone. `add` gathers lines, `flush` makes them durable.

    Raises StoreError if it cannot be written, is a link, or is being written: half a line of another process
    would be cut off, and two that began in one second give one name to two conversations.
    """

    def __init__(self, path: Path, now: Callable[[], datetime] = _utc) -> None:
        self.path, self._now = path, now
        try:
            private_folder(path.parent, exist_ok=True)
            handle = open_private(path, os.O_RDWR | os.O_APPEND)
            self._file: IO[bytes] = os.fdopen(handle, "ab")
            self._lock()
            _cut_half_line(handle)
        except OSError as error:
            raise _unwritable(path, error) from error

    def _lock(self) -> None:
        try:
            lock(self._file)
        except (BlockingIOError, PermissionError) as error:
            self._file.close()
            raise StoreError(
                f"{self.path} is in use",
                must="written by one process at a time",
                got="locked by another one",
                do="wait until it has ended, or name another file",
            ) from error

    def add(self, dialog: str, turn: int, speaker: Speaker, text: str, **facts: Any) -> None:
        """One utterance, with whatever else is known of it (`status`, `millis`, `generated`).

        Raises:
            StoreError: it cannot be written.
        """
        row = {"dialog": dialog, "turn": turn, "speaker": speaker, "text": text, **facts}
        row["at"] = self._now().isoformat(timespec="milliseconds")
        line = canonical(row).encode("utf-8", "replace")
        try:
            self._file.write(line + b"\n")
        except OSError as error:
            raise _unwritable(self.path, error) from error

    def flush(self) -> None:
        """Return once every line is on disk.

        Raises:
            StoreError: it cannot be written.
        """
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise _unwritable(self.path, error) from error

    def close(self) -> None:
        """Flush, and let go of the file."""
        if not self._file.closed:
            self.flush()
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """The whole lines of a transcript in order; half a line at its end is passed over.

    Raises:
        StoreError: it cannot be read, or a line in it is none of a transcript.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise StoreError(
            "the transcript cannot be read", must="a readable file", got=f"{path}: {error.strerror}"
        ) from error
    for number, line in enumerate(data[: data.rfind(b"\n") + 1].splitlines(), 1):
        try:
            row = json.loads(line)
            said = {"dialog": str, "turn": int, "speaker": str, "text": str}
            if not all(isinstance(row[name], kind) for name, kind in said.items()):
                raise TypeError
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            must = "a JSON object with dialog, turn, speaker and text"
            raise StoreError("no line of a transcript", must=must, got=f"{path}, line {number}") from error
        yield row


def _cut_half_line(handle: int) -> None:
    """Drop what a process that died may have left behind the last line break."""
    with os.fdopen(handle, "rb", closefd=False) as file:
        end = stop = file.seek(0, os.SEEK_END)
        while stop:  # from behind, as a transcript may be larger than memory
            start = max(0, stop - _PIECE)
            file.seek(start)
            found = file.read(stop - start).rfind(b"\n")
            if found >= 0:
                stop = start + found + 1
                break
            stop = start
    if stop < end:
        os.ftruncate(handle, stop)


def _unwritable(path: Path, error: OSError) -> StoreError:
    return StoreError(
        "the transcript cannot be written",
        must="a file on a disk with room",
        got=f"{path}: {error.strerror}",
    )
