"""Exports: pure functions from the document, and the evidence if it is at hand, to bytes.

Each takes `(document, rows)` and is registered in the entry-point group `trustgauge.exports`.
Every export carries the direction of its scale in words, and exports nothing untested as
passed. What a form cannot carry, its docstring says.
"""

from __future__ import annotations

import csv as tables
import io
import json as notation
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING

from trustgauge.errors import MethodError
from trustgauge.records import canonical
from trustgauge.reports import label, numbers, sanitize, sentences
from trustgauge.reports.components import view_of
from trustgauge.reports.document import certainty, levels
from trustgauge.reports.interchange import (
    a2a,
    api_catalog,
    earl,
    eee,
    evidence_pack,
    in_toto,
    mcp,
    model_card,
    openapi,
    otel,
)
from trustgauge.reports.standards import cyclonedx, inert, junit, sarif

if TYPE_CHECKING:
    import polars as pl

    from trustgauge.reports.document_model import PartEntry, RatingEntry, RunDocument


EVIDENCE = (
    "rating", "service", "part", "id", "block", "sent", "trail", "back",
    "status", "values_in", "values_out", "kinds", "changed", "frame", "person", "word", "score",
)  # fmt: skip
"""Columns of the evidence, in the order of the exports; the last four are of methods that read a score."""


def json(document: RunDocument, rows: pl.DataFrame | None = None) -> bytes:
    """The document itself, canonical. Loses nothing but the evidence, which is never in it."""
    return canonical(document).encode()


def html(document: RunDocument, rows: pl.DataFrame | None = None, today: date | None = None) -> bytes:
    """The report page."""
    from trustgauge.reports.html import report  # the template engine is needed here only

    return report(document, rows, today=today).encode()


def labels(document: RunDocument, rows: pl.DataFrame | None = None, today: date | None = None) -> bytes:
    """The label, as SVG; only for a document of one rating."""
    return label.label(_only(document), today=today).encode()


def badge(document: RunDocument, rows: pl.DataFrame | None = None, today: date | None = None) -> bytes:
    """The badge, as SVG; only for a document of one rating that has a level."""
    drawn = label.badge(_only(document), today=today)
    if drawn is None:
        raise MethodError("no badge for a rating without a level", do="See the report for why it has none.")
    return drawn.encode()


def shields(document: RunDocument, rows: pl.DataFrame | None = None, today: date | None = None) -> bytes:
    """The badge as a shields endpoint. Loses everything but level, certainty and state, in words."""
    shield = label.shields(_only(document), today=today)
    if shield is None:
        raise MethodError("no badge for a rating without a level", do="See the report for why it has none.")
    return canonical(shield).encode()


def markdown(document: RunDocument, rows: pl.DataFrame | None = None) -> bytes:
    """The ratings as Markdown: sentence and table. Loses counts, intervals and evidence."""
    lines = []
    for rating in document["ratings"]:
        lines += [
            f"**{sanitize.markdown(label.service(rating))}**: {sanitize.markdown(label.outcome(rating))}",
            "",
        ]
        lines += [sanitize.markdown(sentences.verdict(rating)), ""]
        if view_of(rating).ordered:
            lines += [sanitize.markdown(sentences.follows(rating)), ""]
        heads = part_heads(rating)
        lines += [f"| {' | '.join(heads)} |", "|" + " --- |" * len(heads)]
        lines += [
            f"| {' | '.join(map(sanitize.markdown, part_words(part, rating)))} |" for part in rating["parts"]
        ]
        rated = f"Tested {numbers.day(rating['tested'])}, valid until {numbers.day(rating['expires'])}"
        rule = f"{rating['method']['name']}, rule {rating['method']['rule']}"
        lines += ["", f"{rated}, by {sanitize.markdown(sentences.assessor(rating))}; {rule}.", ""]
    scales = dict.fromkeys(rating["overall"]["direction"] for rating in document["ratings"])
    lines += [line for scale in scales for line in (f"Levels {scale}.", "")]
    lines.append(f"Control services: {sanitize.markdown(sentences.controls(document['run']['anchors']))}.")
    return ("\n".join(lines) + "\n").encode("utf-8", "replace")


def part_heads(rating: RatingEntry) -> list[str]:
    """The heads of a plain table of parts."""
    heads = view_of(rating).heads([rating])
    return [sentences.noun(rating, 1), "rating", *heads.before, "certainty", *heads.after, "note"]


def part_words(part: PartEntry, rating: RatingEntry) -> list[str]:
    """The cells of a plain table of parts, one row."""
    cells = view_of(rating).cells(rating, part)
    return [
        sentences.title(part),
        sentences.part_standing(part, rating),
        *cells.before,
        numbers.certainty(sentences.share(part)),
        *cells.after,
        "; ".join(sentences.notes(part, rating)),
    ]


def csv(document: RunDocument, rows: pl.DataFrame | None = None) -> bytes:
    """The parts as CSV, one row a part. Loses reasons, limits, block counts and evidence.

    Cells that a spreadsheet would run as a formula are guarded with an apostrophe.
    """
    return csv_bytes(_PART_COLUMNS, part_rows(document))


def evidence_csv(document: RunDocument, rows: pl.DataFrame | None = None) -> bytes:
    """The evidence as CSV, one row a text; lists are JSON. Cells are guarded as in `csv`."""
    frame = _needed(rows)
    columns = [name for name in EVIDENCE if name in frame.columns]
    return csv_bytes(columns, frame.select(columns).iter_rows(named=True))


def parquet(document: RunDocument, rows: pl.DataFrame | None = None) -> bytes:
    """The evidence as Parquet, with its types. Level and dates stand in `rating.json`."""
    buffer = io.BytesIO()
    _needed(rows).write_parquet(buffer)
    return buffer.getvalue()


