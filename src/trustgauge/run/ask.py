"""Stage 2 of a rating: send what is pending; every answer goes to the store of the run.

The only stage that costs anything; everything after it is derived again from the stored answers.

Planned looks ask each part of a service until its level is settled (methods 0.11). Whether a part has
stopped follows from the stored answers alone, so a run that was killed continues where it was, and answers
that another run lent count like its own.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from trustgauge import plugins
from trustgauge.engine import AnswerSink, BudgetLimits, ReservationLedger
from trustgauge.engine import local as engine
from trustgauge.errors import SameAnswerError, ServiceError, kind_of_error
from trustgauge.methods import LookUser
from trustgauge.plan import Plan
from trustgauge.records import RESPONSE, Answer, Message, Reason, Reply, ServiceFailure, digest
from trustgauge.reports.sanitize import short, terminal
from trustgauge.run import cost
from trustgauge.run.accumulator import LEAST, ConstantAnswers
from trustgauge.run.cost import CostLedger
from trustgauge.run.options import AskOutcome, AskPlan, ReusableRuns, RunOptions, lookup_in, pending_batches
from trustgauge.run.probe_batches import batches_of
from trustgauge.run.rate import AnswersOf, StoredAnswers, answer_batches, rate_answers, source_part
from trustgauge.run.targets import Target, looks_of, messages, probes_of
from trustgauge.services import ServiceSpec, redact
from trustgauge.store import GroupWriter
from trustgauge.store.folder import WORKER_LOGS, RunFolder

FIRST = 40
"""Different questions after which a part that answers all of them alike is asked no more."""
UNTRANSLATED = (
    "the translation is the text that was sent: nothing was translated. "
    "A service that does so with all texts is not rated"
)
SHOWN = 200  # characters of an answer of a smoke test, or of an error


def ask(ask_plan: AskPlan, folder: RunFolder, run_options: RunOptions) -> AskOutcome:
    """Send what is pending; every answer goes to one writer.

    A service that was declared deterministic and turns out not to be is asked every draw
    (methods 0.3). Control services cost nothing, so no limit holds for them.
    """
    budget = ask_plan.plan.budget
    spending = CostLedger(ask_plan, folder)
    limits = BudgetLimits(budget.calls, budget.usd, budget.tokens, budget.seconds, before=spending.before)

    stopwatch = cost.Stopwatch(parts_by_service(ask_plan))

    def watch(event: dict[str, Any]) -> None:
        folder.events.add(event)
        stopwatch.feed(event)
        run_options.watch(event)

    outcomes: list[engine.EngineOutcome] = []
    with GroupWriter(folder.store) as writer:
        for jobs in _steps(ask_plan, folder, controls=True):
            engine.run(jobs, writer.keep)
            writer.flush()
        local = _engine(ask_plan, folder, writer, spending.ledger)
        local.start(ConstantAnswerGuard(writer.keep, ask_plan), limits, watch)
        is_counted, looking = True, ask_plan
        began = time.monotonic()
        try:
            for looking in planned_looks(ask_plan, folder):
                _ask_rounds(local, looking, folder, writer, outcomes)
                if any(one.stopped for one in outcomes):
                    break
            if not any(one.stopped for one in outcomes) and (jobs := _judging(ask_plan, folder)):
                outcomes.append(local.run(jobs))
        except engine.Interruption as interrupted:
            outcomes.append(interrupted.outcome)
            raise
        except BaseException:
            is_counted = False  # how many calls went out is not known: the ledger stays, and counts
            raise
        finally:
            local.stop()
            writer.flush()
            if outcomes and is_counted:
                spending.note(outcomes, time.monotonic() - began)
                folder.note(**stopwatch.notes(folder.manifest()), **_lost(outcomes, folder.manifest()))
    refused = {
        part: str(error)
        for one in outcomes
        for part, error in one.refused.items()
        if not isinstance(error, SameAnswerError)  # of which its rating tells
    }
    stopped = next((one.stopped for one in reversed(outcomes) if one.stopped), "")
    targets = keep_looks(looking, folder)
    failures = {part: failure_of(part, said, outcomes) for part, said in refused.items()}
    return AskOutcome(sum(one.calls for one in outcomes), stopped or "", refused, targets, failures)


def failure_of(part: str, last: str, outcomes: Sequence[engine.EngineOutcome]) -> ServiceFailure:
    """How the calls to a part failed whose service is not asked any further.

    Args:
        part: its name in the events of the run.
        last: the error for which it is not asked any further; it counts where no call was made.
        outcomes: of all rounds of asking.
    """
    errors: Counter[str] = Counter()
    for one in outcomes:
        if part in one.tallies:
            errors.update(one.tallies[part].errors)
    error, calls = _most_frequent(errors) if errors else (last, 0)
    return ServiceFailure(quotable(error), calls)


def _most_frequent(errors: Counter[str]) -> tuple[str, int]:
    """The error of the most frequent kind that came most often, and how often any of its kind came.

    A server that repeats its input in the error makes every one another.
    """
    kinds: Counter[str] = Counter()
    for error, calls in errors.items():
        kinds[kind_of_error(error)] += calls
    kind, calls = kinds.most_common(1)[0]
    mine = {error: some for error, some in errors.items() if kind_of_error(error) == kind}
    return max(mine, key=mine.__getitem__), calls


def _lost(outcomes: Sequence[engine.EngineOutcome], manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Why answers of parts are lost for good, of all invocations; nothing where none is."""
    errors: dict[str, Counter[str]] = {}
    for one in outcomes:
        for part, tally in one.tallies.items():
            errors.setdefault(part, Counter()).update(tally.fatal)
    lost = {}
    for part, counts in errors.items():
        if counts:
            error, calls = _most_frequent(counts)
            lost[part] = [quotable(error), calls]
    return {"lost": {**manifest.get("lost", {}), **lost}} if lost else {}


