"""The view of a method: its protocol, and the plain values that it is made of; templates only place them.

A section holds pieces: paragraphs, headings, figures, tables, and folds that hold pieces again.
Texts are unescaped; the templates and `svg` escape them.

Evidence is rows of texts sent and received. Beyond service, part and block it can be filtered by the facets
that a method declares. A row may hold several values of a facet: two groups, several categories. Its marks
hold their places, so that a page's script finds rows without reading their texts.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NotRequired, Protocol, TypedDict, cast, runtime_checkable

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from trustgauge import plugins
from trustgauge.data import package_table, package_text
from trustgauge.reports.sanitize import excerpt, short, visible

if TYPE_CHECKING:
    import polars as pl

    from trustgauge.reports.document_model import PartEntry, RatingEntry, RunEntry


QUOTED = 200
"""Characters of a text in a quotation."""


WITHIN = "-"
"""Between the places of one facet in the marks of a row."""
KEPT = 2_000
"""Characters of a text in the page at all; the store and the exports have the whole."""


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a column; `number` columns stand at the right."""

    text: str
    number: bool = False


def heads_of(*names: str, texts: Collection[str] = ()) -> list[Head]:
    """The heads of columns: numbers, but for those that are named in `texts` too."""
    return [Head(name, number=name not in texts) for name in names]


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell: a text, or a drawing; what stands small below; what symbols mean in words.

    Attributes:
        text: what is read.
        under: a second, quiet line.
        drawing: a figure in place of the text, escaped where it was drawn.
        symbols: marks such as dots, hidden from screen readers.
        spoken: what the symbols mean, for screen readers only.
        target: id of a row on the page that the text leads to.
        quote: a foreign text in the place of `text`.
        language: of the quote, where it is known.
        offensive: the quote is hidden until the reader asks for it.
    """

    text: str = ""
    under: str = ""
    drawing: Markup | None = None
    symbols: str = ""
    spoken: str = ""
    target: str = ""
    quote: str = ""
    language: str = ""
    offensive: bool = False


@dataclass(frozen=True, slots=True)
class Quotation:
    """One exchange that counted for the level: what was sent, what was answered, and why it counts."""

    sent: Cell
    back: Cell
    why: str


class EvidenceExchange(TypedDict):
    """A row of the evidence: what was sent, what came back, and what was read in it."""

    service: str
    part: str
    block: str
    id: str
    sent: str | None
    trail: str | list[str] | None
    """What came back in between, as a list or as its JSON."""
    back: str | None
    status: str | None
    """What became of it; null if it was not asked."""
    values_in: list[str | None] | None
    values_out: list[str | None] | None
    kinds: list[str | None] | None
    changed: bool | None
    offensive: NotRequired[bool | None]
    score: NotRequired[float | None]
    span_start: NotRequired[int | None]
    span_end: NotRequired[int | None]
    reading: NotRequired[str | None]
    """What the program read, in words, where its values are something else."""
    audited: NotRequired[str | None]
    """What an audit read, in words; "" or null where nobody labelled the answer."""


def exchanges(rows: pl.DataFrame) -> Iterator[EvidenceExchange]:
    """The rows of the evidence one by one; further columns of a method stand in them too."""
    return cast("Iterator[EvidenceExchange]", rows.iter_rows(named=True))


def quotation(row: EvidenceExchange, why: str) -> Quotation:
    """A row of the evidence as a quotation: on one line, control characters visible, hidden if it may offend.

    A long answer is cut around the span that was read in it, if the row has one.
    """
    places = ((row["sent"], 0), (row["back"], max(0, row.get("span_start") or 0)))
    said = (short(visible(excerpt(text or "", place, QUOTED)), QUOTED) for text, place in places)
    sent, back = (Cell(quote=one, offensive=bool(row.get("offensive"))) for one in said)
    return Quotation(sent, back, why)


@dataclass(frozen=True, slots=True)
class Words:
    """A paragraph."""

    kind: ClassVar[str] = "words"
    text: str
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class Title:
    """A heading below that of the section, and its lead."""

    kind: ClassVar[str] = "title"
    text: str
    lead: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing in a region of its own; `label` names the region and must differ from all others."""

    kind: ClassVar[str] = "figure"
    drawing: Markup
    label: str
    words: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table in a region of its own; the first cell of a row is its head.

    `marks` hold the places of each row in the facets of the evidence, where its filters work here too.
    """

    kind: ClassVar[str] = "table"
    label: str
    heads: Sequence[Head]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    marks: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Fold:
    """Pieces behind a line that opens them."""

    kind: ClassVar[str] = "fold"
    summary: str
    pieces: Sequence[Words | Title | Figure | Table]
    shown: bool = False


Piece = Words | Title | Figure | Table | Fold


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the page: `rank` is its place when read as chooser, developer, auditor."""

    key: str
    heading: str
    pieces: Sequence[Piece]
    lead: str = ""
    rank: str = "40 40 40"


