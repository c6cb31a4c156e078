"""From the levels of issues to one level, by what matters to a user (trust 4.4).

All rules are vectorised: rows are resamples (or orders), columns are issues as they stand in the order.
Whatever the rule, a level of an issue is a place in LEVELS, 0 best, and -1 an issue that was not
measured: then `possible` tells the set of levels that may come out, never a guess.

The lexicographic rule is ours: the level is that of the most important issue (the worst of those that
share the first place); the others only order services of one level, issue by issue.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, pairwise, product
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, field_validator

from trustgauge.errors import MethodError
from trustgauge.methods import Cuts
from trustgauge.methods.trust.issues.issue import LEVELS, PUBLISHED_CUTS
from trustgauge.methods.trust.profiles import IssueOrder
from trustgauge.methods.trust.resampling import Floats, Ints

Bools = NDArray[np.bool_]
CombiningRule = Literal["sound", "count", "raw-weighted", "worst-of", "lexicographic"]
Ties = Literal["pessimistic", "optimistic", "middle"]

OWN_SETTINGS: Mapping[CombiningRule, tuple[str, ...]] = {
    "sound": (),
    "count": ("ties",),
    "raw-weighted": ("weights", "cuts"),
    "worst-of": ("first",),
    "lexicographic": (),
}
"""Settings that each rule looks at."""
MISSING = -1
"""The level of an issue that was not measured."""
THIRDS = (1 / 3, 2 / 3)
ALIKE = 1e-12  # sums that differ by less are one, whatever order they were added in
MOST_ROWS = 10_000  # that are combined at once
_LOW = np.array([0.0, 1 / 3, 2 / 3 + 1e-9])  # least and
_HIGH = np.array([1 / 3 - 1e-9, 2 / 3, 1.0])  # greatest common risk at each level
_PLACES = np.arange(len(LEVELS))
_FILLS = partial(product, range(len(LEVELS)))  # every way to put missing issues at levels


class Combination(BaseModel):
    """How issues become one level. Under `published` and `released` the rule is `count`, pessimistic."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rule: CombiningRule = Field("sound", description="How issues become one level")
    ties: Ties = Field("pessimistic", description="count: among levels with equal points; middle is M")
    weights: tuple[Annotated[float, Field(ge=0, le=1_000_000)], ...] = Field(
        (), description="raw-weighted: of the first, second, ... issue, instead of k, k - 1, ... 1"
    )
    first: int = Field(2, ge=1, le=1000, description="worst-of: how many of the first issues are looked at")
    cuts: Cuts = Field(PUBLISHED_CUTS, description="raw-weighted: of the mean score")

    @field_validator("weights")
    @classmethod
    def _falling(cls, value: tuple[float, ...]) -> tuple[float, ...]:
        if value and (value[0] <= 0 or any(one < other for one, other in pairwise(value))):
            raise ValueError("input should be positive and falling, that of the most important issue first")
        return value

    def among(self, issues: int) -> Combination:
        """The same for orders of so many issues: weights are for one number of them, else the usual hold."""
        return self if len(self.weights) in (0, issues) else self.model_copy(update={"weights": ()})


PUBLISHED_RULE = Combination(rule="count", ties="pessimistic")


@dataclass(frozen=True, slots=True)
class IssueValue:
    """What one issue came to, for one row.

    Attributes:
        level: place in LEVELS, `MISSING` if it was not measured.
        risk: on the common scale (`levels.risk`); 1/6, 1/2 or 5/6 where there is only a level.
        score: in [0, 1], as it is printed; as `risk` where there is only a level.
        cuts: of the score; None where the level does not follow from it.
    """

    level: int
    risk: float
    score: float
    cuts: tuple[float, float] | None = None

    @staticmethod
    def at(level: int) -> IssueValue:
        """An issue of which only the level is known (trust 4.4: 1/6, 1/2, 5/6), or nothing (`MISSING`)."""
        middle = float("nan") if level == MISSING else (2 * level + 1) / 6
        return IssueValue(level, middle, middle)


ANYTHING = tuple(
    IssueValue(level, float(ends[level]), end)
    for ends, end in ((_LOW, 0.0), (_HIGH, 1.0))
    for level in range(len(LEVELS))
)
"""What an issue may be of which nothing is known: each level at both ends."""


