"""Run folders that something else has been at: every verb tells in words what is broken, and goes on."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from tests.faults.running import error_of, last, trustgauge
from tests.run.plans import but_for_times
from trustgauge.catalogue import entries, find_folder, read
from trustgauge.errors import StoreError, TrustgaugeError
from trustgauge.plan import load_plan
from trustgauge.run.comparison import ComparisonQuery, compare
from trustgauge.run.options import RunOptions
from trustgauge.run.prepare import forecast, prepare
from trustgauge.run.run import rate
from trustgauge.run.verify import verify

PLAN = {
    "services": {"a": {"use": "anchor", "behaviour": "coin"}},
    "experiments": [{"method": "two-step", "services": ["a"], "texts": 20, "draws": 1000}],
}
TODAY = date(2026, 12, 1)
Act = Callable[[Path], object]
STORE, RATING, MANIFEST = "store.sqlite", "rating.json", "manifest.json"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a complete run."""
    return rate(load_plan(PLAN), RunOptions(ratings=tmp_path_factory.mktemp("ratings"))).folder


@pytest.fixture
def run(whole: Path, tmp_path: Path) -> Path:
    """A copy that may be broken."""
    return Path(shutil.copytree(whole, tmp_path / "ratings" / whole.name))


def newer(run: Path) -> None:
    with sqlite3.connect(run / STORE) as db:
        db.execute("UPDATE meta SET value = '999' WHERE key = 'schema'")
    db.close()


