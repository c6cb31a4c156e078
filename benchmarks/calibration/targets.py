"""What a rating method is to keep, and what it kept: each target with its measure, met or missed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.calibration.counting import EDGES, Bin, Row, certainties
from trustgauge.stats.distributions import wilson

WRONG = 0.01  # most of the ratings at the recommended sizes that may settle on a wrong level
NOMINAL, POINTS = 0.95, 0.02  # of intervals, and how far from it they may be
POWER = 0.05  # how far the share settled may be from what the plan promises
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
        met: whether it is kept. One setting of many misses a target only if it does so beyond
            chance, that is with its whole 95 % interval.
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
    share, error = _mean([(row.wrong, row.runs) for row in judged])
    told = f"{100 * share:.2f} ± {100 * error:.2f} %, {len(judged)} services"
    most = f"at most {100 * WRONG:g} %"
    yield Target("wrong", "Wrong levels, mean over the services", most, told, share <= WRONG)
    worst = max(judged, key=lambda row: row.wrong / row.runs)
    beyond = [row for row in judged if wilson(row.wrong, row.runs)[0] > WRONG]
    told = f"{percent(worst.wrong, worst.runs)} %, {worst.service}"
    if len(beyond) > 1:
        told += f"; {len(beyond)} services above"
    yield Target("wrong", "Wrong levels, worst service", most, told, not beyond)


def _coverage(rows: Sequence[Row]) -> Iterator[Target]:
    # Where few runs are rated at all, those few are no fair sample of what the interval does.
    held = [row for row in rows if row.intervals > row.runs / 2]
    if not held:
        return
    share, error = _mean([(row.covered, row.intervals) for row in held])
    told = f"{100 * share:.1f} ± {100 * error:.1f} %, {len(held)} services"
    span = f"{100 * (NOMINAL - POINTS):g} to {100 * (NOMINAL + POINTS):g} %"
    met = abs(share - NOMINAL) <= POINTS
    yield Target("coverage", "Interval holds the truth, mean over the services", span, told, met)
    least = min(held, key=lambda row: row.covered / row.intervals)
    below = [row for row in held if wilson(row.covered, row.intervals)[1] < NOMINAL - POINTS]
    told = f"{percent(least.covered, least.intervals)} %, {least.service}"
    if len(below) > 1:
        told += f"; {len(below)} services below"
    limit = f"at least {100 * (NOMINAL - POINTS):g} %"
    yield Target("coverage", "Interval holds the truth, worst service", limit, told, not below)


def _power(rows: Sequence[Row]) -> Iterator[Target]:
    for row in rows:
        if row.promised is None:
            continue
        low, high = wilson(row.found, row.runs)
        met = low <= row.promised + POWER and high >= row.promised - POWER
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


def _mean(counts: Sequence[tuple[int, int]]) -> tuple[float, float]:
    """The mean of shares, each service alike, and twice its binomial standard error."""
    shares = [hits / runs for hits, runs in counts]
    variance = sum(p * (1 - p) / runs for p, (_, runs) in zip(shares, counts, strict=True))
    return sum(shares) / len(shares), 2 * variance**0.5 / len(shares)
