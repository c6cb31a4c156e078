"""The picture: certainty said against the share that was right, a panel for each method."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from benchmarks.calibration.counting import Row, certainties
from trustgauge.reports.svg import box, picture, tag, write
from trustgauge.stats.distributions import wilson

SIDE, GAP = 190.0, 24.0  # of a panel, and between panels
LEFT, TOP, BELOW = 46.0, 34.0, 46.0
FEWEST = 10  # ratings of a bin that is drawn
INK, SECOND, LINE, POINT = "#1b1f27", "#5a6270", "#e3e4e0", "#1f6fb2"
TYPE = "system-ui,-apple-system,Segoe UI,Roboto,Helvetica,Arial,sans-serif"


def drawn(methods: Mapping[str, Sequence[Row]]) -> str:
    """All methods side by side, as an SVG document."""
    wide = LEFT + len(methods) * SIDE + (len(methods) - 1) * GAP + 16
    high = TOP + SIDE + BELOW
    told = "; ".join(f"{name}: {', '.join(_words(rows))}" for name, rows in methods.items())
    panels = [
        part
        for place, (name, rows) in enumerate(methods.items())
        for part in _panel(name, rows, LEFT + place * (SIDE + GAP), first=place == 0)
    ]
    title = "Share of right levels by certainty said, per cent"
    return picture(
        (wide, high), title, told, box(0, 0, wide, high, fill="#ffffff"), *panels, **{"font-family": TYPE}
    )


def _points(rows: Sequence[Row]) -> Iterator[tuple[float, int, int]]:
    """Mean certainty said, right and n of each bin that has enough ratings."""
    for one in certainties(rows):
        if one.n >= FEWEST:
            yield one.said / one.n, one.right, one.n


def _words(rows: Sequence[Row]) -> Iterator[str]:
    for said, right, n in _points(rows):
        yield f"said {100 * said:.0f}, right {100 * right / n:.0f} of {n}"


def _panel(name: str, rows: Sequence[Row], left: float, *, first: bool) -> Iterator[str]:
    bottom = TOP + SIDE
    yield write(left, TOP - 12, name, 14, fill=INK, bold=True)
    yield box(left, TOP, SIDE, SIDE, fill="none", stroke=LINE)
    for tick in (0, 25, 50, 75, 100):
        at = SIDE * tick / 100
        yield tag(
            "path", {"d": f"M{left} {bottom - at:.1f}h{SIDE}M{left + at:.1f} {TOP}v{SIDE}", "stroke": LINE}
        )
        yield write(left + at, bottom + 16, str(tick), 11, fill=SECOND, end="middle")
        if first:
            yield write(left - 6, bottom - at + 4, str(tick), 11, fill=SECOND, end="end")
    yield tag("path", {"d": f"M{left} {bottom}l{SIDE} -{SIDE}", "stroke": SECOND, "stroke-dasharray": "4 3"})
    for said, right, n in _points(rows):
        x = left + SIDE * said
        low, high = (bottom - SIDE * share for share in wilson(right, n))
        yield tag("path", {"d": f"M{x:.1f} {low:.1f}V{high:.1f}", "stroke": POINT, "stroke-width": 2})
        yield tag("circle", {"cx": x, "cy": bottom - SIDE * right / n, "r": 3.5, "fill": POINT})
    axes = "certainty said, % (up: right, %)"
    yield write(left + SIDE / 2, bottom + 36, axes, 11, fill=SECOND, end="middle")
