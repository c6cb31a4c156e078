"""Run folders: which one a plan gets, what is written in it, what it copies from others."""

from __future__ import annotations

import json
import os
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from tests.store.rows import SERVICE, answer
from trustgauge.errors import StoreError
from trustgauge.store.folder import (
    STORE,
    EventLog,
    RunFolder,
    create_run,
    find_run,
    other_runs,
    read_manifest,
    run_id,
    write_file,
)
from trustgauge.store.sqlite import SqliteStore

PLAN, OTHER = "7f3a" + "0" * 28, "c41e" + "0" * 28
NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


def test_the_id_tells_day_and_plan() -> None:
    assert run_id(PLAN, date(2026, 1, 2)) == "TG-2026-0102-7f3a"


def test_a_new_plan_gets_a_new_folder_and_the_same_plan_the_same(tmp_path: Path) -> None:
    ratings = tmp_path / "deep" / "ratings"
    with RunFolder.open(ratings, PLAN, now=NOW) as first:
        assert (first.id, first.resumed) == ("TG-2026-1122-7f3a", False)
    with RunFolder.open(ratings, PLAN, now=NOW + timedelta(days=3)) as again:
        assert (again.id, again.resumed) == (first.id, True)
    with RunFolder.open(ratings, OTHER, now=NOW) as other:
        assert other.id == "TG-2026-1122-c41e"
    assert {path.name for path in ratings.iterdir()} == {first.id, other.id}
    assert find_run(ratings, PLAN) == first.path
    assert find_run(ratings, "ffff") is None
    assert find_run(tmp_path / "nowhere", PLAN) is None


def test_fresh_gets_a_counter_and_is_then_the_newest(tmp_path: Path) -> None:
    RunFolder.open(tmp_path, PLAN, now=NOW).close()
    names = []
    for _ in range(11):
        with RunFolder.open(tmp_path, PLAN, now=NOW, fresh=True) as fresh:
            names.append(fresh.id)
    assert names == [f"TG-2026-1122-7f3a-{number}" for number in range(2, 13)]
    found = find_run(tmp_path, PLAN)
    assert found is not None
    assert found.name == names[-1]


def test_plans_that_share_digits_do_not_share_folders(tmp_path: Path) -> None:
    twin = PLAN[:4] + "f" * 28
    with RunFolder.open(tmp_path, PLAN, now=NOW) as first, RunFolder.open(tmp_path, twin, now=NOW) as second:
        assert second.id == first.id + "-2"
    assert find_run(tmp_path, PLAN) == first.path
    assert find_run(tmp_path, twin) == second.path


def test_a_folder_that_another_process_made_meanwhile_is_taken(tmp_path: Path) -> None:
    first = create_run(tmp_path, PLAN, NOW)
    assert create_run(tmp_path, PLAN, NOW) == first
    assert create_run(tmp_path, PLAN, NOW, fresh=True) != first


def test_two_runs_at_once_in_one_folder_are_refused(tmp_path: Path) -> None:
    with RunFolder.open(tmp_path, PLAN, now=NOW), pytest.raises(StoreError, match="in use"):
        RunFolder.open(tmp_path, PLAN, now=NOW)
    RunFolder.open(tmp_path, PLAN, now=NOW).close()


def test_leftovers_and_strangers_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "TG-2026-1122-dead").mkdir()
    (tmp_path / "TG-2026-1122-beef").mkdir()
    (tmp_path / "TG-2026-1122-beef" / "manifest.json").write_text("{ cut sh")
    (tmp_path / "notes").mkdir()
    (tmp_path / "readme.txt").write_text("hello")
    path = create_run(tmp_path, PLAN, NOW)
    SqliteStore(path / STORE).close()
    assert other_runs(tmp_path) == [path]
    assert other_runs(tmp_path, path) == []


def test_the_manifest_is_added_to(tmp_path: Path) -> None:
    with RunFolder.open(tmp_path, PLAN, now=NOW) as folder:
        folder.note(seed=1, versions={"trustgauge": "0.1.0"})
        folder.note(seed=2)
        manifest = folder.manifest()
    assert manifest["plan"] == PLAN
    assert manifest["id"] == folder.id
    assert (manifest["seed"], manifest["versions"]) == (2, {"trustgauge": "0.1.0"})
    assert datetime.fromisoformat(manifest["began"]) == NOW


