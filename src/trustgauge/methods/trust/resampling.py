"""Resampling of dialogs, shared by all issues: certainty is drawn for all of them together (trust 4.4)."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trustgauge.records import Reason
from trustgauge.stats import stream
from trustgauge.stats.comparisons import PERMUTATIONS, sequential_p

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
CHANGED = 0.01  # p below which what is rated changed during the run (methods 0.3)
ALIKE = 1e-12  # a sum of squares below which clusters do not differ
MOST_LABELS = 10_000_000  # that are permuted at once


class Resampling:
    """How often each cluster is drawn in each of `count` resamples with replacement.

    The draws depend on the seed and the names of the clusters only. Where the dialogs of a service are
    known (`among`), they are drawn once for all issues, as many as there are of each kind: two issues that
    are rated on different dialogs are resampled together all the same. Repeats of one conversation are
    drawn together, since their texts are not independent (methods 0.3).
    """

    def __init__(self, seed: int, count: int) -> None:
        self.seed, self.count = seed, count
        self._kept: dict[tuple[str, ...], Ints] = {}
        self._kind: dict[str, int] = {}
        self._kinds: list[tuple[str, ...]] = []
        self._segments: dict[str, int] = {}
        self._purpose: tuple[str, ...] = ()

    def among(
        self, dialogs: Sequence[Sequence[str]], segments: Mapping[str, int] | None = None
    ) -> Resampling:
        """The same draws for a service whose dialogs are known.

        Args:
            dialogs: names of dialogs, one list for each kind (methods 0.5 (a): stratum).
            segments: clusters -> the tenth of the run in which each was asked, 0 for others.
        """
        known = Resampling(self.seed, self.count)
        known._kept = self._kept
        known._segments = dict(segments or {})
        every = {name for kind in dialogs for name in kind}
        for place, kind in enumerate(dialogs):
            known._kinds.append(tuple(sorted({_first(name, every) for name in kind})))
            known._kind |= dict.fromkeys(kind, place)
        return known

    def units(self, clusters: Sequence[str]) -> int:
        """How many of the clusters are independent: repeats of one conversation count once."""
        return len(set(self.firsts(clusters)))

    def firsts(self, clusters: Sequence[str]) -> list[str]:
        """For each cluster the independent one that it is drawn with: itself, or that which it repeats."""
        return [_first(name, self._kind) for name in clusters]

    def in_time(self, clusters: Sequence[str], n: Floats, total: Floats) -> InTime:
        """How a ratio of sums of clusters goes with the tenths of the run (methods 0.3)."""
        segments = np.array([self._segments.get(name, 0) for name in clusters], dtype=np.int64)
        return InTime.of(segments, n, total, self.stream("segments", *clusters[:1], len(clusters)))

    def weights(self, clusters: Sequence[str]) -> Ints:
        """Times each cluster is drawn, [R, C].

        Rows sum to C unless the clusters are some of the known dialogs: then the others are drawn too.

        Args:
            clusters: distinct names, in any order; column c belongs to clusters[c].
        """
        if not clusters or not all(name in self._kind for name in clusters):
            return self._columns(tuple(sorted(clusters)), clusters)
        found = np.empty((self.count, len(clusters)), dtype=np.int64)
        kinds = np.array([self._kind[name] for name in clusters])
        for kind in np.unique(kinds):
            mine = np.flatnonzero(kinds == kind)
            wanted = [_first(clusters[place], self._kind) for place in mine.tolist()]
            found[:, mine] = self._columns(self._kinds[kind], wanted)
        return found

    def _columns(self, names: tuple[str, ...], wanted: Sequence[str]) -> Ints:
        """Columns of the draws of all `names`, which are sorted."""
        if names not in self._kept:
            rng = stream(self.seed, "dialogs", *names)
            chance = np.full(len(names), 1 / max(1, len(names)))
            drawn = rng.multinomial(len(names), chance, size=self.count).astype(np.int64)
            self._kept[names] = np.ascontiguousarray(drawn.T)  # a row a name: whole rows are copied fast
        places = {name: place for place, name in enumerate(names)}
        return self._kept[names][[places[one] for one in wanted]].T

    def with_own_numbers(self, purpose: str) -> Resampling:
        """The same draws of dialogs, with other random numbers for all else (`stream`)."""
        other = copy(self)
        other._purpose = (purpose,)
        return other

    def stream(self, *purpose: str | int) -> np.random.Generator:
        """Random numbers for another purpose, such as draws of a rate that no resample moves."""
        return stream(self.seed, *self._purpose, *purpose)


@dataclass(frozen=True, slots=True)
class InTime:
    """A ratio sum(total) / sum(n) over the tenths of a run.

    Attributes:
        effect: variance with the tenths as clusters over that with the clusters themselves, at least 1.
        p: of no change, by permuting tenths over clusters; 1 if there is one tenth only.
    """

    effect: float = 1.0
    p: float = 1.0

    @staticmethod
    def of(segments: Ints, n: Floats, total: Floats, rng: np.random.Generator) -> InTime:
        """Of clusters that were asked in `segments`, with counts `n` and sums `total`, [C] each."""
        labels, at = np.unique(segments, return_inverse=True)
        apart = total - total.sum() / n.sum() * n
        own = len(n) / max(1, len(n) - 1) * float((apart**2).sum())
        if len(labels) < 2 or own < ALIKE:
            return InTime()

        def between(places: Ints) -> Floats:
            keys = (places + len(labels) * np.arange(len(places))[:, None]).ravel()
            size = len(places) * len(labels)
            sums, counts = (np.bincount(keys, np.tile(one, len(places)), size) for one in (apart, n))
            each = sums**2 / np.maximum(counts, ALIKE)
            return np.asarray(each.reshape(len(places), -1).sum(axis=1))

        def permuted() -> Iterator[Floats]:
            done = 0
            while done < PERMUTATIONS:
                size = min(PERMUTATIONS - done, max(20, done), max(1, MOST_LABELS // len(at)))
                yield between(rng.permuted(np.tile(at, (size, 1)), axis=1))
                done += size

        found = np.bincount(at, apart)
        effect = len(labels) / (len(labels) - 1) * float((found**2).sum()) / own
        return InTime(max(1.0, effect), sequential_p(float(between(at[None, :])[0]), permuted()))

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """That the ratio changed during the run, if it did."""
        return (Reason("changed-during-the-run", {"p": self.p}),) if self.p < CHANGED else ()

    def widen(self, draws: Floats, value: float) -> Floats:
        """Draws of a share about its value, spread out by the design effect, within [0, 1]."""
        return (
            np.clip(value + math.sqrt(self.effect) * (draws - value), 0.0, 1.0) if self.effect > 1 else draws
        )


def _first(name: str, known: Collection[str]) -> str:
    """The first of the repeats of a conversation: "talk-003" of "talk-003.2", if that is known."""
    start, dot, repeat = name.rpartition(".")
    return start if dot and repeat.isdecimal() and start in known else name
