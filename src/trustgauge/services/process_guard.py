"""Ends child processes with their parent, even if the parent is killed with signal 9.

    prepare()               # before it is started, so that next to no time passes unwatched
    guard(-process.pid)     # from now on; a negative number is a group, as for kill(2)
    release(-process.pid)   # it has ended

Programs of users and models cannot be told to watch us. So a small process of our own, made with the first
of them, reads their numbers from a pipe. When the pipe closes, whoever wrote them is gone, however it ended:
then it kills what is left of them, and ends. A process of ours can watch by itself: `end_with_parent`.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

_WATCHING = """
import os, sys
left = set()
for line in sys.stdin.buffer:
    number = int(line[1:])
    left.add(number) if line[:1] == b"+" else left.discard(number)
for number in left:
    try:
        os.kill(number, 9)
    except OSError:
        pass
"""
_SET_PDEATHSIG = 1  # of prctl(2)
_BEAT = 0.5  # seconds between two looks whether the parent lives, where the system does not tell
_ENDING = 2.0  # seconds for the watching process to end

_held = threading.Lock()
_watcher: tuple[int, subprocess.Popen[bytes]] | None = None  # and the process that it watches


def prepare() -> None:
    """Start the process that watches this one; a parent killed between start and `guard` leaves an orphan."""
    with _held, contextlib.suppress(OSError):  # a system without room for one more process has other troubles
        _watch()


def guard(number: int) -> None:
    """See that a process, or a group if the number is negative, ends with this process."""
    _write(f"+{number}\n")


def release(number: int) -> None:
    """It has ended: its number may belong to another from now on."""
    _write(f"-{number}\n")


def _write(line: str) -> None:
    with _held, contextlib.suppress(OSError):
        pipe = _watch().stdin
        assert pipe is not None
        pipe.write(line.encode("ascii"))
        pipe.flush()


def _watch() -> subprocess.Popen[bytes]:
    """The process that watches this one; a forked process needs its own."""
    global _watcher
    if _watcher is None or _watcher[0] != os.getpid():
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _WATCHING],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=Path(sys.executable).anchor or None,  # no folder is kept from being removed
            start_new_session=True,  # Ctrl-C and a terminal that is closed are for those whom it watches
        )
        if _watcher is None:
            atexit.register(_let_go)
        _watcher = os.getpid(), process
    return _watcher[1]


def _let_go() -> None:
    """This process ends by itself."""
    if _watcher is not None and _watcher[0] == os.getpid():
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            _watcher[1].communicate(timeout=_ENDING)


def end_group(process: int) -> None:
    """End a program that leads a session, with all that it started; on Windows, which has none, it alone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process, signal.SIGKILL)
        else:
            os.kill(process, signal.SIGTERM)


def end_with_parent(parent: int) -> None:
    """End this process, at once and without a word, when the process that started it is gone.

    Args:
        parent: number of that process. It may be gone already.
    """
    if sys.platform == "linux":
        # Bound to the thread that started us, which Dask keeps for as long as it keeps us.
        ctypes.CDLL(None, use_errno=True).prctl(_SET_PDEATHSIG, signal.SIGKILL)
    else:
        threading.Thread(target=look, args=(parent,), name="trustgauge-parent", daemon=True).start()
    if os.getppid() != parent:
        os._exit(1)


def look(parent: int) -> None:
    """End this process soon after its parent; for systems that do not tell us, in a thread of its own."""
    while os.getppid() == parent:
        time.sleep(_BEAT)
    os._exit(1)
