"""The proxy as a whole, from its first connection to the end of the transcript."""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from trustgauge.apps.proxy.limits import TrafficLimits
from trustgauge.apps.proxy.listener import ListenerConfig
from trustgauge.apps.proxy.periodic_rating import EVERY, PeriodicRating
from trustgauge.apps.proxy.proxy import GRACE, Proxy
from trustgauge.apps.proxy.rating_worker import RatingTarget
from trustgauge.apps.proxy.recorder import Recorder, TrafficCounts
from trustgauge.apps.proxy.upstream import Upstream
from trustgauge.engine.run_state import EngineClock
from trustgauge.errors import StoreError
from trustgauge.run.transcript import Transcript

_SWITCH = 0.0005  # seconds that the reader may compute before what passes gets its turn


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
        # What a fault quotes may be secret, so only its kind is told.
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

    def told() -> None:
        if stop.is_set():
            proxy.abort()
        stop.set()

    for one in (signal.SIGINT, signal.SIGTERM):
        # Neither on Windows, where Ctrl-C ends the loop, nor in a thread, which gets no signals.
        with suppress(NotImplementedError, ValueError, RuntimeError):
            loop.add_signal_handler(one, told)
