"""Asking: many messages, many services, one blocking door; what there is to do are jobs of units."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import Any, Protocol, Self

from trustgauge.engine import (
    AnswerSink,
    BudgetAccount,
    BudgetLimits,
    EngineClock,
    ReservationLedger,
    RetryPolicy,
    RunState,
    Watch,
)
from trustgauge.engine.adaptive_limiter import ProviderQueue, ServiceStates
from trustgauge.engine.service_dispatcher import FailedCall, InFlightUnit, ServiceDispatcher
from trustgauge.errors import GarbledError, ServiceError, kind_of_error
from trustgauge.records import (
    ANSWERED_AS,
    CUT,
    ESTIMATED,
    Answer,
    Message,
    Reply,
    Status,
    canonical,
    digest,
    whole_characters,
)
from trustgauge.services import ServiceSpec, environment_secrets, redact

UNFINISHED = "unfinished"
"""Error of a turn that was answered in a session that is not: it counts as not asked, and is asked again."""

_ERRORS = 50  # different errors of failed calls that are counted
_LONGER = 1.25  # how long a text that a leg passes on is taken to be for each character it was given
_OPEN = 256  # units of a job on their way at once; more where a service takes them in batches


@dataclass(frozen=True, slots=True)
class Job:
    """Units to ask of one service. `part` names it in events and tallies.

    A unit is one single message, or the turns of one session in order. Parts of one `service` share its
    pace; "" is a service of its own.
    """

    part: str
    description: ServiceSpec
    units: Sequence[tuple[Message, ...]]
    service: str = ""


@dataclass(slots=True)
class JobTally:
    """What became of the jobs of one part in this invocation.

    `calls` counts every attempt; `seconds` is the time from first to last call; `stopped` is the
    error for which the service is not asked any more, its remaining units being left pending.
    """

    total: int = 0
    done: int = 0
    failed: int = 0
    calls: int = 0
    retries: int = 0
    usd: float = 0.0
    tokens: int = 0
    seconds: float = 0.0
    stopped: ServiceError | None = None
    millis: array[float] = field(default_factory=lambda: array("d"))
    errors: Counter[str] = field(default_factory=Counter)  # of failed calls, each with its count
    fatal: Counter[str] = field(default_factory=Counter)  # of calls after which an answer was lost
    examples: dict[str, str] = field(default_factory=dict)  # what went wrong -> the first error of the kind

    def note_error(self, error: ServiceError, *, fatal: bool = False) -> None:
        """Count the error of a failed call; of errors that all differ the first of each kind are enough."""
        counts = self.fatal if fatal else self.errors
        what = error.what
        if what not in self.examples and len(self.examples) >= _ERRORS:
            kind = kind_of_error(what)
            alike = (known for known in self.examples if kind_of_error(known) == kind)
            if (what := next(alike, "")) == "":
                return
        counts[self.examples.setdefault(what, str(error))] += 1

    @property
    def pending(self) -> int:
        """Units neither done nor failed."""
        return self.total - self.done - self.failed

    @property
    def latency_median_ms(self) -> float | None:
        """Median time of the successful attempts, None if there was none."""
        ordered = sorted(self.millis)
        if not ordered:
            return None
        return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2.0


class JobProgress:
    """One job on its way: feeds its units to the first leg, and carries answers from leg to leg."""

    def __init__(
        self, job: Job, runners: Sequence[ServiceDispatcher], state: RunState, tally: JobTally
    ) -> None:
        self.job, self.tally = job, tally
        self.stopped: ServiceError | None = None
        self.starved = False  # the budget does not let its next unit begin
        self.keep: AnswerSink = _drop
        self._state, self._runners = state, runners
        self._fingerprint = job.description.fingerprint
        self._secrets = environment_secrets()  # a program or function of the user's could read them out
        self._units: Iterator[tuple[Message, ...]] = iter(job.units)
        self._next: tuple[Message, ...] | None = next(self._units, None)
        self._open = self._scenes = 0
        self._planned = (0, 0.0, 0)  # calls, dollars and tokens set aside
        self._unpriced: InFlightUnit | None = None  # begun before anybody knew what it costs
        self._most = max(_OPEN, 4 * max(runner.description.batch for runner in runners))
        self._apart = min(runner.description.concurrency for runner in runners)
        self._first: float | None = None
        self._said = False
        tally.total += len(job.units)
        for runner in dict.fromkeys(runners):
            runner.owners.append(self)

    @property
    def over(self) -> bool:
        """Whether nothing is left to do for it."""
        return self.stopped is not None or (self._next is None and not self._open)

    def _room(self) -> int:
        """Units that may be on their way at once.

        Scenes find out what a bot takes from one user to another. So they are not mixed more than calls
        are: a bot that is asked one thing at a time is shown one scene after the other.
        """
        scene = self._scenes or (self._next is not None and self._next[0].cast)
        return self._apart if scene else self._most

    def feed(self) -> None:
        """Let units begin, as many as may be on their way at once and the budget can finish."""
        while self.feed_one():
            pass

    def feed_one(self) -> bool:
        """Let the next unit begin; False if there is none, or it may not begin yet."""
        self.starved = False
        if self._state.halted or self._next is None or self._open >= self._room() or self.stopped is not None:
            return False
        calls = len(self._runners) * len(self._next)
        each = self._expected(self._next) if calls > 1 else (0.0, 0)
        if self._unpriced is not None or not self._plan(calls, calls * each[0], calls * each[1]):
            self.starved = True
            return False
        self._begin(self._next, calls, each)
        self._next = next(self._units, None)
        return True

    def _expected(self, messages: tuple[Message, ...]) -> tuple[float, int]:
        """Dollars and tokens that a call of a unit costs on average; none where no limit asks for them."""
        limits = self._state.budget.limits
        if limits.usd is None and limits.tokens is None:
            return 0.0, 0
        costs = [
            runner.estimate(len(message.text) * (_LONGER if leg else 1.0))
            for leg, runner in enumerate(self._runners)
            for message in messages
        ]
        return sum(usd for usd, _ in costs) / len(costs), max(tokens for _, tokens in costs)

    def _plan(self, calls: int, usd: float, tokens: int) -> bool:
        """Set aside what a unit takes; False if the budget has no room for it."""
        if not self._state.budget.plan(calls, usd, tokens):
            return False
        self._planned = _sum(self._planned, (calls, usd, tokens))
        return True

    def _set_aside(self, unit: InFlightUnit) -> None:
        """Set aside what the rest of a unit costs that began before anybody knew; then others may begin."""
        if any(runner.is_learning for runner in self._runners):
            return
        each = self._expected(unit.messages)
        if self._plan(0, unit.left * each[0], unit.left * each[1]):
            unit.each = each
        self._unpriced = None
        self.feed()

    def _begin(self, messages: tuple[Message, ...], calls: int, each: tuple[float, int]) -> None:
        self._open += 1
        self._scenes += bool(messages[0].cast)
        unit = InFlightUnit(self, messages, messages[0], calls, each)
        if messages[0].session:
            unit.turns = tuple({} for _ in self._runners)
        if calls > 1 and any(runner.is_learning for runner in self._runners):
            self._unpriced = unit  # it goes alone until its price is known
        self._runners[0].add(unit)

    def _end(self, unit: InFlightUnit) -> None:
        """A unit is done, in one way or another."""
        self._used(unit, unit.left)
        unit.left = 0
        if unit is self._unpriced:
            self._unpriced = None
        self._open -= 1
        self._scenes -= bool(unit.messages[0].cast)
        if 2 * self._open <= self._most or any(len(runner.owners) > 1 for runner in self._runners):
            self.feed()  # a service that several jobs ask gets one of each in turn, not many of one
        if self.over:
            self._state.soon(self._say_done)

    def _used(self, unit: InFlightUnit, calls: int) -> None:
        """Calls set aside that were made or are not needed; a stopped job gave all of them back."""
        if self.stopped is not None:
            return
        usd, tokens = unit.each
        self._planned = _sum(self._planned, (-calls, -calls * usd, -calls * tokens))
        self._state.budget.unplan(calls, calls * usd, calls * tokens)

    def _say_done(self) -> None:
        if not self._said:
            self._said = True
            self._state.emit("part-done", part=self.job.part, done=self.tally.done, failed=self.tally.failed)

    # -- what runners tell

    def on_send(self, *, retry: bool) -> None:
        """A message of this job goes out."""
        self.tally.calls += 1
        self.tally.retries += retry
        if self._first is None:
            self._first = self._state.loop.time()

    def on_reply(self, unit: InFlightUnit, reply: Reply, millis: float) -> None:
        """A leg answered: pass its output to the next leg, or keep the answer."""
        if self.stopped is not None and len(unit.messages) * len(self._runners) > 1:
            return  # remaining stages are skipped
        self._used(unit, 1)
        unit.left -= 1
        if unit is self._unpriced:
            self._set_aside(unit)
        unit.millis += millis
        output = reply.output if isinstance(reply.output, str) else repr(float(reply.output))
        output = self._clean(output)
        unit.cut |= reply.cut
        unit.estimated |= reply.estimated
        if reply.answered_as and reply.answered_as not in unit.answered_as:
            unit.answered_as.append(reply.answered_as)
        unit.trail.extend(map(self._clean, reply.trail))
        if unit.turns:
            heard = unit.turns[unit.leg].setdefault(unit.message.talk, [])
            heard.append((unit.message.text, output))
        last = unit.leg == len(self._runners) - 1
        blank = not output or output.isspace()
        if reply.refused or blank or last:
            status: Status = "refused" if reply.refused else "empty" if blank else "answered"
            self._turn_done(unit, status, output)
        else:
            unit.trail.append(output)
            unit.leg += 1
            self._ask(unit, output)

    def _clean(self, text: str) -> str:
        """An output as it may be kept."""
        return redact(whole_characters(text), self._secrets)

    def _ask(self, unit: InFlightUnit, text: str) -> None:
        """Send a text to the leg the unit is at, with what was said before in the same conversation."""
        planned = unit.messages[unit.turn]
        turns = tuple(unit.turns[unit.leg].get(planned.talk, ())) if unit.turns else ()
        unit.message = replace(planned, text=text, turns=turns)
        self._runners[unit.leg].add(unit)

    def _turn_done(self, unit: InFlightUnit, status: Status, output: str) -> None:
        answer = self._answer(unit, status, output)
        if len(unit.messages) == 1:
            self._keep(unit, (answer,))
            return
        self._next_turn(unit, answer)

    def _next_turn(self, unit: InFlightUnit, answer: Answer) -> None:
        """Ask the next turn of a session, or keep the session if that was its last one."""
        unit.kept.append(answer)
        self._give(replace(answer, status="failed", error=UNFINISHED))  # evidence and cost, if it breaks off
        self._used(unit, skipped := len(self._runners) - 1 - unit.leg)
        unit.left -= skipped
        if unit.turn + 1 == len(unit.messages):
            self._keep(unit, tuple(unit.kept))
            return
        unit.turn += 1
        unit.leg = unit.attempts = unit.tokens = 0
        unit.cut = unit.estimated = False
        unit.millis = unit.usd = 0.0
        unit.trail, unit.answered_as = [], []
        self._ask(unit, unit.messages[unit.turn].text)

    def _give(self, *answers: Answer) -> None:
        """Give answers away; the job stops if that is what their receiver wants."""
        try:
            self.keep(*answers)
        except ServiceError as error:
            if self.stopped is None:
                self._state.emit("stopped", service=self.job.part, error=error.code, detail=str(error))
                self.stop(error)

    def _keep(self, unit: InFlightUnit, answers: tuple[Answer, ...]) -> None:
        self._give(*(map(_without_cost, answers) if unit.kept else answers))
        self.tally.millis.extend(answer.millis for answer in answers if answer.status != "failed")
        self._count(unit, answers, all(answer.status != "failed" for answer in answers), unit.faults)

    def _count(
        self, unit: InFlightUnit, answers: tuple[Answer, ...], whole: bool, faults: Sequence[FailedCall] = ()
    ) -> None:
        """Add up what a unit cost that has come to its end, and tell it."""
        self.tally.done += whole
        self.tally.failed += not whole
        for answer in answers:
            self.tally.usd += answer.usd
            self.tally.tokens += answer.tokens
        if self._state.watch is not None:
            self._tell(answers, faults)
        self._end(unit)

    def _tell(self, answers: tuple[Answer, ...], faults: Sequence[FailedCall] = ()) -> None:
        """Tell the watcher of answers; `faults` are the calls that failed before they came."""
        last = answers[-1]
        recovered = Counter(call.kind for call in faults if not call.recovered)
        for call in faults:
            call.recovered = True
        self._state.emit(
            "answer",
            at=last.at,
            part=self.job.part,
            turns=len(answers),
            status=last.status,
            error=last.error if last.status == "failed" else None,
            millis=round(last.millis, 1),
            usd=sum(answer.usd for answer in answers),
            tokens=sum(answer.tokens for answer in answers),
            calls=sum(answer.attempts for answer in answers),
            **({"recovered": dict(recovered)} if recovered else {}),
        )

    def note_error(self, error: ServiceError) -> None:
        """A call failed, and may be sent again."""
        self.tally.note_error(error)

    def on_failure(self, unit: InFlightUnit, error: ServiceError) -> None:
        """All attempts are spent: keep that it failed; of a session keep nothing that was said.

        Of a recorded session only the answer that the record lacks is missing: the others were given.
        """
        several = len(unit.messages) > 1
        if several and not self.job.description.recorded_turns:
            self._broken(unit, error)
            return
        status: Status = "unreadable" if isinstance(error, GarbledError) else "failed"
        answer = self._answer(unit, status, None, error)
        if several:
            self.tally.note_error(error, fatal=True)
            self._used(unit, 1)
            unit.left -= 1
            self._next_turn(unit, answer)
            return
        self._give(answer)
        self._lost(unit, (answer,), error)

    def _broken(self, unit: InFlightUnit, error: ServiceError) -> None:
        """A session broken off is pending as a whole: each turn is kept as failed, to be asked again."""
        spent = {answer.message: answer for answer in unit.kept}
        answers = []
        for turn, message in enumerate(unit.messages):
            answer = self._answer(unit, "failed", None, error, message)
            costs = spent.get(answer.message)
            if costs is not None:
                answer = replace(answer, output=costs.output, trail=costs.trail)
                answer = replace(answer, attempts=costs.attempts, tokens=costs.tokens, usd=costs.usd)
            elif turn > unit.turn:
                answer = replace(answer, attempts=0, tokens=0, usd=0.0)
            answers.append(answer)
        self._give(*(_without_cost(one) if one.message in spent else one for one in answers))
        self._state.emit("broken", part=self.job.part, session=unit.messages[0].session, error=error.code)
        self._lost(unit, tuple(answers), error)

    def _lost(self, unit: InFlightUnit, answers: tuple[Answer, ...], error: ServiceError) -> None:
        whole = answers[-1].status != "failed"
        if not whole:
            self.tally.note_error(error, fatal=True)
        self._count(unit, answers, whole)

    def stop(self, error: ServiceError) -> None:
        """A service it needs is not asked any more; what is not answered stays pending."""
        if self.over:
            return
        self._state.budget.unplan(*self._planned)
        self.stopped = self.tally.stopped = error
        self._state.settle()

    def close(self, now: float) -> None:
        """The run is over: note how long this job took."""
        if self._first is not None:
            self.tally.seconds = max(self.tally.seconds, now - self._first)

    # -- rows

    def _answer(
        self,
        unit: InFlightUnit,
        status: Status,
        output: str | None,
        error: ServiceError | None = None,
        message: Message | None = None,
    ) -> Answer:
        first = message or unit.messages[unit.turn]
        return Answer(
            fingerprint=self._fingerprint,
            message=first.key,
            draw=first.draw,
            text=first.text,
            status=status,
            output=output,
            trail=tuple(unit.trail),
            error=CUT if unit.cut and error is None else error.code if error and status == "failed" else "",
            detail=str(error)
            if error is not None
            else answered_as_detail(unit.answered_as, estimated=unit.estimated),
            millis=round(unit.millis, 3),
            attempts=unit.attempts,
            tokens=unit.tokens,
            usd=unit.usd,
            at=self._state.at(),
            script=canonical(first.place) if first.session else "",
        )


def answered_as_detail(lines: Sequence[str], *, estimated: bool = False) -> str:
    """What services say they answered with, as an answer keeps it, and whether its tokens are estimated."""
    return (f"{ANSWERED_AS}{'; '.join(lines)}" if lines else "") + (ESTIMATED if estimated else "")


def _without_cost(answer: Answer) -> Answer:
    """An answer of a turn whose cost was kept when it came; the store adds up."""
    return replace(answer, attempts=0, tokens=0, usd=0.0)


def _sum(one: tuple[int, float, int], other: tuple[int, float, int]) -> tuple[int, float, int]:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


def _drop(*answers: Answer) -> None:
    """Before the engine says where answers go."""


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
    """How an invocation ended. `stopped` says why not everything was asked, None if it was.

    A service that refused its key, or is down, does not stop the run: see `refused`. `calls`,
    `usd` and `tokens` are what this invocation spent, failed attempts included.
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
    `memory` each run continues with what the ones before learned of the services.
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
        self._current: _EngineRun | None = None

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
                outcome = runner.run(self._run_jobs(jobs, missed))
            if outcome.stopped == _INTERRUPTED:
                raise Interruption(outcome)
        return outcome

    def stop(self) -> None:
        self._keep = self._watch = None

    def interrupt(self) -> bool:
        """As Ctrl-C, from another thread: `run` soon ends with an Interruption. False if none has begun."""
        return self._current is not None and self._current.interrupt_from_outside()

    async def _run_jobs(self, jobs: Sequence[Job], missed: list[int]) -> EngineOutcome:
        assert self._keep is not None
        state = RunState(self._clock, self._budget, self._retry, self._watch)
        self._current = current = _EngineRun(state, self._grace, self._memory or ServiceStates())
        if missed:  # a signal before there was anything to interrupt
            missed.clear()
            current.interrupt()
        try:
            return await current.run(jobs, self._keep)
        finally:
            self._current = None


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


