"""Fixtures for all tests."""

from __future__ import annotations

import fcntl
import gc
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from hypothesis import settings

from tests.servers import Handler, LocalServer

# How long an example takes says more of the machine than of the code; speed is measured in benchmarks.
# The same examples in every run, so that who changes nothing breaks nothing; `explore` has others.
settings.register_profile("explore", deadline=None)
settings.register_profile("gate", deadline=None, derandomize=True)
settings.load_profile("gate")
# A proxy of the developer's own must not stand between the tests and their local servers.
os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1,localhost"

# The plans of tests run programs and functions of their own; tests/cli/test_consent.py takes this away.
os.environ["TRUSTGAUGE_TRUST"] = "1"


# Thousands of collected tests are no garbage: looking through them again and again takes a quarter of the
# time of collecting, and minutes while they run.
gc.disable()

# Whichever worker comes first compiles the tests while the others wait; then they read what it wrote.
COMPILING = os.open(__file__, os.O_RDONLY)


def pytest_collection() -> None:
    """Collect alone, or after whoever was first; it ends, or fails, at some time."""
    try:
        fcntl.flock(COMPILING, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        fcntl.flock(COMPILING, fcntl.LOCK_SH)


def pytest_collection_finish() -> None:
    """Garbage is collected again, more seldom than usual and not among what was collected.

    What little of that is garbage stays: looking for it takes more than a second in each process.
    """
    os.close(COMPILING)
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)
    gc.enable()


@pytest.fixture
def serve() -> Iterator[Callable[..., LocalServer]]:
    """`serve(answer, latency=0.0)` starts a real local server that is stopped after the test."""
    with ExitStack() as running:

        def start(answer: Handler, latency: float = 0.0) -> LocalServer:
            return running.enter_context(LocalServer(answer, latency))

        yield start