@dataclass(frozen=True, slots=True)
class PartRow:
    """A part of a rating in the table of parts."""

    title: str
    code: str
    notes: Sequence[str]
    before: Sequence[Cell]
    level: str | None
    state: str
    certainty: Mapping[str, float]
    after: Sequence[str]


@dataclass(frozen=True, slots=True)
class PartTable:
    """The table of parts: columns before the rating, the rating and its certainty, columns after them."""

    heading: str
    first: str
    before: Sequence[str]
    after: Sequence[Head]
    rows: Sequence[PartRow]
    legend: Sequence[str] = ()  # names of output values, in the order of their colours
    note: str = ""  # below it: what its columns are


@dataclass(frozen=True, slots=True)
class Heads:
    """Names of the columns of a plain table, before and after the certainty."""

    before: Sequence[str]
    after: Sequence[str]


@dataclass(frozen=True, slots=True)
class Cells:
    """What stands in those columns."""

    before: Sequence[str]
    after: Sequence[str]


@dataclass(frozen=True, slots=True)
class EvidenceWords:
    """What the evidence table calls what a method sends and reads."""

    back: str = "Came back"
    read: str = "Read: in → out"
    changed: str = "only changed"


@dataclass(frozen=True, slots=True)
class Value:
    """A value to choose. `key` stands in addresses, so it tells no name that may offend."""

    key: str
    title: str


@dataclass(frozen=True, slots=True)
class Facet:
    """A filter: its values in order, the place of each, and the columns of the evidence that hold them."""

    key: str
    columns: Sequence[str]
    values: Sequence[Value]
    places: Mapping[str, int]

    @property
    def label(self) -> str:
        return self.key.capitalize()

    def marks(self, facts: Mapping[str, object]) -> str:
        """The places of a row's values: "3", "0-2", or "" if it has none."""
        listed = [one for column in self.columns for one in values(facts.get(column))]
        found = {self.places[one] for one in listed if one in self.places}
        return WITHIN.join(map(str, sorted(found)))


def marks(found: Sequence[Facet], facts: Mapping[str, object]) -> list[str]:
    """The places of a row in each facet.

    Args:
        found: the facets of the evidence.
        facts: values in the columns of the facets; those that are not there are none.
    """
    return [facet.marks(facts) for facet in found]


def values(cell: object) -> list[str]:
    """The values in a cell: a text, or a list of texts."""
    many = cell if isinstance(cell, list) else [cell]
    return [str(one) for one in many if one]


