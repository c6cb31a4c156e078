"""What every method shares between its part results and its ratings; it knows no method by name.

Missing data and when it matters (methods 0.4), the most likely level and its certainty, part results as one
rating: worst, mean or vote (methods 0.5). A level is its place on the scale: 0 is the best one, the last the
worst. Missing parts count as badly as they can. A rating carries the options that differ from its rule set.
And what holds of every rating, whoever wrote its method: one that breaks it is not issued (methods 0.1).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from itertools import chain, pairwise
from typing import Any, Literal, Protocol, TypeVar, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from trustgauge.errors import MethodError
from trustgauge.records import (
    Coverage,
    Interval,
    Json,
    Part,
    Rating,
    Reason,
    Rule,
    Scale,
    State,
    is_json,
    plain,
)
from trustgauge.stats.comparisons import fisher_exact

OVERALL = 0.02  # share of all answers that may be missing
CELL = 0.05  # of a cell of the design
BETWEEN_CLASSES = 0.02  # difference of two classes, in shares, if it is
CLASS_P = 0.01  # significant by Fisher's exact test


@dataclass(frozen=True)
class MissingCell:
    """Missing (or unread) and planned answers of one cell or class of the design."""

    where: str
    missing: int
    planned: int

    @property
    def share(self) -> float:
        """Share of the planned answers that is missing."""
        return self.missing / self.planned

    def reason(self, code: str = "incomplete-loss", **more: Json) -> Reason:
        """This cell as a reason."""
        facts = {"share": self.share, "where": self.where, "missing": self.missing, "planned": self.planned}
        return Reason(code, {**facts, **more})


def coverage(statuses: pl.DataFrame) -> Coverage:
    """What became of the planned answers.

    Args:
        statuses: columns `status` and `n`, any number of rows for each status.
    """
    sums = dict(statuses.group_by("status").agg(pl.col("n").sum()).iter_rows())
    return Coverage(planned=int(sum(sums.values())), **{status: int(n) for status, n in sums.items()})


def missing_answer_reasons(whole: MissingCell) -> Iterator[Reason]:
    """That more than 2 % of all answers are missing, if they are."""
    if whole.missing > OVERALL * whole.planned:
        yield whole.reason()


def cell_reasons(cells: Iterable[MissingCell]) -> Iterator[Reason]:
    """The cell that lost most, if more than 5 %; its `cells` counts those that lost as much."""
    broken = [one for one in cells if one.missing > CELL * one.planned]
    if broken:
        yield max(broken, key=lambda one: one.share).reason(cells=len(broken))


def class_reasons(one: MissingCell, other: MissingCell, code: str = "incomplete-loss") -> Iterator[Reason]:
    """The class that lost more than another: by more than 2 points, and Fisher's p < .01."""
    if abs(one.share - other.share) <= BETWEEN_CLASSES:
        return
    counts = [[cell.missing, cell.planned - cell.missing] for cell in (one, other)]
    p = fisher_exact(np.array(counts))
    if p < CLASS_P:
        worse, better = (one, other) if one.share >= other.share else (other, one)
        yield worse.reason(code, against=better.where, p=p)


def does_not_matter(missing: int, planned: int) -> Reason:
    """That too many answers are missing, and the level is the same whatever they were."""
    return Reason("loss-does-not-matter", {"share": missing / max(1, planned), "planned": planned})


def loss_reason(missing: int, planned: int, shares: tuple[float, float], settle: float) -> Reason:
    """What is said of missing answers that leave the likeliest level as it is, whatever they were.

    All the same they may keep it from being settled: that is no loss that does not matter.

    Args:
        missing: number of answers that did not come.
        planned: number of all.
        shares: the certainty of the level by the answers that came, and the lowest over all fillings.
        settle: certainty from which a level is settled.

    >>> loss_reason(9, 300, (0.99, 0.84), 0.95).code, loss_reason(9, 300, (0.99, 0.97), 0.95).code
    ('loss-lowers-certainty', 'loss-does-not-matter')
    """
    alone, least = shares
    if alone < settle or least >= settle:
        return does_not_matter(missing, planned)
    facts = does_not_matter(missing, planned).facts
    return Reason("loss-lowers-certainty", {**facts, "missing": missing, "alone": alone, "certainty": least})


