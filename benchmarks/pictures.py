"""Pictures of results: bars of ratios, and curves of growth, both on axes of powers of ten."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from benchmarks.results import Curve, Row, figure, rows_in_words
from trustgauge.reports.svg import box, fit, number, picture, tag, write

INK, SECOND, LINE, BETTER, WORSE = "#1b1f27", "#5a6270", "#e3e4e0", "#1f6fb2", "#b4501e"
COLOURS = ("#1f6fb2", "#b4501e", "#3d7a37", "#7a4fa3", "#8a6d00", "#5a6270", "#b03a6b", "#23808a")
TYPE = "system-ui,-apple-system,Segoe UI,Roboto,Helvetica,Arial,sans-serif"
WIDE, NAMES, BAR, TOP = 960.0, 560.0, 22.0, 60.0
SIDE, LEFT, GAP = 330.0, 64.0, 150.0  # of a panel of curves


def bars(rows: Sequence[Row]) -> str:
    """A bar for each row with a ratio: to the right of 1 where ours is better, to the left where worse."""
    drawn = [(row, row.ratio) for row in rows if row.ratio is not None]
    powers = [math.log10(ratio) for _, ratio in drawn]
    low, high = math.floor(min(powers, default=0)), max(1, math.ceil(max(powers, default=1)))
    low = min(low, -1)
    bottom = TOP + BAR * len(drawn)
    scale = (WIDE - NAMES - 70) / (high - low)

    def at(power: float) -> float:
        return NAMES + (power - low) * scale

    parts = [write(16, 24, "How many times better ours is", 15, fill=INK, bold=True)]
    parts.append(
        write(16, 42, "above 1: less time or memory, or more speed, than the other", 11, fill=SECOND)
    )
    for power in range(low, high + 1):
        dark = INK if power == 0 else LINE
        parts.append(tag("path", {"d": f"M{number(at(power))} {TOP}V{number(bottom)}", "stroke": dark}))
        parts.append(write(at(power), TOP - 6, _power(power), 11, fill=SECOND, end="middle"))
    for place, (row, ratio) in enumerate(drawn):
        parts += _bar(row, ratio, (at(0), at(math.log10(ratio))), TOP + BAR * place)
    said = "; ".join(f"{row.what} against {row.against}: {figure(ratio)}" for row, ratio in drawn)
    return _page((WIDE, bottom + 16), "How many times better ours is", said, parts)


def _bar(row: Row, ratio: float, ends: tuple[float, float], top: float) -> Iterator[str]:
    start, stop = ends
    words = fit(f"{row.what} / {row.against}".replace("`", ""), 11, NAMES - 28)
    yield write(16, top + 15, words, 11, fill=INK)
    colour = BETTER if ratio >= 1 else WORSE
    yield box(min(start, stop), top + 4, max(1.0, abs(stop - start)), BAR - 8, fill=colour)
    yield write(max(start, stop) + 5, top + 15, figure(ratio), 11, fill=INK)


def _power(power: int) -> str:
    return f"{10**power:,}" if 0 <= power < 4 else f"{10.0**power:g}" if -4 < power < 0 else f"10^{power}"


def growth(title: str, curves: Sequence[Curve]) -> str:
    """A panel for each unit, figures against rows, both on axes of powers of ten."""
    units = [unit for unit in ("s", "MB") if any(curve.unit == unit for curve in curves)]
    wide = LEFT + len(units) * (SIDE + GAP)
    parts = [write(16, 24, title, 15, fill=INK, bold=True)]
    for place, unit in enumerate(units):
        mine = [curve for curve in curves if curve.unit == unit]
        parts += _panel(unit, mine, LEFT + place * (SIDE + GAP))
    said = "; ".join(
        f"{curve.name}: "
        + ", ".join(f"{figure(y)} {curve.unit} at {rows_in_words(x)}" for x, y in curve.points)
        for curve in curves
    )
    return _page((wide, TOP + SIDE + 46), title, said, parts)


def _panel(unit: str, curves: Sequence[Curve], left: float) -> Iterator[str]:
    every = [point for curve in curves for point in curve.points]
    ranges = [_span([point[axis] for point in every]) for axis in (0, 1)]
    bottom = TOP + SIDE

    def at(x: float, y: float) -> tuple[float, float]:
        (x0, x1), (y0, y1) = ranges
        return (
            left + SIDE * (math.log10(x) - x0) / (x1 - x0),
            bottom - SIDE * (math.log10(y) - y0) / (y1 - y0),
        )

    yield box(left, TOP, SIDE, SIDE, fill="none", stroke=LINE)
    for power in range(ranges[0][0], ranges[0][1] + 1):
        x, _ = at(10.0**power, 10.0 ** ranges[1][0])
        yield tag("path", {"d": f"M{number(x)} {TOP}V{number(bottom)}", "stroke": LINE})
        yield write(x, bottom + 16, _power(power), 11, fill=SECOND, end="middle")
    for power in range(ranges[1][0], ranges[1][1] + 1):
        _, y = at(10.0 ** ranges[0][0], 10.0**power)
        yield tag("path", {"d": f"M{number(left)} {number(y)}h{SIDE:g}", "stroke": LINE})
        yield write(left - 6, y + 4, _power(power), 11, fill=SECOND, end="end")
    words = "seconds" if unit == "s" else "peak memory, MB"
    yield write(left, TOP - 8, words, 12, fill=INK)
    yield write(left + SIDE / 2, bottom + 36, "rows", 11, fill=SECOND, end="middle")
    ends = _apart([at(*curve.points[-1])[1] for curve in curves])
    for place, curve in enumerate(curves):
        yield from _curve(
            curve, [at(*point) for point in curve.points], COLOURS[place % len(COLOURS)], ends[place]
        )


def _curve(curve: Curve, places: Sequence[tuple[float, float]], colour: str, label: float) -> Iterator[str]:
    path = "L".join(f"{number(x)} {number(y)}" for x, y in places)
    yield tag("path", {"d": f"M{path}", "stroke": colour, "stroke-width": 2, "fill": "none"})
    for x, y in places:
        yield tag("circle", {"cx": x, "cy": y, "r": 3, "fill": colour})
    yield write(places[-1][0] + 8, label + 4, fit(curve.name, 11, GAP - 30), 11, fill=colour)


def _apart(places: Sequence[float], least: float = 14.0) -> list[float]:
    """The same heights, moved down where labels would lie on each other."""
    moved = list(places)
    before = -math.inf
    for place in sorted(range(len(moved)), key=lambda one: moved[one]):
        before = moved[place] = max(moved[place], before + least)
    return moved


def _span(values: Sequence[float]) -> tuple[int, int]:
    """Powers of ten around the values."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def _page(size: tuple[float, float], title: str, said: str, parts: Sequence[str]) -> str:
    return (
        picture(size, title, said, box(0, 0, *size, fill="#ffffff"), *parts, **{"font-family": TYPE}) + "\n"
    )
