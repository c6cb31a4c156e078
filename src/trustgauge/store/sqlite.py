"""The store of a run in one SQLite file: write-ahead log, full sync, group commit.

SQLite is asked for durability (`synchronous = FULL`): a transaction that has committed survives
kill -9 and loss of power. A commit costs milliseconds, a row in it microseconds: always add in
groups (`writer.GroupWriter`).
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self
from urllib.parse import quote

from trustgauge.errors import IntegrityError, RejectedError, StoreError
from trustgauge.records import ANSWERED_AS, ESTIMATED, RESPONSE, Answer, Cost, canonical, digest
from trustgauge.store import (
    BY_HAND,
    CHUNKS,
    COLUMNS,
    INSERT,
    MOST_NAMES,
    SOUGHT,
    UPSERTS,
    Key,
    lookup,
    row_of,
)
from trustgauge.store.folder import WriterLock, map_errors, open_private

if TYPE_CHECKING:
    import polars as pl


ANSWERS = {"message": "str", "draw": "int", "text": "str", **RESPONSE}
"""Columns of answers as they are given back."""

GOOD = "status <> 'failed'"
REJECTED = f"error = '{RejectedError.code}' AND script = ''"
FINAL = f"({GOOD} OR {REJECTED})"
"""Conditions of rows: usable answers, texts that are rejected, and what need not be asked again of a service
that answers at all.

