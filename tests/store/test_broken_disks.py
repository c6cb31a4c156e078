"""Full, read-only and damaged disks: a clear error each, and nothing acknowledged is lost."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store.rows import SERVICE, answer, python
from trustgauge.errors import DiskFullError, StoreError
from trustgauge.store.sqlite import SqliteStore

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals and limits")

WRITES = """
import pathlib, resource, signal, sys
from tests.store.rows import answer
from trustgauge.errors import DiskFullError
from trustgauge.store.sqlite import SqliteStore
from trustgauge.store import GroupWriter

def told(group):
    print(" ".join(one.message for one in group), flush=True)

store = SqliteStore(pathlib.Path(sys.argv[1]))
most = int(sys.argv[2])
if most:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
writer = GroupWriter(store, every=0.005, rows=50, notify=told)
try:
    for number in range(200_000):
        writer.keep(answer(number, output="x" * 300))
        if number % 200 == 0:
            writer.flush()
    writer.close()
except DiskFullError as error:
    print("full", error.code, error, file=sys.stderr, flush=True)
    sys.exit(error.exit_code)
"""


def test_nothing_acknowledged_is_lost_by_kill_9(tmp_path: Path) -> None:
    chance = random.Random(20261122)
    path = tmp_path / "store.sqlite"
    acknowledged: set[str] = set()
    for _ in range(6):
        with python(WRITES, str(path), "0") as child:
            assert child.stdout is not None
            assert child.stderr is not None
            acknowledged.update(child.stdout.readline().split())  # it has begun
            time.sleep(chance.random() * 0.15)
            child.send_signal(signal.SIGKILL)
            out, err = child.communicate()
            assert child.returncode == -signal.SIGKILL, err
        # The last line may be cut short; and of the first, the beginning was read with the line before it.
        whole = out[out.find("\n") + 1 : out.rfind("\n") + 1]
        acknowledged.update(whole.split())
        with SqliteStore(path) as store:
            store.integrity()
            present = {message for message, _ in store.present(SERVICE)}
        assert acknowledged <= present
    assert len(acknowledged) > 100


def test_a_full_disk_keeps_what_was_acknowledged_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    with python(WRITES, str(path), "400000") as child:
        out, err = child.communicate(timeout=60)
    assert child.returncode == DiskFullError.exit_code, err
    assert "full store.disk-full" in err
    assert "all received answers are saved" in err
    acknowledged = out.split()
    assert len(acknowledged) > 100
    with SqliteStore(path) as store:
        store.integrity()
        assert set(acknowledged) <= {message for message, _ in store.present(SERVICE)}
        store.add([answer(10**6)])


def _fails(command: list[str]) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode != 0


TINY_DISK = """
import pathlib, sys
from tests.store.rows import SERVICE, answer
from trustgauge.errors import DiskFullError
from trustgauge.store.sqlite import SqliteStore
path = pathlib.Path(sys.argv[1])
with SqliteStore(path / "store.sqlite") as store:
    store.add([answer(1)])
    try:
        store.add([answer(number, output="x" * 1000) for number in range(2, 5000)])
    except DiskFullError as error:
        print("full", error)
    print("kept", len(store.present(SERVICE)))  # all of a group or nothing
    store.add([answer(2)])
    print("then", len(store.present(SERVICE)))
    store.integrity()
"""


def test_a_disk_without_space_is_told_in_words(tmp_path: Path) -> None:
    """A real file system of 700 kB, in a mount namespace that ends with the process."""
    unshare = shutil.which("unshare")
    tries = [[unshare or "", *flags, "sh", "-c"] for flags in (["-m"], ["-Urm"])]
    mount = f"mount -t tmpfs -o size=700k tmpfs '{tmp_path}'"
    usable = [one for one in tries if unshare and not _fails([*one, mount])]
    if not usable:
        pytest.skip("needs a mount namespace (unshare and mount)")
    command = [*usable[0], f'{mount} && exec "$@"', "sh", sys.executable, "-c", TINY_DISK, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    full, kept, then = done.stdout.splitlines()
    assert full.startswith("full no space left for ")
    assert (kept, then) == ("kept 1", "then 2")


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that other users can enter."""
    path = Path(tempfile.mkdtemp())
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


AS_NOBODY = """
import os, pathlib, sys
import encodings.idna
from datetime import UTC, datetime
from trustgauge.errors import StoreError
from trustgauge.store.folder import RunFolder
from trustgauge.store.sqlite import SqliteStore
if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
path = pathlib.Path(sys.argv[1])
for act in (
    lambda: SqliteStore(path / "store.sqlite"),
    lambda: RunFolder.open(path, "7f3a" * 8, now=datetime.now(UTC)),
):
    try:
        act()
    except StoreError as error:
        print(type(error).__name__, error.exit_code, error)
"""


def test_a_read_only_folder_is_refused_in_words(public: Path) -> None:
    folder = public / "ratings"
    folder.mkdir()
    folder.chmod(0o555)
    with python(AS_NOBODY, str(folder)) as child:
        out, err = child.communicate(timeout=60)
    lines = out.splitlines()
    assert len(lines) == 2, err
    for line in lines:
        assert line.startswith("StoreError 2 ")
        assert "Must be a file in a folder that can be written" in line
        assert "Permission denied" in line
        assert "--ratings" in line
    assert list(folder.iterdir()) == []


READS = """
import os, pathlib, sys
import encodings.idna, polars
from tests.store.rows import SERVICE
from trustgauge.store.sqlite import SqliteStore
if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
with SqliteStore(pathlib.Path(sys.argv[1]), read_only=True) as store:
    store.integrity()
    print(len(store.present(SERVICE)))
"""


def test_a_copy_in_a_read_only_folder_can_be_read(public: Path) -> None:
    folder = public / "copy"
    folder.mkdir()
    with SqliteStore(folder / "store.sqlite") as store:
        store.add([answer(number) for number in range(5)])
    (folder / "store.sqlite").chmod(0o444)  # its owner opened it to others
    folder.chmod(0o555)
    with python(READS, str(folder / "store.sqlite")) as child:
        out, err = child.communicate(timeout=60)
    assert out == "5\n", err


def filled(path: Path) -> None:
    with SqliteStore(path) as store:
        store.add([answer(number, output="x" * 500) for number in range(2000)])


def test_a_truncated_store_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    filled(path)
    os.truncate(path, path.stat().st_size // 2 // 4096 * 4096)
    with (
        pytest.raises(StoreError, match=r"damaged|not a store") as caught,
        SqliteStore(path, read_only=True) as store,
    ):
        store.integrity()
    assert "restore" in str(caught.value) or "name another" in str(caught.value)


@pytest.mark.parametrize("seed", range(5))
def test_a_corrupt_page_is_noticed_and_reported_not_raised_raw(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "store.sqlite"
    filled(path)
    chance = random.Random(seed)
    data = bytearray(path.read_bytes())
    for page in chance.sample(range(4, len(data) // 4096), 20):
        data[page * 4096 : page * 4096 + 256] = chance.randbytes(256)
    path.write_bytes(data)
    with SqliteStore(path, read_only=True) as store, pytest.raises(StoreError, match="damaged"):
        store.integrity()


def test_a_text_file_is_not_a_store(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    path.write_text("these are not the rows you are looking for\n" * 100)
    before = path.read_bytes()
    for read_only in (False, True):
        with pytest.raises(StoreError, match="not a store"):
            SqliteStore(path, read_only=read_only)
    assert path.read_bytes() == before


def test_somebody_elses_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE wine (name TEXT)")
    db.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"not a trustgauge store.*wine"):
        SqliteStore(path)
    assert path.read_bytes() == before
