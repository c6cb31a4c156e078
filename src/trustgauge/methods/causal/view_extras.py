"""What else stands with a causal rating: before and after a round trip, people, conversations, words.

And where its numbers come from: of each part its diagram, its tables and its sums.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from trustgauge.methods.causal import view_graph, view_tables
from trustgauge.methods.causal.view_direction import RANGE, stated_range
from trustgauge.records import Reason
from trustgauge.reports import numbers, sentences
from trustgauge.reports.components import (
    Cell,
    Figure,
    Fold,
    Head,
    Piece,
    Section,
    Table,
    Title,
    Words,
    heads_of,
    read_messages,
)

if TYPE_CHECKING:
    from trustgauge.reports.document_model import PartEntry, RatingEntry

Facts = Mapping[str, Any]

MESSAGES = read_messages(__package__)
NOTES = MESSAGES.table("notes")
_SHARES = frozenset({"equal", "pairwise"})
_COUNTS = frozenset({"items", "labels", "most", "few", "ties"})


def before_after(rating: RatingEntry, names: Mapping[str, str]) -> Section | None:
    """The same texts, scored before and after the round trip."""
    found = rating["details"].get("before_after") or ()
    if not found:
        return None
    titles = {part["key"]: sentences.title(part) for part in rating["parts"]}
    texts = ("Part", "Without the round trip", "Measure")
    figures = ("Before", "After", "Change", "Percent of before", "p")
    heads = heads_of(*texts, *figures, "Note", texts=(*texts, "Note"))
    rows = [_pair(one, titles, names) for one in found]
    title = "Before and after the round trip"
    table = Table(title, heads, rows, NOTES["before-after-table"])
    return Section("before", title, [table], NOTES["before-after"], "45 30 35")


def _pair(one: Facts, titles: Mapping[str, str], names: Mapping[str, str]) -> list[Cell]:
    percent = one.get("percent")
    key, measure, note = (str(one.get(name) or "") for name in ("part", "measure", "note"))
    before = str(one.get("before") or "")
    return [
        Cell(titles.get(key, sentences.name(key or "all parts"))),
        Cell(sentences.name(names.get(before, before))),
        Cell(MESSAGES.table("measures").get(measure, sentences.name(measure or numbers.NONE))),
        Cell(numbers.signed_number(one.get("before_value"))),
        Cell(numbers.signed_number(one.get("after_value"))),
        Cell(numbers.signed_number(one.get("change"))),
        Cell(numbers.NONE if percent is None else f"{numbers.signed_number(percent, 1)} %"),
        Cell(numbers.bare_p(one.get("p"))),
        Cell(sentences.reason(Reason(note)) if note.startswith("causal.") else sentences.name(note)),
    ]


def texts(rating: RatingEntry) -> Section:
    """Data sets with their words, statistics of conversations, and how far people agree."""
    pieces: list[Piece] = [*_words(rating), *_conversations(rating), *_agreement(rating)]
    return Section("texts", "The texts", pieces, rank="60 60 60")


def _words(rating: RatingEntry) -> list[Piece]:
    sets: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    sizes: dict[tuple[str, tuple[str, ...]], int] = {}
    for part in rating["parts"]:
        facts = part["details"].get("words") or {}
        for one in part["details"].get("sets") or ():
            if words := tuple(map(str, one.get("words") or facts.get(one["set"]) or ())):
                sets.setdefault((str(one["set"]), words), []).append(sentences.title(part))
                sizes[str(one["set"]), words] = max(
                    sizes.get((str(one["set"]), words), 0), int(one.get("rows") or 0)
                )
    if not sets:
        return []
    rows = [
        [
            Cell(sentences.name(name)),
            Cell(", ".join(map(sentences.name, words))),
            Cell(numbers.count(sizes[name, words])),
            Cell("; ".join(titles)),
        ]
        for (name, words), titles in sets.items()
    ]
    heads = [Head("Data set"), Head("Emotion words"), Head("Texts, at most", number=True), Head("Used in")]
    return [Title("Data sets"), Table("Data sets", heads, rows)]


def _conversations(rating: RatingEntry) -> list[Piece]:
    facts = rating["details"].get("conversations") or {}
    pieces: list[Piece] = []
    statistics = [row for row in facts.get("statistics") or () if row]
    if statistics:
        lead = NOTES["conversations"]
        pieces += [Title("The conversations", lead), _plain("Statistics of the conversations", statistics)]
    if rows := facts.get("rows"):
        pieces.append(Words(_left_out(rows), quiet=True))
    tests = [row for row in facts.get("tests") or () if row]
    if tests:
        pieces += [
            Title("Gender and the texts", NOTES["gender-tests"]),
            _plain("Gender and the texts", tests),
        ]
    return pieces


def _left_out(rows: Facts) -> str:
    """How many rows of the table are not among the utterances, and why."""
    whole, text, gender = (numbers.count(rows[key]) for key in ("rows", "without_text", "without_gender"))
    return NOTES["left-out"].format(rows=whole, text=text, gender=gender)


def _plain(label: str, rows: Sequence[Facts]) -> Table:
    """Rows of plain facts, one column a key, in the order in which the keys come."""
    keys = list(dict.fromkeys(key for row in rows for key in row))
    numeric = {key for key in keys if all(_is_number(_mean(row.get(key))) for row in rows)}
    heads = [Head(sentences.name(key.replace("_", " ")), number=key in numeric) for key in keys]
    cells = [[Cell(_value(key, row.get(key))) for key in keys] for row in rows]
    return Table(label, heads, cells)


def _mean(value: object) -> object:
    """The mean of a spread (mean, min, max), anything else as it is."""
    return value.get("mean") if isinstance(value, Mapping) else value


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _value(key: str, value: object) -> str:
    if value is None:
        return numbers.NONE
    if isinstance(value, Mapping) and {"mean", "min", "max"} <= value.keys():
        ends = [numbers.NONE if value[end] is None else numbers.count(value[end]) for end in ("min", "max")]
        return f"{_value(key, value['mean'])} ({' to '.join(ends)})"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if key == "p" and isinstance(value, int | float):
        return numbers.bare_p(float(value))
    if isinstance(value, int):
        return numbers.count(value)
    if isinstance(value, float):
        return numbers.signed_number(value).removesuffix(".00")
    return sentences.name(str(value))


def _agreement(rating: RatingEntry) -> list[Piece]:
    facts = rating["details"].get("agreement")
    if not facts:
        return []
    rows = []
    for key, name in MESSAGES.table("agreement").items():
        value = facts.get(key)
        if key in _COUNTS:
            said = numbers.NONE if value is None else numbers.count(value)
        elif key in _SHARES:
            said = numbers.percent(value, int(facts.get("items") or 0))
        else:
            said = numbers.signed_number(value)
        rows.append([Cell(name), Cell(said)])
    return [
        Title("Agreement of people", NOTES["agreement"]),
        Table("Agreement of people", [Head("Measure"), Head("Value", number=True)], rows),
        *([] if facts.get("fleiss_kappa") is not None else [Words(NOTES["no-kappa"], quiet=True)]),
    ]


def section(rating: RatingEntry, *, alone: bool) -> Section:
    """The numbers of every part, folded; those under the diagram that stands above are open."""
    above = part_to_draw(rating)
    folds = [
        Fold(
            f"{sentences.title(part)}: {_folded(rating, part)}",
            pieces,
            shown=alone and (len(rating["parts"]) == 1 or part is above),
        )
        for index, part in enumerate(rating["parts"], start=1)
        if (pieces := _part(part, index, drawn=part is above))
    ]
    said = NOTES["numbers"]
    if (span := stated_range(rating)) != RANGE:
        low, high = (f"{one:g}".replace("-", "−") for one in span)
        said += f" {NOTES['brought'].format(low=low, high=high)}"
    return Section("numbers", "Where the numbers come from", folds, said, "50 50 14")


def part_to_draw(rating: RatingEntry) -> PartEntry | None:
    """The part whose diagram stands under "why": the first of those whose effect the verdict says."""
    keys = [part["key"] for part in sentences.leading(rating)]
    able = [part for part in rating["parts"] if (part["details"].get("graph") or {}).get("edges")]
    return next((part for part in able if part["key"] in keys), able[0] if able else None)


def _folded(rating: RatingEntry, part: PartEntry) -> str:
    if part["level"] is None:
        return sentences.state(part["state"])
    said = sentences.level_in_words(rating, part["level"])
    return said if part["state"] == "rated" else f"{said}, {part['state']}"


def _part(part: PartEntry, index: int, *, drawn: bool) -> list[Words | Title | Figure | Any]:
    """Diagram, table and sums of one part."""
    details, title = part["details"], sentences.title(part)
    label = f"{title}, part {index}"
    pieces: list[Any] = []
    graph = details.get("graph") or {}
    drawing = "" if drawn else view_graph.diagram(graph, title)
    if drawing:
        words = f"In words: {view_graph.describe(graph)}."
        pieces.append(Figure(Markup(drawing), f"Causal diagram: {label}", words))
    sets = details.get("sets") or ()
    if any(one.get("tests") for one in sets):
        pieces.append(view_tables.tests(part, f"Tests: {label}"))
    if any(one.get("impacts") for one in sets):
        pieces.append(view_tables.impacts(part, f"Deconfounding: {label}"))
    if details.get("observed"):
        pieces.append(view_tables.difference_table(part, f"Observed differences: {label}"))
    pieces += [*view_tables.rejections(part), *view_tables.arithmetic(part)]
    return [*pieces, *view_tables.persons(part, f"Person by person: {label}")]
