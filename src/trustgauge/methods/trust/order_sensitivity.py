"""What a combined level depends on: the order of the issues, and each issue alone (trust 4.4)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from trustgauge.errors import MethodError
from trustgauge.methods.trust.combine import (
    MISSING,
    Combination,
    IssueValue,
    outcome,
    possible_levels,
    row_of,
)
from trustgauge.methods.trust.issues.issue import LEVELS
from trustgauge.methods.trust.levels import levels, risk
from trustgauge.methods.trust.profiles import IssueOrder
from trustgauge.methods.trust.resampling import Floats
from trustgauge.records import Json
from trustgauge.stats import stream

if TYPE_CHECKING:
    from trustgauge.methods.trust.profile_model import OrdersEntry

EXACT_UP_TO = 6  # issues: 720 orders
MOST_EXACT = 8  # issues: 40,320 orders
SAMPLED = 2_000
_STEPS = 40  # halvings: a score is found to within 1e-12
_CONTINUOUS = ("sound", "raw-weighted")


def all_orders(
    measured: Mapping[str, IssueValue],
    settings: Combination,
    seed: int = 0,
    *,
    exact_up_to: int = EXACT_UP_TO,
) -> OrdersEntry:
    """How many of all k! strict orders of the issues give each level.

    Args:
        measured: the issues; missing ones may be among them.
        settings: the rule.
        seed: of the sample, where there are too many orders to try all.
        exact_up_to: up to how many issues all orders are tried, at most 8; beyond, 2,000 are drawn.

    Returns:
        `orders` tried, `of` how many, whether they were `sampled`, how many gave each of `levels`, and how
        many are `open`: their level depends on a missing issue.

    Raises:
        MethodError: there is no issue, or all orders of too many issues are asked for.
    """
    if not measured or exact_up_to > MOST_EXACT:
        raise MethodError(
            "no orders to try",
            must=f"one or more issues, all orders of {MOST_EXACT} at most",
            got=f"{len(measured)} issues, all orders of up to {exact_up_to}",
        )
    names = tuple(sorted(measured))
    ranks, sampled = _ranks(len(names), seed, exact_up_to)
    places, risks, scores = row_of(IssueOrder(tuple((name,) for name in names)), measured)
    may = possible_levels(ranks, places, risks, settings, scores)
    settled = may[may.sum(axis=1) == 1]
    return {
        "orders": len(ranks),
        "of": math.factorial(len(names)),
        "sampled": sampled,
        "levels": dict(zip(LEVELS, settled.sum(axis=0).tolist(), strict=True)),
        "open": len(ranks) - len(settled),
    }


def _ranks(k: int, seed: int, exact_up_to: int) -> tuple[Floats, bool]:
    """Ranks of k issues in every order, or in a sample of them."""
    if k <= exact_up_to:
        return np.array(list(permutations(range(1, k + 1))), dtype=np.float64), False
    rng = stream(seed, "orders", k)
    return rng.permuted(np.tile(np.arange(1.0, k + 1), (SAMPLED, 1)), axis=1), True


def changes(order: IssueOrder, measured: Mapping[str, IssueValue], settings: Combination) -> dict[str, Json]:
    """What would change this level: the smallest counterfactuals.

    Args:
        order: of the issues.
        measured: what each came to; an issue of the order that is not there is missing.
        settings: the rule.

    Returns:
        - `now`: the possible levels; one if it is settled.
        - `issues`: for each issue that could change a settled level alone, and in each direction, the
          least move that does: `issue`, `level` and `to_level`, `score`, `to_score`, `by` (their
          difference), `crosses` (the cuts between them) and the `result`; least moves first. Where only a
          level is known, scores are None and `crosses` is empty.
        - `swaps`: exchanges of neighbouring places that change it: `swap` (both places), the new
          `order`, and its `result`.
        - `depends`: for each missing issue, the levels that remain possible with it at L, M and H.
    """
    now = outcome(order, measured, settings)
    return {
        "now": list(now),
        "issues": _moves(order, measured, settings) if len(now) == 1 else [],
        "swaps": list(_swaps(order, measured, settings, now)),
        "depends": [
            {
                "issue": name,
                "levels": {
                    level: list(outcome(order, {**measured, name: IssueValue.at(place)}, settings))
                    for place, level in enumerate(LEVELS)
                },
            }
            for name in order.issues
            if _missing(measured, name)
        ],
    }


def _missing(measured: Mapping[str, IssueValue], name: str) -> bool:
    return name not in measured or measured[name].level == MISSING


def _moves(
    order: IssueOrder, measured: Mapping[str, IssueValue], settings: Combination
) -> list[dict[str, Json]]:
    found = []
    for name in order.issues:
        if _missing(measured, name):
            continue
        for up in (False, True):
            move = _least_move(name, order, measured, settings, up=up)
            if move is not None:
                found.append(move)
    return sorted(found, key=_size)


def _size(move: Mapping[str, Json]) -> tuple[float, int, str]:
    """Score moves by their size; those of levels alone after those of scores, by levels moved."""
    levels_moved = abs(LEVELS.index(move["to_level"]) - LEVELS.index(move["level"]))
    return (math.inf if move["by"] is None else abs(move["by"]), levels_moved, move["issue"])


def _least_move(
    name: str, order: IssueOrder, measured: Mapping[str, IssueValue], settings: Combination, *, up: bool
) -> dict[str, Json] | None:
    """The least move of one issue in one direction that changes the outcome; None if none does."""
    here = measured[name]
    now = outcome(order, measured, settings)

    def changed(other: IssueValue) -> bool:
        return outcome(order, {**measured, name: other}, settings) != now

    moved = next((one for one in _further(here, up=up) if changed(one)), None)
    if moved is None:
        return None
    if here.cuts is not None and settings.rule in _CONTINUOUS:
        # These rules rise with the score, so what lies between it and a change can be halved.
        near, far = here.score, moved.score
        for _ in range(_STEPS):
            middle = (near + far) / 2
            near, far = (near, middle) if changed(issue_at_score(middle, here.cuts)) else (middle, far)
        moved = issue_at_score(far, here.cuts)
    facts: dict[str, Json] = {
        "issue": name,
        "level": LEVELS[here.level],
        "to_level": LEVELS[moved.level],
        "score": None,
        "to_score": None,
        "by": None,
        "crosses": [],
        "result": list(outcome(order, {**measured, name: moved}, settings)),
    }
    if here.cuts is None:
        return facts
    low, high = sorted((here.level, moved.level))
    return facts | {
        "score": here.score,
        "to_score": moved.score,
        "by": moved.score - here.score,
        "crosses": list(here.cuts[low:high]),
    }


def _further(here: IssueValue, *, up: bool) -> Iterator[IssueValue]:
    """Moves of an issue away from where it is, the nearer first: its other levels, then the end of scores."""
    others = range(here.level + 1, len(LEVELS)) if up else range(here.level - 1, -1, -1)
    if here.cuts is None:
        yield from (IssueValue.at(level) for level in others)
        return
    low, high = here.cuts
    entered = {1: low, 2: float(np.nextafter(high, 1))} if up else {1: high, 0: float(np.nextafter(low, 0))}
    yield from (issue_at_score(entered[level], here.cuts) for level in others)
    yield issue_at_score(1.0 if up else 0.0, here.cuts)


def issue_at_score(score: float, cuts: tuple[float, float]) -> IssueValue:
    """An issue with this score."""
    value = np.array(score)
    return IssueValue(int(levels(value, cuts)), float(risk(value, cuts)), score, cuts)


def _swaps(
    order: IssueOrder, measured: Mapping[str, IssueValue], settings: Combination, now: tuple[str, ...]
) -> Iterator[dict[str, Json]]:
    """Exchanges of neighbouring places that change the outcome."""
    for place in range(len(order.places) - 1):
        first, second = order.places[place : place + 2]
        other = IssueOrder((*order.places[:place], second, first, *order.places[place + 2 :]))
        result = outcome(other, measured, settings)
        if result != now:
            yield {"swap": [list(first), list(second)], "order": list(other.written), "result": list(result)}