def levels_of(
    order: IssueOrder, levels: Ints, risks: Floats, settings: Combination, scores: Floats | None = None
) -> Ints:
    """The combined level of each row, as a place in LEVELS.

    Args:
        order: of k issues.
        levels: of the issues as in `order.issues`, [R, k]; all measured.
        risks: on the common scale of risk, [R, k]; only `sound` looks at them.
        settings: the rule.
        scores: as they are, [R, k]; only `raw-weighted` looks at them, and needs them.

    Returns:
        [R].

    Raises:
        MethodError: the shapes do not fit, an issue is missing, or a rule lacks what it needs.
    """
    if (levels == MISSING).any():
        raise MethodError("an issue was not measured", must="measured", do="Call `possible` instead")
    return combine_rows(np.array(order.ranks), levels, risks, settings, scores)


def possible(
    order: IssueOrder, levels: Ints, risks: Floats, settings: Combination, scores: Floats | None = None
) -> Bools:
    """The levels that each row may have, [R, 3], where issues may be missing (trust 4.2).

    A missing issue (level `MISSING`, its risk and score unread) is put at L, M and H, and where a rule
    looks at risks or scores, at both ends of each. A row with one possible level has that level whatever
    the missing issues would have come to. Arguments and errors as of `levels_of`.
    """
    return possible_levels(np.array(order.ranks), levels, risks, settings, scores)


