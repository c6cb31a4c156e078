"""The command in processes of its own, forked from one that has imported it: a third of the CPU time each.

What Python does before the command begins is not in them; what a plan imports, every fork imports anew.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path

PRELOADED = (
    "trustgauge.apps.proxy.app",
    "trustgauge.apps.proxy.verb",
    "trustgauge.cli.main",
    "trustgauge.cli.rate",
    "trustgauge.methods.trust.method",
    "trustgauge.methods.trust.view",
    "trustgauge.methods.two_step.method",
    "trustgauge.methods.two_step.view",
    "trustgauge.reports.terminal",
    "trustgauge.run.render",
    "trustgauge.run.run",
    "trustgauge.services.chat",
    "trustgauge.services.compose",
    "trustgauge.services.controls.translators",
    "trustgauge.services.http",
    "trustgauge.store.sqlite",
)
LONGEST = 1 << 20  # bytes of a request
SERVE = "import socket, sys; from tests import forks; forks.serve(socket.socket(fileno=int(sys.argv[1])))"


@cache
def _server() -> socket.socket:
    """The way to the process that forks. It ends when our end is closed."""
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-c", SERVE, str(theirs.fileno())],
            cwd=Path(__file__).parents[1],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
        )

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


class ForkedCommand:
    """A running command; has what tests use of `subprocess.Popen`."""

    def __init__(self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
        self.args = ["trustgauge", *arguments]
        self.returncode: int | None = None
        self._out, self._err = (tempfile.TemporaryFile() for _ in range(2))  # noqa: SIM115
        self._life, theirs = socket.socketpair()
        mask = os.umask(0)
        os.umask(mask)
        request = json.dumps([[*arguments], str(folder), dict(environment), mask]).encode()
        assert len(request) < LONGEST
        with theirs:
            socket.send_fds(_server(), [request], [theirs.fileno(), self._out.fileno(), self._err.fileno()])
        self.pid = int(self._life.recv(100))

    def poll(self) -> int | None:
        return self._ended(0.0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._ended(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        return code

    def _ended(self, timeout: float | None) -> int | None:
        if self.returncode is None:
            self._life.settimeout(timeout)
            try:
                self.returncode = int(self._life.recv(100))
            except (BlockingIOError, TimeoutError):
                return None
            self._life.close()
        return self.returncode

    def send_signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def errors(self) -> str:
        """What it has written to stderr so far."""
        return os.pread(self._err.fileno(), 1 << 20, 0).decode()

    def close(self) -> None:
        """End it if it still runs; what it said is not wanted any more."""
        self.kill()
        self.wait()
        self._out.close()
        self._err.close()

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        self.wait(timeout)
        said = []
        for stream in (self._out, self._err):
            stream.seek(0)
            said.append(stream.read().decode())
            stream.close()
        return said[0], said[1]


def serve(requests: socket.socket) -> None:
    """Fork for every request, until nobody is left who could send one."""
    from trustgauge.reports import html

    for name in PRELOADED:
        import_module(name)
    html.environment().get_template("report.html.j2")
    keepers: set[int] = set()
    while True:
        request, files, _, _ = socket.recv_fds(requests, LONGEST, 3)
        keepers -= {pid for pid in keepers if os.waitpid(pid, os.WNOHANG)[0]}
        if not request:
            break
        keeper = os.fork()
        if not keeper:
            return _keep(request, *files)
        keepers.add(keeper)
        for file in files:
            os.close(file)
    for pid in keepers:
        os.waitpid(pid, 0)
    return None


def _keep(request: bytes, life: int, out: int, err: int) -> None:
    """Start the command, and tell its number and, in the end, its exit code."""
    pid = os.fork()
    if not pid:
        os.close(life)
        arguments, folder, environment, mask = json.loads(request)
        os.umask(mask)
        return _command(arguments, Path(folder), environment, (out, err))
    os.write(life, str(pid).encode())
    _, status = os.waitpid(pid, 0)
    os.write(life, str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def _command(
    arguments: list[str], folder: Path, environment: dict[str, str], streams: tuple[int, int]
) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None  # it follows from the environment
    for number, file in enumerate(streams, start=1):
        os.dup2(file, number)
        os.close(file)
    sys.path[0] = str(folder)  # as `python -m` has it
    sys.argv = ["trustgauge", *arguments]
    from trustgauge.cli.main import main

    main()
