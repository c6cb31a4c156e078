"""Whether the service changed during the run, and what the tenths of the run add to an error (methods 0.3).

Every effect is a sum over the answers, up to its own value: each adds its distance from what is expected in
its cell, times its weight in the effect. Summed by segment these influences tell whether the effect was
another in another tenth of the run. The calls are shuffled, so segments are labels dealt out at random.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from trustgauge.methods.causal import observational
from trustgauge.methods.causal.effects import ate
from trustgauge.methods.causal.panel import UNIT, Floats, Grouping, Ints, Panel, cell_places
from trustgauge.methods.causal.settings import Measure, Outcome
from trustgauge.stats.comparisons import permutation_p

PERMUTATIONS = 999
FEWEST = 199  # permutations of very many answers, which settle p < .01 still
DUST = 1e-10
"""Residuals of scores below which they are rounding: scores are summed to the ninth place."""
MOST = 20_000_000  # labels dealt in all permutations together
TOGETHER = 50_000  # labels in memory at once


@dataclass(frozen=True, slots=True)
class Influences:
    """What each answer adds to each effect.

    Attributes:
        values: of each answer, [N, K], to the effects of its own data set; their sum is 0.
        room: by how much a value was raised because the mean of its cell takes a part of each residual with
            it, [N, K]: right for sums of single answers, too much for sums over whole frames or persons.
        layer: the answers whose mean each stands beside, [N]: its class, with its valence for impacts.
        set, frame, person: indices of its data set, frame and person, [N].
        segment: the tenth of the run in which it was sent, [N].
        sets: number of data sets.
    """

    values: Floats
    room: Floats
    layer: Ints
    set: Ints
    frame: Ints
    person: Ints
    segment: Ints
    sets: int

    def by_segment(self, orders: Ints) -> Floats:
        """Sums over the answers of each segment, in each of some orders [D, N]: [D, segments, S, K]."""
        segments, many = int(self.segment.max()) + 1, len(orders)
        key = ((np.arange(many)[:, None] * segments + orders) * self.sets + self.set).ravel()
        cells = many * segments * self.sets
        sums = [np.bincount(key, np.tile(column, many), cells) for column in self.values.T]
        return np.asarray(np.stack(sums, axis=-1), dtype=np.float64).reshape(many, segments, self.sets, -1)

    @property
    def timed(self) -> bool:
        """Whether the answers were sent in more than one segment."""
        return len(np.unique(self.segment)) > 1

    @property
    def variance(self) -> Floats:
        """Of each effect, [S, K], with the segments as clusters."""
        sums = self.by_segment(self.segment[None])[0]
        many = len(np.unique(self.segment))
        return np.asarray((sums**2).sum(axis=0) * many / (many - 1))

    def two_way_variance(self, panel: Panel, grouping: Grouping) -> Floats | None:
        """Variance of each effect, [S, K], with frames and persons as crossed clusters (methods 0.5).

        V_frames + V_persons - V_cells, a cell being one person in one frame, and never below the larger of
        the two one-way variances (Cameron, Gelbach and Miller 2011, Robust inference with multiway
        clustering, Journal of Business & Economic Statistics 29). Frames are centred within their stratum,
        persons within gender and race, as both are resampled.

        Returns:
            None where persons are not resampled: in conversations, and with one person of each kind.
        """
        kinds = np.unique(
            [f"{a} {b}" for a, b in zip(panel.gender, panel.race, strict=True)], return_inverse=True
        )[1]
        mine = grouping.of >= 0
        if not panel.crossed or not mine.any() or np.bincount(kinds[mine]).max() < 2:
            return None
        whole = self.values / self.room
        frames = self._of_clusters(whole, panel.cluster[self.frame], panel.stratum, self.layer)
        layer = kinds[self.person] * (int(self.layer.max()) + 1) + self.layer
        persons = self._of_clusters(whole, self.person, kinds, layer)
        cell = self.frame * len(panel.persons) + self.person
        cells = (self._sums(self.values, cell, int(cell.max()) + 1) ** 2).sum(axis=0)
        return np.asarray(np.maximum(frames + persons - cells, np.maximum(frames, persons)))

    def _sums(self, values: Floats, cluster: Ints, clusters: int) -> Floats:
        """Sums over the answers of each cluster, [clusters, S, K]."""
        key = cluster * self.sets + self.set
        sums = [np.bincount(key, column, clusters * self.sets) for column in values.T]
        return np.asarray(np.stack(sums, axis=-1), dtype=np.float64).reshape(clusters, self.sets, -1)

    def _of_clusters(self, values: Floats, cluster: Ints, stratum: Ints, layer: Ints) -> Floats:
        """Variance of each effect, [S, K], with clusters [N] drawn within strata [clusters].

        An answer stands beside the mean of its `layer` [N]. Over the c clusters of a layer this leaves
        (c - 1) / c of the variance, which is made good; c is the number of clusters of equal size that
        would weigh as much.
        """
        clusters, layers = len(stratum), int(layer.max()) + 1
        present = np.any(values != 0, axis=1)
        place = (self.set * layers + layer) * clusters + cluster
        rows = np.bincount(place, present, self.sets * layers * clusters).reshape(-1, clusters)
        whole, squares = rows.sum(axis=1), (rows**2).sum(axis=1)
        count = np.where(squares > 0, whole**2 / np.where(squares > 0, squares, 1.0), 0.0)
        room = np.where(count > 1, np.sqrt(count / np.maximum(count - 1, 1e-9)), 1.0)
        sums = self._sums(values * room[self.set * layers + layer][:, None], cluster, clusters)
        variance = np.zeros(sums.shape[1:])
        for one in np.unique(stratum):
            mine = sums[stratum == one]
            variance += ((mine - mine.mean(axis=0)) ** 2).sum(axis=0)
        return variance

    def change_p(self, rng: np.random.Generator) -> float:
        """Permutation p of the largest change of an effect over the segments.

        The statistic is the largest, over effects, of the variance by segment over that by answer; segments
        are dealt out to the answers again.
        """
        alone = np.zeros((self.sets, self.values.shape[1]))
        np.add.at(alone, self.set, self.values**2)
        # Scores that do not vary leave dust of the last digit, which no order of it makes a change.
        known = alone > DUST**2 / len(self.segment)
        if not known.any():
            return 1.0

        def largest(orders: Ints) -> Floats:
            return np.asarray(
                ((self.by_segment(orders) ** 2).sum(axis=1)[:, known] / alone[known]).max(axis=1)
            )

        draws = int(np.clip(MOST // len(self.segment), FEWEST, PERMUTATIONS))
        step = max(1, TOGETHER // len(self.segment))
        stars = [
            largest(rng.permuted(np.tile(self.segment, (min(step, draws - start), 1)), axis=1))
            for start in range(0, draws, step)
        ]
        return permutation_p(float(largest(self.segment[None])[0]), np.concatenate(stars))


def influences(
    rows: pl.DataFrame, panel: Panel, grouping: Grouping, measure: Measure, outcome: Outcome = "score"
) -> Influences | None:
    """The influences of the answers of a part; None where no two classes were answered.

    Args:
        rows: of the summary, of one service, service part and kind of data.
        panel: of these rows.
        grouping: the classes compared.
        measure: what the level rests on.
        outcome: of a deconfounding impact: the score, or the share of a sign.
    """
    rows = rows.filter(pl.col("n") > 0)
    if not rows.height or len(grouping.classes) < 2:
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
    values, room = by(panel, grouping, answers)
    values = np.where((answers.label >= 0)[:, None], values, 0.0)
    layer = np.maximum(answers.label, 0)
    if measure == "deconfounding":
        layer = 3 * layer + panel.valence[w] + 1
    return Influences(values, room, layer, s, f, p, rows["segment"].to_numpy(), len(panel.sets))


@dataclass(frozen=True, slots=True)
class _Answers:
    """Data set, frame, word and class of each answer, with its number of scores and their sum."""

    set: Ints
    frame: Ints
    word: Ints
    label: Ints
    n: Floats
    y: Floats


def _of_difference(panel: Panel, grouping: Grouping, of: _Answers) -> tuple[Floats, Floats]:
    """To the average treatment effects, [N, K]: beside the cell's mean and the effect itself; and room."""
    counts, sums = (cells.swapaxes(-1, -2) @ grouping.members for cells in (panel.n, panel.y))  # [S, F, W, G]
    means = sums / np.where(counts > 0, counts, 1.0)
    effects, values = ate(panel, grouping).value, np.zeros((len(of.n), len(grouping.pairs)))
    rooms = np.ones_like(values)
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
            rooms[mine, place] = np.where(room > 0, room, 1.0)[cell][mine]
    return values, rooms


