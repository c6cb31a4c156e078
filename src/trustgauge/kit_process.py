"""A process beside this one, in which the kits do again what they did here.

Whoever verifies a rating is another process, and so is each worker of an engine: a pickle is all that arrives
there, and sets and hashes of texts have another order. One process serves many checks, as importing the
libraries takes longer than most of them.
"""

from __future__ import annotations

import atexit
import importlib
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

_SERVE = "from trustgauge.kit_process import serve; serve()"
_running: dict[tuple[str, ...], subprocess.Popen[bytes]] = {}
"""Where modules are sought -> the process that seeks them there; one at the most."""


def in_another_process(function: Callable[[bytes], Any], packed: bytes) -> tuple[Any, str]:
    """What a function of a module makes of a pickle in another process, and the error it raises there.

    The error is "" if there is none; else what is made is None.
    """
    process = _process()
    assert process.stdin
    assert process.stdout
    try:
        pickle.dump((function.__module__, function.__name__, packed), process.stdin)
        process.stdin.flush()
        made, error = pickle.load(process.stdout)
    except (OSError, EOFError):
        _end()
        return None, "the process ended"
    return made, error


def _process() -> subprocess.Popen[bytes]:
    """The process; a new one where modules are sought elsewhere by now."""
    path = tuple(filter(None, sys.path))
    if path not in _running:
        _end()
        hashing = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
        _running[path] = subprocess.Popen(
            [sys.executable, "-c", _SERVE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(path), "PYTHONHASHSEED": hashing},
        )
    return _running[path]


@atexit.register
def _end() -> None:
    """End the process, if there is one."""
    while _running:
        _, process = _running.popitem()
        process.kill()
        process.communicate()


def serve() -> None:
    """Answer requests until there are no more.

    What the code of others prints goes to standard error. It finds nothing to read, as it would wait for ever
    for the next request, or take it.
    """
    with os.fdopen(os.dup(0), "rb") as requests, os.fdopen(os.dup(1), "wb") as answers:
        with Path(os.devnull).open("rb") as nothing:
            os.dup2(nothing.fileno(), 0)
        os.dup2(2, 1)
        while True:
            try:
                module, name, packed = pickle.load(requests)
            except EOFError:
                return
            try:
                answer = getattr(importlib.import_module(module), name)(packed), ""
            except Exception as error:  # whatever the code of others raises
                answer = None, f"{type(error).__name__}: {error}"
            pickle.dump(answer, answers)
            answers.flush()
