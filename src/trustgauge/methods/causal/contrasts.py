"""Differences of means between two sides of a panel, under weights of frames and persons.

The one piece of arithmetic behind the average treatment effect, its resamples and its negative
control. Within a cell (frame, word) the two sides share every word but the person, so their
difference there is a matched one; cells are averaged by how many answers of the two sides they hold
(causal 2.7).

A cell is *even* if every person of both sides has equally many answers in it. Over even cells the
weighted difference is linear in the sums of scores and costs two matrix products; only the other
cells, where something is missing, are computed one by one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trustgauge.methods.causal.panel import CHUNK, Floats, Grouping, Panel, Weights, blocks, weighed_sums


@dataclass(frozen=True, slots=True)
class ContrastSide:
    """One side of a comparison: its persons, and their weights in each draw, [R, len(persons)]."""

    persons: NDArray[np.int64]
    weights: Floats


def side(grouping: Grouping, label: int, person_weights: Floats) -> ContrastSide:
    """The side of the persons of one class, with their weights out of [R, P]."""
    mine = np.flatnonzero(grouping.of == label)
    return ContrastSide(mine, person_weights[:, mine])


class Contrasts:
    """Weighted differences of means within the cells of one panel and one set of draws.

    Args:
        n: Number of scores, [S, F, P, W].
        y: Sum of scores, [S, F, P, W].
        frame_weights: [R, F].
    """

    def __init__(self, n: Floats, y: Floats, frame_weights: Weights) -> None:
        self._n, self._y, self._frames = n, y, frame_weights
        self._known: dict[bytes, tuple[Floats, Floats]] = {}
        self._of_side: dict[tuple[bytes, int], tuple[ContrastSide, Floats]] = {}

    def between(self, first: ContrastSide, second: ContrastSide) -> Floats:
        """The mean difference first - second in every draw, [R, S]; NaN where no cell holds both sides.

        In a draw with weights f of frames and v of persons, a cell has N = f sum v n answers of
        either side, and counts N_first + N_second.
        """
        of_both = self._n[:, :, np.concatenate([first.persons, second.persons])]
        least, most = of_both.min(axis=2), of_both.max(axis=2)
        even = (least == most) & (most > 0)
        total, weight = self._over_even(even, first, second)
        present = (self._n[:, :, first.persons].max(axis=2) > 0) & (
            self._n[:, :, second.persons].max(axis=2) > 0
        )
        self._add_uneven(present & ~even, (first, second), total, weight)
        return np.where(weight > 0, total / np.where(weight > 0, weight, 1.0), np.nan)

    def _over_even(
        self, even: NDArray[np.bool_], first: ContrastSide, second: ContrastSide
    ) -> tuple[Floats, Floats]:
        _, rows = self._summed(even)
        sizes = [one.weights.sum(axis=1)[:, None] for one in (first, second)]
        means = [self._mean(even, one) for one in (first, second)]
        both = np.where((sizes[0] > 0) & (sizes[1] > 0), sizes[0] + sizes[1], 0.0)
        return both * (means[0] - means[1]), both * rows

    def _mean(self, even: NDArray[np.bool_], one: ContrastSide) -> Floats:
        """The mean of a side over even cells, in each draw, [R, S]; each side stands in many pairs."""
        key = even.tobytes(), id(one)
        if key not in self._of_side:
            by_person, _ = self._summed(even)
            size = one.weights.sum(axis=1)[:, None]
            sums = np.einsum("rsp,rp->rs", by_person[:, :, one.persons], one.weights)
            # The side is kept with its mean, so that its id is no other's meanwhile.
            self._of_side[key] = one, sums / np.where(size > 0, size, 1.0)
        return self._of_side[key][1]

    def _summed(self, even: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """Sums over even cells by person, [R, S, P], and answers of one person in them, [R, S]."""
        key = even.tobytes()
        if key not in self._known:
            frames = self._frames
            by_frame = np.einsum("sfpw,sfw->fsp", self._y, even.astype(np.float64))
            by_person = weighed_sums(frames, by_frame.reshape(len(by_frame), -1))
            by_person = by_person.reshape(len(frames), *by_frame.shape[1:])
            rows = np.where(even, self._n.max(axis=2), 0.0).sum(axis=2)
            self._known[key] = by_person, weighed_sums(frames, rows.T)
        return self._known[key]

    def _add_uneven(
        self,
        cells: NDArray[np.bool_],
        sides: tuple[ContrastSide, ContrastSide],
        total: Floats,
        weight: Floats,
    ) -> None:
        """Adds the cells where something is missing to `total` and `weight`, [R, S]."""
        of_set, of_frame, of_word = np.nonzero(cells)
        if not of_set.size:
            return
        # answers of each person in these cells, [persons, U]
        n, y = (of[of_set, of_frame, :, of_word].T for of in (self._n, self._y))
        in_set = (of_set[:, None] == np.arange(cells.shape[0])).astype(np.float64)
        step = max(1, CHUNK // of_set.size)
        for start in range(0, len(total), step):
            draws = slice(start, start + step)
            counts = [one.weights[draws] @ n[one.persons] for one in sides]
            sums = [one.weights[draws] @ y[one.persons] for one in sides]
            both = (counts[0] > 0) & (counts[1] > 0)
            rows = np.where(both, self._frames[draws][:, of_frame] * (counts[0] + counts[1]), 0.0)
            means = [a / np.where(b > 0, b, 1.0) for a, b in zip(sums, counts, strict=True)]
            total[draws] += (rows * (means[0] - means[1])) @ in_set
            weight[draws] += rows @ in_set


def is_assigned(panel: Panel, grouping: Grouping) -> bool:
    """Whether every conversation holds one class only, so that conversations are compared as wholes."""
    if panel.crossed:
        return False
    n, _ = by_cluster(panel, grouping, panel.n, panel.y)
    return bool(((n > 0).any(axis=0).sum(axis=1) <= 1).all())


def by_cluster(panel: Panel, grouping: Grouping, n: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Numbers and sums of scores of every class in every cluster, [..., S, C, G].

    Args:
        panel: Whose frames lie in which cluster.
        grouping: The classes.
        n: Number of scores in cells, [..., S, F, P, W].
        y: Their sum.
    """
    order = np.argsort(panel.cluster, kind="stable")
    starts = np.searchsorted(panel.cluster[order], np.arange(len(panel.stratum)))
    of_n, of_y = (
        np.add.reduceat((of.sum(axis=-1) @ grouping.members)[..., order, :], starts, axis=-2) for of in (n, y)
    )
    return of_n, of_y