def quotable(error: str) -> str:
    """An error as a run keeps it: short, without keys, to be quoted in a sentence."""
    return short(redact(error).rstrip("."), SHOWN)


def parts_by_service(ask_plan: AskPlan) -> dict[str, ServiceSpec]:
    """Name of each part in the events of the run -> what is asked; controls left out."""
    rated = {one.title: one.description for one in ask_plan.rated_targets}
    judges = {one.judge_title: one.description for one in ask_plan.judges}
    return {name: one for name, one in {**rated, **judges}.items() if one is not None}


def _said(answer: Answer) -> str:
    """What an answer says; nothing if it is blank."""
    output = answer.output or ""
    return output if output.strip() else ""


class ConstantAnswerGuard:
    """Passes answers on to where they are kept, and ends the asking of a part that answers all alike.

    Args:
        keep: where answers go.
        ask_plan: the plan.

    Raises SameAnswerError, from each call for that part, after the answers are passed on.
    """

    def __init__(self, keep: AnswerSink, ask_plan: AskPlan) -> None:
        self._keep, self._prepared = keep, ask_plan
        self._first: dict[str, dict[str, Answer]] = {one.fingerprint: {} for one in ask_plan.rated_targets}
        self._due = dict.fromkeys(self._first, FIRST)
        self._errors: dict[str, SameAnswerError] = {}

    def __call__(self, *answers: Answer) -> None:
        self._keep(*answers)
        for answer in answers:
            if answer.fingerprint in self._errors:
                raise self._errors[answer.fingerprint]
            first = self._first.get(answer.fingerprint)
            output = _said(answer)
            if first is None or answer.status == "failed":
                continue
            before = _said(next(iter(first.values()))) if first else output
            if before and not output:
                continue  # an empty answer beside others says nothing
            if output and not before:
                first.clear()
            first[answer.text] = answer
            if before and before != output:
                del self._first[answer.fingerprint]
            elif len(first) >= self._due[answer.fingerprint]:
                self._judge(answer, list(first.values()))

    def _judge(self, answer: Answer, first: list[Answer]) -> None:
        """Whether all experiments that ask the part take it for a fault: later, if one asked too little."""
        names = ("message", "draw", *RESPONSE)
        rows = [{name: getattr(one, name) for name in names} | {"trail": "[]"} for one in first]
        kept = pl.DataFrame(rows)
        asking = [one for one in self._prepared.targets if one.fingerprint == answer.fingerprint]
        verdicts = {self._verdict(one, kept) for one in asking}
        if verdicts == {True}:
            error = SameAnswerError(answer.fingerprint, str(answer.output), len(first))
            self._errors[answer.fingerprint] = error
            del self._first[answer.fingerprint]
            raise error
        if False in verdicts:
            del self._first[answer.fingerprint]
        else:
            self._due[answer.fingerprint] = 2 * len(first)

    def _verdict(self, target: Target, kept: pl.DataFrame) -> bool | None:
        """Whether an experiment takes the answers for a fault, None where too few of its questions have one.

        Silence is no behaviour in any experiment, so that it need not be waited for.
        """
        rows = next(answer_batches(target, self._prepared.probes, lambda _: kept))
        if rows.drop_nulls("output")["message"].n_unique() >= LEAST:
            return fault_of(target, self._prepared, lambda _: kept) is not None
        if target.service in self._prepared.methods[target.experiment].constant_services:
            return False
        return None if (kept["output"].str.strip_chars() != "").any() else True


