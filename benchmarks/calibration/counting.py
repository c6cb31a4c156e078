"""Trials counted: what is kept of each setting, and how it is told as JSON."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from benchmarks.calibration.record import NO_LEVEL, Setting, Trial

EDGES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
"""Lower ends of the bins of certainty; the last one ends at 1."""
VARIES = "varies"
"""The truth of a setting whose services are drawn anew in each run."""


class Bin(NamedTuple):
    """Ratings with a certainty in one bin.

    Attributes:
        said: sum of their certainties.
        right: how many gave the true level.
        n: how many there are.
    """

    said: float
    right: int
    n: int

    def __add__(self, other: object) -> Bin:
        assert isinstance(other, Bin)
        return Bin(self.said + other.said, self.right + other.right, self.n + other.n)


@dataclass(frozen=True, slots=True)
class Row:
    """One setting, counted.

    Attributes:
        service, kind, truth, size, recommended, promised: as of `Setting`.
        runs: ratings.
        on_cut: whether the truth lies on a cut, where no level is wrong.
        wrong: settled at another level than the true one.
        found: settled at the true one.
        unsettled: not settled, whether or not a level was given.
        unrated: without any level.
        intervals: ratings with an interval of the score.
        covered: of these, those that hold the true score.
        unread: mean share of the answers that was not read; None where all is read.
        bins: by certainty, one for each of `EDGES`.
    """

    service: str
    kind: str
    truth: str
    size: str
    recommended: bool
    promised: float | None
    runs: int
    on_cut: bool
    wrong: int
    found: int
    unsettled: int
    unrated: int
    intervals: int
    covered: int
    unread: float | None
    bins: tuple[Bin, ...]


def counted(setting: Setting) -> Row:
    """The trials of a setting as numbers."""
    trials = setting.trials
    leveled = [one for one in trials if one.level is not None]
    intervals = [one.covered for one in trials if one.covered is not None]
    return Row(
        service=setting.service,
        kind=setting.kind,
        truth=setting.truth,
        size=setting.size,
        recommended=setting.recommended,
        promised=setting.promised,
        runs=len(trials),
        on_cut=bool(leveled) and all(one.right is None for one in leveled),
        wrong=int(sum(one.settled and one.right is not None and not one.right for one in trials)),
        found=int(sum(bool(one.settled and one.right) for one in trials)),
        unsettled=sum(not one.settled for one in trials),
        unrated=len(trials) - len(leveled),
        intervals=len(intervals),
        covered=sum(map(bool, intervals)),
        unread=_mean([one.unread for one in trials if one.unread is not None]),
        bins=_binned(leveled),
    )


def _mean(shares: Sequence[float]) -> float | None:
    return round(sum(shares) / len(shares), 4) if shares else None


def _binned(trials: Iterable[Trial]) -> tuple[Bin, ...]:
    bins = [Bin(0.0, 0, 0)] * len(EDGES)
    for one in trials:
        if one.right is not None and math.isfinite(one.certainty):
            place = bisect_right(EDGES, one.certainty) - 1
            bins[place] += Bin(float(one.certainty), int(one.right), 1)
    return tuple(bins)


def certainties(rows: Sequence[Row]) -> tuple[Bin, ...]:
    """The bins of a method: of the settings whose truth varies, if it has any, else of all.

    With a fixed truth near a cut the share of right levels says where that truth was put. Certainty
    is to be right over services as they come, so over truths on all sides of the cuts. Where no level is
    true, as of a service that changes, none can be right, and only settled ones are wrong.
    """
    varied = [row for row in rows if row.truth == VARIES] or [row for row in rows if row.truth != NO_LEVEL]
    return tuple(sum((row.bins[place] for row in varied), Bin(0.0, 0, 0)) for place in range(len(EDGES)))


def as_json(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Rows as JSON; bins are lists of certainty said (sum), right and n."""
    return [{**asdict(row), "bins": [[round(one.said, 6), *one[1:]] for one in row.bins]} for row in rows]


def from_json(told: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Rows as `as_json` told them."""
    return [Row(**{**row, "bins": tuple(Bin(*one) for one in row["bins"])}) for row in told]
