"""SVG: colours, elements, text that fits its box on every machine, pictograms, QR codes, and charts.

Everything is a pure function to a string, so equal input gives equal bytes. Text is escaped
here and nowhere else. No ids, no style attributes, nothing external: the same bytes stand in
a file of their own and inside a page with a strict content policy.

Levels run blue, amber, crimson; groups never use level colours. Every colour token has a light and a
dark value; pages choose by style sheet, labels and badges are always light.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trustgauge.reports import numbers, sentences
from trustgauge.reports.components import file, view_of
from trustgauge.reports.document import levels
from trustgauge.reports.sanitize import short, xml

if TYPE_CHECKING:
    from trustgauge.reports.document_model import OverallEntry, PartEntry, RatingEntry


Attribute = str | float | int | None

_WIDTHS = {
    **dict.fromkeys("ijl'|", 222),
    **dict.fromkeys(" !,./:;I[]\\ft·", 278),
    **dict.fromkeys("-()r`", 333),
    **dict.fromkeys('"*°', 390),
    **dict.fromkeys("ckvsxyzJ", 500),
    **dict.fromkeys("+<=>~÷×−", 584),
    **dict.fromkeys("FTZ", 611),
    **dict.fromkeys("ABEKPSVXY&", 667),
    **dict.fromkeys("CDHNRUw", 722),
    **dict.fromkeys("GOQ", 778),
    **dict.fromkeys("mM", 833),
    **dict.fromkeys("W%@…→", 944),
}
_USUAL, _WIDE = 556, 1000
_BOLD = 1.07


TOKENS: dict[str, tuple[str, str]] = tomllib.loads(file("colours.toml"))
"""Colour -> its light and its dark value."""
LIGHT = {name: pair[0] for name, pair in TOKENS.items()}
DARK = {name: pair[1] for name, pair in TOKENS.items()}
PALE = {"l1": "#c6daea", "l2": "#f7e7bf", "l3": "#e8c3ca", "grey": "#e2e3e6"}
"""Grounds of the levels a label does not mark."""


def number(value: float) -> str:
    """A coordinate with at most one decimal, the same on every machine."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def tag(kind: str, attributes: dict[str, Attribute], *children: str) -> str:
    """An element; attributes with None are left out, numbers are rounded, text is escaped."""
    parts = []
    for key, value in attributes.items():
        if value is None:
            continue
        written = xml(value) if isinstance(value, str) else number(value)
        parts.append(f' {key}="{written}"')
    head = f"<{kind}{''.join(parts)}"
    return f"{head}>{''.join(children)}</{kind}>" if children else f"{head}/>"


def width(text: str, size: float, *, bold: bool = False) -> float:
    """About how wide `text` is in a usual sans-serif type at `size` pixels."""
    units = sum(_WIDTHS.get(char, _WIDE if ord(char) >= 0x2E80 else _USUAL) for char in text)
    return units / 1000 * size * (_BOLD if bold else 1)


def fit(text: str, size: float, room: float, *, bold: bool = False) -> str:
    """`text` cut with an ellipsis so that it takes at most `room` pixels."""
    text = short(text, 200)
    while len(text) > 1 and width(text, size, bold=bold) > room:
        text = short(text, len(text) - 1)
    return text


def wrap(text: str, size: float, room: float) -> list[str]:
    """At most two lines; what does not fit is cut, the description has it all."""
    words, line = text.split(" "), ""
    for index, word in enumerate(words):
        longer = f"{line} {word}".strip()
        if width(longer, size) > room and line:
            return [line, fit(" ".join(words[index:]), size, room)]
        line = longer
    return [fit(line, size, room)]


def write(x: float, y: float, text: str, size: float, **more: Attribute) -> str:
    """A line of text from (x, y) on its base line; its length is fixed by `textLength`.

    Args:
        x: the anchor point, in pixels.
        y: the base line, in pixels.
        text: what to write; it is escaped here.
        size: of the type, in pixels.
        more: `bold`, `end` (`middle` or `end`: which end of the text stands at x), and attributes.
    """
    bold, end = bool(more.pop("bold", False)), str(more.pop("end", "start"))
    attributes: dict[str, Attribute] = {
        "x": x,
        "y": y,
        "font-size": size,
        "font-weight": 700 if bold else None,
        "text-anchor": None if end == "start" else end,
        "textLength": math.ceil(width(text, size, bold=bold)) if len(text) > 1 else None,
        "lengthAdjust": "spacingAndGlyphs" if len(text) > 1 else None,
        **more,
    }
    return tag("text", attributes, xml(text))


def box(x: float, y: float, wide: float, high: float, **more: Attribute) -> str:
    """A rectangle."""
    return tag("rect", {"x": x, "y": y, "width": wide, "height": high, **more})