def _of_impact(panel: Panel, grouping: Grouping, of: _Answers) -> tuple[Floats, Floats]:
    """To the deconfounding impacts of negative and positive words, [N, 2]; without room."""
    valence = (panel.valence[:, None] == np.arange(2)).astype(np.float64)
    n, y = (np.einsum("sfpw,pg,wx->sgx", cells, grouping.members, valence) for cells in (panel.n, panel.y))
    means = y / np.where(n > 0, n, 1.0)
    of_class = n.sum(axis=2) / n.sum(axis=(1, 2))[:, None]
    weight = np.where(n > 0, of_class[..., None] / np.where(n > 0, n, 1.0), 0.0)
    weight -= np.where(n > 0, 1.0 / np.maximum(n.sum(axis=1, keepdims=True), 1.0), 0.0)
    x = panel.valence[of.word]
    at = of.set, of.label, x
    added = weight[at] * (of.y - of.n * means[at])
    values = np.where(x[:, None] == np.arange(2), added[:, None], 0.0)
    return values, np.ones_like(values)


def _of_adjusted(panel: Panel, grouping: Grouping, of: _Answers) -> tuple[Floats, Floats]:
    """To the adjusted differences, [N, K]; without room."""
    own = observational.units(panel, grouping, adjusted=True)
    layers = (own.layer[:, None] == np.arange(len(own.layers))).astype(np.float64)
    count, total = (np.einsum("sug,uz->sgz", cells, layers) for cells in (own.present * 1.0, own.mean))
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
    return values, np.ones_like(values)
