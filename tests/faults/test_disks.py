"""Disks of real size zero: small and read-only file systems, mounted for one process each."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.running import command, environment, error_of, last, rating, rows, trustgauge, write_plan
from tests.run.plans import faithful, translator_plan
from tests.servers import LocalServer
from trustgauge.errors import DiskFullError
from trustgauge.terminal.output import write_output

Mounted = Callable[..., subprocess.CompletedProcess[str]]
RATE = ("rate", "plan.toml", "--progress", "none", "--ratings", "ratings")


def _namespace() -> list[str]:
    """The command that gives a process mounts of its own; empty where that is not allowed."""
    unshare = shutil.which("unshare")
    for flags in (["-m"], ["-Urm"]):
        tried = [unshare or "false", *flags, "sh", "-c"]
        mount = [*tried, "mount -t tmpfs tmpfs /mnt"]
        if unshare and not subprocess.run(mount, capture_output=True, check=False).returncode:
            return tried
    return []


@pytest.fixture(scope="module")
def namespace() -> list[str]:
    found = _namespace()
    if not found:
        pytest.skip("needs a mount namespace (unshare and mount)")
    return found


@pytest.fixture
def mounted(namespace: list[str], tmp_path: Path) -> Mounted:
    """`mounted("mount ...", ...)` runs the command after these mounts, which end with it.

    What lies on the mount is copied to `kept` before it goes.
    """

    def run(mount: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        kept = tmp_path / "kept"
        shutil.rmtree(kept, ignore_errors=True)
        script = f'{mount} && {{ "$@"; code=$?; cp -r ratings "{kept}"; exit $code; }}'
        return subprocess.run(
            [*namespace, script, "sh", *command(*arguments)],
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=120,
            check=False,
        )

    return run


SMALL = "mount -t tmpfs -o size={size}k tmpfs ratings"


@pytest.mark.parametrize(("size", "least"), [(60, 0), (640, 1)])
def test_a_full_disk_keeps_what_was_acknowledged(
    mounted: Mounted, tmp_path: Path, size: int, least: int
) -> None:
    """Full before anything is kept, and while asking; with more room the same command goes on."""
    (tmp_path / "ratings").mkdir()
    with LocalServer(faithful, 0.002) as server:
        write_plan(tmp_path, translator_plan(server.url, texts=60, service={"concurrency": 4}))
        err = error_of(mounted(SMALL.format(size=size), *RATE), 4)
        asked = len(server.requests)
        for part in ("no space left for ", "free some space", "all received answers are saved"):
            assert part in err
        kept = tmp_path / "kept"
        there = rows(kept, "SELECT name FROM sqlite_master WHERE name = 'response'")
        known = set(rows(kept, "SELECT text, draw FROM response WHERE trail != '[]'") if there else [])
        assert len(known) >= least
        shutil.rmtree(tmp_path / "ratings")
        shutil.move(kept, tmp_path / "ratings")
        error_of(trustgauge(tmp_path, *RATE), 0)
        again = [request.json() for request in server.requests[asked:]]
        sent = {(one["q"], one["draw"]) for one in again if one["target"] != "en"}
        assert not known & sent, "acknowledged, and asked again"
    assert rating(tmp_path / "ratings")["ratings"][0]["coverage"]["answered"] == 180


@pytest.fixture(scope="module")
def rated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, LocalServer]]:
    """A folder with a plan and its run, which tests copy, and the server that was asked."""
    folder = tmp_path_factory.mktemp("rated")
    with LocalServer(faithful) as server:
        write_plan(folder, translator_plan(server.url, texts=20, experiment={"draws": 1000}))
        error_of(trustgauge(folder, *RATE), 0)
        yield folder, server


READ_ONLY = "mount --bind ratings ratings && mount -o remount,ro,bind ratings"


def test_a_read_only_folder_is_refused_before_anything_is_sent(mounted: Mounted, tmp_path: Path) -> None:
    (tmp_path / "ratings").mkdir()
    with LocalServer(faithful) as server:
        write_plan(tmp_path, translator_plan(server.url, texts=20))
        err = error_of(mounted(READ_ONLY, *RATE), 2)
        assert server.requests == []
    for part in ("cannot be opened or written", "Must be a file in a folder", "Read-only", "--ratings"):
        assert part in err
    assert "Read-only" in error_of(mounted(READ_ONLY, "watch", "plan.toml", "--once", "--yes"), 2)


def test_on_a_read_only_disk_everything_but_rating_works(
    mounted: Mounted, rated: tuple[Path, LocalServer], tmp_path: Path
) -> None:
    folder, server = rated
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    asked = len(server.requests)
    assert asked
    assert "all equal" in _said(mounted(READ_ONLY, "verify"))
    assert "mine" in _said(mounted(READ_ONLY, "show"))
    assert "mine" in _said(mounted(READ_ONLY, "list", "ratings"))
    error_of(mounted(READ_ONLY, *RATE), 2)
    assert len(server.requests) == asked


def _said(done: subprocess.CompletedProcess[str]) -> str:
    error_of(done, 0)
    return done.stdout


def test_a_view_that_cannot_be_written_is_told(
    mounted: Mounted, rated: tuple[Path, LocalServer], tmp_path: Path
) -> None:
    shutil.copytree(rated[0], tmp_path, dirs_exist_ok=True)
    done = mounted(READ_ONLY, "show", "--as", "html", "-o", "ratings/page.html")
    assert "cannot be written" in error_of(done, 2)
    assert last(done).startswith("exit 2")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_results_that_nobody_can_take_are_told(tmp_path: Path) -> None:
    """stdout on a full disk: no traceback, and not a success."""
    with LocalServer(faithful) as server:
        write_plan(tmp_path, translator_plan(server.url, texts=20, experiment={"draws": 1000}))
        full = os.open("/dev/full", os.O_WRONLY)
        try:
            done = subprocess.run(
                command(*RATE),
                cwd=tmp_path,
                env={**environment(), "PYTHONUNBUFFERED": ""},  # else nothing is left to write at the end
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                timeout=120,
                check=False,
            )
        finally:
            os.close(full)
    assert done.returncode == 4, done.stderr
    assert "Traceback" not in done.stderr
    assert "no space left" in done.stderr


def test_a_view_that_finds_no_room_leaves_the_old_file_as_it_was(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    old, link = tmp_path / "page.html", tmp_path / "link.html"
    old.write_text("old")
    old.chmod(0o600)
    link.symlink_to(old)
    write_output(link, "new")
    assert (old.read_text(), old.stat().st_mode & 0o777, link.is_symlink()) == ("new", 0o600, True)

    def full(_handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DiskFullError) as caught:
        write_output(old, "newer")
    assert (caught.value.exit_code, old.read_text(), len(list(tmp_path.iterdir()))) == (4, "new", 2)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_device_stays_what_it_is() -> None:
    with pytest.raises(DiskFullError):
        write_output(Path("/dev/full"), "page")
    write_output(Path(os.devnull), "page")
    assert not Path(os.devnull).is_file()
