"""Stage 1 of a rating: from a plan to an `AskPlan`. Sends no requests.

`prepare` expands a plan into targets and probes and checks what this machine must have to ask what is
pending: keys, libraries, programs. A service of which nothing is pending is not opened, so it needs nothing:
answers that were imported by hand, or copied from an earlier run, are rated without its key. `forecast` says
what asking will take; `write_plan` and `copy_answers` fill a run folder before anything is asked.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import tomli_w

from trustgauge.errors import Fault, KeyMissingError, MissingPartError, PlanError, StoreError
from trustgauge.methods import Method, SecondJudgeUser
from trustgauge.plan import Plan
from trustgauge.reports.document import check_gate_levels
from trustgauge.run import cost
from trustgauge.run.ask import fault_of, parts_by_service
from trustgauge.run.cost import cost_so_far
from trustgauge.run.options import (
    AskPlan,
    KeyLookup,
    KeysOf,
    Pending,
    PendingAnswers,
    ReusableRuns,
    RunOptions,
    lookup_in,
    pending_batches,
    target_batches,
)
from trustgauge.run.probe_batches import BATCH_ROWS, batches_of
from trustgauge.run.rate import StoredAnswers
from trustgauge.run.targets import Target, design, methods, plan_targets
from trustgauge.store import Key, OpenStore, kind_of, open_store
from trustgauge.store.folder import RunFolder, find_run, other_runs


def prepare(plan: Plan, options: RunOptions | None = None, *, needs_keys: bool = True) -> AskPlan:
    """Subjects and probes of a plan. Sends nothing.

    Args:
        plan: as loaded.
        options: where answers may be kept; a service of which nothing is pending needs no key then.
        needs_keys: False for an estimate, which needs no keys; `missing_keys` names them.

    Raises PlanError, MethodError; KeyMissingError or MissingPartError if a service is to be asked and
    cannot be asked on this machine.
    """
    found = plan_targets(plan)
    rows = (options or RunOptions()).slice_rows
    ask_plan = AskPlan(plan, tuple(found), design(plan, found, rows), _judges(plan))
    if options is not None:
        ask_plan = mark_manual_targets(ask_plan, options)
        ask_plan = replace(ask_plan, pending=find_pending(ask_plan, options))
    check_requirements(ask_plan, options, needs_keys=needs_keys)
    return ask_plan


def find_pending(ask_plan: AskPlan, options: RunOptions) -> PendingAnswers | None:
    """What is to be asked of the rated targets, given what is kept; None for a plan too large to hold it.

    A larger plan has it computed by each stage, slice by slice, so that memory does not grow with it.
    """
    rated = ask_plan.rated_targets
    if not ask_plan.is_small:
        return None
    steps = target_batches(rated, ask_plan.probes)
    if sum(frame.height for step in steps for _, frame in step) > BATCH_ROWS:
        return None
    with stored_key_lookup(options, ask_plan) as stored:
        rows = tuple(row for step in pending_batches(rated, ask_plan.probes, stored) for row in step)
    return PendingAnswers(options.ratings, options.fresh, rows)


def forecast(ask_plan: AskPlan, options: RunOptions) -> cost.Estimate:
    """What `rate` would ask now, given what is kept. Sends nothing and writes nothing."""
    rated = ask_plan.rated_targets
    mine = None if options.fresh else find_run(options.ratings, ask_plan.plan.hash)
    if mine is not None and kind_of(mine):
        with open_store(mine) as store:
            rated = [one for one in rated if not fault_of(one, ask_plan, StoredAnswers(store))]
    paces = cost.known_paces(options.ratings, parts_by_service(ask_plan).values())
    found = ask_plan.pending_in(options.ratings, fresh=options.fresh)
    if found is not None:
        pending = cost.estimate((row for row in found.rows if row.target in rated), paces)
    else:
        with stored_key_lookup(options, ask_plan) as stored:
            steps = pending_batches(rated, ask_plan.probes, stored)
            pending = cost.estimate((row for step in steps for row in step), paces)
    if ask_plan.judges:
        pending = pending.judged_by(_estimate_judging(ask_plan, ask_plan.judges, options, paces))
    if mine is None or not kind_of(mine):
        return pending
    with open_store(mine) as store:
        return replace(pending, spent=cost_so_far(ask_plan, store, mine))


def _judges(plan: Plan) -> tuple[Target, ...]:
    """The second judges of a plan; most have none, and read no module about them."""
    if not any(isinstance(one, SecondJudgeUser) and one.second_judge for one in methods(plan)):
        return ()
    from trustgauge.run.second_judge import second_judges

    return second_judges(plan)


def _estimate_judging(
    ask_plan: AskPlan, judges: Sequence[Target], options: RunOptions, paces: cost.Paces
) -> list[cost.JudgeEstimate]:
    """What judges will be asked, given what the run that would be resumed and those beside it hold."""
    from trustgauge.run import second_judge

    asked = (ask_plan.plan, judges, ask_plan.targets, ask_plan.probes)
    present = stored_keys(options, ask_plan)
    own = own_store(ask_plan, options)
    if own is None:
        return second_judge.estimate_judging(asked, second_judge.no_answers, present, paces)
    with own:
        return second_judge.estimate_judging(asked, StoredAnswers(own), present, paces)


def check_gate(methods: Sequence[Method], fail_on: Sequence[str]) -> None:
    """Refuse a gate that does not fit the experiments of a plan (`reports.document.check_gate_levels`)."""
    check_gate_levels([(one.name, one.scale_in_use.words_by_level) for one in methods], fail_on)


def write_plan(ask_plan: AskPlan, folder: RunFolder) -> None:
    """Keep the resolved plan and the probes, so that the run can be re-derived from its folder."""
    folder.write("plan.toml", tomli_w.dumps(ask_plan.plan.document()))
    facts = [one.facts() for one in ask_plan.targets]
    folder.note(subjects=facts, seed=ask_plan.plan.seed, services=ask_plan.plan.identities())
    if ask_plan.judges:
        folder.note(judges=[one.facts() for one in ask_plan.judges])
    if not (_has_probes(ask_plan, folder) and folder.manifest().get("designed", ask_plan.is_small)):
        for index, task in ask_plan.probes:
            for frame in batches_of(ask_plan.probes, (index, task)):
                folder.store.add_probes(f"{index}:{task}", frame.drop("key"))
        if not ask_plan.is_small:
            folder.note(designed=True)  # else a run that was killed here goes on with a part of them


def _has_probes(ask_plan: AskPlan, folder: RunFolder) -> bool:
    """Whether every experiment has probes in the store; where a run was killed early it has none."""
    kept = (folder.store.probe_slices(f"{index}:{task}") for index, task in ask_plan.probes)
    return folder.resumed and all(next(iter(one), None) is not None for one in kept)


def copy_answers(ask_plan: AskPlan, folder: RunFolder) -> None:
    """Copy what the runs beside this one hold already, slice by slice."""
    if folder.fresh or not other_runs(folder.path.parent, folder.path):
        return
    lenders = ReusableRuns(ask_plan, folder.path.parent)
    found = ask_plan.pending_in(folder.path.parent, fresh=False)
    if found is not None:
        folder.borrow(wanted_keys(found.rows), lenders.lends)
        return
    for step in pending_batches(ask_plan.rated_targets, ask_plan.probes, folder.store.holds):
        folder.borrow(wanted_keys(step), lenders.lends)


def wanted_keys(rows: Iterable[Pending]) -> dict[str, set[Key]]:
    """Fingerprint -> keys of what is pending, and of what some run holds."""
    wanted: dict[str, set[Key]] = {}
    for row in rows:
        keys = ((message.key, message.draw) for unit in row.units for message in unit)
        wanted.setdefault(row.target.fingerprint, set()).update(keys, row.kept_keys)
    return wanted


RequirementError = KeyMissingError | MissingPartError | PlanError


def missing_requirements(found: Sequence[Target]) -> Iterator[tuple[Target, RequirementError]]:
    """What the subjects lack to be asked on this machine, service by service. Sends nothing."""
    for one in found:
        for leg in one.description.stages() if one.description else ():
            try:
                leg.check_requirements()
            except (KeyMissingError, MissingPartError, PlanError) as error:
                yield one, error


def pending_requirements(
    ask_plan: AskPlan, options: RunOptions | None
) -> Iterator[tuple[Target, RequirementError]]:
    """What is missing to ask what is pending, each once: keys, libraries, programs; and faults of services.

    Args:
        ask_plan: the plan.
        options: tells where answers may be kept; None if everything is to be asked.
    """
    seen: set[tuple[str, str]] = set()
    for subjects, is_pending in ((ask_plan.targets, _is_pending), (ask_plan.judges, _is_to_judge)):
        for one, error in missing_requirements(subjects):
            is_fault = isinstance(error, PlanError)
            mark = (one.service if is_fault else "", str(error))
            if mark not in seen and (is_fault or options is None or is_pending(one, ask_plan, options)):
                seen.add(mark)
                yield one, error


def check_requirements(ask_plan: AskPlan, options: RunOptions | None, *, needs_keys: bool = True) -> None:
    """Raise one error of all that stands against asking what is pending.

    Raises:
        PlanError: a service cannot be asked as the plan describes it, or not with a limit of 0 dollars.
        KeyMissingError, MissingPartError: something is missing on this machine.
    """
    found = [
        (one, error)
        for one, error in pending_requirements(ask_plan, options)
        if needs_keys or not isinstance(error, KeyMissingError)
    ]
    if needs_keys and ask_plan.plan.budget.usd == 0:
        found += _costing(ask_plan, options)
    faults = tuple(fault for one, error in found for fault in _faults_of_service(one.service, error))
    missing = [error for _, error in found if not isinstance(error, PlanError)]
    if len(missing) < len(found):
        raise PlanError(faults)
    if len(missing) == 1:
        raise missing[0]
    if missing:
        do = "; ".join(dict.fromkeys(one.do for one in faults if one.do))
        error = type(missing[0])("; ".join(one.what for one in faults), do=do)
        error.faults = faults
        raise error


def _costing(ask_plan: AskPlan, options: RunOptions | None) -> Iterator[tuple[Target, PlanError]]:
    """A fault for each service that is to be asked though it may cost money, where nothing may be spent."""
    seen: set[str] = set()
    for subjects, is_pending in ((ask_plan.targets, _is_pending), (ask_plan.judges, _is_to_judge)):
        for one in subjects:
            costs = any(map(cost.may_cost, one.description.stages())) if one.description else False
            if costs and one.service not in seen and (not options or is_pending(one, ask_plan, options)):
                seen.add(one.service)
                what = "asking it may cost money, and nothing may be spent"
                must, got = "a limit above 0, or a service without a price", "a limit of 0 US dollars"
                do = "Raise --limit-usd or `budget.usd`, or leave the service out"
                yield one, PlanError.of("", what, must, got, do)


def _faults_of_service(name: str, error: RequirementError) -> Iterator[Fault]:
    """What is wrong with a service, with its name as the place."""
    place = f"services.{name}"
    for one in error.faults:
        yield replace(one, place=f"{place}.{one.place}".rstrip("."))
    if not error.faults:
        yield Fault(place, error.what, error.must, error.got, error.do)


def missing_keys(ask_plan: AskPlan, options: RunOptions) -> list[KeyMissingError]:
    """The keys that must be set before what is pending can be asked, each once."""
    found = pending_requirements(ask_plan, options)
    return [error for _, error in found if isinstance(error, KeyMissingError)]


def mark_manual_targets(ask_plan: AskPlan, options: RunOptions) -> AskPlan:
    """The plan with its subjects separated by whether people brought their answers, which are kept here."""
    lenders = ReusableRuns(ask_plan, options.ratings, fresh=options.fresh)
    marks: set[str] = set()
    for folder in lenders.folders:
        with contextlib.suppress(StoreError), open_store(folder) as store:
            marks |= {one.fingerprint for one in ask_plan.targets if store.by_hand(one.fingerprint)}
    found = (replace(one, by_hand=one.fingerprint in marks) for one in ask_plan.targets)
    return replace(ask_plan, targets=tuple(found))


def stored_keys(options: RunOptions, ask_plan: AskPlan) -> KeysOf:
    """Fingerprint -> keys of the answers that any run holds which this one may copy from."""
    lenders = ReusableRuns(ask_plan, options.ratings, fresh=options.fresh)

    def present(fingerprint: str) -> set[tuple[str, int]]:
        kept: set[tuple[str, int]] = set()
        for folder in lenders.folders:
            # A run that cannot be read is passed over, as `RunFolder.borrow` does.
            with contextlib.suppress(StoreError):
                if lenders.lends(folder, fingerprint):
                    with open_store(folder) as store:
                        kept |= store.present(fingerprint)
        return kept

    return present


@contextlib.contextmanager
def stored_key_lookup(options: RunOptions, ask_plan: AskPlan) -> Iterator[KeyLookup]:
    """As `kept_in`; for a plan of several slices looked up, not held in memory."""
    if ask_plan.is_small:
        yield lookup_in(stored_keys(options, ask_plan))
        return
    lenders = ReusableRuns(ask_plan, options.ratings, fresh=options.fresh)
    stores: dict[Path, OpenStore] = {}
    with contextlib.ExitStack() as opened:
        for folder in lenders.folders:
            with contextlib.suppress(StoreError):
                stores[folder] = opened.enter_context(open_store(folder))

        def are_stored(fingerprint: str, keys: Sequence[Key]) -> Sequence[bool]:
            kept = [False] * len(keys)
            for folder, store in stores.items():
                with contextlib.suppress(StoreError):
                    if not lenders.lends(folder, fingerprint):
                        continue
                    known = store.holds(fingerprint, keys)
                    kept = [one or other for one, other in zip(kept, known, strict=True)]
            return kept

        yield are_stored


def own_store(ask_plan: AskPlan, options: RunOptions) -> OpenStore | None:
    """The store of the run that would be resumed, to be closed; None if there is none."""
    mine = None if options.fresh else find_run(options.ratings, ask_plan.plan.hash)
    return open_store(mine) if mine and kind_of(mine) else None


def _is_pending(one: Target, ask_plan: AskPlan, options: RunOptions) -> bool:
    """Whether anything of a subject is to be asked; one that gave two answers to a text, in every draw."""
    own = own_store(ask_plan, options) if one.deterministic else None
    varies = False
    if own is not None:
        with own:
            varies = not StoredAnswers(own).is_deterministic(one.fingerprint)
    found = ask_plan.pending_in(options.ratings, fresh=options.fresh)
    if found is not None and one.control is None and not varies:
        return any(row.units for row in found.rows if row.target.fingerprint == one.fingerprint)
    one = replace(one, deterministic=one.deterministic and not varies)
    with stored_key_lookup(options, ask_plan) as stored:
        steps = pending_batches([one], ask_plan.probes, stored)
        return any(row.units for step in steps for row in step)


def _is_to_judge(judge: Target, ask_plan: AskPlan, options: RunOptions) -> bool:
    """Whether a second judge is to be asked, or may have to be."""
    return any(one.calls or one.further for one in _estimate_judging(ask_plan, (judge,), options, {}))
