"""No process of ours outlives the one that started it: real processes, killed with signal 9."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.store.rows import python
from trustgauge.services import process_guard

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")

DEAF = """
import os, subprocess, sys, time
other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
time.sleep(0.5)  # whoever started us has to name us to the watching process first
with open(sys.argv[1] + ".new", "w") as file:
    file.write(f"{os.getpid()} {other.pid}")
os.rename(sys.argv[1] + ".new", sys.argv[1])
time.sleep(60)
"""
"""A program that never looks at its input, and starts another one."""

ASKING = """
import asyncio, sys
from trustgauge.records import Message
from trustgauge.services.command import Command

service = Command(command=(sys.executable, "-c", sys.argv[1], sys.argv[2])).open()
asyncio.run(service.ask([Message("hello")]))
"""

NOTIFYING = """
import sys
from trustgauge.apps.watch.notify import notify
notify([sys.executable, "-c", sys.argv[1], sys.argv[2]], {"event": "look"})
"""

CHILD = """
import os, re, sys
from trustgauge.services import process_guard
process_guard.end_with_parent(os.getppid())
with open(sys.argv[1], "w") as file:
    file.write(str(os.getpid()))
re.match("(a+)+$", "a" * 60 + "b")  # for ages, and no other thread runs meanwhile
"""

PARENT = """
import subprocess, sys
subprocess.run([sys.executable, "-c", sys.argv[1], sys.argv[2]])
"""

LOOKING = """
import os, sys
from trustgauge.services import process_guard
with open(sys.argv[1], "w") as file:
    file.write(str(os.getpid()))
process_guard.look(os.getppid())
"""


def written(file: Path) -> list[int]:
    """The numbers in a file, once they are there."""
    end = time.monotonic() + 20
    while not (file.exists() and file.read_text()):
        assert time.monotonic() < end
        time.sleep(0.01)
    return [int(one) for one in file.read_text().split()]


def ended(pid: int, seconds: float = 20.0) -> bool:
    """Whether a process ends in that time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        if Path(f"/proc/{pid}/stat").exists() and " Z " in Path(f"/proc/{pid}/stat").read_text():
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("main", [ASKING, NOTIFYING], ids=["a service", "a notification"])
def test_programs_end_with_us_and_all_that_they_started(tmp_path: Path, main: str) -> None:
    with python(main, DEAF, str(tmp_path / "pids")) as process:
        program, other = written(tmp_path / "pids")
        process.kill()
        process.wait()
        assert ended(program)
        assert ended(other)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a thread looks, which must be let run")
def test_a_process_that_computes_without_a_pause_ends_with_its_parent(tmp_path: Path) -> None:
    with python(PARENT, CHILD, str(tmp_path / "pid")) as process:
        (child,) = written(tmp_path / "pid")
        assert not ended(child, 0.1)
        process.kill()
        process.wait()
        assert ended(child)


def test_where_the_system_does_not_tell_a_process_looks_for_its_parent(tmp_path: Path) -> None:
    with python(PARENT, LOOKING, str(tmp_path / "pid")) as process:
        (child,) = written(tmp_path / "pid")
        assert not ended(child, 0.1)
        process.kill()
        process.wait()
        assert ended(child)


def test_a_process_whose_parent_has_gone_before_ends_at_once() -> None:
    code = (
        "from trustgauge.services import process_guard; process_guard.end_with_parent(1); print('still here')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=20, check=False)
    assert (done.returncode, done.stdout) == (1, b"")


def test_what_has_ended_by_itself_is_not_killed_later(tmp_path: Path) -> None:
    """Its number may belong to somebody else by then; here it still belongs to the same process."""
    code = (
        "import os, sys\nfrom trustgauge.services import process_guard\n"
        "process_guard.guard(int(sys.argv[1])); process_guard.release(int(sys.argv[1]))\n"
        "process_guard.guard(int(sys.argv[2])); os.kill(os.getpid(), 9)"
    )
    sleep = [sys.executable, "-c", "import time; time.sleep(60)"]
    with subprocess.Popen(sleep) as released, subprocess.Popen(sleep) as guarded:
        try:
            done = subprocess.run(
                [sys.executable, "-c", code, str(released.pid), str(guarded.pid)], check=False
            )
            assert done.returncode == -signal.SIGKILL
            assert guarded.wait(10) == -signal.SIGKILL
            assert released.poll() is None
        finally:
            released.kill()
            guarded.kill()


def test_a_program_is_ended_where_there_are_no_process_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows, whose Python has no `os.killpg`."""
    monkeypatch.delattr(os, "killpg")
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
    process_guard.end_group(process.pid)
    assert process.wait(10) != 0
    process_guard.end_group(process.pid)  # gone already
