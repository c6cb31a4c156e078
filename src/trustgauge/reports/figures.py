"""The figures of a report as SVG: flow, stacked bars, intervals, certainty, bias against meaning.

Colours are classes of the page's style sheet, so that light, dark and print share one drawing.
Every figure has its numbers in words. Type is never below 11 pixels: figures keep their size and
scroll within a named region instead of shrinking.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trustgauge.reports import numbers, sentences, svg
from trustgauge.reports.document import levels
from trustgauge.reports.method_view import view_of
from trustgauge.reports.svg import step

if TYPE_CHECKING:
    from trustgauge.reports.document_model import OverallEntry, PartEntry, RatingEntry

Facts = Mapping[str, Any]
Marks = tuple[str, str, str, float]

BAR = 150.0
_RESIDUAL = "lost or other"


def group(position: int, count: int) -> str:
    """The style class of an output value; the last value, the residual, is hatched."""
    return "go" if position == count - 1 else f"g{position % 4 + 1}"


def swatch(position: int, count: int) -> str:
    """A small square in the colour of a value, for legends; its name stands beside it."""
    return svg.tag(
        "svg",
        {"width": 12, "height": 12, "aria-hidden": "true"},
        svg.box(0, 0, 12, 12, rx=2, **{"class": group(position, count)}),
        hatch(0, 12, 0, 12) if position == count - 1 else "",
    )


def caret() -> str:
    """The mark of the input's share, for the legend."""
    return svg.tag(
        "svg",
        {"width": 12, "height": 12, "aria-hidden": "true"},
        svg.tag("path", {"d": "M1 2h10l-5 8z", "class": "ink"}),
    )


def mark(rating: RatingEntry, level: str) -> str:
    """The pictogram of a level, 16 pixels, for a pill whose words stand beside it."""
    order = levels(rating)
    drawn = view_of(rating).pictogram(level, order.index(level), len(order))
    return svg.tag("svg", {"width": 16, "height": 16, "viewBox": "0 0 14 14", "aria-hidden": "true"}, drawn)


def bars(block: Mapping[str, Any], values: Sequence[str], *, pale: bool = False) -> str:
    """What came back in one block as a stacked bar, with carets at the shares that were sent."""
    out, total = block["out"], sum(block["out"])
    said = "; ".join(
        f"{sentences.name(value)} {sent} sent, {came} back"
        for value, sent, came in zip(values, block["in"], out, strict=True)
    )
    drawn, left = [], 0.0
    for index, number in enumerate(out):
        wide = BAR * number / total if total else 0.0
        if wide > 0:
            drawn.append(_segment(index, len(values), (left, wide), number, pale=pale))
        left += wide
    if not total:
        drawn.append(svg.box(0, 6, BAR, 20, **{"class": "soft"}))
    return svg.picture((BAR, 32), said, "", *drawn, *_carets(block["in"]), **{"class": "fig"})


def _segment(index: int, count: int, place: tuple[float, float], number: float, *, pale: bool) -> str:
    left, wide = place
    kind = group(index, count)
    drawn = [svg.box(left, 6, wide, 20, **{"class": f"{kind} pale" if pale else kind})]
    digits = f"{number:g}"
    room = svg.width(digits, 11) + 6
    if index == count - 1:
        drawn.append(hatch(left, wide, 6, 20))
    if wide >= room + 2:
        last = index == count - 1
        if last:  # a quiet ground keeps the digits readable on the hatch
            drawn.append(svg.box(left + wide - room, 9, room - 2, 14, **{"class": kind}))
        place_x = left + 5 if index == 0 and not last else left + wide - 4
        end = "start" if index == 0 and not last else "end"
        colour = "ink" if pale else f"o{kind}"
        drawn.append(svg.write(place_x, 20, digits, 11, end=end, **{"class": colour}))
    return "".join(drawn)


def hatch(left: float, wide: float, top: float, high: float) -> str:
    """Slanted lines within a box, without a pattern, which would need an id."""
    lines, x = [], left - high + 4
    while x < left + wide:
        start, stop = max(x, left), min(x + high, left + wide)
        if stop > start:
            y1, y2 = top + high - (start - x), top + high - (stop - x)
            lines.append(f"M{svg.number(start)} {svg.number(y1)}L{svg.number(stop)} {svg.number(y2)}")
        x += 6
    return svg.tag("path", {"d": "".join(lines), "class": "hatch"}) if lines else ""


