"""A log that grows: how much of it is new, and a piece of it to rate."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from trustgauge.data.dialogs import SPEAKERS
from trustgauge.errors import StoreError
from trustgauge.store.atomic_write import write_file

PIECE = 64_000_000
"""Bytes of a log that are rated at once, and by which a long log is caught up with."""
LINE = 4_000_000  # bytes of a line; more is no utterance


@dataclass(frozen=True, slots=True)
class LogTail:
    """What came after a place in a log: from byte `start` to `end`, and how much the bot said there."""

    start: int
    end: int
    utterances: int

    @property
    def is_full(self) -> bool:
        """Whether there is as much as is rated at once, and may be more."""
        return self.end - self.start >= PIECE


def read_tail(log: Path, offset: int, most: int = PIECE) -> LogTail:
    """What a log holds behind `offset`; a log that is shorter was begun anew, so all of it is new.

    Half a line at the end is left for later, and lines that cannot be read, or of more than `LINE` bytes, are
    not counted. Line by line: a log of a gigabyte takes no more memory than a short one.

    Args:
        log: lines of JSON.
        offset: of what was rated before, in bytes.
        most: bytes after which the rest is left for the next piece; the line that reaches them is the last.

    Raises:
        StoreError: the log cannot be read.
    """
    with _opened(log) as file:
        size = file.seek(0, 2)
        start = end = file.seek(offset if offset <= size else 0)
        utterances, is_whole = 0, True
        while end - start < most and (line := file.readline(LINE)):
            ends = line.endswith(b"\n")
            if ends:
                utterances += is_whole and _by_bot(line)
                end = file.tell()
            is_whole = ends
    return LogTail(start, end, utterances)


def write_tail(log: Path, piece: LogTail, target: Path) -> Path:
    """Write the piece of the log to a file of its own.

    Raises:
        StoreError: the log cannot be read, is shorter than that, or the file cannot be written.
    """
    with _opened(log) as file:
        file.seek(piece.start)
        wanted = file.read(piece.end - piece.start)
    if len(wanted) < piece.end - piece.start:
        raise StoreError(
            "the log has become shorter",
            must="a log that only grows",
            got=f"{log}: {log.stat().st_size} bytes",
        )
    write_file(target, wanted)
    return target


@contextmanager
def _opened(log: Path) -> Iterator[BinaryIO]:
    try:
        with log.open("rb") as file:
            yield file
    except OSError as error:
        raise StoreError(
            "the log cannot be read", must="a readable file", got=f"{log}: {error.strerror}"
        ) from error


def _by_bot(line: bytes) -> bool:
    """Whether a line is an utterance of the bot that says something."""
    try:
        row = json.loads(line)
        speaker, text = row["speaker"], row["text"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return False
    words = isinstance(text, str) and bool(text.strip())
    return words and isinstance(speaker, str) and SPEAKERS.get(speaker.strip().lower()) == "bot"
