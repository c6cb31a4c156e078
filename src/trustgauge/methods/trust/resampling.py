"""Resampling of dialogs, shared by all issues: certainty is drawn for all of them together (methods 4.4)."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from trustgauge.stats.streams import stream

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Resampling:
    """How often each cluster is drawn in each of `count` resamples with replacement.

    The draws hang on the seed and the names of the clusters only. Where the dialogs of a service are
    known (`among`), they are drawn once for all issues, as many as there are of each kind: two issues that
    can be told of different dialogs are resampled together all the same. Repeats of one conversation are
    drawn together, since their texts are not independent (methods 0.3).
    """

    def __init__(self, seed: int, count: int) -> None:
        self.seed, self.count = seed, count
        self._kept: dict[tuple[str, ...], Ints] = {}
        self._kind: dict[str, int] = {}
        self._kinds: list[tuple[str, ...]] = []

    def among(self, dialogs: Sequence[Sequence[str]]) -> Resampling:
        """The same draws for a service whose dialogs are known.

        Args:
            dialogs: names of dialogs, one list for each kind (methods 0.5 (a): stratum).
        """
        known = Resampling(self.seed, self.count)
        known._kept = self._kept
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
            self._kept[names] = rng.multinomial(len(names), chance, size=self.count).astype(np.int64)
        places = {name: place for place, name in enumerate(names)}
        return self._kept[names][:, [places[one] for one in wanted]]

    def stream(self, *purpose: str | int) -> np.random.Generator:
        """Random numbers for another purpose, such as draws of a rate that no resample moves."""
        return stream(self.seed, *purpose)


def _first(name: str, known: Collection[str]) -> str:
    """The first of the repeats of a conversation: "talk-003" of "talk-003.2", if that is known."""
    start, dot, repeat = name.rpartition(".")
    return start if dot and repeat.isdecimal() and start in known else name
