"""The label and the badge of one rating: SVG, the same bytes every time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING

from trustgauge.reports import numbers, sentences, svg, views
from trustgauge.reports.components import view_of
from trustgauge.reports.document import is_expired, levels
from trustgauge.reports.sanitize import xml
from trustgauge.reports.svg import LIGHT, PALE, step

if TYPE_CHECKING:
    from trustgauge.reports.document_model import RatingEntry

INK, SECOND, LINE = LIGHT["ink"], LIGHT["second"], LIGHT["line"]
WIDE, HIGH = 300, 456
FOOT = 11.5  # size of the lines at the foot
MOST_LINES = 6  # of them, if the first is to take two
FONT = "system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif"


def label(rating: RatingEntry, *, address: str = "", today: date | None = None) -> str:
    """The label of a rating as a 300 by 456 SVG without external reference.

    Args:
        rating: one member of `ratings` of a document.
        address: where the report is; the QR code leads there. Without one there is no code.
        today: with a date past expiry the label turns grey and says so.
    """
    band = _band(rating, today)
    dead = bool(band) and rating["state"] != "incomplete"
    body = [
        svg.box(1, 1, WIDE - 2, HIGH - 2, rx=16, fill="#fff", stroke=INK, **{"stroke-width": 2}),
        svg.tag(
            "path", {"d": f"M1 46V17A16 16 0 0 1 17 1H{WIDE - 17}A16 16 0 0 1 {WIDE - 1} 17V46Z", "fill": INK}
        ),
        svg.write(18, 30, svg.fit(issue(rating), 15, 160, bold=True), 15, bold=True, fill="#fff"),
        svg.write(WIDE - 18, 29, "AI service rating", 12, end="end", fill="#d5d8de"),
        *_who(rating),
        *_body(rating, band, dead=dead),
        *_foot(rating, address),
    ]
    return svg.picture(
        (WIDE, HIGH),
        f"{issue(rating)} of {service(rating)}: {outcome(rating, today)}",
        describe(rating, today),
        *body,
        **{"font-family": FONT},
    )


def _body(rating: RatingEntry, band: str, *, dead: bool) -> list[str]:
    """What stands between the name of the service and the foot."""
    own = view_of(rating).label_body(rating, band, dead=dead)
    return [*_levels(rating, band, dead=dead), *_facts(rating)] if own is None else list(own)


def issue(rating: RatingEntry) -> str:
    """What was rated: "Gender bias"."""
    words = view_of(rating).label_title(rating)
    return words[:1].upper() + words[1:]


def service(rating: RatingEntry) -> str:
    """Name and version of the rated service."""
    facts = rating["service"]
    return f"{sentences.name(facts['name'])} {sentences.name(facts['version'])}".strip()


def subject(rating: RatingEntry, *, versioned: bool = True) -> str:
    """What tells a rating from the others of a run: the service, what was rated, and for whom.

    Without its version a service is named alike in all runs.
    """
    named = service(rating) if versioned else sentences.name(rating["service"]["name"])
    return ", ".join(filter(None, (named, issue(rating), view_of(rating).audience(rating))))


def outcome(rating: RatingEntry, today: date | None = None) -> str:
    """The outcome in a few words, words before letters: "adds bias (BS)"."""
    overall, state = rating["overall"], rating["state"]
    if rating.get("withdrawn"):
        return "withdrawn"
    if today is not None and is_expired(rating, today):
        return f"expired {numbers.day(rating['expires'])}"
    if overall["level"] is None or state not in sentences.WITH_LEVEL:
        if state == "incomplete":
            return view_of(rating).open_outcome(rating) or "not rated"
        return sentences.standing(rating, state).split(" here;")[0]
    words = sentences.level(rating, overall["level"]).short
    lettered = sentences.has_letters(rating, overall["level"])
    said = f"{words} ({sentences.name(overall['level'])})" if lettered else words
    if audience := view_of(rating).outcome_audience(rating):
        said += f" ({audience})"
    if state == "not settled":
        sure = numbers.certainty(sentences.share(rating), tight=True)
        text = f"{said}, {sentences.unsettled_state(rating)}"
        return text if sure == numbers.NONE else f"{text}, {sure}"
    return said if state == "rated" else f"{said}, {state}"


def describe(rating: RatingEntry, today: date | None = None) -> str:
    """The whole content of a label in sentences."""
    facts = ". ".join(f"{name}: {value}" for value, name in _tiles(rating))
    alike = _alike(rating)
    worst = alike or f"Worst: {'; '.join(_worst(rating))}" if _worst(rating) else ""
    parts = [
        sentences.verdict(rating),
        f"{facts}.",
        f"{worst}." if worst else "",
        f"Tested {numbers.day(rating['tested'])}, valid until {numbers.day(rating['expires'])}.",
        sentences.import_note(rating),
        f"{views.audit_line(rating)}." if views.audit_line(rating) else "",
        f"Rated by {sentences.assessor(rating)}. Rule {rating['method']['rule']}. {rating['id']}.",
        _band(rating, today),
    ]
    return " ".join(part for part in parts if part)


def badge(rating: RatingEntry, *, today: date | None = None) -> str | None:
    """The badge as an SVG below 1 KB; none for a rating without a level."""
    if rating["overall"]["level"] is None or rating["state"] == "incomplete":
        return None
    said = outcome(rating, today)
    dead = bool(rating.get("withdrawn")) or (today is not None and is_expired(rating, today))
    solid = rating["state"] == "rated" and not dead
    position, count = levels(rating).index(rating["overall"]["level"]), len(levels(rating))
    tone = step(position, count)
    left, right = svg.fit(issue(rating).lower(), 11, 120), svg.fit(said, 11, 210)
    first, second = svg.width(left, 11) + 14, svg.width(right, 11) + 34
    ground = LIGHT[f"l{tone}"] if solid else PALE["grey"]
    ink = LIGHT[f"on{tone}"] if solid else INK
    dash = {} if solid else {"stroke": INK, "stroke-dasharray": "3 2"}
    mark = view_of(rating).pictogram(rating["overall"]["level"], position, count)
    children = [
        svg.box(0, 0, first + 6, 20, rx=4, fill=INK),
        svg.box(first, 0.5, second - 0.5, 19, rx=4, fill=ground, **dash),
        _short_text(7, left, "#fff"),
        "" if dead else f'<g color="{ink}" transform="translate({svg.number(first + 7)} 3)">{mark}</g>',
        _short_text(first + 26, right, ink),
    ]
    title = f"<title>{xml(f'{left}: {right}')}</title>"
    size = f'width="{svg.number(first + second)}" height="20"'
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="sans-serif" font-size="11">'
    )
    return f"{head}{title}{''.join(children)}</svg>"


def shields(rating: RatingEntry, *, today: date | None = None) -> dict[str, object] | None:
    """The badge as the JSON of a shields endpoint; none for a rating without a level."""
    if rating["overall"]["level"] is None or rating["state"] == "incomplete":
        return None
    dead = bool(rating.get("withdrawn")) or (today is not None and is_expired(rating, today))
    tone = step(levels(rating).index(rating["overall"]["level"]), len(levels(rating)))
    colour = LIGHT[f"l{tone}"] if rating["state"] == "rated" and not dead else "#9a9ea6"
    message = outcome(rating, today)
    return {
        "schemaVersion": 1,
        "label": issue(rating).lower(),
        "message": message,
        "color": colour,
        "cacheSeconds": 3600,
    }


def _short_text(x: float, text: str, colour: str) -> str:
    return svg.tag("text", {"x": x, "y": 14, "fill": colour, "textLength": svg.width(text, 11)}, xml(text))


def _band(rating: RatingEntry, today: date | None) -> str:
    """What stands across a label that shows no valid level, else nothing."""
    if rating.get("withdrawn"):
        return "Withdrawn"
    if today is not None and is_expired(rating, today):
        return f"Expired {numbers.day(rating['expires'])}"
    if rating["overall"]["level"] is None and (words := view_of(rating).label_band(rating)):
        return words
    if fault := next((one for one in rating["reasons"] if one["code"] in sentences.FAULTS), None):
        if of := sentences.parts_at_fault(rating, fault["code"]):
            every = len(rating["parts"])
            return f"Not rated: fault in {len(of)} of {every} {sentences.noun(rating, every)}"
        if fault["code"] == "not-translated":
            return "Not rated: nothing was translated"
        return f"Not rated: {'one' if 'answer' in fault['facts'] else 'an empty'} answer to everything"
    if rating["state"] == "incomplete":
        cover = rating["coverage"]
        usable = cover["answered"] + cover["refused"] + cover["empty"]
        return f"Not rated: {numbers.count(usable)} of {numbers.count(cover['planned'])}"
    if rating["overall"]["level"] is None:
        return sentences.standing(rating, rating["state"]).split(":")[0].capitalize()
    return ""


def _who(rating: RatingEntry) -> list[str]:
    facts = rating["service"]
    below = " · ".join(sentences.name(part) for part in (facts["version"], facts["kind"]) if part)
    return [
        svg.write(
            18, 75, svg.fit(sentences.name(facts["name"]), 19, 262, bold=True), 19, bold=True, fill=INK
        ),
        svg.write(18, 95, svg.fit(below, 12, 262), 12, fill=SECOND),
        svg.tag("path", {"d": "M18 106H282", "stroke": LINE}),
    ]


def _levels(rating: RatingEntry, band: str, *, dead: bool) -> list[str]:
    """The levels in their fixed order, best on top, with the marker at the one that was found."""
    entries = levels(rating)
    top, room = 120.0, 168.0
    parts = []
    if band:
        parts += [
            svg.box(18, 116, 264, 26, rx=6, fill=INK),
            svg.write(150, 134, svg.fit(band, 13, 250, bold=True), 13, bold=True, end="middle", fill="#fff"),
        ]
        top, room = 150.0, 138.0
    pitch = room / len(entries)
    for position, key in enumerate(entries):
        found = key == rating["overall"]["level"] and not band
        parts += _level(rating, position, (top + position * pitch, pitch - 7), found=found, dead=dead)
    return parts


def _level(
    rating: RatingEntry, position: int, place: tuple[float, float], *, found: bool, dead: bool
) -> list[str]:
    key, count = levels(rating)[position], len(levels(rating))
    (top, high), tone = place, step(position, count)
    tip = 190 + 34 * position / max(1, count - 1)
    settled = rating["state"] == "rated"
    solid = found and settled
    ground = LIGHT[f"l{tone}"] if solid else PALE["grey"] if dead else PALE[f"l{tone}"]
    ink = LIGHT[f"on{tone}"] if solid else INK
    shape = (
        f"M18 {svg.number(top)}H{svg.number(tip)}l15 {svg.number(high / 2)}l-15 {svg.number(high / 2)}H18Z"
    )
    dash: dict[str, svg.Attribute] = {}
    if found and not settled:
        dash = {"stroke": LIGHT[f"t{tone}"], "stroke-width": 2, "stroke-dasharray": "5 3"}
    words, middle = sentences.level(rating, key), top + high / 2
    name = words.short[:1].upper() + words.short[1:]
    mark = view_of(rating).pictogram(key, position, count)
    y = svg.number(middle - 11)
    line = view_of(rating).level_line(rating, key) if high >= 34 else ""
    below = svg.wrap(line, 11, 146) if high >= 46 else [svg.fit(line, 11, 146)]
    below = [text for text in below if text]
    first = middle + (5, -3, -9)[len(below)]
    drawn = [
        svg.tag("path", {"d": shape, "fill": ground, **dash}),
        f'<g color="{ink}" transform="translate(25 {y}) scale(1.6)">{mark}</g>',
        svg.write(58, first, svg.fit(name, 14, 140, bold=True), 14, bold=True, fill=ink),
    ]
    for index, text in enumerate(below):
        drawn.append(svg.write(58, first + (16 if len(below) == 1 else 14) + 12 * index, text, 11, fill=ink))
    if found:
        drawn += _arrow(key, middle, min(high, 46), solid=settled)
    return drawn


def _arrow(key: str, middle: float, high: float, *, solid: bool) -> list[str]:
    """The marker at the right that carries the letters of the level."""
    half = svg.number(high / 2)
    shape = f"M226 {svg.number(middle)}l14 -{half}H282v{svg.number(high)}H240Z"
    style: dict[str, svg.Attribute] = {"fill": INK}
    if not solid:
        style = {"fill": "#fff", "stroke": INK, "stroke-width": 1.6, "stroke-dasharray": "4 3"}
    text = svg.fit(key, 14, 42, bold=True)
    return [
        svg.tag("path", {"d": shape, **style}),
        svg.write(259, middle + 5, text, 14, bold=True, end="middle", fill="#fff" if solid else INK),
    ]


def _tiles(rating: RatingEntry) -> list[tuple[str, str]]:
    """The four facts: coverage, calls, certainty, and one of the method's own."""
    able = sentences.testable_count(rating)[1]
    cover, cost = rating["coverage"], rating["cost"]
    calls = cost["calls"] if cost else cover["planned"]
    asked = (numbers.count(calls), "call" if calls == 1 else "calls")
    if rating["provenance"]["collected"] == sentences.BY_HAND:  # nobody was called
        asked = (numbers.count(cover["planned"]), sentences.BY_HAND)
    share = sentences.share(rating)
    known = rating["state"] != "incomplete"
    certain = numbers.certainty(share, tight=True) if known else numbers.NONE
    fact, called = view_of(rating).label_fact(rating)
    return [
        (sentences.level_count(rating), sentences.noun(rating, able or len(rating["parts"]))),
        asked,
        (certain, "certainty"),
        (fact if known else numbers.NONE, called),
    ]