def fault_of(target: Target, ask_plan: AskPlan, answers: AnswersOf) -> Reason | None:
    """Why a part is not asked any further, by its answers to the first slice of its probes."""
    rows = next(answer_batches(target, ask_plan.probes, answers))
    rows = rows.filter(pl.col("output").is_not_null())
    if rows["output"].str.strip_chars().n_unique() != 1:
        return None
    method = ask_plan.methods[target.experiment]
    same = ConstantAnswers(method, [])
    same.take(method.score(rows))
    return same.faults().get(target.service, {}).get(target.part)


def worker_log_folder(plan: Plan, folder: RunFolder) -> Path:
    """Where workers of a distributed engine append what they are answered."""
    if not plan.run.shared:
        return (folder.path / WORKER_LOGS).absolute()
    mark = digest("run", [folder.id, folder.manifest()["began"]])[:8]  # ids are unique in one place only
    return (Path(plan.run.shared) / f"{folder.id}-{mark}").absolute()


def _engine(
    ask_plan: AskPlan, folder: RunFolder, writer: GroupWriter, ledger: ReservationLedger
) -> engine.Engine:
    """Who asks, as the plan says."""
    options = ask_plan.plan.run
    logs = worker_log_folder(ask_plan.plan, folder)
    site = engine.EngineConfig(logs, writer.flush, options.workers, options.scheduler, ledger)
    found: engine.Engine = plugins.load("engines", options.engine, "run.engine").at(site)
    return found


def _ask_round(
    local: engine.Engine,
    ask_plan: AskPlan,
    folder: RunFolder,
    writer: GroupWriter,
    outcomes: list[engine.EngineOutcome],
) -> None:
    """One round of asking what is pending, slice by slice, until a limit is reached: adds its outcomes.

    Nothing is begun, and no clock runs, where nothing is pending. A service that refused, is down, or gives
    one answer to everything is left out of later slices, rounds and looks.
    """
    answers = StoredAnswers(folder.store)
    refused = {one.title for one in ask_plan.rated_targets if fault_of(one, ask_plan, answers)}
    refused |= {part for earlier in outcomes for part in earlier.refused}
    for jobs in _steps(ask_plan, folder, controls=False):
        left = [job for job in jobs if job.part not in refused]
        if left:
            outcomes.append(local.run(left))
            writer.flush()
            refused |= set(outcomes[-1].refused)
            if outcomes[-1].stopped:
                break


