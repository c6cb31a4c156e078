"""The Parquet store: sealing, compaction, what a kill leaves, what is noticed.

What it shares with other stores is in tests/contracts/test_stores.py.
"""

from __future__ import annotations

import re
import shutil
import signal
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.store.rows import SERVICE, answer, python
from trustgauge.errors import StoreError
from trustgauge.records import Answer
from trustgauge.store import KeySet, is_ascending, order_of, pack_keys, positions_in
from trustgauge.store.parquet import JOURNAL, PROBES, SEGMENTS, ParquetStore
from trustgauge.store.segments import FILLED, SCHEMA, read_segment, write_segment

ADDED = 48
SEAL, SMALL = 12, 3
# Adds answers four at a time and seals early now and then, so that there are segments to be made one; then
# adds probes. Told a number, it kills itself before that line of the store runs, counted from the first; told
# "2-sealing-seal", before the second line of that module's function. For each it forks, as importing takes
# longer than all of this, and begins in a folder of that name.
WRITER = """
import os, sys
from pathlib import Path
import polars as pl
from tests.store.kills import kill_before
from tests.store.rows import answer
from trustgauge.store.parquet import ParquetStore
PROBES = {"id": ["a"], "message": ["m"], "session": [""], "turn": [0], "draw": [0], "block": ["b"]}
FILES = tuple(f"trustgauge/store/{name}.py" for name in ("parquet", "sealing", "segments"))
SKIPPED = ("locate", "keys_of", "_table", "_sealed", "_located", "still", "_read", "use", "path")

def write(moment):
    store = ParquetStore(Path(sys.argv[1], moment), seal=12, small=3)
    last, *function = moment.split("-")
    files = (f"trustgauge/store/{function[0]}.py",) if function else FILES
    end = kill_before(int(last), files, SKIPPED, only=function[1:])
    for start in range(0, 48, 4):
        store.add([answer(number) for number in range(start, start + 4)])
        print("kept", start + 4, flush=True)
        if start % 24 < 12:
            store.seal()
    store.add_probes("0", pl.DataFrame(PROBES))
    lines = end()
    store.close()
    print("lines", lines, flush=True)

for moment in sys.argv[2:]:
    if not (child := os.fork()):
        write(moment)
        os._exit(0)
    print("ended", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def written(path: Path, *moments: int | str) -> list[tuple[int, int]]:
    """Run the writer. For each: how many answers it was told are kept, how many lines it ran (0: killed)."""
    with python(WRITER, str(path), *map(str, moments)) as child:
        out, err = child.communicate()
        assert child.returncode == 0, err
    found = []
    for result in out.split("ended")[:-1]:
        words = result.split()
        lines = int(words[words.index("lines") + 1]) if "lines" in words else 0
        kept = [int(number) for word, number in pairwise(words) if word == "kept"]
        found.append((max(kept, default=0), lines))
    codes = re.findall(r"ended (-?\d+)", out)
    assert codes == [str(0 if lines else -signal.SIGKILL) for _, lines in found], err
    assert len(found) == len(moments)
    return found


def opened(path: Path, **options: bool) -> ParquetStore:
    return ParquetStore(path, seal=SEAL, small=SMALL, **options)


def whole() -> list[Answer]:
    return [answer(number) for number in range(ADDED)]


def checked(path: Path, acknowledged: int) -> None:
    """After a kill: nothing acknowledged is lost, nothing is there twice, and the run can go on."""
    with opened(path, read_only=True) as reader:
        before = set(reader.answers(SERVICE)["text"])
    with opened(path) as store:
        rows = store.answers(SERVICE)
        assert rows["text"].is_unique().all()
        assert set(rows["text"]) == before
        assert {f"text {number}" for number in range(acknowledged)} <= before
        assert rows.height <= acknowledged + 4
        store.integrity()
        store.add(whole())
        store.integrity()
        assert (
            store.answers(SERVICE)
            .drop("at", "millis")
            .equals(
                pl.concat([store.answers_to(SERVICE, [(one.message, 0)]) for one in whole()])
                .sort("message")
                .drop("at", "millis")
            )
        )
        assert len(store.present(SERVICE)) == ADDED
        listed = {one.name for one in store._segments.listed}
        assert {one.name for one in (path / SEGMENTS).iterdir()} == listed


def check_kills(path: Path, lasts: Sequence[int]) -> None:
    """Kill a writer before each of these lines, and look at what it leaves."""
    for last, (acknowledged, ended) in zip(lasts, written(path, *lasts), strict=True):
        assert not ended
        checked(path / str(last), acknowledged)


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> int:
    """How many lines the writer runs in a calm run."""
    ((acknowledged, lines),) = written(tmp_path_factory.mktemp("calm"), 0)
    assert acknowledged == ADDED
    assert lines > 1_000
    return lines


def test_kill_9_at_some_steps_loses_and_doubles_nothing(tmp_path: Path, lines: int) -> None:
    check_kills(tmp_path, range(lines // 20, lines, lines // 4))


@pytest.mark.slow
@pytest.mark.usefixtures("lines")
def test_kill_9_between_any_two_steps_of_sealing_loses_and_doubles_nothing(tmp_path: Path) -> None:
    # Three seals and the first making-one lie before line 1,000.
    check_kills(tmp_path, range(3, 1_000, 89))


def unlisted(path: Path) -> set[str]:
    """Names of the files of segments and probes that the journal does not list."""
    with closing(sqlite3.connect(path / JOURNAL)) as db:
        rows = db.execute("SELECT name FROM segment UNION SELECT name FROM probe_file").fetchall()
    there = {one.name for folder in (SEGMENTS, PROBES) for one in (path / folder).iterdir()}
    return there - {name for (name,) in rows}


def test_kill_9_between_writing_a_file_and_listing_it_leaves_none_that_is_not_listed(tmp_path: Path) -> None:
    moments = [
        *("1-sealing-seal", "7-sealing-seal", "20-sealing-seal"),
        *("1-sealing-replace", "4-sealing-replace", "1-sealing-list_probes"),
        *("7-folder-write_file", "10-folder-write_file"),  # whose file has not yet its name
    ]
    for moment, (acknowledged, ended) in zip(moments, written(tmp_path, *moments), strict=True):
        assert not ended, moment
        path = tmp_path / moment
        left = unlisted(path)
        assert len(left) == 1, moment
        with opened(path, read_only=True):
            assert unlisted(path) == left
        with opened(path) as store:
            assert unlisted(path) == set(), moment
            kept = set(store.answers(SERVICE)["text"])
        assert {f"text {number}" for number in range(acknowledged)} <= kept, moment
        checked(path, acknowledged)


def test_answers_are_sealed_and_the_journal_lets_go_of_them(tmp_path: Path) -> None:
    failed = answer(100, status="failed", output=None)
    with opened(tmp_path / "s") as store:
        store.add([*whole(), failed])
        assert sum(one.rows for one in store._segments.listed) == ADDED
    with sqlite3.connect(tmp_path / "s" / JOURNAL) as db:
        assert db.execute("SELECT status FROM response").fetchall() == [("failed",)]
    db.close()
    with opened(tmp_path / "s", read_only=True) as store:
        assert store.answers(SERVICE).height == ADDED + 1
        assert len(store.present(SERVICE)) == ADDED


def test_small_segments_are_made_one(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as store:
        for number in range(20):
            store.add([answer(number)])
            store.seal()
        rows = [one.rows for one in store._segments.listed]
        assert sum(rows) == 20
        assert len(rows) <= 10
        assert max(rows) <= SEAL
        store.integrity()
        assert set(store.answers(SERVICE)["text"]) == {f"text {number}" for number in range(20)}
        assert len(list((tmp_path / "s" / SEGMENTS).iterdir())) == len(rows)


def test_a_reader_goes_on_while_segments_are_made_one(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as store, opened(tmp_path / "s", read_only=True) as reader:
        for number in range(40):
            store.add([answer(number)])
            store.seal()
            assert reader.holds(SERVICE, [(answer(number).message, 0), (answer(99).message, 0)]) == [
                True,
                False,
            ]
            assert reader.answers(SERVICE).height == number + 1


def test_a_file_that_no_list_names_is_passed_over_and_removed(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as store:
        store.add(whole())
        hash_before = store.hash([SERVICE])
    left = tmp_path / "s" / SEGMENTS / "000099.parquet"
    first = next((tmp_path / "s" / SEGMENTS).iterdir())
    shutil.copy(first, left)
    with opened(tmp_path / "s", read_only=True) as reader:
        assert reader.hash([SERVICE]) == hash_before
        assert left.exists()
    with opened(tmp_path / "s") as store:
        assert not left.exists()
        assert store.hash([SERVICE]) == hash_before


def test_a_changed_or_missing_segment_is_noticed(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as store:
        store.add(whole())
    first = next((tmp_path / "s" / SEGMENTS).iterdir())
    rows = pl.read_parquet(first)
    rows.with_columns(output=pl.lit("other")).write_parquet(first)
    with opened(tmp_path / "s", read_only=True) as store, pytest.raises(StoreError, match="changed after"):
        store.integrity()
    first.unlink()
    with opened(tmp_path / "s", read_only=True) as store:
        with pytest.raises(StoreError, match=first.name):
            store.answers(SERVICE)
        with pytest.raises(StoreError, match=first.name):
            store.integrity()
    first.write_bytes(b"no Parquet at all")
    with opened(tmp_path / "s", read_only=True) as store, pytest.raises(StoreError, match="damaged"):
        store.answers(SERVICE)


@pytest.mark.parametrize("script", ["{", 100_000 * "["], ids=["no script", "deep script"])
def test_a_script_that_cannot_be_read_is_noticed(tmp_path: Path, script: str) -> None:
    with opened(tmp_path / "s") as store:
        store.add(whole())
        first = store._segments.listed[0]
        rows = store._segments.read(first).with_columns(script=pl.lit(script))
        write_segment(tmp_path / "s" / SEGMENTS, first.name, rows)
        with pytest.raises(StoreError, match="changed after"):
            store.integrity()


def test_an_answer_that_stands_twice_is_noticed(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as store:
        store.add(whole())
        store._journal.add([answer(3)])
        with pytest.raises(StoreError, match="1 that do not"):
            store.integrity()
        again = store._segments.read(store._segments.listed[0])
        segment = write_segment(tmp_path / "s" / SEGMENTS, "000077.parquet", again)
        store._journal.seal(segment, again)
        with pytest.raises(StoreError, match=f"{SEAL} answers twice"):
            store.integrity()


def test_probes_that_were_changed_are_noticed(tmp_path: Path) -> None:
    probes = {"id": ["a"], "message": ["m"], "session": [""], "turn": [0], "draw": [0], "block": ["b"]}
    with opened(tmp_path / "s") as store:
        store.add_probes("0", pl.DataFrame(probes))
        store.integrity()
    (file,) = (tmp_path / "s" / PROBES).iterdir()
    pl.read_parquet(file).with_columns(message=pl.lit("other")).write_parquet(file)
    with opened(tmp_path / "s", read_only=True) as store, pytest.raises(StoreError, match="1 that do not"):
        store.integrity()


def rows_of(*numbers: int) -> pl.DataFrame:
    values = {
        **{name: [""] * len(numbers) for name in ("error", "detail", "at", "script", "origin")},
        **{name: [0] * len(numbers) for name in ("draw", "attempts", "tokens")},
        **{name: [0.0] * len(numbers) for name in ("millis", "usd")},
        "fingerprint": [SERVICE] * len(numbers),
        "message": [answer(number).message for number in numbers],
        "text": [answer(number).text for number in numbers],
        "output": ["out"] * len(numbers),
        "status": ["answered"] * len(numbers),
        "trail": ["[]"] * len(numbers),
    }
    return pl.DataFrame(values)


def test_a_segment_of_an_older_version_is_read_with_its_columns_filled(tmp_path: Path) -> None:
    write_segment(tmp_path, "a.parquet", rows_of(1, 2))
    path = tmp_path / "a.parquet"
    assert pl.read_parquet(path)["schema"].unique().to_list() == [SCHEMA]
    older = pl.read_parquet(path).drop(list(FILLED)).with_columns(schema=pl.lit(0, pl.Int16))
    older.write_parquet(path)
    rows = read_segment(path)
    assert rows.schema == write_and_read(tmp_path).schema
    assert {name: rows[name].unique().to_list() for name in FILLED} == {
        name: [one] for name, one in FILLED.items()
    }


def write_and_read(folder: Path) -> pl.DataFrame:
    write_segment(folder, "b.parquet", rows_of(3))
    return read_segment(folder / "b.parquet")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda rows: rows.with_columns(schema=pl.lit(SCHEMA + 1, pl.Int16)), "newer trustgauge"),
        (lambda rows: rows.drop("output"), "no column output"),
        (lambda rows: rows.drop("schema"), "not a segment"),
        (lambda rows: rows.with_columns(schema=pl.lit("one")), "another type of schema"),
        (lambda rows: rows.with_columns(attempts=pl.lit("many")), "another type of attempts"),
        (lambda rows: rows.with_columns(message=pl.lit(None, pl.String)), "no value in message"),
        (lambda rows: rows.with_columns(draw=pl.lit(None, pl.Int64)), "no value in draw"),
    ],
)
def test_a_segment_that_cannot_be_understood_is_refused(tmp_path: Path, change: object, said: str) -> None:
    write_segment(tmp_path, "a.parquet", rows_of(1))
    changed = change(pl.read_parquet(tmp_path / "a.parquet"))  # type: ignore[operator]
    changed.write_parquet(tmp_path / "a.parquet")
    with pytest.raises(StoreError, match=said):
        read_segment(tmp_path / "a.parquet")


def test_a_folder_can_be_copied_and_read_elsewhere(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as store:
        store.add(whole())
    shutil.copytree(tmp_path / "s", tmp_path / "else where")
    with opened(tmp_path / "else where", read_only=True) as copy:
        copy.integrity()
        assert len(copy.present(SERVICE)) == ADDED


def test_packed_keys_tell_service_message_and_draw_apart() -> None:
    messages = [answer(number).message for number in range(50)]
    keys = np.concatenate(
        [pack_keys(service, messages, [draw] * 50) for service in ("a", "b") for draw in (0, 1, 2, 7)]
    )
    assert len(np.unique(keys, axis=0)) == 400
    ordered = keys[:100][order_of(keys[:100])]
    assert is_ascending(ordered)
    assert not is_ascending(ordered[[0, 2, 1]])
    assert not is_ascending(ordered[[0, 0]])
    places = positions_in(ordered, keys)
    assert (places[:100] >= 0).all()
    assert (places[100:] == -1).all()
    assert (ordered[places[:100]] == keys[:100]).all()
    half = np.array([[5, 1], [5, 3], [5, 4], [9, 2]], dtype=np.uint64)
    sought = np.array([[5, 4], [5, 2], [9, 2], [9, 3], [5, 1]], dtype=np.uint64)
    assert positions_in(half, sought).tolist() == [2, -1, 3, -1, 0]
    assert (positions_in(ordered[:0], keys) == -1).all()


def test_a_large_set_of_keys_is_the_set_it_is_given() -> None:
    rng = np.random.default_rng(3)
    numbers = rng.integers(0, 2**62, size=25_000).tolist()
    keys = [(f"{number:032x}", number % 3) for number in numbers]
    held = KeySet(loose=10_000)
    for start in range(0, len(keys), 3_000):
        held.add(keys[start : start + 3_000])
    held.add(keys[:100])
    others = [(message, draw + 1) for message, draw in keys[:100]]
    assert all(held.holds(keys[::9]))
    assert not any(held.holds(others))
    assert KeySet().holds(others[:3]) == [False] * 3


def test_a_reader_that_looks_for_repeats_first_finds_those_that_are_sealed(tmp_path: Path) -> None:
    twice = [answer(1), answer(1, draw=1, output="another"), answer(2)]
    with opened(tmp_path / "store") as store:
        store.add(twice)
        store.seal()
    with opened(tmp_path / "store", read_only=True) as reader:
        found = list(reader.repeats(SERVICE))
    assert sorted(zip(*pl.concat(found).select("draw", "output").get_columns(), strict=True)) == [
        (0, "output 1"),
        (1, "another"),
    ]


def test_repeats_are_found_while_segments_are_made_one(tmp_path: Path) -> None:
    with opened(tmp_path / "store") as store, opened(tmp_path / "store", read_only=True) as reader:
        for number in range(2):
            store.add([answer(number), answer(number, draw=1)])
            store.seal()
        found = reader.repeats(SERVICE)
        rows = [next(found)]
        store.add([answer(2), answer(2, draw=1)])
        store.seal()
        assert len(list((tmp_path / "store" / SEGMENTS).iterdir())) == 1
        rows += found
    assert set(pl.concat(rows).filter(draw=1)["text"]) == {"text 0", "text 1", "text 2"}
