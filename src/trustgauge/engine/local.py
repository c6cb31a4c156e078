"""Asking: many messages, many services, one blocking door."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Protocol, Self

from trustgauge.engine import AnswerSink, EngineClock, RetryPolicy, RunState, Watch
from trustgauge.engine.adaptive_limiter import ProviderQueue, ServiceStates
from trustgauge.engine.budget import BudgetAccount, BudgetLimits, ReservationLedger
from trustgauge.engine.jobs import Job, JobProgress, JobTally
from trustgauge.engine.service_dispatcher import ServiceDispatcher
from trustgauge.errors import ServiceError
from trustgauge.records import digest
from trustgauge.services import ServiceSpec

__all__ = [
    "AnswerSink",
    "BudgetLimits",
    "Engine",
    "EngineClock",
    "EngineConfig",
    "EngineOutcome",
    "Interruption",
    "Job",
    "JobTally",
    "LocalEngine",
    "RetryPolicy",
    "run",
]

STOPPING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals that end a run and keep everything: Ctrl-C, a service manager, a terminal that was closed."""

GRACE = 5.0
"""Seconds that calls under way are given to end when a run is interrupted."""

_CLOSING = 5.0  # seconds a service may take to close
_INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class EngineOutcome:
    """How a sitting ended. `stopped` says why not everything was asked, None if it was.

    A service that refused its key, or is down, does not stop the run: see `refused`. `calls`,
    `usd` and `tokens` are what this sitting spent, failed attempts included.
    """

    stopped: str | None
    tallies: Mapping[str, JobTally] = field(default_factory=dict)
    calls: int = 0
    usd: float = 0.0
    tokens: int = 0
    seconds: float = 0.0

    @property
    def refused(self) -> Mapping[str, ServiceError]:
        """Part -> the error for which its service was not asked any further."""
        return {part: tally.stopped for part, tally in self.tallies.items() if tally.stopped is not None}


class Interruption(KeyboardInterrupt):
    """Ctrl-C or SIGTERM: everything answered was given to `keep`; `outcome` says how far it came."""

    def __init__(self, outcome: EngineOutcome) -> None:
        self.outcome = outcome
        super().__init__(_INTERRUPTED)


class Engine(Protocol):
    """Where asking happens. `start` once, then any number of `run`, then `stop`.

    The limits hold over all runs between start and stop. A distributed engine gets the same
    descriptions, which can be pickled, and opens the services where it asks them.
    """

    def start(self, keep: AnswerSink, limits: BudgetLimits, watch: Watch | None) -> None: ...

    def run(self, jobs: Sequence[Job]) -> EngineOutcome: ...

    def stop(self) -> None: ...


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """Where an engine works; every engine plug-in has a class method `at(site)` that makes it.

    Attributes:
        logs: folder where workers append what is answered; all must see it under this path.
        commit: waits until everything that was given to `keep` is on the disk.
        workers: how many worker processes to start, None for one a core.
        scheduler: address of a cluster that runs already; "" for worker processes of our own.
        ledger: where what is to be spent is reserved before it is; None reserves nothing.
    """

    logs: Path
    commit: Callable[[], object]
    workers: int | None = None
    scheduler: str = ""
    ledger: ReservationLedger | None = None


