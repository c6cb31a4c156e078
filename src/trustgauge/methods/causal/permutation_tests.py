"""What chance alone makes of the rejection score and of the effects: classes dealt out again.

If a service ignores the class, the classes of the persons within one cell (frame, word) could as
well be others: they are dealt out at random there, the same in every data set, since the data sets
share their texts. Where every conversation has one class only, classes are dealt to conversations
(causal 2.5, 2.9, methods 0.7).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trustgauge.methods.causal.contrasts import by_cluster, is_assigned
from trustgauge.methods.causal.effects import ate
from trustgauge.methods.causal.panel import CHUNK, Floats, Grouping, Panel
from trustgauge.methods.causal.rejection import class_sums, scores_of_sums
from trustgauge.methods.causal.stratified_permutations import step_down
from trustgauge.stats.comparisons import EXACT_UP_TO, arrangements, exact_p, permutation_p
from trustgauge.stats.means import Sums

if TYPE_CHECKING:
    from trustgauge.methods.causal.settings import RejectionRule

Labels = NDArray[np.int8]

LARGE = 25_000_000  # classes of persons dealt in all permutations together
FEWEST_BLOCKS = 20


@dataclass(frozen=True, slots=True)
class PermutationTests:
    """Permutation p of the rejection score and of the effects.

    Attributes:
        rejection: p of the whole weighted rejection score.
        null_mean, null_high: mean and 95 % point of the score under permutation.
        effects: step-down max-T p of each |ATE|, over all data sets and pairs, [S, K]; NaN where
            the effect is undefined.
        smallest: the smallest of these; None if no effect is defined.
        permutations: how many arrangements of classes were looked at.
        exact: whether these are all there are.
    """

    rejection: float
    null_mean: float
    null_high: float
    effects: Floats
    smallest: float | None
    permutations: int
    exact: bool


def permute(
    panel: Panel, grouping: Grouping, rule: RejectionRule, rng: np.random.Generator, permutations: int
) -> PermutationTests:
    """Permutation p of the weighted rejection score under `rule`, and of all effects (methods 0.7).

    p = (1 + #{T* >= T}) / (1 + R) of R random permutations; over conversations with at most
    20,000 arrangements of their classes: the share of all of them.

    Args:
        panel: The answers.
        grouping: The classes compared.
        rule: Weights, levels, degrees of freedom and epsilon of the score.
        rng: Panels of one shape get the same permutations from equal generators.
        permutations: R. In panels so large that this means more than 25 million classes to deal,
            cells without missing answers are dealt classes in random blocks of cells.
    """
    pairs = grouping.pairs
    exact = False
    if is_assigned(panel, grouping):
        exact, sums, effect = _over_conversations(panel, grouping, rng, permutations)
    else:
        sums, effect = _within_cells(panel, grouping, rng, permutations)
    drawn = scores_of_sums(sums, pairs, rule)
    observed = float(scores_of_sums(class_sums(panel, grouping), pairs, rule))
    sizes = np.abs(effect.reshape(len(effect), -1 if effect.size else 0))
    shares = step_down(np.abs(ate(panel, grouping).value.ravel()), sizes, exact=exact)
    return PermutationTests(
        rejection=exact_p(observed, drawn, np.ones_like(drawn)) if exact else permutation_p(observed, drawn),
        null_mean=float(drawn.mean()),
        null_high=float(np.quantile(drawn, 0.95, method="inverted_cdf")),
        effects=shares.reshape(effect.shape[1:]),
        smallest=None if np.isnan(shares).all() else float(np.nanmin(shares)),
        permutations=len(drawn),
        exact=exact,
    )


@dataclass(frozen=True, slots=True)
class _Cells:
    """Cells (frame, word) with answers of the same persons.

    Attributes:
        labels: classes of these persons, [Q].
        values: n, y and yy of each cell, person and data set, [cells, Q, 3, S].
    """

    labels: Labels
    values: Floats


def _within_cells(
    panel: Panel, grouping: Grouping, rng: np.random.Generator, permutations: int
) -> tuple[Sums, Floats]:
    """Class sums [R, S, G] and effects [R, S, K] of random permutations within cells."""
    sets, classes = len(panel.sets), len(grouping.classes)
    sums = np.zeros((permutations, classes, 3, sets))
    total, weight = np.zeros((2, permutations, sets, len(grouping.pairs)))
    kinds = list(_kinds_of_cells(panel, grouping))
    size = permutations * sum(len(cells.values) * len(cells.labels) for cells in kinds)
    for whole in kinds:
        cells = _in_blocks(whole, LARGE / size, rng) if size > LARGE else whole
        step = max(1, CHUNK // (len(cells.values) * max(len(cells.labels), 3 * sets * classes)))
        for start in range(0, permutations, step):
            draws = slice(start, min(start + step, permutations))
            of_class = _dealt(cells, classes, draws.stop - start, rng)
            sums[draws] += of_class.sum(axis=1).swapaxes(0, 1)
            n, y = of_class[..., 0, :], of_class[..., 1, :]
            means = y / np.maximum(n, 1.0)
            for place, (a, b) in enumerate(grouping.pairs):
                rows = np.where((n[a] > 0) & (n[b] > 0), n[a] + n[b], 0.0)
                total[draws, :, place] += (rows * (means[a] - means[b])).sum(axis=0)
                weight[draws, :, place] += rows.sum(axis=0)
    effects = np.where(weight > 0, total / np.where(weight > 0, weight, 1.0), np.nan)
    return Sums(*(sums[:, :, place].swapaxes(1, 2) for place in range(3))), effects


def _kinds_of_cells(panel: Panel, grouping: Grouping) -> Iterator[_Cells]:
    persons = np.flatnonzero(grouping.of >= 0)
    cells = len(panel.frames) * len(panel.words)
    values = np.stack(
        [of[:, :, persons].transpose(1, 3, 2, 0) for of in (panel.n, panel.y, panel.yy)], axis=3
    ).reshape(cells, len(persons), 3, len(panel.sets))
    patterns, kind_of = np.unique(values[:, :, 0].any(axis=2), axis=0, return_inverse=True)
    for place, pattern in enumerate(patterns):
        if pattern.any():
            labels = grouping.of[persons[pattern]].astype(np.int8)
            yield _Cells(labels, values[kind_of.ravel() == place][:, pattern])


def _in_blocks(cells: _Cells, share: float, rng: np.random.Generator) -> _Cells:
    """Fewer cells, to be dealt classes as blocks: `share` as many, but 20 or more if there are.

    Within a random block of cells in which every person answered equally often, all means add up,
    so that dealing the same classes to the whole block is one of the permutations within cells.
    Those that are left are fewer, and still a group, so p remains valid.
    """
    n = cells.values[:, :, 0]
    even = (n == n[:, :1]).all(axis=(1, 2))
    _, kind_of = np.unique(n[even, 0], axis=0, return_inverse=True)
    kept = [cells.values[~even]]
    for kind in np.unique(kind_of):
        alike = rng.permutation(cells.values[even][kind_of.ravel() == kind])
        blocks = min(len(alike), max(FEWEST_BLOCKS, int(np.ceil(share * len(alike)))))
        starts = np.arange(blocks) * len(alike) // blocks
        kept.append(np.add.reduceat(alike, starts, axis=0))
    return _Cells(cells.labels, np.concatenate(kept))


def _dealt(cells: _Cells, classes: int, draws: int, rng: np.random.Generator) -> Floats:
    """Sums of each class in each cell in random permutations, [G, cells, r, 3, S]."""
    count, persons, *rest = cells.values.shape
    # whole words of the machine are exchanged in half the time that bytes take
    dealt = rng.permuted(np.broadcast_to(cells.labels.astype(np.int64), (count, draws, persons)), axis=2)
    labels = dealt.astype(np.int8)
    values = cells.values.reshape(count, persons, -1)
    of_class = [(labels == label).astype(np.float64) @ values for label in range(classes)]
    return np.stack(of_class).reshape(classes, count, draws, *rest)


def _over_conversations(
    panel: Panel, grouping: Grouping, rng: np.random.Generator, permutations: int
) -> tuple[bool, Sums, Floats]:
    """Whether all arrangements are looked at, and class sums and effects of each."""
    n, y = by_cluster(panel, grouping, panel.n, panel.y)
    _, yy = by_cluster(panel, grouping, panel.n, panel.yy)
    present = np.flatnonzero((n > 0).any(axis=(0, 2)))
    label_of = n.sum(axis=0)[present].argmax(axis=1).astype(np.int8)
    sums = Sums(*(of.sum(axis=2)[:, present] for of in (n, y, yy)))  # [S, C]
    sizes = np.bincount(label_of, minlength=len(grouping.classes))
    exact = arrangements(sizes.tolist()) <= EXACT_UP_TO
    if exact:
        labels = _every(tuple(sizes.tolist()))
    else:
        labels = rng.permuted(np.tile(label_of, (permutations, 1)), axis=1)
    return exact, *_of_conversations(sums, labels, grouping)


def _every(sizes: tuple[int, ...]) -> Labels:
    """Every way to give labels to units, `sizes` of each label: [arrangements, units]."""
    units, last = sum(sizes), len(sizes) - 1
    if last <= 0:
        return np.zeros((1, units), dtype=np.int8)
    before = _every(sizes[:-1])
    others = np.array(list(combinations(range(units), units - sizes[-1])), dtype=np.int64)
    labels = np.full((len(before), len(others), units), last, dtype=np.int8)
    np.put_along_axis(labels, others[None], before[:, None], axis=2)
    return labels.reshape(-1, units) if units else labels[:, 0]


def _of_conversations(sums: Sums, labels: Labels, grouping: Grouping) -> tuple[Sums, Floats]:
    of_class = (labels[:, :, None] == np.arange(len(grouping.classes))).astype(np.float64)  # [r, C, G]
    present = (sums.n > 0).astype(np.float64)
    means = np.where(sums.n > 0, sums.y / np.maximum(sums.n, 1.0), 0.0)
    count = present @ of_class  # [r, S, G]
    mean = np.where(count > 0, (means @ of_class) / np.maximum(count, 1.0), np.nan)
    effects = [mean[..., a] - mean[..., b] for a, b in grouping.pairs]
    dealt = Sums(sums.n @ of_class, sums.y @ of_class, sums.yy @ of_class)
    return dealt, np.stack(effects, axis=-1) if effects else np.empty((*mean.shape[:2], 0))