def possible_levels(
    ranks: Floats, levels: Ints, risks: Floats, settings: Combination, scores: Floats | None = None
) -> Bools:
    """`possible` for ranks of its own in each row: [k] or [R, k]."""
    absent = levels == MISSING
    rows = np.broadcast_shapes(np.atleast_2d(ranks).shape, levels.shape)[0]
    if absent.all():
        # Nothing is known, and every rule gives what all issues agree on.
        return np.ones((rows, len(LEVELS)), dtype=bool)
    missing = np.flatnonzero(absent.any(axis=0))
    if not missing.size:
        only: Bools = combine_rows(ranks, levels, risks, settings, scores)[:, None] == _PLACES
        return only
    # A mean of scores knows no levels of issues: its two ends are all that counts.
    fills = [(0,) * len(missing)] if settings.rule == "raw-weighted" else list(_FILLS(repeat=len(missing)))
    every = np.zeros((len(fills), 1, levels.shape[1]), dtype=np.int64)
    every[:, 0, missing] = fills
    found = np.zeros((rows, len(LEVELS)), dtype=bool)
    step = max(1, MOST_ROWS // rows)
    for at in (every[start : start + step] for start in range(0, len(every), step)):
        shape = (len(at), rows, levels.shape[1])

        def stacked(values: NDArray[Any], shape: Sequence[int] = shape) -> NDArray[Any]:
            """The rows of one fill under those of the other."""
            return np.broadcast_to(values, shape).reshape(-1, shape[-1])

        low, high = (
            combine_rows(
                ranks if np.ndim(ranks) == 1 else stacked(ranks),
                stacked(np.where(absent, at, levels)),
                stacked(np.where(absent, ends[at], risks)),
                settings,
                None if scores is None else stacked(np.where(absent, end, scores)),
            ).reshape(len(at), rows, 1)
            for ends, end in ((_LOW, 0.0), (_HIGH, 1.0))
        )
        found |= ((low <= _PLACES) & (high >= _PLACES)).any(axis=0)
    return found


def combine_rows(
    ranks: Floats, levels: Ints, risks: Floats, settings: Combination, scores: Floats | None = None
) -> Ints:
    """`levels_of` for ranks of its own in each row, which may be all orders of the issues at once.

    Args:
        ranks: Imp of each issue, 1 most important, tied ones with their mean; [k] or [R, k].
        levels: [R, k] or [1, k].
        risks: [R, k] or [1, k].
        settings: the rule.
        scores: [R, k] or [1, k].

    Raises:
        MethodError: the shapes do not fit, or a rule lacks what it needs.
    """
    if levels.ndim != 2 or np.shape(ranks)[-1] != levels.shape[1] or not levels.shape[1]:
        raise MethodError(
            "ranks and levels do not fit",
            must="one rank for each of one or more issues",
            got=f"shapes {np.shape(ranks)} and {np.shape(levels)}",
        )
    ranked = np.atleast_2d(np.asarray(ranks, dtype=np.float64))
    match settings.rule:
        case "count":
            return _most_points(points(ranked, levels), levels, settings.ties)
        case "raw-weighted":
            if scores is None:
                raise MethodError("raw-weighted combines scores", must="given", do="Pass `scores`")
            return cut(mean_of(place_weights(ranked, settings.weights), scores), settings.cuts)
        case "worst-of":
            return _worst(_above(ranked) < settings.first, levels)
        case "lexicographic":
            return _first_level(ranked, levels)
    mean = mean_of(place_weights(ranked, ()), risks)
    best: Ints = np.maximum(_first_level(ranked, levels), levels.max(axis=-1) - 1)
    return np.maximum(cut(mean, THIRDS), best)


def points(ranks: Floats, levels: Ints) -> Floats:
    """Points of L, M and H by the count rule: the sum of k - Imp of the issues at each, [R, 3]."""
    each = levels.shape[-1] - ranks
    counted: Floats = np.stack([np.where(levels == level, each, 0).sum(axis=-1) for level in _PLACES], -1)
    return counted


def place_weights(ranks: Floats, given: tuple[float, ...]) -> Floats:
    """Weights of issues: k + 1 - Imp, or those given for places; tied issues share their places' mean."""
    k = ranks.shape[-1]
    if not given:
        falling: Floats = k + 1 - ranks
        return falling
    if len(given) != k:
        raise MethodError("not as many weights as issues", must=f"{k} weights", got=f"{len(given)}")
    before = np.concatenate([[0.0], np.cumsum(given)])
    above = _above(ranks)
    size = (ranks[..., None, :] == ranks[..., :, None]).sum(axis=-1)
    shared: Floats = (before[above + size] - before[above]) / size
    return shared


def mean_of(weights: Floats, values: Floats) -> Floats:
    """Weighted mean over the issues, [R].

    Raises:
        MethodError: a value is undefined; it must not pass as a low one.
    """
    if np.isnan(values).any():
        raise MethodError(
            "a value to be combined is undefined", must="a number", do="Call `possible` instead"
        )
    total: Floats = (weights * values).sum(axis=-1) / weights.sum(axis=-1)
    return total


def interval_of_mean(weights: Floats, values: Floats, ends: Floats) -> tuple[float, float]:
    """The interval of a weighted mean from the intervals of its values, taken as independent.

    Distances to the ends add up as squares, to the lower and the upper ends apart (the method of variance
    estimates recovery; Zou and Donner 2008, Construction of confidence limits about effect measures,
    Statistics in Medicine 27).

    Args:
        weights: of the k values, [k].
        values: [k].
        ends: low and high of each, [k, 2].
    """
    share = weights / weights.sum()
    mean = float(share @ values)
    below, above = (np.sqrt(((share * (values - ends[:, end])) ** 2).sum()) for end in (0, 1))
    return mean - float(below), mean + float(above)


def cut(means: Floats, cuts: tuple[float, float]) -> Ints:
    """Levels of means: L below the first cut, H above the second, within what adding up may change."""
    reached: Ints = (means >= cuts[0] - ALIKE).astype(np.int64) + (means > cuts[1] + ALIKE)
    return reached


def top_levels(counted: Floats, levels: Ints) -> Bools:
    """Which levels have the most points, [R, 3]; only levels that an issue has can win.

    A single issue counts k - Imp = 0, and its level is the outcome all the same.
    """
    present = np.stack([(levels == level).any(axis=-1) for level in _PLACES], -1)
    counts = np.where(present, counted, -1.0)
    most: Bools = counts == counts.max(axis=-1, keepdims=True)
    return most


def _most_points(counted: Floats, levels: Ints, ties: Ties) -> Ints:
    """The level with the most points, [R]."""
    most = top_levels(counted, levels)
    best: Ints = most.argmax(axis=-1)
    worst: Ints = len(LEVELS) - 1 - most[..., ::-1].argmax(axis=-1)
    if ties == "middle":
        return np.where(best == worst, best, 1)
    return best if ties == "optimistic" else worst


def _above(ranks: Floats) -> Ints:
    """How many issues are more important than each."""
    above: Ints = (ranks[..., None, :] < ranks[..., :, None]).sum(axis=-1)
    return above


def _first_level(ranks: Floats, levels: Ints) -> Ints:
    """The worst level of the issues of the first place, [R]."""
    return _worst(ranks == ranks.min(axis=-1, keepdims=True), levels)


def _worst(among: Bools, levels: Ints) -> Ints:
    """The worst level of some of the issues, [R]."""
    worst: Ints = np.where(among, levels, 0).max(axis=-1)
    return worst


def row_of(order: IssueOrder, measured: Mapping[str, IssueValue]) -> tuple[Ints, Floats, Floats]:
    """One row of levels, risks and scores, [1, k] each, as in the order.

    An issue of the order that is not in `measured` is missing.
    """
    row = [measured.get(name, IssueValue.at(MISSING)) for name in order.issues]
    return (
        np.array([[one.level for one in row]], dtype=np.int64),
        np.array([[one.risk for one in row]]),
        np.array([[one.score for one in row]]),
    )


def outcome(order: IssueOrder, measured: Mapping[str, IssueValue], settings: Combination) -> tuple[str, ...]:
    """The levels that one row may have, best first; one level if nothing is missing, or it does not matter.

    >>> levels = {"bias": 0, "abuse": 1, "complexity": 1, "leakage": 2}
    >>> measured = {name: IssueValue.at(level) for name, level in levels.items()}
    >>> order = IssueOrder((("bias",), ("abuse",), ("complexity",), ("leakage",)))
    >>> outcome(order, measured, PUBLISHED_RULE)
    ('M',)
    """
    levels, risks, scores = row_of(order, measured)
    may = possible(order, levels, risks, settings, scores)[0]
    return tuple(name for name, one in zip(LEVELS, may, strict=True) if one)


def hinges(
    order: IssueOrder, measured: Mapping[str, IssueValue], settings: Combination, among: Sequence[str]
) -> list[str]:
    """Which issues of `among` could change a level that is known otherwise, if theirs were others.

    Issues that do so alone; where none does, those of the smallest sets that do together: two issues may
    change a level that neither of them changes alone. None if all of them together do not.

    >>> measured = {name: IssueValue.at(0) for name in ("abuse", "bias", "complexity")}
    >>> order = IssueOrder((("abuse",), ("bias",), ("complexity",)))
    >>> rule = Combination(rule="count", ties="optimistic")
    >>> hinges(order, measured, rule, ["bias", "complexity"]), hinges(order, measured, rule, ["abuse"])
    ([], ['abuse'])
    """
    for size in range(1, len(among) + 1) if may_change(order, measured, settings, among) else ():
        sets = (some for some in combinations(among, size) if may_change(order, measured, settings, some))
        found = {name for some in sets for name in some}
        if found:
            return [name for name in among if name in found]
    return []


MOST_OPEN = 6  # issues whose levels are tried in every combination, at both ends of each


def pivotal_issues(
    order: IssueOrder, possible: Mapping[str, Sequence[IssueValue]], settings: Combination
) -> list[str]:
    """Which issues may change the outcome, whatever the others turn out to be among what is possible.

    Unlike `hinges`, of which the level of every issue that is not asked about is known.

    Args:
        order: of the issues.
        possible: what each may turn out to be; an issue of the order that is not there may be anything.
        settings: the rule.

    >>> settled = {name: [IssueValue.at(0)] for name in ("abuse", "bias", "complexity")}
    >>> order = IssueOrder((("abuse",), ("bias",), ("complexity",)))
    >>> pivotal_issues(order, {"abuse": settled["abuse"]}, Combination(rule="lexicographic"))
    []
    >>> pivotal_issues(order, {**settled, "abuse": ANYTHING}, Combination(rule="lexicographic"))
    ['abuse']
    """
    values = [possible.get(name, ANYTHING) for name in order.issues]
    sizes = [len(one) for one in values]
    unsure = [place for place, size in enumerate(sizes) if size > 1]
    if len(unsure) > MOST_OPEN:
        return [order.issues[place] for place in unsure]
    at = np.indices(sizes).reshape(len(sizes), -1)
    levels, risks, scores = (
        np.stack(
            [np.array([getattr(one, fact) for one in each])[i] for each, i in zip(values, at, strict=True)], 1
        )
        for fact in ("level", "risk", "score")
    )
    grid = combine_rows(np.array(order.ranks), levels, risks, settings, scores).reshape(sizes)
    return [order.issues[place] for place in unsure if np.ptp(grid, axis=place).any()]


def may_change(
    order: IssueOrder, measured: Mapping[str, IssueValue], settings: Combination, issues: Collection[str]
) -> bool:
    """Whether more than one level may come out if these issues are anything, all at once."""
    unknown = dict.fromkeys(issues, IssueValue.at(MISSING))
    return bool(unknown) and len(outcome(order, {**measured, **unknown}, settings)) > 1