class LocalEngine:
    """The engine in this process: asyncio, every service at its own pace.

    `clock` and `retry` may be others in tests; the event loop is the clock of all waits. With a
    `memory` each run goes on with what the ones before learned of the services.
    """

    def __init__(
        self,
        *,
        clock: EngineClock | None = None,
        retry: RetryPolicy | None = None,
        grace: float = GRACE,
        memory: ServiceStates | None = None,
        ledger: ReservationLedger | None = None,
    ) -> None:
        self._clock, self._retry, self._grace = clock or EngineClock(), retry or RetryPolicy(), grace
        self._memory, self._ledger = memory, ledger
        self._keep: AnswerSink | None = None
        self._watch: Watch | None = None
        self._budget = BudgetAccount(BudgetLimits())
        self._sitting: _Sitting | None = None

    @classmethod
    def at(cls, site: EngineConfig) -> Self:
        """What one run learns of the services is known to the next."""
        return cls(memory=ServiceStates(), ledger=site.ledger)

    def start(self, keep: AnswerSink, limits: BudgetLimits, watch: Watch | None) -> None:
        self._keep, self._watch, self._budget = keep, watch, BudgetAccount(limits, self._ledger)

    def run(self, jobs: Sequence[Job]) -> EngineOutcome:
        """Ask all jobs. Blocks until all is answered, a limit is reached, or it is interrupted.

        Raises Interruption (a KeyboardInterrupt); whatever `keep` or `watch` raise.
        """
        if self._keep is None:
            raise RuntimeError("the engine was not started")
        if not _in_a_loop():
            return self._run(jobs)
        with ThreadPoolExecutor(1) as pool:  # a notebook has a loop of its own in this thread
            asked = pool.submit(self._run, jobs)
            try:
                return asked.result()
            except KeyboardInterrupt:
                self.interrupt()
                return asked.result()

    def _run(self, jobs: Sequence[Job]) -> EngineOutcome:
        # Ours until the loop is closed: an interrupt in the midst of closing would leave it half closed.
        with _signals(self.interrupt) as missed:
            with asyncio.Runner(loop_factory=self._clock.loop) as runner:
                outcome = runner.run(self._sit(jobs, missed))
            if outcome.stopped == _INTERRUPTED:
                raise Interruption(outcome)
        return outcome

    def stop(self) -> None:
        self._keep = self._watch = None

    def interrupt(self) -> bool:
        """As Ctrl-C, from another thread: `run` soon ends with an Interruption. False if none has begun."""
        return self._sitting is not None and self._sitting.interrupt_from_outside()

    async def _sit(self, jobs: Sequence[Job], missed: list[int]) -> EngineOutcome:
        assert self._keep is not None
        desk = RunState(self._clock, self._budget, self._retry, self._watch)
        self._sitting = sitting = _Sitting(desk, self._grace, self._memory or ServiceStates())
        if missed:  # a signal before there was anything to interrupt
            missed.clear()
            sitting.interrupt()
        try:
            return await sitting.run(jobs, self._keep)
        finally:
            self._sitting = None


def run(
    jobs: Sequence[Job],
    keep: AnswerSink,
    limits: BudgetLimits | None = None,
    watch: Watch | None = None,
    *,
    engine: Engine | None = None,
) -> EngineOutcome:
    """Ask all jobs and give every answer to `keep`. Blocks; see `Local.run` for what it raises."""
    found = engine or LocalEngine()
    found.start(keep, limits or BudgetLimits(), watch)
    try:
        return found.run(jobs)
    finally:
        found.stop()