def _ask_rounds(
    local: engine.Engine,
    ask_plan: AskPlan,
    folder: RunFolder,
    writer: GroupWriter,
    outcomes: list[engine.EngineOutcome],
) -> None:
    """One round, and one more of every draw of the services that turned out to vary."""
    _ask_round(local, ask_plan, folder, writer, outcomes)
    varying = varying_targets(ask_plan, folder)
    if varying != ask_plan.targets and not any(one.stopped for one in outcomes):
        _ask_round(local, replace(ask_plan, targets=varying), folder, writer, outcomes)


def _steps(ask_plan: AskPlan, folder: RunFolder, *, controls: bool) -> Iterator[list[engine.Job]]:
    """What is pending, slice by slice; slices of which nothing is are left out."""
    mine = [one for one in ask_plan.targets if bool(one.control) == controls]
    store = folder.store
    is_stored = lookup_in(store.present) if ask_plan.is_small else store.holds
    found = None if controls else ask_plan.pending
    left = found.remaining(mine, is_stored) if found else None
    for rows in pending_batches(mine, ask_plan.probes, is_stored) if left is None else [left]:
        jobs = [
            engine.Job(row.target.title, row.description, row.units, row.target.service)
            for row in rows
            if row.units
        ]
        if jobs:
            yield jobs


def _judging(ask_plan: AskPlan, folder: RunFolder) -> list[engine.Job]:
    """What second judges are still to be asked about the answers that are kept now."""
    if not ask_plan.judges:
        return []
    from trustgauge.run import second_judge

    plan, answers = ask_plan.plan, StoredAnswers(folder.store)
    asked = second_judge.prompts(plan, ask_plan.judges, ask_plan.targets, ask_plan.probes, answers)
    folder.borrow(second_judge.keys(asked), ReusableRuns(ask_plan, folder.path.parent).lends)
    return second_judge.jobs(asked, folder.store.present)


def varying_targets(ask_plan: AskPlan, folder: RunFolder) -> tuple[Target, ...]:
    """The subjects, with those that gave two answers to one message marked as not deterministic."""
    answers = StoredAnswers(folder.store)
    return tuple(
        replace(one, deterministic=False)
        if one.deterministic and not answers.is_deterministic(one.fingerprint)
        else one
        for one in ask_plan.targets
    )


def planned_looks(ask_plan: AskPlan, folder: RunFolder) -> Iterator[AskPlan]:
    """The plan look by look: each time its subjects with the look up to which they are asked now.

    A plan without looks comes once, as it is. What was asked must be in the store of the folder before the
    next one is taken.
    """
    most = [looks_of(method) for method in ask_plan.methods]
    if not any(most):
        yield ask_plan
        return
    reached = [min(1, most[one.experiment]) for one in ask_plan.targets]
    going = [bool(look) and one.control is None for one, look in zip(ask_plan.targets, reached, strict=True)]
    for look in range(1, max(most) + 1):
        reached = [look if goes else before for goes, before in zip(going, reached, strict=True)]
        yield replace(ask_plan, targets=tuple(_at(ask_plan, reached)))
        going = [
            goes and look < most[one.experiment] for one, goes in zip(ask_plan.targets, going, strict=True)
        ]
        settled = _settled(ask_plan, [place for place, goes in enumerate(going) if goes], look, folder)
        going = [goes and place not in settled for place, goes in enumerate(going)]
        if not any(going):
            return


def _at(ask_plan: AskPlan, reached: list[int]) -> Iterator[Target]:
    """The subjects at their looks, controls at the last look of those that they stand beside."""
    last: dict[int, int] = {}
    for one, look in zip(ask_plan.targets, reached, strict=True):
        if one.control is None:
            last[one.experiment] = max(look, last.get(one.experiment, 0))
    for one, look in zip(ask_plan.targets, reached, strict=True):
        yield replace(one, look=last.get(one.experiment, 0) if one.control else look)


