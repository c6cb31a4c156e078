"""How each method is seen: one module per method gives its words, tables, figures and sections.

Every view (page, terminal, label, notebook, exports) asks here and nowhere else what a method
wants shown. A method without a module of its own, such as a plug-in's, is seen by levels,
certainty and counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from trustgauge.reports import causal, default_view, social_bias, trust, two_step
from trustgauge.reports.components import Cells, EvidenceWords, Figure, Heads, PartTable, Section

Rated = Mapping[str, Any]


class MethodView(Protocol):
    """What a method shows of a rating, a member of `ratings` of the document. All are pure functions."""

    EVIDENCE: EvidenceWords

    def heads(self, ratings: Sequence[Rated]) -> Heads:
        """Columns of the plain tables (terminal, Markdown, notebook, list of services)."""

    def cells(self, rating: Rated, part: Rated | None, *, tight: bool = False) -> Cells:
        """What stands in those columns for a part, or for the whole rating (None)."""

    def mark(self, rating: Rated, level: str) -> str:
        """A level in the fewest words that say its direction."""

    def level_line(self, rating: Rated, level: str) -> str:
        """The line below a level on the label; "" for none."""

    def label_fact(self, rating: Rated) -> tuple[str, str]:
        """The fourth fact of the label: figure and name."""

    def tile(self, rating: Rated) -> tuple[str, str, str]:
        """The third tile of the page: name, figure, what it is of."""

    def drawings(self, rating: Rated) -> Sequence[Figure]:
        """The figures under "Why this rating"."""

    def part_table(self, rating: Rated) -> PartTable:
        """The table of parts, worst first."""

    def far(self, rating: Rated, *, alone: bool) -> Section | None:
        """How far and how sure; `alone` if the page shows this rating only."""

    def sections(self, rating: Rated, run: Mapping[str, Any], *, alone: bool) -> Sequence[Section]:
        """Further sections of a rating."""

    def overview(self, ratings: Sequence[Rated], run: Mapping[str, Any]) -> Sequence[Section]:
        """What is shown of all ratings of this method together, if a run has several."""

    def cautions(self, rating: Rated) -> Sequence[str]:
        """What must stand with a result in the terminal."""

    def limits(self, rating: Rated) -> Sequence[str]:
        """What the rating does not say, beyond the limits it names itself."""

    def block_names(self, rating: Rated) -> Mapping[str, str]:
        """Names of the blocks of the evidence, by key."""

    def size(self, blocks: int, texts: int) -> str:
        """How much a planned run asks of each service, in words."""

    def finds(self, effect: float) -> str:
        """The smallest effect that a planned run finds 8 times in 10, in words."""


VIEWS: Mapping[str, MethodView] = {
    "two-step": two_step,
    "causal": causal,
    "social-bias": social_bias,
    "trust": trust,
}


def named(method: str) -> MethodView:
    """The view of a method by its name."""
    return VIEWS.get(method, default_view)


def of(rating: Rated) -> MethodView:
    """The view of the method that made a rating."""
    return named(str(rating["method"]["name"]))
