"""The table of answers in words of SQL: its columns, how rows go in, and how they are found again."""

from __future__ import annotations

import json
from collections.abc import Sequence

from trustgauge.records import Answer
from trustgauge.store.store import Key

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
