"""What changed between two runs, by ratings of our own.

Ratings are paired by their methods: the same resamples of both give the difference, as in `compare`. The
ratings of one comparison are one family, corrected by Holm (methods 0.7).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from trustgauge.errors import PlanError
from trustgauge.methods import GapBounder, Growth, GrowthFinder, ServiceComparer
from trustgauge.reports.comparison_model import (
    NO_DIFFERENCE,
    OTHER_TEXTS,
    DifferenceEntry,
    PairedRatings,
    RatingDifference,
)
from trustgauge.reports.document_model import PartEntry
from trustgauge.run.comparison import GroupDraws, gaps_of, group_draws, pair_difference
from trustgauge.run.paired_results import ERROR, LOST, MARGIN, SCHEMA
from trustgauge.run.rating_diff import diff_ratings
from trustgauge.run.rating_verdict import (
    SIDES,
    compare_issues,
    comparison_obstacle,
    decide,
    is_same_scale,
)
from trustgauge.run.stored_ratings import RowBuilder, StoredRating, select_runs, stored_ratings
from trustgauge.run.targets import experiment_seed
from trustgauge.stats.comparisons import holm
from trustgauge.stats.distributions import Floats
from trustgauge.stats.ranking import EQUAL

DRAWN = 4
"""Draws that a small p needs, times the tests over their error. With none against it 2 would do."""
Pair: TypeAlias = tuple[StoredRating, StoredRating]


def compare_ratings(
    ratings: Path, before: str, after: str, today: date, error: float = ERROR, margin: float = MARGIN
) -> PairedRatings:
    """The paired differences of the ratings of two runs.

    Ratings are pairs if they are of one method, rule and attribute, and of one service, or if each run has
    only one service. They can be subtracted only if the same was asked of both; settled levels are compared
    whatever was asked, see `rating_verdict`.

    Args:
        ratings: folder of all runs.
        before: id of a run or rating, the baseline.
        after: id of what is compared with it.
        today: for what has expired.
        error: of the family of all ratings, two-sided.
        margin: how much higher the score of an issue may be, of a method that gives no difference.

    Raises:
        PlanError: there is no such rating, or no two can be paired.
    """
    sides = [_stored(ratings, name) for name in (before, after)]
    single = all(len({one.service for one in side}) == 1 for side in sides)
    pairs = _pairs(sides[0], sides[1], single=single)
    if not pairs:
        what = "no rating is of the same method, rule, attribute and service as one of the other run"
        raise PlanError.of(after, what, must=f"a run like {before}")
    rows = RowBuilder(None, today)
    found = [_rating_pair(one, other, rows, error) for one, other in pairs]
    same_scale = [is_same_scale(*pair) for pair in pairs]
    _add_growth(pairs, found)
    _correct(pairs, found, error)
    for one in found:
        if one["p_holm"] is not None and one["p_holm"] <= error:
            one["basis"] = "growth" if one["growth"] else "figure"
            one["verdict"] = "worse" if one["growth"] or (one["difference"] or 0.0) > 0 else "better"
    for one, (old, new), same in zip(found, pairs, same_scale, strict=True):
        doubted = not (old.why or new.why) and bool(comparison_obstacle(old, new))
        if same and one["why"] == NO_DIFFERENCE:
            one["issues"] = compare_issues(old.rating, new.rating, margin)
        decided = decide(one, same_scale=same, error=error, doubted=doubted)
        one["verdict"], one["basis"] = decided.verdict, decided.basis
    return {
        "schema": SCHEMA,
        "kind": "ratings",
        "before": {"name": before},
        "after": {"name": after},
        "error": error,
        "ratings": found,
    }


def _add_growth(pairs: Sequence[Pair], found: Sequence[RatingDifference]) -> None:
    """Add to ratings without a difference what is recognised more often."""
    known: dict[tuple[int, str], Growth | None] = {}
    for pair, one in zip(pairs, found, strict=True):
        if one["why"] == NO_DIFFERENCE:
            name = _service(pair)
            if name not in known:
                known[name] = _growth(*pair)
            _note_growth(one, known[name])
            if one["growth"]:
                one["labels"] = sum(side.labels for side in pair)


def _service(pair: Pair) -> tuple[int, str]:
    return pair[1].experiment, pair[1].service


def _correct(pairs: Sequence[Pair], found: Sequence[RatingDifference], error: float) -> None:
    """Correct the p of all tests: what the ratings of one service for several profiles share is one.

    A p is no smaller than its draws allow. Where it might do alone, but not among so many tests, as many are
    drawn as it takes.
    """
    tests: dict[Hashable, list[int]] = {}
    ps: dict[Hashable, float] = {}
    for place, (pair, one) in enumerate(zip(pairs, found, strict=True)):
        if one["p"] is not None:
            test: Hashable = _service(pair) if one["growth"] else place
            tests.setdefault(test, []).append(place)
            ps[test] = one["p"]
    for test, (place, *_) in tests.items():
        if ps[test] <= error < ps[test] * len(tests):
            ps[test] = _p_of_more(pairs[place], found[place], math.ceil(DRAWN * len(tests) / error))
    for test, p_holm in zip(ps, holm(list(ps.values())) if ps else (), strict=True):
        for place in tests[test]:
            found[place]["p"], found[place]["p_holm"] = ps[test], float(p_holm)


def _p_of_more(pair: Pair, one: RatingDifference, least: int) -> float:
    """The p of at least so many draws."""
    if one["growth"]:
        growth = _growth(*pair, least)
        return 1.0 if growth is None else _p_of_growth(growth)
    return _two_sided(*_apart(*pair, group_draws(pair, least)))


def _growth(before: StoredRating, after: StoredRating, least: int = 0) -> Growth | None:
    """What is recognised more often of the same texts, where next to nothing of either run is missing."""
    method = after.method
    if before.key != after.key or not isinstance(method, GrowthFinder):
        return None
    if any(map(_lacks_much, (before, after))):
        return None
    then, now = (after.method.summarise(one.marks) for one in (before, after))
    seed = experiment_seed(after.run.plan.seed, after.experiment)
    found = method.growth(then, now, seed)
    while found is not None and 0 < len(found.draws) < least:
        seed += 1
        more = method.growth(then, now, seed)
        found = more and found._replace(draws=np.concatenate([found.draws, more.draws]))
    return found


def _p_of_growth(growth: Growth) -> float:
    """Two-sided, of no growth; 1 if there seems to be none."""
    return min(1.0, 2 * (1 + int((growth.draws <= 0).sum())) / (1 + len(growth.draws)))


def _note_growth(one: RatingDifference, growth: Growth | None) -> None:
    """Add a growth to two ratings that rest on its part."""
    rating = one["after"]["rating"]
    if growth is None or all(growth.part not in place for place in rating["details"].get("order", ())):
        return
    part = next(part for part in rating["parts"] if part["key"] == growth.part)
    if _is_denied(part, growth):
        return
    (before, n_before), (after, n) = growth.before, growth.after
    one["growth"] = {"title": part["title"], "before": before, "n_before": n_before, "after": after, "n": n}
    one["p"] = _p_of_growth(growth)


def _is_denied(part: PartEntry, growth: Growth) -> bool:
    """Whether people who labelled the later run do not find more than was recognised in the earlier one."""
    audited = any(one["code"] == "instrument-audited" for one in part["reasons"])
    return audited and (part["low"] is None or part["low"] <= growth.score_before)


def _stored(ratings: Path, name: str) -> list[StoredRating]:
    return [one for run in select_runs(ratings, (name,)) for one in stored_ratings(run)]


def _pairs(first: Sequence[StoredRating], second: Sequence[StoredRating], *, single: bool) -> list[Pair]:
    def identity(one: StoredRating) -> tuple[object, ...]:
        method, issue = one.rating["method"], one.rating["issue"]["attribute"]
        return (method["name"], method["rule"], str(issue), one.experiment, "" if single else one.service)

    known = {identity(one): one for one in first}
    return [(known[identity(one)], one) for one in second if identity(one) in known]


def _rating_pair(
    before: StoredRating, after: StoredRating, rows: RowBuilder, error: float
) -> RatingDifference:
    """Two ratings: their levels, the difference of badness (after minus before), and the flipped rows."""
    difference: DifferenceEntry | None = None
    draws = GroupDraws({})
    why = before.why or after.why
    if not why and before.key != after.key:
        # The texts of a method without differences need not be the same: no others would give one.
        alike = before.settings == after.settings and not isinstance(after.method, ServiceComparer)
        why = NO_DIFFERENCE if alike else OTHER_TEXTS
    why = why or comparison_obstacle(before, after)
    if not why:
        draws = group_draws([before, after])
        difference = pair_difference(after, before, draws)
        why = "" if difference else _why_no_difference(before, after, draws)
    diff = diff_ratings(before, after, rows.row, difference) if not (before.why or after.why) else None
    found: RatingDifference = {
        "before": rows.row(before),
        "after": rows.row(after),
        "why": why,
        "verdict": "undetermined",
        "basis": "figure",
        "issues": None,
        "growth": None,
        "readings": diff["readings"] if diff else None,
        "difference": None,
        "low": None,
        "high": None,
        "p": None,
        "p_holm": None,
        "labels": 0,
    }
    if difference is not None:
        found["labels"] = before.labels + after.labels
        found["difference"], found["low"], found["high"] = (
            difference["difference"],
            difference["low"],
            difference["high"],
        )
        figure = _figure(before, after, draws, error)
        found["p"], found["verdict"], found["basis"] = figure.p, figure.verdict, figure.basis
    return found


@dataclass(frozen=True, slots=True)
class _Figure:
    """What the figure of a pair says by itself."""

    p: float
    verdict: str
    basis: Literal["figure", "gaps"]


def _figure(before: StoredRating, after: StoredRating, draws: GroupDraws, error: float) -> _Figure:
    """The p of the difference, and whether it is the same; both whatever missing and unread answers say.

    Where a method cannot bound them, more than 2 % of a side leave everything open.
    """
    if not isinstance(after.method, GapBounder) and any(map(_lacks_much, (before, after))):
        return _Figure(1.0, "undetermined", "gaps")
    bounded, as_read = (
        (_two_sided(*_apart(before, after, one)), pair_difference(after, before, one))
        for one in (draws, replace(draws, ends={}))
    )
    p, same, seen_same = (
        bounded[0],
        *(one is not None and one["verdict"] == "same" for _, one in (bounded, as_read)),
    )
    if same:
        return _Figure(p, "same", "figure")
    seen = seen_same or as_read[0] <= error
    return _Figure(p, "undetermined", "gaps" if seen and p > error else "figure")


def _lacks_much(one: StoredRating) -> bool:
    return gaps_of(one) > LOST * one.rating["coverage"]["planned"]


def _apart(before: StoredRating, after: StoredRating, draws: GroupDraws) -> tuple[Floats, Floats]:
    """The least and the largest that the later badness exceeds the earlier one by, [R] each."""
    (best, worst), (best_before, worst_before) = draws.ends_of(after), draws.ends_of(before)
    return best - worst_before, worst - best_before


def _two_sided(least: Floats, largest: Floats) -> float:
    """The p of a difference that lies between two ends in each resample."""
    known = ~(np.isnan(least) | np.isnan(largest))
    least, largest = least[known], largest[known]
    tails = min(int((least <= EQUAL).sum()), int((largest >= -EQUAL).sum()))
    return float(min(1.0, 2 * (1 + tails) / (1 + len(least))))


def _why_no_difference(before: StoredRating, after: StoredRating, draws: GroupDraws) -> str:
    """Why two ratings of the same texts have no difference."""
    if not isinstance(after.method, ServiceComparer):
        return NO_DIFFERENCE
    for run, one in zip(SIDES, (before, after), strict=True):
        if draws.of(one) is None:
            return (
                f"{run} has no rating" if one.rating["overall"]["level"] is None else f"{run} has no figure"
            )
    return NO_DIFFERENCE
