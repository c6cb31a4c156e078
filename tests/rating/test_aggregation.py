"""The rating kernel against its definitions: levels, aggregation over parts, readings of missing data."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trustgauge.rating import (
    Aggregation,
    HowToAggregate,
    Levels,
    MissingCell,
    PartResult,
    aggregate_levels,
    aggregate_parts,
    cap_certainty,
    cell_reasons,
    class_reasons,
    fewest_that_suffice,
    joint_shares,
    leading_parts,
    least_certain,
    least_share,
    level_shares,
    missing_answer_reasons,
    most_likely,
    worst_draws,
)
from trustgauge.records import Part

HOWS: tuple[HowToAggregate, ...] = ("worst", "mean", "vote")
NAMES = ("L", "M", "H")


def result(levels: list[int] | None, settle: float = 0.95) -> PartResult:
    if levels is None:
        return PartResult(Part("lost", "incomplete"), None)
    drawn = np.array(levels)
    shares = level_shares(drawn)
    place = most_likely(drawn)
    state = "rated" if shares[place] >= settle else "not settled"
    certainty = dict(zip(NAMES, shares.tolist(), strict=True))
    return PartResult(Part("a", state, level=NAMES[place], certainty=certainty), drawn)  # type: ignore[arg-type]


@given(table=st.lists(st.lists(st.integers(0, 4), min_size=3, max_size=3), min_size=1, max_size=8))
def test_aggregates_equal_their_definitions(table: list[list[int]]) -> None:
    levels = np.array(table)
    assert aggregate_levels(levels, "worst").tolist() == [max(row) for row in table]
    assert aggregate_levels(levels, "mean").tolist() == [-(-sum(row) // 3) for row in table]
    votes = [max(Counter(row).items(), key=lambda pair: (pair[1], pair[0]))[0] for row in table]
    assert aggregate_levels(levels, "vote").tolist() == votes


def test_aggregates_of_levels_counted_from_1_are_one_higher() -> None:
    levels = np.array([0, 1, 1, 2])
    for how in HOWS:
        assert aggregate_levels(levels + 1, how) == aggregate_levels(levels, how) + 1


@given(
    parts=st.lists(st.lists(st.integers(0, 2), min_size=8, max_size=8), min_size=1, max_size=3),
    missing=st.integers(0, 2),
    how=st.sampled_from(HOWS),
)
def test_missing_parts_never_make_a_level_surer(
    parts: list[list[int]], missing: int, how: HowToAggregate
) -> None:
    rule = Aggregation(NAMES, how, 0.95)
    drawn: list[Levels] = [np.array(one) for one in parts]
    shares = joint_shares(drawn, rule, missing)
    assert shares.sum() == pytest.approx(1)
    for level in range(3):
        filled = joint_shares([*drawn, *[np.full(8, level)] * missing], rule)
        assert shares.max() <= filled.max() + 1e-12


def test_a_missing_part_is_made_up_for_only_where_the_level_is_sure() -> None:
    rule = Aggregation(NAMES, "worst", 0.95)
    worst, best, lost = result([2] * 20), result([0] * 20), result(None)
    assert aggregate_parts([worst, lost], rule).level == "H"
    assert aggregate_parts([best, lost], rule).state == "incomplete"
    unsure = result([2] * 12 + [0] * 8)
    assert aggregate_parts([unsure, lost], rule).level == "H"
    by_rated = Aggregation(NAMES, "worst", 0.95, by_rated=True)
    assert aggregate_parts([unsure, lost], by_rated).state == "incomplete"
    assert aggregate_parts([worst, lost], by_rated).level == "H"


def test_many_half_certain_parts_are_not_settled() -> None:
    parts = [
        result(np.random.default_rng(place).permutation([0] * 97 + [2] * 3).tolist()) for place in range(9)
    ]
    assert all(one.part.state == "rated" for one in parts)
    overall = aggregate_parts(parts, Aggregation(NAMES, "worst", 0.95))
    assert (overall.level, overall.state) == ("L", "not settled")
    assert aggregate_parts(parts, Aggregation(NAMES, "vote", 0.95)).state == "rated"
    assert aggregate_parts(parts, Aggregation(NAMES, "vote", 0.95), lambda place: True).state == "not settled"
    assert [one.key for one in leading_parts([one.part for one in parts], "H")] == ["a"]


def test_a_cap_leaves_the_rest_to_the_other_levels() -> None:
    capped = cap_certainty({"L": 1.0, "M": 0.0, "H": 0.0}, "L", 0.9)
    assert capped == pytest.approx({"L": 0.9, "M": 0.05, "H": 0.05})
    assert cap_certainty({"L": 0.5, "M": 0.5}, "L", 0.9) == {"L": 0.5, "M": 0.5}


def test_readings_of_missing_data_must_agree() -> None:
    levels, unsure = np.array([0] * 10), np.array([0] * 6 + [1] * 4)
    assert least_certain(0, levels, [(0, unsure), (0, levels)]) is unsure
    assert least_certain(0, levels, [(0, unsure), (1, levels)]) is None
    assert least_certain(0, levels, [(None, levels)]) is None


@given(st.integers(1, 40), st.integers(1, 40))
def test_bisection_finds_the_fewest(most: int, needed: int) -> None:
    assert fewest_that_suffice(most, lambda number: number >= needed) == min(most, needed)


def test_the_worst_part_counts_in_each_resample() -> None:
    assert worst_draws([np.array([0.1, 0.5]), np.array([0.3, 0.2, 0.9])]).tolist() == [0.3, 0.5]


def test_too_many_missing_answers_are_named() -> None:
    assert not list(missing_answer_reasons(MissingCell("all", 2, 100)))
    assert [one.facts["missing"] for one in missing_answer_reasons(MissingCell("all", 3, 100))] == [3]
    cells = [MissingCell("a", 6, 100), MissingCell("b", 9, 100), MissingCell("c", 5, 100)]
    (worst,) = cell_reasons(cells)
    assert (worst.facts["where"], worst.facts["cells"]) == ("b", 2)
    (apart,) = class_reasons(MissingCell("He", 1, 400), MissingCell("She", 20, 400))
    assert (apart.facts["where"], apart.facts["against"]) == ("She", "He")
    assert not list(class_reasons(MissingCell("He", 1, 400), MissingCell("She", 8, 400)))


@given(
    may=st.lists(st.integers(0, 2).flatmap(lambda top: st.tuples(st.booleans(), st.just(top))), max_size=4),
    settled=st.lists(st.integers(0, 2), min_size=1, max_size=3),
    missing=st.integers(0, 1),
    how=st.sampled_from(HOWS),
)
def test_a_level_hangs_on_open_parts_if_some_levels_of_theirs_give_another(
    may: list[tuple[bool, int]], settled: list[int], missing: int, how: HowToAggregate
) -> None:
    """Against every way in which they may turn out: anything, or what is no worse than they are."""
    rule = Aggregation(NAMES, how, 0.95)
    known = [result([one] * 5) for one in settled]
    unknown = [result([top] * 5) for _, top in may] + [result(None)] * missing
    ranges = [range(3 if any_ else top + 1) for any_, top in may] + [range(3)] * missing
    levels = {id(one): those for one, those in zip(unknown, ranges, strict=True)}
    ways = product(*ranges)
    outcomes = {int(aggregate_levels(np.array([*settled, *way]), how)) for way in ways}
    for place in range(3):
        share = least_share([*known, *unknown], rule, place, lambda one: levels.get(id(one), ()))
        assert share == (1.0 if outcomes == {place} else 0.0)


def test_parts_without_spread_cap_the_certainty_only_of_a_level_that_they_may_change() -> None:
    none, strong = result([0] * 20), result([2] * 20)
    capped = PartResult(none.part, none.levels, most=0.9)
    overall = aggregate_parts([strong, capped], Aggregation(NAMES, "worst", 0.95))
    assert (overall.level, overall.state, overall.certainty["H"]) == ("H", "rated", 1.0)
    overall = aggregate_parts([none, capped], Aggregation(NAMES, "worst", 0.95))
    assert (overall.level, overall.state, overall.certainty["L"]) == ("L", "not settled", 0.9)
    assert aggregate_parts([none, none, capped], Aggregation(NAMES, "vote", 0.95)).state == "rated"
    assert aggregate_parts([none, none, capped], Aggregation(NAMES, "mean", 0.95)).state == "not settled"
