"""How a rating is shown whose method has no view of its own: levels, certainty and counts.

Views of methods subclass `DefaultView` and override what they show in their own way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trustgauge.reports import numbers, sentences, svg
from trustgauge.reports.components import (
    Cell,
    Cells,
    EvidenceWords,
    Figure,
    Head,
    Heads,
    PartRow,
    PartTable,
    Piece,
    Quotation,
    Section,
)
from trustgauge.reports.method_view import NO_MESSAGES, BadnessWords, LevelWords, Messages

if TYPE_CHECKING:
    import polars as pl

    from trustgauge.reports.components import Evidence, Facet
    from trustgauge.reports.document_model import PartEntry, RatingEntry, RunEntry

Facts = Mapping[str, Any]


class DefaultView:
    """See `method_view.MethodView` for what each member is."""

    messages: Messages = NO_MESSAGES
    evidence_words = EvidenceWords()
    badness = BadnessWords("score", "Ranked by the badness that the method resamples.")
    noun = "part"
    lettered = True
    ordered = False
    verdict_codes: frozenset[str] = frozenset({"overall.worst-part", "overall.vote", "overall.mean"})

    def level_words(self, rating: RatingEntry, key: str | None, rule: str) -> LevelWords:
        known = self.messages.levels.get("levels", {}).get(str(key))
        if known:
            return known
        words = next((one["words"] for one in rating["overall"]["scale"] if one["level"] == key), "no level")
        own = sentences.name(str(words))
        return LevelWords(own, own, f"Its level is {sentences.name(str(key))}: {own}.")

    def verdict_words(self, rating: RatingEntry) -> tuple[str, Mapping[str, str]]:
        return sentences.level(rating, rating["overall"]["level"]).sentence, {}

    def direction_words(self, rating: RatingEntry) -> tuple[str, Mapping[str, str]]:
        return "", {}

    def quotations(self, rating: RatingEntry, rows: pl.DataFrame) -> Iterable[Quotation]:
        return ()

    def gives_no_level(self, rating: RatingEntry) -> bool:
        return False

    def follows(self, rating: RatingEntry) -> str | None:
        return None

    def fact_words(self, code: str, facts: Facts, rating: RatingEntry | None) -> Mapping[str, Any]:
        return facts

    def rule_facts(self, rating: RatingEntry) -> Mapping[str, str]:
        return {}

    def audience(self, rating: RatingEntry) -> str:
        return ""

    def heads(self, ratings: Sequence[RatingEntry]) -> Heads:
        return Heads(("answers",), ("score",))

    def cells(self, rating: RatingEntry, part: PartEntry | None, *, tight: bool = False) -> Cells:
        one = rating["overall"] if part is None else part
        cover = rating["coverage"] if part is None else part["coverage"]
        return Cells((_answers(cover),), (number(one["score"]),))

    def mark(self, rating: RatingEntry, level: str) -> str:
        """The level as the method calls it, or its words where a bare letter says no direction."""
        return level if self.lettered else sentences.level(rating, level).short

    def pictogram(self, level: str, position: int, count: int) -> str:
        return svg.marker(position, count, 7, 7)

    def label_title(self, rating: RatingEntry) -> str:
        attribute = sentences.name(rating["issue"]["attribute"]).replace("-", " ")
        return f"{attribute} {sentences.name(rating['issue']['id'])}".strip()

    def label_body(self, rating: RatingEntry, band: str, *, dead: bool) -> Sequence[str] | None:
        return None

    def label_foot(self, rating: RatingEntry, certainty: str) -> Sequence[str] | None:
        return None

    def label_band(self, rating: RatingEntry) -> str:
        return ""

    def open_outcome(self, rating: RatingEntry) -> str:
        return ""

    def outcome_audience(self, rating: RatingEntry) -> str:
        return ""

    def level_line(self, rating: RatingEntry, level: str) -> str:
        return sentences.level(rating, level).line

    def label_fact(self, rating: RatingEntry) -> tuple[str, str]:
        """The share left unchanged, where the method has one; else the score."""
        same = rating["overall"]["unchanged"]
        if same:
            return numbers.share(same, tight=True), "unchanged"
        return number(rating["overall"]["score"]), "score"

    def summary_tile(self, rating: RatingEntry) -> tuple[str, str, str]:
        """The score with its interval."""
        one = rating["overall"]
        if one["score"] is None:
            return "Score", numbers.NONE, "no data"
        reach = "" if one["low"] is None else f"{number(one['low'])} to {number(one['high'])}, "
        return "Score", number(one["score"]), f"{reach}n = {numbers.count(one['n'])}"

    def figures(self, rating: RatingEntry) -> Sequence[Figure]:
        return []

    def part_table(self, rating: RatingEntry) -> PartTable:
        """Answers and score, a row a part."""
        rows = [
            PartRow(
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

    def effect_section(self, rating: RatingEntry, *, alone: bool) -> Section | None:
        """Without knowing what the score means, nothing is drawn."""
        return None

    def sections(self, rating: RatingEntry, run: RunEntry, *, alone: bool) -> Sequence[Section]:
        return []

    def overview(self, ratings: Sequence[RatingEntry], run: RunEntry) -> Sequence[Section]:
        return []

    def cautions(self, rating: RatingEntry) -> Sequence[str]:
        return []

    def limits(self, rating: RatingEntry) -> Sequence[str]:
        return []

    def block_names(self, rating: RatingEntry) -> Mapping[str, str]:
        return {}

    def prepare_evidence(self, ratings: Sequence[RatingEntry], rows: pl.DataFrame) -> pl.DataFrame:
        return rows

    def facets(self, ratings: Sequence[RatingEntry], rows: pl.DataFrame) -> Sequence[Facet]:
        return ()

    def evidence_examples(
        self, ratings: Sequence[RatingEntry], rows: pl.DataFrame, shown: Evidence
    ) -> Sequence[Piece]:
        return ()

    def has_offensive_names(self, ratings: Sequence[RatingEntry]) -> bool:
        return False

    def size(self, blocks: int, texts: int) -> str:
        return f"{blocks} block{'' if blocks == 1 else 's'} × {texts} texts"

    def effect_size(self, effect: float) -> str:
        return f"{effect:.3g}"

    def detectable_effect(self, effect: float) -> str:
        return f"an effect of {effect:.3g} or more, 8 times in 10"


def number(value: float | None) -> str:
    """A score whose unit only its method knows."""
    return numbers.NONE if value is None else f"{value:.3g}"


def _answers(cover: Facts) -> str:
    usable = cover["answered"] + cover["refused"] + cover["empty"]
    return f"{numbers.count(usable)} of {numbers.count(cover['planned'])}"
