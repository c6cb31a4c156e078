"""How the ratings of a method are shown: the protocol of a view, and the view of each method.

Every page, label, table and export asks here, and nowhere else, what a method wants shown. A view is
registered under the name of its method in the entry-point group `trustgauge.views`, apart from the method
itself, so that showing a rating loads no statistics. A method without a view is shown by `default_view`.

The words of a view stand in the `messages.toml` of its package, those that all methods share in
`reports/messages.toml`. Each table of a file is one of three kinds: texts by key, level words (`short`,
`line`, `sentence`) by level, or `reasons`: the templates of each code, the most specific first.
`sentences.reason` takes the first whose facts are all present; the last template of a code needs none.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from trustgauge import plugins
from trustgauge.reports.components import (
    Cells,
    EvidenceWords,
    Figure,
    Heads,
    PartTable,
    Piece,
    Quotation,
    Section,
)

if TYPE_CHECKING:
    import polars as pl

    from trustgauge.reports.components import Evidence, Facet
    from trustgauge.reports.document_model import PartEntry, RatingEntry, RunEntry


Facts = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class BadnessWords:
    """What services are ranked by: the head of the column, and a sentence."""

    head: str
    ranked: str


@runtime_checkable
class MethodView(Protocol):
    """What a method shows of a rating, a member of `ratings` of the document. All are pure functions.

    Subclass `default_view.DefaultView` and override what the method shows in its own way.
    """

    messages: Messages
    """The words of its levels, rules, reasons and limits."""
    evidence_words: EvidenceWords
    badness: BadnessWords
    noun: str
    """What the parts of a rating are called, in the singular."""
    lettered: bool
    """Whether levels are shown with their letters; else their words say it all ("High risk")."""
    ordered: bool
    """Whether the parts have an order of their own, by which they make the level."""
    verdict_codes: frozenset[str]
    """Reasons that the verdict or its arithmetic already states."""

    def level_words(self, rating: RatingEntry, key: str | None, rule: str) -> LevelWords:
        """The words of a level under a rule."""

    def verdict_words(self, rating: RatingEntry) -> tuple[str, Mapping[str, str]]:
        """The template of the sentence of a rating that has a level, and the facts it needs."""

    def direction_words(self, rating: RatingEntry) -> tuple[str, Mapping[str, str]]:
        """The template of the sentence that says what goes wrong and towards whom, and the facts it needs.

        "" if no direction is settled, or if the sentence of the level says it already. Asked of settled
        ratings only.
        """

    def quotations(self, rating: RatingEntry, rows: pl.DataFrame) -> Iterable[Quotation]:
        """Exchanges that show what the verdict says, the most telling first; the first screen has three.

        Asked of settled ratings only.

        Args:
            rating: a rating of the method.
            rows: its evidence, of its service only, as `prepare_evidence` returns it.
        """

    def gives_no_level(self, rating: RatingEntry) -> bool:
        """Whether the rule of the rating measures only, and gives no level by design."""

    def follows(self, rating: RatingEntry) -> str | None:
        """How the level follows from the parts; None for the usual sentence."""

    def fact_words(self, code: str, facts: Facts, rating: RatingEntry | None) -> Mapping[str, Any]:
        """The facts of a reason as its templates need them."""

    def rule_facts(self, rating: RatingEntry) -> Mapping[str, str]:
        """What the sentence about the rule needs: cuts, margins."""

    def audience(self, rating: RatingEntry) -> str:
        """For whom the rating is, such as "Privacy first"; "" if for everybody."""

    def heads(self, ratings: Sequence[RatingEntry]) -> Heads:
        """Columns of the plain tables (terminal, Markdown, notebook, list of services)."""

    def cells(self, rating: RatingEntry, part: PartEntry | None, *, tight: bool = False) -> Cells:
        """What stands in those columns for a part, or for the whole rating (None)."""

    def mark(self, rating: RatingEntry, level: str) -> str:
        """A level in the fewest words that say its direction."""

    def pictogram(self, level: str, position: int, count: int) -> str:
        """The 14 by 14 drawing of a level in `currentColor`, as SVG content."""

    def label_title(self, rating: RatingEntry) -> str:
        """What was rated, as the heading of the label: "Gender bias"."""

    def label_body(self, rating: RatingEntry, band: str, *, dead: bool) -> Sequence[str] | None:
        """The middle of the label as SVG elements; None for the usual levels and facts."""

    def label_foot(self, rating: RatingEntry, certainty: str) -> Sequence[str] | None:
        """The lines at the foot of the label; None for the usual ones."""

    def label_band(self, rating: RatingEntry) -> str:
        """What stands across the label of a rating without a level; "" for the usual words."""

    def open_outcome(self, rating: RatingEntry) -> str:
        """What is known of an incomplete rating in a few words; "" for "not rated"."""

    def outcome_audience(self, rating: RatingEntry) -> str:
        """For whom, within the outcome in a few words; "" if for everybody."""

    def level_line(self, rating: RatingEntry, level: str) -> str:
        """The line below a level on the label; "" for none."""

    def label_fact(self, rating: RatingEntry) -> tuple[str, str]:
        """The fourth fact of the label: figure and name."""

    def summary_tile(self, rating: RatingEntry) -> tuple[str, str, str]:
        """The third tile of the page: name, figure, what it is of."""

    def figures(self, rating: RatingEntry) -> Sequence[Figure]:
        """The figures under "Why this rating"."""

    def part_table(self, rating: RatingEntry) -> PartTable:
        """The table of parts, worst first."""

    def effect_section(self, rating: RatingEntry, *, alone: bool) -> Section | None:
        """How large the effect is, and how certain; `alone` if the page shows this rating only."""

    def sections(self, rating: RatingEntry, run: RunEntry, *, alone: bool) -> Sequence[Section]:
        """Further sections of a rating."""

    def overview(self, ratings: Sequence[RatingEntry], run: RunEntry) -> Sequence[Section]:
        """What is shown of all ratings of this method together, if a run has several."""

    def cautions(self, rating: RatingEntry) -> Sequence[str]:
        """What must stand with a result in the terminal."""

    def limits(self, rating: RatingEntry) -> Sequence[str]:
        """Limitations beyond those that the rating names itself."""

    def block_names(self, rating: RatingEntry) -> Mapping[str, str]:
        """Names of the blocks of the evidence, by key."""

    def prepare_evidence(self, ratings: Sequence[RatingEntry], rows: pl.DataFrame) -> pl.DataFrame:
        """The evidence with words in the place of keys; rows of other methods as they are."""

    def facets(self, ratings: Sequence[RatingEntry], rows: pl.DataFrame) -> Sequence[Facet]:
        """What the evidence can be filtered by, beyond service, part and block."""

    def evidence_examples(
        self, ratings: Sequence[RatingEntry], rows: pl.DataFrame, shown: Evidence
    ) -> Sequence[Piece]:
        """The most telling rows, above the evidence."""

    def has_offensive_names(self, ratings: Sequence[RatingEntry]) -> bool:
        """Whether a name in some rating may offend, so that it is hidden until a reader asks for it."""

    def size(self, blocks: int, texts: int) -> str:
        """How much a planned run asks of each service, in words."""

    def effect_size(self, effect: float) -> str:
        """An effect as a number with its unit: "25 points"."""

    def detectable_effect(self, effect: float) -> str:
        """The smallest effect that a planned run detects 8 times in 10, in words."""


@lru_cache
def view_by_name(method: str) -> MethodView:
    """The view of a method by its name; the default view if it has none of its own.

    Raises:
        TypeError: what is registered for the method is no view.
    """
    view = plugins.load("views", method if method in plugins.names("views") else "default")()
    if not isinstance(view, MethodView):
        raise TypeError(f"the view of {method} must have every member of MethodView")
    return view


def view_of(rating: RatingEntry) -> MethodView:
    """The view of the method that made a rating."""
    return view_by_name(str(rating["method"]["name"]))


def views_of(ratings: Sequence[RatingEntry]) -> list[MethodView]:
    """The views of the methods that made some ratings, each once."""
    return list(dict.fromkeys(map(view_of, ratings)))


@dataclass(frozen=True, slots=True)
class LevelWords:
    """A level in words: `short` for a pill, `line` for a label, `sentence` for a page."""

    short: str
    line: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Messages:
    """The content of a message file.

    Attributes:
        texts: tables of texts, such as `rules` or `flags`, by name.
        levels: tables of level words by name; the scale of the method is `levels`.
        reasons: templates by code of a reason or limit.
    """

    texts: Mapping[str, Mapping[str, str]]
    levels: Mapping[str, Mapping[str, LevelWords]]
    reasons: Mapping[str, tuple[str, ...]]

    def table(self, name: str) -> Mapping[str, str]:
        """A table of texts; empty if the file has none of this name."""
        return self.texts.get(name, {})


def read_messages(package: str) -> Messages:
    """The messages of a package.

    Raises:
        FileNotFoundError: the package has no `messages.toml`.
    """
    told = tomllib.loads(files(package).joinpath("messages.toml").read_text("utf-8"))
    reasons = {code: tuple(templates) for code, templates in told.pop("reasons", {}).items()}
    levels = {
        name: {key: LevelWords(**words) for key, words in table.items()}
        for name, table in told.items()
        if all(isinstance(words, dict) for words in table.values())
    }
    texts = {name: table for name, table in told.items() if name not in levels}
    return Messages(texts, levels, reasons)


NO_MESSAGES = Messages({}, {}, {})
COMMON = read_messages(__package__)
