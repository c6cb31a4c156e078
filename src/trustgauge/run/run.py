"""A rating from its plan to its report: prepare, ask, rate, render.

    plan.load_plan -> prepare.prepare -> ask.ask (engine, service) -> rate.rate_answers -> render.render

Asking is the only stage that costs anything; everything after it is derived again from the stored answers, by
`rate` at the end of a run and by `verify` at any later time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from trustgauge.errors import TrustgaugeError
from trustgauge.plan import Plan
from trustgauge.records import Rating, Reason
from trustgauge.run import render
from trustgauge.run.ask import ask, worker_log_folder
from trustgauge.run.options import AskOutcome, AskPlan, RunOptions
from trustgauge.run.prepare import check_gate, copy_answers, prepare, write_plan
from trustgauge.run.rate import RatingResults, StoredAnswers, rate_answers, source_part
from trustgauge.run.targets import Target
from trustgauge.store.folder import RunFolder

if TYPE_CHECKING:
    from trustgauge.reports.document_model import RunDocument
    from trustgauge.reports.notebook import RatingView


@dataclass(frozen=True, slots=True)
class RunResult:
    """A run that ended, complete or not."""

    ask_plan: AskPlan
    folder: Path
    document: RunDocument
    derived: RatingResults
    asked: AskOutcome

    def view(self) -> RatingView:
        """The ratings as a notebook shows them, with `evidence()` and `parts()` as data frames."""
        from trustgauge.reports.notebook import RatingView

        rows = render.evidence_rows(self.ask_plan.plan, self.ask_plan.targets, self.derived)
        return RatingView(self.document, rows)


def rate(plan: Plan, options: RunOptions | None = None) -> RunResult:
    """Ask what is not kept yet, rate everything, and write the run's folder.

    The same plan resumes its newest folder; a complete one is used again without a call.
    """
    options = options or RunOptions()
    return run(prepare(plan, options), options)


def run(ask_plan: AskPlan, options: RunOptions) -> RunResult:
    """`rate` for a plan that is prepared already. Raises PlanError for a gate that does not fit the plan."""
    check_gate(ask_plan.methods, options.fail_on)
    plan, kind = ask_plan.plan, ask_plan.plan.run.store
    with RunFolder.open(
        options.ratings, plan.hash, now=options.now(), fresh=options.fresh, kind=kind
    ) as folder:
        logs = worker_log_folder(plan, folder)
        if logs.is_dir():  # only a distributed engine leaves any
            from trustgauge.store.worker_log import import_worker_logs

            import_worker_logs(logs, folder.store)
        write_plan(ask_plan, folder)
        if options.lock:
            folder.note(lock=dict(options.lock))
        copy_answers(ask_plan, folder)
        try:
            return _ask_and_rate(ask_plan, folder, options)
        except TrustgaugeError as error:
            error.sent = True
            raise


def _ask_and_rate(ask_plan: AskPlan, folder: RunFolder, options: RunOptions) -> RunResult:
    asked = ask(ask_plan, folder, options)
    if any(one.look for one in asked.targets):
        ask_plan = replace(ask_plan, targets=asked.targets)
    answers = StoredAnswers(folder.store)
    known = ask_plan.methods
    if ask_plan.judges:
        from trustgauge.run.second_judge import with_replies

        known = with_replies(known, ask_plan.judges, answers)
    if (folder.path / "audit.jsonl").exists():
        from trustgauge.run.audit import with_labels

        known = with_labels(known, folder.path)
    options.show("Rating the answers")
    derived = rate_answers(known, ask_plan.targets, ask_plan.probes, answers, seed=ask_plan.plan.seed)
    if (changed := _changed(derived.ratings, ask_plan.targets)) or "changed" in folder.manifest():
        folder.note(changed=changed)
    options.show("Writing the report")
    document = render.render(ask_plan, derived, folder, asked, options)
    return RunResult(ask_plan, folder.path, document, derived, asked)


def _changed(ratings: Iterable[Rating], targets: Sequence[Target]) -> list[str]:
    """Fingerprints of what changed during the run, of which other runs take no answers (methods 0.3)."""
    changed = set()
    for rating in ratings:
        parts = {source_part(one) for one in rating.parts if _says_changed(one.reasons)}
        if not parts and not _says_changed(rating.reasons):
            continue
        own = [one for one in targets if one.service == rating.service]
        # parts of some methods are issues and no parts of the service
        changed |= {one.fingerprint for one in own if one.part in parts} or {one.fingerprint for one in own}
    return sorted(changed)


def _says_changed(reasons: Iterable[Reason]) -> bool:
    return any(one.code == "changed-during-the-run" for one in reasons)
