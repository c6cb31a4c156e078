"""The one path: plan, design, ask, check, summarise, rate, label.

    plan.load_plan -> subjects -> estimate -> engine.run / service.ask -> derive -> reports

Asking is the only stage that costs anything; everything after it is derived again from the
kept answers, by `rate` at the end of a run and by `verify` at any later time.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
import tomli_w

from trustgauge import plugins
from trustgauge.engine import local as engine
from trustgauge.engine.budget import BudgetLimits
from trustgauge.engine.ledger import ReservationLedger
from trustgauge.engine.run_state import AnswerSink
from trustgauge.errors import Fault, PlanError, SameAnswerError
from trustgauge.methods.method import Method
from trustgauge.plan import Plan
from trustgauge.records import RESPONSE, Answer, Reason, digest
from trustgauge.reports.document import gate_level
from trustgauge.reports.html import report
from trustgauge.reports.notebook import RatingView
from trustgauge.run import estimate as estimates
from trustgauge.run import preflight, rating_document, second_judge, throughput
from trustgauge.run.answer_reuse import ReusableRuns
from trustgauge.run.constant_answers import ConstantAnswers
from trustgauge.run.cost_ledger import CostLedger, earlier_cost
from trustgauge.run.options import AskOutcome, AskPlan, RunOptions
from trustgauge.run.pending import Pending, lookup_in, pending_batches
from trustgauge.run.probe_batches import batches_of
from trustgauge.run.rate_answers import AnswersOf, RatingResults, StoredAnswers, answer_batches, rate_answers
from trustgauge.run.targets import Target, design, methods, plan_targets
from trustgauge.services.service import ServiceSpec
from trustgauge.store.factory import kind_of, open_store
from trustgauge.store.folder import RunFolder, find_run, other_runs, read_manifest
from trustgauge.store.store import Key
from trustgauge.store.worker_log import FOLDER, import_worker_logs
from trustgauge.store.writer import GroupWriter

FIRST = 40
"""Different questions after which a part that answers all of them alike is asked no more."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """A run that ended, complete or not."""

    prepared: AskPlan
    folder: Path
    document: dict[str, Any]
    derived: RatingResults
    asked: AskOutcome

    def view(self) -> RatingView:
        """The ratings as a notebook shows them, with `evidence()` and `parts()` as data frames."""
        rows = rating_document.evidence_rows(self.prepared.plan, self.prepared.subjects, self.derived)
        return RatingView(self.document, rows)


def prepare(plan: Plan, sitting: RunOptions | None = None) -> AskPlan:
    """Subjects and probes of a plan. Sends nothing.

    Args:
        plan: as loaded.
        sitting: where answers may be kept; a service of which nothing is pending needs no key then.

    Raises PlanError, MethodError; KeyMissingError or MissingPartError if a service is to be asked and
    cannot be asked on this machine.
    """
    found = plan_targets(plan)
    rows = (sitting or RunOptions()).slice_rows
    prepared = AskPlan(plan, tuple(found), design(plan, found, rows), second_judge.second_judges(plan))
    if sitting is not None:
        prepared = preflight.mark_manual_targets(prepared, sitting)
    preflight.check_requirements(prepared, sitting)
    return prepared


def forecast(prepared: AskPlan, sitting: RunOptions) -> estimates.Estimate:
    """What `rate` would ask now, given what is kept. Sends nothing and writes nothing."""
    rated = [one for one in prepared.subjects if one.control is None]
    mine = None if sitting.fresh else find_run(sitting.ratings, prepared.plan.hash)
    if mine is not None and kind_of(mine):
        with open_store(mine) as store:
            rated = [one for one in rated if not fault_of(one, prepared, StoredAnswers(store))]
    present = preflight.stored_keys(sitting, prepared)
    paces = throughput.known_paces(sitting.ratings, _asked_parts(prepared).values())
    with preflight.stored_key_lookup(sitting, prepared) as held:
        steps = pending_batches(rated, prepared.probes, held)
        pending = estimates.estimate((row for step in steps for row in step), paces)
    asked = (prepared.plan, prepared.judges, prepared.subjects, prepared.probes)
    if mine is None or not kind_of(mine):
        return pending.judged_by(
            second_judge.estimate_judging(asked, second_judge.no_answers, present, paces)
        )
    with open_store(mine) as store:
        spent = earlier_cost(prepared, store, read_manifest(mine))
        pending = pending.judged_by(
            second_judge.estimate_judging(asked, StoredAnswers(store), present, paces)
        )
    return replace(pending, spent=spent)


def _asked_parts(prepared: AskPlan) -> dict[str, ServiceSpec]:
    """Name of each part in the events of the run -> what is asked; controls left out."""
    rated = {one.title: one.description for one in prepared.subjects if one.control is None}
    judges = {second_judge.judge_title(one): one.description for one in prepared.judges}
    return {name: one for name, one in {**rated, **judges}.items() if one is not None}


def rate(plan: Plan, sitting: RunOptions | None = None) -> RunResult:
    """Ask what is not kept yet, rate everything, and write the run's folder.

    The same plan resumes its newest folder; a complete one is used again without a call.
    """
    sitting = sitting or RunOptions()
    return run(prepare(plan, sitting), sitting)


def run(prepared: AskPlan, sitting: RunOptions) -> RunResult:
    """`rate` for a plan that is prepared already. Raises PlanError for a gate that does not fit the plan."""
    check_gate(prepared.methods, sitting.fail_on)
    plan, kind = prepared.plan, prepared.plan.run.store
    with RunFolder.open(
        sitting.ratings, plan.hash, now=sitting.now(), fresh=sitting.fresh, kind=kind
    ) as folder:
        import_worker_logs(worker_log_folder(plan, folder), folder.store)
        write_plan(prepared, folder)
        copy_answers(prepared, folder)
        asked = _ask(prepared, folder, sitting)
        answers = StoredAnswers(folder.store)
        known = second_judge.with_replies(methods(plan), prepared.judges, answers)
        derived = rate_answers(known, prepared.subjects, prepared.probes, answers, seed=plan.seed)
        document = rating_document.build_document(prepared, derived, folder, asked, sitting)
        folder.write("rating.json", rating_document.text(document))
        folder.write(
            "report.html", report(document, rating_document.evidence_rows(plan, prepared.subjects, derived))
        )
        return RunResult(prepared, folder.path, document, derived, asked)


def check_gate(methods: Sequence[Method], fail_on: Sequence[str]) -> None:
    """Refuse a gate that names what no method has, or that leaves a method out without saying so.

    Args:
        methods: the experiments of a plan.
        fail_on: see `reports.document.gate_level`.

    Raises:
        PlanError: with every fault.
    """
    gated = [one for one in methods if f"{one.name}:none" not in fail_on]
    names = tuple(dict.fromkeys(one.name for one in methods))
    faults = []
    for demand in fail_on:
        target, _, level = demand.rpartition(":")
        if target and target not in names:
            faults.append(plugins.unknown("--fail-on", "method in the plan", target, names))
        elif not (target and level == "none"):
            scales = [one.scale_in_use.levels for one in gated if target in ("", one.name)]
            valid = (*dict.fromkeys(each for scale in scales for each in scale), "worst")
            if level not in valid:
                faults.append(plugins.unknown("--fail-on", "level", demand, valid))
    for one in gated if fail_on and not faults else ():
        levels = one.scale_in_use.levels
        if gate_level(fail_on, one.name, levels) is None:
            must = "a level for each method: " + ", ".join(levels)
            do = f"--fail-on {one.name}:LEVEL sets one, --fail-on {one.name}:none leaves {one.name} out"
            faults.append(
                Fault("--fail-on", f"the gate says nothing of {one.name}", must, ", ".join(fail_on), do)
            )
    if faults:
        raise PlanError(tuple(dict.fromkeys(faults)))


def write_plan(prepared: AskPlan, folder: RunFolder) -> None:
    """Keep the resolved plan and the probes, so that the run can be re-derived from its folder."""
    folder.write("plan.toml", tomli_w.dumps(prepared.plan.document()))
    facts = [one.facts() for one in prepared.subjects]
    folder.note(subjects=facts, seed=prepared.plan.seed, services=prepared.plan.identities())
    if prepared.judges:
        folder.note(judges=[one.facts() for one in prepared.judges])
    if not (_has_probes(prepared, folder) and folder.manifest().get("designed", prepared.is_small)):
        for index, task in prepared.probes:
            for frame in batches_of(prepared.probes, (index, task)):
                folder.store.add_probes(f"{index}:{task}", frame.drop("key"))
        if not prepared.is_small:
            folder.note(designed=True)  # else a run that was killed here goes on with a part of them


def _has_probes(prepared: AskPlan, folder: RunFolder) -> bool:
    """Whether every experiment has probes in the store; where a run was killed early it has none."""
    kept = (folder.store.probe_slices(f"{index}:{task}") for index, task in prepared.probes)
    return folder.resumed and all(next(iter(one), None) is not None for one in kept)


def copy_answers(prepared: AskPlan, folder: RunFolder) -> None:
    """Copy what the runs beside this one hold already, slice by slice."""
    if folder.fresh or not other_runs(folder.path.parent, folder.path):
        return
    lenders = ReusableRuns(prepared, folder.path.parent)
    rated = [one for one in prepared.subjects if one.control is None]  # controls cost nothing
    for step in pending_batches(rated, prepared.probes, folder.store.holds):
        folder.borrow(pending_keys(step), lenders.lends)


def pending_keys(rows: Iterable[Pending]) -> dict[str, set[Key]]:
    """Fingerprint -> keys of what is pending."""
    wanted: dict[str, set[Key]] = {}
    for row in rows:
        keys = ((message.key, message.draw) for unit in row.units for message in unit)
        wanted.setdefault(row.subject.fingerprint, set()).update(keys)
    return wanted


def _ask(prepared: AskPlan, folder: RunFolder, sitting: RunOptions) -> AskOutcome:
    """Send what is pending; every answer goes to one writer.

    A service that was declared deterministic and turns out not to be is asked every draw
    (methods 0.3). Control services cost nothing, so no limit holds for them.
    """
    budget = prepared.plan.budget
    spending = CostLedger(prepared, folder)
    limits = BudgetLimits(budget.calls, budget.usd, budget.tokens, budget.seconds, before=spending.before)

    stopwatch = throughput.Stopwatch(_asked_parts(prepared))

    def watch(event: dict[str, Any]) -> None:
        folder.events.add(event)
        stopwatch.feed(event)
        sitting.watch(event)

    outcomes: list[engine.EngineOutcome] = []
    with GroupWriter(folder.store) as writer:
        for jobs in _steps(prepared, folder, controls=True):
            engine.run(jobs, writer.keep)
            writer.flush()
        local = _engine(prepared, folder, writer, spending.ledger)
        local.start(ConstantAnswerGuard(writer.keep, prepared), limits, watch)
        asking = next(_steps(prepared, folder, controls=False), None) is not None
        began = time.monotonic()
        try:
            _sit(local, prepared, folder, writer, outcomes)
            varying = varying_targets(prepared, folder)
            if varying != prepared.subjects and not any(one.stopped for one in outcomes):
                _sit(local, replace(prepared, subjects=varying), folder, writer, outcomes)
            if not any(one.stopped for one in outcomes) and (jobs := _judging(prepared, folder)):
                asking = True
                outcomes.append(local.run(jobs))
        except engine.Interrupted as interrupted:
            outcomes.append(interrupted.outcome)
            raise
        except BaseException:
            asking = False  # how many calls went out is not known: the ledger stays, and counts
            raise
        finally:
            local.stop()
            writer.flush()
            if asking:
                spending.note(outcomes, time.monotonic() - began)
                if paces := stopwatch.facts():
                    folder.note(paces={**folder.manifest().get("paces", {}), **paces})
    refused = {
        part: str(error)
        for one in outcomes
        for part, error in one.refused.items()
        if not isinstance(error, SameAnswerError)  # of which its rating tells
    }
    stopped = next((one.stopped for one in reversed(outcomes) if one.stopped), "")
    return AskOutcome(sum(one.calls for one in outcomes), stopped or "", refused)


class ConstantAnswerGuard:
    """Passes answers on to where they are kept, and ends the asking of a part that answers all alike.

    Args:
        keep: where answers go.
        prepared: the plan.

    Raises SameAnswerError, from each call for that part, after the answers are passed on.
    """

    def __init__(self, keep: AnswerSink, prepared: AskPlan) -> None:
        self._keep, self._prepared = keep, prepared
        rated = [one for one in prepared.subjects if one.control is None]
        self._first: dict[str, dict[str, Answer]] = {one.fingerprint: {} for one in rated}
        self._errors: dict[str, SameAnswerError] = {}

    def __call__(self, *answers: Answer) -> None:
        self._keep(*answers)
        for answer in answers:
            if answer.fingerprint in self._errors:
                raise self._errors[answer.fingerprint]
            first = self._first.get(answer.fingerprint)
            if first is None or answer.status == "failed" or not (answer.output or "").strip():
                continue
            first[answer.text] = answer
            if next(iter(first.values())).output != answer.output:
                del self._first[answer.fingerprint]
            elif len(first) >= FIRST:
                del self._first[answer.fingerprint]
                self._judge(answer, list(first.values()))

    def _judge(self, answer: Answer, first: list[Answer]) -> None:
        """Whether all experiments that ask the part take it for a fault."""
        names = ("message", "draw", *RESPONSE)
        rows = [{name: getattr(one, name) for name in names} | {"trail": "[]"} for one in first]
        kept = pl.DataFrame(rows)
        asking = [one for one in self._prepared.subjects if one.fingerprint == answer.fingerprint]
        if all(fault_of(one, self._prepared, lambda _: kept) for one in asking):
            error = SameAnswerError(answer.fingerprint, str(answer.output), len(first))
            self._errors[answer.fingerprint] = error
            raise error


def fault_of(subject: Target, prepared: AskPlan, answers: AnswersOf) -> Reason | None:
    """Why a part is not asked any further, by its answers to the first slice of its probes."""
    rows = next(answer_batches(subject, prepared.probes, answers))
    rows = rows.filter(pl.col("output").is_not_null())
    if rows["output"].n_unique() != 1:
        return None
    method = prepared.methods[subject.experiment]
    same = ConstantAnswers(method, [])
    same.take(method.score(rows))
    return same.faults().get(subject.service, {}).get(subject.part)


def worker_log_folder(plan: Plan, folder: RunFolder) -> Path:
    """Where workers of a distributed engine append what they are answered."""
    if not plan.run.shared:
        return (folder.path / FOLDER).absolute()
    mark = digest("run", [folder.id, folder.manifest()["began"]])[:8]  # ids are unique in one place only
    return (Path(plan.run.shared) / f"{folder.id}-{mark}").absolute()


def _engine(
    prepared: AskPlan, folder: RunFolder, writer: GroupWriter, ledger: ReservationLedger
) -> engine.Engine:
    """Who asks, as the plan says."""
    options = prepared.plan.run
    logs = worker_log_folder(prepared.plan, folder)
    site = engine.EngineConfig(logs, writer.flush, options.workers, options.scheduler, ledger)
    found: engine.Engine = plugins.load("engines", options.engine, "run.engine").at(site)
    return found


def _sit(
    local: engine.Engine,
    prepared: AskPlan,
    folder: RunFolder,
    writer: GroupWriter,
    outcomes: list[engine.EngineOutcome],
) -> None:
    """One round of asking what is pending, slice by slice, until a limit is reached: adds its outcomes.

    Nothing is begun, and no clock runs, where nothing is pending. A service that refused, is down, or gives
    one answer to everything is left out of later slices.
    """
    answers = StoredAnswers(folder.store)
    rated = [one for one in prepared.subjects if one.control is None]
    refused = {one.title for one in rated if fault_of(one, prepared, answers)}
    for jobs in _steps(prepared, folder, controls=False):
        left = [job for job in jobs if job.part not in refused]
        if left:
            outcomes.append(local.run(left))
            writer.flush()
            refused |= set(outcomes[-1].refused)
            if outcomes[-1].stopped:
                break


def _steps(prepared: AskPlan, folder: RunFolder, *, controls: bool) -> Iterator[list[engine.Job]]:
    """What is pending, slice by slice; slices of which nothing is are left out."""
    mine = [one for one in prepared.subjects if bool(one.control) == controls]
    store = folder.store
    held = lookup_in(store.present) if prepared.is_small else store.holds
    for rows in pending_batches(mine, prepared.probes, held):
        jobs = [
            engine.Job(row.subject.title, row.description, row.units, row.subject.service)
            for row in rows
            if row.units
        ]
        if jobs:
            yield jobs


def _judging(prepared: AskPlan, folder: RunFolder) -> list[engine.Job]:
    """What second judges are still to be asked about the answers that are kept now."""
    plan, answers = prepared.plan, StoredAnswers(folder.store)
    asked = second_judge.prompts(plan, prepared.judges, prepared.subjects, prepared.probes, answers)
    folder.borrow(second_judge.keys(asked), ReusableRuns(prepared, folder.path.parent).lends)
    return second_judge.jobs(asked, folder.store.present)


def varying_targets(prepared: AskPlan, folder: RunFolder) -> tuple[Target, ...]:
    """The subjects, with those that gave two answers to one message marked as not deterministic."""
    answers = StoredAnswers(folder.store)
    return tuple(
        replace(one, deterministic=False)
        if one.deterministic and not answers.is_deterministic(one.fingerprint)
        else one
        for one in prepared.subjects
    )
