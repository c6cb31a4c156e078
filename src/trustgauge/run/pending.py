"""What is still to be asked: wanted minus kept, slice by slice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from trustgauge.records import Message
from trustgauge.run.probe_batches import ExperimentTask, Probes, batches_of
from trustgauge.run.targets import Target, probes_to_send, repeat_units, units
from trustgauge.services.service import ServiceSpec
from trustgauge.store.keys import KeySet
from trustgauge.store.store import Key

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
    kept: int  # of them, messages answered before

    @property
    def description(self) -> ServiceSpec:
        if self.target.description is None:
            raise ValueError("a subject read from a manifest cannot be asked")
        return self.target.description


def no_stored_keys(_: str, keys: Sequence[Key]) -> Sequence[bool]:
    """Nothing is kept yet."""
    return [False] * len(keys)


def lookup_in(present: KeysOf) -> KeyLookup:
    """What is kept, told by sets of keys; each is got once."""
    sets: dict[str, set[Key]] = {}

    def held(fingerprint: str, keys: Sequence[Key]) -> Sequence[bool]:
        if fingerprint not in sets:
            sets[fingerprint] = present(fingerprint)
        kept = sets[fingerprint]
        return [key in kept for key in keys]

    return held


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


def pending_batches(found: Sequence[Target], probes: Probes, held: KeyLookup) -> Iterator[list[Pending]]:
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
            rows.append(mine.pending(frame, held, carried))
        yield rows


class _Asking:
    """What a subject wanted so far, as far as later slices need to know."""

    def __init__(self, target: Target, *, others: bool) -> None:
        self.target, self._others = target, others
        self._wanted = KeySet()  # of a deterministic service, which is asked each message once
        self._twice = 0  # messages of it that are asked a second time

    def pending(self, frame: pl.DataFrame, held: KeyLookup, claimed: KeySet) -> Pending:
        """What is to be asked of a slice. `claimed`: keys that this run asks of the service already."""
        wanted = self._units(probes_to_send(self.target, frame))
        keys = [[(message.key, message.draw) for message in unit] for unit in wanted]
        flat = [key for unit in keys for key in unit]
        kept = held(self.target.fingerprint, flat)
        taken = {key for key, known in zip(flat, kept, strict=True) if known}
        taken |= {key for key, known in zip(flat, claimed.holds(flat), strict=True) if known}
        asked, mine = [], []
        for unit, of_unit in zip(wanted, keys, strict=True):
            if not taken.issuperset(of_unit):
                asked.append(unit)
                taken.update(of_unit)
                mine += of_unit
        if self._others or any(unit[0].session for unit in asked):
            claimed.add(mine)  # else no two messages have one key
        planned = len(flat)
        return Pending(self.target, tuple(asked), planned, planned - len(mine))

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
