"""Which parts may change the level of the whole: against every way in which they may turn out."""

from __future__ import annotations

from itertools import product
from typing import get_args

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trustgauge.rating import HowToAggregate, aggregate_levels
from trustgauge.rating.pivotal import pivotal_parts

POSSIBLE = st.lists(st.sets(st.integers(0, 2), min_size=1), min_size=1, max_size=5)
HOW: st.SearchStrategy[HowToAggregate] = st.sampled_from(get_args(HowToAggregate))


@given(POSSIBLE, HOW)
def test_a_part_is_pivotal_if_two_of_its_levels_give_two_of_the_whole(
    possible: list[set[int]], how: HowToAggregate
) -> None:
    expected = []
    for place, own in enumerate(possible):
        outcomes: dict[tuple[int, ...], set[int]] = {}
        for levels in product(*possible):
            rest = levels[:place] + levels[place + 1 :]
            outcomes.setdefault(rest, set()).add(int(aggregate_levels(np.array(levels), how)))
        assert all(len(one) <= len(own) for one in outcomes.values())
        expected.append(any(len(one) > 1 for one in outcomes.values()))
    assert pivotal_parts(possible, how) == expected


@given(POSSIBLE, HOW)
def test_where_no_part_is_pivotal_only_one_level_can_come_out(
    possible: list[set[int]], how: HowToAggregate
) -> None:
    outcomes = {int(aggregate_levels(np.array(levels), how)) for levels in product(*possible)}
    assert any(pivotal_parts(possible, how)) == (len(outcomes) > 1)


def test_many_parts_of_many_levels_may_all_matter() -> None:
    """Too many ways to try: none is left out that may matter."""
    possible: list[set[int]] = [set(range(8))] * 14 + [{0}]
    assert pivotal_parts(possible, "vote") == [True] * 14 + [False]
