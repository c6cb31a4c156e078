"""How a rating is seen whose method has no view of its own: levels, certainty and counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trustgauge.reports import numbers, sentences
from trustgauge.reports.components import (
    Cell,
    Cells,
    EvidenceWords,
    Figure,
    Head,
    Heads,
    PartTable,
    Row,
    Section,
)

Rated = Mapping[str, Any]

EVIDENCE = EvidenceWords()


def heads(ratings: Sequence[Rated]) -> Heads:
    """How many answers can be used, and the score."""
    return Heads(("answers",), ("score",))


def cells(rating: Rated, part: Rated | None, *, tight: bool = False) -> Cells:
    """What stands in those columns for a part, or for the whole rating."""
    one = rating["overall"] if part is None else part
    cover = rating["coverage"] if part is None else part["coverage"]
    return Cells((_answers(cover),), (number(one["score"]),))


def number(value: float | None) -> str:
    """A score whose unit only its method knows."""
    return numbers.NONE if value is None else f"{value:.3g}"


def _answers(cover: Rated) -> str:
    usable = cover["answered"] + cover["refused"] + cover["empty"]
    return f"{numbers.count(usable)} of {numbers.count(cover['planned'])}"


def mark(rating: Rated, level: str) -> str:
    """The level as the method calls it."""
    return level


def level_line(rating: Rated, level: str) -> str:
    """The words of the level."""
    return sentences.level(rating, level).line


def label_fact(rating: Rated) -> tuple[str, str]:
    """The share left unchanged, where the method tells one; else the score."""
    same = rating["overall"]["unchanged"]
    if same:
        return numbers.share(same, tight=True), "unchanged"
    return number(rating["overall"]["score"]), "score"


def tile(rating: Rated) -> tuple[str, str, str]:
    """The score with its interval."""
    one = rating["overall"]
    if one["score"] is None:
        return "Score", numbers.NONE, "no data"
    reach = "" if one["low"] is None else f"{number(one['low'])} to {number(one['high'])}, "
    return "Score", number(one["score"]), f"{reach}n = {numbers.count(one['n'])}"


def drawings(rating: Rated) -> list[Figure]:
    """Nothing is known of the method's rule."""
    return []


def part_table(rating: Rated) -> PartTable:
    """Answers and score, a row a part."""
    rows = [
        Row(
            title=sentences.title(part),
            code=sentences.name(part["key"]) if part["key"] and part["key"] != part["title"] else "",
            notes=sentences.notes(part, rating),
            before=(Cell(_answers(part["coverage"])),),
            level=part["level"],
            state=part["state"],
            certainty=part["certainty"],
            after=(number(part["score"]),),
        )
        for part in sentences.worst_first(rating)
    ]
    noun = sentences.noun(rating, 1)
    heading = f"{noun.capitalize()} by {noun}" if len(rows) > 1 else "What was measured"
    return PartTable(heading, noun.capitalize(), ("Answers",), (Head("Score", number=True),), rows)


def far(rating: Rated, *, alone: bool) -> Section | None:
    """Without knowing what the score means, nothing is drawn."""
    return None


def sections(rating: Rated, run: Mapping[str, Any], *, alone: bool) -> list[Section]:
    """None."""
    return []


def overview(ratings: Sequence[Rated], run: Mapping[str, Any]) -> list[Section]:
    """None."""
    return []


def cautions(rating: Rated) -> list[str]:
    """None."""
    return []


def limits(rating: Rated) -> list[str]:
    """None."""
    return []


def block_names(rating: Rated) -> dict[str, str]:
    """Blocks are shown by their keys."""
    return {}


def size(blocks: int, texts: int) -> str:
    """Blocks, and texts of each."""
    return f"{blocks} block{'' if blocks == 1 else 's'} × {texts} texts"


def finds(effect: float) -> str:
    """The smallest effect found 8 times in 10, in the method's own unit."""
    return f"an effect of {effect:.3g} or more, 8 times in 10"
