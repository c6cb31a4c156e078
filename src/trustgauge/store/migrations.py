"""The versions of a store's schema: an ordered list of short functions, one a version.

A new store gets `schema.sql` at once; an older one is led through the functions it lacks, each
in one transaction, so that a kill between two leaves a valid older store. A function that has
been released is never changed; a change of the schema is a further function.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from importlib.resources import files

from trustgauge.errors import StoreError

APPLICATION = 0x54474145
"""Marks a SQLite file as a trustgauge store (PRAGMA application_id)."""


def _add_responses(db: sqlite3.Connection) -> None:
    db.execute(
        "CREATE TABLE response (fingerprint TEXT NOT NULL, message TEXT NOT NULL, draw INTEGER NOT NULL, "
        "text TEXT NOT NULL, status TEXT NOT NULL, output TEXT, trail TEXT NOT NULL, error TEXT NOT NULL, "
        "detail TEXT NOT NULL, millis REAL NOT NULL, attempts INTEGER NOT NULL, tokens INTEGER NOT NULL, "
        "usd REAL NOT NULL, at TEXT NOT NULL, script TEXT NOT NULL, origin TEXT NOT NULL, "
        "UNIQUE (fingerprint, message, draw)) STRICT"
    )
    db.execute("CREATE TABLE meta (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT")


def _add_documents(db: sqlite3.Connection) -> None:
    db.execute(
        "CREATE TABLE document (name TEXT NOT NULL PRIMARY KEY, text TEXT NOT NULL, "
        "hash TEXT NOT NULL) STRICT"
    )


def _add_probes(db: sqlite3.Connection) -> None:
    db.execute(
        "CREATE TABLE probe (experiment TEXT NOT NULL, id TEXT NOT NULL, message TEXT NOT NULL, "
        "session TEXT NOT NULL, turn INTEGER NOT NULL, draw INTEGER NOT NULL, block TEXT NOT NULL, "
        "factors TEXT NOT NULL, UNIQUE (experiment, id)) STRICT"
    )


MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (_add_responses, _add_documents, _add_probes)
"""MIGRATIONS[n] leads from version n to version n + 1."""

VERSION = len(MIGRATIONS)


def version(db: sqlite3.Connection) -> int:
    """The schema version of an open store; 0 for an empty file.

    Raises StoreError if the file is a database of something else.
    """
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    (application,) = db.execute("PRAGMA application_id").fetchone()
    if not tables and not application:
        return 0
    if application != APPLICATION or "meta" not in tables:
        raise StoreError(
            "this database is not a store of trustgauge",
            must="a file that trustgauge rate wrote",
            got="a database with the tables " + (", ".join(sorted(tables)) or "(none)"),
            do="name another folder with --ratings",
        )
    row = db.execute("SELECT value FROM meta WHERE key = 'schema'").fetchone()
    if row is None or not row[0].isdigit():
        raise StoreError("the store does not tell its schema version", do="restore the folder from a copy")
    return int(row[0])


def migrate(db: sqlite3.Connection, upto: int = VERSION) -> int:
    """Bring an open store (in autocommit mode) to a version. Returns the version it had.

    Raises StoreError if the store was written by a newer trustgauge.
    """
    before = version(db)
    if before > VERSION:
        raise StoreError(
            "the store was written by a newer trustgauge",
            must=f"schema version {VERSION} or older",
            got=f"schema version {before}",
            do="update trustgauge",
        )
    if before == 0 and upto == VERSION:
        _step(db, _schema, VERSION)
        return before
    for number in range(before, upto):
        _step(db, MIGRATIONS[number], number + 1)
    return before


def _schema(db: sqlite3.Connection) -> None:
    text = files("trustgauge.store").joinpath("schema.sql").read_text(encoding="utf-8")
    for statement in _statements(text):
        db.execute(statement)


def _statements(text: str) -> list[str]:
    """Split a script into statements; `executescript` would commit before it begins."""
    found, part = [], ""
    for line in text.splitlines(keepends=True):
        part += line
        if sqlite3.complete_statement(part):
            found.append(part)
            part = ""
    return found


def _step(db: sqlite3.Connection, change: Callable[[sqlite3.Connection], None], number: int) -> None:
    db.execute("BEGIN IMMEDIATE")
    try:
        change(db)
        db.execute(f"PRAGMA application_id = {APPLICATION}")
        db.execute(
            "INSERT INTO meta VALUES ('schema', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            (str(number),),
        )
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
