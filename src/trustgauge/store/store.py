"""What a store is: the protocol behind which answers are kept, as cache and as evidence.

The table of answers in words of SQL: its columns, how rows go in, and how they are found again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from trustgauge.records import Answer, Cost

if TYPE_CHECKING:
    import polars as pl
import json

COLUMNS = (
    *("fingerprint", "message", "draw", "text", "status", "output", "trail", "error", "detail"),
    *("millis", "attempts", "tokens", "usd", "at", "script", "origin"),
)
"""Columns of the table `response`, in order."""

CHUNKS = (128, 16, 1)
"""Rows a statement: one statement runs without Python's lock from end to end."""

SOUGHT = 1_000
"""Keys a statement looks up."""


def _upsert(rows: int) -> str:
    """Insert rows; a failed row gives way and its costs are added, a good row stays."""
    one = "(" + ",".join("?" * len(COLUMNS)) + ")"
    replaced = ", ".join(
        f"{name} = excluded.{name}" for name in COLUMNS[3:] if name not in ("attempts", "tokens", "usd")
    )
    added = ", ".join(f"{name} = response.{name} + excluded.{name}" for name in ("attempts", "tokens", "usd"))
    return (
        f"INSERT INTO response ({', '.join(COLUMNS)}) VALUES {','.join([one] * rows)} "
        f"ON CONFLICT (fingerprint, message, draw) DO UPDATE SET {replaced}, {added} "
        "WHERE response.status = 'failed'"
    )


UPSERTS = {rows: _upsert(rows) for rows in CHUNKS}

INSERT = (
    f"INSERT INTO response ({', '.join(COLUMNS)}) VALUES ({','.join('?' * len(COLUMNS))}) "
    "ON CONFLICT (fingerprint, message, draw) DO NOTHING"
)
"""Insert a row unless there is one with its key."""


def lookup(columns: str, keys: Sequence[Key]) -> str:
    """Rows of one service with these keys: takes the fingerprint, then message and draw of each."""
    pairs = ",".join(["(?,?)"] * len(keys))
    return (
        f"SELECT {columns} FROM (SELECT column1 AS m, column2 AS d FROM (VALUES {pairs})) "
        "CROSS JOIN response ON fingerprint = ? AND message = m AND draw = d"
    )


def row_of(answer: Answer) -> tuple[object, ...]:
    """An answer as a row of `COLUMNS`."""
    trail = json.dumps(answer.trail, ensure_ascii=False) if answer.trail else "[]"
    row = (
        *(answer.fingerprint, answer.message, answer.draw, answer.text, answer.status, answer.output),
        *(trail, answer.error, answer.detail, answer.millis, answer.attempts, answer.tokens, answer.usd),
        *(answer.at, answer.script, ""),
    )
    if answer.text.isascii() and (answer.output is None or answer.output.isascii()) and trail.isascii():
        return row
    return tuple(encodable(value) if isinstance(value, str) else value for value in row)


def encodable(text: str) -> str:
    """The text with half surrogate pairs, which UTF-8 cannot hold, as replacement characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


Key = tuple[str, int]
"""(message, draw): with the fingerprint of the service, the key of an answer."""

BY_HAND = "by hand"
"""How the `detail` of an answer begins that people collected and imported (social-bias 3.7)."""


@runtime_checkable
class Store(Protocol):
    """The answers of one run and what was made of them.

    Resuming has no state: what is pending is what is wanted minus what is `present`. A failed
    row counts as pending and is replaced by the next attempt; a good row is never overwritten.
    """

    def add(self, answers: Sequence[Answer]) -> None:
        """Keep answers. They are committed, so survive kill -9, when this returns.

        Raises DiskFullError or StoreError; then none of `answers` was kept.
        """

    def present(self, fingerprint: str) -> set[Key]:
        """Keys of the answers of one service that need not be asked again."""

    def holds(self, fingerprint: str, keys: Sequence[Key]) -> list[bool]:
        """Which of `keys` need not be asked again, in their order: `present` for some keys only."""

    def by_hand(self, fingerprint: str) -> int:
        """How many of the answers of one service that need not be asked again were imported by hand."""

    def answers(self, fingerprint: str) -> pl.DataFrame:
        """All rows of one service, sorted by key: message, draw, text and records.RESPONSE."""

    def answers_to(self, fingerprint: str, keys: Sequence[Key]) -> pl.DataFrame:
        """The rows of one service with these keys, in no order; columns as `answers`."""

    def repeats(self, fingerprint: str) -> Iterator[pl.DataFrame]:
        """The rows of draws above 0, some at a time, each time with draw 0 of their messages."""

    def borrow(self, path: Path, fingerprint: str, wanted: Iterable[Key], origin: str) -> int:
        """Copy usable answers from the store at `path`; `origin` names its run. Returns how many."""

    def usable(self, fingerprint: str, keys: Sequence[Key]) -> list[tuple[Any, ...]]:
        """Whole rows with these keys that need not be asked again, in the order of `statements.COLUMNS`."""

    def take(self, rows: Iterable[Sequence[object]], origin: str) -> int:
        """Keep whole rows that another store held; `origin` names its run. Returns how many.

        A row whose key is there already is passed over.
        """

    def cost(self, fingerprints: Iterable[str]) -> Cost:
        """What the kept answers cost, over all sittings of this run; borrowed ones cost nothing."""

    def hash(self, fingerprints: Iterable[str]) -> str:
        """Hash of what was answered, independent of order, times and attempts."""

    def put(self, name: str, text: str) -> str:
        """Keep a document (a summary, a rating, reasons) under a name. Returns its hash."""

    def get(self, name: str) -> str | None:
        """The document kept under a name, None if there is none."""

    def add_probes(self, experiment: str, frame: pl.DataFrame) -> None:
        """Keep the probes of an experiment: columns of records.PROBE and the method's factors."""

    def probes(self, experiment: str) -> pl.DataFrame:
        """The kept probes, in the order they were added; `factors` is one JSON object a row."""

    def probe_slices(self, experiment: str) -> Iterator[pl.DataFrame]:
        """The same, some at a time."""

    def integrity(self) -> None:
        """Check the file and re-derive every key and hash. Raises StoreError if anything differs."""

    def close(self) -> None:
        """Release the file and its lock. May be called twice."""
