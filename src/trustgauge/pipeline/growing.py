"""A log that grows: how much of it is new, and a piece of it to rate."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from trustgauge.data.dialogs import SPEAKERS
from trustgauge.errors import StoreError
from trustgauge.store.files import write_file


@dataclass(frozen=True, slots=True)
class Growth:
    """What came after a place in a log: from byte `start` to `end`, and how much the bot said there."""

    start: int
    end: int
    utterances: int


def growth(log: Path, offset: int) -> Growth:
    """What a log holds behind `offset`; a log that is shorter was begun anew, so all of it is new.

    Half a line at the end is left for later, and lines that cannot be read are not counted.

    Raises:
        StoreError: the log cannot be read.
    """
    start, data = _behind(log, offset)
    whole = data[: data.rfind(b"\n") + 1]
    return Growth(start, start + len(whole), sum(_by_bot(line) for line in whole.splitlines()))


def cut(log: Path, piece: Growth, target: Path) -> Path:
    """Write the piece of the log to a file of its own.

    Raises:
        StoreError: the log cannot be read, is shorter than that, or the file cannot be written.
    """
    start, data = _behind(log, piece.start)
    wanted = data[: piece.end - piece.start]
    if start != piece.start or len(wanted) < piece.end - piece.start:
        raise StoreError(
            "the log has become shorter",
            must="a log that only grows",
            got=f"{log}: {start + len(data)} bytes",
        )
    write_file(target, wanted)
    return target


def _behind(log: Path, offset: int) -> tuple[int, bytes]:
    try:
        with log.open("rb") as file:
            size = file.seek(0, 2)
            start = offset if offset <= size else 0
            file.seek(start)
            return start, file.read()
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
