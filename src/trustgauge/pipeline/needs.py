"""What a machine must have to ask what is still to be asked: keys, libraries, programs.

A service of which nothing is pending is not opened, so it needs nothing: answers that were imported by
hand, or copied from an earlier run, are rated without its key.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace

from trustgauge.errors import KeyMissingError, MissingPartError, StoreError
from trustgauge.pipeline import referrals
from trustgauge.pipeline.derive import is_deterministic
from trustgauge.pipeline.estimate import Present, pending
from trustgauge.pipeline.sitting import Prepared, Sitting
from trustgauge.pipeline.subjects import Subject
from trustgauge.store.folder import STORE, find, neighbours
from trustgauge.store.sqlite import SqliteStore

Lacking = KeyMissingError | MissingPartError


def lacking(found: Sequence[Subject]) -> list[tuple[Subject, Lacking]]:
    """The subjects that cannot be asked on this machine, each with why. Sends nothing."""
    short: list[tuple[Subject, Lacking]] = []
    for one in found:
        try:
            for leg in one.description.legs() if one.description else ():
                leg.needs()
        except (KeyMissingError, MissingPartError) as error:
            short.append((one, error))
    return short


def require(prepared: Prepared, sitting: Sitting | None) -> None:
    """Raise KeyMissingError or MissingPartError if something is to be asked that cannot be asked here.

    Args:
        prepared: the plan.
        sitting: tells where answers may be kept; None if everything is to be asked.
    """
    for one, error in lacking(prepared.subjects):
        if sitting is None or _is_pending(one, prepared, sitting):
            raise error
    for one, error in lacking(prepared.judges):
        if sitting is None or _is_to_judge(one, prepared, sitting):
            raise error


def kept_in(sitting: Sitting) -> Present:
    """Fingerprint -> keys of the answers that any run holds which this one may copy from."""
    folders = [] if sitting.fresh else neighbours(sitting.ratings)

    def present(fingerprint: str) -> set[tuple[str, int]]:
        kept: set[tuple[str, int]] = set()
        for folder in folders:
            # A run that cannot be read is passed over, as `RunFolder.borrow` does.
            with contextlib.suppress(StoreError), SqliteStore(folder / STORE, read_only=True) as store:
                kept |= store.present(fingerprint)
        return kept

    return present


def _own(prepared: Prepared, sitting: Sitting) -> SqliteStore | None:
    """The store of the run that would be resumed, to be closed; None if there is none."""
    mine = None if sitting.fresh else find(sitting.ratings, prepared.plan.hash)
    return SqliteStore(mine / STORE, read_only=True) if mine and (mine / STORE).exists() else None


def _is_pending(one: Subject, prepared: Prepared, sitting: Sitting) -> bool:
    """Whether anything of a subject is to be asked; one that gave two answers to a text, in every draw."""
    own = _own(prepared, sitting) if one.deterministic else None
    if own is not None:
        with own:
            one = replace(one, deterministic=is_deterministic(own.answers(one.fingerprint)))
    (row,) = pending([one], prepared.probes, kept_in(sitting))
    return bool(row.units)


def _is_to_judge(judge: Subject, prepared: Prepared, sitting: Sitting) -> bool:
    """Whether a second judge is to be asked, or may have to be."""
    asked = (prepared.plan, (judge,), prepared.subjects, prepared.probes)
    own = _own(prepared, sitting)
    if own is None:
        told = referrals.expected(asked, referrals.no_answers, kept_in(sitting))
    else:
        with own:
            told = referrals.expected(asked, own.answers, kept_in(sitting))
    return any(one.calls or one.further for one in told)
