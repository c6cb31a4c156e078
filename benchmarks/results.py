"""What a benchmark found: comparisons and curves as plain data, and the words for them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

Better = Literal["less", "more"]


@dataclass(frozen=True, slots=True)
class Target:
    """What a figure of ours has to reach.

    Attributes:
        limit: at most so much, or at least so much, whichever is better.
        why: why it is missed and what comes next; told only where it is.
        of_ratio: whether the limit is one of the ratio, which has to be at least so much.
    """

    limit: float
    why: str
    of_ratio: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One comparison within one run.

    Attributes:
        what: the work that was done.
        unit: of both figures, such as "s" or "answers/s".
        ours: our figure; None if it was not measured.
        against: who did the same, in words; "" if nobody did.
        other: their figure.
        better: whether less is better or more.
        target: None if none was set.
        note: what a reader must know to read the figures, such as what was scaled.
    """

    what: str
    unit: str
    ours: float | None
    against: str = ""
    other: float | None = None
    better: Better = "less"
    target: Target | None = None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """How many times better ours is: the other's cost by ours, or our speed by the other's."""
        if not self.ours or not self.other:
            return None
        return self.other / self.ours if self.better == "less" else self.ours / self.other

    @property
    def met(self) -> bool | None:
        """Whether the target is reached; None without a target or a figure."""
        if self.target is None or self.ours is None:
            return None
        if self.target.of_ratio:
            return None if self.ratio is None else self.ratio >= self.target.limit
        return self.ours <= self.target.limit if self.better == "less" else self.ours >= self.target.limit


@dataclass(frozen=True, slots=True)
class Curve:
    """How one figure grows with the number of rows.

    Attributes:
        name: the way or the stage.
        unit: "s" or "MB".
        points: (rows, figure), in rising order of rows.
    """

    name: str
    unit: str
    points: tuple[tuple[float, float], ...]

    @property
    def slope(self) -> float | None:
        """Growth between the first and the last point as a power of the rows: 1 is linear, 0 constant."""
        (first, low), (last, high) = self.points[0], self.points[-1]
        if last <= first or low <= 0 or high <= 0:
            return None
        return math.log(high / low) / math.log(last / first)


@dataclass(frozen=True, slots=True)
class Found:
    """All that one benchmark found."""

    rows: tuple[Row, ...]
    curves: tuple[Curve, ...] = ()


def as_json(found: Found) -> dict[str, Any]:
    """Plain data, from which `from_json` makes the same again."""
    return {"rows": [asdict(row) for row in found.rows], "curves": [asdict(curve) for curve in found.curves]}


def from_json(told: Mapping[str, Any]) -> Found:
    """The inverse of `as_json`. Raises KeyError or TypeError for anything else."""
    return Found(
        tuple(
            Row(**{**row, "target": Target(**row["target"]) if row["target"] else None})
            for row in told["rows"]
        ),
        tuple(
            Curve(curve["name"], curve["unit"], tuple((at, figure) for at, figure in curve["points"]))
            for curve in told["curves"]
        ),
    )


def figure(value: float | None) -> str:
    """A number with three digits that count; "–" if there is none."""
    if value is None:
        return "–"
    if value == 0:
        return "0"
    decimals = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{round(value, decimals):,.{decimals}f}" if decimals else f"{round(value, 2 - _size(value)):,.0f}"


def _size(value: float) -> int:
    return math.floor(math.log10(abs(value)))


def rows_in_words(rows: float) -> str:
    """100000 -> "10^5", 250000 -> "250,000"."""
    power = round(math.log10(rows)) if rows > 0 else 0
    return f"10^{power}" if power > 3 and rows == 10**power else f"{rows:,.0f}"


def verdict(row: Row) -> str:
    """The last column: "met", or "missed" and why; "" without a target."""
    if row.target is None:
        return ""
    if row.met is None:
        return "not measured"
    return "met" if row.met else f"**missed**: {row.target.why}"


def limit(row: Row) -> str:
    """The target in words."""
    if row.target is None:
        return ""
    if row.target.of_ratio:
        return f"at least {figure(row.target.limit)} times"
    return f"{'at most' if row.better == 'less' else 'at least'} {figure(row.target.limit)} {row.unit}"


def line(row: Row) -> str:
    """A row in words, as a benchmark prints it that is run by itself."""
    told = f"{figure(row.ours)} {row.unit}; {row.against} {figure(row.other)}, ratio {figure(row.ratio)}"
    return f"{row.what}: {told} {limit(row)} {verdict(row)}".rstrip()
