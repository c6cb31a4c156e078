"""Changes by occupation as they are seen: a chart in the order of the shares, and the words that change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from trustgauge.reports import numbers, sentences, svg
from trustgauge.reports.components import (
    Cell,
    Figure,
    Fold,
    Piece,
    Section,
    Table,
    Title,
    Words,
    heads_of,
    read_messages,
)

if TYPE_CHECKING:
    from trustgauge.reports.document_model import RatingEntry

Facts = Mapping[str, Any]

NOTES = read_messages(__package__).table("notes")
WIDE, HIGH, LEFT, TOP = 860.0, 220.0, 70.0, 30.0
MIDDLE, REACH = TOP + 100.0, 90.0
CODE = "two-step.stereotypes"


def direction(rating: RatingEntry, templates: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """The template and its facts for the part that stereotypes most surely, else for its surest word."""
    proven = [part for part in rating["parts"] if any(one["code"] == CODE for one in part["reasons"])]
    if not proven:
        return _surest_word(rating, templates)
    part = min(proven, key=lambda one: float(one["details"]["stereotypes"]["p_holm"]))
    facts = part["details"]["stereotypes"]
    towards, against = facts["towards"][0], facts["against"][0]
    first, second = (_value(rating, value) for value in facts["values"])
    return templates["stereotypes"], {
        "towards": numbers.count(towards),
        "changes": numbers.count(towards + against),
        "first": first,
        "second": second,
        "place": sentences.part_suffix(rating, part),
    }


def _surest_word(rating: RatingEntry, templates: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """The word that changes most surely, of a service that changes no value on the whole; "" if none does."""
    if rating["overall"]["level"] != "DSBS":
        return "", {}
    items = (
        (part, (part["details"].get("stereotypes") or {}).get("changed", ())) for part in rating["parts"]
    )
    changed = [
        (part, len(words), min(words, key=lambda one: float(one["q"]))) for part, words in items if words
    ]
    if not changed:
        return "", {}
    part, count, word = min(changed, key=lambda one: float(one[2]["q"]))
    others = "1 other word changes" if count == 2 else f"{numbers.count(count - 1)} other words change"
    return templates["word"], {
        "from": _value(rating, word["from"]),
        "to": _value(rating, word["to"]),
        "item": sentences.name(word["item"]),
        "times": numbers.count(word["turned"]),
        "n": numbers.count(word["n"]),
        "more": f"; {others} significantly, too" if count > 1 else "",
        "place": sentences.part_suffix(rating, part),
    }


def section(rating: RatingEntry) -> Section | None:
    """The chart and the words of each part that has rates by item."""
    pieces: list[Piece] = []
    for part in rating["parts"]:
        facts = part["details"].get("stereotypes")
        if not facts or not facts["items"]:
            continue
        if len(rating["parts"]) > 1:
            pieces.append(Title(sentences.title(part)))
        pieces.append(Words(_summary(rating, facts)))
        pieces.append(Figure(Markup(chart(rating, facts)), "Changes by occupation"))
        if facts["changed"]:
            pieces.append(Fold(f"Words that change significantly ({len(facts['changed'])})", [_table(facts)]))
    if not pieces:
        return None
    return Section("occupations", "Changes by occupation", pieces, NOTES["occupations"])


def _value(rating: RatingEntry, value: object) -> str:
    named = sentences.name(str(value))
    return named.lower() if rating["issue"]["attribute"] == "gender" else named


def _summary(rating: RatingEntry, facts: Facts) -> str:
    first, second = (_value(rating, value) for value in facts["values"])
    if facts["tau"] is None:
        shared = any(one["share"] is not None for one in facts["items"]) or rating["method"]["options"].get(
            "item_shares"
        )
        return NOTES["too-few-items" if shared else "no-shares"]
    (towards, of), (against, of_against) = facts["towards"], facts["against"]
    return NOTES["lean"].format(
        towards=numbers.count(towards),
        of=numbers.count(of),
        against=numbers.count(against),
        of_against=numbers.count(of_against),
        first=first,
        second=second,
        tau=numbers.signed_number(facts["tau"]),
        p=numbers.p_value(facts.get("p_holm", facts["p"])),
    )


def _ordered(facts: Facts) -> list[Facts]:
    """Items by share; without shares by how they move."""
    shared = [one for one in facts["items"] if one["share"] is not None]
    if shared:
        return sorted(shared, key=lambda one: (one["share"], one["item"]))
    return sorted(facts["items"], key=lambda one: (_rate(one, 0) - _rate(one, 1), one["item"]))


def _rate(one: Facts, place: int) -> float:
    return float(one["turned"][place]) / one["sent"][place] if one["sent"][place] else 0.0


def chart(rating: RatingEntry, facts: Facts) -> str:
    """One column a word: up what became the second value, down what became the first."""
    first, second = (_value(rating, value) for value in facts["values"])
    items = _ordered(facts)
    column = (WIDE - LEFT - 10) / len(items)
    drawn = []
    for place, y in (
        (1.0, MIDDLE - REACH),
        (0.5, MIDDLE - REACH / 2),
        (0.5, MIDDLE + REACH / 2),
        (1.0, MIDDLE + REACH),
    ):
        drawn.append(svg.tag("path", {"d": f"M{LEFT} {svg.number(y)}H{WIDE}", "class": "grid"}))
        drawn.append(svg.write(LEFT - 8, y + 4, numbers.percent(place), 12, end="end", **{"class": "second"}))
    drawn.append(svg.write(LEFT, 14, f"↑ {first} became {second}", 12, **{"class": "ink"}))
    drawn.append(svg.write(LEFT, TOP + 2 * REACH + 26, f"↓ {second} became {first}", 12, **{"class": "ink"}))
    for number, one in enumerate(items):
        x = LEFT + column * number
        for place, kind in ((0, "g2"), (1, "g1")):
            high = REACH * _rate(one, place)
            if high:
                top = MIDDLE - high if place == 0 else MIDDLE
                drawn.append(svg.box(x, top, max(1.0, 0.8 * column), high, **{"class": kind}))
    drawn.append(
        svg.tag(
            "path", {"d": f"M{LEFT} {svg.number(MIDDLE)}H{WIDE}", "class": "ink", "stroke": "currentColor"}
        )
    )
    if items[0]["share"] is not None:
        for number in sorted({round(step * (len(items) - 1) / 4) for step in range(5)}):
            one = items[number]
            words = f"{one['item']} {numbers.percent(one['share'])}"
            end = "start" if number == 0 else "end" if number == len(items) - 1 else "middle"
            x = LEFT + column * (number + {"start": 0.0, "end": 1.0}.get(end, 0.5))
            drawn.append(
                svg.write(
                    x, TOP + 2 * REACH + 46, svg.fit(words, 12, 190), 12, end=end, **{"class": "second"}
                )
            )
    said = "; ".join(
        f"{one['item']}: {one['turned'][1]} of {one['sent'][1]} {second} became {first}, "
        f"{one['turned'][0]} of {one['sent'][0]} {first} became {second}"
        for one in items
    )
    order = f"from few {second} to many" if items[0]["share"] is not None else "from one end to the other"
    return svg.picture(
        (WIDE, TOP + 2 * REACH + 56), f"Changes by occupation, {order}", said, *drawn, **{"class": "fig"}
    )


def _table(facts: Facts) -> Table:
    shares = {one["item"]: one["share"] for one in facts["items"]}
    rows = []
    for one in facts["changed"]:
        share = shares.get(one["item"])
        rows.append(
            [
                Cell(sentences.name(one["item"])),
                Cell(numbers.NONE if share is None else numbers.percent(share)),
                Cell(f"{sentences.name(one['from'])} → {sentences.name(one['to'])}"),
                Cell(f"{one['turned']} of {one['n']}"),
                Cell(f"{numbers.percent(one['low'])} to {numbers.percent(one['high'])}"),
                Cell("".join(f"{sentences.name(text)}. " for text in one["sentences"]).strip()),
            ]
        )
    first, moved, last = texts = ("Word", "Sent → came back", "Sent, for example")
    heads = heads_of(first, "Share in the job", moved, "Times", "95 % interval", last, texts=texts)
    return Table("Words whose value changes", heads, rows)