@pytest.mark.parametrize("content", ["[]", "{}", "no json", '{"plan": 7}', ""])
def test_a_broken_manifest_is_an_error_in_words(tmp_path: Path, content: str) -> None:
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(StoreError, match=r"manifest\.json"):
        read_manifest(tmp_path)


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "rating.json"
    write_file(path, "first")
    write_file(path, b"second")
    assert path.read_bytes() == b"second"
    with pytest.raises(StoreError):
        write_file(tmp_path / "no such folder" / "rating.json", "text")
    assert [one.name for one in tmp_path.iterdir()] == ["rating.json"]


@pytest.mark.parametrize("name", ["../out.txt", "/etc/passwd", "a/b", "", "..", ".hidden", "a\x00b"])
def test_nothing_is_written_outside_the_folder(tmp_path: Path, name: str) -> None:
    with (
        RunFolder.open(tmp_path, PLAN, now=NOW) as folder,
        pytest.raises(StoreError, match="plain file name"),
    ):
        folder.write(name, "text")


def test_a_link_in_the_place_of_a_temporary_file_is_not_followed(tmp_path: Path) -> None:
    """Whoever may write into a shared folder can guess the name of the temporary file."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / f".file.{os.getpid()}").symlink_to(victim)
    write_file(tmp_path / "file", "new")
    assert (victim.read_text(), (tmp_path / "file").read_text()) == ("precious", "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "victim"]


def test_another_plan_copies_what_it_can_use_newest_first(tmp_path: Path) -> None:
    for day, output in enumerate(("old", "new")):
        with RunFolder.open(tmp_path, f"{day}" * 32, now=NOW + timedelta(days=day)) as folder:
            folder.store.add([answer(number, output=output) for number in range(day, 4)])
    broken = create_run(tmp_path, "b" * 32, NOW + timedelta(days=9))
    (broken / STORE).write_text("not a database" * 500)
    wanted = {SERVICE: [(answer(number).message, 0) for number in range(6)], "stranger": [("m", 0)]}
    with RunFolder.open(tmp_path, OTHER, now=NOW) as folder:
        folder.store.add([answer(3, output="own")])
        assert folder.borrow(wanted) == 3
        outputs = dict(folder.store.answers(SERVICE).select("text", "output").rows())
        assert outputs == {"text 0": "old", "text 1": "new", "text 2": "new", "text 3": "own"}
        assert folder.borrow(wanted) == 0
        assert folder.store.cost([SERVICE]).calls == 1
    with RunFolder.open(tmp_path, OTHER, now=NOW, fresh=True) as fresh:
        assert fresh.borrow(wanted) == 0


def test_a_neighbour_that_is_running_can_be_copied_from(tmp_path: Path) -> None:
    with (
        RunFolder.open(tmp_path, PLAN, now=NOW) as running,
        RunFolder.open(tmp_path, OTHER, now=NOW) as folder,
    ):
        running.store.add([answer(1)])
        assert folder.borrow({SERVICE: [(answer(1).message, 0)]}) == 1


def test_events_are_appended_and_a_line_cut_short_harms_none(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    log = EventLog(path)
    log.add({"event": "plan", "total": 3})
    log.close()
    log.close()
    with path.open("a") as file:
        file.write('{"event": "ans')  # a kill in mid-line
    log = EventLog(path)
    log.add({"event": "done", "text": "\ud83d\n"})
    log.flush()
    first, cut_short, last = path.read_text().splitlines()
    assert [json.loads(line)["event"] for line in (first, last)] == ["plan", "done"]
    assert cut_short == '{"event": "ans'
    log.close()


def test_a_manifest_is_canonical_json(tmp_path: Path) -> None:
    raw = (create_run(tmp_path, PLAN, NOW) / "manifest.json").read_text()
    assert json.dumps(json.loads(raw), sort_keys=True, separators=(",", ":")) + "\n" == raw
