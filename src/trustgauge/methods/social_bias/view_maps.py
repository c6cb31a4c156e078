"""The matrices of a social-bias rating as SVG: who wins over whom, and for whom a service speaks.

Colours of cells are fixed, so that the digit on them is black or white, whichever contrasts more, in
light and dark alike. What was never chosen is hatched and has no value: 0 of 0 is not one half.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from trustgauge.methods.social_bias.group_names import GroupName
from trustgauge.methods.social_bias.view_sentences import ALPHA
from trustgauge.reports import numbers, svg
from trustgauge.reports.sanitize import name
from trustgauge.reports.svg import contrast

Facts = Mapping[str, Any]
Colour = tuple[int, int, int]

VIOLET, NEUTRAL, TEAL = (107, 79, 158), (241, 240, 243), (29, 120, 116)
PALE_TEAL, DEEP_TEAL = (230, 241, 240), (22, 92, 89)
WIDE, HIGH, GAP = 58.0, 44.0, 2.0
HEAD, SIZE, SMALL = 160.0, 13.0, 11.0
LEAN = math.radians(40)
MOST = 16
"""Groups in a matrix; of more, those that are furthest from the others are drawn."""


@dataclass(frozen=True, slots=True)
class Square:
    """One cell: what is written in it, its colour (None: hatched), and whether it is outlined."""

    text: str
    under: str
    colour: Colour | None
    outlined: bool = False


def advantage(matrix: Facts, names: Mapping[str, GroupName], title: str) -> str:
    """How often the group of a row wins over that of a column; "" if there is nothing to draw.

    Args:
        matrix: `groups`, `values`, `n` and adjusted `p`, as the method tells them (social-bias 3.8).
        names: of the groups, by id.
        title: what the figure shows.
    """
    ids = shown_groups(matrix)
    if len(ids) < 2:
        return ""
    place = {str(one): index for index, one in enumerate(matrix["groups"])}
    called = [_name(names, one) for one in ids]
    rows = [
        [None if one == other else _won(matrix, place[one], place[other]) for other in ids] for one in ids
    ]
    return _grid(called, called, rows, (title, _advantage_words(matrix, names, ids)))


def shown_groups(matrix: Facts) -> list[str]:
    """Ids of the groups in the figure: all, or the `MOST` that differ most from the others."""
    ids = [str(one) for one in matrix["groups"]]
    if len(ids) <= MOST:
        return ids
    furthest = {
        group: max(
            (abs(share - 0.5) for share, n in zip(row, counts, strict=True) if share is not None and n),
            default=-1.0,
        )
        for group, row, counts in zip(ids, matrix["values"], matrix["n"], strict=True)
    }
    kept = set(sorted(ids, key=lambda one: -furthest[one])[:MOST])
    return [one for one in ids if one in kept]


def _won(matrix: Facts, row: int, column: int) -> Square:
    share, n, p = (matrix[key][row][column] for key in ("values", "n", "p"))
    if share is None or not n:
        return Square("never", "n 0", None)
    side = TEAL if share >= 0.5 else VIOLET
    colour = _blend(NEUTRAL, side, min(1.0, 2 * abs(share - 0.5)))
    return Square(f"{share:.2f}", f"n {numbers.count(n)}", colour, p is not None and p < ALPHA)


def _advantage_words(matrix: Facts, names: Mapping[str, GroupName], ids: Sequence[str]) -> str:
    place = {str(one): index for index, one in enumerate(matrix["groups"])}
    lines = []
    for first, second in combinations(ids, 2):
        share, n, p = (matrix[key][place[first]][place[second]] for key in ("values", "n", "p"))
        pair = f"{_name(names, first).drawn} over {_name(names, second).drawn}"
        if share is None or not n:
            lines.append(f"{pair} never chosen")
        else:
            mark = ", differs from 0.50" if p is not None and p < ALPHA else ""
            lines.append(f"{pair} {share:.2f} (n = {numbers.count(n)}{mark})")
    return "; ".join(lines)


def preference(relative: Facts, names: Mapping[str, GroupName], title: str) -> str:
    """Share of answers that speak for a group, groups by categories, and its spread over the groups below.

    Args:
        relative: `rates` of groups and `cells` of group and category, as the method tells them.
        names: of the groups, by id.
        title: what the figure shows.
    """
    ids = [str(one["group"]) for one in relative["rates"]]
    counts = {
        (str(one["category"]), str(one["group"])): (one["favourable"], one["asked"])
        for one in relative["cells"]
    }
    ids = [one for one in ids if one in names or not names][:MOST]
    categories = list(dict.fromkeys(category for category, _ in counts))
    if not ids or not categories:
        return ""
    whole = {str(one["group"]): one for one in relative["rates"]}
    shares = [[_share(*counts.get((category, one), (0, 0))) for category in categories] for one in ids]
    rows: list[list[Square | None]] = []
    for one, mine in zip(ids, shares, strict=True):
        asked = [counts.get((category, one), (0, 0))[1] for category in categories]
        every = [*zip(mine, asked, strict=True), (whole[one]["value"], whole[one]["n"])]
        rows.append([_spoken(share, n) for share, n in every])
    spreads: list[float | None] = [_variance(column) for column in zip(*shares, strict=True)]
    spreads.append(relative["spread"])
    heads = [GroupName(name(one).replace("-", " ").capitalize()) for one in categories]
    called = [_name(names, one) for one in ids]
    said = "; ".join(
        f"{one.drawn}: " + ", ".join(_heard(head, square) for head, square in zip(heads, row, strict=False))
        for one, row in zip(called, rows, strict=True)
    )
    return _grid(called, [*heads, GroupName("All")], rows, (title, said), spreads)


def _heard(head: GroupName, square: Square | None) -> str:
    return f"{head.text} {square.text} ({square.under})" if square else head.text


def _share(good: int, asked: int) -> float | None:
    return good / asked if asked else None


def _spoken(share: float | None, n: int) -> Square:
    if share is None or not n:
        return Square("none", "n 0", None)
    return Square(f"{share:.2f}", f"n {numbers.count(n)}", _blend(PALE_TEAL, DEEP_TEAL, share))


def _variance(shares: Sequence[float | None]) -> float | None:
    """Variance over the groups, 1/k (social-bias 3.8): the spread of one category."""
    known = [one for one in shares if one is not None]
    if len(known) < 2:
        return None
    mean = sum(known) / len(known)
    return sum((one - mean) ** 2 for one in known) / len(known)


def _name(names: Mapping[str, GroupName], group: str) -> GroupName:
    return names.get(group) or GroupName(name(group))


def _blend(low: Colour, high: Colour, share: float) -> Colour:
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(low, high, strict=True))
    return red, green, blue


def _grid(
    left: Sequence[GroupName],
    top: Sequence[GroupName],
    rows: Sequence[Sequence[Square | None]],
    words: tuple[str, str],
    spreads: Sequence[float | None] = (),
) -> str:
    """A matrix with names at the left and leaning names above it."""
    margin = min(HEAD, max(svg.width(one.drawn, SIZE, bold=True) for one in left)) + 12
    longest = min(HEAD, max(svg.width(one.drawn, SIZE) for one in top))
    above = math.ceil(longest * math.sin(LEAN)) + 18
    wide = margin + len(top) * (WIDE + GAP) + longest * math.cos(LEAN) - WIDE / 2 + 12
    high = above + len(rows) * (HIGH + GAP) + (62 if spreads else 4)
    marks = [_head(one, margin + (WIDE + GAP) * place + WIDE / 2, above - 8) for place, one in enumerate(top)]
    for row, (one, squares) in enumerate(zip(left, rows, strict=True)):
        y = above + row * (HIGH + GAP)
        label = svg.fit(one.drawn, SIZE, HEAD, bold=True)
        more = _language(one)
        marks.append(
            svg.write(margin - 10, y + 27, label, SIZE, bold=True, end="end", **{"class": "ink", **more})
        )
        marks += [
            _square(square, margin + place * (WIDE + GAP), y)
            for place, square in enumerate(squares)
            if square is not None
        ]
    if spreads:
        marks += _spread(spreads, margin, above + len(rows) * (HIGH + GAP))
    return svg.picture((math.ceil(max(wide, 300)), high), *words, *marks, **{"class": "fig"})


def _language(one: GroupName) -> dict[str, svg.Attribute]:
    return {"lang": one.language} if one.language and not one.offensive else {}


def _head(one: GroupName, x: float, y: float) -> str:
    turn = f"rotate(-40 {svg.number(x)} {svg.number(y)})"
    text = svg.fit(one.drawn, SIZE, HEAD)
    return svg.write(x, y, text, SIZE, **{"class": "ink", "transform": turn, **_language(one)})


def _square(one: Square, x: float, y: float) -> str:
    if one.colour is None:
        box = svg.box(x, y, WIDE, HIGH, rx=4, **{"class": "softbox"})
        lines = svg.hatch(x + 1, WIDE - 2, y + 1, HIGH - 2)
        ground = svg.box(x + 6, y + 5, WIDE - 12, HIGH - 10, rx=3, **{"class": "soft"})
        ink: dict[str, svg.Attribute] = {"class": "ink"}
        parts = [box, lines, ground]
    else:
        fill = "#{:02x}{:02x}{:02x}".format(*one.colour)
        ink = {"fill": max(("#000000", "#ffffff"), key=lambda tone: contrast(fill, tone))}
        parts = [svg.box(x, y, WIDE, HIGH, rx=4, fill=fill)]
        if one.outlined:
            line: dict[str, svg.Attribute] = {"fill": "none", "stroke": ink["fill"], "stroke-width": 2.4}
            parts.append(svg.box(x + 2.5, y + 2.5, WIDE - 5, HIGH - 5, rx=3, **line))
    middle = x + WIDE / 2
    bold = one.colour is not None
    parts.append(svg.write(middle, y + 20, one.text, SIZE if bold else 12, bold=bold, end="middle", **ink))
    parts.append(svg.write(middle, y + 36, one.under, SMALL, end="middle", **ink))
    return "".join(parts)


def _spread(spreads: Sequence[float | None], margin: float, y: float) -> list[str]:
    """Bars of the spread over groups, times 100, below the columns."""
    most = max((one for one in spreads if one is not None), default=0.0)
    marks = [
        svg.write(margin - 10, y + 40, "spread", SIZE, bold=True, end="end", **{"class": "ink"}),
    ]
    for place, one in enumerate(spreads):
        x = margin + place * (WIDE + GAP)
        if one is not None:
            tall = 1.0 + 24 * (one / most if most else 0.0)
            marks.append(svg.box(x + WIDE / 2 - 7, y + 36 - tall, 14, tall, **{"class": "ink"}))
        said = numbers.NONE if one is None else f"{100 * one:.1f}"
        marks.append(svg.write(x + WIDE / 2, y + 52, said, 12, end="middle", **{"class": "ink"}))
    return marks


def bar(value: float, *, longest: float) -> str:
    """A rate as a bar in a cell of a table; its number stands beside it."""
    wide = max(1.0, 96 * value / longest) if longest > 0 else 1.0
    return svg.tag(
        "svg",
        {"width": 96, "height": 10, "aria-hidden": "true"},
        svg.box(0, 0, 96, 10, rx=2, **{"class": "soft"}),
        svg.box(0, 0, wide, 10, rx=2, **{"class": "g1"}),
    )
