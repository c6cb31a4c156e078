"""Questions that a service that varies was asked a second time: how far its answers hang on chance and time.

Some of the questions, `Plan.retest` of them, go out again at another place of the order, as draws of their
own. They are no data of the rating: `probes_of` leaves them out. Here each second answer is compared with the
first (methods 0.3 (4)).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from trustgauge.methods.method import Method, SecondJudgeUser
from trustgauge.records import Interval, Retest
from trustgauge.run.probe_batches import AGAIN, RETEST_LAG, SECOND
from trustgauge.stats.intervals import wilson

NEAR = 0.3
"""Share of a run within which the second time is near; half of all pairs at random places are."""

_GIVEN = ("answered", "refused", "empty", "unreadable")


@dataclass(slots=True)
class _Counts:
    """Pairs of answers; those that are equal, those that are read alike, and of them those near in time."""

    pairs: int = 0
    equal: int = 0
    alike: int = 0
    near: int = 0
    near_alike: int = 0


class Retests:
    """Takes pairs of answers of one experiment in any number of frames, and counts which are equal."""

    def __init__(self, method: Method) -> None:
        # A second judge was not asked about second answers: all are read by rule.
        if isinstance(method, SecondJudgeUser) and method.second_judge:
            method = method.with_replies({})
        self._method = method
        self._counts: dict[str, _Counts] = {}

    def take(self, service: str, first: pl.DataFrame, second: pl.DataFrame) -> None:
        """Take first and second answers to the same questions, row by row."""
        given = first["status"].is_in(_GIVEN) & second["status"].is_in(_GIVEN)
        asked = [one.filter(given) for one in (first, second)]
        if not given.any():
            return
        equal = _are_equal(asked, ["status", "output"])
        marks = [self._method.score(one.drop(RETEST_LAG, strict=False)) for one in asked]
        reading = [name for name in self._method.score_columns if name in marks[0].columns]
        alike = _are_equal(marks, reading) if reading else equal
        near = asked[1][RETEST_LAG] < NEAR
        counts = self._counts.setdefault(service, _Counts())
        counts.pairs += len(equal)
        counts.equal += int(equal.sum())
        counts.alike += int(alike.sum())
        counts.near += int(near.sum())
        counts.near_alike += int((near & alike).sum())

    def of(self, service: str) -> Retest | None:
        """What the second answers of a service say; None if there are none."""
        counts = self._counts.get(service)
        if counts is None or not counts.pairs:
            return None
        far, far_alike = counts.pairs - counts.near, counts.alike - counts.near_alike
        return Retest(
            equal=_share(counts.equal, counts.pairs),
            alike=_share(counts.alike, counts.pairs) if self._method.score_columns else None,
            near=_share(counts.near_alike, counts.near),
            far=_share(far_alike, far),
        )


def retest_pairs(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The probes of a frame that are asked a second time: as they were asked first, and as they are again."""
    second = rows.filter(pl.col(RETEST_LAG).is_not_null())
    first = second.with_columns(
        pl.col("draw") - SECOND,
        *(pl.col(name).str.strip_suffix(AGAIN) for name in ("id", "session")),
    )
    return first.drop(RETEST_LAG), second


def _are_equal(frames: Sequence[pl.DataFrame], names: Sequence[str]) -> pl.Series:
    """Whether two frames are equal in these columns, row by row; what is missing in both is equal."""
    first, second = (one.select(pl.struct(list(names)).struct.json_encode()).to_series() for one in frames)
    return first == second


def _share(count: int, n: int) -> Interval:
    low, high = wilson(count, n)
    return Interval(count / n if n else None, low if n else None, high if n else None, n)
