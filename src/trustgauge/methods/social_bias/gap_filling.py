"""What answers that are missing, unread or not labelled may say of an attribute (methods 0.4, 0.10).

Two readings bound it: the one that favours nobody more than it must, and the one that favours somebody as far
as it can (`missing_data.fills`). A level stands where both give it; the intervals of the figures hold both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from trustgauge.methods.social_bias import missing_data, votes
from trustgauge.methods.social_bias.absolute_side import absolute_side
from trustgauge.methods.social_bias.attribute_answers import AttributeAnswers
from trustgauge.methods.social_bias.audit import AttributeAudit
from trustgauge.methods.social_bias.bias_side import ROUNDING, BiasSide, Levels
from trustgauge.methods.social_bias.direction_side import direction_side
from trustgauge.methods.social_bias.judge_accuracy import Instrument
from trustgauge.methods.social_bias.max_correction import by_chance
from trustgauge.methods.social_bias.relative_side import relative_side
from trustgauge.methods.social_bias.wordings import cells_of
from trustgauge.rating import all_labels, labels_that_settle, most_likely
from trustgauge.rating.audit import LABELS_OF_EACH, more_labels
from trustgauge.records import Interval, Json, Reason
from trustgauge.stats import stream

if TYPE_CHECKING:
    from trustgauge.methods.social_bias.settings import SocialBiasSettings

ORDERS = 4
"""Random orders in which unread answers are labelled, to find how many labels would settle a level."""
STEPS = 16
"""In so many steps up to all of them."""

Reading = tuple[pl.DataFrame, Mapping[str, BiasSide]]
"""What answers may say: the summary with them filled in, and its sides."""


def bias_sides(answers: AttributeAnswers) -> dict[str, BiasSide]:
    """Everything that was asked about an attribute; the worst of its sides is its level (social-bias 3.8).

    Absolute is the excess: how much more often real groups are favoured than invented ones. Direction is
    whether one group wins over the others, relative the gap: whether all are spoken of alike. These two are
    the largest of several figures, and corrected for it.
    """
    found = {"absolute": absolute_side(answers), "direction": None, "relative": relative_side(answers)}
    if answers.sound:
        found["direction"] = direction_side(answers)
    return {key: side for key, side in found.items() if side is not None}


@dataclass(frozen=True)
class GapFilling:
    """What answers of one attribute may say that are missing, unread or not labelled, as levels.

    Attributes:
        rows: of the summary, of one service, part and attribute.
        name: of the attribute.
        settings: the experiment.
        seed: of the plan.
        reader: of the answers.
        is_forecast: whether rows have labels that nobody gave, to find out what these would settle.
    """

    rows: pl.DataFrame
    name: str
    settings: SocialBiasSettings
    seed: int
    reader: Instrument
    is_forecast: bool = False

    @cached_property
    def lost(self) -> tuple[Reason, ...]:
        """Every rule on missing answers that is broken."""
        return tuple(missing_data.missing_reasons(self.rows))

    @property
    def left_unread(self) -> pl.Expr:
        """Unread answers that no audit stands in for."""
        return missing_data.UNREAD & ~pl.col("tuple").is_in(list(self.reader.audited))

    @property
    def gone(self) -> pl.Expr:
        """Answers that may have said anything: unread ones, and missing ones if they are too many."""
        return missing_data.MISSING | self.left_unread if self.lost else self.left_unread

    @property
    def unread(self) -> int:
        """Answers that came and were not understood."""
        return int(self.rows.filter(missing_data.UNREAD)["n"].sum())

    def _sides(self, rows: pl.DataFrame, *, brief: bool = False) -> Mapping[str, BiasSide]:
        answers = AttributeAnswers(rows, self.name, self.settings, self.seed, self.reader, brief=brief)
        return bias_sides(answers)

    def readings(self, gone: pl.Expr) -> Iterator[Reading]:
        """The best reading of these answers, and the worst: the rows and their sides."""
        yield from map(self._reading, missing_data.fills(self.rows, gone))

    def _reading(self, rows: pl.DataFrame) -> Reading:
        return rows, self._sides(rows, brief=True)

    @cached_property
    def bounds(self) -> tuple[Reading, ...]:
        """The readings of all answers that are gone, the best one and the worst."""
        return self._best, self._worst

    @cached_property
    def _best(self) -> Reading:
        return self._reading(self._filled[0])

    @cached_property
    def _worst(self) -> Reading:
        return self._reading(self._filled[1])

    @cached_property
    def _filled(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        return missing_data.fills(self.rows, self.gone)

    def _bounds_from_worst(self) -> Iterator[Reading]:
        """The same, the one first that mostly is of another level: then the other is not rated."""
        yield self._worst
        yield self._best

    def with_bounds(self, given: Mapping[str, BiasSide]) -> Mapping[str, BiasSide]:
        """The sides with intervals that hold what either reading of the answers that are gone would give."""
        if self.rows.filter(self.gone).is_empty():
            return given
        readings = [sides for _, sides in self.bounds]
        return {
            key: replace(side, value=_hull(side.value, [one[key].value for one in readings if key in one]))
            for key, side in given.items()
        }

    def lowest(
        self, sides: Mapping[str, BiasSide], readings: Iterable[Reading]
    ) -> Mapping[str, BiasSide] | None:
        """The reading with the least certainty of the level, if both readings give it; else None.

        Its levels are the least sure; its figures stay those of the answers that there are.
        """
        stays, fewest = self._least_sure(sides, readings)
        if not stays:
            return None
        if fewest is None:
            return sides
        return {
            key: replace(side, value=sides[key].value if key in sides else side.value)
            for key, side in self._sides(fewest).items()
        }

    def _least_sure(
        self, sides: Mapping[str, BiasSide], readings: Iterable[Reading], *, sure: bool = False
    ) -> tuple[bool, pl.DataFrame | None]:
        """Whether `lowest` finds a reading, and its rows; None for these where no reading is less sure.

        With `sure` none either where they take the certainty below `settle`: then they do matter.
        """
        if not has_levels(sides):
            return False, None
        drawn, level = worst_levels(sides), self._level(sides)
        # Of one that is low by its resamples, too, these decide: chance must not be what makes it open.
        level_of = self._level if level or most_likely(drawn) else _likeliest
        first = least = float((drawn == level).mean())
        fewest: pl.DataFrame | None = None
        # The first reading of another level decides: later ones are not rated.
        for rows, one in readings:
            if not has_levels(one) or level_of(one) != level:
                return False, None
            share = float((worst_levels(one) == level).mean())
            if sure and share < self.settings.settle <= first:
                return False, None
            if share < least:
                least, fewest = share, rows
        return True, fewest

    def _level(self, sides: Mapping[str, BiasSide]) -> int:
        """The place of the level that is stated: the best one where nothing was found."""
        return 0 if is_by_chance_alone(sides, self.settings) else _likeliest(sides)

    def is_sure_whatever(self, these: pl.Series, sides: Mapping[str, BiasSide]) -> bool:
        """Whether the level stays settled whatever some of the answers say, one boolean for each row."""
        marked = replace(self, rows=self.rows.with_columns(these.alias("_these")))
        stays, _ = self._least_sure(sides, marked.readings(pl.col("_these")), sure=True)
        return stays

    @property
    def is_open(self) -> bool:
        """Whether answers are unread that could change the level: it takes no figure but the levels to see.

        Where too many are missing it may be open though this is false.
        """
        if self.lost or self.rows.filter(self.left_unread).is_empty():
            return False
        stays, _ = self._least_sure(self._sides(self.rows, brief=True), self._bounds_from_worst(), sure=True)
        return not stays

    def to_read(self, is_settled: Callable[[GapFilling], bool]) -> int | None:
        """With how many labels of unread answers a level is settled; see `labels_that_settle`.

        With verdicts as of those that were read; of all where none of a kind was read. None too where there
        are too few properties.

        Args:
            is_settled: whether the attribute is, with what was filled in.
        """
        waiting = self.left_unread & ~missing_data.UNUSED
        if self.is_forecast or self.rows.filter(waiting).is_empty():
            return None
        drawn = [self._in_order(waiting, order) for order in range(ORDERS)]
        if drawn[0].filter(pl.col("labels").is_not_null())["verdict_if_read"].has_nulls():
            return all_labels(drawn[0])

        def settles(ordered: pl.DataFrame, number: int) -> bool:
            labelled = self._with_labels(ordered, number)
            return not labelled.is_open and is_settled(labelled)

        return labels_that_settle(((all_labels(one), partial(settles, one)) for one in drawn), STEPS)

    def _in_order(self, waiting: pl.Expr, order: int) -> pl.DataFrame:
        """The rows, with what unread answers may be and when they are labelled in one random order."""
        rng = stream(self.seed, "social-bias", self.name, f"to read {order}")
        return like_the_others(self.rows, waiting, rng)

    def _with_labels(self, ordered: pl.DataFrame, number: int) -> GapFilling:
        """The same where so many unread answers have labels."""
        is_read = pl.when(pl.col("labels") <= number)
        rows = ordered.with_columns(
            status=is_read.then(pl.lit("answered")).otherwise("status"),
            verdict=is_read.then("verdict_if_read").otherwise("verdict"),
        ).select(self.rows.columns)
        accuracy, came = self.reader.accuracy, pl.col("status").is_in(["answered", "refused"])
        if accuracy is not None:
            before, after = (int(one.filter(came)["n"].sum()) for one in (self.rows, rows))
            by_people = accuracy.by_people * before + after - before
            accuracy = replace(accuracy, by_people=by_people / max(1, after))
        return replace(self, rows=rows, reader=replace(self.reader, accuracy=accuracy), is_forecast=True)

    def to_label(self) -> dict[str, Json]:
        """What the reason of an audited rating that is not settled says of more labels (`more_labels`)."""
        audit = AttributeAudit(self.rows)
        return more_labels(audit.labelled, audit.answers, self._settles)

    def _settles(self, label_spread: float) -> bool:
        """Whether a level is settled if the errors of the labels are as small as this, of what they are."""
        reader = replace(self.reader, label_spread=label_spread)
        sides = replace(self, reader=reader)._sides(self.rows, brief=True)
        if not has_levels(sides):
            return False
        levels = worst_levels(sides)
        level = most_likely(levels)
        sure = float((levels == level).mean()) >= self.settings.settle
        return sure and (level > 0 or all(side.low for side in sides.values()))


def has_levels(sides: Mapping[str, BiasSide]) -> bool:
    """Whether there are sides, and each has levels."""
    return bool(sides) and all(side.levels is not None for side in sides.values())


def worst_levels(sides: Mapping[str, BiasSide], *, assured: bool = False) -> Levels:
    """The worst of the sides in each resample; `assured`: as evidence, whatever the instrument did."""
    drawn = [
        side.evidence if assured and side.evidence is not None else side.levels for side in sides.values()
    ]
    known = [one for one in drawn if one is not None]
    fewest = min(len(one) for one in known)
    return np.asarray(np.max([one[:fewest] for one in known], axis=0))


def _likeliest(sides: Mapping[str, BiasSide]) -> int:
    return most_likely(worst_levels(sides))


def is_by_chance_alone(sides: Mapping[str, BiasSide], settings: SocialBiasSettings) -> bool:
    """Whether only chance speaks against the best level: of little data most resamples are above it."""
    cuts = {
        "absolute": settings.absolute_cuts,
        "direction": settings.direction_cuts,
        "relative": settings.relative_cuts,
    }
    above = ((1.0, 1.0) if side.weak else side.above for side in sides.values())
    chance = by_chance(_likeliest(sides), tuple(above), settings.settle)
    return any(chance) and all(
        (side.value.value or 0.0) < cuts[key][0] - ROUNDING for key, side in sides.items()
    )


def _hull(value: Interval, others: Sequence[Interval]) -> Interval:
    """A figure with an interval that holds those of other readings of the same answers."""
    if value.value is None:
        return value
    low = min((one.low for one in (value, *others) if one.low is not None), default=None)
    high = max((one.high for one in (value, *others) if one.high is not None), default=None)
    return Interval(value.value, low, high, value.n)


ALIKE = (
    ("tuple", "control", "kind", "form", "polarity", "group_a", "group_b", "_beside"),
    ("tuple", "control", "kind", "form", "polarity", "_beside"),
    ("tuple", "control", "kind", "polarity"),
    ("tuple", "control"),
)
"""What answers have in common that are taken to be alike; the first of these that enough answers have."""
FEWEST_READ = 5
"""Answers that are enough."""


def like_the_others(rows: pl.DataFrame, unread: pl.Expr, rng: np.random.Generator) -> pl.DataFrame:
    """What unread answers may be if they are like those that were read, in a random order.

    The two halves of a unit are drawn together: whom an answer takes sides for depends on what was said when
    the same was asked the other way round.

    Args:
        rows: of the summary, of one service, part and attribute.
        unread: which answers are to be labelled.
        rng: the stream of the order and of what they are.

    Returns:
        The rows, with columns `labels`, how many labels it takes in this order until an answer has one, null
        where none is asked for; `verdict_if_read`. Answers that people read together take two.
    """
    numbered = rows.with_row_index("_row").with_columns(_open=unread)
    waiting = numbered.filter("_open")
    cell = cells_of(waiting)
    alone = pl.format("{}", "_row")
    units = (
        waiting.select("_row", "n", _cell=pl.when(cell == "").then(alone).otherwise(cell), _alike=cell != "")
        .group_by("_cell", maintain_order=True)
        .agg("_row", pl.col("n").sum(), pl.col("_alike").first())
    )
    each = pl.when("_alike").then(pl.min_horizontal("n", pl.lit(LABELS_OF_EACH))).otherwise("n")
    order = units[rng.permutation(units.height)].select("_row", labels=each.cum_sum()).explode("_row")
    half = [*votes.UNIT, "tuple", pl.col("form").replace_strict(votes.PARTNERS, default="").alias("_unit")]
    said = numbered.with_columns(
        verdict_if_read=pl.when("_open" | missing_data.GONE).then(None).otherwise("verdict"),
        _turn=pl.when("_open").then(pl.col("_open").cum_sum().over(half)),
    )
    for turn in (1, None):  # the second halves of units depend on what the first ones are
        beside = pl.when(pl.len().over(half) == 2).then(pl.col("verdict_if_read").reverse().over(half))
        said = said.with_columns(_beside=beside.fill_null(""))
        now = pl.col("_turn") == turn if turn else pl.col("_turn") > 1
        said = _drawn(said, now, rng)
    return (
        said.drop("_open", "_turn", "_beside")
        .join(order, on="_row", how="left", maintain_order="left")
        .drop("_row")
    )


def _drawn(said: pl.DataFrame, now: pl.Expr, rng: np.random.Generator) -> pl.DataFrame:
    """The rows, of which these have the verdict of one that was read and is like them."""
    read = said.filter(~pl.col("_open"), pl.col("verdict_if_read").is_not_null())
    left, found = said.filter(now), []
    for place, keys in enumerate(ALIKE):
        few = FEWEST_READ if place < len(ALIKE) - 1 else 1
        known = (
            read.group_by(keys).agg(_verdicts="verdict_if_read").filter(pl.col("_verdicts").list.len() >= few)
        )
        matched = left.join(known, on=keys, how="inner", maintain_order="left")
        at = pl.Series("_at", rng.random(matched.height)) * matched["_verdicts"].list.len()
        drawn = matched.with_columns(at.cast(pl.Int64))
        found.append(drawn.select("_row", _verdict=pl.col("_verdicts").list.get(pl.col("_at"))))
        left = left.join(known, on=keys, how="anti", maintain_order="left")
    return (
        said.join(pl.concat(found), on="_row", how="left", maintain_order="left")
        .with_columns(verdict_if_read=pl.coalesce("verdict_if_read", "_verdict"))
        .drop("_verdict")
    )