def parts_parquet(document: RunDocument, rows: pl.DataFrame | None = None) -> bytes:
    """The parts as Parquet, one row a part, with its types."""
    buffer = io.BytesIO()
    parts_frame(document).write_parquet(buffer)
    return buffer.getvalue()


def parts_frame(document: RunDocument) -> pl.DataFrame:
    """One row for each part of each rating, as a data frame; missing numbers are null, never zero."""
    import polars as pl

    return pl.DataFrame(part_rows(document), schema=dict.fromkeys(_PART_COLUMNS), infer_schema_length=None)


_PART_COLUMNS = (
    "id", "service", "version", "method", "rule", "attribute", "part", "title", "state", "level", "words",
    "ordinal", "of", "direction", "certainty", "score", "low", "high", "n", "p", "unchanged",
    "unchanged_low", "unchanged_high", "flags", "more_texts", "tested", "expires", "assessor", "relationship",
)  # fmt: skip


def part_rows(document: RunDocument) -> list[dict[str, object]]:
    """The parts as flat rows: what CSV and Parquet hold."""
    return [_part(rating, part) for rating in document["ratings"] for part in rating["parts"]]


def _part(rating: RatingEntry, part: PartEntry) -> dict[str, object]:
    order, level = levels(rating), part["level"]
    ordinal = len(order) - order.index(level) if level in order else None
    same = part["unchanged"]
    values = (
        rating["id"], rating["service"]["name"], rating["service"]["version"], rating["method"]["name"],
        rating["method"]["rule"], rating["issue"]["attribute"], part["key"], part["title"], part["state"],
        level, part["words"], ordinal, len(order),
        rating["overall"]["direction"], certainty(part), part["score"], part["low"],
        part["high"], part["n"], part["p"],
        *((same["value"], same["low"], same["high"]) if same else (None, None, None)),
        ";".join(part["flags"]), part["more_texts"], rating["tested"], rating["expires"],
        rating["assessor"]["name"],
        rating["assessor"]["relationship"],
    )  # fmt: skip
    return dict(zip(_PART_COLUMNS, values, strict=True))


def jsonld(document: RunDocument, rows: pl.DataFrame | None = None) -> bytes:
    """schema.org `CriticReview` for generic readers, with the vocabulary inline.

    `ratingValue` is the ordinal, because there the best is the highest number. Loses intervals,
    parts and cost; a rating without a level has no `reviewRating`.
    """
    graph = [inert(_review(rating)) for rating in document["ratings"]]
    facts = {"@context": {"@vocab": "https://schema.org/"}, "@graph": graph}
    return notation.dumps(facts, ensure_ascii=False, sort_keys=True).encode("utf-8", "replace")


def _review(rating: RatingEntry) -> dict[str, object]:
    overall, service = rating["overall"], rating["service"]
    review: dict[str, object] = {
        "@type": "CriticReview",
        "identifier": rating["id"],
        "itemReviewed": {"@type": "WebAPI", "name": service["name"], "description": service["kind"]},
        "reviewAspect": label.issue(rating),
        "author": {"@type": "Organization", "name": rating["assessor"]["name"]},
        "datePublished": rating["tested"],
        "expires": rating["expires"],
        "creativeWorkStatus": rating["state"],
        "reviewBody": f"{sentences.verdict(rating)} Rated by {sentences.assessor(rating)}.",
    }
    if overall["level"] is not None and rating["state"] != "incomplete":
        said = numbers.certainty(sentences.share(rating))
        review["reviewRating"] = {
            "@type": "Rating",
            "ratingValue": overall["ordinal"],
            "worstRating": 1,
            "bestRating": overall["of"],
            "alternateName": f"{label.outcome(rating)}, certainty {said}",
            "ratingExplanation": overall["direction"],
        }
    return review


def _only(document: RunDocument) -> RatingEntry:
    ratings = document["ratings"]
    if len(ratings) == 1:
        return ratings[0]
    raise MethodError(
        f"run {document['run']['id']} has {len(ratings)} ratings, and a label or badge is of one",
        must=f"one of {', '.join(one['id'] for one in ratings) or 'none: the run issued no rating'}",
        do="Name the rating, not the run.",
    )


def _needed(rows: pl.DataFrame | None) -> pl.DataFrame:
    if rows is None:
        raise MethodError(
            "there is no evidence at hand", do="Export from the run's folder, which keeps the answers."
        )
    return rows


def csv_bytes(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> bytes:
    """Rows as CSV in UTF-8; cells that a spreadsheet would run as a formula are guarded, lists are JSON."""
    buffer = io.StringIO()
    writer = tables.writer(buffer, lineterminator="\r\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_value(row[name]) for name in columns])
    return buffer.getvalue().encode("utf-8", "replace")


def _value(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)  # a number may begin with "-": it is a number, not a formula
    if isinstance(value, str):
        return sanitize.cell(value)
    return sanitize.cell(notation.dumps(value, ensure_ascii=False))


EXPORTS: dict[str, Callable[..., bytes]] = {
    "a2a": a2a,
    "api-catalog": api_catalog,
    "badge": badge,
    "csv": csv,
    "cyclonedx": cyclonedx,
    "earl": earl,
    "eee": eee,
    "evidence-csv": evidence_csv,
    "evidence-pack": evidence_pack,
    "html": html,
    "in-toto": in_toto,
    "json": json,
    "jsonld": jsonld,
    "junit": junit,
    "label": labels,
    "markdown": markdown,
    "mcp": mcp,
    "model-card": model_card,
    "openapi": openapi,
    "otel": otel,
    "parquet": parquet,
    "parts-parquet": parts_parquet,
    "sarif": sarif,
    "shields": shields,
}
"""All exports by name; each is also an entry point of `trustgauge.exports`."""
