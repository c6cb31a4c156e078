"""The label of a chatbot: for whom, three boxes, the issues in that user's order, type, other profiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trustgauge.methods.trust import view_sentences
from trustgauge.methods.trust.messages import RISKS
from trustgauge.methods.trust.view_figures import Bar, bar
from trustgauge.reports import numbers, sentences, svg
from trustgauge.reports.svg import LIGHT, PALE, hatch

if TYPE_CHECKING:
    from trustgauge.reports.document_model import PartEntry, RatingEntry


INK, SECOND, LINE = LIGHT["ink"], LIGHT["second"], LIGHT["line"]
MOST = 5  # issues that have room
BOX, HIGH = 84.0, 46.0
BAR = 150.0


def profile_words(rating: RatingEntry) -> str:
    """For whom a label is: "privacy first", or "the default order" where no profile is named."""
    named = view_sentences.profile(rating) if rating["overall"]["profile"] else "default order"
    return named[:1].lower() + named[1:]


def for_whom(rating: RatingEntry) -> str:
    """For whom a label is, as a heading: "For users who put privacy first"."""
    words = profile_words(rating)
    return f"For users who put {words}" if words.endswith(" first") else f"For users: {words}"


def body(rating: RatingEntry, band: str, *, dead: bool) -> list[str]:
    """What stands between the name of the service and the foot."""
    who = svg.fit(for_whom(rating), 13, 264, bold=True)
    drawn = [svg.write(18, 125, who, 13, bold=True, fill=INK)]
    if band:
        drawn += [
            svg.box(18, 136, 264, HIGH, rx=6, fill=INK),
            svg.write(150, 164, svg.fit(band, 13, 250, bold=True), 13, bold=True, end="middle", fill="#fff"),
        ]
    else:
        drawn += [_box(rating, place, level) for place, level in enumerate(RISKS)]
    drawn.append(svg.write(18, 208, svg.fit(_order_line(rating), 11.5, 264), 11.5, fill=SECOND))
    parts = rating["parts"][:MOST]
    pitch = 128 / max(4, len(parts))
    for place, part in enumerate(parts):
        drawn += _issue(part, 218 + pitch * place, dead=dead)
    return [*drawn, svg.tag("path", {"d": "M18 350H282", "stroke": LINE})]


def _order_line(rating: RatingEntry) -> str:
    facts = rating["details"].get("combination") or {}
    if facts.get("not_counted"):
        return "In this order of importance; the last is not counted"
    return "In this order of importance"


def _box(rating: RatingEntry, place: int, level: str) -> str:
    """One of the three levels; the one that was found is solid, or dashed if it is less than settled."""
    x, found = 18 + 90.0 * place, level == rating["overall"]["level"]
    solid = found and rating["state"] == "rated"
    tone = place + 1
    ground = LIGHT[f"l{tone}"] if solid else PALE[f"l{tone}"]
    ink = LIGHT[f"on{tone}"] if solid else INK
    look: dict[str, svg.Attribute] = {}
    if found and not solid:
        look = {"stroke": LIGHT[f"t{tone}"], "stroke-width": 2, "stroke-dasharray": "5 3"}
    words = svg.fit(sentences.level(rating, level).short, 12, 80, bold=found)
    mark = svg.risk_dots(place)
    drawn = [
        svg.box(x, 136, BOX, HIGH, rx=7, fill=ground, **look),
        f'<g color="{ink}" transform="translate({svg.number(x + BOX / 2 - 9)} 139) scale(1.3)">{mark}</g>',
        svg.write(x + BOX / 2, 173, words, 12, bold=found, end="middle", fill=ink),
    ]
    if found:
        middle = svg.number(x + BOX / 2)
        drawn.append(svg.tag("path", {"d": f"M{middle} 184l6 7h-12z", "fill": INK}))
    return "".join(drawn)


def _issue(part: PartEntry, top: float, *, dead: bool) -> list[str]:
    """An issue: its place, its bar with the cuts, its level."""
    row = bar(part)
    rank = part["details"].get("rank")
    number = view_sentences.amount(rank) if rank is not None else numbers.NONE
    drawn = [
        svg.tag("circle", {"cx": 28, "cy": top + 13, "r": 9, "fill": "none", "stroke": INK}),
        svg.write(28, top + 17, number, 11, end="middle", fill=INK),
        svg.write(44, top + 10, svg.fit(row.title, 12, 156, bold=True), 12, bold=True, fill=INK),
        svg.box(44, top + 15, BAR, 7, rx=3, fill=PALE["grey"]),
    ]
    if row.level is None or row.value is None:
        drawn.append(hatch(44, BAR, top + 15, 7).replace('class="hatch"', f'stroke="{LIGHT["hatch"]}"'))
    else:
        drawn += _filled(row, top + 15, dead=dead)
    return [*drawn, _pill(row, top + 13, dead=dead)]


def _filled(row: Bar, top: float, *, dead: bool) -> list[str]:
    tone = list(RISKS).index(row.level) + 1 if row.level is not None and row.level in RISKS else 2
    ground = "#9a9ea6" if dead else LIGHT[f"l{tone}"]
    drawn = [svg.box(44, top, max(4.0, BAR * (row.value or 0.0)), 7, rx=3, fill=ground)]
    return drawn + [svg.box(43.2 + BAR * third / 3, top - 1, 1.6, 9, fill="#fff") for third in (1, 2)]


def _pill(row: Bar, middle: float, *, dead: bool) -> str:
    """The level of an issue in words; dashed where it is less than measured and settled."""
    x, wide, high = 204.0, 78.0, 20.0
    box: dict[str, svg.Attribute] = {"rx": 10}
    if row.level is None:
        said = svg.fit(row.state, 11, wide - 8)
        ring = {"fill": "#fff", "stroke": SECOND, "stroke-dasharray": "3 2"}
        return svg.box(x, middle - 10, wide, high, **box, **ring) + svg.write(
            x + wide / 2, middle + 4, said, 11, end="middle", fill=INK
        )
    place = list(RISKS).index(row.level) if row.level in RISKS else 1
    solid = row.state == "rated" and not dead
    ground = LIGHT[f"l{place + 1}"] if solid else PALE["grey" if dead else f"l{place + 1}"]
    ink = LIGHT[f"on{place + 1}"] if solid else INK
    if not solid and not dead:
        box |= {"stroke": LIGHT[f"t{place + 1}"], "stroke-dasharray": "3 2"}
    mark = svg.risk_dots(place)
    said = svg.fit(view_sentences.risk(row.level), 11.5, wide - 30, bold=True)
    shift = f"translate({svg.number(x + 7)} {svg.number(middle - 7)})"
    return "".join(
        (
            svg.box(x, middle - 10, wide, high, fill=ground, **box),
            f'<g color="{ink}" transform="{shift}">{mark}</g>',
            svg.write(x + 26, middle + 4, said, 11.5, bold=True, fill=ink),
        )
    )


def foot(rating: RatingEntry, certainty: str) -> Sequence[str]:
    """The lines beside the code: type, other profiles, how much was said and how sure it is, dates, who."""
    utterances = rating["details"].get("utterances")
    said = numbers.NONE if utterances is None else numbers.count(utterances)
    return (
        view_sentences.type_words(rating),
        view_sentences.others(rating) or f"Rule: {rating['method']['rule']}",
        ", ".join([f"{said} utterances", certainty][: 2 if certainty else 1]),
        f"Tested {numbers.day(rating['tested'])}",
        f"Valid until {numbers.day(rating['expires'])}",
        sentences.assessor(rating),
        str(rating["id"]),
    )


def band(rating: RatingEntry) -> str:
    """What stands in the place of the boxes of a rating without a level."""
    possible = view_sentences.range_phrase(rating)
    if possible:
        return f"{possible}: incomplete"
    state = sentences.state(str(rating["state"])).split(":")[0]
    return state.capitalize() if state.startswith("not rated") else f"Not rated: {state}"