class _Sitting:
    """One blocking run: sets services and jobs up, waits for the end, closes everything."""

    def __init__(self, desk: RunState, grace: float, memory: ServiceStates) -> None:
        self._desk, self._grace, self._memory = desk, grace, memory
        self._runners: dict[str, ServiceDispatcher] = {}
        self._lines: dict[str, ProviderQueue] = {}
        self._courses: list[JobProgress] = []
        self._finished: asyncio.Future[None] = desk.loop.create_future()
        desk.ended, desk.released = self._ended, self._released

    async def run(self, jobs: Sequence[Job], keep: AnswerSink) -> EngineOutcome:
        desk, budget = self._desk, self._desk.budget
        began = desk.loop.time()
        before = budget.calls, budget.usd, budget.tokens
        tallies: dict[str, JobTally] = {}
        try:
            self._prepare(jobs, keep, tallies)
            if budget.seconds is not None:
                desk.loop.call_later(budget.seconds, self._out_of_time)
            await self._finished
        except asyncio.CancelledError:
            desk.halted = desk.halted or _INTERRUPTED
        finally:
            await self._close()
        seconds = desk.loop.time() - began
        budget.lasted(seconds)
        for course in self._courses:
            course.close(desk.loop.time())
        if desk.fault is not None:
            raise desk.fault
        spent = budget.calls - before[0], budget.usd - before[1], budget.tokens - before[2]
        outcome = EngineOutcome(desk.halted or None, tallies, *spent, seconds)
        desk.emit("done", stopped=outcome.stopped, calls=spent[0], usd=spent[1], tokens=spent[2])
        return outcome

    def _prepare(self, jobs: Sequence[Job], keep: AnswerSink, tallies: dict[str, JobTally]) -> None:
        for job in jobs:
            if not job.units:
                tallies.setdefault(job.part, JobTally())
                continue
            legs = [self._runner(leg) for leg in job.description.stages()]
            course = JobProgress(job, legs, self._desk, tallies.setdefault(job.part, JobTally()))
            course.keep = keep
            self._courses.append(course)
        services = {job.part: job.service or job.part for job in jobs}
        for part, tally in tallies.items():
            self._desk.emit("plan", part=part, service=services[part], total=tally.total)
        feeding = self._courses
        while feeding:  # in turn, so that no part of a service is asked before the others
            feeding = [course for course in feeding if course.feed_one()]
        self._desk.settle()

    def _runner(self, description: ServiceSpec) -> ServiceDispatcher:
        """The one runner of a leg, on the line it shares with others of its provider."""
        mark = description.fingerprint
        if mark not in self._runners:
            key, facts = provider_key(description)
            gate = self._memory.gate(key, description)
            line = self._lines.get(key)
            if line is None:
                line = self._lines[key] = ProviderQueue(self._desk, gate)
            source, target = facts.get("source"), facts.get("target")
            name = f"{description.use} {source}>{target}" if source and target else description.use
            self._runners[mark] = ServiceDispatcher(description, line, name, self._memory.of(mark))
        return self._runners[mark]

    def _ended(self) -> None:
        """Whether the run is over: all asked, or halted and nothing under way."""
        desk = self._desk
        if self._finished.done():
            return
        if desk.fault is not None:
            self._cut()
            return
        over = all(course.over for course in self._courses)
        if not desk.under_way and (desk.halted or (over and not desk.pending)):
            self._finished.set_result(None)
        elif not desk.under_way and not desk.pending:
            stuck = any(runner.blocked for runner in self._runners.values())
            if not stuck and not any(course.starved for course in self._courses):
                raise RuntimeError("nothing under way, nothing to come, and yet not at the end")
            desk.halt(desk.budget.reason())

    def _released(self) -> None:
        """A call ended, so the budget may have room for what it had none for."""
        for runner in self._runners.values():
            if runner.blocked:
                runner.blocked = False
                runner.line.wake()
        for course in self._courses:
            if course.starved:
                course.feed()

    def _out_of_time(self) -> None:
        seconds = self._desk.budget.limits.seconds
        self._desk.halt(f"limit reached: seconds {seconds:g}")
        self._cut()

    def interrupt(self) -> None:
        """Ctrl-C: send nothing more and give what is under way a moment; a second one cuts it off."""
        if self._desk.halted:
            self._cut()
            return
        self._desk.halt(_INTERRUPTED)
        self._desk.loop.call_later(self._grace, self._cut)

    def interrupt_from_outside(self) -> bool:
        """As `interrupt`, from another thread or a signal; False if the run has ended already."""
        try:
            self._desk.loop.call_soon_threadsafe(self.interrupt)
        except RuntimeError:  # the loop has closed: there is nothing to stop
            return False
        return True

    def _cut(self) -> None:
        """Give up calls under way; what they ask stays pending."""
        for call in self._calls():
            call.cancel()
        if not self._finished.done():
            self._finished.set_result(None)

    def _calls(self) -> list[asyncio.Task[None]]:
        return [call for runner in self._runners.values() for call in runner.deadlines.under_way]

    async def _close(self) -> None:
        calls = self._calls()
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        for runner in self._runners.values():
            # what a service says at its end changes no answer
            with contextlib.suppress(Exception):
                async with asyncio.timeout(_CLOSING):
                    await runner.close()


def _in_a_loop() -> bool:
    """Whether this thread runs an event loop already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def provider_key(description: ServiceSpec) -> tuple[str, Mapping[str, Any]]:
    """What a provider limits together: a service in all its directions. And its identity."""
    facts = description.identity()
    return digest("provider", {k: v for k, v in facts.items() if k not in ("source", "target")}), facts


@contextlib.contextmanager
def _signals(act: Callable[[], bool]) -> Iterator[list[int]]:
    """The signals of STOPPING call `act` meanwhile, in the main thread; those it had no use for are listed.

    Raises:
        KeyboardInterrupt: at the end, for a signal that nobody acted on.
    """
    missed: list[int] = []

    def handle(number: int, frame: FrameType | None) -> None:
        if not act():
            missed.append(number)

    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {number: signal.signal(number, handle) for number in STOPPING}
    try:
        yield missed
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if missed:
        raise KeyboardInterrupt
