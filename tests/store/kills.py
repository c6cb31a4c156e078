"""Kills a process before a chosen line of some files runs."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any


def kill_before(
    last: int, files: tuple[str, ...], skipped: Sequence[str] = (), *, only: Sequence[str] = ()
) -> Callable[[], int]:
    """Count lines of `files` from here on, and kill -9 this process before the one with number `last` runs.

    Args:
        last: number of a line, from 1; 0 for none.
        files: ends of paths.
        skipped: functions whose lines do not count.
        only: functions whose lines count alone; () for all.

    Returns:
        What ends the counting and says how many lines ran.
    """
    count = 0

    def line(frame: FrameType, event: str, given: Any) -> Any:
        nonlocal count
        if event == "line":
            count += 1
            if count == last:
                os.kill(os.getpid(), signal.SIGKILL)
        return line

    def call(frame: FrameType, event: str, given: Any) -> Any:
        code = frame.f_code
        counts = code.co_name in only if only else code.co_name not in skipped
        return line if counts and code.co_filename.endswith(files) else None

    def end() -> int:
        sys.settrace(None)
        return count

    sys.settrace(call)
    return end
