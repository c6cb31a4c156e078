"""The causal diagram of a part: fixed layout, every edge with its verdict in words and line style.

Classes stand at the left, the emotion word or the texts of a conversation in the middle, the
score at the right. An undesired edge runs in an arc above or below, so that no label meets a line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trustgauge.reports import numbers, sentences, svg

Edge = Mapping[str, Any]
Point = tuple[float, float]
Box = tuple[float, float, float, float]  # left, top, width, height

WIDE = 720.0
SCORE = "score"
MIDDLE = ("word", "user text", "bot text")
_NAMES = {"word": "Emotion word", "user text": "User's texts", "bot text": "Bot's texts", "score": "Score"}
_BOX = {"class": (140.0, 40.0), "middle": (150.0, 40.0), "score": (130.0, 44.0)}
_UNITS = {"delta": "Δ", "difference": "by"}
LINE = 15.0  # pixels from one line of a label to the next
_OPEN = frozenset({"undetermined", "not tested"})


@dataclass(frozen=True, slots=True)
class Course:
    """How an edge runs: its four Bezier points, and where its label stands."""

    points: tuple[Point, Point, Point, Point]
    label: Point
    end: str  # which end of the label stands there: start, middle, end
    room: float
    lines: int = 1  # of the label, at most; the second stands below the first


def diagram(graph: Mapping[str, Any], title: str) -> str:
    """The diagram as SVG; nothing if there is no edge.

    Args:
        graph: `edges`: `from`, `to`, `role` (desired, undesired, confounding), `verdict`
            (by design, found, same, undetermined, not tested), `number`, `unit`, `p`.
        title: what the diagram is of.
    """
    edges = [edge for edge in graph.get("edges") or () if edge["from"] != edge["to"]]
    if not edges:
        return ""
    boxes, high = layout(edges)
    drawn = []
    for edge, course in courses(edges, boxes, high):
        drawn.append(_edge(edge, course))
    drawn += [_node(name, place) for name, place in boxes.items()]
    return svg.picture((WIDE, high), f"Causal diagram: {title}", describe(graph), *drawn, **{"class": "fig"})


def describe(graph: Mapping[str, Any]) -> str:
    """All edges in words: "gender to score: undesired, found, ATE −0.31"."""
    lines = [
        f"{_short(str(edge['from']))} to {_short(str(edge['to']))}: {', '.join(_verdict(edge))}"
        for edge in graph.get("edges") or ()
    ]
    return "; ".join(lines)


def _short(node: str) -> str:
    return sentences.name(_NAMES.get(node, node)).lower() if node in _NAMES else sentences.name(node)


def _verdict(edge: Edge) -> list[str]:
    verdict, lines = str(edge["verdict"]), [str(edge["role"])]
    if verdict != "by design" or edge["role"] != "confounding":
        lines.append(verdict)
    else:
        lines.append("by design")
    figure = number(edge)
    return [*lines, figure] if figure else lines


def number(edge: Edge) -> str:
    """The number of an edge with its unit: "ATE −0.31", "Δ 0.12", "by 1.20", "p < 0.001"."""
    value, unit = edge.get("number"), str(edge.get("unit") or "")
    if value is None:
        return ""
    if unit == "p":
        return numbers.p_value(value)
    return f"{_UNITS.get(unit, sentences.name(unit))} {numbers.signed_number(value)}".strip()


def label(edge: Edge) -> str:
    """What stands at an edge: "undesired: found, ATE −0.31"; "?" where nothing can be said."""
    role, verdict, figure = str(edge["role"]), str(edge["verdict"]), number(edge)
    head = {"confounding": "confounds", "undesired": "undesired", "desired": "desired"}.get(role, role)
    said = f"? {verdict}" if verdict in _OPEN else verdict
    return f"{sentences.name(head)}: {said}" + (f", {figure}" if figure else "")


def layout(edges: Sequence[Edge]) -> tuple[dict[str, Box], float]:
    """Boxes (left, top, width, height) of all nodes, and the height of the picture."""
    names = list(dict.fromkeys(str(edge[end]) for edge in edges for end in ("from", "to")))
    middle = [name for name in MIDDLE if name in names]
    classes = [name for name in names if name not in {*MIDDLE, SCORE}]
    boxes: dict[str, Box] = {}
    if len(middle) > 1:
        centre = 170.0
        high = 300.0
        places = [centre]
    else:
        centre = 160.0
        places = [80.0 + 160.0 * index for index in range(len(classes))]
        high = 196.0 if len(classes) < 2 else 160.0 * len(classes) + 10
        if any(edge["role"] == "confounding" and edge["to"] == SCORE for edge in edges):
            high += 90
    wide, tall = _BOX["class"]
    for index, name in enumerate(classes):
        y = places[index] if index < len(places) else places[-1] + 60 * (index - len(places) + 1)
        boxes[name] = (10.0, y - tall / 2, wide, tall)
        high = max(high, y + tall)
    wide, tall = _BOX["middle"]
    for index, name in enumerate(middle):
        y = centre if len(middle) == 1 else 110.0 + 120.0 * index
        boxes[name] = (300.0, y - tall / 2, wide, tall)
    if SCORE in names:
        wide, tall = _BOX["score"]
        boxes[SCORE] = (580.0, centre - tall / 2, wide, tall)
    return boxes, high


def courses(edges: Sequence[Edge], boxes: Mapping[str, Box], high: float) -> list[tuple[Edge, Course]]:
    """The course of every edge."""
    classes = [name for name in boxes if name not in {*MIDDLE, SCORE}]
    chat = sum(name in boxes for name in MIDDLE) > 1
    return [(edge, _course(edge, boxes, (classes, chat, high))) for edge in edges]


def _course(edge: Edge, boxes: Mapping[str, Box], scene: tuple[list[str], bool, float]) -> Course:
    classes, chat, high = scene
    start, stop = boxes[str(edge["from"])], boxes[str(edge["to"])]
    begin, goal = str(edge["from"]), str(edge["to"])
    if begin in classes and goal == SCORE and edge["role"] == "confounding" and not chat:
        return _below(start, stop, high)
    if begin in classes and goal == SCORE:
        return _arc(start, stop, low=classes.index(begin) > 0, chat=chat, high=high)
    if begin in MIDDLE and goal in MIDDLE:
        x = start[0] + start[2] / 2
        y1, y2 = start[1] + start[3], stop[1]
        return Course(_line((x, y1), (x, y2)), (x + 10, (y1 + y2) / 2 + 4), "start", 150)
    out = (start[0] + start[2], start[1] + start[3] / 2)
    into = (stop[0], stop[1] + stop[3] / 2)
    if begin in MIDDLE and not chat:
        return Course(_line(out, into), ((out[0] + into[0]) / 2, out[1] - 34), "middle", 160, 2)
    if begin in MIDDLE:
        above = out[1] < into[1]
        into = (into[0], into[1] - 10 if above else into[1] + 10)
        y = out[1] - 14 if above else out[1] + 28
        return Course(_line(out, into), (out[0] + 12, y), "start", 150 if above else 240)
    above = out[1] < into[1]
    if chat:
        upper = into[1] < out[1]
        out = (out[0], out[1] - 8 if upper else out[1] + 8)
        y = into[1] - 14 if upper else into[1] + 22
        return Course(_line(out, into), (288, y), "end", 270 if not upper else 150)
    out = (out[0], out[1] + 8 if above else out[1] - 8)
    into = (into[0], into[1] - 10 if above else into[1] + 10)
    return Course(_line(out, into), (225, 100 if above else out[1] - 3), "start", 205)


def _below(start: Box, stop: Box, high: float) -> Course:
    """From a class below everything to the score: the back door by which it confounds."""
    out = (start[0] + start[2] / 2, start[1] + start[3])
    into = (stop[0] + stop[2] / 2, stop[1] + stop[3])
    deep = high - 28
    return Course((out, (120, deep), (560, deep), into), (WIDE / 2, high - 12), "middle", 420)


def _arc(
    start: Box,
    stop: Box,
    *,
    low: bool,
    chat: bool,
    high: float,
) -> Course:
    """From a class over everything, or below everything, to the score."""
    into_x = stop[0] + stop[2] / 2
    if chat:
        out = (start[0] + start[2] / 2, start[1])
        into = (stop[0] + stop[2] - 24, stop[1])
        return Course((out, (110, -6), (640, -6), into), (WIDE / 2, 26), "middle", 420)
    if low:
        out = (start[0] + start[2], start[1] + start[3] - 8)
        deep = out[1] + 54
        into = (into_x, stop[1] + stop[3])
        return Course((out, (320, deep), (560, deep), into), (360, min(high - 6, deep + 8)), "middle", 420)
    out = (start[0] + start[2], start[1] + 8)
    into = (into_x, stop[1])
    return Course((out, (320, 14), (560, 14), into), (360, 24), "middle", 420)


def _line(a: Point, b: Point) -> tuple[Point, Point, Point, Point]:
    third = ((2 * a[0] + b[0]) / 3, (2 * a[1] + b[1]) / 3)
    other = ((a[0] + 2 * b[0]) / 3, (a[1] + 2 * b[1]) / 3)
    return a, third, other, b


def _look(edge: Edge) -> tuple[str, float, str | None]:
    """Style class, width and dashes of an edge: words say the same beside it."""
    role, verdict = edge["role"], edge["verdict"]
    if verdict == "by design":
        return "csecond", 1.8, None
    if verdict != "found":
        return "csecond", 1.8, "7 5"
    if role == "confounding":
        return "c2", 2.2, "2 4"
    return ("c3", 3.2, None) if role == "undesired" else ("cink", 2.4, None)


def _edge(edge: Edge, course: Course) -> str:
    kind, thick, dash = _look(edge)
    p1, p2, p3, p4 = course.points
    n = svg.number
    path = f"M{n(p1[0])} {n(p1[1])}C{n(p2[0])} {n(p2[1])} {n(p3[0])} {n(p3[1])} {n(p4[0])} {n(p4[1])}"
    look: dict[str, svg.Attribute] = {"fill": "none", "stroke": "currentColor", "stroke-width": thick}
    line = svg.tag("path", {"d": path, **look, "stroke-dasharray": dash})
    return svg.tag("g", {"class": kind}, line, _head(p3, p4), *_said(edge, course))


def _said(edge: Edge, course: Course) -> list[str]:
    """The label of an edge, in as many lines as there is room for; what is too long is cut."""
    text, bold = label(edge), edge["verdict"] == "found"
    lines = [text]
    if course.lines > 1 and svg.width(text, 12, bold=bold) > course.room:
        words, comma, figure = text.rpartition(", ")
        lines = [words + comma.strip(), figure] if comma else lines
    listed = [svg.fit(one, 12, course.room, bold=bold) for one in lines]
    x, y = course.label
    look: dict[str, svg.Attribute] = {"end": course.end, "bold": bold, "fill": "currentColor"}
    return [svg.write(x, y + LINE * index, one, 12, **look) for index, one in enumerate(listed)]


def _head(before: Point, tip: Point) -> str:
    """An arrow head at `tip`, along the direction in which the line arrives."""
    dx, dy = tip[0] - before[0], tip[1] - before[1]
    size = (dx * dx + dy * dy) ** 0.5 or 1.0
    ux, uy = 10 * dx / size, 10 * dy / size
    n = svg.number
    back = (tip[0] - ux, tip[1] - uy)
    left = f"L{n(back[0] - uy / 2)} {n(back[1] + ux / 2)}"
    right = f"L{n(back[0] + uy / 2)} {n(back[1] - ux / 2)}"
    return svg.tag("path", {"d": f"M{n(tip[0])} {n(tip[1])}{left}{right}Z", "fill": "currentColor"})


def _node(name: str, place: Box) -> str:
    left, top, wide, high = place
    radius = 6 if name not in {*MIDDLE, SCORE} else high / 2
    shape = svg.box(left, top, wide, high, rx=radius, **{"class": "node"})
    words = sentences.name(_NAMES.get(name, name[:1].upper() + name[1:]))
    text = svg.fit(words, 13, wide - 16, bold=True)
    look: dict[str, svg.Attribute] = {"bold": True, "end": "middle", "class": "ink"}
    return shape + svg.write(left + wide / 2, top + high / 2 + 4.5, text, 13, **look)
