"""Orders and levels of systems, against naive code and simulation."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr

from trustgauge.methods.causal.ordering import (
    Floats,
    absolute_levels,
    bias_of_maximum,
    complete_order,
    partial_order,
)
from trustgauge.records import Rule
from trustgauge.stats import stream

X = math.inf  # what the paper prints for a division by zero
SCORES = st.dictionaries(st.sampled_from("abcdefghij"), st.integers(0, 6).map(float), min_size=1)
CUTS = (0.05, 0.20)


# -- orders ----------------------------------------------------------------------------------


def test_partial_order_keeps_ties_together_and_x_last() -> None:
    raw = {"a": 7.2, "b": X, "c": 0.0, "d": 23.0, "e": 0.0, "f": X}
    assert partial_order(raw) == [["c", "e"], ["a"], ["d"], ["b", "f"]]


def test_scores_that_differ_by_rounding_are_tied() -> None:
    assert partial_order({"a": 0.1 + 0.2, "b": 0.3, "c": 0.3 + 1e-6}) == [["b", "a"], ["c"]]


def test_a_system_without_a_score_has_no_place() -> None:
    raw = {"a": None, "b": math.nan, "c": 1.0, "d": 0.0}
    assert partial_order(raw) == [["d"], ["c"]]
    assert complete_order(raw, 3, "sound") == {"d": 1, "c": 3}
    assert complete_order({"a": None}, 3, "sound") == {}


@pytest.mark.parametrize(
    ("scores", "ratings"),
    [
        ([5.0], [1]),
        ([5.0, 5.0, 5.0], [1, 1, 1]),
        ([0.0, 2.4], [1, 3]),
        ([0.0, 0.0, 1.4, 2.4], [1, 1, 2, 3]),
        ([1.0, 2.0, 3.0, 4.0], [1, 1, 2, 3]),
        ([1.0, 2.0, 3.0, 4.0, 5.0], [1, 1, 2, 2, 3]),
        ([0.0, 62.5, 80.0, 80.0, X, 105.4], [1, 1, 2, 2, 3, 2]),
    ],
)
def test_complete_order_of_three_levels(scores: list[float], ratings: list[int]) -> None:
    raw = dict(zip("abcdef", scores, strict=False))
    rules: tuple[Rule, ...] = ("sound", "published")
    for rule in rules:
        found = complete_order(raw, 3, rule)
        assert [found[name] for name in raw] == ratings


def test_too_few_scores_give_the_worst_the_last_level() -> None:
    assert complete_order({"a": 1.0, "b": 2.0, "c": 3.0}, 5, "sound") == {"a": 1, "b": 2, "c": 5}


def test_released_order_splits_repeated_scores_too() -> None:
    raw = {"a": 0.0, "b": 0.0, "c": 0.0, "d": 0.0, "e": 1.0, "f": 2.0}
    # Runs of two: 0 0, 0 0, 1 2. The first run that holds 0 is the first, that of 1 and 2 the third.
    assert complete_order(raw, 3, "released") == {"a": 1, "b": 1, "c": 1, "d": 1, "e": 3, "f": 3}
    assert complete_order(raw, 3, "sound") == {"a": 1, "b": 1, "c": 1, "d": 1, "e": 2, "f": 3}


@given(raw=SCORES, levels=st.integers(2, 6))
def test_complete_order_is_that_of_numpy_on_distinct_scores(raw: dict[str, float], levels: int) -> None:
    found = complete_order(raw, levels, "sound")
    distinct = np.unique(list(raw.values()))
    runs = [set(run.tolist()) for run in np.array_split(distinct, levels)]
    for name, score in raw.items():
        expected = 1 + next(place for place, run in enumerate(runs) if score in run)
        if 1 < len(distinct) < levels and score == distinct[-1]:
            expected = levels
        assert found[name] == expected
    for first, second in itertools.product(raw, repeat=2):
        if raw[first] <= raw[second]:
            assert found[first] <= found[second]


@given(raw=SCORES, levels=st.integers(2, 6))
def test_released_order_is_the_first_run_that_holds_the_score(raw: dict[str, float], levels: int) -> None:
    runs = [run.tolist() for run in np.array_split(sorted(raw.values()), levels)]
    expected = {
        name: 1 + next(place for place, run in enumerate(runs) if score in run) for name, score in raw.items()
    }
    assert complete_order(raw, levels, "released") == expected


# -- absolute levels -------------------------------------------------------------------------


def test_absolute_levels_are_read_at_the_cuts() -> None:
    effects = [[0.0, 0.049, 0.05], [0.199, 0.20, 0.9]]
    assert absolute_levels(effects, 0.0, CUTS).tolist() == [[0, 0, 1], [1, 2, 2]]
    assert absolute_levels([0.05, 0.15 - 1e-12, 0.3], 0.05, CUTS).tolist() == [0, 1, 2]
    assert absolute_levels([0.01], 0.3, CUTS).tolist() == [0]
    with pytest.raises(ValueError, match="undefined"):
        absolute_levels([0.1, math.nan], 0.0, CUTS)


def _rated(truth: Floats, error: float, runs: int, *, tested: bool) -> Counter[int]:
    """Levels rated (certainty .95 or more) of effects that are measured with this standard error."""
    found: Counter[int] = Counter()
    for run in range(runs):
        rng = stream(run, "levels")
        seen = truth + rng.normal(0, error, len(truth))
        drawn = np.abs(seen + rng.normal(0, error, (1000, len(truth)))).max(axis=1)
        effect = float(np.abs(seen).max())
        shares = np.bincount(absolute_levels(drawn, bias_of_maximum(drawn, effect), CUTS), minlength=3) / 1000
        level = int(shares.argmax())
        p = 1 - (2 * ndtr(effect / error) - 1) ** len(truth)
        if shares[level] >= 0.95 and (level == 0 or not tested or p < 0.05):
            found[level] += 1
    return found


def test_null_effects_are_rarely_rated_some_and_rarer_with_the_test() -> None:
    """Fifteen null effects with a standard error of .05: 11 % of runs without the test, 1 % with it."""
    runs = 600
    without = _rated(np.zeros(15), 0.05, runs, tested=False)
    tested = _rated(np.zeros(15), 0.05, runs, tested=True)
    assert (without[1] + without[2]) / runs == pytest.approx(0.11, abs=0.05)
    assert (tested[1] + tested[2]) / runs <= 0.03


@pytest.mark.parametrize(("effect", "level", "bound"), [(0.0, 0, 0.07), (0.12, 1, 0.07), (0.35, 2, 0.07)])
def test_wrong_levels_are_rare_off_the_cuts(effect: float, level: int, bound: float) -> None:
    for error in (0.01, 0.03):
        truth = np.concatenate([[effect], np.zeros(14)])
        found = _rated(truth, error, 200, tested=True)
        wrong = sum(times for name, times in found.items() if name != level)
        assert wrong / 200 <= bound
        assert sum(found.values()) > 0


@pytest.mark.parametrize(("cut", "error"), [(0.05, 0.005), (0.05, 0.01), (0.20, 0.01), (0.20, 0.03)])
@pytest.mark.parametrize("others", [0, 14])
def test_wrong_levels_on_a_cut_are_not_frequent(cut: float, error: float, others: int) -> None:
    """Where the standard error is a fifth of the cut or less; with a larger one there are more."""
    runs = 1000
    found = _rated(np.concatenate([[cut], np.zeros(others)]), error, runs, tested=True)
    assert found[CUTS.index(cut)] / runs <= 0.12