A conversation that broke off is asked again as a whole.
"""

_REPLACED = "replaced/"  # begins the name of what failed rows cost that copied answers took the place of
_SOME = 50_000  # rows that are looked at together
_PROBE = ("id", "message", "session", "turn", "draw", "block")
_LOCK_SECONDS = 5.0  # a reader of the same file may hold it for a moment


@contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Commit what is done in the block; nothing of it if it fails."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


class SqliteStore:
    """A `Store` in one SQLite file at `path`, made if it is absent.

    Writing needs the lock beside the file, so there is one writer; any number of processes may
    read with `read_only`, also while it writes. May be used from several threads.

    Raises StoreError if the file cannot be opened, is not a store, is newer than this version
    or in use; DiskFullError if there is no room for it.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = Path(path)
        self._guard = threading.RLock()
        self._lock: WriterLock | None = None
        self._db: sqlite3.Connection | None = None
        with map_errors(self.path):
            try:
                self._open_reader() if read_only else self._open_writer()
            except BaseException:
                self.close()
                raise

    def _open_writer(self) -> None:
        self._lock = WriterLock(self.path.with_name(self.path.name + ".lock"))
        # SQLite gives its log and its shared memory the permissions of this file.
        os.close(open_private(self.path, os.O_RDWR))
        self._db = self._connect("rw")
        version(self._db)  # before anything is changed in a file that may be somebody else's
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("PRAGMA temp_store = MEMORY")
        migrate(self._db)

    def _open_reader(self) -> None:
        if not self.path.is_file():
            raise StoreError(f"there is no store at {self.path}", do="name the folder of a run")
        try:
            self._db = self._connect("ro")
            found = version(self._db)
        except sqlite3.OperationalError:
            wal = self.path.with_name(self.path.name + "-wal")
            if wal.exists() and wal.stat().st_size:
                raise  # what stands in the log would be passed over
            if self._db is not None:
                self._db.close()
            self._db = self._connect("ro&immutable=1")  # a copy on a medium that cannot be written
            found = version(self._db)
        if found > VERSION:
            raise StoreError(
                f"{self.path} has a different schema",
                must=f"schema version {VERSION} or an earlier one",
                got=f"schema version {found}",
                do="update trustgauge",
            )
        if found < VERSION:  # of an earlier version, or made by a process that died before it had tables
            self._db = _brought_up(self._db)

    def _connect(self, mode: str) -> sqlite3.Connection:
        uri = f"file:{quote(os.fsencode(self.path))}?mode={mode}"
        return sqlite3.connect(
            uri, uri=True, isolation_level=None, check_same_thread=False, timeout=_LOCK_SECONDS
        )

    @contextmanager
    def _use(self) -> Iterator[sqlite3.Connection]:
        with self._guard, map_errors(self.path):
            if self._db is None:
                raise StoreError(f"{self.path} is closed")
            yield self._db

    @contextmanager
    def _write(self) -> Iterator[sqlite3.Connection]:
        with self._use() as db, _transaction(db):
            yield db

    # -- answers

    def add(self, answers: Sequence[Answer]) -> None:
        rows = [row_of(answer) for answer in answers]
        with self._write() as db:
            start = 0
            for size in CHUNKS:
                while len(rows) - start >= size:
                    flat = [value for row in rows[start : start + size] for value in row]
                    db.execute(UPSERTS[size], flat)
                    start += size

    def present(self, fingerprint: str) -> set[Key]:
        final = self._final(fingerprint)
        with self._use() as db:
            return set(
                db.execute(
                    f"SELECT message, draw FROM response WHERE fingerprint = ? AND {final}", (fingerprint,)
                )
            )

    def _final(self, fingerprint: str) -> str:
        """The condition of rows of a service that need not be asked again."""
        return FINAL if self._has_answers(fingerprint) else GOOD

    def _has_answers(self, fingerprint: str) -> bool:
        """Whether a service gave any usable answer: else what it rejects says nothing of the text."""
        with self._use() as db:
            query = f"SELECT 1 FROM response WHERE fingerprint = ? AND {GOOD} LIMIT 1"
            return db.execute(query, (fingerprint,)).fetchone() is not None

    def by_hand(self, fingerprint: str) -> int:
        with self._use() as db:
            (count,) = db.execute(
                "SELECT count(*) FROM response WHERE fingerprint = ? AND status <> 'failed' "
                "AND substr(detail, 1, ?) = ?",
                (fingerprint, len(BY_HAND), BY_HAND),
            ).fetchone()
        return int(count)

    def holds(self, fingerprint: str, keys: Sequence[Key]) -> list[bool]:
        final = f"message, draw, {self._final(fingerprint)}"
        kept = {(message, draw) for message, draw, usable in self._sought(final, fingerprint, keys) if usable}
        return [key in kept for key in keys]

    def answers(self, fingerprint: str) -> pl.DataFrame:
        with self._use() as db:
            rows = db.execute(
                f"SELECT {', '.join(ANSWERS)} FROM response WHERE fingerprint = ?", (fingerprint,)
            ).fetchall()
        return _frame(rows).sort("message", "draw")

    def answers_to(self, fingerprint: str, keys: Sequence[Key]) -> pl.DataFrame:
        return _frame(list(self._sought(", ".join(ANSWERS), fingerprint, keys)))

    def repeats(self, fingerprint: str) -> Iterator[pl.DataFrame]:
        after: Key = ("", 0)
        while True:
            with self._use() as db:
                rows = db.execute(
                    f"SELECT {', '.join(ANSWERS)} FROM response WHERE fingerprint = ? AND draw > 0 "
                    "AND (message, draw) > (?, ?) ORDER BY message, draw LIMIT ?",
                    (fingerprint, *after, _SOME),
                ).fetchall()
            if not rows:
                return
            after = rows[-1][0], rows[-1][1]
            firsts = {(message, 0) for message, *_ in rows}
            rows += self._sought(", ".join(ANSWERS), fingerprint, sorted(firsts))
            yield _frame(rows)

    def _sought(self, columns: str, fingerprint: str, keys: Sequence[Key]) -> Iterator[tuple[Any, ...]]:
        """Columns of the rows with these keys, in no order."""
        with self._use() as db:
            for start in range(0, len(keys), SOUGHT):
                some = keys[start : start + SOUGHT]
                yield from db.execute(lookup(columns, some), (*chain.from_iterable(some), fingerprint))

    def usable(self, fingerprint: str, keys: Sequence[Key]) -> list[tuple[Any, ...]]:
        columns = f"{', '.join(COLUMNS)}, {self._final(fingerprint)}"
        return [row[:-1] for row in self._sought(columns, fingerprint, keys) if row[-1]]

    def take(self, rows: Iterable[Sequence[object]], origin: str) -> int:
        given = list(rows)
        keys: dict[str, list[Key]] = {}
        for fingerprint, message, draw, *_ in given:
            keys.setdefault(str(fingerprint), []).append((str(message), int(str(draw))))
        with self._write() as db:
            for fingerprint, some in keys.items():
                columns = f"response.rowid, attempts, usd, tokens, origin, {self._final(fingerprint)}"
                found = self._sought(columns, fingerprint, some)
                self._make_way(db, fingerprint, [row[:-1] for row in found if not row[-1]])
            return db.executemany(INSERT, [(*row[:-1], origin) for row in given]).rowcount

    def _make_way(
        self, db: sqlite3.Connection, fingerprint: str, failed: Sequence[tuple[int, int, float, int, str]]
    ) -> None:
        """Remove failed rows in whose place usable ones come; what they cost stays counted."""
        if not failed:
            return
        db.executemany("DELETE FROM response WHERE rowid = ?", [(row[0],) for row in failed])
        own = [row for row in failed if not row[-1]]
        before = self.replaced_cost([fingerprint])
        costs = (
            before.calls + sum(row[1] for row in own),
            before.usd + sum(row[2] for row in own),
            before.tokens + sum(row[3] for row in own),
        )
        _put(db, f"{_REPLACED}{fingerprint}", json.dumps(costs))

    def replaced_cost(self, fingerprints: Iterable[str]) -> Cost:
        """What failed rows of some services cost that copied answers took the place of."""
        marks, names = _list(f"{_REPLACED}{fingerprint}" for fingerprint in fingerprints)
        with self._use() as db:
            found = db.execute(f"SELECT text FROM document WHERE name IN ({marks})", names).fetchall()
        costs = [json.loads(text) for (text,) in found]
        return Cost(*(sum(column) for column in zip(*costs, strict=True))) if costs else Cost()

    def borrow(self, path: Path, fingerprint: str, wanted: Iterable[Key], origin: str) -> int:
        """As `Store.borrow`. Raises StoreError if the other file cannot be read."""
        with self._use() as db, map_errors(path):
            db.execute("ATTACH ? AS other", (f"file:{quote(os.fsencode(path))}?mode=ro",))
            try:
                return self._copy(db, fingerprint, wanted, origin)
            finally:
                db.execute("DETACH other")

    def _copy(self, db: sqlite3.Connection, fingerprint: str, wanted: Iterable[Key], origin: str) -> int:
        db.execute("CREATE TEMP TABLE IF NOT EXISTS wanted (message TEXT, draw INTEGER)")
        with _transaction(db):
            db.execute("DELETE FROM temp.wanted")
            db.executemany("INSERT INTO temp.wanted VALUES (?, ?)", wanted)
            usable = (
                f"({GOOD} OR {REJECTED} AND "
                f"EXISTS (SELECT 1 FROM other.response WHERE fingerprint = ? AND {GOOD}))"
            )
            failed = db.execute(
                "SELECT r.rowid, attempts, usd, tokens, origin FROM temp.wanted w CROSS JOIN main.response r "
                "ON r.fingerprint = ? AND r.message = w.message AND r.draw = w.draw "
                f"WHERE NOT ({self._final(fingerprint)}) AND EXISTS (SELECT 1 FROM other.response o "
                "WHERE o.fingerprint = ? AND o.message = w.message AND o.draw = w.draw "
                f"AND {usable})",
                (fingerprint, fingerprint, fingerprint),
            ).fetchall()
            self._make_way(db, fingerprint, failed)
            source = ", ".join(f"o.{name}" for name in COLUMNS[:-1])
            copied = db.execute(
                f"INSERT INTO main.response ({', '.join(COLUMNS)}) SELECT {source}, ? "
                "FROM temp.wanted w CROSS JOIN other.response o "
                "ON o.fingerprint = ? AND o.message = w.message AND o.draw = w.draw "
                f"WHERE {usable} ON CONFLICT (fingerprint, message, draw) DO NOTHING",
                (origin, fingerprint, fingerprint),
            ).rowcount
        return copied

    def answered_as(self, fingerprints: Iterable[str]) -> tuple[str, ...]:
        marks, values = _list(fingerprints)
        with self._use() as db:
            rows = db.execute(
                "SELECT DISTINCT replace(substr(detail, ?), ?, '') FROM response "
                f"WHERE fingerprint IN ({marks}) "
                "AND status <> 'failed' AND substr(detail, 1, ?) = ? ORDER BY 1 LIMIT ?",
                (len(ANSWERED_AS) + 1, ESTIMATED, *values, len(ANSWERED_AS), ANSWERED_AS, MOST_NAMES),
            ).fetchall()
        return tuple(str(entry) for (entry,) in rows)

    def cost(self, fingerprints: Iterable[str]) -> Cost:
        marks, values = _list(fingerprints)
        with self._use() as db:
            asked = f"FROM response WHERE origin = '' AND fingerprint IN ({marks})"
            calls, usd, tokens, estimated = db.execute(
                "SELECT coalesce(sum(attempts), 0), coalesce(sum(usd), 0.0), coalesce(sum(tokens), 0), "
                f"coalesce(sum(CASE WHEN detail LIKE '%{ESTIMATED}' THEN tokens END), 0) {asked}",
                values,
            ).fetchone()
            good = f"{asked} AND status <> 'failed' AND attempts > 0"
            (count,) = db.execute(f"SELECT count(*) {good}", values).fetchone()
            middle = db.execute(
                f"SELECT avg(millis) FROM (SELECT millis {good} ORDER BY millis LIMIT ? OFFSET ?)",
                (*values, 2 - count % 2, (count - 1) // 2),
            ).fetchone()[0]
        gone = self.replaced_cost(values)
        sums = calls + gone.calls, usd + gone.usd, tokens + gone.tokens
        return Cost(*sums, latency_median_ms=middle, tokens_estimated=estimated)

    def hash(self, fingerprints: Iterable[str]) -> str:
        marks, values = _list(sorted(set(fingerprints)))
        tally = hashlib.blake2b(b"answers\0", digest_size=16)
        with self._use() as db:
            for row in db.execute(
                "SELECT fingerprint, message, draw, status, output, trail FROM response "
                f"WHERE fingerprint IN ({marks}) ORDER BY fingerprint, message, draw",
                values,
            ):
                tally.update(canonical(row).encode() + b"\n")
        return tally.hexdigest()

    # -- documents and probes

    def put(self, name: str, text: str) -> str:
        with self._write() as db:
            return _put(db, name, text)

    def get(self, name: str) -> str | None:
        with self._use() as db:
            row = db.execute("SELECT text FROM document WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def add_probes(self, experiment: str, frame: pl.DataFrame) -> None:
        """As `Store.add_probes`. A probe that is already stored is overwritten."""
        import polars as pl

        factors = [name for name in frame.columns if name not in _PROBE]
        as_json = pl.struct(factors).struct.json_encode() if factors else pl.lit("{}")
        rows = frame.select(pl.lit(experiment).alias("experiment"), *_PROBE, as_json.alias("factors")).rows()
        with self._write() as db:
            changed = ", ".join(f"{name} = excluded.{name}" for name in (*_PROBE[1:], "factors"))
            db.executemany(
                "INSERT INTO probe VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
                f"ON CONFLICT (experiment, id) DO UPDATE SET {changed}",
                rows,
            )

    def probes(self, experiment: str) -> pl.DataFrame:
        import polars as pl

        frames = list(self.probe_slices(experiment))
        return pl.concat(frames) if frames else _probes(())

    def probe_slices(self, experiment: str) -> Iterator[pl.DataFrame]:
        after = -1
        while True:
            with self._use() as db:
                rows = db.execute(
                    f"SELECT rowid, {', '.join(_PROBE)}, factors FROM probe "
                    "WHERE experiment = ? AND rowid > ? ORDER BY rowid LIMIT ?",
                    (experiment, after, _SOME),
                ).fetchall()
            if not rows:
                return
            after = rows[-1][0]
            yield _probes([row[1:] for row in rows])

    # -- trust

    def integrity(self) -> None:
        with self._use() as db:
            found = [line for (line,) in db.execute("PRAGMA integrity_check(5)")]
            if found != ["ok"]:
                raise IntegrityError(
                    f"{self.path} is damaged",
                    got=found[0],
                    do="restore the folder from a copy, or move it away and run the plan again",
                )
            wrong = [name for name, text, mark in _documents(db) if digest("document", text) != mark]
            wrong += [f"answer {key} draw {draw}" for key, draw in _wrong_keys(db)]
        if wrong:
            raise IntegrityError(
                f"{self.path} was changed after it was written",
                must="keys and hashes that follow from the content",
                got=f"{len(wrong)} that do not, first: {wrong[0]}",
                do="restore the folder from a copy",
            )

    def close(self) -> None:
        with self._guard:
            db, self._db = self._db, None
            if db is not None:
                db.close()
            if self._lock is not None:
                self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> Literal[False]:
        self.close()
        return False


def _frame(rows: Sequence[Sequence[object]]) -> pl.DataFrame:
    """Rows of the columns `ANSWERS` as a frame."""
    import polars as pl

    types = {"str": pl.String, "int": pl.Int64, "float": pl.Float64}
    columns: Iterable[Sequence[Any]] = zip(*rows, strict=True) if rows else [()] * len(ANSWERS)
    return pl.DataFrame(
        [
            pl.Series(name, values, dtype=types[ANSWERS[name]])
            for name, values in zip(ANSWERS, columns, strict=True)
        ]
    )


def _probes(rows: Sequence[Sequence[object]]) -> pl.DataFrame:
    import polars as pl

    numbers = ("turn", "draw")
    schema = {name: pl.Int64 if name in numbers else pl.String for name in (*_PROBE, "factors")}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _brought_up(old: sqlite3.Connection) -> sqlite3.Connection:
    """An earlier store as this version reads it, in memory: its file stays as it is."""
    copy = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    old.backup(copy)
    old.close()
    migrate(copy)
    return copy


def _put(db: sqlite3.Connection, name: str, text: str) -> str:
    """Keep a document in the transaction under way. Returns its hash."""
    mark = digest("document", text)
    db.execute(
        "INSERT INTO document VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE "
        "SET text = excluded.text, hash = excluded.hash",
        (name, text, mark),
    )
    return mark


def _list(values: Iterable[str]) -> tuple[str, tuple[str, ...]]:
    found = tuple(values)
    return ",".join("?" * len(found)), found


def _documents(db: sqlite3.Connection) -> Iterator[tuple[str, str, str]]:
    yield from db.execute("SELECT name, text, hash FROM document")


def _wrong_keys(db: sqlite3.Connection) -> Iterator[Key]:
    """Keys of answers that do not follow from the text, or from the script of their session."""
    for message, draw, text, script in db.execute("SELECT message, draw, text, script FROM response"):
        if not is_key_of(message, text, script):
            yield message, draw


def is_key_of(message: str, text: str, script: str) -> bool:
    """Whether the key of a message follows from its text, or from the script of its session."""
    if not script:
        return digest("message", text) == message
    try:
        return digest("turn", json.loads(script)) == message
    except (ValueError, RecursionError):  # no script that was ever written
        return False


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
            "this database is not a trustgauge store",
            must="a file written by `trustgauge rate`",
            got="a database with the tables " + (", ".join(sorted(tables)) or "(none)"),
            do="name another folder with --ratings",
        )
    row = db.execute("SELECT value FROM meta WHERE key = 'schema'").fetchone()
    if row is None or not row[0].isdigit():
        do = "restore the folder from a copy"
        raise IntegrityError("the store does not state its schema version", do=do)
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
    with _transaction(db):
        change(db)
        db.execute(f"PRAGMA application_id = {APPLICATION}")
        db.execute(
            "INSERT INTO meta VALUES ('schema', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            (str(number),),
        )
