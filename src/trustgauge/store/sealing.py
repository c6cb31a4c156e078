"""The journal of a Parquet store: answers until they are sealed, and the list of segments that count.

The list lies in the same SQLite file as the answers, so that one transaction takes answers out of the
journal and puts their segment on the list: at no moment are they in both, or in neither.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from trustgauge.store import COLUMNS, INSERT
from trustgauge.store.folder import map_errors, private_folder
from trustgauge.store.segments import TYPES, Segment
from trustgauge.store.sqlite import GOOD, SqliteStore

_TABLES = (
    "CREATE TABLE IF NOT EXISTS segment (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, "
    "rows INTEGER NOT NULL, hash TEXT NOT NULL) STRICT",
    "CREATE TABLE IF NOT EXISTS probe_file (number INTEGER PRIMARY KEY, experiment TEXT NOT NULL, "
    "name TEXT NOT NULL UNIQUE, rows INTEGER NOT NULL, hash TEXT NOT NULL) STRICT",
)
_NAMES = ", ".join(COLUMNS)


class SegmentJournal(SqliteStore):
    """A SQLite store that also knows the segments its answers were sealed into, and files of probes."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        super().__init__(path, read_only=read_only)
        if read_only:
            return
        try:
            with self._write() as db:
                for table in _TABLES:
                    db.execute(table)
        except BaseException:
            self.close()
            raise

    @contextmanager
    def still(self) -> Iterator[None]:
        """Meanwhile this connection sees one state of the file, whatever a writer does."""
        with self._use() as db:
            if db.in_transaction:
                yield
                return
            db.execute("BEGIN")
            try:
                yield
            finally:
                db.execute("ROLLBACK")

    # -- segments

    def segments(self) -> list[Segment]:
        """The segments that count, in order."""
        with self._use() as db:
            return [
                Segment(*row) for row in db.execute("SELECT name, rows, hash FROM segment ORDER BY number")
            ]

    def _has_answers(self, fingerprint: str) -> bool:
        """Sealed answers may be another service's: there are so many that a few rejections do not matter."""
        return bool(self.segments()) or super()._has_answers(fingerprint)

    def good(self) -> int:
        """How many usable answers are not sealed yet."""
        with self._use() as db:
            (count,) = db.execute(f"SELECT count(*) FROM response WHERE {GOOD}").fetchone()
        return int(count)

    def unsealed_answers(self) -> pl.DataFrame:
        """The usable answers that are not sealed yet, as they came: columns `segments.TYPES`."""
        return self._frame(f"SELECT {_NAMES} FROM response WHERE {GOOD} ORDER BY rowid", ())

    def every(self, fingerprints: Sequence[str]) -> pl.DataFrame:
        """The answers of some services that are not sealed, failed ones too: columns `segments.TYPES`."""
        marks = ",".join("?" * len(fingerprints))
        return self._frame(f"SELECT {_NAMES} FROM response WHERE fingerprint IN ({marks})", fingerprints)

    def _frame(self, query: str, values: Sequence[object]) -> pl.DataFrame:
        with self._use() as db:
            found = db.execute(query, values).fetchall()
        columns = zip(*found, strict=True) if found else [()] * len(TYPES)
        return pl.DataFrame(
            [
                pl.Series(name, column, dtype=kind)
                for (name, kind), column in zip(TYPES.items(), columns, strict=True)
            ]
        )

    def seal(self, segment: Segment, rows: pl.DataFrame) -> None:
        """Put a segment on the list, and let go of its rows here, in one transaction."""
        with self._write() as db:
            self._list(segment)
            if rows.height == self.good():
                # All rows go, which SQLite does without looking at them, and the failed ones come back.
                kept = db.execute(f"SELECT {_NAMES} FROM response WHERE NOT {GOOD}").fetchall()
                db.execute("DELETE FROM response")
                db.executemany(INSERT, kept)
            else:
                keys = rows.select("fingerprint", "message", "draw").iter_rows()
                db.executemany(
                    "DELETE FROM response WHERE fingerprint = ? AND message = ? AND draw = ?", keys
                )

    def replace(self, old: Sequence[Segment], new: Segment) -> None:
        """Let one segment stand for several, in the place of the first."""
        with self._write() as db:
            first = min(
                number
                for one in old
                for (number,) in db.execute("SELECT number FROM segment WHERE name = ?", (one.name,))
            )
            db.executemany("DELETE FROM segment WHERE name = ?", [(one.name,) for one in old])
            self._list(new, first)

    def _list(self, segment: Segment, number: int | None = None) -> None:
        with self._use() as db:
            db.execute(
                "INSERT INTO segment VALUES (?, ?, ?, ?)", (number, segment.name, segment.rows, segment.hash)
            )

    # -- files of probes

    def probe_files(self, experiment: str | None = None) -> list[Segment]:
        """The files that hold the probes of an experiment, or of all, in the order they were added."""
        with self._use() as db:
            return [
                Segment(*row)
                for row in db.execute(
                    "SELECT name, rows, hash FROM probe_file WHERE experiment = ? OR ? IS NULL "
                    "ORDER BY number",
                    (experiment, experiment),
                )
            ]

    def list_probes(self, experiment: str, file: Segment) -> None:
        """Put a file of probes on the list; one of this name that is there already is replaced."""
        with self._write() as db:
            db.execute(
                "INSERT INTO probe_file VALUES (NULL, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE "
                "SET rows = excluded.rows, hash = excluded.hash",
                (experiment, file.name, file.rows, file.hash),
            )


def create_store(path: Path, journal: str, folders: Sequence[str]) -> None:
    """Make an empty store, whole or not at all: one without its tables could not be read, and so not resumed.

    Raises StoreError if it cannot be made; DiskFullError if there is no room for it.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with map_errors(path):
        shutil.rmtree(draft, ignore_errors=True)
        try:
            private_folder(draft)
            for folder in folders:
                private_folder(draft / folder)
            SegmentJournal(draft / journal).close()
            draft.rename(path)
        except OSError:
            if not path.is_dir():  # else another process made it meanwhile
                raise
        finally:
            shutil.rmtree(draft, ignore_errors=True)


def sweep(folder: Path, listed: Sequence[Segment]) -> None:
    """Remove files that no list names: what a kill left between writing and listing."""
    names = {one.name for one in listed}
    with map_errors(folder):
        for path in folder.iterdir():
            if path.is_file() and path.name not in names:
                path.unlink()
