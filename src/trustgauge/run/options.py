"""Run options, the prepared run, what of it is pending, and the outcome of asking."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from trustgauge.errors import StoreError
from trustgauge.methods import Method
from trustgauge.plan import Plan
from trustgauge.records import Message, ServiceFailure
from trustgauge.run.probe_batches import BATCH_ROWS, ExperimentTask, Probes, batches_of, is_one_batch
from trustgauge.run.rate import is_deterministic
from trustgauge.run.targets import Target, methods, probes_to_send, repeat_units, units
from trustgauge.services import ServiceSpec
from trustgauge.store import Key, KeySet, open_store
from trustgauge.store.folder import find_run, other_runs, read_manifest

Watch = Callable[[dict[str, Any]], None]


def _now() -> datetime:
    return datetime.now(UTC)


def _ignore(event: dict[str, Any]) -> None:
    """Nobody watches."""


def _unseen(text: str) -> None:
    """Nobody is told what is computed."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How to run a plan: none of it changes a rating.

    `fail_on`: levels from which the gate of a rating fails (`reports.document.gate_level`);
    `need_certainty`: the least that a gate passes or fails at.
    `slice_rows`: probes that are designed, asked and checked together.
    `lock`: what `trustgauge lock` recorded of the plan.
    `show`: is told in words what is computed after asking.
    """

    ratings: Path = Path("ratings")
    fresh: bool = False
    watch: Watch = _ignore
    now: Callable[[], datetime] = _now
    fail_on: tuple[str, ...] = ()
    need_certainty: float | None = None
    slice_rows: int = BATCH_ROWS
    lock: Mapping[str, str] | None = None
    show: Callable[[str], None] = _unseen


@dataclass(frozen=True, slots=True)
class AskPlan:
    """A plan taken apart: who is asked what, and what of it is pending."""

    plan: Plan
    targets: tuple[Target, ...]
    probes: Probes
    judges: tuple[Target, ...] = ()  # second judges, of experiments that have one
    pending: PendingAnswers | None = None  # as `prepare` found it; None if it is too much to hold

    @property
    def is_small(self) -> bool:
        """Whether each experiment has one slice only."""
        return all(is_one_batch(self.probes, place) for place in self.probes)

    @property
    def rated_targets(self) -> list[Target]:
        """The targets but for control services, which cost nothing."""
        return [one for one in self.targets if one.control is None]

    @property
    def methods(self) -> list[Method]:
        """The experiments of the plan, in order."""
        return methods(self.plan)

    def pending_in(self, ratings: Path, *, fresh: bool) -> PendingAnswers | None:
        """What is pending, if it was found for a run in this folder of runs."""
        found = self.pending
        return found if found and (found.ratings, found.fresh) == (ratings, fresh) else None


@dataclass(frozen=True, slots=True)
class AskOutcome:
    """What asking came to. `refused`: part -> why its service was not asked any further.

    `failures`: the same parts -> how calls to them failed.
    """

    calls: int
    stopped: str
    refused: Mapping[str, str]
    targets: tuple[Target, ...] = ()  # with the looks at which asking stopped, where there are any
    failures: Mapping[str, ServiceFailure] = field(default_factory=dict)


Unit = tuple[Message, ...]
KeysOf = Callable[[str], set[Key]]
"""Fingerprint -> the (message key, draw) that are kept and need not be asked again."""

KeyLookup = Callable[[str, Sequence[Key]], Sequence[bool]]
"""Fingerprint and keys -> which of them are kept and need not be asked again."""


@dataclass(frozen=True, slots=True)
class Pending:
    """What is still to be asked of one subject, of a slice or of all."""

    target: Target
    units: tuple[Unit, ...]
    planned: int  # messages wanted
    kept: int  # of them, messages that need not be asked
    kept_keys: tuple[Key, ...] = field(default=(), repr=False)
    shared: int = 0  # of `kept`, messages that the run asks already, for another experiment

    @property
    def description(self) -> ServiceSpec:
        if self.target.description is None:
            raise ValueError("a subject read from a manifest cannot be asked")
        return self.target.description

    def without(self, stored: KeyLookup) -> Pending | None:
        """What of it is pending now, or None if an answer that it counts as kept is not kept after all."""
        mark = self.target.fingerprint
        if not all(stored(mark, self.kept_keys)):
            return None
        keys = [(one.key, one.draw) for unit in self.units for one in unit]
        known = {key for key, is_kept in zip(keys, stored(mark, keys), strict=True) if is_kept}
        left = tuple(unit for unit in self.units if not all((one.key, one.draw) in known for one in unit))
        return replace(self, units=left, kept=self.planned - sum(map(len, left)))


@dataclass(frozen=True, slots=True)
class PendingAnswers:
    """What is to be asked of the rated targets of a plan, computed once for all stages before asking.

    It counts as kept what the run's own folder and the runs that it may copy from hold (`ReusableRuns`).
    """

    ratings: Path
    fresh: bool
    rows: tuple[Pending, ...]

    def remaining(self, found: Sequence[Target], stored: KeyLookup) -> list[Pending] | None:
        """What of it is pending now that more is kept; None if it does not tell.

        Args:
            found: the rated targets; it does not tell of others than it was computed for.
            stored: what is kept now.
        """
        if [row.target for row in self.rows] != list(found):
            return None
        rows = [row.without(stored) for row in self.rows]
        known = [row for row in rows if row is not None]
        return known if len(known) == len(rows) else None


def lookup_in(present: KeysOf) -> KeyLookup:
    """What is kept, as sets of keys; each is got once."""
    sets: dict[str, set[Key]] = {}

    def stored(fingerprint: str, keys: Sequence[Key]) -> Sequence[bool]:
        if fingerprint not in sets:
            sets[fingerprint] = present(fingerprint)
        kept = sets[fingerprint]
        return [key in kept for key in keys]

    return stored


def target_batches(found: Sequence[Target], probes: Probes) -> Iterator[list[tuple[Target, pl.DataFrame]]]:
    """The subjects, each with the next slice of its probes, until there is none left."""
    places: dict[ExperimentTask, Iterator[pl.DataFrame]] = {
        place: batches_of(probes, place)
        for place in dict.fromkeys((one.experiment, one.task) for one in found)
    }
    while places:
        frames = {place: frame for place, rest in places.items() if (frame := next(rest, None)) is not None}
        places = {place: places[place] for place in frames}
        if frames:
            yield [
                (one, frames[one.experiment, one.task])
                for one in found
                if (one.experiment, one.task) in frames
            ]


def pending_batches(found: Sequence[Target], probes: Probes, stored: KeyLookup) -> Iterator[list[Pending]]:
    """Wanted minus kept: for each slice, what of it is still to be asked of each subject.

    A key that two subjects want is asked once. What was asked of earlier slices need not be kept yet.
    """
    askers = Counter(one.fingerprint for one in found)
    asking = [_Asking(one, others=askers[one.fingerprint] > 1) for one in found]
    claimed: dict[str, KeySet] = {}
    numbers = {id(one): number for number, one in enumerate(found)}
    for step in target_batches(found, probes):
        rows = []
        for target, frame in step:
            mine = asking[numbers[id(target)]]
            carried = claimed.setdefault(target.fingerprint, KeySet())
            rows.append(mine.pending(frame, stored, carried))
        yield rows


class _Asking:
    """What a subject wanted so far, as far as later slices need to know."""

    def __init__(self, target: Target, *, others: bool) -> None:
        self.target, self._others = target, others
        self._wanted = KeySet()  # of a deterministic service, which is asked each message once
        self._twice = 0  # messages of it that are asked a second time

    def pending(self, frame: pl.DataFrame, stored: KeyLookup, claimed: KeySet) -> Pending:
        """What is to be asked of a slice. `claimed`: keys that this run asks of the service already."""
        wanted = self._units(probes_to_send(self.target, frame))
        keys = [[(message.key, message.draw) for message in unit] for unit in wanted]
        flat = [key for unit in keys for key in unit]
        kept = stored(self.target.fingerprint, flat)
        answered = {key for key, known in zip(flat, kept, strict=True) if known}
        taken = answered | {key for key, known in zip(flat, claimed.holds(flat), strict=True) if known}
        asked, mine, shared = [], [], 0
        for unit, of_unit in zip(wanted, keys, strict=True):
            if taken.issuperset(of_unit):
                shared += sum(key not in answered for key in of_unit)
            else:
                asked.append(unit)
                taken.update(of_unit)
                mine += of_unit
        if self._others or any(unit[0].session for unit in asked):
            claimed.add(mine)  # else no two messages have one key
        planned = len(flat)
        before = tuple(key for key, known in zip(flat, kept, strict=True) if known)
        return Pending(self.target, tuple(asked), planned, planned - len(mine), before, shared)

    def _units(self, frame: pl.DataFrame) -> list[Unit]:
        shared = self.target.deterministic
        found = units(frame, shared=shared)
        if not shared:
            return found
        keys = [(unit[0].key, unit[0].draw) for unit in found]
        new = [unit for unit, known in zip(found, self._wanted.holds(keys), strict=True) if not known]
        self._wanted.add(keys)
        again = repeat_units(new, self._twice)
        self._twice += sum(map(len, again))
        return [*new, *again]


class ReusableRuns:
    """The run folders that hold answers which a run may use, its own included, newest first.

    Args:
        ask_plan: the plan of the run, and whom it asks.
        ratings: folder of all runs.
        fresh: whether the run starts over, without any answer.
    """

    def __init__(self, ask_plan: AskPlan, ratings: Path, *, fresh: bool = False) -> None:
        own = None if fresh else find_run(ratings, ask_plan.plan.hash)
        alone = own is not None and bool(read_manifest(own).get("fresh"))
        self.folders = [] if fresh else [own] if own and alone else other_runs(ratings)
        self._own, self._seed = own, ask_plan.plan.seed
        asked = (*ask_plan.targets, *ask_plan.judges)
        self._shared = {one.fingerprint for one in asked if one.deterministic}
        self._verified: dict[tuple[Path, str], bool] = {}

    def lends(self, folder: Path, fingerprint: str) -> bool:
        """Whether the answers of a service may be taken from a run.

        Not where it changed during that run: the order of another plan would mix its answers unseen.
        """
        if folder == self._own:
            return True
        manifest = read_manifest(folder)
        if fingerprint in manifest.get("changed", ()):
            return False
        if manifest.get("seed") == self._seed:
            return True
        if fingerprint not in self._shared:
            return False
        key = (folder, fingerprint)
        if key not in self._verified:
            self._verified[key] = _is_verified(folder, fingerprint)
        return self._verified[key]


def _is_verified(folder: Path, fingerprint: str) -> bool:
    """Whether a run asked some messages of a service twice and always got the same answer."""
    with contextlib.suppress(StoreError), open_store(folder) as store:
        repeats = list(store.repeats(fingerprint))
        return bool(repeats) and all(map(is_deterministic, repeats))
    return False
