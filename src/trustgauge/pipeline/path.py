"""The one path: plan, design, ask, check, summarise, rate, label.

    plan.load_plan -> subjects -> estimate -> engine.run / service.ask -> derive -> reports

Asking is the only stage that costs anything; everything after it is derived again from the
kept answers, by `rate` at the end of a run and by `verify` at any later time.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tomli_w

from trustgauge.execution import engine
from trustgauge.execution.budget import Limits
from trustgauge.pipeline import estimate as estimates
from trustgauge.pipeline import issue, needs, referrals
from trustgauge.pipeline.derive import Derived, derive, is_deterministic
from trustgauge.pipeline.sitting import Asked, Prepared, Sitting
from trustgauge.pipeline.subjects import Subject, design, methods, subjects
from trustgauge.plan import Plan
from trustgauge.reports.html import report
from trustgauge.reports.notebook import RatingView
from trustgauge.store.folder import STORE, RunFolder, find, read_manifest
from trustgauge.store.sqlite import SqliteStore
from trustgauge.store.writer import GroupWriter


@dataclass(frozen=True, slots=True)
class Finished:
    """A run that ended, complete or not."""

    prepared: Prepared
    folder: Path
    document: dict[str, Any]
    derived: Derived
    asked: Asked

    def view(self) -> RatingView:
        """The ratings as a notebook shows them, with `evidence()` and `parts()` as data frames."""
        rows = issue.evidence(self.prepared.plan, self.prepared.subjects, self.derived)
        return RatingView(self.document, rows)


def prepare(plan: Plan, sitting: Sitting | None = None) -> Prepared:
    """Subjects and probes of a plan. Sends nothing.

    Args:
        plan: as loaded.
        sitting: where answers may be kept; a service of which nothing is pending needs no key then.

    Raises PlanError, MethodError; KeyMissingError or MissingPartError if a service is to be asked and
    cannot be asked on this machine.
    """
    found = subjects(plan)
    prepared = Prepared(plan, tuple(found), design(plan, found), referrals.referees(plan))
    needs.require(prepared, sitting)
    return prepared


def forecast(prepared: Prepared, sitting: Sitting) -> estimates.Estimate:
    """What `rate` would ask now, given what is kept. Sends nothing and writes nothing."""
    rated = [one for one in prepared.subjects if one.anchor is None]
    present = needs.kept_in(sitting)
    pending = estimates.estimate(estimates.pending(rated, prepared.probes, present))
    asked = (prepared.plan, prepared.judges, prepared.subjects, prepared.probes)
    mine = None if sitting.fresh else find(sitting.ratings, prepared.plan.hash)
    if mine is None or not (mine / STORE).exists():
        return pending.judged_by(referrals.expected(asked, referrals.no_answers, present))
    with SqliteStore(mine / STORE, read_only=True) as store:
        spent = store.cost(one.fingerprint for one in (*rated, *prepared.judges))
        pending = pending.judged_by(referrals.expected(asked, store.answers, present))
    return replace(pending, spent=replace(spent, seconds=float(read_manifest(mine).get("seconds", 0.0))))


def rate(plan: Plan, sitting: Sitting | None = None) -> Finished:
    """Ask what is not kept yet, rate everything, and write the run's folder.

    The same plan resumes its newest folder; a complete one is used again without a call.
    """
    sitting = sitting or Sitting()
    return run(prepare(plan, sitting), sitting)


def run(prepared: Prepared, sitting: Sitting) -> Finished:
    """`rate` for a plan that is prepared already."""
    plan = prepared.plan
    with RunFolder.open(sitting.ratings, plan.hash, now=sitting.now(), fresh=sitting.fresh) as folder:
        write_plan(prepared, folder)
        folder.borrow(wanted_keys(prepared))
        asked = _ask(prepared, folder, sitting)
        answers = folder.store.answers
        known = referrals.informed(methods(plan), prepared.judges, answers)
        derived = derive(known, prepared.subjects, prepared.probes, answers, seed=plan.seed)
        document = issue.document(prepared, derived, folder, asked, sitting)
        folder.write("rating.json", issue.text(document))
        folder.write("report.html", report(document, issue.evidence(plan, prepared.subjects, derived)))
        return Finished(prepared, folder.path, document, derived, asked)


def write_plan(prepared: Prepared, folder: RunFolder) -> None:
    """Keep the resolved plan and the probes, so that the run can be re-derived from its folder."""
    folder.write("plan.toml", tomli_w.dumps(prepared.plan.document()))
    facts = [one.facts() for one in prepared.subjects]
    folder.note(subjects=facts, seed=prepared.plan.seed, services=prepared.plan.identities())
    if prepared.judges:
        folder.note(judges=[one.facts() for one in prepared.judges])
    if not folder.resumed:
        for (index, task), frame in prepared.probes.items():
            folder.store.add_probes(f"{index}:{task}", frame.drop("key"))


def wanted_keys(prepared: Prepared) -> dict[str, set[tuple[str, int]]]:
    """Fingerprint -> keys of all answers that a run wants and that an earlier run may hold."""
    wanted: dict[str, set[tuple[str, int]]] = {}
    for row in estimates.pending(prepared.subjects, prepared.probes, lambda _: set()):
        if row.subject.anchor is None:  # anchors cost nothing
            keys = {(message.key, message.draw) for unit in row.units for message in unit}
            wanted.setdefault(row.subject.fingerprint, set()).update(keys)
    return wanted


def _ask(prepared: Prepared, folder: RunFolder, sitting: Sitting) -> Asked:
    """Send what is pending; every answer goes to one writer.

    A service that was declared deterministic and turns out not to be is asked every draw
    (methods 0.3). Anchors cost nothing, so no limit holds for them.
    """
    budget = prepared.plan.budget
    paid = [*(one for one in prepared.subjects if not one.anchor), *prepared.judges]
    spent = folder.store.cost(one.fingerprint for one in paid)
    lasted = float(folder.manifest().get("seconds", 0.0))  # of earlier sittings
    limits = Limits(
        budget.calls, budget.usd, budget.tokens, budget.seconds, before=replace(spent, seconds=lasted)
    )

    def watch(event: dict[str, Any]) -> None:
        folder.events.add(event)
        sitting.watch(event)

    outcomes: list[engine.Outcome] = []
    with GroupWriter(folder.store) as writer:
        engine.run(_jobs(prepared, folder, anchors=True), writer.keep)
        local = engine.Local()
        local.start(writer.keep, limits, watch)
        asking = bool(_jobs(prepared, folder, anchors=False))
        began = time.monotonic()
        try:
            outcomes += _sit(local, prepared, folder, writer)
            varying = varying_subjects(prepared, folder)
            if varying != prepared.subjects and not any(one.stopped for one in outcomes):
                outcomes += _sit(local, replace(prepared, subjects=varying), folder, writer)
            if not any(one.stopped for one in outcomes) and (jobs := _judging(prepared, folder)):
                asking = True
                outcomes.append(local.run(jobs))
        finally:
            local.stop()
            writer.flush()
            if asking:
                folder.note(seconds=lasted + time.monotonic() - began)
    refused = {part: str(error) for one in outcomes for part, error in one.refused.items()}
    stopped = next((one.stopped for one in reversed(outcomes) if one.stopped), "")
    return Asked(sum(one.calls for one in outcomes), stopped or "", refused)


def _sit(
    local: engine.Local, prepared: Prepared, folder: RunFolder, writer: GroupWriter
) -> list[engine.Outcome]:
    """One round of asking what is pending; nothing is begun, and no clock runs, where nothing is."""
    jobs = _jobs(prepared, folder, anchors=False)
    outcomes = [local.run(jobs)] if jobs else []
    writer.flush()
    return outcomes


def _jobs(prepared: Prepared, folder: RunFolder, *, anchors: bool) -> list[engine.Job]:
    mine = [one for one in prepared.subjects if bool(one.anchor) == anchors]
    rows = estimates.pending(mine, prepared.probes, folder.store.present)
    return [engine.Job(title(row.subject), row.description, row.units) for row in rows if row.units]


def _judging(prepared: Prepared, folder: RunFolder) -> list[engine.Job]:
    """What second judges are still to be asked about the answers that are kept now."""
    plan, answers = prepared.plan, folder.store.answers
    asked = referrals.prompts(plan, prepared.judges, prepared.subjects, prepared.probes, answers)
    folder.borrow(referrals.keys(asked))
    return referrals.jobs(asked, folder.store.present)


def varying_subjects(prepared: Prepared, folder: RunFolder) -> tuple[Subject, ...]:
    """The subjects, with those that gave two answers to one message marked as not deterministic."""
    return tuple(
        replace(one, deterministic=False)
        if one.deterministic and not is_deterministic(folder.store.answers(one.fingerprint))
        else one
        for one in prepared.subjects
    )


def title(subject: Subject) -> str:
    """What a part is called on screens: its key, or the service's name."""
    return f"{subject.service} {subject.part}".strip()
