"""The numbers behind a social-bias rating: how comparisons came out, categories, hidden and Chinese names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from trustgauge.methods.social_bias import group_names, view_maps, view_sentences
from trustgauge.methods.social_bias.view_sentences import MESSAGES
from trustgauge.reports import numbers, sentences
from trustgauge.reports.components import Cell, Head, Section, Table

if TYPE_CHECKING:
    from trustgauge.reports.document_model import PartEntry, RatingEntry

Facts = Mapping[str, Any]

NOTES = MESSAGES.table("notes")
MOST_NAMED = 4
"""Groups that a note names; more are counted."""


def outcomes(part: PartEntry, label: str, *, sound: bool) -> Table | None:
    """How the comparisons of a part came out."""
    absolute = part["details"].get("absolute")
    if not absolute:
        return None
    units = absolute["units"]
    rows = []
    for key, said in MESSAGES.table("outcomes").items():
        if not sound and key in {"position", "acquiescence"}:
            continue  # every question counts by itself
        count = int(units[key])
        share = (
            numbers.NONE
            if key == "missing"
            else numbers.percent(count / max(1, units["asked"]), units["asked"])
        )
        words = said if sound else said.replace(", in both orders", "")
        rows.append([Cell(words[:1].upper() + words[1:]), Cell(numbers.count(count)), Cell(share)])
    heads = [Head("The answers were for"), Head("Comparisons", number=True), Head("Share", number=True)]
    rate = numbers.interval(absolute["rate"])
    note = NOTES["shares"].format(n=numbers.count(units["asked"]), rate=rate)
    control = absolute.get("control") or {}
    if control.get("n"):
        note += f" {NOTES['invented'].format(control=numbers.interval(control))}"
    return Table(label, heads, rows, note)


def balance(part: PartEntry, label: str) -> Table | None:
    """How often each group is spoken well and ill of."""
    facts = part["details"].get("relative")
    if not facts:
        return None
    names, rows = group_names.groups(part), []
    for one in facts["rates"]:
        well, ill, n = one["value"], one.get("unfavourable"), int(one["n"] or 0)
        if well is None or ill is None:
            continue
        neither = max(
            0.0, round(1 - well - ill, 9)
        )  # the difference of shares is hardly ever 0 to the last bit
        shares = [numbers.percent(share, n) for share in (well, ill, neither)]
        called = names[one["group"]].drawn if one["group"] in names else sentences.name(str(one["group"]))
        rows.append([Cell(called), *map(Cell, shares), Cell(numbers.count(n))])
    heads = [Head("Group"), *(Head(one, number=True) for one in ("Well", "Ill", "Neither", "Answers"))]
    note = f"{NOTES['neither']} {_filled(part)}".strip()
    return Table(label, heads, rows, note) if rows else None


def _filled(part: PartEntry) -> str:
    """That answers which take no side are put on one for the gap; "" where that does not change it."""
    facts = part["details"]["relative"].get("filled")
    if not facts:
        return ""
    names = group_names.groups(part)
    put_in = [str(one["group"]) for one in facts["groups"]]
    called = [names[one].drawn if one in names else sentences.name(one) for one in put_in]
    many = NOTES["filled-groups"].format(n=numbers.count(len(called)))
    return NOTES["filled"].format(
        groups=sentences.listing(called, "and") if len(called) <= MOST_NAMED else many,
        answers=numbers.count(sum(one["answers"] for one in facts["groups"])),
        gap=numbers.points(facts["gap"]),
        without=numbers.points(facts["without"]),
    )


def formats(rating: RatingEntry, sides: Mapping[str, str]) -> Iterator[Section]:
    """Free questions and questions with options side by side, if both were asked (social-bias 3.8).

    Args:
        rating: of one service.
        sides: key of a side -> what its figure is called.
    """
    facts = rating["details"].get("formats")
    if facts is None:
        return
    rows = []
    for free, choice in zip(facts["free"]["parts"], facts["choice"]["parts"], strict=False):
        for key, said in ((free, "open questions"), (choice, "forced choice")):
            level = "no level" if key["level"] is None else sentences.level_in_words(rating, key["level"])
            state = "" if key["state"] == "rated" else "not settled"
            cells = [
                Cell(numbers.points(one["value"]) if (one := key.get(of)) else numbers.NONE) for of in sides
            ]
            rows.append([Cell(sentences.name(free["title"]), under=said), Cell(level, under=state), *cells])
    heads = [
        Head("Attribute"),
        Head("Level"),
        *(Head(said[:1].upper() + said[1:], number=True) for said in sides.values()),
    ]
    lead = NOTES["formats"].format(shown=MESSAGES.table("formats")[facts["rated"]])
    pieces = [Table("Open questions and questions with options", heads, rows)]
    yield Section("formats", "Open questions and forced choices", pieces, lead, "60 46 31")


def categories(part: PartEntry, label: str) -> Table | None:
    """Absolute bias rate of each category, largest first."""
    listed = (part["details"].get("absolute") or {}).get("categories") or ()
    named = [sentences.name(str(one["category"])).replace("-", " ") for one in listed]
    return _rates("Category", named, listed, label, NOTES["categories"])


def kinds(part: PartEntry, label: str) -> Table | None:
    """Absolute bias rate of each kind of question, largest first; None if there is one kind."""
    listed = (part["details"].get("absolute") or {}).get("kinds") or ()
    words = MESSAGES.table("questions")
    named = [words.get(str(one["kind"]), str(one["kind"])) for one in listed]
    return _rates("Question", named, listed, label, NOTES["kinds"]) if len(listed) > 1 else None


def _rates(head: str, named: Sequence[str], listed: Sequence[Facts], label: str, note: str) -> Table | None:
    """Rates with their names, largest first; None without any."""
    longest = max((one["value"] or 0.0 for one in listed), default=0.0)
    ordered = sorted(
        zip(named, listed, strict=True),
        key=lambda one: -(-1.0 if one[1]["value"] is None else one[1]["value"]),
    )
    rows = []
    for name, one in ordered:
        known = one["value"] is not None
        drawn = Markup(view_maps.bar(one["value"], longest=longest)) if known else None  # own figures
        reach = numbers.interval(one).split(", n =")[0]
        said = Cell(name[:1].upper() + name[1:])
        rows.append([said, Cell(drawing=drawn), Cell(reach), Cell(numbers.count(one["n"]))])
    heads = [Head(head), Head("Rate"), Head("95 % interval"), Head("Comparisons", number=True)]
    return Table(label, heads, rows, note) if rows else None


def name_legend(part: PartEntry, label: str) -> Table | None:
    """Which names stand behind the bars of the figures."""
    names = [one for one in group_names.groups(part).values() if one.offensive]
    rows = [[Cell(one.drawn), Cell(quote=one.text, language=one.language, offensive=True)] for one in names]
    return Table(label, [Head("In the figures"), Head("Name")], rows) if rows else None


def chinese(part: PartEntry, label: str) -> Table | None:
    """Names of the groups as they were asked about, beside the English ones."""
    names = [one for one in group_names.groups(part).values() if one.chinese and not one.language]
    rows = [
        [Cell(one.drawn), Cell(quote=one.chinese, language="zh", offensive=one.offensive)] for one in names
    ]
    return Table(label, [Head("Group"), Head("As asked")], rows) if rows else None


def systems(ratings: Sequence[RatingEntry], of: str) -> Table | None:
    """A measure of several services by attribute, the largest of every attribute marked.

    Args:
        ratings: of one method.
        of: "absolute" for the absolute bias rate, "relative" for the largest gap.
    """
    attributes: dict[str, dict[int, Facts]] = {}
    for number, rating in enumerate(ratings):
        for part in rating["parts"]:
            one = _measure(part, of)
            if one is not None and one["value"] is not None:
                attributes.setdefault(sentences.title(part), {})[number] = one
    if not attributes:
        return None
    every = [one["value"] for mine in attributes.values() for one in mine.values()]
    rows = []
    for number, rating in enumerate(ratings):
        cells = [Cell(sentences.name(str(rating["service"]["name"])))]
        for mine in attributes.values():
            top = max(one["value"] for one in mine.values())
            alike = all(one["value"] == top for one in mine.values())
            cells.append(_rate(of, mine.get(number), None if alike else top, max(every)))
        rows.append(cells)
    what = "Absolute bias rate" if of == "absolute" else "Largest gap between groups"
    heads = [Head("Service"), *(Head(one) for one in attributes)]
    return Table(f"{what}, services by attribute", heads, rows, NOTES["systems"])


def _measure(part: PartEntry, of: str) -> Facts | None:
    if of == "relative":
        return view_sentences.figure(part, "relative")
    rate: Facts | None = (part["details"].get("absolute") or {}).get("rate")
    return rate


def _rate(of: str, one: Facts | None, top: float | None, longest: float) -> Cell:
    if one is None:
        return Cell(numbers.NONE)
    n = int(one["n"] or 0)
    largest = one["value"] == top
    said = numbers.percent(one["value"], n) if of == "absolute" else numbers.points(one["value"], n=n)
    return Cell(
        drawing=Markup(view_maps.bar(one["value"], longest=longest)),  # figures of our own
        symbols="▲" if largest else "",
        spoken="largest of the attribute" if largest else "",
        under=f"{said}, n = {numbers.count(n)}",
    )