def band(start: tuple[float, float], stop: tuple[float, float], thick: float, kind: str) -> str:
    """A stream of a thickness between two top edges."""
    (x1, y1), (x2, y2) = start, stop
    bend = (x1 + x2) / 2
    n = number
    path = (
        f"M{n(x1)} {n(y1)}C{n(bend)} {n(y1)} {n(bend)} {n(y2)} {n(x2)} {n(y2)}v{n(thick)}"
        f"C{n(bend)} {n(y2 + thick)} {n(bend)} {n(y1 + thick)} {n(x1)} {n(y1 + thick)}Z"
    )
    return tag("path", {"d": path, "class": kind})


def titled_box(x: float, middle: float, wide: float, lines: Sequence[str]) -> str:
    """A box about a middle line, with a title and lines below it."""
    drawn = [box(x, middle - 52, wide, 104, rx=10, **{"class": "softbox"})]
    for index, line in enumerate(lines):
        if line:
            head = index == 0
            size, kind = (15, "ink") if head else (12, "second")
            text = fit(line, size, wide - 24, bold=head)
            drawn.append(write(x + 14, middle - 18 + 22 * index, text, size, bold=head, **{"class": kind}))
    return "".join(drawn)


def picture(size: tuple[float, float], title: str, desc: str, *children: str, **more: Attribute) -> str:
    """A whole picture that says in words what it shows: `role="img"`, title and description."""
    wide, high = size
    attributes: dict[str, Attribute] = {
        "xmlns": "http://www.w3.org/2000/svg",
        "width": wide,
        "height": high,
        "viewBox": f"0 0 {number(wide)} {number(high)}",
        "role": "img",
        "aria-label": more.pop("label", None),
        **more,
    }
    head = tag("title", {}, xml(title)) + (tag("desc", {}, xml(desc)) if desc else "")
    return tag("svg", attributes, head, *children)


def risk_dots(position: int) -> str:
    """Three dots, the first `position + 1` of them filled, in `currentColor`: low, medium, high risk."""
    drawn = (
        f'<circle cx="{2 + 5 * i}" cy="7" r="1.9" fill="{"currentColor" if i <= position else "none"}"/>'
        for i in range(3)
    )
    return f'<g stroke="currentColor" stroke-width=".8">{"".join(drawn)}</g>'


def marker(position: int, count: int, x: float, y: float, *, filled: bool = True) -> str:
    """The mark of a level in a chart: square, circle, triangle; from the fourth level on a number."""
    fill = "currentColor" if filled else "none"
    ring: dict[str, Attribute] = {"fill": fill, "stroke": "currentColor", "stroke-width": 1.6}
    if not filled:
        ring["stroke-dasharray"] = "2.5 1.5"
    if count > 3 and position >= 3:
        return write(x, y + 4, str(position + 1), 12, end="middle", fill="currentColor")
    if position <= 0:
        return box(x - 4.5, y - 4.5, 9, 9, **ring)
    if position >= count - 1 and count > 2:
        return tag("path", {"d": f"M{number(x)} {number(y - 5.5)}l5.5 10h-11z", **ring})
    return tag("circle", {"cx": x, "cy": y, "r": 4.8, **ring})


def qr(content: str, x: float, y: float, side: float, colour: str) -> str:
    """A QR code as one path within a square of `side` pixels, with a quiet zone of white around it."""
    import segno  # a label is the only thing that needs it

    rows = [list(row) for row in segno.make_qr(content, error="m").matrix]
    scale = side / len(rows)
    runs = "".join(_runs(index, row) for index, row in enumerate(rows))
    ground = box(x - 3, y - 3, side + 6, side + 6, fill="#fff")
    place = f"translate({number(x)} {number(y)}) scale({scale:.4f})"
    look = {"stroke": colour, "transform": place, "shape-rendering": "crispEdges"}
    return ground + tag("path", {"d": runs, **look})


def _runs(index: int, row: Sequence[int]) -> str:
    """One row of a code as lines one module thick, each begun where the one before ended."""
    parts, start, pen = [], 0, None
    while start < len(row):
        stop = start
        while stop < len(row) and row[stop]:
            stop += 1
        if stop > start:
            move = f"M{start} {index}.5" if pen is None else f"m{start - pen} 0"
            parts.append(f"{move}h{stop - start}")
            pen = stop
        start = max(stop, start) + 1
    return "".join(parts)


def step(position: int, count: int) -> int:
    """Which of the three level colours the level at `position` (0 is best) of `count` takes: 1, 2, 3."""
    if position <= 0:
        return 1
    return 3 if position >= count - 1 else 2


def luminance(colour: str) -> float:
    """Relative luminance of `#rrggbb` (WCAG 2.2, definition of relative luminance)."""
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    """Contrast ratio of two colours, 1 to 21 (WCAG 2.2, 1.4.3)."""
    bright, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def style_tokens(values: dict[str, str]) -> str:
    """The tokens as custom properties of a style sheet."""
    return "".join(f"--{name}:{value};" for name, value in values.items())


