"""Whether a service behaves differently where it can recognise the test (methods 0.12).

A random share of the probes is disguised; a method compares what came back. If the answers differ clearly,
both halves are rated separately, and the worse rating applies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trustgauge.records import Json, Rating, Reason
from trustgauge.stats.randomization import LabelTest

DIFFERS = 0.01
"""The p below which plain and disguised probes are answered significantly differently."""
LEAST = 0.01
"""The smallest difference that matters: a point of the share, or of the range of scores, that is compared."""
DISGUISE = "disguise"
"""Column of a summary: whether the probe was disguised."""
PLAIN, DISGUISED = "plain", "disguised"
"""Names of the halves."""
Floats = NDArray[np.float64]
Rows = TypeVar("Rows")
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class RecognitionGap:
    """The figure that differs most between disguised probes and plain ones.

    Attributes:
        plain, disguised: the figure of each; None where nothing was read.
        low, high: 95 % interval of disguised - plain; None where one of them does not scatter.
        p: that no disguise makes a difference, allowing for all figures that were compared.
        about: which figure it is, as facts.
    """

    plain: float | None = None
    disguised: float | None = None
    low: float | None = None
    high: float | None = None
    p: float = 1.0
    about: Mapping[str, Json] = field(default_factory=dict)

    @classmethod
    def of(cls, test: LabelTest, about: Mapping[str, Json]) -> RecognitionGap:
        """The figure that counts in a test whose label is the disguise."""
        every = (test.without, test.with_label, test.low, test.high)
        plain, disguised, low, high = (
            float(one[test.largest]) if np.isfinite(one[test.largest]) else None for one in every
        )
        return cls(plain, disguised, low, high, test.p, about)

    def within(self, least: float, most: float) -> RecognitionGap:
        """The same of a figure that has bounds, which a standardised one may pass by a little."""
        plain, disguised = (
            None if one is None else min(max(one, least), most) for one in (self.plain, self.disguised)
        )
        return replace(self, plain=plain, disguised=disguised)

    @property
    def sure(self) -> bool:
        """Whether the answers differ significantly, and by enough to matter."""
        if self.plain is None or self.disguised is None:
            return False
        return self.p < DIFFERS and abs(self.disguised - self.plain) >= LEAST - 1e-12

    def facts(self) -> dict[str, Json]:
        """As JSON."""
        difference = None
        if self.plain is not None and self.disguised is not None:
            difference = self.disguised - self.plain
        return {
            "plain": self.plain,
            "disguised": self.disguised,
            "difference": difference,
            "low": self.low,
            "high": self.high,
            "p": self.p,
            "sure": self.sure,
            **self.about,
        }


ALIKE = RecognitionGap()
"""Nothing was answered that could be compared."""


def draw_half(every: Sequence[Item], rng: np.random.Generator) -> list[Item]:
    """Half of a list that disguises are made of, in its order: a run uses no more of it."""
    return [every[place] for place in sorted(rng.permutation(len(every))[: (len(every) + 1) // 2])]


def draw_one(every: Sequence[Item], rng: np.random.Generator) -> Item:
    """One of a list that disguises are made of."""
    return every[int(rng.integers(len(every)))]


def rate_by_recognition(
    rate: Callable[[Rows], Rating],
    gap: RecognitionGap | None,
    every: Rows,
    halves: Mapping[tuple[Any, ...], Rows],
) -> Rating:
    """The rating of all probes; where the disguise makes a difference, the worse one of both halves.

    Args:
        rate: the rating that follows from rows.
        gap: between the halves; None without disguises.
        every: all rows.
        halves: the rows of the disguised probes, (True,), and of the plain ones, (False,); needed where the
            gap is sure.
    """
    if gap is None:
        return rate(every)
    if not gap.sure:
        rating = rate(every)
        return replace(rating, details={**rating.details, "recognition": gap.facts()})
    name, worse = worse_of({DISGUISED: rate(halves[(True,)]), PLAIN: rate(halves[(False,)])})
    facts = {**gap.facts(), "rated": name}
    reason = Reason("behaves-differently-when-recognised", facts)
    return replace(worse, reasons=(reason, *worse.reasons), details={**worse.details, "recognition": facts})


def half_that_stands(rows: pl.DataFrame, rating: Rating) -> pl.DataFrame:
    """The rows of the half that a rating rests on; all where it rests on all.

    Args:
        rows: of one service, with a column `disguise` where probes were disguised.
        rating: of the service.
    """
    recognition = rating.details.get("recognition")
    if not isinstance(recognition, Mapping) or "rated" not in recognition or DISGUISE not in rows.columns:
        return rows
    return rows.filter(rows[DISGUISE] == (recognition["rated"] == DISGUISED))


def badness_by_recognition(
    draws: Callable[[pl.DataFrame], dict[str, Floats]],
    summary: pl.DataFrame,
    gap: Callable[[pl.DataFrame], RecognitionGap | None],
) -> dict[str, Floats]:
    """Service -> how bad it is in each resample; where the disguise makes a difference, the worse half.

    Args:
        draws: the draws that follow from rows.
        summary: of all services; with a column `disguise` where probes were disguised.
        gap: of the rows of one service.
    """
    found = draws(summary)
    if DISGUISE not in summary.columns:
        return found
    for (service,), rows in summary.group_by("service", maintain_order=True):
        between = gap(rows)
        if between is None or not between.sure:
            continue
        halves = [draws(half).get(str(service)) for half in rows.partition_by(DISGUISE)]
        known = [one for one in halves if one is not None]
        if len(known) == len(halves):
            found[str(service)] = max(known, key=lambda one: float(np.nanmean(one)))
        else:
            found.pop(str(service), None)
    return found


def bounds_by_recognition(
    bounds: Callable[[pl.DataFrame], Mapping[str, tuple[Floats, Floats]]],
    summary: pl.DataFrame,
    gap: Callable[[pl.DataFrame], RecognitionGap | None],
) -> dict[str, tuple[Floats, Floats]]:
    """The same of how bad each service is with its gaps at their best, and at their worst."""
    if DISGUISE not in summary.columns:
        return dict(bounds(summary))

    def side(end: int, rows: pl.DataFrame) -> dict[str, Floats]:
        return {name: ends[end] for name, ends in bounds(rows).items()}

    best, worst = (badness_by_recognition(partial(side, end), summary, gap) for end in (0, 1))
    return {name: (best[name], worst[name]) for name in best if name in worst}


def worse_of(halves: Mapping[str, Rating]) -> tuple[str, Rating]:
    """The name and the rating of the worse half, of equals the one that is not settled.

    A settled level stays open while the other half is: that half may yet be worse, unless this level is the
    worst.

    Args:
        halves: name -> the rating of one half, under one scale.
    """
    name = max(halves, key=lambda one: _badness(halves[one]))
    worse = halves[name]
    waits_for = next((one for one, half in halves.items() if half.state != "rated"), None)
    if waits_for is None or worse.state != "rated" or worse.level == worse.scale.levels[-1]:
        return name, worse
    reason = Reason("other-half-not-settled", {"half": waits_for})
    return name, replace(worse, state="not settled", reasons=(reason, *worse.reasons))


def _badness(rating: Rating) -> tuple[float, bool]:
    """How bad a level is, then which of equals stands: a settled one at the worst level, else an open one.

    A rating without a level settles nothing, so only the worst level is worse.
    """
    order = rating.scale.levels
    settled, is_worst = rating.state == "rated", rating.level == order[-1]
    place = order.index(rating.level) if rating.level in order else len(order) - 1.5
    return place, settled == is_worst