def half(run: Path) -> None:
    size = (run / STORE).stat().st_size
    os.truncate(run / STORE, size // 2)


def garbage_in_the_middle(run: Path) -> None:
    data = bytearray((run / STORE).read_bytes())
    data[4096 * 3 : 4096 * 6] = os.urandom(4096 * 3)
    (run / STORE).write_bytes(data)


def a_folder(run: Path) -> None:
    (run / STORE).unlink()
    (run / STORE).mkdir()


STORES: dict[str, tuple[Act, str]] = {
    "truncated": (half, "damaged"),
    "cut within a page": (lambda run: os.truncate(run / STORE, 5000), "damaged"),
    "zeroed": (lambda run: (run / STORE).write_bytes(bytes((run / STORE).stat().st_size)), "not a store"),
    "text": (lambda run: (run / STORE).write_text("not the rows you are looking for\n" * 100), "not a store"),
    "garbage inside": (garbage_in_the_middle, "damaged|not a store"),
    "of a newer version": (newer, "schema"),
    "a folder": (a_folder, "no store"),
    "gone": (lambda run: (run / STORE).unlink(), "without its answers"),
}


@pytest.mark.parametrize("name", STORES)
def test_a_broken_store_is_told(run: Path, name: str) -> None:
    act, said = STORES[name]
    act(run)
    with pytest.raises(StoreError, match=said) as caught:
        verify(run, TODAY)
    assert caught.value.do, "what to do about it"
    assert read(run)["run"]["id"] == run.name, "what was rated can still be shown"
    found = compare(run.parent, ComparisonQuery(), TODAY)
    assert found["groups"], "and stands in comparisons, which say that its answers cannot be read"


@pytest.mark.parametrize("name", ["truncated", "zeroed", "text", "of a newer version", "a folder"])
def test_rating_into_a_broken_store_changes_nothing(run: Path, name: str) -> None:
    """The same plan would go on in this folder: it is refused, not overwritten."""
    STORES[name][0](run)
    before = (run / STORE).read_bytes() if (run / STORE).is_file() else b""
    with pytest.raises(StoreError):
        rate(load_plan(PLAN), RunOptions(ratings=run.parent))
    assert not before or (run / STORE).read_bytes() == before


def gone(run: Path) -> None:
    (run / STORE).unlink()


def empty(run: Path) -> None:
    (run / STORE).write_bytes(b"")


def without_probes(run: Path) -> None:
    with sqlite3.connect(run / STORE) as db:
        db.execute("DELETE FROM probe")
    db.close()


@pytest.mark.parametrize(("act", "asked"), [(gone, True), (empty, True), (without_probes, False)])
def test_what_a_run_that_died_early_leaves_is_made_good(run: Path, act: Act, asked: bool) -> None:
    """No store, one without tables, one without probes: the same command goes on, and verify agrees."""
    before = read(run)
    act(run)
    if act is not gone:
        assert verify(run, TODAY).differences, "it is not what was rated"
    forecast(prepare(load_plan(PLAN)), RunOptions(ratings=run.parent))
    finished = rate(load_plan(PLAN), RunOptions(ratings=run.parent))
    assert finished.folder == run
    assert bool(finished.asked.calls) == asked
    assert but_for_times(read(run)) == but_for_times(before)
    assert verify(run, TODAY).differences == ()


RATINGS: dict[str, bytes] = {
    "text": b"hello",
    "empty": b"",
    "a list": b"[]",
    "another document": b'{"run": {"id": "x", "started": "2026"}, "ratings": [{"id": 1}]}',
    "nested without end": b"[" * 100_000,
    "not UTF-8": b"\xff\xfe\x00",
}


@pytest.mark.parametrize("name", RATINGS)
def test_a_broken_rating_is_written_anew_without_a_call(run: Path, name: str) -> None:
    before = json.loads((run / RATING).read_bytes())
    (run / RATING).write_bytes(RATINGS[name])
    with pytest.raises(StoreError, match=r"rating\.json is broken") as caught:
        read(run)
    assert "written again without a call" in str(caught.value)
    assert list(entries(run.parent)) == []
    finished = rate(load_plan(PLAN), RunOptions(ratings=run.parent))
    assert finished.asked.calls == 0
    assert but_for_times(json.loads((run / RATING).read_bytes())) == but_for_times(before)
    assert verify(run, TODAY).differences == ()


def test_where_no_run_is_the_error_says_where_was_looked_and_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(TrustgaugeError, match='no rating "latest": no run lies in') as caught:
        find_folder("latest", tmp_path / "none")
    assert str((tmp_path / "none").absolute()) in str(caught.value)
    assert "`trustgauge rate` makes one; --ratings names another folder" in str(caught.value)


def test_the_latest_run_is_the_one_rated_last(run: Path, whole: Path) -> None:
    """A run that began earlier may have been gone on with since."""
    later = run.parent / "TG-2026-0101-beef"
    shutil.copytree(whole, later)
    for folder, started, ended in ((run, "2026-01-01", "2026-01-09"), (later, "2026-01-02", "2026-01-03")):
        document = json.loads((folder / RATING).read_bytes())
        document["run"] |= {"started": f"{started}T08:00:00+00:00", "ended": f"{ended}T08:00:00+00:00"}
        (folder / RATING).write_text(json.dumps(document))
    assert next(one.folder for one in entries(run.parent)) == later
    assert find_folder("latest", run.parent) == run


def test_a_broken_rating_hides_no_other(run: Path, whole: Path) -> None:
    beside = run.parent / "TG-2026-0101-beef"
    shutil.copytree(whole, beside)
    (run / RATING).write_bytes(b"[" * 100_000)
    assert [one.folder for one in entries(run.parent)] == [beside]
    assert find_folder("latest", run.parent) == beside
    assert compare(run.parent, ComparisonQuery(), TODAY)["groups"]


@pytest.mark.skipif(sys.platform == "win32", reason="has no pipes with names")
@pytest.mark.parametrize(
    "name", ["rating.json", "manifest.json", "plan.toml", "events.jsonl", "store.sqlite"]
)
def test_a_pipe_in_a_run_folder_is_refused_and_blocks_nobody(run: Path, name: str, tmp_path: Path) -> None:
    (run / name).unlink()
    os.mkfifo(run / name)
    for verb in (("show",), ("verify", run.name), ("show", str(run)), ("compare", run.name)):
        err = error_of(trustgauge(tmp_path, *verb, "--ratings", "ratings"), 2)
        assert "is a pipe, a device or a socket" in err or "no rating" in err
    error_of(trustgauge(tmp_path, "list", "ratings", "--ratings", "ratings"), 0)
    finished = rate(load_plan(PLAN), RunOptions(ratings=run.parent))
    assert finished.folder != run, "the plan begins anew beside it"


def test_a_device_in_the_place_of_a_rating_is_refused(run: Path) -> None:
    (run / RATING).unlink()
    (run / RATING).symlink_to("/dev/zero")
    with pytest.raises(StoreError, match="is a pipe, a device or a socket"):
        read(run)


def test_a_copy_under_another_name_is_verified(run: Path, tmp_path: Path) -> None:
    """The id stands in the manifest, so the folder may be called anything."""
    copy = shutil.copytree(run, tmp_path / "elsewhere" / "any-name")
    done = trustgauge(tmp_path, "verify", str(copy))
    assert "all equal" in done.stdout
    error_of(done, 0)
    manifest = json.loads((copy / MANIFEST).read_bytes())
    (copy / MANIFEST).write_text(json.dumps({**manifest, "id": "TG-2020-0101-beef"}))
    assert any(one.startswith("manifest.id") for one in verify(copy, TODAY).differences)


MANIFESTS: dict[str, bytes | None] = {
    "gone": None,
    "text": b"hello",
    "nested without end": b"[" * 100_000,
    "another document": b'{"plan": 7}',
    "without subjects": b'{"plan": "abcd"}',
    "strange subjects": b'{"plan": "abcd", "subjects": [1, {"a": 2}]}',
}


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_broken_manifest_is_told_and_the_plan_begins_anew(run: Path, name: str) -> None:
    content = MANIFESTS[name]
    if content is None:
        (run / MANIFEST).unlink()
    else:
        (run / MANIFEST).write_bytes(content)
    with pytest.raises(TrustgaugeError, match="manifest"):
        verify(run, TODAY)
    assert compare(run.parent, ComparisonQuery(), TODAY)["groups"]
    finished = rate(load_plan(PLAN), RunOptions(ratings=run.parent))
    assert finished.folder != run, "a folder that cannot tell its plan is never resumed"
    assert verify(finished.folder, TODAY).differences == ()


@pytest.mark.parametrize("content", [b"x = = 1", b"\xff", b"[" * 10_000, b"seed = " + b"9" * 5_000, b""])
def test_a_broken_plan_in_the_folder_is_told(run: Path, content: bytes) -> None:
    (run / "plan.toml").write_bytes(content)
    with pytest.raises(TrustgaugeError):
        verify(run, TODAY)
    assert compare(run.parent, ComparisonQuery(), TODAY)["groups"]


def another_text(run: Path) -> None:
    with sqlite3.connect(run / STORE) as db:
        db.execute("UPDATE response SET text = 'She is a nurse.' WHERE rowid = 1")
    db.close()


def another_hash(run: Path) -> None:
    with sqlite3.connect(run / STORE) as db:
        db.execute("UPDATE response SET message = '00' WHERE rowid = 1")
    db.close()


CHANGES: dict[str, tuple[Act, str]] = {
    "another text": (another_text, "was changed after it was written"),
    "another hash": (another_hash, "was changed after it was written"),
    "a store cut short": (half, "store.sqlite is damaged"),
    "a broken manifest": (lambda run: (run / MANIFEST).write_text("hello"), "manifest.json is damaged"),
    "a broken rating": (lambda run: (run / RATING).write_text("hello"), "rating.json is broken"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_verify_refuses_a_run_that_was_tampered_with(run: Path, tmp_path: Path, name: str) -> None:
    act, said = CHANGES[name]
    act(run)
    done = trustgauge(tmp_path, "verify", run.name, "--ratings", "ratings")
    assert error_of(done, 10).endswith("exit 10: verify refuses it\n")
    assert done.stdout.startswith("refused  ")
    assert said in done.stdout
    as_json = json.loads(trustgauge(tmp_path, "verify", run.name, "--json", "--ratings", "ratings").stdout)
    assert as_json["ok"] is False
    assert said in as_json["why"]


def test_a_folder_that_was_never_run_is_a_wrong_name_to_verify(run: Path, tmp_path: Path) -> None:
    for name in ("no-such-run", str(run.parent)):
        error_of(trustgauge(tmp_path, "verify", name, "--ratings", "ratings"), 2)
    error_of(trustgauge(tmp_path, "verify", run.name, "--ratings", "ratings"), 0)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("plan.toml", "without plan.toml"),
        ("manifest.json", "without manifest.json"),
        (STORE, "without its answers"),
    ],
)
def test_verify_refuses_a_folder_that_is_not_whole(run: Path, tmp_path: Path, name: str, said: str) -> None:
    (run / name).unlink()
    for given in (run, run / RATING):
        done = trustgauge(tmp_path, "verify", str(given), "--ratings", "ratings")
        assert done.returncode == 10
        assert said in done.stdout


@pytest.mark.parametrize("text", ["", "[[", 'name = "x"\n'])
def test_verify_refuses_a_plan_that_is_not_the_one_rated(run: Path, tmp_path: Path, text: str) -> None:
    (run / "plan.toml").write_text(text, "utf-8")
    done = trustgauge(tmp_path, "verify", str(run), "--ratings", "ratings")
    assert done.returncode == 10
    assert "plan.toml no longer gives the plan that was rated" in done.stdout


def test_the_command_tells_all_four_parts_and_no_traceback(run: Path, tmp_path: Path) -> None:
    STORES["truncated"][0](run)
    shown = "show", run.name, "--as", "html", "--ratings", "ratings"
    err = error_of(trustgauge(tmp_path, *shown), 2)
    assert "store.sqlite is damaged" in err
    assert "restore the folder from a copy" in err
    verbose = trustgauge(tmp_path, *shown, "-v")
    assert verbose.returncode == 2, "-v adds a traceback and changes no exit code"
    assert "Traceback" in verbose.stderr
    assert last(verbose).startswith("exit 2: ")
    (run / RATING).write_bytes(b'{"schema": "trustgauge.rating/1", "run": {}, "ratings": []}')
    for verb in [("show", run.name), ("list", "ratings"), ("compare", run.name)]:
        done = trustgauge(tmp_path, *verb, "--ratings", "ratings")
        err = error_of(done, 0 if verb[0] == "list" else 2)
        assert verb[0] == "list" or "Must be the rating.json of a run" in err
