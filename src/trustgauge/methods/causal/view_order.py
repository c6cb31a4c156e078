"""The order of systems: marks on a log axis, ties stacked, brackets for levels; and the table of ranks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from trustgauge.reports import numbers, sentences, svg
from trustgauge.reports.components import Cell, Figure, Fold, Head, Piece, Section, Table, read_messages
from trustgauge.reports.svg import step

if TYPE_CHECKING:
    from trustgauge.reports.document_model import RatingEntry

Order = Mapping[str, Any]
Names = Mapping[str, str]
Mark = tuple[float, int, str, Mapping[str, Any]]  # x, row, name, system

NOTES = read_messages(__package__).table("notes")
RELATIVE_RULES = frozenset({"published", "released"})
"""Rules under which a level is a place in an order of systems (causal 2.7)."""
WIDE = 860.0
_LEFT, _SPAN = 30.0, 560.0
_UNDEFINED = _LEFT + _SPAN + 60
_TICKS = (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10_000, 100_000)
UNDEFINED = "÷ 0"
"""How a raw score is written whose denominator is zero; it ranks worst and is never a number."""


def relative(rating: RatingEntry) -> bool:
    """Whether the levels of a rating are places in an order of systems."""
    return rating["method"]["rule"] in RELATIVE_RULES


def every(rating: RatingEntry) -> dict[str, Order]:
    """The overall orders of a rating by the way it was asked, "" for a service that has one way."""
    orders = rating["details"].get("orders") or {}
    if "systems" in orders:
        return {"": orders}
    return {str(asked): order for asked, order in orders.items() if isinstance(order, Mapping)}


def overall(rating: RatingEntry) -> Order | None:
    """The overall order that speaks for the rating: of the way that decides, else of the first."""
    orders = every(rating)
    parts = [part["details"] for part in rating["parts"] if part["key"] in rating["overall"]["worst"]]
    asked = next((str(one.get("asked") or "") for one in parts), "")
    return orders.get(asked) or next(iter(orders.values()), None)


def comparison_values(order: Order) -> str:
    """What the systems are ordered by: raw scores, or effects where no system has a raw score."""
    return "Raw scores" if _by_raw(order) else "Effects in per cent of the score's range"


def _by_raw(order: Order) -> bool:
    systems = order.get("systems") or ()
    return any(one.get("raw") is not None or one.get("raw_undefined") for one in systems)


def _valued(order: Order) -> list[dict[str, Any]]:
    """The systems with the value that places them on the axis; None stands for "÷ 0"."""
    systems = [dict(one) for one in order.get("systems") or () if isinstance(one, Mapping)]
    if _by_raw(order):
        placed = [one for one in systems if one.get("raw") is not None or one.get("raw_undefined")]
        return [one | {"value": one["raw"]} for one in placed]
    return [one | {"value": 100 * one["effect"]} for one in systems if one.get("effect") is not None]


def rank(order: Order | None) -> str:
    """The place in the relative order, as an interval: "rank 2 to 4"; a dash for none."""
    if not order or not order.get("rank") or not order.get("of"):
        return numbers.NONE
    low, high = order["rank"]
    return f"rank {low:g}" if low == high else f"rank {low:g} to {high:g}"


def raw(system: Mapping[str, Any]) -> str:
    """A raw score; "÷ 0" where it is undefined by a zero denominator."""
    if system.get("raw") is None:
        return UNDEFINED if system.get("raw_undefined") else numbers.NONE
    return f"{system['raw']:.3g}"


def scale(values: Sequence[float]) -> tuple[float, float]:
    """Unit and end of the axis log(1 + x / unit): a unit of 1, or a tenth of the largest below 2."""
    most = max((value for value in values if math.isfinite(value)), default=0.0)
    unit = 1.0 if most >= 2 or most <= 0 else most / 10
    return unit, max(most, unit)


def axis(value: float, unit: float, end: float) -> float:
    """Where a raw score stands, in pixels."""
    return _LEFT + _SPAN * math.log1p(max(value, 0.0) / unit) / math.log1p(end / unit)


def chart(order: Order, names: Names, title: str) -> str:
    """The systems by raw score; nothing for fewer than two.

    Args:
        order: `systems`: service, raw (None if undefined), effect, complete (level of the order).
        names: of services, by key.
        title: what the scores are of.
    """
    systems = _valued(order)
    if len(systems) < 2:
        return ""
    known = [one for one in systems if one["value"] is not None]
    unit, end = scale([one["value"] for one in known])
    marks = _rows(systems, names, unit, end)
    base = 24.0 + 20 * (1 + max(row for _, row, _, _ in marks))
    levels = sorted({int(one["complete"]) for one in systems if one.get("complete") is not None})
    drawn = [*_ticks(base, unit, end), *_marks(marks, base, levels)]
    if len(known) < len(systems):
        drawn.append(svg.write(_UNDEFINED, base + 22, UNDEFINED, 12, end="middle", **{"class": "ink"}))
    brackets, high = _brackets(systems, levels, base, (unit, end))
    said = "; ".join(
        f"{sentences.name(names.get(one['service'], one['service']))} {_said(one['value'])}"
        for one in systems
    )
    return svg.picture((WIDE, high), title, said, *drawn, *brackets, **{"class": "fig"})


def _x(one: Mapping[str, Any], unit: float, end: float) -> float:
    return _UNDEFINED if one["value"] is None else axis(float(one["value"]), unit, end)


def _said(value: float | None) -> str:
    return UNDEFINED if value is None else f"{value:.3g}"


def _rows(systems: Sequence[Mapping[str, Any]], names: Names, unit: float, end: float) -> list[Mark]:
    """Every system with its place and row: equals stand above each other, and no name meets another."""
    taken: list[float] = []  # where the last name of each row ends
    marks: list[Mark] = []
    for one in sorted(systems, key=lambda one: _x(one, unit, end)):
        x = _x(one, unit, end)
        name = svg.fit(sentences.name(names.get(one["service"], one["service"])), 12, 165)
        row = next((i for i, right in enumerate(taken) if right < x - 10), len(taken))
        taken[row:] = [x + 12 + svg.width(name, 12), *taken[row + 1 :]]
        marks.append((x, row, name, one))
    return marks


def _marks(marks: Sequence[Mark], base: float, levels: Sequence[int]) -> list[str]:
    drawn = []
    for x, row, name, one in marks:
        y = base - 12 - 20 * row
        at = levels.index(int(one["complete"])) if one.get("complete") is not None else 0
        tone = f"c{step(at, len(levels))}" if len(levels) > 1 else "csecond"
        drawn.append(svg.tag("g", {"class": tone}, svg.marker(at, max(len(levels), 1), x, y)))
        drawn.append(svg.write(x + 12, y + 4, name, 12, **{"class": "ink"}))
    return drawn


def _ticks(base: float, unit: float, end: float) -> list[str]:
    n = svg.number
    right = _LEFT + _SPAN
    drawn = [svg.tag("path", {"d": f"M{n(_LEFT)} {n(base)}H{n(right)}", "class": "cut"})]
    last = -99.0
    for tick in (0.0, *(mark * unit for mark in _TICKS)):
        if tick > end * 1.0001:
            break
        x = axis(tick, unit, end)
        text = f"{tick:.3g}"
        if x - last < svg.width(text, 12) + 14:
            continue
        last = x
        drawn.append(svg.tag("path", {"d": f"M{n(x)} {n(base)}v5", "class": "cut"}))
        drawn.append(svg.write(x, base + 22, text, 12, end="middle", **{"class": "second"}))
    return drawn


def _brackets(
    systems: Sequence[Mapping[str, Any]], levels: Sequence[int], base: float, ends: tuple[float, float]
) -> tuple[list[str], float]:
    """A bar below the axis for each level, from its first to its last system, named below it."""
    drawn, y = [], base + 38
    if len(levels) < 2:
        return [], base + 34
    for index, level in enumerate(levels):
        xs = [_x(one, *ends) for one in systems if one.get("complete") == level]
        left, right = min(xs) - 6, max(xs) + 6
        tone = f"l{step(index, len(levels))}"
        word = {0: ": lowest scores", len(levels) - 1: ": highest scores"}.get(index, "")
        text = f"level {level} of {levels[-1]}{word}"  # of few systems, levels in the middle stay empty
        top = y + 26 * index
        drawn.append(svg.box(left, top, right - left, 7, rx=3.5, **{"class": tone}))
        fits = right + 8 + svg.width(text, 12) < WIDE - 4
        where, anchor = (right + 8, "start") if fits else (left - 8, "end")
        drawn.append(svg.write(where, top + 8, text, 12, end=anchor, **{"class": "ink"}))
    return drawn, y + 26 * len(levels)


def table(order: Order, names: Names, label: str) -> Table:
    """All systems with raw score, effect and rank interval, in order."""
    systems = sorted(order.get("systems") or (), key=_first)
    graded = any(one.get("complete") is not None for one in systems)
    by_raw = _by_raw(order)
    heads = [Head("System"), Head("Rank, 95 %")]
    heads += [Head("Raw score", number=True)] if by_raw else []
    heads += [Head("Effect, share of the range", number=True)]
    heads += [Head("Level of the order", number=True)] if graded else []
    rows = []
    for one in systems:
        cells = [
            Cell(sentences.name(names.get(one["service"], one["service"]))),
            Cell(rank({**one, "of": order.get("of") or len(systems)}).removeprefix("rank ")),
            *([Cell(raw(one))] if by_raw else []),
            Cell(numbers.percent(one.get("effect"), numbers.DECIMALS_FROM)),
        ]
        if graded:
            cells.append(Cell(numbers.NONE if one.get("complete") is None else str(one["complete"])))
        rows.append(cells)
    return Table(label, heads, rows)


def _first(system: Mapping[str, Any]) -> tuple[float, float]:
    low, high = (system.get("rank") or (math.inf, math.inf))[:2]
    return low, high


def section(group: Sequence[RatingEntry], names: Names, number: int = 1) -> Section:
    """The overall order, and folded the order of every part."""
    rating, suffix = group[0], f" {number}" if number > 1 else ""
    pieces: list[Piece] = []
    for asked, whole in every(rating).items():
        way = f"all parts, {asked}" if asked else "all parts"
        pieces += _order(whole, names, f"{way}{suffix}")
    for part in rating["parts"]:
        title = sentences.title(part)
        label = f"{title}{suffix}, {part['key']}"
        if order := _order(part["details"].get("order"), names, label):
            pieces.append(Fold(f"Order in {title}", order))
    decides = NOTES["order-decides" if relative(rating) else "order-apart"]
    lead = f"{NOTES['order']} {decides}"
    return Section(f"order{number}", "Order of systems", pieces, lead, "35 40 30")


def _order(order: Order | None, names: Names, label: str) -> list[Figure | Any]:
    if not order or len(order.get("systems") or ()) < 2:
        return []
    what = comparison_values(order)
    drawing = chart(order, names, f"{what}, lower is better: {label}")
    return [
        Figure(Markup(drawing), f"Order of systems: {label}", f"Axis: {what.lower()}, on a log scale."),
        table(order, names, f"Ranks of systems: {label}"),
    ]
