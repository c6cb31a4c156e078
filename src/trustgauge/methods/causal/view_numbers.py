"""Where the numbers of a causal rating come from: of each part its diagram, its tables and its sums."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from trustgauge.methods.causal import view_graph, view_tables
from trustgauge.methods.causal.view_direction import RANGE, stated_range
from trustgauge.reports import sentences
from trustgauge.reports.components import Figure, Fold, Section, Title, Words, read_messages

if TYPE_CHECKING:
    from trustgauge.reports.document_model import PartEntry, RatingEntry

NOTES = read_messages(__package__).table("notes")


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
    """The part whose diagram stands under "why": the first of those that decide."""
    keys = rating["overall"]["worst"]
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