def unread_facts(unread: int, planned: int) -> dict[str, Json]:
    """Facts of the reasons `unread-matters` and `unread-does-not-matter`."""
    return {"share": unread / planned, "unread": unread, "planned": planned}


READ_BY_PEOPLE: Mapping[str, Json] = {"option": "--unread"}
"""Further facts of `unread-matters` where people can read these answers: the option of `audit` for them."""


Levels = NDArray[np.integer[Any]]
Floats = NDArray[np.float64]
HowToAggregate = Literal["worst", "mean", "vote"]

EQUAL = 1e-9  # means that lie this near above a level are that level


def level_shares(levels: Levels, kinds: int = 3) -> Floats:
    """Share of the resamples at each level, [..., R] -> [..., kinds].

    >>> level_shares(np.array([0, 2, 2, 2]), 3).tolist()
    [0.25, 0.0, 0.75]
    """
    return np.stack([(levels == kind).mean(axis=-1) for kind in range(kinds)], axis=-1)


def less_certain(one: Levels, other: Levels) -> NDArray[np.bool_]:
    """Of two ways to draw a level, [..., R], where draws of `other` count, so that the less certain way does.

    Where they disagree on the likeliest level, every second draw is of each, so that neither is settled.

    >>> less_certain(np.array([0, 0, 0, 0]), np.array([0, 0, 0, 1])).tolist()
    [True, True, True, True]
    >>> less_certain(np.array([0, 0, 0, 0]), np.array([1, 1, 1, 1])).tolist()
    [False, True, False, True]
    """
    ours, theirs = level_shares(one), level_shares(other)
    level = ours.argmax(axis=-1)[..., None]
    agree = level == theirs.argmax(axis=-1)[..., None]
    lower = np.take_along_axis(theirs, level, -1) < np.take_along_axis(ours, level, -1)
    every_second = np.arange(one.shape[-1]) % 2 == 1
    return np.where(agree, np.broadcast_to(lower, one.shape), every_second)


def certainty_of(levels: Levels, names: Sequence[str]) -> dict[str, float]:
    """Name of each level, best first, -> share of the resamples [R] that have it."""
    return dict(zip(names, level_shares(levels, len(names)).tolist(), strict=True))


def resampled_interval(value: float, draws: Floats, n: int) -> Interval:
    """A value with the 2.5 and 97.5 % points of its resamples [R]; undefined ones are left out."""
    kept = draws[~np.isnan(draws)]
    if np.isnan(value) or not kept.size:
        return Interval(None, None, None, n)
    low, high = np.quantile(kept, [0.025, 0.975])
    return Interval(float(value), float(low), float(high), n)


def interval_facts(one: Interval) -> dict[str, Json]:
    """An interval as it stands in details and reasons."""
    return {"value": one.value, "low": one.low, "high": one.high, "n": one.n}


def most_likely(levels: Levels) -> int:
    """The level of most resamples [R], the worse of equals.

    >>> most_likely(np.array([0, 0, 1, 1]))
    1
    """
    return worse_of_equals(np.bincount(levels, minlength=1))


def worse_of_equals(shares: NDArray[Any]) -> int:
    """The place of the largest share [kinds], the worse of equals."""
    return int(len(shares) - 1 - np.argmax(shares[::-1]))


def aggregate_levels(levels: Levels, how: HowToAggregate) -> Levels:
    """One level of several along the last axis, [..., parts] -> [...] (methods 0.5).

    Args:
        levels: levels of the parts.
        how: `worst`; `mean`, rounded to the worse level; `vote`, the most frequent, the worse of equals.

    >>> [aggregate_levels(np.array([0, 0, 1, 2]), how).item() for how in ("worst", "mean", "vote")]
    [2, 1, 0]
    """
    if how == "worst":
        return np.asarray(levels.max(axis=-1))
    if how == "mean":
        return np.asarray(np.ceil(levels.mean(axis=-1) - EQUAL), dtype=np.int64)
    names = np.unique(levels)[::-1]
    votes = np.stack([(levels == name).sum(axis=-1) for name in names], axis=-1)
    return np.asarray(names[votes.argmax(axis=-1)])


def cap_certainty(certainty: dict[str, float], level: str, most: float) -> dict[str, float]:
    """Certainty of a level at most `most`; the surplus is shared by the other levels (methods 0.5 (d))."""
    over = certainty[level] - most
    if over <= 0:
        return certainty
    others = len(certainty) - 1
    return {name: most if name == level else share + over / others for name, share in certainty.items()}


