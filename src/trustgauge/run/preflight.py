"""What a machine must have to ask what is still to be asked: keys, libraries, programs.

A service of which nothing is pending is not opened, so it needs nothing: answers that were imported by
hand, or copied from an earlier run, are rated without its key.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from trustgauge.errors import KeyMissingError, MissingPartError, StoreError
from trustgauge.run import second_judge
from trustgauge.run.answer_reuse import ReusableRuns
from trustgauge.run.options import AskPlan, RunOptions
from trustgauge.run.pending import KeyLookup, KeysOf, lookup_in, pending_batches
from trustgauge.run.rate_answers import StoredAnswers
from trustgauge.run.targets import Target
from trustgauge.store.factory import OpenStore, kind_of, open_store
from trustgauge.store.folder import find_run
from trustgauge.store.store import Key

RequirementError = KeyMissingError | MissingPartError


def missing_requirements(found: Sequence[Target]) -> list[tuple[Target, RequirementError]]:
    """The subjects that cannot be asked on this machine, each with why. Sends nothing."""
    short: list[tuple[Target, RequirementError]] = []
    for one in found:
        try:
            for leg in one.description.stages() if one.description else ():
                leg.check_requirements()
        except (KeyMissingError, MissingPartError) as error:
            short.append((one, error))
    return short


def check_requirements(prepared: AskPlan, sitting: RunOptions | None) -> None:
    """Raise KeyMissingError or MissingPartError if something is to be asked that cannot be asked here.

    Args:
        prepared: the plan.
        sitting: tells where answers may be kept; None if everything is to be asked.
    """
    for one, error in missing_requirements(prepared.subjects):
        if sitting is None or _is_pending(one, prepared, sitting):
            raise error
    for one, error in missing_requirements(prepared.judges):
        if sitting is None or _is_to_judge(one, prepared, sitting):
            raise error


def mark_manual_targets(prepared: AskPlan, sitting: RunOptions) -> AskPlan:
    """The plan with its subjects told apart by whether people brought their answers, which are kept here."""
    lenders = ReusableRuns(prepared, sitting.ratings, fresh=sitting.fresh)
    marks: set[str] = set()
    for folder in lenders.folders:
        with contextlib.suppress(StoreError), open_store(folder) as store:
            marks |= {one.fingerprint for one in prepared.subjects if store.by_hand(one.fingerprint)}
    found = (replace(one, by_hand=one.fingerprint in marks) for one in prepared.subjects)
    return replace(prepared, subjects=tuple(found))


def stored_keys(sitting: RunOptions, prepared: AskPlan) -> KeysOf:
    """Fingerprint -> keys of the answers that any run holds which this one may copy from."""
    lenders = ReusableRuns(prepared, sitting.ratings, fresh=sitting.fresh)

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
def stored_key_lookup(sitting: RunOptions, prepared: AskPlan) -> Iterator[KeyLookup]:
    """As `kept_in`; for a plan of several slices looked up, not held in memory."""
    if prepared.is_small:
        yield lookup_in(stored_keys(sitting, prepared))
        return
    lenders = ReusableRuns(prepared, sitting.ratings, fresh=sitting.fresh)
    stores: dict[Path, OpenStore] = {}
    with contextlib.ExitStack() as opened:
        for folder in lenders.folders:
            with contextlib.suppress(StoreError):
                stores[folder] = opened.enter_context(open_store(folder))

        def held(fingerprint: str, keys: Sequence[Key]) -> Sequence[bool]:
            kept = [False] * len(keys)
            for folder, store in stores.items():
                with contextlib.suppress(StoreError):
                    if not lenders.lends(folder, fingerprint):
                        continue
                    known = store.holds(fingerprint, keys)
                    kept = [one or other for one, other in zip(kept, known, strict=True)]
            return kept

        yield held


def own_store(prepared: AskPlan, sitting: RunOptions) -> OpenStore | None:
    """The store of the run that would be resumed, to be closed; None if there is none."""
    mine = None if sitting.fresh else find_run(sitting.ratings, prepared.plan.hash)
    return open_store(mine) if mine and kind_of(mine) else None


def _is_pending(one: Target, prepared: AskPlan, sitting: RunOptions) -> bool:
    """Whether anything of a subject is to be asked; one that gave two answers to a text, in every draw."""
    own = own_store(prepared, sitting) if one.deterministic else None
    if own is not None:
        with own:
            one = replace(one, deterministic=StoredAnswers(own).is_deterministic(one.fingerprint))
    with stored_key_lookup(sitting, prepared) as held:
        steps = pending_batches([one], prepared.probes, held)
        return any(row.units for step in steps for row in step)


def _is_to_judge(judge: Target, prepared: AskPlan, sitting: RunOptions) -> bool:
    """Whether a second judge is to be asked, or may have to be."""
    asked = (prepared.plan, (judge,), prepared.subjects, prepared.probes)
    own = own_store(prepared, sitting)
    if own is None:
        told = second_judge.estimate_judging(asked, second_judge.no_answers, stored_keys(sitting, prepared))
    else:
        with own:
            told = second_judge.estimate_judging(asked, StoredAnswers(own), stored_keys(sitting, prepared))
    return any(one.calls or one.further for one in told)