class _EngineRun:
    """One blocking run: sets services and jobs up, waits for the end, closes everything."""

    def __init__(self, state: RunState, grace: float, memory: ServiceStates) -> None:
        self._state, self._grace, self._memory = state, grace, memory
        self._runners: dict[str, ServiceDispatcher] = {}
        self._lines: dict[str, ProviderQueue] = {}
        self._in_progress: list[JobProgress] = []
        self._finished: asyncio.Future[None] = state.loop.create_future()
        state.ended, state.released = self._ended, self._released

    async def run(self, jobs: Sequence[Job], keep: AnswerSink) -> EngineOutcome:
        state, budget = self._state, self._state.budget
        began = state.loop.time()
        before = budget.calls, budget.usd, budget.tokens
        tallies: dict[str, JobTally] = {}
        try:
            self._prepare(jobs, keep, tallies)
            if budget.seconds is not None:
                state.loop.call_later(budget.seconds, self._out_of_time)
            await self._finished
        except asyncio.CancelledError:
            state.halted = state.halted or _INTERRUPTED
        finally:
            await self._close()
        seconds = state.loop.time() - began
        budget.add_seconds(seconds)
        for course in self._in_progress:
            course.close(state.loop.time())
        if state.fault is not None:
            raise state.fault
        spent = budget.calls - before[0], budget.usd - before[1], budget.tokens - before[2]
        outcome = EngineOutcome(state.halted or None, tallies, *spent, seconds)
        state.emit("done", stopped=outcome.stopped, calls=spent[0], usd=spent[1], tokens=spent[2])
        return outcome

    def _prepare(self, jobs: Sequence[Job], keep: AnswerSink, tallies: dict[str, JobTally]) -> None:
        for job in jobs:
            if not job.units:
                tallies.setdefault(job.part, JobTally())
                continue
            legs = [self._runner(leg) for leg in job.description.stages()]
            course = JobProgress(job, legs, self._state, tallies.setdefault(job.part, JobTally()))
            course.keep = keep
            self._in_progress.append(course)
        services = {job.part: job.service or job.part for job in jobs}
        for part, tally in tallies.items():
            self._state.emit("plan", part=part, service=services[part], total=tally.total)
        feeding = self._in_progress
        while feeding:  # in turn, so that no part of a service is asked before the others
            feeding = [course for course in feeding if course.feed_one()]
        self._state.settle()

    def _runner(self, description: ServiceSpec) -> ServiceDispatcher:
        """The one runner of a leg, on the line it shares with others of its provider."""
        mark = description.fingerprint
        if mark not in self._runners:
            key, facts = provider_key(description)
            gate = self._memory.gate(key, description)
            line = self._lines.get(key)
            if line is None:
                line = self._lines[key] = ProviderQueue(self._state, gate)
            source, target = facts.get("source"), facts.get("target")
            name = f"{description.use} {source}>{target}" if source and target else description.use
            self._runners[mark] = ServiceDispatcher(description, line, name, self._memory.of(mark))
        return self._runners[mark]

    def _ended(self) -> None:
        """Whether the run is over: all asked, or halted and nothing under way."""
        state = self._state
        if self._finished.done():
            return
        if state.fault is not None:
            self._cut()
            return
        over = all(course.over for course in self._in_progress)
        if not state.under_way and (state.halted or (over and not state.pending)):
            self._finished.set_result(None)
        elif not state.under_way and not state.pending:
            stuck = any(runner.blocked for runner in self._runners.values())
            if not stuck and not any(course.starved for course in self._in_progress):
                raise RuntimeError("nothing under way, nothing to come, and yet not at the end")
            state.halt(state.budget.reason())

    def _released(self) -> None:
        """A call ended, so the budget may have room for what it had none for."""
        for runner in self._runners.values():
            if runner.blocked:
                runner.blocked = False
                runner.line.wake()
        for course in self._in_progress:
            if course.starved:
                course.feed()

    def _out_of_time(self) -> None:
        seconds = self._state.budget.limits.seconds
        self._state.halt(f"limit reached: seconds {seconds:g}")
        self._cut()

    def interrupt(self) -> None:
        """Ctrl-C: send nothing more and give what is under way a moment; a second one cuts it off."""
        if self._state.halted:
            self._cut()
            return
        self._state.halt(_INTERRUPTED)
        self._state.loop.call_later(self._grace, self._cut)

    def interrupt_from_outside(self) -> bool:
        """As `interrupt`, from another thread or a signal; False if the run has ended already."""
        try:
            self._state.loop.call_soon_threadsafe(self.interrupt)
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
