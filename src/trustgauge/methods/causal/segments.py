"""Whether the service changed during the run, and what the tenths of the run add to an error (methods 0.3).

Every effect is a sum over the answers, up to its own value: each adds its distance from what is expected in
its cell, times its weight in the effect. Summed by segment these influences tell whether the effect was
another in another tenth of the run. The calls are shuffled, so segments are labels dealt out at random.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from trustgauge.methods.causal import observational
from trustgauge.methods.causal.effects import ate
from trustgauge.methods.causal.panel import UNIT, Floats, Grouping, Ints, Panel, cell_places
from trustgauge.stats.resampling import permutation_p

if TYPE_CHECKING:
    from trustgauge.methods.causal.settings import Measure, Outcome

PERMUTATIONS = 999
FEWEST = 199  # permutations of very many answers, which settle p < .01 still
MOST = 20_000_000  # labels dealt in all permutations together


@dataclass(frozen=True, slots=True)
class Influences:
    """What each answer adds to each effect.

    Attributes:
        values: of each answer, [N, K], to the effects of its own data set; their sum is 0.
        set: index of its data set, [N].
        segment: the tenth of the run in which it was sent, [N].
        sets: number of data sets.
    """

    values: Floats
    set: Ints
    segment: Ints
    sets: int

    def by_segment(self, segment: Ints) -> Floats:
        """Sums over the answers of each segment, [segments, S, K]."""
        segments = int(self.segment.max()) + 1
        key = segment * self.sets + self.set
        sums = [np.bincount(key, column, segments * self.sets) for column in self.values.T]
        return np.asarray(np.stack(sums, axis=-1), dtype=np.float64).reshape(segments, self.sets, -1)

    @property
    def variance(self) -> Floats:
        """Of each effect, [S, K], with the segments as clusters."""
        sums = self.by_segment(self.segment)
        many = len(np.unique(self.segment))
        return np.asarray((sums**2).sum(axis=0) * many / (many - 1))

    def change_p(self, rng: np.random.Generator) -> float:
        """Permutation p of the largest change of an effect over the segments.

        The statistic is the largest, over effects, of the variance by segment over that by answer; segments
        are dealt out to the answers again.
        """
        alone = np.zeros((self.sets, self.values.shape[1]))
        np.add.at(alone, self.set, self.values**2)
        known = alone > 0
        if not known.any():
            return 1.0

        def largest(segment: Ints) -> float:
            return float(((self.by_segment(segment) ** 2).sum(axis=0)[known] / alone[known]).max())

        draws = int(np.clip(MOST // len(self.segment), FEWEST, PERMUTATIONS))
        stars = np.array([largest(rng.permutation(self.segment)) for _ in range(draws)])
        return permutation_p(largest(self.segment), stars)


def influences(
    rows: pl.DataFrame, panel: Panel, grouping: Grouping, measure: Measure, outcome: Outcome = "score"
) -> Influences | None:
    """The influences of the answers of a part; None where all were sent in one segment, or by no plan.

    Args:
        rows: of the summary, of one service, service part and kind of data.
        panel: of these rows.
        grouping: the classes compared.
        measure: what the level rests on.
        outcome: of a deconfounding impact: the score, or the share of a sign.
    """
    rows = rows.filter(pl.col("n") > 0)
    if rows["segment"].n_unique() < 2 or len(grouping.classes) < 2:
        return None
    s, f, p, w = cell_places(rows, panel)
    n, y, below, above = (rows[name].cast(pl.Float64).to_numpy() for name in ("n", "y", "below", "above"))
    if outcome != "score":
        y = {"negative": below, "neutral": n - below - above, "positive": above}[outcome] / UNIT
        signs = {
            "negative": panel.below,
            "neutral": panel.n - panel.below - panel.above,
            "positive": panel.above,
        }
        panel = replace(panel, y=signs[outcome])
    answers = _Answers(s, f, w, grouping.of[p], n, y * UNIT)
    by = {"deconfounding": _of_impact, "adjusted": _of_adjusted}.get(measure, _of_difference)
    values = np.where((answers.label >= 0)[:, None], by(panel, grouping, answers), 0.0)
    return Influences(values, s, rows["segment"].to_numpy(), len(panel.sets))


@dataclass(frozen=True, slots=True)
class _Answers:
    """Data set, frame, word and class of each answer, with its number of scores and their sum."""

    set: Ints
    frame: Ints
    word: Ints
    label: Ints
    n: Floats
    y: Floats


def _of_difference(panel: Panel, grouping: Grouping, of: _Answers) -> Floats:
    """To the average treatment effects, [N, K]: beside the cell's mean and the effect itself."""
    counts, sums = (cells.swapaxes(-1, -2) @ grouping.members for cells in (panel.n, panel.y))  # [S, F, W, G]
    means = sums / np.where(counts > 0, counts, 1.0)
    effects, values = ate(panel, grouping).value, np.zeros((len(of.n), len(grouping.pairs)))
    cell = of.set, of.frame, of.word
    for place, (a, b) in enumerate(grouping.pairs):
        both = (counts[..., a] > 0) & (counts[..., b] > 0)
        size = np.where(both, counts[..., a] + counts[..., b], 0.0)
        share = size / np.maximum(size.sum(axis=(1, 2), keepdims=True), 1.0)
        middle = (means[..., a] + means[..., b]) / 2
        # The mean of a cell takes a part of each residual with it.
        room = np.sqrt(size / np.maximum(size - 1, 1.0))
        for label, sign in ((a, 1.0), (b, -1.0)):
            mine = of.label == label
            weight = share * room / np.maximum(counts[..., label], 1.0)
            expected = middle[cell] + sign * np.nan_to_num(effects[of.set, place]) / 2
            values[mine, place] = sign * (weight[cell] * (of.y - of.n * expected))[mine]
    return values