@dataclass(frozen=True, slots=True)
class Text:
    """A text to show: its beginning as words with the changed ones marked, the rest, its length."""

    words: tuple[tuple[str, bool], ...]
    rest: str
    length: int
    language: str
    offensive: bool = False

    @property
    def whole(self) -> bool:
        """Whether the text stands there as it is, with nothing to open."""
        return not self.rest and not self.offensive

    @property
    def cut(self) -> bool:
        return self.length > KEPT


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """One row of the evidence table.

    `anchor`, `marks` and the language of a text hold letters, digits, `-`, `_` and commas only,
    whatever a service or plan says, so they may stand in the page without quotes.
    """

    anchor: str
    name: str
    service: str
    part: str
    marks: str  # places of service, part, block, letter of the status, changed, facets: what filters read
    sent: Text
    trail: tuple[Text, ...]
    back: Text
    values: str
    lost: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the page carries: rows in it, rows packed, and how many there are in all."""

    rows: Sequence[EvidenceRow] = ()
    packed: str = ""
    packed_rows: int = 0
    total: int = 0
    sampled: bool = False
    services: Mapping[str, str] = field(default_factory=dict)  # key -> name
    parts: Mapping[str, str] = field(default_factory=dict)  # key -> title
    language: str = "en"  # of the texts sent
    blocks: Sequence[str] = ()
    facets: Sequence[Facet] = ()
    trail: bool = False
    offensive: bool = False


@dataclass(frozen=True, slots=True)
class BadnessWords:
    """What services are ranked by.

    Attributes:
        head: of the column.
        ranked: a sentence.
        is_share: whether it is a share of 1, which is shown in points.
    """

    head: str
    ranked: str
    is_share: bool = False


@runtime_checkable
class MethodView(Protocol):
    """What a method shows of a rating, a member of `ratings` of the document. All are pure functions.

    Subclass `views.DefaultView` and override what the method shows in its own way. What has a body here is
    what is shown if it does not.
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
    service_codes: frozenset[str]
    """Reasons about the answers of the service as such: what several parts say alike is said once."""
    counts_as_unread: Sequence[str]
    """Fields of a coverage with answers that came and were not understood, so that they are not lost."""
    by_chance: frozenset[str]
    """Reasons by which a level may be one of chance, so that the share of resamples at it says nothing."""

    def level_words(self, rating: RatingEntry, key: str | None, rule: str) -> LevelWords:
        """The words of a level under a rule."""

    def verdict_words(self, rating: RatingEntry) -> tuple[str, Mapping[str, str]]:
        """The template of the sentence of a rating that has a level, and the facts it needs."""

    def view_for(self, rating: RatingEntry) -> MethodView:
        """The view of one rating: this one, unless the method shows some of its ratings in another way."""
        return self

    def steps(self, rating: RatingEntry) -> Mapping[str, str]:
        """What to do about the reasons of a rating, by their codes, beside what all methods say."""
        return self.messages.table("steps")

    def direction_words(self, rating: RatingEntry) -> tuple[str, Mapping[str, str]]:
        """The template of the sentence that says what goes wrong and towards whom, and the facts it needs.

        "" if no direction is settled, or if the sentence of the level says it already. Asked of settled
        ratings, and of others whose parts are `ordered`: each of these may be settled by itself.
        """
        return "", {}

    def part_notes(self, part: PartEntry) -> list[str]:
        """What must stand beside a part in a table, besides what every method notes."""
        return []

    def quotations(self, rating: RatingEntry, rows: pl.DataFrame) -> Iterable[Quotation]:
        """Exchanges that show what the verdict says, the most telling first; the first screen has three.

        Asked of the ratings whose `direction_words` are asked for.

        Args:
            rating: a rating of the method.
            rows: its evidence, of its service only, as `prepare_evidence` returns it.
        """
        return ()

    def gives_no_level(self, rating: RatingEntry) -> bool:
        """Whether the rule of the rating measures only, and gives no level by design."""
        return False

    def follows(self, rating: RatingEntry) -> str | None:
        """How the level follows from the parts; None for the usual sentence."""
        return None

    def pivotal(self, rating: RatingEntry) -> Collection[str]:
        """Keys of the parts that may change the level of the whole, for some levels of the others."""
        return [part["key"] for part in rating["parts"]]

    def fact_words(
        self, code: str, facts: Mapping[str, object], rating: RatingEntry | None
    ) -> Mapping[str, object]:
        """The facts of a reason as its templates need them."""
        return facts

    def rule_facts(self, rating: RatingEntry) -> Mapping[str, str]:
        """What the sentence about the rule needs: cuts, margins."""
        return {}

    def columns_note(self, ratings: Sequence[RatingEntry]) -> str:
        """What the columns of a table of services count, in which units and which end is good."""
        return str(self.messages.table("notes").get("columns", ""))

    def audience(self, rating: RatingEntry) -> str:
        """For whom the rating is, such as "Privacy first"; "" if for everybody."""
        return ""

    def question_language(self, rating: RatingEntry) -> str:
        """The language and form of the questions, such as "in Chinese"; "" where there is but one."""
        return ""

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
        return None

    def label_foot(self, rating: RatingEntry, certainty: str) -> Sequence[str] | None:
        """The lines at the foot of the label; None for the usual ones."""
        return None

    def label_band(self, rating: RatingEntry) -> str:
        """What stands across the label of a rating without a level; "" for the usual words."""
        return ""

    def open_outcome(self, rating: RatingEntry) -> str:
        """What is known of an incomplete rating in a few words; "" for "not rated"."""
        return ""

    def outcome_audience(self, rating: RatingEntry) -> str:
        """For whom, within the outcome in a few words; "" if for everybody."""
        return ""

    def level_line(self, rating: RatingEntry, level: str) -> str:
        """The line below a level on the label; "" for none."""

    def label_fact(self, rating: RatingEntry) -> tuple[str, str]:
        """The fourth fact of the label: figure and name."""

    def summary_tile(self, rating: RatingEntry) -> tuple[str, str, str]:
        """The third tile of the page: name, figure, what it is of."""

    def figures(self, rating: RatingEntry) -> Sequence[Figure]:
        """The figures under "Why this rating"."""
        return []

    def part_table(self, rating: RatingEntry) -> PartTable:
        """The table of parts, worst first."""

    def effect_section(self, rating: RatingEntry, *, alone: bool) -> Section | None:
        """How large the effect is, and how certain; `alone` if the page shows this rating only.

        Without knowing what the score means, nothing is drawn.
        """
        return None

    def sections(self, rating: RatingEntry, run: RunEntry, *, alone: bool) -> Sequence[Section]:
        """Further sections of a rating."""
        return []

    def overview(self, ratings: Sequence[RatingEntry], run: RunEntry) -> Sequence[Section]:
        """What is shown of all ratings of this method together, if a run has several."""
        return []

    def level_by(self, part: PartEntry, rule: str) -> str | None:
        """The level of a part by a rule beside that of its rating; None without one."""
        facts = (part["details"] or {}).get(rule)
        return facts.get("level") if isinstance(facts, Mapping) else None

    def cautions(self, rating: RatingEntry) -> Sequence[str]:
        """What must stand with a result in the terminal."""
        return []

    def limits(self, rating: RatingEntry) -> Sequence[str]:
        """Limitations beyond those that the rating names itself."""
        return []

    def block_names(self, rating: RatingEntry) -> Mapping[str, str]:
        """Names of the blocks of the evidence, by key."""
        return {}

    def prepare_evidence(self, ratings: Sequence[RatingEntry], rows: pl.DataFrame) -> pl.DataFrame:
        """The evidence with words in the place of keys; rows of other methods as they are."""
        return rows

    def facets(self, ratings: Sequence[RatingEntry], rows: pl.DataFrame) -> Sequence[Facet]:
        """What the evidence can be filtered by, beyond service, part and block."""
        return ()

    def evidence_examples(
        self, ratings: Sequence[RatingEntry], rows: pl.DataFrame, shown: Evidence
    ) -> Sequence[Piece]:
        """The most telling rows, above the evidence."""
        return ()

    def has_offensive_names(self, ratings: Sequence[RatingEntry]) -> bool:
        """Whether a name in some rating may offend, so that it is hidden until a reader asks for it."""
        return False

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
    view = _SHOWN_BY.get(method)
    view = view or plugins.load("views", method if method in plugins.names("views") else "default")()
    if not isinstance(view, MethodView):
        raise TypeError(f"the view of {method} must have every member of MethodView")
    return view


