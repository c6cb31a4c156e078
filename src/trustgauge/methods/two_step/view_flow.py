"""The two-step rule as a flow: what was asked, how many parts went which way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trustgauge.reports import sentences, svg
from trustgauge.reports.colours import step
from trustgauge.reports.document import levels

if TYPE_CHECKING:
    from trustgauge.reports.document_model import RatingEntry

WIDE = 880.0
_FULL = 96.0  # height of the stream when all parts are in it
_HALF = 52.0  # half the height of a box
_MIDDLE = 74.0  # of the first boxes
_LEAVE = ("BS", None)  # where a part ends that does not reach the second step
_STAY = ("DSBS", "UCS")


@dataclass(frozen=True, slots=True)
class Stream:
    """The parts that end at one place."""

    level: str | None
    titles: Sequence[str]
    unsettled: int

    @property
    def size(self) -> int:
        return len(self.titles)


def flow(rating: RatingEntry) -> str:
    """The decision flow of a two-step rating; the width of a stream is its number of parts."""
    ends = streams(rating)
    total = sum(end.size for end in ends.values())
    if not total:
        return ""
    noun = sentences.noun(rating, total)
    plan = _layout(ends, _FULL / total)
    drawn = [
        _band((150, _MIDDLE - _FULL / 2), (190, _MIDDLE - _FULL / 2), _FULL, "sn"),
        _box(10, _MIDDLE, 140, _first(rating, total, noun)),
        _box(190, _MIDDLE, 150, ("Step 1", "balanced text in:", "still balanced out?")),
    ]
    for key in _LEAVE:
        if key in plan.tops:
            size = ends[key].size * plan.unit
            drawn.append(_band((340, plan.starts[key]), (600, plan.tops[key]), size, _tone(rating, key)))
    if "BS" in plan.tops:
        drawn.append(_answer(360, min(plan.starts["BS"], plan.tops["BS"]), "no", ends["BS"].size))
    drawn.append(_second(rating, ends, plan))
    drawn += [_end(rating, ends[key], top, plan.unit) for key, top in plan.tops.items()]
    title = f"How {total} {noun} came to their level"
    return svg.picture((WIDE, plan.high), title, describe(rating), *drawn, **{"class": "fig"})


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the streams begin and end, top edges in pixels, and where the second step stands."""

    unit: float
    starts: Mapping[str | None, float]
    tops: Mapping[str | None, float]
    second: float
    high: float


def _layout(ends: Mapping[str | None, Stream], unit: float) -> Layout:
    """Streams that leave after step 1 run above the second step, the others through it."""
    starts: dict[str | None, float] = {}
    tops: dict[str | None, float] = {}
    y, top, below = _MIDDLE - _FULL / 2, 24.0, 0.0
    for key in _LEAVE:
        size = ends[key].size * unit
        if size:
            starts[key], tops[key] = y, top
            y, below = y + size, max(below, y + size, top + size)
            top += _room(size)
    second = below + _HALF + 10 if below else _MIDDLE
    going = [(key, ends[key].size * unit) for key in _STAY if ends[key].size]
    top = max(top, second - sum(_room(size) for _, size in going) / 2 + 12)
    y = second - sum(size for _, size in going) / 2
    for key, size in going:
        starts[key], tops[key] = y, top
        y, top = y + size, top + _room(size)
    low = second + _HALF if going else 0.0
    return Layout(unit, starts, tops, second, max(low, _MIDDLE + _HALF, top - 14) + 10)


def _room(size: float) -> float:
    """The height that a stream and the words beside it take."""
    return max(size + 26, 62)


def streams(rating: RatingEntry) -> dict[str | None, Stream]:
    """Parts by where they end; None is "no level". Parts the attribute cannot occur in are left out."""
    able = [part for part in rating["parts"] if part["state"] != "not applicable"]
    ends: dict[str | None, Stream] = {}
    for key in (*_LEAVE, *_STAY):
        mine = [part for part in able if part["level"] == key]
        named = [
            f"{sentences.title(part)}{' [not settled]' if part['state'] == 'not settled' else ''}"
            for part in mine
        ]
        ends[key] = Stream(key, named, sum(part["state"] == "not settled" for part in mine))
    return ends