def _settled(ask_plan: AskPlan, places: list[int], look: int, folder: RunFolder) -> set[int]:
    """Which of the subjects at these places have only settled parts by what was answered up to a look."""
    found: set[int] = set()
    answers = StoredAnswers(folder.store)
    methods = [
        method.at_look(look) if isinstance(method, LookUser) and looks_of(method) else method
        for method in ask_plan.methods
    ]
    for index in sorted({ask_plan.targets[place].experiment for place in places}):
        mine = {
            place: ask_plan.targets[place] for place in places if ask_plan.targets[place].experiment == index
        }
        asked = [replace(one, look=look) for one in mine.values()]
        states: dict[tuple[str, str], set[str]] = {}
        for rating in rate_answers(methods, asked, ask_plan.probes, answers, seed=ask_plan.plan.seed).ratings:
            for part in rating.parts:
                states.setdefault((rating.service, source_part(part)), set()).add(part.state)
        found |= {place for place, one in mine.items() if states.get((one.service, one.part)) == {"rated"}}
    return found


def keep_looks(ask_plan: AskPlan, folder: RunFolder) -> tuple[Target, ...]:
    """The subjects as they were asked, kept in the manifest if they have looks, so that they are rated so."""
    if any(one.look for one in ask_plan.targets):
        folder.note(subjects=[one.facts() for one in ask_plan.targets])
    return ask_plan.targets


@dataclass(frozen=True, slots=True)
class SmokeTestResult:
    """What one call to a part gave; `note` is what may be wrong with it, though it answered."""

    name: str
    sent: str
    trail: tuple[str, ...]
    answer: str
    millis: float
    error: str = ""
    note: str = ""

    def text(self) -> str:
        """The call in two lines, safe to print."""
        if self.error:
            return f"{terminal(self.name)}\n  error: {short(terminal(self.error), SHOWN)}"
        way = "  →  ".join(short(repr(terminal(one)), SHOWN) for one in (self.sent, *self.trail, self.answer))
        note = f"\n  note: {self.note}" if self.note else ""
        return f"{terminal(self.name)}\n  {way}   {self.millis:.0f} ms{note}"


def smoke_test(ask_plan: AskPlan) -> list[SmokeTestResult]:
    """Ask every part the first message of its first design, once, without retry."""
    first: dict[tuple[str, str], Target] = {}
    for one in ask_plan.rated_targets:
        first.setdefault((one.title, one.fingerprint), one)
    return asyncio.run(_probe_all(list(first.values()), ask_plan))


async def _probe_all(rated: list[Target], ask_plan: AskPlan) -> list[SmokeTestResult]:
    return [await _probe(one, _first(one, ask_plan)) for one in rated]


def _first(target: Target, ask_plan: AskPlan) -> Message:
    """The first message that a part is asked; of a session its first turn, with the whole script."""
    whole = next(batches_of(ask_plan.probes, (target.experiment, target.task)))
    frame = probes_of(target, whole)
    first = frame.head(1)
    if first["session"].item():
        first = frame.join(first.select("session", "draw"), on=["session", "draw"], how="semi")
    return next(one for one in messages(first) if not one.turn)


async def _probe(target: Target, message: Message) -> SmokeTestResult:
    description = target.description
    assert description is not None
    began = time.perf_counter()
    try:
        reply = await _ask(description, message)
    except ServiceError as error:
        return SmokeTestResult(target.title, message.text, (), "", 0.0, str(error))
    millis = (time.perf_counter() - began) * 1000
    translations = (str(reply.output),) if target.one_way else reply.trail if target.translated else ()
    kept = {one.strip() for one in translations} == {message.text.strip()}
    note = UNTRANSLATED if kept else ""
    return SmokeTestResult(target.title, message.text, reply.trail, str(reply.output), millis, note=note)


async def _ask(description: ServiceSpec, message: Message) -> Reply:
    live = description.open()
    try:
        return (await live.ask([message]))[0]
    finally:
        await live.close()