def least_certain(level: int, levels: Levels, readings: Iterable[tuple[int | None, Levels]]) -> Levels | None:
    """The least certain of several readings of the same gaps; None unless all have one level (methods 0.4).

    Args:
        level: most likely without the gaps.
        levels: the resamples without the gaps, [R].
        readings: the level of each reading, None if undefined, and its resamples.
    """
    least = levels
    for found, drawn in readings:
        if found != level:
            return None
        least = min(least, drawn, key=lambda one: float((one == level).mean()))
    return least


def fewest_that_suffice(most: int, suffices: Callable[[int], bool], too_few: int = 0) -> int:
    """The smallest number above `too_few` that suffices, by bisection; `most` is taken to suffice."""
    low, high = too_few, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return high


def all_labels(ordered: pl.DataFrame) -> int:
    """How many labels there are in all, from how many it takes until each row has one (`labels`)."""
    return int(ordered["labels"].max() or 0)  # type: ignore[arg-type]


def labels_that_settle(orders: Iterable[tuple[int, Callable[[int], bool]]], steps: int) -> int | None:
    """With how many labels of unread answers a level is settled about 9 times in 10.

    The most that it takes in some random orders of labelling; a further order takes no more in four of five
    cases. None where labels of all would not do in half of the orders or more.

    Args:
        orders: of each how many labels there are in all, and whether so many of the first ones settle it.
        steps: up to all labels that are told apart, rounded up.

    >>> labels_that_settle([(100, lambda n: n >= 31), (100, lambda n: n >= 12)], 20)
    35
    >>> labels_that_settle([(100, lambda n: n >= 31), (100, lambda n: False)], 20)
    """
    enough = fails = asked = most = 0
    for most, settles in orders:
        asked += 1

        def suffices(step: int, most: int = most, settles: Callable[[int], bool] = settles) -> bool:
            return settles(-(-most * step // steps))

        if enough and suffices(enough):
            continue
        if suffices(steps):
            enough = fewest_that_suffice(steps, suffices, enough)
        else:
            enough, fails = steps, fails + 1
    return -(-most * enough // steps) if 2 * fails < asked else None


def worst_draws(parts: Sequence[Floats]) -> Floats:
    """The largest value of the parts in each resample, [R] of each -> [R]; the fewest resamples count."""
    fewest = min(len(one) for one in parts)
    return np.asarray(np.max([one[:fewest] for one in parts], axis=0))


@dataclass(frozen=True)
class PartResult:
    """A part as its method rates it.

    Attributes:
        part: with its own level, certainty, state and reasons.
        levels: places of the level on the scale in each resample, [R]; None without a level.
        most: the largest certainty that the number of its clusters allows (methods 0.5 (d)).
        as_read: the same places of the answers as they are, [R], where `levels` may be those of a filling of
            what is missing or unread; None where they are the same.
    """

    part: Part
    levels: Levels | None
    most: float = 1.0
    as_read: Levels | None = None


Result = TypeVar("Result", bound=PartResult)


@dataclass(frozen=True)
class Overall:
    """What the parts amount to together."""

    level: str | None
    state: State
    certainty: Mapping[str, float] = field(default_factory=dict)

    @property
    def share(self) -> float:
        """Certainty of the level; 1 without one."""
        return self.certainty.get(self.level or "", 1.0)


@dataclass(frozen=True)
class Aggregation:
    """How parts become one level.

    Attributes:
        names: of the levels, best first.
        how: worst, mean or vote.
        settle: certainty from which a level is settled.
        by_resamples: the level is the most likely one of the joint resamples; else it follows from
            the levels of the parts (`published` and `released`).
        by_rated: only parts that are rated may make up for missing ones.
    """

    names: tuple[str, ...]
    how: HowToAggregate
    settle: float
    by_resamples: bool = True
    by_rated: bool = False


class RatingSettings(Protocol):
    """What a rating says of the experiment."""

    @property
    def method(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def rule(self) -> Rule: ...
    @property
    def scale_in_use(self) -> Scale: ...


def aggregate_parts(
    results: Sequence[PartResult],
    rule: Aggregation,
    is_open: Callable[[int], bool] = lambda place: False,
) -> Overall:
    """The level of several parts, with the share of the joint resamples that give it.

    Resamples of different parts are independent, so that many half-certain parts honestly add up to
    `not settled`. Parts without a level leave the rating incomplete, unless its level is the same whatever
    they are; its certainty is then the lowest over what they may be. A single part is its own rating.

    The level is the likeliest of the answers as they are, its certainty that of the fillings: each part's
    worst filling would add up to a level of which nothing was measured.

    Args:
        results: the parts of one service.
        rule: how they become one level.
        is_open: whether something other than certainty keeps this place on the scale from being settled.
    """
    able = [(one.part, one.levels) for one in results if one.levels is not None]
    missing = len(results) - len(able)
    if not able or (missing and not _is_determined([part for part, _ in able], missing, rule)):
        return Overall(None, "incomplete")
    if len(results) == 1:
        part = able[0][0]
        return Overall(part.level, part.state, dict(part.certainty))
    shares = joint_shares([levels for _, levels in able], rule, missing)
    if rule.by_resamples:
        as_read = [one.levels if one.as_read is None else one.as_read for one in results]
        place = worse_of_equals(joint_shares([one for one in as_read if one is not None], rule, missing))
    else:
        place = int(
            aggregate_levels(np.array([rule.names.index(str(part.level)) for part, _ in able]), rule.how)
        )
    certainty = dict(zip(rule.names, shares.tolist(), strict=True))
    certainty = cap_certainty(certainty, rule.names[place], _most(results, rule, place))
    settled = certainty[rule.names[place]] >= rule.settle and not is_open(place)
    return Overall(rule.names[place], "rated" if settled else "not settled", certainty)


def joint_shares(drawn: Sequence[Levels], rule: Aggregation, missing: int = 0) -> Floats:
    """Share of the joint resamples at each level, [levels].

    Args:
        drawn: levels of the parts in each resample, [R] each; the fewest resamples count.
        rule: how parts become one level.
        missing: number of parts without a level; they are what makes the most likely level least certain.
    """
    fewest = min(len(one) for one in drawn)
    table = np.stack([one[:fewest] for one in drawn], axis=-1)
    fills = range(len(rule.names)) if missing else (0,)
    padded = (np.pad(table, ((0, 0), (0, missing)), constant_values=level) for level in fills)
    shares = [level_shares(aggregate_levels(one, rule.how), len(rule.names)) for one in padded]
    return min(shares, key=lambda one: float(one.max()))


def least_share(
    results: Sequence[Result], rule: Aggregation, place: int, may_be: Callable[[Result], Collection[int]]
) -> float:
    """The share of the joint resamples at a place on the scale, at worst: whatever the open parts are.

    A level hangs on open parts where this does not reach `settle`; else the others settle it without them.

    Args:
        results: the parts of one service; one without resamples may have any level.
        rule: how they become one level.
        place: on the scale.
        may_be: the levels that a part may have instead of its resamples, as places; none where nothing but
            its certainty keeps it open.

    >>> settled, is_open = (PartResult(Part("", "rated"), np.full(9, level)) for level in (2, 0))
    >>> rule = Aggregation(("L", "M", "H"), "worst", 0.95)
    >>> least_share([settled, is_open], rule, 2, lambda one: range(3) if one is is_open else ())
    1.0
    """
    every = range(len(rule.names))
    possible = [every if one.levels is None else may_be(one) for one in results]
    least = min((len(one.levels) for one in results if one.levels is not None), default=1)

    def drawn(target: int | None) -> Iterator[Levels]:
        for one, levels in zip(results, possible, strict=True):
            if levels and (target is not None or one.levels is None):
                yield np.full(least, _against(place, target or 0, levels, rule.how))
            elif one.levels is not None:
                yield one.levels

    targets = (*([] if any(one.levels is None for one in results) else [None]), *every)
    return min(float(joint_shares(list(drawn(one)), rule)[place]) for one in targets)


def _against(place: int, target: int, levels: Collection[int], how: HowToAggregate) -> int:
    """Which of these levels speaks most for a target, and against a place: in a vote any but that place."""
    others = [one for one in levels if one != place] if how == "vote" else []
    return min(others or levels, key=lambda one: abs(one - target))


def _most(results: Sequence[PartResult], rule: Aggregation, place: int) -> float:
    """The largest certainty that its parts without spread allow; those that cannot change it take none."""
    most = min(one.most for one in results if one.levels is not None)
    if most == 1.0:
        return most
    every = range(len(rule.names))
    return max(most, least_share(results, rule, place, lambda one: every if one.most < 1.0 else ()))


def _is_determined(able: Sequence[Part], missing: int, rule: Aggregation) -> bool:
    """Whether the overall level is the same whatever the parts without a level are.

    Else a part that loses its answers would leave the others to be rated without it.
    """
    known = [part for part in able if part.state == "rated" or not rule.by_rated]
    places = [rule.names.index(str(part.level)) for part in known]
    unknown = missing + len(able) - len(known)
    filled = [[*places, *[level] * unknown] for level in range(len(rule.names))]
    return len({int(aggregate_levels(np.array(one), rule.how)) for one in filled}) == 1


def leading_parts(parts: Sequence[Part], level: str | None, *, or_nearest: bool = True) -> list[Part]:
    """The parts at the overall level, else the one that is most likely to be at it.

    Several parts that may each be at a level add up to one that no single one of them has.
    """
    able = [part for part in parts if part.level is not None]
    leading = [part for part in able if part.level == level]
    if leading or level is None or not able or not or_nearest:
        return leading
    return [max(able, key=lambda part: part.certainty.get(level, 0.0))]


def overall_reasons(
    parts: Sequence[Part], leading: Sequence[Part], overall: Overall, rule: Aggregation
) -> list[Reason]:
    """How the overall level follows from the parts; a single part's reasons are the rating's."""
    if len(parts) == 1:
        return list(parts[0].reasons)
    if overall.level is None:
        return [reason for part in parts if part.state == overall.state for reason in part.reasons][:1]
    able = sum(part.level is not None for part in parts)
    facts: dict[str, Json] = {"level": overall.level, "of": able, "tested": able, "planned": len(parts)}
    facts["parts"] = [part.key for part in leading]
    if rule.how == "vote":
        facts["votes"] = len(leading)
    reasons = [Reason("overall.worst-part" if rule.how == "worst" else f"overall.{rule.how}", facts)]
    if overall.state == "not settled" and overall.share < rule.settle:
        reasons.append(not_settled_reason(overall.share, overall.level, rule.settle))
    return reasons


def not_settled_reason(share: float, level: str, settle: float, more_texts: int | None = None) -> Reason:
    """The reason that the certainty of a level does not reach `settle`; `more_texts` would be enough."""
    facts: dict[str, Json] = {"certainty": share, "level": level, "settle": settle}
    return Reason("not-settled", facts | ({"more_texts": more_texts} if more_texts else {}))


def largest_score(parts: Sequence[Part]) -> Interval | None:
    """The largest score of some parts with its interval; None if none has a score."""
    scores = [part.score for part in parts if part.score is not None]
    return max(scores, key=lambda score: score.value or 0.0, default=None)


def rating_of(
    service: str,
    settings: RatingSettings,
    attribute: str,
    parts: Sequence[Part],
    overall: Overall,
    leading: Sequence[Part],
    **more: Json,
) -> Rating:
    """The rating of a service: what every method says alike, and `more` fields of `records.Rating`."""
    return Rating(
        service=service,
        method=settings.method,
        version=settings.version,
        rule=settings.rule,
        attribute=attribute,
        scale=settings.scale_in_use,
        state=overall.state,
        level=overall.level,
        certainty=overall.certainty,
        parts=tuple(parts),
        worst=tuple(part.key for part in leading),
        **more,
    )


class OptionSettings(Protocol):
    """Settings of an experiment: a pydantic model that knows what may change a rating."""

    def identity(self) -> Mapping[str, Json]: ...


def options_of(
    settings: OptionSettings,
    left_out: Collection[str] = (),
    by_rule: Mapping[str, Json] | None = None,
    always: Collection[str] = (),
) -> dict[str, Json]:
    """Every option that differs from its default, as plain data.

    Args:
        settings: the experiment, a pydantic model.
        left_out: options that are no options of the rating, beside method, services and rule.
        by_rule: defaults that the rule set replaces.
        always: options that are listed though they have their defaults.
    """
    fields: Mapping[str, FieldInfo] = type(settings).model_fields  # type: ignore[attr-defined]
    usual = {name: one.get_default(call_default_factory=True) for name, one in fields.items()}
    usual |= by_rule or {}
    absent = {"method", "services", "rule", *left_out}
    return {
        name: value
        for name, value in settings.identity().items()
        if name not in absent and (name in always or value != plain_option(usual[name]))
    }


def plain_option(value: Any) -> Json:
    """A default as it stands in the settings' JSON."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, Mapping):
        return {name: plain_option(inner) for name, inner in value.items()}
    return [plain_option(one) for one in value] if isinstance(value, tuple | list) else value


# -- what cannot be

_ROUNDING = 1e-6
_WITH_LEVEL = ("rated", "assumed", "inferred")
_SHOWN = 200
Broken = tuple[str, str, object]
"""What is broken, what it must be, what was got."""


def check_rating(rating: Rating, settle: float | None = None) -> None:
    """Check that a rating and its parts can be true.

    Args:
        rating: of any method.
        settle: certainty from which its method calls a level settled. With it, as in the kit of methods,
            what would be odd and yet no false claim is an error too: intervals and coverage.

    Raises:
        MethodError: the first thing that cannot be.
    """
    broken = _broken(rating, 0.5 if settle is None else settle)
    for what, must, got in broken if settle is None else chain(broken, _odd(rating)):
        where = f'"{rating.method}" of "{rating.service}"'
        do = "Mend the method, or report it to its author"
        raise MethodError(f"the rating by {where}: {what}", must=must, got=str(got)[:_SHOWN], do=do)


def _broken(rating: Rating, settle: float) -> Iterator[Broken]:
    if not rating.parts:
        yield "a rating without parts", "at least one part", "none"
    levels, keys = rating.scale.levels, [part.key for part in rating.parts]
    for one in _whole_and_parts(rating):
        yield from _of_level(one, levels)
        yield from _of_certainty(one, levels, settle)
        if one.score is not None and not all(map(_is_number, _known(one.score))):
            yield "a score is no number", "finite numbers or None", _known(one.score)
    if len(set(keys)) < len(keys):
        yield "two parts have one key", "a key for each part", keys
    if strangers := set(rating.worst) - set(keys):
        yield "`worst` names no part", f"keys of parts: {', '.join(keys)}", sorted(strangers)
    if not is_json(plain(rating)):
        yield "a rating is not plain data", "JSON without NaN", rating


def _odd(rating: Rating) -> Iterator[Broken]:
    for one in _whole_and_parts(rating):
        values = [] if one.score is None else _known(one.score)
        if any(before > after + _ROUNDING for before, after in pairwise(values)):
            yield "a score outside its interval", "low, value, high in this order", values
    for part in rating.parts:
        cover = part.coverage
        came = cover.answered + cover.refused + cover.empty + cover.unreadable + cover.failed
        if min(astuple(cover)) < 0 or came > cover.planned:
            yield "coverage counts more than was planned", f"{cover.planned} texts at most", cover


def _whole_and_parts(rating: Rating) -> tuple[Rating | Part, ...]:
    return (rating, *rating.parts)


def _known(score: Interval) -> list[float]:
    """The figures of a score that are there: low, value, high."""
    return [value for value in (score.low, score.value, score.high) if value is not None]


def _of_level(one: Rating | Part, levels: tuple[str, ...]) -> Iterator[Broken]:
    if one.state not in get_args(State):
        yield "no such state", ", ".join(get_args(State)), one.state
    if one.level is not None and one.level not in levels:
        yield "no such level", ", ".join(levels), one.level
    if one.state in _WITH_LEVEL and one.level is None:
        yield f"{one.state} without a level", "a level, or another state", "None"


def _of_certainty(one: Rating | Part, levels: tuple[str, ...], settle: float) -> Iterator[Broken]:
    shares: Mapping[str, float] = one.certainty
    if not set(shares) <= set(levels):
        yield "certainty of no level", ", ".join(levels), ", ".join(shares)
        return
    if not all(_is_number(share) and -_ROUNDING <= share <= 1 + _ROUNDING for share in shares.values()):
        yield "a certainty is no share", "0 to 1 for each level", dict(shares)
        return
    if shares and abs(math.fsum(shares.values()) - 1) > _ROUNDING:
        yield "certainties do not add up", "1", math.fsum(shares.values())
    if shares and one.level is None:
        yield "certainties without a level", "none, where no level is given", dict(shares)
    if one.state == "rated" and one.level is not None and shares.get(one.level, 0.0) < settle - _ROUNDING:
        must = f'certainty of {settle:g} or more, or the state "not settled"'
        yield f"rated as {one.level} without enough certainty", must, dict(shares)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
