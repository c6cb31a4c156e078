"""A small SVG kit: colours, elements, text that fits its box on every machine, pictograms, QR codes.

Everything is a pure function to a string, so equal input gives equal bytes. Text is escaped
here and nowhere else. No ids, no style attributes, nothing external: the same bytes stand in
a file of their own and inside a page with a strict content policy.

Levels run blue, amber, crimson; groups never use level colours. Every colour token has a light and a
dark value; pages choose by style sheet, labels and badges are always light.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from trustgauge.reports.sanitize import short, xml

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


TOKENS: dict[str, tuple[str, str]] = {
    "page": ("#fbfbf9", "#14161a"),
    "card": ("#ffffff", "#1b1e24"),
    "soft": ("#f2f2ee", "#23272f"),
    "line": ("#e3e4e0", "#30343d"),
    "edge": ("#767d89", "#7d8591"),  # borders of controls: 3 : 1 on page and card
    "ink": ("#1b1f27", "#e9eaec"),
    "second": ("#5a6270", "#a3a9b4"),
    "l1": ("#1f6fb2", "#5aa9e6"),
    "l2": ("#e0a100", "#f0b429"),
    "l3": ("#a3162e", "#f0667f"),
    "on1": ("#ffffff", "#14161a"),  # text on a solid pill of the level
    "on2": ("#1b1f27", "#14161a"),
    "on3": ("#ffffff", "#14161a"),
    "t1": ("#1f6fb2", "#5aa9e6"),  # thin marks and words in the colour of the level
    "t2": ("#8a5d00", "#f0b429"),
    "t3": ("#a3162e", "#f0667f"),
    "s1": ("#c6daea", "#1d3a52"),  # pale ground of a level
    "s2": ("#f7e7bf", "#4a3a12"),
    "s3": ("#f9e6e9", "#4a1f2a"),
    "g1": ("#1d7874", "#2f9d97"),
    "g2": ("#c3b1ea", "#cfc0f2"),
    "g3": ("#54408c", "#8f7fd0"),
    "g4": ("#a5d6d2", "#9bd8d3"),
    "og1": ("#ffffff", "#14161a"),
    "og2": ("#1b1f27", "#14161a"),
    "og3": ("#ffffff", "#14161a"),
    "og4": ("#1b1f27", "#14161a"),
    "other": ("#d9dad6", "#4a4e57"),
    "oother": ("#1b1f27", "#ffffff"),
    "hatch": ("#c3c5bf", "#5b606b"),
}
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