def _facts(rating: RatingEntry) -> list[str]:
    drawn = [svg.tag("path", {"d": "M18 292H282M18 340H282", "stroke": LINE})]
    for index, (value, name) in enumerate(_tiles(rating)):
        x = 51 + 66 * index
        drawn.append(
            svg.write(x, 313, svg.fit(value, 14, 64, bold=True), 14, bold=True, end="middle", fill=INK)
        )
        drawn.append(svg.write(x, 330, svg.fit(name, 11, 64), 11, end="middle", fill=SECOND))
    return drawn


def _worst(rating: RatingEntry) -> list[str]:
    """Titles of the worst parts, in the order of the report."""
    worst = rating["overall"]["worst"] if rating["state"] != "incomplete" else []
    return [sentences.title(part) for part in rating["parts"] if part["key"] and part["key"] in worst]


def _alike(rating: RatingEntry) -> str:
    """That no part is better than another; "" where one is, or a level is missing."""
    said = views.parts_alike(rating) if rating["state"] != "incomplete" else ""
    return said[:1].upper() + said[1:]


def _obstacles(rating: RatingEntry) -> list[str]:
    """Why the level is not settled, where that is not its certainty."""
    if rating["state"] != "not settled" or not sentences.obstacles(rating):
        return []
    return sentences.unsettled_state(rating).partition(": ")[2].split(", ")


