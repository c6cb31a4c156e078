"""Conversations as they are held: one JSON line an utterance, on disk before anybody goes on.

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
from types import TracebackType
from typing import IO, Any, Literal, Self

from trustgauge.errors import StoreError
from trustgauge.records import canonical

Speaker = Literal["user", "bot"]
NAME = "transcript.jsonl"


def _utc() -> datetime:
    return datetime.now(UTC)


class Transcript:
    """An open transcript. `add` gathers lines, `flush` makes them durable."""

    def __init__(self, path: Path, now: Callable[[], datetime] = _utc) -> None:
        self.path, self._now = path, now
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file: IO[bytes] = path.open("ab")
            _cut_half_line(path)
        except OSError as error:
            raise _unwritable(path, error) from error

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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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


def _cut_half_line(path: Path) -> None:
    """Drop what a process that died may have left behind the last line break."""
    with path.open("rb+") as file:
        data = file.read()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            file.truncate(whole)


def _unwritable(path: Path, error: OSError) -> StoreError:
    return StoreError(
        "the transcript cannot be written",
        must="a file on a disk with room",
        got=f"{path}: {error.strerror}",
    )
