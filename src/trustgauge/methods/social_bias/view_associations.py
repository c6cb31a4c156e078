"""The strongest associations of groups with properties, in words, with a question and its answer.

Groups that were asked to be chosen between: by how far the advantage is from one half, of those that
differ after correction. Groups asked about one at a time: by how far two of them are apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trustgauge.methods.social_bias import group_names, view_sentences
from trustgauge.methods.social_bias.forms import OPTIONS
from trustgauge.methods.social_bias.view_evidence import is_social_evidence
from trustgauge.methods.social_bias.view_sentences import MESSAGES
from trustgauge.reports import numbers, sentences
from trustgauge.reports.components import (
    Cell,
    Evidence,
    EvidenceExchange,
    Head,
    Piece,
    Quotation,
    Table,
    Title,
    Words,
    exchanges,
    marks,
    quotation,
)
from trustgauge.reports.sanitize import short, visible

if TYPE_CHECKING:
    import polars as pl

    from trustgauge.reports.document_model import PartEntry, RatingEntry

Facts = Mapping[str, Any]

SHOWN = 12
EACH = 4
"""Associations on the page, of one service and of each of several, and of each of the two kinds."""
TEXT = 280
FORWARD, BACKWARD = ("y1", "y3", "w1"), ("y2", "y4", "w2")
"""Forms in which an affirmation counts for the first group, and for the second (social-bias 3.8)."""
QUOTES = 3
"""Answers that show a gap."""
LEAST = 5
"""Answers about each group, below which no difference is reported."""


@dataclass(frozen=True, slots=True)
class Association:
    """What a service associates with whom: `group` more than `other`, in one category of an attribute."""

    side: str
    group: str
    other: str
    category: str
    size: float
    said: str


def tables(ratings: Sequence[RatingEntry], rows: pl.DataFrame, shown: Evidence) -> list[Piece]:
    """The strongest associations of every social-bias rating; nothing for other methods.

    Args:
        ratings: ratings of the document; those of other methods are left out.
        rows: the whole evidence, in which an example is looked for.
        shown: the rows on the page; an example leads to them where they are.
    """
    mine = [one for one in ratings if one["method"]["name"] == view_sentences.METHOD]
    if not mine or not is_social_evidence(rows):
        return []
    several = len(mine) > 1
    anchors = {(row.service, row.part, row.name): row.anchor for row in shown.rows}
    lines = []
    for rating in mine:
        for part in rating["parts"]:
            lines += [(one, part, rating) for one in _strongest(part, rating)]
    lines.sort(key=lambda line: -line[0].size)
    kept = []
    for side in ("absolute", "relative"):
        for rating in mine:
            own = [line for line in lines if line[0].side == side and line[2] is rating]
            kept += own[: EACH if several else SHOWN]
    title = Title("Strongest associations", MESSAGES.table("notes")["associations"])
    quoted = [one for rating in mine for one in _quotes(rating, rows)]
    if not kept:
        return [*quoted, title, Words(MESSAGES.table("notes")["no-associations"])]
    examples = [_example(*line, rows) for line in kept]
    drawn = [
        _row(*line, found=found, anchors=anchors, several=several)
        for line, found in zip(kept, examples, strict=True)
    ]
    places = [
        ",".join(marks(shown.facets, _facts(one, part, found)))
        for (one, part, _), found in zip(kept, examples, strict=True)
    ]
    heads = [Head("Attribute"), *([Head("Service")] if several else []), Head("Association")]
    heads += [Head("Example"), Head("Question"), Head("Answer")]
    table = Table("Strongest associations", heads, drawn, marks=places if shown.facets else ())
    return [*quoted, title, table]


def quotations(rating: RatingEntry, rows: pl.DataFrame) -> Iterator[Quotation]:
    """Answers that show the figure that decides, one a property, shortest first; none if it names no group.

    Of a gap those first that fewest other groups get to the same question.

    Args:
        rating: a rating of this method.
        rows: the evidence of its service.
    """
    for part in sentences.leading(rating)[:1]:
        of = view_sentences.side(part)
        shows, words, group = _shown(part, of)
        if not words:
            return
        names = group_names.groups(part)
        why = MESSAGES.table("quotations")[words].format(
            group=names[group].said if group in names else "a group"
        )
        mine = _of_rated_format(rating, rows).filter(
            tuple="relative" if of == "relative" else "absolute", attribute=part["details"]["attribute"]
        )
        direction = part["details"]["relative"]["direction"] if of == "relative" else ""
        for row in exchanges(_telling(mine, shows, direction)):
            yield quotation(row, why)


def _of_rated_format(rating: RatingEntry, rows: pl.DataFrame) -> pl.DataFrame:
    """The rows that the figures rest on: of one format, where the same was asked in two."""
    formats = rating["details"].get("formats")
    if formats is None:
        return rows
    import polars as pl

    return rows.filter(pl.col("form").is_in(OPTIONS) == (formats["rated"] == "choice"))


def _shown(part: PartEntry, of: str) -> tuple[pl.Expr, str, str]:
    """Answers that show a side of a part, the words for why, and the group that they are about."""
    import polars as pl

    facts = part["details"].get(of) or {}
    if of == "absolute" and (best := view_sentences.strongest(part)):
        return _between(pl, best.group, best.other), "favoured", best.group
    group = str(facts.get("group") or "")
    if of == "relative" and group:
        return _spoken(pl, group, facts["direction"]), facts["direction"], group
    if of == "direction" and group:
        by_polarity, wins = facts["sense"] == "favoured", bool(facts["wins"])
        one = _favoured(pl, by_polarity=by_polarity)
        among = pl.any_horizontal(pl.col("group_a", "group_b") == group)
        words = {
            (True, True): "favoured",
            (True, False): "against",
            (False, True): "named",
            (False, False): "passed",
        }
        return among & ((one == group) if wins else (one != group)), words[by_polarity, wins], group
    return pl.lit(value=False), "", ""


def _telling(rows: pl.DataFrame, shows: pl.Expr, direction: str) -> pl.DataFrame:
    """One answer a property of those that show something: what other groups get too last, then the shortest.

    Args:
        rows: the questions of an attribute about all groups.
        shows: whether an answer shows it.
        direction: in which it speaks of its one group; "" of two groups, where nothing is compared.
    """
    import polars as pl

    usual = _speaks(pl, direction).mean().over("property", "form") if direction else pl.lit(0.0)
    ordered = (
        rows.with_columns(_usual=usual)
        .filter(shows)
        .sort("_usual", pl.col("back").str.len_chars(), maintain_order=True)
    )
    return ordered.drop("_usual").unique("property", keep="first", maintain_order=True)


def _quotes(rating: RatingEntry, rows: pl.DataFrame) -> Iterator[Piece]:
    """Three answers that show each gap above low risk: how the group that it names is spoken of."""
    import polars as pl

    for part in rating["parts"]:
        facts = part["details"].get("relative") or {}
        gap = view_sentences.value(part, "relative")
        if not facts.get("group") or gap is None or gap < view_sentences.cuts(rating, "relative")[0]:
            continue
        mine = rows.filter(
            service=rating["service"]["key"], tuple="relative", attribute=part["details"]["attribute"]
        )
        told = _telling(mine, _spoken(pl, facts["group"], facts["direction"]), facts["direction"])
        names = group_names.groups(part)
        called = names[facts["group"]].drawn if facts["group"] in names else "one group"
        label = f"Spoken {facts['direction']} of: {called}"
        language = str(rating["details"].get("language") or "en")
        cells = [
            [
                Cell(
                    quote=short(visible(text or ""), TEXT),
                    language=language,
                    offensive=bool(one.get("offensive")),
                )
                for text in (one["sent"], one["back"])
            ]
            for one in exchanges(told.head(QUOTES))
        ]
        if cells:
            yield Title(label)
            yield Table(label, [Head("Question"), Head("Answer")], cells)


def _facts(one: Association, part: PartEntry, found: EvidenceExchange | None) -> dict[str, object]:
    """What the filters of the evidence know of an association and its example."""
    return {
        "attribute": part["details"]["attribute"],
        "group_a": one.group,
        "group_b": one.other,
        "categories": one.category,
        "kind": found and found.get("kind"),
    }


def _strongest(part: PartEntry, rating: RatingEntry) -> Iterator[Association]:
    """Pairs of groups and categories that differ, and the widest gap of each category."""
    names = group_names.groups(part)

    def said(key: str) -> str:
        return names[key].drawn if key in names else "one group"

    for one in view_sentences.pairs(part):
        if one.category and one.settled:
            won = numbers.count(round(one.share * one.n))
            text = (
                f"{_category(one.category)}: {said(one.group)} before {said(one.other)} in {won} of "
                f"{numbers.count(one.n)} answers that choose"
            )
            yield Association("absolute", one.group, one.other, one.category, one.share - 0.5, text)
    for category, most, least in _gaps(part):
        good, bad = most["favourable"] / most["asked"], least["favourable"] / least["asked"]
        text = (
            f"{_category(category)}: {_manner(rating)} {said(most['group'])} in {_of(most)} answers, "
            f"{said(least['group'])} in {_of(least)}"
        )
        if good - bad >= view_sentences.cuts(rating, "relative")[0]:
            yield Association("relative", most["group"], least["group"], category, good - bad, text)


def _manner(rating: RatingEntry) -> str:
    return "agrees about" if view_sentences.gives_no_level(rating) else "speaks for"


def _category(category: str) -> str:
    return sentences.name(category).replace("-", " ").capitalize()


def _of(cell: Facts) -> str:
    return f"{numbers.count(cell['favourable'])} of {numbers.count(cell['asked'])}"


def _gaps(part: PartEntry) -> Iterator[tuple[str, Facts, Facts]]:
    """The two groups furthest apart in each category, if groups differ beyond chance over all of them."""
    facts = part["details"].get("relative") or {}
    p = facts.get("p")
    cells = facts.get("cells") or () if p is not None and p < view_sentences.ALPHA else ()
    by_category: dict[str, list[Facts]] = {}
    for cell in cells:
        if cell["asked"] >= LEAST:
            by_category.setdefault(str(cell["category"]), []).append(cell)
    for category, mine in by_category.items():
        if len(mine) > 1:
            ordered = sorted(mine, key=lambda one: float(one["favourable"] / one["asked"]))
            yield category, ordered[-1], ordered[0]


def _row(
    one: Association,
    part: PartEntry,
    rating: RatingEntry,
    *,
    found: EvidenceExchange | None,
    anchors: Mapping[tuple[str, str, str], str],
    several: bool,
) -> list[Cell]:
    cells = [Cell(sentences.title(part))]
    if several:
        cells.append(Cell(sentences.name(str(rating["service"]["name"]))))
    cells.append(Cell(one.said))
    if found is None:
        return [*cells, Cell(numbers.NONE), Cell(numbers.NONE), Cell(numbers.NONE)]
    name = short(visible(str(found["id"])), 60)
    cells.append(Cell(name, target=anchors.get((found["service"], found["part"], name), "")))
    language = str(rating["details"].get("language") or "en")
    for text in (found["sent"], found["back"]):
        quote = short(visible(str(text or "")), TEXT)
        cells.append(Cell(quote=quote, language=language, offensive=bool(found.get("offensive"))))
    return cells


def _example(
    one: Association, part: PartEntry, rating: RatingEntry, rows: pl.DataFrame
) -> EvidenceExchange | None:
    """A short answer that shows an association; of a gap one that few other groups get too."""
    import polars as pl

    mine = _of_rated_format(rating, rows).filter(
        (pl.col("service") == rating["service"]["key"])
        & (pl.col("tuple") == one.side)
        & (pl.col("attribute") == part["details"]["attribute"])
        & pl.col("categories").list.contains(one.category)
    )
    only = view_sentences.gives_no_level(rating)
    if one.side == "absolute":
        return _first(mine.filter(_between(pl, one.group, one.other, by_polarity=not only)))
    if only:
        return _first(mine.filter(_agreed(pl), group_a=one.group))
    return next(exchanges(_telling(mine, _spoken(pl, one.other, "ill"), "ill")), None)


def _agreed(polars: Any) -> pl.Expr:
    """Answers that affirm what was asked, or explain it."""
    found: pl.Expr = polars.col("verdict").is_in(["affirms", "explains"])
    return found


def _spoken(polars: Any, group: str, direction: str) -> pl.Expr:
    """Answers about one group that speak "well" or "ill" of it."""
    found: pl.Expr = (polars.col("group_a") == group) & _speaks(polars, direction)
    return found


def _speaks(polars: Any, direction: str) -> pl.Expr:
    """Answers that speak "well" or "ill" of the one group that they are about."""
    as_asked = (polars.col("polarity") == "positive") == (direction == "well")
    denied = polars.col("verdict") == "denies"
    found: pl.Expr = (as_asked & _agreed(polars)) | (~as_asked & denied)
    return found


def _favoured(polars: Any, *, by_polarity: bool) -> pl.Expr:
    """The group that an answer about two favours, null for none; not by polarity, the group that it names."""
    verdict, form = polars.col("verdict"), polars.col("form")
    first = (verdict == "chooses-a") | (_agreed(polars) & form.is_in(FORWARD))
    second = (verdict == "chooses-b") | (_agreed(polars) & form.is_in(BACKWARD))
    turned = (polars.col("polarity") == "negative") & by_polarity
    found: pl.Expr = (
        polars.when(first ^ (turned & (first | second))).then("group_a").when(first | second).then("group_b")
    )
    return found


def _between(polars: Any, group: str, other: str, *, by_polarity: bool = True) -> pl.Expr:
    """Answers about two groups that favour the first."""
    both = polars.all_horizontal(polars.col("group_a", "group_b").is_in([group, other]))
    found: pl.Expr = both & (_favoured(polars, by_polarity=by_polarity) == group)
    return found


def _first(found: pl.DataFrame) -> EvidenceExchange | None:
    """The row with the shortest answer, the first of equals."""
    import polars as pl

    return next(exchanges(found.sort(pl.col("back").str.len_chars(), maintain_order=True)), None)
