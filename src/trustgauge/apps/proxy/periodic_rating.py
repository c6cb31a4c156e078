"""The running rating: what passed so far, rated again when somebody asks, and not too often."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from trustgauge.apps.proxy.rating_worker import RatingTarget
from trustgauge.apps.proxy.recorder import Recorder
from trustgauge.services import process_guard

EVERY = 30.0
"""Seconds from one rating to the next, at least."""
_WRITTEN = 10.0  # seconds that a rating waits for what was offered before to be on disk


class PeriodicRating:
    """Rates a growing transcript in a process of its own. Call `close` in the end."""

    def __init__(
        self,
        recorder: Recorder,
        transcript: Path,
        subject: RatingTarget,
        every: float = EVERY,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._recorder, self._transcript, self._subject = recorder, transcript, subject
        self._every, self._clock = every, clock
        self._found: dict[str, Any] = {}
        self._of, self._at = 0, float("-inf")  # exchanges that the last rating is of, and when it began
        self._task: asyncio.Task[None] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._closed, self._lock = False, threading.Lock()

    async def now(self) -> Mapping[str, Any]:
        """The rating of what passed, at most `every` seconds older than that, and what became of all of it.

        It is made anew if something passed since, and the last one began `every` seconds ago or more; who
        asks while one is made waits for that one.
        """
        await asyncio.to_thread(self._recorder.settle, _WRITTEN)
        if self._task is None and self._stale():
            self._task = asyncio.ensure_future(self._again())
            self._task.add_done_callback(self._done)
        if self._task is not None:
            await asyncio.shield(self._task)
        counts = self._recorder.counts
        told = {"service": self._subject.name, "exchanges": counts.facts(), "rated": self._of}
        if self._recorder.error:
            told["unwritten"] = self._recorder.error
        return told | self._found

    def close(self) -> None:
        """End a rating that is being made."""
        with self._lock:
            self._closed = True
            if self._process is not None:
                self._process.kill()

    def _stale(self) -> bool:
        return self._recorder.counts.read > self._of and self._clock() >= self._at + self._every

    def _done(self, task: asyncio.Task[None]) -> None:
        self._task = None
        if not task.cancelled() and (error := task.exception()) is not None:
            self._found = {"error": {"code": "internal", "message": type(error).__name__}}

    async def _again(self) -> None:
        self._at, of = self._clock(), self._recorder.counts.read
        said = await asyncio.to_thread(self._made)
        if said:
            self._found, self._of = json.loads(said), of

    def _made(self) -> bytes:
        """What the process says; nothing if it was ended."""
        asked: dict[str, Any] = {"transcript": str(self._transcript), "name": self._subject.name}
        asked["settings"] = dict(self._subject.settings)
        # The folder is ours, so that nothing is left in it when the process is killed.
        with tempfile.TemporaryDirectory(prefix="trustgauge-") as place:
            asked["place"] = place
            with self._lock:
                if self._closed:
                    return b""
                process = self._process = subprocess.Popen(
                    [sys.executable, "-m", "trustgauge.apps.proxy.rating_worker"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,  # a library's warning may quote what passed
                    start_new_session=True,  # Ctrl-C is for the proxy, which then ends this itself
                )
            process_guard.guard(-process.pid)
            said, _ = process.communicate(json.dumps(asked).encode())
            process_guard.release(-process.pid)
            with self._lock:
                self._process = None
        return said
