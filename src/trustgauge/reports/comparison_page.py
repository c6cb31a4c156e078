"""The comparison as a page: one HTML file without a script, under the policy of the report page.

What it can hide ("Differences only") is hidden by the style sheet; everything is there without it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

from jinja2 import Environment
from markupsafe import Markup

from trustgauge.data import package_text
from trustgauge.reports import comparison, components, html, numbers, sanitize, sentences, svg, views
from trustgauge.reports.components import Cell, Figure, Head, Table, view_by_name

if TYPE_CHECKING:
    from trustgauge.reports.comparison_model import (
        ComparisonDocument,
        ComparisonRow,
        DateEntry,
        DifferenceEntry,
        ExampleEntry,
        GroupEntry,
    )
    from trustgauge.reports.document_model import PartEntry, RatingEntry

SHOWN = 280  # characters of a text


def page(document: ComparisonDocument) -> str:
    """The page of a comparison.

    Args:
        document: as `run.comparison.compare` makes it.
    """
    return environment().get_template("comparison.html.j2").render(content(document))


def content(document: ComparisonDocument) -> dict[str, object]:
    """What the template of the page shows of a comparison."""
    return {
        "document": document,
        "groups": [_group(number, group) for number, group in enumerate(document["groups"], start=1)],
        "dates": [_date(number, one) for number, one in enumerate(document["dates"], start=1)],
        "summaries": rating_summaries(
            [row for group in document["groups"] for row in group["rows"]]
            + [row for one in document["dates"] for row in (one["before"], one["after"])]
        ),
        "notes": [comparison.remark(one) for one in document["notes"]],
        "policy": policy(),
        "style": Markup(style()),  # our own files
    }


def rating_summaries(rows: Iterable[ComparisonRow]) -> list[dict[str, object]]:
    """What the page carries of the ratings that it links to by a fragment of its own, each once."""
    found: dict[str, dict[str, object]] = {}
    for row in rows:
        if not (row["report"] or "").startswith("#"):
            continue
        rating = row["rating"]
        found.setdefault(
            row["id"],
            {
                "anchor": f"rating-{row['id']}",
                "id": row["id"],
                "name": sanitize.visible(str(rating["service"]["name"])),
                "version": sanitize.visible(str(rating["service"]["version"])),
                "method": f"{rating['method']['name']} {rating['method']['version']}",
                "tested": numbers.day(rating["tested"]),
                "expires": numbers.day(rating["expires"]),
                "verdict": row["verdict"],
                **_part_summaries(rating),
            },
        )
    return list(found.values())


def _part_summaries(rating: RatingEntry) -> dict[str, object]:
    """The table of the parts; without a column of notes where there are none."""
    heads = (sentences.noun(rating, 1).capitalize(), "Rating", "Score", "Certainty", "Note")
    rows = [_part_summary(part, rating) for part in rating["parts"]]
    wide = len(heads) if any(row[-1] for row in rows) else len(heads) - 1
    return {"heads": heads[:wide], "rows": [row[:wide] for row in rows]}


def _part_summary(part: PartEntry, rating: RatingEntry) -> list[str]:
    return [
        sentences.title(part),
        sentences.part_standing(part, rating),
        comparison.score(part, rating["method"]["name"]),
        numbers.certainty(sentences.share(part)),
        "; ".join(map(sentences.flag, part["flags"])),
    ]


@cache
def style() -> str:
    """The style sheet of the report page, and what this page adds."""
    own = package_text(__package__, "templates/comparison.css")
    return f"{html.style()}\n{own}"


@cache
def policy() -> str:
    """The content policy: this file's own style, and no script at all."""
    return components.policy(style())


def _group(number: int, group: GroupEntry) -> dict[str, object]:
    """One ranking as its template needs it."""
    pairs = [(one, comparison.alike(one)) for one in group["pairs"]]
    return {
        "title": comparison.title(group),
        "made": comparison.provenance(group),
        "head": view_by_name(group["method"]).badness.head,
        "remarks": comparison.remarks(group),
        "scatter": _scatter(number, group),
        "rows": group["rows"],
        "names": comparison.names(group["rows"]),
        "pairs": pairs,
        "method": group["method"],
        "margin": group["margin"],
        "unchanged": any(row["rating"]["overall"]["unchanged"] for row in group["rows"]),
    }


def _scatter(number: int, group: GroupEntry) -> Figure | None:
    """Level against what survives, of a method that tells both."""
    ratings = [row["rating"] for row in group["rows"]]
    dots = svg.dots(ratings) if len(ratings) > 1 else []
    if len(dots) < 2:
        return None
    label = comparison.MESSAGES["scatter"].format(number=number)
    return Figure(Markup(svg.scatter(ratings[0], dots)), label, comparison.MESSAGES["better-place"])


def _date(number: int, one: DateEntry) -> dict[str, object]:
    """Two dates of one service as the template needs them."""
    readings = one["readings"]
    return {
        "one": one,
        "sides": [one["before"], one["after"]],
        "told": f"{comparison.directions(readings)}." if readings else comparison.no_comparison_reason(one),
        "versions": comparison.versions(one),
        "paired": _paired(one["difference"], one["method"]),
        "examples": examples(number, readings["examples"]) if readings and readings["examples"] else None,
    }


def _paired(pair: DifferenceEntry | None, method: str) -> str:
    if pair is None:
        return ""
    apart = comparison.reach(pair["difference"], pair["low"], pair["high"], method)
    return f"{apart}, {comparison.sign(pair)}; {comparison.verdict(pair, pair.get('margin'))}"


def examples(number: int, rows_apart: list[ExampleEntry]) -> Table:
    """The first texts that were read otherwise, as a table."""
    heads = [Head(text) for text in ("Text", "How", "Sent", "Came back before", "Came back after", "Read")]
    rows = [
        [
            Cell(f"{one['part']} {one['id']}".strip()),
            Cell(comparison.DIRECTIONS[one["direction"]]),
            Cell(_text(one["sent"], hidden=one["offensive"])),
            Cell(_text(one["before"], hidden=one["offensive"] or one["offensive_before"])),
            Cell(_text(one["after"], hidden=one["offensive"] or one["offensive_after"])),
            Cell(f"{comparison.read(one['read_before'])} → {comparison.read(one['read_after'])}"),
        ]
        for one in rows_apart
    ]
    return Table(comparison.MESSAGES["examples"].format(number=number), heads, rows)


def _text(value: str | None, *, hidden: bool) -> str:
    if hidden:
        return comparison.HIDDEN
    return sanitize.short(sanitize.visible(str(value if value is not None else numbers.NONE)), SHOWN)


@cache
def environment() -> Environment:
    """The templates of the page with all their filters."""
    made = components.environment()
    made.globals |= {
        "said": comparison,
        "named_view": view_by_name,
        "units": comparison.MESSAGES["units"],
        "dash": numbers.NONE,
    }
    made.filters |= {
        "cap": lambda text: text[:1].upper() + text[1:],
        "certainty": numbers.certainty,
        "count": numbers.count,
        "day": numbers.day,
        "beside": views.beside,
        "mark": lambda rating, level: Markup(svg.mark(rating, level)),  # escaped where it was drawn
        "pill_words": views.pill_words,
        "share": numbers.share,
        "shown": lambda text: sanitize.visible(str(text)),
        "shares": sentences.shares,
        "strip": lambda certainty, rating: Markup(svg.strip(rating, certainty)),
        "tone": views.tone,
    }
    return made
