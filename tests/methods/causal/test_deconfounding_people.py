"""Deconfounding impact of people, whose labels are drawn anew in every resample."""

from __future__ import annotations

import numpy as np
import pytest

from tests.methods.causal.confounded import design, summary
from trustgauge.methods.causal.deconfounding import resample_deltas, resample_sums
from trustgauge.methods.causal.panel import Panel
from trustgauge.methods.causal.settings import Outcome
from trustgauge.stats import stream

OUTCOMES: tuple[Outcome, ...] = ("score", "negative", "neutral", "positive")


def _people(labels: tuple[int, int, int]) -> Panel:
    """Women's texts have these labels, the others' three labels -1."""
    top = (-1, 0, 1)[int(np.argmax(labels))]
    return summary(
        {
            **row,
            "labels": labels if row["gender"] == "female" else (3, 0, 0),
            "score": float(top if row["gender"] == "female" else -1),
        }
        for row in design(frames=4, persons=10)
    )


def test_labels_that_all_agree_add_no_uncertainty() -> None:
    cells = _people((0, 0, 3))
    grouping = cells.grouping("gender", na=False)
    frames, persons = cells.weights(grouping, 300, stream(1, "resamples"))
    given_labels = resample_deltas(cells, grouping, frames, persons, outcome="score", positivity="drop")
    drawn = resample_deltas(
        cells, grouping, frames, persons, outcome="score", positivity="drop", rng=stream(1, "labels")
    )
    assert np.array_equal(given_labels, drawn, equal_nan=True)


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_labels_that_differ_are_drawn_anew(outcome: Outcome) -> None:
    """Of two labels 1 and one 0, the majority of three drawn is 1 with 20/27, else 0."""
    cells = _people((0, 1, 2))
    grouping = cells.grouping("gender", na=False)
    fixed = np.ones((4000, len(cells.frames))), np.ones((4000, len(cells.persons)))
    n, y = resample_sums(cells, grouping, *fixed, outcome=outcome, rng=stream(1, "labels"))
    women = grouping.classes.index("female")
    assert (n[:, 0] == n[0, 0]).all()
    mean = (y[:, 0, women] / n[:, 0, women]).mean(axis=0)
    expected = {"score": 20 / 27, "negative": 0.0, "neutral": 7 / 27, "positive": 20 / 27}[outcome]
    assert mean == pytest.approx([expected, expected], abs=0.01)
