"""Logs of answers that workers append to: torn, left behind, held, full, damaged."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.rows import SERVICE, answer, python
from trustgauge.errors import StoreError
from trustgauge.records import Answer
from trustgauge.store import GroupWriter
from trustgauge.store.folder import WORKER_LOGS
from trustgauge.store.sqlite import SqliteStore
from trustgauge.store.worker_log import (
    LogReader,
    WorkerLog,
    claim,
    import_worker_logs,
    remove_worker_logs,
)


def answers_in(folder: Path) -> list[Answer]:
    return [one for group in LogReader(folder).new() for one in group.answers]


def test_what_is_added_is_read_once_and_in_order(tmp_path: Path) -> None:
    log, reader = WorkerLog(tmp_path, "w1"), LogReader(tmp_path)
    assert list(reader.new()) == []
    log.tell({"event": "slowed", "service": "x"})
    log.add([answer(1, trail=("a", "b")), answer(2, status="failed", output=None, error="service.busy")])
    log.add([answer(3)])
    first, second, third = reader.new()
    assert first.events == [{"event": "slowed", "service": "x"}]
    assert [one.text for one in second.answers] == ["text 1", "text 2"]
    assert second.answers == [
        answer(1, trail=("a", "b")),
        answer(2, status="failed", output=None, error="service.busy"),
    ]
    assert third.answers == [answer(3)]
    assert list(reader.new()) == []
    log.tell({"event": "retry"})
    assert list(reader.new()) == []
    log.flush()
    assert [group.events for group in reader.new()] == [[{"event": "retry"}]]
    log.close()


texts = st.text(st.characters(), max_size=20)  # half surrogate pairs, line ends and zero included


@given(text=texts, output=st.none() | texts, millis=st.floats(0, 1e9), tokens=st.integers(0, 2**40))
def test_any_answer_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, text: str, output: str | None, millis: float, tokens: int
) -> None:
    folder = tmp_path_factory.mktemp("log")
    one = answer(1, text=text, output=output, millis=millis, tokens=tokens, trail=(text, "x"))
    log = WorkerLog(folder, "w")
    log.add([one])
    log.close()
    assert answers_in(folder) == [one]


def test_a_group_that_was_cut_short_is_passed_over_as_a_whole(tmp_path: Path) -> None:
    log = WorkerLog(tmp_path, "w1")
    log.add([answer(1)])
    whole = log.path.stat().st_size
    log.add([answer(2), answer(3), answer(4)])
    log.close()
    size = log.path.stat().st_size
    for cut in (size - 1, (whole + size) // 2, whole + 1, whole):
        os.truncate(log.path, cut)
        assert answers_in(tmp_path) == [answer(1)]


def test_what_is_read_while_it_is_written_is_read_when_it_is_whole(tmp_path: Path) -> None:
    log, reader = WorkerLog(tmp_path, "w1"), LogReader(tmp_path)
    log.add([answer(1)])
    log.close()
    data = log.path.read_bytes()
    log.path.write_bytes(data[:-5])
    assert list(reader.new()) == []
    log.path.write_bytes(data)
    assert [group.answers for group in reader.new()] == [[answer(1)]]


def test_a_name_is_used_once(tmp_path: Path) -> None:
    log = WorkerLog(tmp_path, "w1")
    with pytest.raises(StoreError, match="in use"):
        WorkerLog(tmp_path, "w1")
    log.close()
    log.close()
    with pytest.raises(StoreError):
        WorkerLog(tmp_path, "w1")  # a log has one writer, ever


def test_a_second_claim_fails(tmp_path: Path) -> None:
    assert claim(tmp_path, "batch 1")
    assert not claim(tmp_path, "batch 1")
    assert claim(tmp_path, "batch 2")
    with pytest.raises(StoreError):
        claim(tmp_path / "nowhere", "batch 1")


@pytest.mark.parametrize(
    "line", [b"no json\n", b'{"answers": [[1, 2]]}\n', b"[]\n", b'{"answers": 3}\n', b'"text"\n']
)
def test_a_damaged_log_is_named(tmp_path: Path, line: bytes) -> None:
    log = WorkerLog(tmp_path, "w1")
    log.add([answer(1)])
    log.close()
    with log.path.open("ab") as file:
        file.write(line)
    with pytest.raises(StoreError, match=r"w1\.answers is damaged"):
        answers_in(tmp_path)


def test_a_log_of_another_schema_is_refused(tmp_path: Path) -> None:
    (tmp_path / "w1.answers").write_text(
        json.dumps({"schema": "trustgauge.answer-log/9", "columns": []}) + "\n"
    )
    with pytest.raises(StoreError, match="damaged"):
        answers_in(tmp_path)


def test_a_log_with_fewer_columns_is_read(tmp_path: Path) -> None:
    names = ["fingerprint", "message", "draw", "text", "status", "output", "trail"]
    head = {"schema": "trustgauge.answer-log/1", "columns": names}
    one = answer(1, at="")
    row = {"answers": [[getattr(one, name) for name in names]]}
    (tmp_path / "old.answers").write_text(json.dumps(head) + "\n" + json.dumps(row) + "\n")
    assert answers_in(tmp_path) == [one]


def left_behind(folder: Path, *groups: list[Answer], name: str = "w1") -> None:
    log = WorkerLog(folder / WORKER_LOGS, name)
    for group in groups:
        log.add(group)
    log.close()


def test_what_workers_left_is_taken_over_and_their_logs_go(tmp_path: Path) -> None:
    left_behind(tmp_path, [answer(1), answer(2)], [answer(3)])
    left_behind(tmp_path, [answer(4)], name="w2")
    claim(tmp_path / WORKER_LOGS, "batch 1")
    with SqliteStore(tmp_path / "store.sqlite") as store:
        assert import_worker_logs(tmp_path / WORKER_LOGS, store) == 4
        assert len(store.present(SERVICE)) == 4
        assert import_worker_logs(tmp_path / WORKER_LOGS, store) == 0
    assert not (tmp_path / WORKER_LOGS).exists()


def test_taking_over_a_second_time_changes_nothing(tmp_path: Path) -> None:
    early, late = "2026-11-22T12:00:00.000Z", "2026-11-22T12:00:09.000Z"
    failed = answer(1, status="failed", output=None, attempts=6, usd=0.5, at=early)
    again = answer(1, status="failed", output=None, attempts=4, usd=0.25, at=late)
    good = answer(2, attempts=2, usd=0.125)
    lost = answer(3, status="failed", output=None, attempts=3, at=early)
    found = answer(3, attempts=1, at=late)
    groups = [[failed, good], [again, lost, found]]
    with SqliteStore(tmp_path / "store.sqlite") as store:
        for _ in range(3):  # as if it was killed before it could remove the logs
            left_behind(tmp_path, *groups)
            import_worker_logs(tmp_path / WORKER_LOGS, store)
        cost = store.cost([SERVICE])
        assert (cost.calls, cost.usd) == (6 + 4 + 2 + 3 + 1, 0.875)
        assert store.present(SERVICE) == {(good.message, 0), (found.message, 0)}


def test_a_part_that_was_taken_over_before_is_not_counted_twice(tmp_path: Path) -> None:
    failed = answer(1, status="failed", output=None, attempts=6)
    with SqliteStore(tmp_path / "store.sqlite") as store:
        store.add([failed, answer(2)])
        left_behind(tmp_path, [failed, answer(2), answer(3)])
        import_worker_logs(tmp_path / WORKER_LOGS, store)
        assert store.cost([SERVICE]).calls == 6 + 1 + 1


def test_a_log_that_is_still_held_stays_for_the_next_time(tmp_path: Path) -> None:
    log = WorkerLog(tmp_path / WORKER_LOGS, "alive")
    log.add([answer(1)])
    left_behind(tmp_path, [answer(2)], name="dead")
    with SqliteStore(tmp_path / "store.sqlite") as store:
        assert import_worker_logs(tmp_path / WORKER_LOGS, store) == 2
        assert [path.stem for path in (tmp_path / WORKER_LOGS).glob("*.answers")] == ["alive"]
        log.add([answer(3)])
        log.close()
        import_worker_logs(tmp_path / WORKER_LOGS, store)
        assert len(store.present(SERVICE)) == 3
    remove_worker_logs(tmp_path / WORKER_LOGS, LogReader(tmp_path / WORKER_LOGS))
    assert not (tmp_path / WORKER_LOGS).exists()


def test_a_log_stays_that_grew_after_it_was_read(tmp_path: Path) -> None:
    """A worker that is killed between the last look and the clearing up has acknowledged answers."""
    folder = tmp_path / WORKER_LOGS
    log = WorkerLog(folder, "w1")
    log.add([answer(1)])
    reader = LogReader(folder)
    assert len(list(reader.new())) == 1
    log.add([answer(2)])
    log.close()
    with (folder / "w1.answers").open("ab") as file:
        file.write(b'{"answers": [["cut sh')
    remove_worker_logs(folder, reader)
    assert len(list(reader.new())) == 1
    remove_worker_logs(folder, reader)  # a line that was cut short is not waited for
    assert not folder.exists()


def test_a_log_of_a_worker_that_outlived_its_run_is_left_to_the_next_sitting(tmp_path: Path) -> None:
    folder = tmp_path / WORKER_LOGS
    old = WorkerLog(folder, "old")
    old.add([answer(1, status="failed", output=None, attempts=6)])
    with SqliteStore(tmp_path / "store.sqlite") as store:
        assert import_worker_logs(folder, store) == 1
        reader = LogReader(folder)
        reader.pass_over()
        old.add([answer(2)])
        new = WorkerLog(folder, "new")
        new.add([answer(3)])
        assert [one.text for group in reader.new() for one in group.answers] == ["text 3"]
        for log in (old, new):
            log.close()
        remove_worker_logs(folder, reader)
        assert [path.stem for path in folder.glob("*.answers")] == ["old"]
        import_worker_logs(folder, store)
        assert store.cost([SERVICE]).calls == 6 + 1
        assert len(store.present(SERVICE)) == 1
    assert not folder.exists()


WRITES = """
import pathlib, resource, sys
from tests.store.rows import answer
from trustgauge.store.worker_log import WorkerLog
from trustgauge.store import GroupWriter

