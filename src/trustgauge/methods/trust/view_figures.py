"""The figure of issue scores: a bar with its cuts and a whisker, so that nearness to a cut is seen.

The bars run on the common scale of risk, on which the cuts of every issue stand at one and two thirds:
cuts of .001 and .01 would not be seen on a scale of scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trustgauge.methods.trust import view_sentences
from trustgauge.methods.trust.messages import RISKS
from trustgauge.reports import svg
from trustgauge.reports.svg import hatch

if TYPE_CHECKING:
    from trustgauge.reports.document_model import PartEntry


LEFT, BAR, ROW = 190.0, 240.0, 30.0
WIDE = 860.0
GAP = 2.0  # of a cut


@dataclass(frozen=True, slots=True)
class Bar:
    """One issue on the common scale of risk.

    Attributes:
        title: of the issue.
        state: of the issue.
        level: L, M or H; None if it has none.
        value: 0 to 1 on the common scale, None if it has no level.
        low: of the 95 % interval on that scale, None without one.
        high: as `low`.
        said: the score in words.
    """

    title: str
    state: str
    level: str | None
    value: float | None
    low: float | None
    high: float | None
    said: str


def bar(part: PartEntry) -> Bar:
    """An issue as a bar; a level that follows from a rule of its own stands in the middle of its third."""
    title = view_sentences.title(str(part["key"]))
    level = part["level"] if view_sentences.has_level(part) else None
    reach = view_sentences.reach(part)
    said = view_sentences.score(part["score"]) + (f", {reach}" if reach else "")
    if level is None:
        return Bar(title, str(part["state"]), None, None, None, None, "" if part["score"] is None else said)
    if view_sentences.by_rule(part):
        middle = (2 * list(RISKS).index(level) + 1) / 6 if level in RISKS else 0.5
        return Bar(title, str(part["state"]), level, middle, None, None, said)
    cuts = part["details"].get("cuts") or (1 / 3, 2 / 3)
    score, *ends = (
        None if one is None else view_sentences.risk_scale(one, cuts)
        for one in (part["score"], part["low"], part["high"])
    )
    return Bar(
        title,
        str(part["state"]),
        level,
        score,
        ends[0],
        ends[1],
        said,
    )


def scores(parts: Sequence[PartEntry], title: str) -> str:
    """The scores of all issues, in the order of their parts."""
    rows = [bar(part) for part in parts]
    drawn = []
    for index, row in enumerate(rows):
        drawn += _row(row, 26 + ROW * index)
    said = "; ".join(_said(row) for row in rows)
    drawn.append(svg.write(LEFT, 13, "low, medium and high risk", 12, **{"class": "second"}))
    return svg.picture((WIDE, 30 + ROW * len(rows)), title, said, *drawn, **{"class": "fig"})


def _said(row: Bar) -> str:
    if row.level is None:
        return f"{row.title}: {row.state}"
    state = "" if row.state == "rated" else f", {row.state}"
    return f"{row.title}: {view_sentences.risk(row.level)} risk{state}, score {row.said}"


def _row(row: Bar, top: float) -> list[str]:
    title = svg.fit(row.title, 13, 176, bold=True)
    drawn = [svg.write(8, top + 15, title, 13, bold=True, **{"class": "ink"})]
    right = LEFT + BAR + 18
    drawn.append(svg.box(LEFT, top + 4, BAR, 14, rx=3, **{"class": "soft"}))
    if row.level is None or row.value is None:
        drawn.append(hatch(LEFT, BAR, top + 4, 14))
        drawn.append(svg.write(right, top + 15, row.state, 13, **{"class": "second"}))
    else:
        drawn += _filled(row, top)
        tone = list(RISKS).index(row.level) if row.level in RISKS else 1
        mark = svg.risk_dots(tone)
        place = f"translate({svg.number(right)} {svg.number(top + 4)})"
        drawn.append(svg.tag("g", {"class": f"c{tone + 1}", "transform": place}, mark))
        state = "" if row.state == "rated" else f" · {row.state}"
        words = f"{view_sentences.risk(row.level)}{state}"
        drawn.append(svg.write(right + 22, top + 15, words, 13, **{"class": "ink"}))
    if row.said:
        drawn.append(svg.write(right + 180, top + 15, row.said, 12, **{"class": "second"}))
    return drawn


def _filled(row: Bar, top: float) -> list[str]:
    """The bar, its cuts, and the whisker over both."""
    tone = list(RISKS).index(str(row.level)) + 1 if row.level in RISKS else 2
    value = row.value or 0.0
    kind = f"l{tone}" if row.state == "rated" else f"s{tone}"
    drawn = [svg.box(LEFT, top + 4, max(3.0, BAR * value), 14, rx=3, **{"class": kind})]
    for third in (1, 2):
        x = LEFT + BAR * third / 3
        drawn.append(svg.box(x - GAP / 2, top + 2, GAP, 18, **{"class": "ground"}))
    if row.low is not None and row.high is not None:
        x1, x2 = (svg.number(LEFT + BAR * end) for end in (row.low, row.high))
        y, first, last = (svg.number(top + more) for more in (11, 6, 16))
        path = f"M{x1} {y}H{x2}M{x1} {first}V{last}M{x2} {first}V{last}"
        pen: dict[str, svg.Attribute] = {"stroke": "currentColor", "stroke-width": 1.6, "fill": "none"}
        drawn.append(svg.tag("path", {"d": path, "class": "cink", **pen}))
    return drawn
