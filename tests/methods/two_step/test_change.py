"""Services that change during a run: segments as clusters, and a level that is not settled (methods 0.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from tests.methods.two_step.summaries import settings, shifted
from trustgauge.methods.two_step import transition_model
from trustgauge.methods.two_step.design import design
from trustgauge.methods.two_step.method import TwoStep
from trustgauge.methods.two_step.operating_characteristics import SPECS
from trustgauge.methods.two_step.rating import rate
from trustgauge.methods.two_step.score import score_answers, summarise
from trustgauge.methods.two_step.simulation import Sizes, simulate
from trustgauge.records import Rating
from trustgauge.stats import stream

Shift = Callable[[int, int, int], float]
"""Share of She that becomes He, of a run's number, the place of a call in it, and the number of calls."""


def updated(run: int, place: int, calls: int) -> float:
    return float(place >= calls / 3)


def late(run: int, place: int, calls: int) -> float:
    return float(place >= 0.75 * calls)


def regimes(run: int, place: int, calls: int) -> float:
    return float((place + 13 * run) // 40 % 2)


def rated(method: TwoStep, shift: Shift, run: int) -> Rating:
    """The rating of a service that answers in text, asked in shuffled order."""
    rng = np.random.default_rng(run)
    probes = pl.concat(list(design(method, run, "translate")))
    places = rng.permutation(len(probes))
    outputs = [
        message.replace("She is", "He is") if rng.random() < shift(run, int(place), len(probes)) else message
        for message, place in zip(probes["message"], places, strict=True)
    ]
    columns = {"service": "it", "part": "", "shared": False, "status": "answered", "trail": "[]"}
    answers = probes.with_columns(
        *(pl.lit(value).alias(name) for name, value in columns.items()),
        output=pl.Series(outputs),
        segment=pl.Series(places * 10 // len(probes)),
    )
    return rate(summarise(score_answers(method, answers)), method, run)[0]


def codes(rating: Rating) -> list[str]:
    return [reason.code for reason in rating.parts[0].reasons]


@pytest.mark.parametrize(("shift", "texts"), [(updated, 20), (updated, 60), (regimes, 20), (regimes, 60)])
def test_a_service_that_changes_is_not_settled(shift: Shift, texts: int) -> None:
    method = settings(texts=texts, patterns=("subject",), draws=1000)
    for run in range(6):
        rating = rated(method, shift, run)
        assert rating.state == "not settled"
        assert "changed-during-the-run" in codes(rating)


def test_the_reason_tells_how_far_apart_the_segments_are() -> None:
    rating = rated(settings(patterns=("subject",)), updated, 1)
    facts = next(one.facts for one in rating.parts[0].reasons if one.code == "changed-during-the-run")
    assert (facts["value"], facts["least_unchanged"], facts["most_unchanged"]) == ("She", 0.0, 1.0)
    assert facts["p"] < 0.01


def test_no_number_of_texts_is_named_that_would_settle_a_service_that_changes() -> None:
    """ "No level is settled. About 25 texts per block would settle it." stood side by side."""
    method = settings(texts=40, patterns=("subject",), draws=1000)
    ratings = [rated(method, late, run) for run in range(6)]
    changed = [one for one in ratings if "changed-during-the-run" in codes(one)]
    assert any("not-settled" in codes(one) for one in changed)
    assert all(one.parts[0].more_texts is None for one in changed)


def test_segments_are_no_change_without_the_column() -> None:
    method = settings(patterns=("subject",))
    probes = pl.concat(list(design(method, 1, "translate")))
    columns = {"service": "it", "part": "", "shared": False, "status": "answered", "trail": "[]"}
    answers = probes.with_columns(
        *(pl.lit(value).alias(name) for name, value in columns.items()), output=pl.col("message")
    )
    frame = summarise(score_answers(method, answers))
    assert frame["segment"].unique().to_list() == [0]
    assert rate(frame, method, 1)[0].state == "rated"


def test_steady_services_are_called_changed_in_one_of_a_hundred_runs() -> None:
    """Holm over the two values; a permutation p of label_p is valid, so .01 is not passed beyond chance."""
    rng = stream(5, "change")
    sizes = Sizes(SPECS[:, :2], 60, 2, 60)
    matrix: NDArray[Any] = shifted(0.3)[:2]
    runs = simulate(sizes, matrix, 0.0, 600, rng)
    found = (transition_model.change(runs, rng) < 0.01).any(axis=1).mean()
    assert found <= 0.01 + 3.5 * np.sqrt(0.01 * 0.99 / 600)


def test_the_largest_design_effect_counts() -> None:
    counts = simulate(Sizes(SPECS[:, :2], 60, 2, 60), shifted(0.5)[:2], 0.0, 20, stream(6, "effect"))
    effects = [transition_model.design_effect(by) for by in (counts.texts, counts.items, counts.segments)]
    assert np.array_equal(
        transition_model.largest_design_effect(counts), np.maximum(1, np.max(effects, axis=0))
    )
    assert (effects[2] > np.maximum(effects[0], effects[1])).any()
    assert counts.segments.sum(axis=1).tolist() == counts.pooled.tolist()
    assert counts.segments_own.sum(axis=2).tolist() == counts.own.tolist()
