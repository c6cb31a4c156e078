"""Resampling what people said: labels of an item drawn again, and the majority taken again.

People are rated like software, but their scores rest on few labels each: the uncertainty of those
is part of theirs (methods 0.5, causal 2.3).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import factorial

import numpy as np

from trustgauge.methods.causal.panel import CHUNK, Floats, Panel


def resample_labels(
    panel: Panel, draws: int, rng: np.random.Generator
) -> Iterator[tuple[slice, Floats, Floats]]:
    """The panel's answers with the labels of every item resampled with replacement.

    An item is a cell (frame, person, word); the data sets share its draw, as they share its text.
    Its score is the label that more of the drawn labels have than any other; without one it is
    missing (causal 2.3, sound). Cells without labels stay as they are.

    Yields:
        For successive slices of the `draws`: the slice, and n and y of each cell, [r, S, F, P, W].
    """
    kinds, kind_of = np.unique(panel.labels.reshape(-1, 3).astype(np.int64), axis=0, return_inverse=True)
    shares = np.array([majority_shares(*kind) for kind in kinds.tolist()])  # of -1, 0, 1
    below = shares.cumsum(axis=1)[kind_of.reshape(panel.n.shape)]  # [S, F, P, W, 3]
    labelled = panel.labels.any(axis=-1)
    step = max(1, CHUNK // panel.n.size)
    for start in range(0, draws, step):
        size = min(step, draws - start)
        drawn = rng.random((size, 1, *panel.n.shape[1:]))
        n = (drawn < below[..., 2]).astype(np.float64)
        y = n - (drawn < below[..., 0]) - (drawn < below[..., 1])
        yield slice(start, start + size), np.where(labelled, n, panel.n), np.where(labelled, y, panel.y)


def majority_shares(below: int, zero: int, above: int) -> tuple[float, float, float]:
    """Probabilities that the labels -1, 0, 1 are the majority in a resample of an item's labels.

    Resamples have as many labels as the item; they sum to less than 1, the rest being ties.
    """
    counts = (below, zero, above)
    size = sum(counts)
    if not size:
        return 0.0, 0.0, 0.0
    won = [0.0, 0.0, 0.0]
    for first, second in product(range(size + 1), repeat=2):
        drawn = (first, second, size - first - second)
        if drawn[2] < 0 or sum(one == max(drawn) for one in drawn) > 1:
            continue
        chance = float(factorial(size))
        for count, times in zip(counts, drawn, strict=True):
            chance *= (count / size) ** times / factorial(times)
        won[drawn.index(max(drawn))] += chance
    return won[0], won[1], won[2]
