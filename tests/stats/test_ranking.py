"""Ranks of systems and their differences, against naive code."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from trustgauge.stats import stream
from trustgauge.stats.ranking import difference, ranks

X = math.inf


def test_systems_that_cannot_be_told_apart_share_a_rank() -> None:
    rng = stream(1, "ranks")
    centre = np.array([0.30, 0.10, 0.11, 0.90, 0.105])
    found = ranks(centre + rng.normal(0, 0.02, (2000, 5)))
    assert found.rank.tolist() == [4, 1, 1, 5, 1]
    assert [found.as_text(one) for one in range(5)] == ["4", "=1", "=1", "5", "=1"]
    assert found.low.tolist() == [4, 1, 1, 5, 1]
    assert found.high.tolist() == [4, 3, 3, 5, 3]
    assert found.tied[1, 2]
    assert not found.tied[0, 1]
    assert found.worse[0, 1] == 1.0
    assert found.worse[1, 0] == 0.0
    assert found.worse[1, 2] + found.worse[2, 1] == pytest.approx(1.0)


def test_equal_scores_and_equal_x_are_tied_and_x_is_worse_than_any_number() -> None:
    found = ranks(np.tile([0.2, X, 0.2, X, 0.1 + 0.1], (100, 1)))
    assert found.rank.tolist() == [1, 4, 1, 4, 1]
    assert found.low.tolist() == found.high.tolist() == [1, 4, 1, 4, 1]
    assert found.worse[1].tolist() == [1, 0, 1, 0, 1]
    assert found.worse[3, 1] == 0
    assert not found.worse[[0, 2, 4]].any()


def test_what_follows_from_two_sure_statements_is_taken_for_sure() -> None:
    """P(b worse than a) and P(c worse than b) are .96, P(c worse than a) is .92: c stands behind both."""
    below = np.tile([1.0, 2.0, 3.0], (920, 1))
    swaps = np.concatenate([np.tile([2.5, 2.0, 2.2], (40, 1)), np.tile([2.5, 3.0, 2.2], (40, 1))])
    table = np.concatenate([below, swaps])
    found = ranks(table)
    assert found.worse[1, 0] == pytest.approx(0.96)
    assert found.worse[2, 1] == pytest.approx(0.96)
    assert found.worse[2, 0] == pytest.approx(0.92)
    assert found.tied[0, 2]
    assert found.rank.tolist() == [1, 2, 3]
    assert not found.shared.any()


@given(
    table=st.lists(
        st.lists(st.sampled_from([0.0, 0.1, 0.5, 1.0, X]), min_size=4, max_size=4), min_size=1, max_size=12
    ),
    threshold=st.sampled_from([0.55, 0.75, 0.95]),
)
def test_ranks_equal_their_definition(table: list[list[float]], threshold: float) -> None:
    found = ranks(table, beyond_doubt=threshold)
    for a, b in itertools.product(range(4), repeat=2):
        assert found.worse[a, b] == pytest.approx(np.mean([row[a] > row[b] for row in table]))
        assert found.tied[a, b] == (found.worse[a, b] <= threshold and found.worse[b, a] <= threshold)
    assume(not (found.worse + found.worse.T > threshold).any() or not _circular(found.worse > threshold))
    for a, b in itertools.product(range(4), repeat=2):
        if found.worse[a, b] > threshold:
            assert found.rank[a] > found.rank[b]
    places = np.array([[1 + sum(other < one for other in row) for one in row] for row in table])
    assert (found.low >= places.min(axis=0)).all()
    assert (found.high <= places.max(axis=0)).all()
    assert (found.low <= np.median(places, axis=0)).all()
    assert (np.median(places, axis=0) <= found.high).all()


def _circular(worse: NDArray[np.bool_]) -> bool:
    reach = worse.copy()
    for _ in range(len(worse)):
        reach = reach | ((reach.astype(int) @ worse.astype(int)) > 0)
    return bool(np.diagonal(reach).any())


def test_statements_in_a_circle_separate_nobody() -> None:
    """Each of three is worse than the next in two of three resamples."""
    found = ranks([[1.0, 2.0, 3.0], [2.0, 3.0, 1.0], [3.0, 1.0, 2.0]], beyond_doubt=0.6)
    assert found.rank.tolist() == [1, 1, 1]
    assert found.shared.all()


def test_undefined_resamples_are_left_out() -> None:
    found = ranks([[1.0, 2.0], [math.nan, 0.0], [1.0, 3.0]])
    assert found.worse.tolist() == [[0.0, 0.0], [1.0, 0.0]]
    with pytest.raises(ValueError, match="no resample"):
        ranks([[math.nan, 1.0]])


SCORES = st.lists(
    st.tuples(st.sampled_from([0.0, 0.1, 0.3, 0.9]), st.sampled_from([0.0, 0.1, 0.3, 0.9])), min_size=1
)


@given(pairs=SCORES)
def test_a_difference_is_antisymmetric(pairs: list[tuple[float, float]]) -> None:
    first, second = np.array(pairs).T
    there, back = difference(first, second, 0.1), difference(second, first, 0.1)
    assert there.worse == back.better == pytest.approx(np.mean([a > b for a, b in pairs]))
    assert there.better == back.worse
    assert there.value == pytest.approx(-back.value)
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low))
    assert (there.found, there.verdict) == (back.found, back.verdict)


def test_verdicts_follow_the_margin_and_not_different_is_not_same() -> None:
    noise = stream(2, "noise").normal(0, 0.01, 4000)
    zero = np.zeros(4000)
    assert difference(noise, zero, 0.05).verdict == "same"
    assert difference(noise + 0.2, zero, 0.05).verdict == "different"
    assert difference(3 * noise + 0.05, zero, 0.05).verdict == "undetermined"
    near = difference(noise + 0.03, zero, 0.10)
    assert (near.verdict, near.found) == ("same", True)
    assert difference(noise, zero, None).verdict is None
    assert difference(zero, zero, 0.05).verdict == "same"
    assert difference([1.0, math.nan], [0.5, 0.1], 0.1).worse == 1.0
    with pytest.raises(ValueError, match="no resample"):
        difference([math.nan], [1.0], 0.1)
