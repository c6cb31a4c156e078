"""Every step of the schema, each from the schema before it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store.rows import SERVICE, answer
from trustgauge.errors import StoreError
from trustgauge.store.sqlite import MIGRATIONS, VERSION, SqliteStore, migrate, version


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    yield connection
    connection.close()


def shape(db: sqlite3.Connection) -> dict[str, list[tuple[object, ...]]]:
    """Columns, types, keys and indices of every table."""
    tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {
        name: db.execute(f"PRAGMA table_info({name})").fetchall()
        + db.execute(f"PRAGMA index_list({name})").fetchall()
        + db.execute("SELECT strict FROM pragma_table_list WHERE name = ?", (name,)).fetchall()
        for name in sorted(tables)
    }


def test_the_steps_lead_to_the_schema_of_a_new_store(db: sqlite3.Connection) -> None:
    for number in range(1, VERSION + 1):
        migrate(db, number)
        assert version(db) == number
    fresh = sqlite3.connect(":memory:", isolation_level=None)
    assert migrate(fresh) == 0
    assert shape(fresh) == shape(db)
    assert version(fresh) == VERSION == len(MIGRATIONS)
    fresh.close()


@pytest.mark.parametrize(("number", "adds"), [(0, {"response", "meta"}), (1, {"document"}), (2, {"probe"})])
def test_each_step_adds_its_tables_only(db: sqlite3.Connection, number: int, adds: set[str]) -> None:
    if number:
        migrate(db, number)
    before = shape(db)
    migrate(db, number + 1)
    after = shape(db)
    assert set(after) - set(before) == adds
    assert all(after[name] == before[name] for name in before)


@pytest.mark.parametrize("number", range(1, VERSION))
def test_an_older_store_is_opened_with_its_answers(tmp_path: Path, number: int) -> None:
    path = tmp_path / "store.sqlite"
    old = sqlite3.connect(path, isolation_level=None)
    migrate(old, number)
    row = answer(1)
    old.execute(
        "INSERT INTO response VALUES "
        "(?, ?, 0, ?, 'answered', 'out', '[]', '', '', 1.0, 1, 0, 0.0, '', '', '')",
        (row.fingerprint, row.message, row.text),
    )
    old.close()
    before = path.read_bytes()
    with SqliteStore(path, read_only=True) as store:
        assert store.present(SERVICE) == {(row.message, 0)}
        assert store.probes("0").is_empty()
    assert path.read_bytes() == before, "reading changes nothing"
    with SqliteStore(path) as store:
        assert store.present(SERVICE) == {(row.message, 0)}
        store.put("rating/0", "text")
        assert store.probes("0").is_empty()
        store.integrity()


def test_a_newer_store_is_refused_and_untouched(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    SqliteStore(path).close()
    with sqlite3.connect(path) as db:
        db.execute("UPDATE meta SET value = '99' WHERE key = 'schema'")
    db.close()
    for read_only in (False, True):
        with pytest.raises(StoreError, match="update trustgauge"):
            SqliteStore(path, read_only=read_only)


def test_a_step_that_fails_leaves_the_store_before_it(db: sqlite3.Connection) -> None:
    migrate(db, 1)
    db.execute("CREATE TABLE probe (in_the_way TEXT)")
    with pytest.raises(sqlite3.OperationalError):
        migrate(db)
    assert version(db) == 2
    db.execute("DROP TABLE probe")
    migrate(db)
    assert version(db) == VERSION
