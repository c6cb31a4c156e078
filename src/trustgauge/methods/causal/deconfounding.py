"""Deconfounding impact: how far a mean given the emotion is bent by who it is said of (causal 2.6).

X is the valence of the emotion word (negative, positive), Z the protected class of the person, Y
the score, or whether it has a given sign. With rows (texts) as weights

    E_obs(i) = E[Y | X=i],    E_do(i) = sum_z E[Y | X=i, Z=z] P(z),    delta(i) = E_do(i) - E_obs(i),

and the impact in percent is 100 |delta(i)| / |E_obs(i)|. Where E_obs is 0 the percentage is a
division by zero, which the papers print as "X" and rank worst: here `inf`. What cannot be computed
is NaN, never 0. The percentage moves with the zero of the score, delta does not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trustgauge.methods.causal.label_bootstrap import resample_labels
from trustgauge.methods.causal.panel import UNIT, Floats, Grouping, Panel, Weights
from trustgauge.methods.causal.settings import Outcome, Positivity
from trustgauge.methods.causal.stratified_permutations import MOST, Stratum, permutation_sums, step_down

Bools = NDArray[np.bool_]

VALENCES = ("negative", "positive")
"""The last axis of every array of this module."""
RANGE = {"score": (-1.0, 1.0), "negative": (0.0, 1.0), "neutral": (0.0, 1.0), "positive": (0.0, 1.0)}
"""Lowest and highest value of each outcome."""
NOTHING = 1e-9  # an observed mean this small is a division by zero


class EmptyCell(NamedTuple):
    """A class without rows under one valence, although it occurs in the data set."""

    set: str
    cls: str
    valence: str


class ClassAdjustment(NamedTuple):
    """The adjustment for the class, for any leading axes (resamples, permutations, data sets).

    Attributes:
        share: P(z), [..., G].
        observed: E_obs, [..., 2].
        intervened: E_do, [..., 2]; NaN where undefined.
        delta: E_do - E_obs, [..., 2]; NaN where undefined.
        missing: cells without rows of a class that occurs, [..., G, 2].
    """

    share: Floats
    observed: Floats
    intervened: Floats
    delta: Floats
    missing: Bools


@dataclass(frozen=True, slots=True)
class Impact:
    """Deconfounding impact of one system on one kind of data.

    Attributes:
        sets: data sets, [S].
        classes: of Z, [G].
        width: of the range of the outcome: 2 for the score, 1 for a share.
        rows: number of scores by class and valence, [S, G, 2].
        share: P(z), [S, G].
        observed, intervened: E_obs and E_do, [S, 2].
        delta: E_do - E_obs, signed, [S, 2]; NaN where undefined.
        low, high: what delta can be if empty cells held the lowest or the highest value, [S, 2];
            delta itself where it is defined.
        percent: 100 |delta| / |E_obs|, [S, 2]; `inf` where E_obs is 0 ("X"), NaN where undefined.
        undefined: [S, 2].
        missing: the empty cells, by name.
    """

    sets: tuple[str, ...]
    classes: tuple[str, ...]
    width: float
    rows: Floats
    share: Floats
    observed: Floats
    intervened: Floats
    delta: Floats
    low: Floats
    high: Floats
    percent: Floats
    undefined: Bools
    missing: tuple[EmptyCell, ...]

    @property
    def effects(self) -> Floats:
        """|delta| as a share of the range of the outcome, [S, 2]: what `sound` rates."""
        return np.asarray(np.abs(self.delta) / self.width)

    @property
    def effect(self) -> float:
        """The largest of `effects`; NaN if one of them is undefined."""
        return _worst(self.effects)

    @property
    def effect_bounds(self) -> tuple[float, float]:
        """Between which values `effect` lies, whatever the empty cells would have held."""
        least = np.where((self.low <= 0) & (self.high >= 0), 0.0, np.minimum(abs(self.low), abs(self.high)))
        most = np.maximum(abs(self.low), abs(self.high))
        return float(least.max(initial=0.0) / self.width), float(most.max(initial=0.0) / self.width)

    @property
    def worst_percent(self) -> float:
        """The impact of a group of data sets is that of the worst; `inf` for "X", NaN if undefined."""
        return _worst(self.percent)

    @property
    def word_effects(self) -> Floats:
        """E_do(positive) - E_do(negative), [S]: the edge from word to score (causal 2.8)."""
        return np.asarray(self.intervened[:, 1] - self.intervened[:, 0])


def _worst(values: Floats) -> float:
    """The largest value; "X" (`inf`) beats what is undefined, as nothing can be worse."""
    if not values.size or (np.isnan(values).any() and not np.isinf(values).any()):
        return float("nan")
    return float(np.nanmax(values))


def impact(panel: Panel, grouping: Grouping, *, outcome: Outcome, positivity: Positivity) -> Impact:
    """Deconfounding impact of every data set and valence (causal 2.6).

    Persons outside the grouping, and words that are neither negative nor positive, take no part.
    A data set with fewer than two classes compares nothing: it is undefined under every rule.

    Args:
        panel: the answers of one system on one kind of data.
        grouping: Z, the class of each person.
        outcome: Y: the score, or the share of scores below, at or above 0.
        positivity: what a class without rows under one valence means: `refuse` (undefined, with
            bounds from both ends of the range), `drop` (its term is left out), `renormalise`
            (P(z) over the classes that are there).
    """
    n, y = (_by_class(table, grouping) for table in _tables(panel, outcome))
    adjusted = impact_of_sums(n, y, positivity)
    lowest, highest = RANGE[outcome]
    undefined = np.isnan(adjusted.delta)
    low, high = _bounds(n, y, adjusted, outcome)
    tiny = np.abs(adjusted.observed) < NOTHING
    with np.errstate(divide="ignore", invalid="ignore"):
        percent = np.where(tiny, np.inf, 100.0 * np.abs(adjusted.delta) / np.abs(adjusted.observed))
    return Impact(
        sets=panel.sets,
        classes=grouping.classes,
        width=highest - lowest,
        rows=n,
        share=adjusted.share,
        observed=adjusted.observed,
        intervened=adjusted.intervened,
        delta=adjusted.delta,
        low=np.where(undefined, low, adjusted.delta),
        high=np.where(undefined, high, adjusted.delta),
        percent=np.where(undefined, np.nan, percent),
        undefined=undefined,
        missing=tuple(
            EmptyCell(panel.sets[s], grouping.classes[g], VALENCES[x])
            for s, g, x in np.argwhere(adjusted.missing).tolist()
        ),
    )


def impact_of_sums(n: Floats, y: Floats, positivity: Positivity) -> ClassAdjustment:
    """The adjustment, from numbers of rows `n` and sums `y` of the outcome, both [..., G, 2].

    Sums are multiples of 1e-9 (methods 0.2) and are taken as such, and delta is computed as
    sum_z P(z) (E[Y|i,z] - E[Y|i]); so classes with equal means have a delta of exactly 0.
    """
    whole = np.rint(y / UNIT)
    by_class, by_valence = n.sum(axis=-1), n.sum(axis=-2)
    total = by_class.sum(axis=-1, keepdims=True)
    filled = n > 0
    missing = (by_class > 0)[..., None] & ~filled
    comparable = ((by_class > 0).sum(axis=-1) > 1)[..., None] & (by_valence > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = by_class / total
        observed = whole.sum(axis=-2) / by_valence * UNIT
        means = np.where(filled, whole / n * UNIT, 0.0)
        weights = np.where(filled, share[..., None], 0.0)
        if positivity == "renormalise":
            weights = weights / weights.sum(axis=-2, keepdims=True)
    kept = weights.sum(axis=-2)
    # A dropped term leaves E_do short of its share of E_obs; otherwise the shares sum to 1.
    lost = np.where(missing.any(axis=-2) & (positivity == "drop"), observed * (1.0 - kept), 0.0)
    delta = (weights * np.where(filled, means - observed[..., None, :], 0.0)).sum(axis=-2) - lost
    defined = comparable & ~missing.any(axis=-2) if positivity == "refuse" else comparable
    delta = np.where(defined, delta, np.nan)
    return ClassAdjustment(share, observed, observed + delta, delta, missing)


def _bounds(n: Floats, y: Floats, adjusted: ClassAdjustment, outcome: Outcome) -> tuple[Floats, Floats]:
    """Least and greatest delta if every empty cell held the lowest, or the highest, value."""
    lowest, highest = RANGE[outcome]
    dropped = impact_of_sums(n, y, "drop").delta
    gone = (adjusted.missing * np.nan_to_num(adjusted.share)[..., None]).sum(axis=-2)
    low, high = dropped + gone * lowest, dropped + gone * highest
    # Without a single row under a valence, or with one class only, anything is possible.
    unknown = np.isnan(dropped)
    return (
        np.where(unknown, lowest - highest, low),
        np.where(unknown, highest - lowest, high),
    )


def resample_deltas(  # noqa: PLR0913  two kinds of weights, two choices, and the draws of people's labels
    panel: Panel,
    grouping: Grouping,
    frame_weights: Weights,
    person_weights: Floats,
    *,
    outcome: Outcome,
    positivity: Positivity,
    rng: np.random.Generator | None = None,
) -> Floats:
    """Delta in every resample, [R, S, 2]; NaN where it is undefined in that resample.

    Args:
        panel: the answers of one system on one kind of data.
        grouping: Z.
        frame_weights: how often each frame was drawn, [R, F], of `panel.weights`.
        person_weights: how often each person was drawn, [R, P]; a cell weighs the product.
        outcome: Y.
        positivity: what an empty cell means.
        rng: draws the labels of people again; without it they stay as given. Software has none.
    """
    n, y = resample_sums(panel, grouping, frame_weights, person_weights, outcome=outcome, rng=rng)
    return impact_of_sums(n, y, positivity).delta


def resample_sums(
    panel: Panel,
    grouping: Grouping,
    frame_weights: Weights,
    person_weights: Floats,
    *,
    outcome: Outcome,
    rng: np.random.Generator | None = None,
) -> tuple[Floats, Floats]:
    """Rows and sums of the outcome in every resample, both [R, S, G, 2], for `impact_of_sums`.

    They also give the intervals of E_obs and E_do. Arguments as of `resampled`.
    """
    draws, shape = len(frame_weights), (len(panel.sets), len(grouping.classes), len(VALENCES))
    n, y = np.empty((draws, *shape)), np.empty((draws, *shape))
    for part, *tables in _drawn(panel, outcome, draws, rng):
        frames, persons = frame_weights[part], person_weights[part]
        for table, sums in zip(tables, (n, y), strict=True):
            axes = "sfpx" if table.ndim == 4 else "rsfpx"
            by_person = np.einsum(f"rf,{axes}->rspx", frames, table, optimize=True)
            weighed = by_person * persons[:, None, :, None]
            sums[part] = grouping.members.T @ weighed
    return n, y


def _drawn(
    panel: Panel, outcome: Outcome, draws: int, rng: np.random.Generator | None
) -> Iterator[tuple[slice, Floats, Floats]]:
    """Slices of the draws with rows and sums: [S, F, P, 2] each, or [r, S, F, P, 2] of people."""
    if rng is None or not panel.labels.any():
        n, y = _tables(panel, outcome)
        step = max(1, MOST // max(1, n[:, 0].size))
        for start in range(0, draws, step):
            yield slice(start, start + step), n, y
        return
    indicator = _by_valence(panel)
    for part, scored, score in resample_labels(panel, draws, rng):
        of_sign = {"negative": score < 0, "neutral": (scored > 0) & (score == 0), "positive": score > 0}
        value = score if outcome == "score" else of_sign[outcome].astype(np.float64)
        yield part, scored @ indicator, value @ indicator


def _values(panel: Panel, outcome: Outcome) -> Floats:
    """Sums of the outcome in every cell, [S, F, P, W]."""
    if outcome == "score":
        return panel.y
    zero = panel.n - panel.below - panel.above
    shares: dict[Outcome, Floats] = {"negative": panel.below, "neutral": zero, "positive": panel.above}
    return shares[outcome]


def _by_valence(panel: Panel) -> Floats:
    """Indicator of the valence of each word, [W, 2]."""
    return np.asarray(panel.valence[:, None] == np.arange(len(VALENCES)), dtype=np.float64)


def _tables(panel: Panel, outcome: Outcome) -> tuple[Floats, Floats]:
    """Rows, and sums of the outcome, by data set, frame, person and valence: [S, F, P, 2] each."""
    indicator = _by_valence(panel)
    return panel.n @ indicator, _values(panel, outcome) @ indicator


def _by_class(table: Floats, grouping: Grouping) -> Floats:
    """[S, F, P, 2] -> [S, G, 2]."""
    return np.asarray(np.einsum("sfpx,pg->sgx", table, grouping.members), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class DeltaPermutations:
    """Permutation p of the deltas.

    Attributes:
        p: step-down max-T p of each |delta| over all data sets and valences, [S, 2]; NaN where
            delta is undefined.
        smallest: of them; None if every delta is undefined.
        count: how many permutations, or arrangements, were looked at.
        exact: whether these were all arrangements.
    """

    p: Floats
    smallest: float | None
    count: int
    exact: bool


def permute_deltas(
    panel: Panel,
    grouping: Grouping,
    *,
    outcome: Outcome,
    positivity: Positivity,
    permutations: int,
    rng: np.random.Generator,
) -> DeltaPermutations:
    """Step-down max-T p of |delta|, classes permuted within data set and valence (methods 0.7, causal 2.9).

    If the outcome does not depend on the class given the valence, every assignment of the classes
    to the texts of one data set and valence is equally likely. With at most 20,000 arrangements
    of all of them together p is exact, the share of arrangements that reach the observed
    statistic; else (1 + hits) / (1 + permutations).
    """
    shape = (len(panel.sets), len(VALENCES))
    cells = list(_strata(panel, grouping, outcome))
    classes = len(grouping.classes)
    sums, exact = permutation_sums(cells, classes, permutations, rng)
    sums = sums.reshape(-1, *shape, classes, 2).swapaxes(2, 3)  # [R, S, G, valence, (n, y)]
    stars = impact_of_sums(sums[..., 0], sums[..., 1], positivity).delta.reshape(-1, math.prod(shape))
    found = impact(panel, grouping, outcome=outcome, positivity=positivity)
    p = step_down(np.abs(found.delta).ravel(), np.abs(stars), exact=exact).reshape(shape)
    smallest = None if np.isnan(p).all() else float(np.nanmin(p))
    return DeltaPermutations(p, smallest, len(stars), exact)


def _strata(panel: Panel, grouping: Grouping, outcome: Outcome) -> Iterator[Stratum]:
    """The cells of every data set and valence, in this order; cells without scores are left out."""
    sums = _values(panel, outcome)
    of = np.broadcast_to(grouping.of[:, None], panel.n.shape[1:])
    for place in range(len(panel.sets)):
        for valence in range(len(VALENCES)):
            here = (panel.n[place] > 0) & (of >= 0) & (panel.valence == valence)
            yield panel.n[place][here], sums[place][here], of[here]
