"""The SQLite store: what it keeps, what it gives back, what it says when it cannot."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from tests.store.rows import SERVICE, answer, python
from trustgauge.errors import StoreError
from trustgauge.records import PROBE, RESPONSE, Message, canonical, digest
from trustgauge.store.sqlite import SqliteStore
from trustgauge.store.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with SqliteStore(tmp_path / "store.sqlite") as opened:
        yield opened


def test_it_is_a_store(store: SqliteStore) -> None:
    assert isinstance(store, Store)


def test_what_is_added_comes_back_whole(store: SqliteStore) -> None:
    hostile = "</script>\x00\x1b[31m\u202e'; DROP TABLE response; --"
    given = answer(
        1, output=hostile, trail=("una enfermera", "ĉu ŝi?"), millis=12.5, attempts=3, tokens=7, usd=0.25
    )
    store.add([given])
    frame = store.answers(SERVICE)
    assert frame.columns == ["message", "draw", "text", *RESPONSE]
    (row,) = frame.rows(named=True)
    assert row["output"] == hostile
    assert json.loads(row["trail"]) == ["una enfermera", "ĉu ŝi?"]
    assert (row["millis"], row["attempts"], row["tokens"], row["usd"]) == (12.5, 3, 7, 0.25)
    assert (row["message"], row["draw"], row["text"], row["at"]) == (given.message, 0, given.text, given.at)


def test_columns_have_their_types_even_when_empty(store: SqliteStore) -> None:
    empty = store.answers("nobody")
    store.add([answer(1, status="failed", output=None, error="service.rejected")])
    assert empty.schema == store.answers(SERVICE).schema
    assert empty.schema["output"] == pl.String
    assert empty.schema["millis"] == pl.Float64


def test_many_rows_in_one_group_and_sorted_by_key(store: SqliteStore) -> None:
    given = [answer(number, draw=draw) for number in range(100) for draw in range(3)]
    store.add(given[::-1])
    keys = store.answers(SERVICE).select("message", "draw").rows()
    assert keys == sorted((one.message, one.draw) for one in given)
    assert store.present(SERVICE) == set(keys)


def test_a_failed_row_is_pending_and_gives_way_with_its_costs(store: SqliteStore) -> None:
    failed = answer(
        1, status="failed", output=None, error="service.unavailable", attempts=6, usd=0.5, tokens=2
    )
    store.add([failed, answer(2)])
    assert store.present(SERVICE) == {(answer(2).message, 0)}
    store.add([answer(1, attempts=2, usd=0.25, tokens=3)])
    row = store.answers(SERVICE).filter(text="text 1").row(0, named=True)
    assert (row["status"], row["error"], row["output"]) == ("answered", "", "output 1")
    assert (row["attempts"], row["usd"], row["tokens"]) == (8, 0.75, 5)


@pytest.mark.parametrize("status", ["answered", "refused", "empty", "unreadable"])
def test_a_good_row_is_never_overwritten(store: SqliteStore, status: str) -> None:
    store.add([answer(1, status=status, output="first")])
    store.add([answer(1, output="second"), answer(1, status="failed", output=None)])
    assert store.answers(SERVICE)["output"].to_list() == ["first"]
    assert store.present(SERVICE) == {(answer(1).message, 0)}


def test_half_surrogates_are_kept_as_replacement_characters(store: SqliteStore) -> None:
    store.add([answer(1, output="\ud83d half", trail=("\udc00",))])
    row = store.answers(SERVICE).row(0, named=True)
    assert row["output"] == "\ufffd half"
    assert json.loads(row["trail"]) == ["\ufffd"]


def test_a_megabyte_is_kept_as_it_is(store: SqliteStore) -> None:
    store.add([answer(1, output="ж" * 1_000_000)])
    assert store.answers(SERVICE)["output"].item() == "ж" * 1_000_000


def test_cost_adds_up_all_sittings_but_not_what_was_borrowed(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "a.sqlite") as first:
        first.add([answer(1, attempts=5, usd=9.0, millis=900.0)])
    with SqliteStore(tmp_path / "b.sqlite") as store:
        store.borrow(tmp_path / "a.sqlite", SERVICE, [(answer(1).message, 0)], "TG-2026-1122-7f3a")
        store.add([answer(2, attempts=2, usd=0.5, tokens=4, millis=10.0), answer(3, millis=30.0)])
        store.add([answer(4, status="failed", output=None, attempts=6)])
        cost = store.cost([SERVICE, "nobody"])
        assert (cost.calls, cost.usd, cost.tokens, cost.latency_median_ms) == (9, 0.5, 4, 20.0)
        assert store.cost(["nobody"]).latency_median_ms is None


def test_the_hash_of_answers_depends_on_what_was_answered_only(tmp_path: Path) -> None:
    hashes = []
    for name, order, changes in (("a", 1, {}), ("b", -1, {"attempts": 4, "millis": 3.0, "at": "later"})):
        with SqliteStore(tmp_path / name) as store:
            store.add([answer(number, **changes) for number in range(10)][::order])
            hashes.append(store.hash([SERVICE]))
            store.add([answer(11)])
            assert store.hash([SERVICE]) != hashes[0]
    assert hashes[0] == hashes[1]


def test_borrowing_takes_what_is_wanted_usable_and_missing(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "old.sqlite") as old:
        old.add([answer(number, output="old") for number in range(5)])
        old.add([answer(5, status="failed", output=None), answer(6, fingerprint="other")])
    with SqliteStore(tmp_path / "new.sqlite") as new:
        new.add([answer(0, output="new"), answer(1, status="failed", output=None)])
        wanted = [(answer(number).message, draw) for number in (0, 2, 3, 5, 6) for draw in (0, 1)]
        assert new.borrow(tmp_path / "old.sqlite", SERVICE, wanted, "TG-1") == 2
        outputs = {row["text"]: row["output"] for row in new.answers(SERVICE).rows(named=True)}
        assert outputs == {"text 0": "new", "text 1": None, "text 2": "old", "text 3": "old"}
        new.integrity()


def test_borrowing_from_a_broken_file_says_so_and_harms_nothing(tmp_path: Path) -> None:
    (tmp_path / "old.sqlite").write_text("no database at all, but long enough to be looked at" * 100)
    with SqliteStore(tmp_path / "new.sqlite") as new:
        with pytest.raises(StoreError, match=r"old\.sqlite"):
            new.borrow(tmp_path / "old.sqlite", SERVICE, [("m", 0)], "TG-1")
        new.add([answer(1)])
        assert len(new.present(SERVICE)) == 1


def test_documents(store: SqliteStore) -> None:
    assert store.get("rating/0") is None
    mark = store.put("rating/0", '{"level": "BS"}')
    assert mark == digest("document", '{"level": "BS"}')
    store.put("rating/0", "changed")
    assert store.get("rating/0") == "changed"


def test_probes_come_back_in_order(store: SqliteStore) -> None:
    frame = pl.DataFrame(
        {
            "id": ["u1-001", "b1-001"],
            "message": ["She is a nurse.", 'He "is" a nurse.'],
            "session": ["", ""],
            "turn": [0, 0],
            "draw": [0, 1],
            "block": ["u1", "b1"],
            "pattern": ["plain", "plain"],
            "values": [[1], [0]],
        }
    )
    assert set(PROBE) < set(frame.columns)
    store.add_probes("0", frame)
    store.add_probes("0", frame)
    back = store.probes("0")
    assert back.select(list(PROBE)).rows() == frame.select(list(PROBE)).rows()
    assert [json.loads(text) for text in back["factors"]] == [
        {"pattern": "plain", "values": [1]},
        {"pattern": "plain", "values": [0]},
    ]
    assert store.probes("1").is_empty()


def session_answer(turn: int) -> tuple[str, str]:
    script = ("hello", "bye")
    message = Message(script[turn], session="s", user="ann", script=script, turn=turn)
    return message.key, canonical([list(script), "ann", turn])


def test_integrity_re_derives_every_key(store: SqliteStore, tmp_path: Path) -> None:
    store.add([answer(number) for number in range(20)])
    for turn in range(2):
        key, script = session_answer(turn)
        store.add([answer(0, message=key, script=script)])
    store.put("rating/0", "text")
    store.integrity()
    store.add([replace(answer(3), message="0" * 32)])
    with pytest.raises(StoreError, match="1 that do not"):
        store.integrity()


@pytest.mark.parametrize(
    "tampering",
    [
        "UPDATE response SET text = 'other' WHERE text = 'text 3'",
        "UPDATE document SET text = 'UCS'",
        "UPDATE response SET script = '{' WHERE text = 'text 3'",
        f"UPDATE response SET script = '{100_000 * '['}' WHERE text = 'text 3'",
    ],
    ids=["text", "document", "no script", "deep script"],
)
def test_integrity_notices_changes_from_outside(tmp_path: Path, tampering: str) -> None:
    path = tmp_path / "store.sqlite"
    with SqliteStore(path) as store:
        store.add([answer(number) for number in range(5)])
        store.put("rating/0", "BS")
    with sqlite3.connect(path) as db:
        db.execute(tampering)
    db.close()
    with SqliteStore(path, read_only=True) as store, pytest.raises(StoreError, match="changed after"):
        store.integrity()


def test_one_writer_and_the_other_is_named(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    script = (
        "import sys, pathlib; from trustgauge.store.sqlite import SqliteStore\n"
        "store = SqliteStore(pathlib.Path(sys.argv[1])); print('open', flush=True); sys.stdin.read()"
    )
    with python(script, str(path)) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        with pytest.raises(StoreError, match=f"in use.*process {other.pid}"):
            SqliteStore(path)
        with SqliteStore(path, read_only=True) as reader:  # many readers
            assert reader.present(SERVICE) == set()
        other.kill()  # -9
        other.wait()
        assert other.stderr is not None
        other.stderr.close()
        with SqliteStore(path) as store:
            store.add([answer(1)])


def test_a_closed_store_says_so_and_closes_twice(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.sqlite")
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.add([answer(1)])


def test_a_closed_store_is_one_file_that_can_be_copied_and_read(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "store.sqlite") as store:
        store.add([answer(number) for number in range(500)])
    assert not (tmp_path / "store.sqlite-wal").exists()
    copy = tmp_path / "elsewhere" / "a 100% copy?#.sqlite"
    copy.parent.mkdir()
    shutil.copy(tmp_path / "store.sqlite", copy)
    with SqliteStore(copy, read_only=True) as read:
        assert len(read.present(SERVICE)) == 500
        with pytest.raises(StoreError):
            read.add([answer(1)])


def test_no_file_to_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no store at"):
        SqliteStore(tmp_path / "store.sqlite", read_only=True)
    assert list(tmp_path.iterdir()) == []