def _first_line(rating: RatingEntry, wide: float) -> str:
    """What keeps the level open, or which parts are worst: as many as fit, and how many more there are."""
    obstacles = _obstacles(rating)
    head, named = ("Not settled", obstacles) if obstacles else ("Worst", _worst(rating))
    said = f"Rule: {rating['method']['rule']}"
    if rating["state"] == "not settled" and not obstacles:
        return _certainty(rating).capitalize()
    if not obstacles and (alike := _alike(rating)):
        return alike
    for kept in range(len(named), 0, -1):
        more = f" and {len(named) - kept} more" if kept < len(named) else ""
        said = f"{head}: {', '.join(named[:kept])}{more}"
        if svg.width(said, FOOT, bold=True) <= wide:
            break
    return said


def _certainty(rating: RatingEntry) -> str:
    """Whether the level is settled, and how certain it is: "not settled: certainty 84%"."""
    known = numbers.certainty(sentences.share(rating), tight=True)
    certain = "" if known == numbers.NONE else f"certainty {known}"
    settled = "" if rating["state"] != "not settled" else "not settled"
    return ": ".join(filter(None, (settled, certain)))


def _foot(rating: RatingEntry, address: str) -> list[str]:
    own = view_of(rating).label_foot(rating, _certainty(rating))
    if own is not None:
        return _lines(own, address)
    lines = [
        _first_line(rating, 174 if address else 264),
        f"Tested {numbers.day(rating['tested'])}",
        f"Valid until {numbers.day(rating['expires'])}",
        *filter(None, [views.audit_line(rating)]),
        sentences.assessor(rating),
        rating["id"],
    ]
    return _lines(lines, address)


def _lines(lines: Sequence[str], address: str) -> list[str]:
    """The lines, and beside them the code that leads to the report; none without an address."""
    left, wide = (108, 174) if address else (18, 264)
    # A long first line takes two, where the others leave room.
    narrow = svg.width(lines[0], FOOT, bold=True) <= wide or len(lines) > MOST_LINES
    first = list(lines[:1]) if narrow else svg.wrap(lines[0], FOOT, 0.92 * wide)
    lines = [*first, *lines[1:]]
    pitch, size = 85 / len(lines), FOOT if len(lines) < 6 else 11
    drawn = [svg.qr(address, 21, 358, 72, INK)] if address else []
    for index, line in enumerate(lines):
        bold = index < len(first)
        fitted = svg.fit(line, size, wide, bold=bold)
        colour = INK if bold else SECOND
        drawn.append(svg.write(left, 366 + pitch * index, fitted, size, bold=bold, fill=colour))
    return drawn