_SHOWN_BY: dict[str, MethodView] = {}
"""Views that take the place of those registered."""


@contextmanager
def shown_by(view: MethodView, method: str) -> Iterator[None]:
    """Have a view show the ratings of a method for a while, whether or not it is registered."""
    _SHOWN_BY[method] = view
    view_by_name.cache_clear()
    try:
        yield
    finally:
        del _SHOWN_BY[method]
        view_by_name.cache_clear()


def view_of(rating: RatingEntry) -> MethodView:
    """The view of the method that made a rating."""
    return view_by_name(str(rating["method"]["name"])).view_for(rating)


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

    def over(self, other: Messages) -> Messages:
        """These messages, and those of another file where these have none."""
        tables = {name: {**other.table(name), **self.table(name)} for name in {*other.texts, *self.texts}}
        levels = {**other.levels, **self.levels}
        return Messages(tables, levels, {**other.reasons, **self.reasons})


@cache
def read_messages(package: str, name: str = "messages.toml") -> Messages:
    """The messages of a file of a package, read once.

    Raises:
        FileNotFoundError: the package has no such file.
    """
    tables = dict(package_table(package, name))
    reasons = {code: tuple(templates) for code, templates in tables.pop("reasons", {}).items()}
    levels = {
        name: {key: LevelWords(**words) for key, words in table.items()}
        for name, table in tables.items()
        if all(isinstance(words, dict) for words in table.values())
    }
    texts = {name: table for name, table in tables.items() if name not in levels}
    return Messages(texts, levels, reasons)


NO_MESSAGES = Messages({}, {}, {})
COMMON = read_messages(__package__)


def environment() -> Environment:
    """Our templates: what is no Markup is escaped and made visible, an unknown name is an error."""
    return Environment(
        loader=PackageLoader("trustgauge.reports"),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _shown(value: Any) -> Any:
    """What a template writes, in text and in attributes, without control characters."""
    return visible(value, lines=True) if type(value) is str else value  # Markup was made by ourselves


def file(name: str) -> str:
    """The text of a file beside the templates: a style sheet, a script."""
    return package_text(__package__, f"templates/{name}")


def policy(style: str, script: str = "") -> str:
    """The content policy of a page with this style and script, and nothing else."""
    allowed = f"style-src '{_hash(style)}'; " + (f"script-src '{_hash(script)}'; " if script else "")
    return f"default-src 'none'; img-src data:; {allowed}base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
