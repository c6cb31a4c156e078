"""The report page of a run: one HTML file that opens from disk, asks nobody and needs no script.

The templates always escape. The content policy allows this file's own style and script, by
their hashes, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from jinja2 import Environment
from markupsafe import Markup

from trustgauge.reports import evidence, figures, label, numbers, pages, sentences, views
from trustgauge.reports.components import Evidence, Piece, Quotation
from trustgauge.reports.document import is_expired
from trustgauge.reports.method_view import view_of, views_of
from trustgauge.reports.sanitize import visible
from trustgauge.reports.svg import DARK, LIGHT, style_tokens

if TYPE_CHECKING:
    import polars as pl

    from trustgauge.reports.document_model import RatingEntry, RunDocument, RunEntry


MOST_QUOTATIONS = 3
COVERAGE = ("planned", "answered", "refused", "empty", "unread", "unreadable", "failed", "not_applicable")


def report(
    document: RunDocument,
    rows: pl.DataFrame | None = None,
    *,
    today: date | None = None,
    limits: evidence.Limits | None = None,
) -> str:
    """The report page of a run, for any number of ratings.

    Args:
        document: the content of `rating.json`.
        rows: the evidence (see `evidence.collect`), None to leave the texts out.
        today: on or after expiry the page opens with a band; a page opened later in a browser
            with scripts finds out by itself.
        limits: from how many rows on the page packs or samples them.
    """
    ratings = document["ratings"]
    for view in views_of(ratings):
        rows = rows if rows is None or rows.is_empty() else view.prepare_evidence(ratings, rows)
    shown = evidence.collect(ratings, rows, limits or evidence.Limits())
    if any(view.has_offensive_names(ratings) for view in views_of(ratings)):
        shown = replace(shown, offensive=True)
    content: dict[str, Any] = {
        "run": document["run"],
        "ratings": ratings,
        "groups": [_group(group, document["run"]) for group in views.by_method(ratings)],
        "evidence": shown,
        "evidence_words": views.evidence_words(ratings),
        "services": views.by_service(list(enumerate(ratings, start=1))),
        "quotations": [_quotations(rating, rows) for rating in ratings],
        "pairs": _pairs(ratings, rows, shown) if rows is not None else None,
        "anchors_line": sentences.controls(document["run"]["anchors"]),
        "limits": views.limits(document),
        "check_facts": views.check_facts(document),
        "block_names": views.block_names(ratings),
        "options": views.options(ratings),
        "other_rules": views.other_rules(ratings),
        "coverage_names": COVERAGE,
        "coverage": _coverage(document),
        "stale": today is not None and is_expired(document, today),
        "today": today,
        "page_title": _title(document),
        "policy": policy(),
        "style": Markup(style()),  # our own file
        "script": Markup(script()),  # our own file
    }
    return environment().get_template("report.html.j2").render(content)


def _quotations(rating: RatingEntry, rows: pl.DataFrame | None) -> Sequence[Quotation]:
    """Exchanges that show what the verdict of a rating says; none without evidence."""
    if rows is None or rows.is_empty() or rating["state"] != "rated":
        return []
    mine = rows.filter(rows["service"] == rating["service"]["key"])
    return list(islice(view_of(rating).quotations(rating, mine), MOST_QUOTATIONS))


def _pairs(ratings: Sequence[RatingEntry], rows: pl.DataFrame, shown: Evidence) -> list[Piece]:
    """What stands above the evidence: its most telling rows."""
    from trustgauge.reports import pairs

    return [
        *pairs.table(rows, shown, views.block_names(ratings)),
        *(piece for view in views_of(ratings) for piece in view.evidence_examples(ratings, rows, shown)),
        *views.audit_examples(rows),
    ]


@cache
def style() -> str:
    """The style sheet of every page, with the tokens of both colour schemes."""
    dark = f"@media (prefers-color-scheme:dark){{:root{{{style_tokens(DARK)}}}}}"
    light = f"@media print{{:root{{{style_tokens(LIGHT)}}}}}"
    return f":root{{{style_tokens(LIGHT)}}}{dark}{light}\n{pages.file('page.css')}"


@cache
def script() -> str:
    """The script of the page. It only moves, filters and opens what the page already holds."""
    return pages.file("page.js")


@cache
def policy() -> str:
    """The content policy of the page."""
    return pages.policy(style(), script())


def _title(document: RunDocument) -> str:
    ratings = document["ratings"]
    if len(ratings) == 1:
        return (
            f"{label.service(ratings[0])}: {label.outcome(ratings[0])} · trustgauge {document['run']['id']}"
        )
    return f"{sentences.name(document['run']['name'])} · trustgauge {document['run']['id']}"


def _group(ratings: Sequence[tuple[int, RatingEntry]], run: RunEntry) -> dict[str, Any]:
    """All ratings of one method: their table, and what is shown of them together."""
    members = [rating for _, rating in ratings]
    view = view_of(members[0])
    sections = view.overview(members, run)
    services = views.by_service(ratings)
    columns = list(dict.fromkeys(views.column(rating) for rating in members))
    return {
        "method": sentences.name(members[0]["method"]["name"]),
        "heads": view.heads(members),
        "rows": [
            (number, rating, view.cells(rating, None))
            for number, rating in sorted(ratings, key=lambda one: views.badness(one[1]))
        ],
        "columns": columns if any(len(mine) > 1 for mine in services) else [],
        "matrix": [_matrix_row(mine, columns) for mine in services],
        "sections": sections,
        "ranked": any(section.key.startswith("order") for section in sections),
    }


def _matrix_row(
    mine: Sequence[tuple[int, RatingEntry]], columns: Sequence[str]
) -> tuple[str, int, list[list[tuple[int, RatingEntry]]]]:
    """A service, the number of its worst rating, and its ratings with their numbers in each column."""
    number, worst = mine[0]
    cells = [[(n, one) for n, one in mine if views.column(one) == column] for column in columns]
    return visible(str(worst["service"]["name"])), number, cells


def _coverage(document: RunDocument) -> list[tuple[str, list[int]]]:
    rows: list[tuple[str, list[int]]] = []
    several = len(document["ratings"]) > 1
    for rating in document["ratings"]:
        who = sentences.name(rating["service"]["name"])
        for part in rating["parts"]:
            title, counts = sentences.title(part), cast("Mapping[str, int]", part["coverage"])
            named = f"{who}, {title}" if several and part["key"] else who if several else title
            rows.append((named, [counts.get(name, 0) for name in COVERAGE]))
    return rows


def _for_whom(rating: RatingEntry) -> str:
    """What tells ratings of one service apart: " · Privacy first"."""
    audience = view_of(rating).audience(rating)
    return f" · {audience}" if audience else ""


def _drawn(draw: Callable[..., str]) -> Callable[..., Markup]:
    """A filter whose result is SVG: its text was escaped where it was written, in `svg`."""
    return lambda *given: Markup(draw(*given))


@cache
def environment() -> Environment:
    """The templates of the report with all their filters."""
    made = pages.environment()
    made.globals["caret"] = _drawn(figures.caret)
    made.filters |= {
        "label": _drawn(lambda rating, today: label.label(rating, today=today)),
        "mark": _drawn(figures.mark),
        "strip": _drawn(lambda certainty, rating: figures.strip(rating, certainty)),
        "swatch": _drawn(figures.swatch),
        "cap": lambda text: text[:1].upper() + text[1:],
        "certainty": numbers.certainty,
        "count": numbers.count,
        "collected": sentences.import_note,
        "column": views.column,
        "retest": sentences.retest,
        "day": numbers.day,
        "figures": lambda rating: view_of(rating).figures(rating),
        "effect_section": lambda rating, alone: view_of(rating).effect_section(rating, alone=alone),
        "arithmetic": views.arithmetic,
        "for_whom": _for_whom,
        "gate": sentences.gate,
        "beside": views.beside,
        "letters": views.letters,
        "standing": views.standing,
        "masked": sentences.mask_text,
        "of": lambda index: f", rating {index}" if index != "" else "",
        "overall_notes": views.overall_notes,
        "part_reasons": views.part_reasons,
        "part_table": lambda rating: view_of(rating).part_table(rating),
        "rule_words": views.rule,
        "sections": lambda rating, run, alone: [
            *view_of(rating).sections(rating, run, alone=alone),
            *views.section(rating),
        ],
        "shown": lambda text: visible(str(text)),
        "tiles": views.tiles,
        "tone": views.tone,
        "advice": sentences.advice,
        "headline": sentences.headline,
    }
    return made