def describe(rating: RatingEntry) -> str:
    """The flow in words."""
    told = []
    for key, end in streams(rating).items():
        if end.size:
            words = sentences.level_in_words(rating, key) if key else "no level"
            told.append(f"{words}: {end.size} ({', '.join(end.titles)})")
    return "; ".join(told)


def _first(rating: RatingEntry, total: int, noun: str) -> tuple[str, ...]:
    if noun.startswith("language"):
        return (f"{total} {noun}", "the same texts", "through each")
    return (f"{total} {noun}" if total > 1 else "1 service", "asked the same texts", "")


def _second(rating: RatingEntry, ends: Mapping[str | None, Stream], plan: Layout) -> str:
    """The second step and what leaves it; nothing if no part came so far."""
    going = [key for key in _STAY if key in plan.tops]
    if not going:
        return ""
    thick = sum(ends[key].size for key in going) * plan.unit
    drawn = [
        _band((340, _MIDDLE + _FULL / 2 - thick), (410, plan.second - thick / 2), thick, "sn"),
        _box(410, plan.second, 136, ("Step 2", "skewed text in:", "balanced out?")),
    ]
    for key in going:
        size = ends[key].size * plan.unit
        drawn.append(_band((546, plan.starts[key]), (600, plan.tops[key]), size, _tone(rating, key)))
    return "".join(drawn)


def _tone(rating: RatingEntry, key: str | None) -> str:
    order = levels(rating)
    return f"s{step(order.index(key), len(order))}" if key in order else "sn"


def _band(start: tuple[float, float], stop: tuple[float, float], thick: float, kind: str) -> str:
    (x1, y1), (x2, y2) = start, stop
    bend = (x1 + x2) / 2
    n = svg.number
    path = (
        f"M{n(x1)} {n(y1)}C{n(bend)} {n(y1)} {n(bend)} {n(y2)} {n(x2)} {n(y2)}v{n(thick)}"
        f"C{n(bend)} {n(y2 + thick)} {n(bend)} {n(y1 + thick)} {n(x1)} {n(y1 + thick)}Z"
    )
    return svg.tag("path", {"d": path, "class": kind})


def _box(x: float, middle: float, wide: float, lines: Sequence[str]) -> str:
    drawn = [svg.box(x, middle - 52, wide, 104, rx=10, **{"class": "softbox"})]
    for index, line in enumerate(lines):
        if line:
            head = index == 0
            size, kind = (15, "ink") if head else (12, "second")
            text = svg.fit(line, size, wide - 24, bold=head)
            drawn.append(
                svg.write(x + 14, middle - 18 + 22 * index, text, size, bold=head, **{"class": kind})
            )
    return "".join(drawn)


def _answer(x: float, y: float, word: str, size: int) -> str:
    return svg.write(x, max(12.0, y - 6), f"{word}: {size}", 12, **{"class": "second"})


def _end(rating: RatingEntry, end: Stream, top: float, unit: float) -> str:
    order = levels(rating)
    tone = f"l{step(order.index(end.level), len(order))}" if end.level in order else "go"
    words = sentences.level_in_words(rating, end.level) if end.level else "no level"
    lines = svg.wrap(", ".join(end.titles), 12, 250)
    drawn = [
        svg.box(600, top, 8, max(3.0, end.size * unit), **{"class": tone}),
        svg.write(620, top + 11, f"{end.size} · {words}", 13, bold=True, **{"class": "ink"}),
    ]
    drawn += [
        svg.write(620, top + 29 + 15 * i, line, 12, **{"class": "second"}) for i, line in enumerate(lines)
    ]
    return "".join(drawn)