def _of_impact(panel: Panel, grouping: Grouping, of: _Answers) -> Floats:
    """To the deconfounding impacts of negative and positive words, [N, 2]."""
    valence = (panel.valence[:, None] == np.arange(2)).astype(np.float64)
    n, y = (np.einsum("sfpw,pg,wx->sgx", cells, grouping.members, valence) for cells in (panel.n, panel.y))
    means = y / np.where(n > 0, n, 1.0)
    of_class = n.sum(axis=2) / n.sum(axis=(1, 2))[:, None]
    weight = np.where(n > 0, of_class[..., None] / np.where(n > 0, n, 1.0), 0.0)
    weight -= np.where(n > 0, 1.0 / np.maximum(n.sum(axis=1, keepdims=True), 1.0), 0.0)
    x = panel.valence[of.word]
    at = of.set, of.label, x
    added = weight[at] * (of.y - of.n * means[at])
    return np.where(x[:, None] == np.arange(2), added[:, None], 0.0)


def _of_adjusted(panel: Panel, grouping: Grouping, of: _Answers) -> Floats:
    """To the adjusted differences, [N, K]."""
    own = observational.units(panel, grouping, adjusted=True)
    layers = (own.layer[:, None] == np.arange(len(own.layers))).astype(np.float64)
    count, total = (np.einsum("sug,uz->sgz", cells, layers) for cells in (own.held * 1.0, own.mean))
    means = total / np.where(count > 0, count, 1.0)
    names = np.array([own.layers.index(name) for name in panel.covariates])
    at = of.set, of.label, names[of.frame]
    unit_of = own.unit[of.frame]
    rows = np.zeros((len(panel.sets), len(own.frame), len(grouping.classes)))
    np.add.at(rows, (of.set, unit_of, of.label), of.n)
    apart = (of.y - of.n * means[at]) / rows[of.set, unit_of, of.label]
    values = np.zeros((len(of.n), len(grouping.pairs)))
    for place, (a, b) in enumerate(grouping.pairs):
        size = count[:, a] + count[:, b]
        share = size / np.maximum(size.sum(axis=1, keepdims=True), 1.0)
        sign = (of.label == a) * 1.0 - (of.label == b)
        values[:, place] = sign * apart * share[of.set, names[of.frame]] / np.maximum(count[at], 1.0)
    return values