def _carets(sent: Sequence[float]) -> list[str]:
    """Marks above and below a bar at the borders between the values that were sent."""
    total, share, drawn = sum(sent), 0.0, []
    for number in sent[:-1]:
        share += number / total if total else 0.0
        if 0 < share < 1 - 1e-9:
            x = svg.number(BAR * share)
            drawn.append(svg.tag("path", {"d": f"M{x} 8l-4-7h8zM{x} 24l-4 7h8z", "class": "ink"}))
    return drawn


def strip(rating: RatingEntry, certainty: Mapping[str, float]) -> str:
    """Shares of the resamples by level, so that the second likeliest level is seen as well."""
    order = levels(rating)
    drawn, left = [], 0.0
    for index, level in enumerate(order):
        wide = 88 * certainty.get(level, 0.0)
        if wide > 0.3:
            drawn.append(svg.box(left, 0, wide, 8, **{"class": f"l{step(index, len(order))}"}))
        left += wide
    said = ", ".join(
        f"{key} {numbers.certainty(certainty[key])}" for key in order if certainty.get(key, 0) > 0
    )
    return svg.picture((88, 8), f"Resamples: {said or 'none'}", "", *drawn, **{"class": "fig"})


@dataclass(frozen=True, slots=True)
class Span:
    """One row of the interval chart."""

    title: str
    level: str | None
    settled: bool
    value: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True)
class Ruler:
    """What the interval chart measures, in the words of its method.

    Attributes:
        title: what the figure shows.
        unit: beside the axis, whose numbers are hundredths.
        zone: up to which value is shaded, and what that means; None for no zone.
        said: a value in words.
        cuts: values at which a dashed line stands.
    """

    title: str
    unit: str
    zone: tuple[float, str] | None
    said: Callable[[float], str]
    cuts: Sequence[float] = ()


def intervals(rating: RatingEntry, ruler: Ruler) -> str:
    """The score of each part with its 95 % interval, largest first, over the zone of the ruler."""
    rows = [
        Span(
            sentences.title(part),
            part["level"],
            part["state"] == "rated",
            part["score"],
            part["low"],
            part["high"],
            part["n"],
        )
        for part in rating["parts"]
        if part["score"] is not None and part["low"] is not None and part["high"] is not None
    ]
    if not rows:
        return ""
    rows.sort(key=lambda row: -row.value)
    top = max(0.2, *(row.high for row in rows))
    step_size = 0.25 if top > 0.5 else 0.1 if top > 0.2 else 0.05
    top = math.ceil(top / step_size - 1e-9) * step_size
    left, wide, high = 190.0, 400.0, 34 + 30 * len(rows)
    drawn = []
    if ruler.zone:
        reach = wide * min(ruler.zone[0], top) / top
        drawn.append(svg.box(left, 20, reach, high - 20, **{"class": "soft"}))
        drawn.append(svg.write(left, 13, ruler.zone[1], 12, **{"class": "second"}))
    for tick in range(round(top / step_size) + 1):
        x = left + wide * tick * step_size / top
        drawn.append(svg.tag("path", {"d": f"M{svg.number(x)} 20V{svg.number(high)}", "class": "grid"}))
        drawn.append(
            svg.write(x, high + 18, f"{100 * tick * step_size:g}", 12, end="middle", **{"class": "second"})
        )
    for cut in (one for one in ruler.cuts if one <= top):
        path = f"M{svg.number(left + wide * cut / top)} 20V{svg.number(high)}"
        drawn.append(svg.tag("path", {"d": path, "class": "cut", "stroke-dasharray": "4 3"}))
    drawn.append(svg.write(left + wide + 24, high + 18, ruler.unit, 12, **{"class": "second"}))
    for index, row in enumerate(rows):
        drawn.append(_span(rating, row, 38 + 30 * index, (left, wide / top), ruler.said(row.value)))
    said = "; ".join(f"{row.title} {ruler.said(row.value)}, {_reach(row)}" for row in rows)
    return svg.picture((860, high + 26), ruler.title, said, *drawn, **{"class": "fig"})


def _reach(row: Span) -> str:
    low, high = (numbers.signed_number(100 * end, 0) for end in (row.low, row.high))
    return f"{low} to {high}, n = {numbers.count(row.n)}"


