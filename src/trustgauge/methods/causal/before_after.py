"""Before and after a round trip: the same probes, the same rule, one paired test (causal 2.10)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from trustgauge.methods.causal import deconfounding, rejection
from trustgauge.methods.causal.panel import Floats, Grouping, Panel
from trustgauge.methods.causal.settings import CausalSettings, Measurand
from trustgauge.records import Json
from trustgauge.stats.comparisons import EXACT_UP_TO, exact_p, permutation_p
from trustgauge.stats.means import Sums

WIDTH = 2.0  # of the range of scores
VALENCES = 2

Measure = Callable[[Sums], Floats]


def same_probes(before: Panel, after: Panel) -> bool:
    """Whether two panels were asked the same texts: the condition of every comparison here."""
    axes = ("sets", "frames", "persons", "words")
    return all(getattr(before, axis) == getattr(after, axis) for axis in axes)


def same_scores(before: Panel, after: Panel) -> bool:
    """Whether all scores are the same: then the texts were not round-tripped (causal 2.4)."""
    return bool(np.array_equal(before.y, after.y) and np.array_equal(before.n, after.n))


@dataclass(frozen=True, slots=True)
class Pair:
    """Two panels of the same probes, before and after.

    Only cells that both scored are compared.
    """

    before: Panel
    after: Panel
    grouping: Grouping

    def compare(
        self, measured: Measurand, settings: CausalSettings, rng: np.random.Generator
    ) -> list[dict[str, Json]]:
        """Change of every measure of a part, with a paired test.

        The test swaps before and after within clusters (frames, conversations); two-sided p, exact
        where there are at most 20,000 ways to swap (methods 0.7).

        Returns:
            One row a measure: `measure`, `before_value`, `after_value`, `change`, `percent` of
            before (None where that was 0), `p`, and `maximum` of a weighted rejection score.
        """
        by_valence = measured.measure == "deconfounding"
        first, second = (self._sums(one, by_valence=by_valence) for one in (self.before, self.after))
        swaps, exact = self._swaps(settings.permutations, rng)
        none = np.zeros((1, len(self.before.frames)))
        rows = []
        for name, measure, maximum in _measures(self.grouping, measured, settings, len(self.before.sets)):
            was, now = (float(measure(_mixed(one, one, none))[0]) for one in (first, second))
            drawn = measure(_mixed(second, first, swaps)) - measure(_mixed(first, second, swaps))
            defined = not np.isnan(was) and not np.isnan(now)
            change = now - was if defined else None
            rows.append(
                {
                    "measure": name,
                    "before_value": was if defined else None,
                    "after_value": now if defined else None,
                    "change": change,
                    "percent": 100.0 * (now - was) / was if defined and was else None,
                    "p": _p(abs(now - was), np.abs(drawn[~np.isnan(drawn)]), exact=exact)
                    if defined
                    else None,
                    "maximum": maximum,
                }
            )
        return rows

    def _sums(self, panel: Panel, *, by_valence: bool) -> Sums:
        """Sums by frame: [F, S, G], or [F, S, G, 2] by valence."""
        both = (self.before.n > 0) & (self.after.n > 0)
        members = self.grouping.members
        words = (
            (panel.valence[:, None] == np.arange(VALENCES)).astype(np.float64)
            if by_valence
            else np.ones((len(panel.words), 1))
        )
        found = [
            np.einsum("sfpw,pg,wx->fsgx", np.where(both, cells, 0.0), members, words, optimize=True)
            for cells in (panel.n, panel.y, panel.yy)
        ]
        return Sums(*(cells if by_valence else cells[..., 0] for cells in found))

    def _swaps(self, draws: int, rng: np.random.Generator) -> tuple[Floats, bool]:
        """Which frames are swapped in each draw, [draws, F], and whether these are all ways to swap.

        Frames of a cluster are swapped together.
        """
        clusters = len(self.before.stratum)
        exact = 2**clusters <= EXACT_UP_TO
        coins: NDArray[np.int64] = (
            (np.arange(2**clusters)[:, None] >> np.arange(clusters)) & 1
            if exact
            else rng.integers(0, 2, size=(draws, clusters))
        )
        return np.asarray(coins[:, self.before.cluster], dtype=np.float64), exact


def _p(observed: float, drawn: Floats, *, exact: bool) -> float:
    return exact_p(observed, drawn, np.ones_like(drawn)) if exact else permutation_p(observed, drawn)


def _mixed(own: Sums, other: Sums, swap: Floats) -> Sums:
    """Sums over frames, those with `swap` = 1 from `other`: [R, S, G] or [R, S, G, 2]."""

    def mix(mine: Floats, others: Floats) -> Floats:
        flat = (others - mine).reshape(len(mine), -1)
        summed = mine.sum(axis=0).reshape(-1) + swap @ flat
        return np.asarray(summed.reshape(len(swap), *mine.shape[1:]))

    return Sums(mix(own.n, other.n), mix(own.y, other.y), mix(own.yy, other.yy))


def _measures(
    grouping: Grouping, measured: Measurand, settings: CausalSettings, sets: int
) -> list[tuple[str, Measure, float | None]]:
    """The measures of a part as functions of sums, and what each can be at most."""
    if measured.measure == "deconfounding":

        def delta(sums: Sums) -> Floats:
            impact = np.abs(deconfounding.impact_of_sums(sums.n, sums.y, settings.positivity).delta)
            return np.asarray(impact.max(axis=(-1, -2)) / WIDTH)

        return [("delta", delta, None)]
    pairs = list(combinations(range(len(grouping.classes)), 2))

    def effect(sums: Sums) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            means = sums.y / sums.n
        apart = np.stack([np.abs(means[..., a] - means[..., b]) for a, b in pairs], axis=-1)
        return np.asarray(apart.max(axis=(-1, -2)) / WIDTH)

    def score(sums: Sums) -> Floats:
        return rejection.scores_of_sums(sums, pairs, settings.rejection)

    return [
        ("difference", effect, None),
        ("wrs", score, sets * len(pairs) * sum(settings.weights)),
    ]
