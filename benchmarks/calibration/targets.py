"""What a rating method is to keep, and what it kept: each target is met by its bound (methods 0.12).

"At most 1 %" is met if the upper end of the 95 % interval is below it, or if none of 300 ratings or more is
wrong; "93 to 97 %" if the interval lies within 92 to 98 %, and power likewise. The worst service counts and
is named. Stated certainty is judged beyond chance: it misses if the whole interval does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.calibration.counting import EDGES, Bin, Row, certainties
from trustgauge.stats.distributions import wilson

WRONG = 0.01  # most of the ratings at the recommended sizes that may settle on a wrong level
ENOUGH = 300  # ratings of which none is wrong
NOMINAL, POINTS, SLACK = (
    0.95,
    0.02,
    0.01,
)  # of intervals, how far from it they may be, and their bounds beyond
POWER, POWER_SLACK = 0.05, 0.01  # how far the share settled may be from the promise, and its bounds beyond
SURER, LESS_SURE = 0.02, 0.05  # how far certainty may be above, and below, the share that is right
FEWEST = 50  # ratings of a bin that is judged


@dataclass(frozen=True, slots=True)
class Target:
    """One target of one method.

    Attributes:
        about: "wrong", "coverage", "power" or "certainty".
        what: in words.
        limit: in words.
        measured: in words, with its binomial error.
        met: whether it is kept.
    """

    about: str
    what: str
    limit: str
    measured: str
    met: bool


def percent(successes: float, trials: float) -> str:
    """A share in per cent, with Wilson's 95 % interval."""
    low, high = wilson(successes, trials)
    return f"{100 * successes / trials:.1f} ({100 * low:.1f} to {100 * high:.1f})" if trials else "–"


def targets(rows: Sequence[Row]) -> list[Target]:
    """Every target that the settings of one method can be held against."""
    recommended = [row for row in rows if row.recommended]
    return [*_wrong(recommended), *_coverage(recommended), *_power(rows), *_certainty(rows)]


def _wrong(rows: Sequence[Row]) -> Iterator[Target]:
    judged = [row for row in rows if not row.on_cut]
    if not judged:
        return
    most = f"at most {100 * WRONG:g} %"
    wrong, runs = sum(row.wrong for row in judged), sum(row.runs for row in judged)
    told = f"{percent(wrong, runs)} %, {len(judged)} services"
    yield Target("wrong", "Wrong levels, all services", most, told, _is_rare(wrong, runs))
    worst = max(judged, key=lambda row: (row.wrong / row.runs, -row.runs))
    beyond = [row for row in judged if not _is_rare(row.wrong, row.runs)]
    told = f"{percent(worst.wrong, worst.runs)} %, {worst.service}"
    if len(beyond) > 1:
        told += f"; {len(beyond)} services not shown to be below"
    yield Target("wrong", "Wrong levels, worst service", most, told, not beyond)


def _is_rare(wrong: int, runs: int) -> bool:
    return (not wrong and runs >= ENOUGH) or wilson(wrong, runs)[1] < WRONG


def _coverage(rows: Sequence[Row]) -> Iterator[Target]:
    # Where few runs are rated at all, those few are no fair sample of what the interval does.
    held = [row for row in rows if row.intervals > row.runs / 2]
    if not held:
        return
    covered, intervals = sum(row.covered for row in held), sum(row.intervals for row in held)
    told = f"{percent(covered, intervals)} %, {len(held)} services"
    span = f"{100 * (NOMINAL - POINTS):g} to {100 * (NOMINAL + POINTS):g} %"
    yield Target(
        "coverage", "Interval holds the truth, all services", span, told, _is_nominal(covered, intervals)
    )
    far = max(held, key=lambda row: abs(row.covered / row.intervals - NOMINAL))
    least = min(held, key=lambda row: row.covered / row.intervals)
    worst = least if wilson(least.covered, least.intervals)[0] < NOMINAL - POINTS - SLACK else far
    beyond = [row for row in held if not _is_nominal(row.covered, row.intervals)]
    told = f"{percent(worst.covered, worst.intervals)} %, {worst.service}"
    if len(beyond) > 1:
        told += f"; {len(beyond)} services not shown to be within"
    yield Target("coverage", "Interval holds the truth, worst service", span, told, not beyond)


def _is_nominal(covered: int, intervals: int) -> bool:
    low, high = wilson(covered, intervals)
    return low >= NOMINAL - POINTS - SLACK and high <= NOMINAL + POINTS + SLACK


def _power(rows: Sequence[Row]) -> Iterator[Target]:
    for row in rows:
        if row.promised is None:
            continue
        low, high = wilson(row.found, row.runs)
        off = POWER + POWER_SLACK
        met = low >= row.promised - off and high <= row.promised + off
        limit = f"{100 * (row.promised - POWER):.0f} to {100 * (row.promised + POWER):.0f} %"
        yield Target(
            "power",
            f"Power, {row.size}: {row.service}",
            limit,
            f"{percent(row.found, row.runs)} %",
            met,
        )


def _certainty(rows: Sequence[Row]) -> Iterator[Target]:
    bins = [(place, one) for place, one in enumerate(certainties(rows)) if one.n >= FEWEST]
    if not bins:
        return
    sure = [(place, one) for place, one in bins if one.said / one.n - wilson(one.right, one.n)[1] > SURER]
    timid = [
        (place, one) for place, one in bins if wilson(one.right, one.n)[0] - one.said / one.n > LESS_SURE
    ]
    place, worst = max(bins, key=lambda pair: pair[1].said / pair[1].n - pair[1].right / pair[1].n)
    what, limit = "Certainty above the share right", f"at most {100 * SURER:g} points"
    yield Target("certainty", what, limit, _told(place, worst), not sure)
    place, worst = min(bins, key=lambda pair: pair[1].said / pair[1].n - pair[1].right / pair[1].n)
    what, limit = "Certainty below the share right", f"at most {100 * LESS_SURE:g} points"
    yield Target("certainty", what, limit, _told(place, worst), not timid)


def _told(place: int, one: Bin) -> str:
    said = 100 * one.said / one.n
    return f"said {said:.1f} %, right {percent(one.right, one.n)} % ({span(place)})"


def span(place: int) -> str:
    """A bin of certainty in words."""
    if place == 0:
        return f"below {EDGES[1]:g}"
    if place == len(EDGES) - 1:
        return f"{EDGES[-1]:g} and above"
    return f"{EDGES[place]:g} to {EDGES[place + 1]:g}"
