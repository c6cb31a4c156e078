"""Whether the class moves the score otherwise in frames beyond the published ones (methods 0.12).

Scorers treat one sentence otherwise than another; so what is compared is the frames, one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from trustgauge.data.emotions import VALENCES
from trustgauge.methods.causal.measures import RANGE
from trustgauge.methods.causal.panel import Floats, Grouping, Panel, panel
from trustgauge.methods.causal.settings import CausalSettings
from trustgauge.rating.recognition import ALIKE, DISGUISE, LEAST, RecognitionGap
from trustgauge.records import Json
from trustgauge.stats import stream
from trustgauge.stats.randomization import label_test


@dataclass(frozen=True)
class ClassDifference:
    """By how much the scores of two classes differ within each frame, and within its words of one valence.

    Attributes:
        sums: of the differences of the words, times their weights, a share of the range of scores, [F].
        weights: n_a n_b / (n_a + n_b) of n_a and n_b texts of the classes, [F]: 0 where one has none.
        about: which difference it is, as facts.
    """

    sums: Floats
    weights: Floats
    about: dict[str, Json]


def recognition_gap(rows: pl.DataFrame, settings: CausalSettings, seed: int) -> RecognitionGap | None:
    """Whether the class moves the score otherwise in disguise; None where none was used.

    The disguise is dealt again over the frames: a difference between published and other frames counts only
    if it is larger than that between frames of one kind.

    Args:
        rows: the summary of one service.
        settings: the experiment.
        seed: of the experiment.
    """
    if DISGUISE not in rows.columns:
        return None
    read = rows.filter(pl.col("n") > 0)
    frames = read.select("frame", DISGUISE).unique().sort("frame")
    differences = [] if frames.is_empty() else list(_differences(read, frames["frame"].to_list(), settings))
    if frames[DISGUISE].n_unique() < 2 or not differences:
        return ALIKE
    found = label_test(
        np.stack([one.sums for one in differences], axis=1),
        np.stack([one.weights for one in differences], axis=1),
        frames[DISGUISE].to_numpy(),
        np.zeros(frames.height),
        np.arange(frames.height),
        stream(seed, "causal", "recognition gap"),
        dealt=False,
        least=LEAST,
    )
    return RecognitionGap.of(found, differences[found.largest].about)


def _differences(
    read: pl.DataFrame, frames: list[str], settings: CausalSettings
) -> Iterator[ClassDifference]:
    """Those of all classes that are compared, for the words of each valence, part by part of the service."""
    for (part,), own in read.group_by("part", maintain_order=True):
        for measured in settings.measured:
            cells = own.filter(pl.col("block").str.starts_with(f"{measured.data}/"))
            if cells.is_empty():
                continue
            whole = panel(cells)
            grouping = whole.grouping(measured.grouping, na=settings.na)
            place = [frames.index(one) for one in whole.frames]
            for one in _of_panel(whole, grouping):
                sums, weights = np.zeros((2, len(frames)))
                sums[place], weights[place] = one.sums, one.weights
                yield ClassDifference(sums, weights, {**one.about, "part": str(part), "data": measured.data})


def _of_panel(whole: Panel, grouping: Grouping) -> Iterator[ClassDifference]:
    n, y = (
        cells.sum(axis=0).swapaxes(-1, -2) @ grouping.members for cells in (whole.n, whole.y)
    )  # [F, W, G]
    means = y / np.where(n > 0, n, 1.0)
    for a, b in grouping.pairs:
        both = n[..., a] + n[..., b]
        weights = n[..., a] * n[..., b] / np.where(both > 0, both, 1.0)
        sums = weights * (means[..., a] - means[..., b]) / RANGE
        for code, valence in enumerate(VALENCES):
            words = whole.valence == code
            about: dict[str, Json] = {
                "net": True,
                "classes": [grouping.classes[a], grouping.classes[b]],
                "valence": valence,
                "words": [word for word, is_one in zip(whole.words, words, strict=True) if is_one],
            }
            if weights[:, words].any():
                yield ClassDifference(sums[:, words].sum(axis=1), weights[:, words].sum(axis=1), about)
