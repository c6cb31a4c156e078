"""Looking often: how seldom chance is taken for a change, and how soon a change is noticed."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special
from scipy import stats as reference

from trustgauge.stats import stream
from trustgauge.stats.sequential import LEAST, SEED, lengths, probit, scan, threshold

Floats = NDArray[np.float64]


def naive(scores: list[float], sizes: list[float]) -> tuple[float, int]:
    """The scan, written as it is explained."""
    found = []
    for last in (1, 2, 4, 8, 16):
        if last < len(scores):
            truth = [score / math.sqrt(size) for score, size in zip(scores, sizes, strict=True)]
            early, late = slice(None, -last), slice(-last, None)
            apart = np.average(truth[late], weights=sizes[late]) - np.average(
                truth[early], weights=sizes[early]
            )
            error = math.sqrt(1 / sum(sizes[early]) + 1 / sum(sizes[late]))
            found.append((float(apart / error), last))
    return max(found)


@pytest.mark.parametrize("looks", [2, 3, 7, 20])
def test_scan_is_what_it_is_explained_to_be(looks: int) -> None:
    rng = np.random.default_rng(looks)
    scores, sizes = rng.standard_normal(looks).tolist(), rng.integers(50, 900, looks).tolist()
    height, last = naive(scores, sizes)
    found = scan(scores, sizes)
    assert found.height == pytest.approx(height)
    assert found.last == last


def test_two_equal_looks_are_compared_as_two_samples_are() -> None:
    assert scan([-1.0, 2.0], [300, 300]).height == pytest.approx(3 / math.sqrt(2))


def test_what_stays_the_same_is_no_step_however_precise_the_looks_become() -> None:
    sizes = [100, 400, 1600]
    assert scan([2 * math.sqrt(size / 100) for size in sizes], sizes).height == pytest.approx(0)


def test_probit_with_few_clusters_is_that_of_the_t_test() -> None:
    sample = np.random.default_rng(3).normal(0.2, 1, 12)
    normal = sample.mean() / (sample.std() / math.sqrt(12))  # what many resamples of it come to
    p = reference.ttest_1samp(sample, 0, alternative="greater").pvalue
    assert probit(special.ndtr(normal), 12) == pytest.approx(-special.ndtri(p))
    assert probit(0.5, 12) == 0
    assert probit(0.02, 12) == pytest.approx(-probit(0.98, 12))


def test_no_share_is_certain() -> None:
    assert probit(1.0) == probit(0.9995) == -probit(0.0) == pytest.approx(3.0902, abs=1e-4)


def test_lengths_double_and_leave_one_look() -> None:
    assert [list(lengths(n)) for n in (1, 2, 3, 9)] == [[], [1], [1, 2], [1, 2, 4, 8]]


def reached(scores: Floats, sizes: Floats, height: float) -> Floats:
    """Whether each watch [W, N] shows a step up or down at any look."""
    return np.array(
        [
            any(
                max(scan(row[:now], sizes[:now]).height, scan(-row[:now], sizes[:now]).height) >= height
                for now in range(2, len(row) + 1)
            )
            for row in scores
        ]
    )


@pytest.mark.parametrize(("looks", "error"), [(2, 0.05), (12, 0.05), (12, 0.25)])
def test_chance_reaches_the_threshold_as_seldom_as_allowed(looks: int, error: float) -> None:
    scores = np.random.default_rng(looks).standard_normal((1500, looks))
    share = reached(scores, np.ones(looks), threshold(looks, error)).mean()
    spread = 3 * math.sqrt(error * (1 - error) / 1500)
    assert error - spread < share < error + spread


def test_two_looks_need_what_a_two_sample_test_needs() -> None:
    assert threshold(2, 0.05) == pytest.approx(1.96, abs=0.03)


@pytest.mark.parametrize("truth", [0.0, 1.5, 4.0])
def test_looks_of_unequal_size_are_no_change(truth: float) -> None:
    rng = np.random.default_rng(8)
    sizes = rng.choice([100.0, 200.0, 1600.0], 12)
    scores = rng.standard_normal((1000, 12)) + truth * np.sqrt(sizes / 100)
    assert reached(scores, sizes, threshold(12, 0.05)).mean() <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 1000)


def test_an_error_that_simulation_cannot_tell_is_refused() -> None:
    with pytest.raises(ValueError, match="too small"):
        threshold(12, 1e-6)


def detection_by_look(
    shift: float, before: int, after: Sequence[int], height: float, *, paths: int = 4000
) -> Floats:
    """Share of watches that have noticed a change after so many looks since it.

    The cut lies in the middle of the change, and both levels must be settled at .95 (methods 0.5), as
    where a rating is announced.

    Args:
        shift: how far the probit moves: the change in standard errors of one look.
        before: looks before the change.
        after: looks since the change at which the share is told, in rising order.
        height: the threshold.
        paths: simulated watches.
    """
    looks = before + after[-1]
    rng = stream(SEED, "power", before, looks, round(1000 * shift))
    true = np.where(np.arange(looks) < before, -shift / 2, shift / 2)
    most = -special.ndtri(LEAST)
    scores = np.clip(rng.standard_normal((paths, looks)) + true, -most, most)
    settled = special.ndtri(0.95)
    first = np.full(paths, looks + 1)
    equal = np.ones(looks)
    for path, row in enumerate(scores):
        known = np.flatnonzero(row[:before] <= -settled)
        for now in range(before, looks) if known.size else ():
            if row[now] >= settled and scan(row[: now + 1], equal[: now + 1]).height >= height:
                first[path] = now + 1 - before
                break
    return np.array([(first <= count).mean() for count in after])


def test_large_changes_are_noticed_sooner_than_small_ones() -> None:
    height = threshold(12, 0.025)
    shares: list[Any] = [detection_by_look(shift, 4, (1, 2, 4), height, paths=400) for shift in (3.0, 6.0)]
    small, large = shares
    assert (np.diff(small) >= 0).all()
    assert (large > small).all()
    assert large[0] > 0.8


@pytest.mark.parametrize("looks", [12, 52])
def test_the_power_in_the_guide_is_what_simulation_gives(looks: int) -> None:
    page = (Path(__file__).parents[2] / "docs/guide/watch.md").read_text("utf-8")
    (table,) = re.findall(rf"^{looks} looks, .*?:\n\n\|.*?\n\|.*?\n((?:\|.*?\n)+)", page, re.M)
    rows = [[int(cell) for cell in line.strip("|").split("|")] for line in table.splitlines()]
    assert [row[0] for row in rows] == [3, 4, 5, 6]
    height = threshold(looks, 0.05 / 2)  # three levels have two cuts
    for shift, *one in rows:
        assert (100 * detection_by_look(shift, 4, (1, 2, 4, 8), height)).tolist() == pytest.approx(one, abs=1)