def mean_of_means(panel: Panel, n: Floats, y: Floats, frame_weights: Weights) -> Floats:
    """Means of conversation means in every draw, [R, S, G]; NaN where a class has no conversation.

    Args:
        panel: Whose frames lie in which conversation.
        n: Number of scores of conversations, [S, C, G], or [R, S, C, G] if they vary with the draw.
        y: Their sums.
        frame_weights: [R, F]; frames of one conversation weigh the same.
    """
    first_frame = np.zeros(len(panel.stratum), dtype=np.int64)
    first_frame[panel.cluster[::-1]] = np.arange(len(panel.cluster))[::-1]
    means = np.where(n > 0, y / np.where(n > 0, n, 1.0), 0.0)
    present = (n > 0).astype(np.float64)
    found = np.empty((len(frame_weights), n.shape[-3], n.shape[-1]))
    for some in blocks(len(frame_weights), len(first_frame)):
        weights = frame_weights[some][:, None, None, first_frame].astype(np.float64)  # [r, 1, 1, C]
        own = (cells[some] if cells.ndim > len("SCG") else cells for cells in (means, present))
        total, count = ((weights @ cells)[:, :, 0] for cells in own)
        found[some] = np.where(count > 0, total / np.where(count > 0, count, 1.0), np.nan)
    return found