BAR = 150.0


def group(position: int, count: int) -> str:
    """The style class of an output value; the last value, the residual, is hatched."""
    return "go" if position == count - 1 else f"g{position % 4 + 1}"


def swatch(position: int, count: int) -> str:
    """A small square in the colour of a value, for legends; its name stands beside it."""
    return tag(
        "svg",
        {"width": 12, "height": 12, "aria-hidden": "true"},
        box(0, 0, 12, 12, rx=2, **{"class": group(position, count)}),
        hatch(0, 12, 0, 12) if position == count - 1 else "",
    )


def caret() -> str:
    """The mark of the input's share, for the legend."""
    return tag(
        "svg",
        {"width": 12, "height": 12, "aria-hidden": "true"},
        tag("path", {"d": "M1 2h10l-5 8z", "class": "ink"}),
    )


def mark(rating: RatingEntry, level: str) -> str:
    """The pictogram of a level, 16 pixels, for a pill whose words stand beside it."""
    order = levels(rating)
    drawn = view_of(rating).pictogram(level, order.index(level), len(order))
    return tag("svg", {"width": 16, "height": 16, "viewBox": "0 0 14 14", "aria-hidden": "true"}, drawn)


def bars(sent: Sequence[float], out: Sequence[float], values: Sequence[str], *, pale: bool = False) -> str:
    """What came back in one block as a stacked bar, with carets at the shares that were sent.

    Args:
        sent: mentions of each value that were sent.
        out: those that came back.
        values: their names.
        pale: whether the bar is drawn as one that does not count.
    """
    total = sum(out)
    said = "; ".join(
        f"{sentences.name(value)} {went} sent, {came} back"
        for value, went, came in zip(values, sent, out, strict=True)
    )
    drawn, left = [], 0.0
    for index, number in enumerate(out):
        wide = BAR * number / total if total else 0.0
        if wide > 0:
            drawn.append(_segment(index, len(values), (left, wide), number, pale=pale))
        left += wide
    if not total:
        drawn.append(box(0, 6, BAR, 20, **{"class": "soft"}))
    return picture((BAR, 32), said, "", *drawn, *_carets(sent), **{"class": "fig"})


def _segment(index: int, count: int, place: tuple[float, float], number: float, *, pale: bool) -> str:
    left, wide = place
    kind = group(index, count)
    drawn = [box(left, 6, wide, 20, **{"class": f"{kind} pale" if pale else kind})]
    digits = f"{number:g}"
    room = width(digits, 11) + 6
    if index == count - 1:
        drawn.append(hatch(left, wide, 6, 20))
    if wide >= room + 2:
        last = index == count - 1
        if last:  # a quiet ground keeps the digits readable on the hatch
            drawn.append(box(left + wide - room, 9, room - 2, 14, **{"class": kind}))
        place_x = left + 5 if index == 0 and not last else left + wide - 4
        end = "start" if index == 0 and not last else "end"
        colour = "ink" if pale else f"o{kind}"
        drawn.append(write(place_x, 20, digits, 11, end=end, **{"class": colour}))
    return "".join(drawn)


def hatch(left: float, wide: float, top: float, high: float) -> str:
    """Slanted lines within a box, without a pattern, which would need an id."""
    lines, x = [], left - high + 4
    while x < left + wide:
        start, stop = max(x, left), min(x + high, left + wide)
        if stop > start:
            y1, y2 = top + high - (start - x), top + high - (stop - x)
            lines.append(f"M{number(start)} {number(y1)}L{number(stop)} {number(y2)}")
        x += 6
    return tag("path", {"d": "".join(lines), "class": "hatch"}) if lines else ""


def _carets(sent: Sequence[float]) -> list[str]:
    """Marks above and below a bar at the borders between the values that were sent."""
    total, share, drawn = sum(sent), 0.0, []
    for count in sent[:-1]:
        share += count / total if total else 0.0
        if 0 < share < 1 - 1e-9:
            x = number(BAR * share)
            drawn.append(tag("path", {"d": f"M{x} 8l-4-7h8zM{x} 24l-4 7h8z", "class": "ink"}))
    return drawn