def _span(rating: RatingEntry, row: Span, y: float, axis: tuple[float, float], said: str) -> str:
    left, unit = axis
    order = levels(rating)
    known = row.level in order
    position = order.index(row.level) if row.level is not None and known else 1
    # the axis begins at zero; the figures beside the line tell what lies below it
    x1, x2, x = (svg.number(left + unit * max(0.0, value)) for value in (row.low, row.high, row.value))
    dash = None if row.settled else "5 3"
    line = svg.tag(
        "path",
        {
            "d": f"M{x1} {svg.number(y)}H{x2}",
            "stroke": "currentColor",
            "stroke-width": 2.4,
            "stroke-dasharray": dash,
        },
    )
    dot = svg.marker(position, len(order), float(x), y, filled=row.settled)
    tone = f"c{step(position, len(order))}" if known else "csecond"
    label = svg.fit(row.title, 13, 170, bold=True)
    return "".join(
        (
            svg.write(8, y + 4, label, 13, bold=True, **{"class": "ink"}),
            svg.tag("g", {"class": tone}, line, dot),
            svg.write(620, y + 4, said, 13, **{"class": "ink"}),
            svg.write(700, y + 4, _reach(row), 12, **{"class": "second"}),
        )
    )


@dataclass(frozen=True, slots=True)
class Dot:
    """One point of the scatter: a service or a part."""

    title: str
    level: str
    settled: bool
    unchanged: float
    low: float
    high: float


def scatter(rating: RatingEntry, dots: Sequence[Dot]) -> str:
    """Level across, share left unchanged up: the best level may be useless."""
    order = levels(rating)
    left, top, wide, high = 60.0, 28.0, 540.0, 220.0
    column = wide / len(order)
    drawn = [svg.write(8, 14, "unchanged", 12, **{"class": "second"})]
    for tick in range(5):
        y = top + high * (1 - tick / 4)
        drawn.append(svg.tag("path", {"d": f"M{left} {svg.number(y)}H{left + wide}", "class": "grid"}))
        drawn.append(svg.write(left - 8, y + 4, f"{25 * tick} %", 12, end="end", **{"class": "second"}))
    for index, level in enumerate(order):
        words = svg.fit(sentences.level_in_words(rating, level), 12, column - 8)
        x = left + column * (index + 0.5)
        drawn.append(svg.write(x, top + high + 20, words, 12, end="middle", **{"class": "ink"}))
        mine = [dot for dot in dots if dot.level == level]
        drawn.append(_column(rating, mine, left + column * index + 16, (top, high, column - 36)))
    said = "; ".join(f"{dot.title}: {dot.level}, {numbers.percent(dot.unchanged)} unchanged" for dot in dots)
    title = "Level against the share of mentions left unchanged; left and up is better"
    return svg.picture((620, top + high + 34), title, said, *drawn, **{"class": "fig"})


def _column(rating: RatingEntry, dots: Sequence[Dot], x: float, area: tuple[float, float, float]) -> str:
    top, high, room = area
    order = levels(rating)
    drawn, taken = [], -99.0
    for dot in sorted(dots, key=lambda one: -one.unchanged):
        y = top + high * (1 - dot.unchanged)
        position = order.index(dot.level)
        y1, y2 = (svg.number(top + high * (1 - value)) for value in (dot.high, dot.low))
        bar = svg.tag(
            "path", {"d": f"M{svg.number(x)} {y1}V{y2}", "stroke": "currentColor", "stroke-width": 2}
        )
        spot = svg.marker(position, len(order), x, y, filled=dot.settled)
        drawn.append(svg.tag("g", {"class": f"c{step(position, len(order))}"}, bar, spot))
        taken = max(y + 4, taken + 14)
        drawn.append(svg.write(x + 12, taken, svg.fit(dot.title, 12, room), 12, **{"class": "ink"}))
    return "".join(drawn)


def dots(ratings: Sequence[RatingEntry]) -> list[Dot]:
    """The points of the scatter: the services of a run, or the parts of its only rating."""
    if len(ratings) > 1:
        named: list[tuple[str, OverallEntry | PartEntry, str]] = [
            (one["service"]["name"], one["overall"], one["state"]) for one in ratings
        ]
    else:
        named = [(sentences.title(part), part, part["state"]) for one in ratings for part in one["parts"]]
    return [
        Dot(
            sentences.name(title),
            one["level"],
            state == "rated",
            same["value"],
            same["low"] or 0.0,
            1.0 if same["high"] is None else same["high"],
        )
        for title, one, state in named
        if one["level"] is not None and (same := one["unchanged"]) and same["value"] is not None
    ]
