"""The proxy as a whole, from its first connection to the end of the transcript."""

from __future__ import annotations

import asyncio
import gc
import json
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from trustgauge.apps.proxy.limits import TrafficLimits
from trustgauge.apps.proxy.listener import ListenerConfig
from trustgauge.apps.proxy.proxy import GRACE, Proxy
from trustgauge.apps.proxy.rating_worker import RatingTarget
from trustgauge.apps.proxy.recorder import Recorder, TrafficCounts
from trustgauge.apps.proxy.upstream import Upstream
from trustgauge.engine import EngineClock
from trustgauge.errors import StoreError
from trustgauge.run.transcript import Transcript
from trustgauge.services import process_guard

_SWITCH = 0.0005  # seconds that the reader may compute before what passes gets its turn


EVERY = 30.0
"""Seconds from one rating to the next, at least."""
_WRITTEN = 10.0  # seconds that a rating waits for what was offered before to be on disk


def _quiet(port: int) -> None:
    """Nobody wants to know."""


@dataclass(frozen=True, slots=True)
class ProxyConfig:
    """What to serve and how. `ready` is called with the port as soon as clients can connect."""

    upstream: Upstream
    subject: RatingTarget
    transcript: Path
    listening: ListenerConfig = field(default_factory=ListenerConfig)
    limits: TrafficLimits = field(default_factory=TrafficLimits)
    every: float = EVERY
    grace: float = GRACE
    ready: Callable[[int], None] = _quiet


@dataclass(frozen=True, slots=True)
class ProxyResult:
    """What became of it. `spoken` tells whether the transcript holds anything that the bot said."""

    subject: RatingTarget
    counts: TrafficCounts
    spoken: bool
    error: str = ""


def serve(serving: ProxyConfig) -> ProxyResult:
    """Pass everything on until the process is told to end (Ctrl-C, SIGTERM); then all is on disk.

    Raises:
        PlanError: it must not be listened so, as without a token beyond this machine.
        StoreError: the transcript cannot be written, or the address is not to be had.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH)
    gc.freeze()  # what was imported lives on: no need to go through it while traffic waits
    try:
        with asyncio.Runner(loop_factory=EngineClock().loop) as runner:
            return runner.run(serve_until(serving, asyncio.Event()))
    finally:
        gc.unfreeze()
        sys.setswitchinterval(before)


async def serve_until(serving: ProxyConfig, stop: asyncio.Event) -> ProxyResult:
    """Serve until `stop` is set; signals set it, where this is the main thread."""
    serving.listening.check()
    transcript = Transcript(serving.transcript)
    spoken_before = serving.transcript.stat().st_size > 0
    recorder = Recorder(transcript, prefix=f"{datetime.now(UTC):%Y%m%dT%H%M%S}-")
    recorder.start()
    running = PeriodicRating(recorder, serving.transcript, serving.subject, serving.every)
    proxy = Proxy(serving.upstream, recorder, running.now, serving.listening, serving.limits)

    def fault(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        # What a fault quotes may be secret, so only its kind is named.
        recorder.counts.faults[type(context.get("exception")).__name__] += 1

    asyncio.get_running_loop().set_exception_handler(fault)
    try:
        await _open(proxy)
        _on_signals(stop, proxy)
        serving.ready(proxy.port)
        await stop.wait()
    finally:
        running.close()
        await proxy.close(serving.grace)
        await asyncio.to_thread(recorder.close)
    counts = recorder.counts
    return ProxyResult(serving.subject, counts, counts.utterances > 0 or spoken_before, recorder.error)


async def _open(proxy: Proxy) -> None:
    place = proxy.listening
    try:
        await proxy.open()
    except OSError as error:
        raise StoreError(
            f"the proxy cannot listen on {place.host}, port {place.port}",
            must="a free port of this machine",
            got=error.strerror or type(error).__name__,
            do="Choose another one with --port",
        ) from None


def _on_signals(stop: asyncio.Event, proxy: Proxy) -> None:
    """The first signal ends it when answers under way have ended, the second at once."""
    loop = asyncio.get_running_loop()

    def on_signal() -> None:
        if stop.is_set():
            proxy.abort()
        stop.set()

    for one in (signal.SIGINT, signal.SIGTERM):
        # Neither on Windows, where Ctrl-C ends the loop, nor in a thread, which gets no signals.
        with suppress(NotImplementedError, ValueError, RuntimeError):
            loop.add_signal_handler(one, on_signal)


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

        It is made again if something passed since, and the last one began `every` seconds ago or more; who
        asks while one is made waits for that one.
        """
        await asyncio.to_thread(self._recorder.settle, _WRITTEN)
        if self._task is None and self._stale():
            self._task = asyncio.ensure_future(self._again())
            self._task.add_done_callback(self._done)
        if self._task is not None:
            await asyncio.shield(self._task)
        counts = self._recorder.counts
        facts = {"service": self._subject.name, "exchanges": counts.facts(), "rated": self._of}
        if self._recorder.error:
            facts["unwritten"] = self._recorder.error
        return facts | self._found

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
            process_guard.prepare()
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