most = int(sys.argv[2])
if most:
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
log = WorkerLog(pathlib.Path(sys.argv[1]), "w")
told = lambda group: print(*(one.text for one in group), sep="\\n", flush=True)
try:
    with GroupWriter(log, every=0.002, notify=told) as writer:
        number = 0
        while True:
            writer.keep(answer(number))
            number += 1
            log.tell({"event": "answer"})
            if number % 100 == 0:
                writer.flush()
except Exception as error:
    try:
        log.add([answer(1_000_000)])
    except Exception as after:
        print(type(error).__name__, type(after).__name__, file=sys.stderr)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL and limits")
def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    with python(WRITES, str(tmp_path), "0") as child:
        assert child.stdout is not None
        seen = [child.stdout.readline() for _ in range(2000)]
        child.send_signal(signal.SIGKILL)
        out = child.stdout.read()  # not `communicate`, which loses what `readline` has taken in advance
    acknowledged = {line.rstrip() for line in seen} | set(out[: out.rfind("\n") + 1].splitlines())
    assert acknowledged <= {one.text for one in answers_in(tmp_path)}


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL and limits")
def test_a_full_disk_keeps_what_was_acknowledged_and_nothing_follows(tmp_path: Path) -> None:
    with python(WRITES, str(tmp_path), "200000") as child:
        out, err = child.communicate(timeout=60)
    assert err.split() == ["DiskFullError", "StoreError"]
    kept = [one.text for one in answers_in(tmp_path)]
    assert kept == out.splitlines()
    assert "text 1000000" not in kept


def test_a_writer_commits_to_a_log_as_to_a_store(tmp_path: Path) -> None:
    log = WorkerLog(tmp_path, "w")
    with GroupWriter(log) as writer:
        for number in range(250):
            writer.keep(answer(number))
        assert writer.flush() == 250
        assert len(answers_in(tmp_path)) == 250
    log.close()
    with pytest.raises(StoreError):
        log.add([answer(1)])


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="w1"):
        WorkerLog(tmp_path / "file", "w1")