def strip(rating: RatingEntry, certainty: Mapping[str, float]) -> str:
    """Shares of the resamples by level, so that the second likeliest level is seen as well."""
    order = levels(rating)
    drawn, left = [], 0.0
    for index, level in enumerate(order):
        wide = 88 * certainty.get(level, 0.0)
        if wide > 0.3:
            drawn.append(box(left, 0, wide, 8, **{"class": f"l{step(index, len(order))}"}))
        left += wide
    sure = numbers.certainties(certainty)
    said = ", ".join(f"{key} {sure[key]}" for key in order if certainty.get(key, 0) > 0)
    return picture((88, 8), f"Resamples: {said or 'none'}", "", *drawn, **{"class": "fig"})


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
        drawn.append(box(left, 20, reach, high - 20, **{"class": "soft"}))
        drawn.append(write(left, 13, ruler.zone[1], 12, **{"class": "second"}))
    for tick in range(round(top / step_size) + 1):
        x = left + wide * tick * step_size / top
        drawn.append(tag("path", {"d": f"M{number(x)} 20V{number(high)}", "class": "grid"}))
        drawn.append(
            write(x, high + 18, f"{100 * tick * step_size:g}", 12, end="middle", **{"class": "second"})
        )
    for cut in (one for one in ruler.cuts if one <= top):
        path = f"M{number(left + wide * cut / top)} 20V{number(high)}"
        drawn.append(tag("path", {"d": path, "class": "cut", "stroke-dasharray": "4 3"}))
    drawn.append(write(left + wide + 24, high + 18, ruler.unit, 12, **{"class": "second"}))
    for index, row in enumerate(rows):
        drawn.append(_span(rating, row, 38 + 30 * index, (left, wide / top), ruler.said(row.value)))
    said = "; ".join(f"{row.title} {ruler.said(row.value)}, {_reach(row)}" for row in rows)
    return picture((860, high + 26), ruler.title, said, *drawn, **{"class": "fig"})


def _reach(row: Span) -> str:
    low, high = (numbers.signed_number(100 * end, 0) for end in (row.low, row.high))
    return f"{low} to {high}, n = {numbers.count(row.n)}"


def _span(rating: RatingEntry, row: Span, y: float, axis: tuple[float, float], said: str) -> str:
    left, unit = axis
    order = levels(rating)
    known = row.level in order
    position = order.index(row.level) if row.level is not None and known else 1
    # the axis begins at zero; the figures beside the line tell what lies below it
    x1, x2, x = (number(left + unit * max(0.0, value)) for value in (row.low, row.high, row.value))
    dash = None if row.settled else "5 3"
    line = tag(
        "path",
        {
            "d": f"M{x1} {number(y)}H{x2}",
            "stroke": "currentColor",
            "stroke-width": 2.4,
            "stroke-dasharray": dash,
        },
    )
    dot = marker(position, len(order), float(x), y, filled=row.settled)
    tone = f"c{step(position, len(order))}" if known else "csecond"
    label = fit(row.title, 13, 170, bold=True)
    return "".join(
        (
            write(8, y + 4, label, 13, bold=True, **{"class": "ink"}),
            tag("g", {"class": tone}, line, dot),
            write(620, y + 4, said, 13, **{"class": "ink"}),
            write(700, y + 4, _reach(row), 12, **{"class": "second"}),
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
    drawn = [write(8, 14, "unchanged", 12, **{"class": "second"})]
    for tick in range(5):
        y = top + high * (1 - tick / 4)
        drawn.append(tag("path", {"d": f"M{left} {number(y)}H{left + wide}", "class": "grid"}))
        drawn.append(write(left - 8, y + 4, f"{25 * tick} %", 12, end="end", **{"class": "second"}))
    for index, level in enumerate(order):
        words = fit(sentences.level_in_words(rating, level), 12, column - 8)
        x = left + column * (index + 0.5)
        drawn.append(write(x, top + high + 20, words, 12, end="middle", **{"class": "ink"}))
        mine = [dot for dot in dots if dot.level == level]
        drawn.append(_column(rating, mine, left + column * index + 16, (top, high, column - 36)))
    said = "; ".join(f"{dot.title}: {dot.level}, {numbers.percent(dot.unchanged)} unchanged" for dot in dots)
    title = "Level against the share of mentions left unchanged; up and left is better"
    return picture((620, top + high + 34), title, said, *drawn, **{"class": "fig"})


def _column(rating: RatingEntry, dots: Sequence[Dot], x: float, area: tuple[float, float, float]) -> str:
    top, high, room = area
    order = levels(rating)
    drawn, taken = [], -99.0
    for dot in sorted(dots, key=lambda one: -one.unchanged):
        y = top + high * (1 - dot.unchanged)
        position = order.index(dot.level)
        y1, y2 = (number(top + high * (1 - value)) for value in (dot.high, dot.low))
        bar = tag("path", {"d": f"M{number(x)} {y1}V{y2}", "stroke": "currentColor", "stroke-width": 2})
        spot = marker(position, len(order), x, y, filled=dot.settled)
        drawn.append(tag("g", {"class": f"c{step(position, len(order))}"}, bar, spot))
        taken = max(y + 4, taken + 14)
        drawn.append(write(x + 12, taken, fit(dot.title, 12, room), 12, **{"class": "ink"}))
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
