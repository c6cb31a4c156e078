"""Every store keeps the contract of `trustgauge.store.Store`, whatever it is made of."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.store.rows import SERVICE, answer
from trustgauge import plugins
from trustgauge.errors import StoreError
from trustgauge.records import ANSWERED_AS, ESTIMATED, PROBE, Answer, Cost, Message, canonical, digest
from trustgauge.store import BY_HAND, Key, Store
from trustgauge.store.conformance import check_store
from trustgauge.store.parquet import ParquetStore
from trustgauge.store.sqlite import SqliteStore

Make = Callable[..., Any]
KINDS = plugins.names("stores")


def maker(kind: str) -> Make:
    """Opens stores of a kind; those that seal do so after a few answers."""
    store = plugins.load("stores", kind)
    few = {"seal": 7, "small": 3} if store is ParquetStore else {}
    return lambda path, **options: store(path, **few, **options)


@pytest.fixture(params=KINDS)
def make(request: pytest.FixtureRequest) -> Make:
    return maker(request.param)


@pytest.fixture
def store(make: Make, tmp_path: Path) -> Iterator[Store]:
    with make(tmp_path / "store") as opened:
        yield opened


def test_the_known_kinds_are_registered() -> None:
    assert set(KINDS) >= {"parquet", "sqlite"}


def test_it_passes_the_kit(make: Make, tmp_path: Path) -> None:
    check_store(make, tmp_path)


class Doubling(SqliteStore):
    def answers(self, fingerprint: str) -> pl.DataFrame:
        return pl.concat([super().answers(fingerprint)] * 2)


class Cleaning(SqliteStore):
    def answers(self, fingerprint: str) -> pl.DataFrame:
        return super().answers(fingerprint).with_columns(pl.col("output").str.strip_chars("-"))


class Content(SqliteStore):
    def present(self, fingerprint: str) -> set[Key]:
        return set(self.answers(fingerprint).select("message", "draw").rows())


class Trusting(SqliteStore):
    def holds(self, fingerprint: str, keys: Sequence[Key]) -> list[bool]:
        return [True] * len(keys)


class Hasty(SqliteStore):
    def add(self, answers: Sequence[Answer]) -> None:
        super().add([one for one in answers if one.status != "failed"])


class Ordered(SqliteStore):
    def hash(self, fingerprints: Iterable[str]) -> str:
        return digest("order", [row[0] for row in self._rows()])

    def _rows(self) -> list[Any]:
        with self._use() as db:
            return db.execute("SELECT message FROM response ORDER BY rowid").fetchall()


class Cutting(SqliteStore):
    def add(self, answers: Sequence[Answer]) -> None:
        super().add([replace(one, output=one.output and one.output[:65_536]) for one in answers])


class Placeless(SqliteStore):
    def add(self, answers: Sequence[Answer]) -> None:
        super().add([replace(one, script="") for one in answers])


class Factorless(SqliteStore):
    def add_probes(self, experiment: str, probes: pl.DataFrame) -> None:
        super().add_probes(experiment, probes.select(list(PROBE)))


class Blank(SqliteStore):
    def put(self, name: str, text: str) -> str:
        return super().put(name, "")


class Free(SqliteStore):
    def cost(self, fingerprints: Iterable[str]) -> Cost:
        return replace(super().cost(fingerprints), usd=0.0)


class Single(SqliteStore):
    def repeats(self, fingerprint: str) -> Iterator[pl.DataFrame]:
        yield from ()


class Blind(SqliteStore):
    def hash(self, fingerprints: Iterable[str]) -> str:
        return "0" * 32


class Credulous(SqliteStore):
    def integrity(self) -> None:
        """All is well."""


class Proud(SqliteStore):
    def take(self, rows: Iterable[Sequence[object]], origin: str) -> int:
        return 0


@pytest.mark.parametrize(
    ("broken", "fault"),
    [
        (Cutting, '"bye" comes back changed'),
        (Placeless, "or a script is lost"),
        (Factorless, "factors of probes are lost"),
        (Blank, "a document comes back changed"),
        (Free, "`cost` is not the sum"),
        (Single, "`repeats` is not every answer"),
        (Blind, "the hash says nothing of an answer"),
        (Credulous, "`integrity` passes an answer under a wrong key"),
        (Proud, "`usable` and `take` hand over other than"),
        (Doubling, "not each answer once"),
        (Cleaning, '"text 0" comes back changed'),
        (Content, "`present` is not every answer that did not fail"),
        (Trusting, "`holds` differs from `present`"),
        (Hasty, "the costs of a failed answer are lost"),
        (Ordered, "the hash depends on the order"),
        (lambda path, **_: SqliteStore(path), "used by one run at a time"),
    ],
)
def test_the_kit_finds_what_is_broken(broken: Make, fault: str, tmp_path: Path) -> None:
    with pytest.raises((AssertionError, StoreError), match=fault):
        check_store(broken, tmp_path)


def test_columns_have_their_types_even_when_empty(store: Store) -> None:
    empty = store.answers("nobody")
    store.add([answer(1, status="failed", output=None, error="service.rejected")])
    assert empty.schema == store.answers(SERVICE).schema == store.answers_to(SERVICE, []).schema
    assert empty.schema["output"] == pl.String
    assert empty.schema["millis"] == pl.Float64


def test_a_message_that_is_no_hash_is_a_key_too(store: Store) -> None:
    odd = ["m", "Z" * 32, "ab " * 10 + "ab", ""]
    store.add([answer(0, message=message) for message in odd])
    store.add([answer(number) for number in range(20)])
    assert store.holds(SERVICE, [(message, 0) for message in [*odd, "n"]]) == [True] * 4 + [False]


def test_further_draws_come_with_the_first(store: Store) -> None:
    store.add([answer(number) for number in range(30)])
    store.add([answer(number, draw=draw) for number in (3, 28) for draw in (2, 1)])
    store.add([answer(3, fingerprint="other", draw=1)])
    rows = [row for frame in store.repeats(SERVICE) for row in frame.select("text", "draw").iter_rows()]
    assert sorted(set(rows)) == [(f"text {number}", draw) for number in (28, 3) for draw in range(3)]
    assert not list(store.repeats("nobody"))


def test_a_failed_row_is_pending_and_gives_way_with_its_costs(store: Store) -> None:
    failed = answer(
        1, status="failed", output=None, error="service.unavailable", attempts=6, usd=0.5, tokens=2
    )
    store.add([failed, answer(2)])
    store.add([answer(number) for number in range(3, 20)])
    assert store.present(SERVICE) == {(answer(number).message, 0) for number in range(2, 20)}
    store.add([answer(1, attempts=2, usd=0.25, tokens=3)])
    row = store.answers(SERVICE).filter(pl.col("text") == "text 1").row(0, named=True)
    assert (row["status"], row["error"], row["output"]) == ("answered", "", "output 1")
    assert (row["attempts"], row["usd"], row["tokens"]) == (8, 0.75, 5)


@pytest.mark.parametrize("status", ["answered", "refused", "empty", "unreadable"])
@pytest.mark.parametrize("between", [0, 20])
def test_a_good_row_is_never_overwritten(store: Store, status: str, between: int) -> None:
    store.add([answer(1, status=status, output="first")])
    store.add([answer(number) for number in range(2, 2 + between)])
    store.add([answer(1, output="second"), answer(1, status="failed", output=None)])
    assert store.answers_to(SERVICE, [(answer(1).message, 0)])["output"].to_list() == ["first"]
    assert len(store.present(SERVICE)) == 1 + between
    store.integrity()


def test_half_surrogates_are_kept_as_replacement_characters(store: Store) -> None:
    store.add([answer(1, output="\ud83d half", trail=("\udc00",)), *(answer(n) for n in range(2, 12))])
    row = store.answers_to(SERVICE, [(answer(1).message, 0)]).row(0, named=True)
    assert row["output"] == "\ufffd half"
    assert json.loads(row["trail"]) == ["\ufffd"]


def test_a_megabyte_is_kept_as_it_is(store: Store) -> None:
    store.add([answer(1, output="ж" * 1_000_000)])
    assert store.answers(SERVICE)["output"].item() == "ж" * 1_000_000


def test_what_people_brought_is_counted(store: Store) -> None:
    store.add([answer(number, detail=f"{BY_HAND}, from a sheet") for number in range(9)])
    store.add([answer(number) for number in range(9, 12)])
    assert (store.by_hand(SERVICE), store.by_hand("nobody")) == (9, 0)


def test_what_services_say_they_answered_with_is_listed_once(store: Store) -> None:
    for number, model in enumerate(("b 2", "a 1", "b 2")):
        store.add([answer(number, detail=f"{ANSWERED_AS}model {model}")])
    store.add([answer(8, status="failed", output=None, detail=f"{ANSWERED_AS}model c")])
    store.add([answer(9, detail=f"{BY_HAND}, from a sheet")])
    store.add([answer(10, detail=f"{ANSWERED_AS}model a 1{ESTIMATED}", tokens=7)])
    store.add([answer(11, detail=ESTIMATED, tokens=5), answer(12, tokens=3)])
    cost = store.cost([SERVICE])
    assert (cost.tokens, cost.tokens_estimated) == (15, 12)
    assert store.answered_as([SERVICE, "nobody"]) == ("model a 1", "model b 2")
    assert store.answered_as(["nobody"]) == ()


def test_cost_adds_up_all_sittings_but_not_what_was_borrowed(make: Make, tmp_path: Path) -> None:
    with make(tmp_path / "a") as first:
        first.add([answer(1, attempts=5, usd=9.0, millis=900.0)])
    with make(tmp_path / "b") as store:
        store.borrow(tmp_path / "a", SERVICE, [(answer(1).message, 0)], "TG-2026-1122-7f3a")
        store.add([answer(2, attempts=2, usd=0.5, tokens=4, millis=10.0), answer(3, millis=30.0)])
        store.add([answer(4, status="failed", output=None, attempts=6)])
        store.add([answer(number, fingerprint="other", usd=1.0) for number in range(10)])
        cost = store.cost([SERVICE, "nobody"])
        assert (cost.calls, cost.usd, cost.tokens, cost.latency_median_ms) == (9, 0.5, 4, 20.0)
        assert store.cost(["nobody"]).latency_median_ms is None
        assert store.cost([SERVICE, "other"]).usd == 10.5


def test_the_hash_tells_what_was_answered_and_nothing_else(tmp_path: Path) -> None:
    hashes = set()
    for kind in KINDS:
        for order, changes in ((1, {}), (-1, {"attempts": 4, "millis": 3.0, "at": "later"})):
            with maker(kind)(tmp_path / f"{kind}{order}") as store:
                store.add([answer(number, **changes) for number in range(30)][::order])
                hashes.add(store.hash([SERVICE]))
                store.add([answer(31)])
                assert store.hash([SERVICE]) not in hashes
    assert len(hashes) == 1


@pytest.mark.parametrize("other", KINDS)
def test_what_another_store_held_is_taken_where_it_is_missing(make: Make, other: str, tmp_path: Path) -> None:
    with maker(other)(tmp_path / "old") as old:
        old.add([answer(number, output="old") for number in range(5)])
        old.add([answer(5, status="failed", output=None), answer(6, fingerprint="other")])
        old.add([answer(number) for number in range(10, 20)])
        wanted = [(answer(number).message, draw) for number in (0, 2, 3, 5, 6) for draw in (0, 1)]
        rows = old.usable(SERVICE, wanted)
        assert {row[3] for row in rows} == {"text 0", "text 2", "text 3"}
    with make(tmp_path / "new") as new:
        new.add([answer(0, output="new"), answer(1, status="failed", output=None)])
        assert new.take(rows, "TG-1") == 2
        assert new.take(rows, "TG-1") == 0
        outputs = {row["text"]: row["output"] for row in new.answers(SERVICE).rows(named=True)}
        assert outputs == {"text 0": "new", "text 1": None, "text 2": "old", "text 3": "old"}
        assert new.cost([SERVICE]).calls == 2
        new.integrity()


def test_borrowing_from_a_file(make: Make, tmp_path: Path) -> None:
    with maker("sqlite")(tmp_path / "old") as old:
        old.add([answer(number) for number in range(40)])
    with make(tmp_path / "new") as new:
        wanted = [(answer(number).message, 0) for number in range(30)]
        assert new.borrow(tmp_path / "old", SERVICE, wanted, "TG-1") == 30
        assert new.borrow(tmp_path / "old", SERVICE, wanted, "TG-1") == 0
        assert new.present(SERVICE) == set(wanted)
        new.integrity()


def test_borrowing_from_a_broken_file_says_so_and_harms_nothing(make: Make, tmp_path: Path) -> None:
    (tmp_path / "old").write_text("no database at all, but long enough to be looked at" * 100)
    with make(tmp_path / "new") as new:
        with pytest.raises(StoreError, match="old"):
            new.borrow(tmp_path / "old", SERVICE, [("m", 0)], "TG-1")
        new.add([answer(1)])
        assert len(new.present(SERVICE)) == 1


def test_documents(store: Store) -> None:
    assert store.get("rating/0") is None
    assert store.put("rating/0", '{"level": "BS"}') == digest("document", '{"level": "BS"}')
    store.put("rating/0", "changed")
    assert store.get("rating/0") == "changed"


def test_probes_come_back_in_order(store: Store) -> None:
    frame = pl.DataFrame(
        {
            "id": ["u1-002", "b1-001"],
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
    further = frame.with_columns(pl.col("id") + "-a")
    for one in (frame, further, frame):
        store.add_probes("0", one)
    back = store.probes("0")
    expected = pl.concat([frame, further]).select(list(PROBE))
    assert back.select(list(PROBE)).rows() == expected.rows()
    assert pl.concat(store.probe_slices("0")).equals(back)
    assert [json.loads(text) for text in back["factors"]][:2] == [
        {"pattern": "plain", "values": [1]},
        {"pattern": "plain", "values": [0]},
    ]
    assert store.probes("1").is_empty()
    assert store.probes("1").columns == back.columns


def test_integrity_re_derives_every_key(store: Store) -> None:
    store.add([answer(number) for number in range(20)])
    script = ("hello", "bye")
    for turn in range(2):
        key = Message(script[turn], session="s", user="ann", script=script, turn=turn).key
        store.add([answer(0, message=key, script=canonical([list(script), "ann", turn]))])
    store.put("rating/0", "text")
    store.integrity()
    store.add([replace(answer(3), message="0" * 32)])
    with pytest.raises(StoreError, match="1 that do not"):
        store.integrity()


def test_one_writer_and_any_number_of_readers(make: Make, tmp_path: Path) -> None:
    with make(tmp_path / "store") as store, make(tmp_path / "store", read_only=True) as reader:
        with pytest.raises(StoreError, match="in use"):
            make(tmp_path / "store")
        for number in range(60):
            store.add([answer(number)])
            assert len(reader.present(SERVICE)) == number + 1
        reader.integrity()
        with pytest.raises(StoreError):
            reader.add([answer(100)])


def test_a_closed_store_says_so_and_closes_twice(make: Make, tmp_path: Path) -> None:
    store = make(tmp_path / "store")
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.add([answer(1)])


def test_nothing_to_read_is_an_error(make: Make, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no store at"):
        make(tmp_path / "store", read_only=True)
    assert list(tmp_path.iterdir()) == []
