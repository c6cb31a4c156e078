"""The paired bootstrap behind comparisons, on made-up services of known rates."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from tests.methods.two_step.summaries import HE, OTHER, SHE, settings, shifted, summary
from trustgauge.methods.two_step.method import TwoStep
from trustgauge.methods.two_step.score import merge
from trustgauge.stats import stream
from trustgauge.stats.ranking import difference, ranks

Floats = NDArray[np.float64]
IDENTITY = np.array([HE, SHE, OTHER])


def drawn(method: TwoStep, **rates: Floats) -> dict[str, Floats]:
    """The draws of services of these rates."""
    return method.badness_draws(merge([summary(method, one, service=name) for name, one in rates.items()]), 5)


def renamed(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    return frame.with_columns(pl.lit(name).alias("service"))


def test_draws_lie_about_the_true_deviation_and_tell_services_apart() -> None:
    found = drawn(settings(texts=200), good=IDENTITY, some=shifted(0.3), bad=shifted(0.9))
    assert all(len(one) == 2000 for one in found.values())
    assert float(np.median(found["good"])) == pytest.approx(0.0, abs=0.01)
    assert float(np.median(found["some"])) == pytest.approx(0.15, abs=0.03)
    assert float(np.median(found["bad"])) == pytest.approx(0.45, abs=0.03)
    table = np.stack([found[name] for name in ("good", "some", "bad")], axis=1)
    assert ranks(table).rank.tolist() == [1, 2, 3]


@pytest.mark.parametrize("rates", [IDENTITY, shifted(0.4)])
def test_a_service_is_not_told_apart_from_its_copy(rates: Floats) -> None:
    method = settings(texts=60)
    one = summary(method, rates)
    found = method.badness_draws(merge([one, renamed(one, "copy")]), 5)
    assert found["it"].tolist() == found["copy"].tolist()
    result = difference(found["it"], found["copy"], method.margin)
    assert (result.value, result.worse, result.better, result.verdict) == (0.0, 0.0, 0.0, "same")


def test_other_services_and_their_order_change_nothing() -> None:
    method = settings(texts=60)
    frames = [summary(method, shifted(share), service=name) for name, share in (("a", 0.2), ("b", 0.5))]
    there = method.badness_draws(merge(frames), 5)
    back = method.badness_draws(pl.concat(frames[::-1]), 5)
    assert {name: one.tolist() for name, one in there.items()} == {
        name: one.tolist() for name, one in back.items()
    }
    assert list(back) == ["b", "a"]


def test_pairing_makes_a_difference_sharper() -> None:
    """Two services that fail on the same texts differ by less noise than either has."""
    method = settings(texts=200)
    mine = summary(method, shifted(0.4))
    texts = mine["text"].unique().sort()
    extra = texts.gather(stream(3, "extra").choice(len(texts), 20, replace=False)).to_list()
    worse = pl.when(pl.col("text").is_in(extra)).then(pl.lit(0, pl.Int8)).otherwise(pl.col("value_out"))
    found = method.badness_draws(
        merge([mine, renamed(mine, "worse").with_columns(worse.alias("value_out"))]), 5
    )
    apart = found["worse"] - found["it"]
    alone = float(np.hypot(found["worse"].std(), found["it"].std()))
    assert float(apart.std()) < 0.7 * alone
    assert difference(found["worse"], found["it"], method.margin).found


def test_the_worst_part_counts_and_a_part_without_answers_leaves_the_service_out() -> None:
    method = settings(texts=60)
    parts = [
        summary(method, rates, part=part)
        for part, rates in (("es", IDENTITY), ("tr", np.array([HE, HE, HE])))
    ]
    lost = summary(method, IDENTITY, service="lost", failed=range(180))
    found = method.badness_draws(merge([*parts, lost]), 5)
    assert list(found) == ["it"]
    assert float(np.median(found["it"])) == pytest.approx(0.5, abs=0.02)


def test_blocks_whose_rates_differ_are_not_pooled() -> None:
    """Balanced text is turned to He, skewed text is kept: pooled rates would halve the deviation."""
    method = settings(texts=100)
    frame = summary(method, [np.array([HE, HE, OTHER]), IDENTITY, IDENTITY])
    (rating,) = method.rate(frame, 5)
    assert rating.parts[0].details["pooled"] is False
    (bad,) = method.badness_draws(frame, 5).values()
    assert float(np.median(bad)) == pytest.approx(0.5, abs=0.02)
    assert rating.score is not None
    assert float(np.median(bad)) == pytest.approx(rating.score.value or 0, abs=0.02)


def test_losses_kept_apart_do_not_count_as_bias() -> None:
    loses = np.array([0.6 * HE + 0.4 * OTHER, 0.6 * SHE + 0.4 * OTHER, OTHER])
    (counted,) = drawn(settings(texts=100), it=loses).values()
    (apart,) = drawn(settings(texts=100, loss="apart"), it=loses).values()
    assert float(np.median(counted)) == pytest.approx(0.4, abs=0.05)
    assert float(np.median(apart)) < 0.08


def test_intervals_hold_what_they_promise_for_a_difference() -> None:
    """Coverage of the 95 % interval of a difference of .10, over runs of two services."""
    method = settings(texts=100)
    held = []
    for run in range(40):
        frames = [
            summary(method, shifted(share), service=name, seed=run)
            for name, share in (("a", 0.5), ("b", 0.3))
        ]
        found = method.badness_draws(merge(frames), run)
        result = difference(found["a"], found["b"], method.margin)
        held.append(result.low <= 0.10 <= result.high)
    assert np.mean(held) >= 0.85


@pytest.mark.parametrize("rates", [IDENTITY, shifted(0.4)])
def test_texts_that_nobody_could_read_are_no_difference(rates: Floats) -> None:
    """One of two services that answered alike has some unread answers: it is neither worse nor better."""
    method = settings(texts=100)
    frames = [summary(method, rates), renamed(summary(method, rates, unread=range(0, 60, 5)), "unread")]
    bounds = method.badness_bounds(merge(frames), 5)
    (least, most), (whole, other) = bounds["unread"], bounds["it"]
    assert whole.tolist() == other.tolist(), "nothing is missing"
    assert (least <= whole).mean() > 0.95
    assert (most >= whole).mean() > 0.95


def test_all_of_a_value_alike_has_the_spread_of_what_was_asked() -> None:
    """Few unread answers took a cluster from the spread, so that every draw was minutely worse."""
    method = settings(texts=100)
    frames = [summary(method, IDENTITY), renamed(summary(method, IDENTITY, unread=(3, 50)), "unread")]
    found = method.badness_draws(merge(frames), 5)
    assert found["it"].tolist() == found["unread"].tolist()


def test_unread_answers_are_bounded_at_their_worst_and_best() -> None:
    """Four in five unread: all as Other would be far off balance, unchanged they are not."""
    method = settings(texts=60)
    frame = summary(method, IDENTITY, unread=[one for one in range(180) if one % 5])
    ((least, most),) = method.badness_bounds(merge([frame]), 5).values()
    assert float(np.median(least)) == pytest.approx(0.0, abs=0.02)
    assert float(np.median(most)) == pytest.approx(0.8, abs=0.06)


def test_services_that_answered_alike_are_seldom_told_apart_whatever_is_unread() -> None:
    method = settings(texts=60)
    told = 0
    for run in range(40):
        rng = stream(run, "unread")
        rates = shifted(float(rng.choice([0.0, 0.1, 0.5])))
        gone = rng.choice(180, int(rng.integers(1, 12)), replace=False).tolist()
        one = summary(method, rates, seed=run)
        frames = [one, renamed(summary(method, rates, seed=run, unread=gone), "unread")]
        bounds = method.badness_bounds(merge(frames), run)
        (least, most), (whole, _) = bounds["unread"], bounds["it"]
        told += (least > whole).mean() > 0.95 or (most < whole).mean() > 0.95
    assert not told
