"""The report page of a run: one HTML file that opens from disk, asks nobody and needs no script.

The templates always escape. The content policy allows this file's own style and script, by
their hashes, and nothing else.

Evidence is every text sent and received. Rows stand in the page up to 10,000; above that they are packed
(gzip, base64) and the first 100 stand in the page; above 100,000 a sample is packed, and the page says so.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from difflib import SequenceMatcher
from functools import cache, lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from jinja2 import Environment
from markupsafe import Markup

from trustgauge.records import UNNAMED
from trustgauge.reports import components, label, numbers, sentences, svg, views
from trustgauge.reports.components import (
    COMMON,
    KEPT,
    Evidence,
    EvidenceExchange,
    EvidenceRow,
    Facet,
    Piece,
    Quotation,
    Section,
    Text,
    exchanges,
    marks,
    view_of,
    views_of,
)
from trustgauge.reports.document import is_expired
from trustgauge.reports.sanitize import listing, short, visible
from trustgauge.reports.svg import DARK, LIGHT, style_tokens

if TYPE_CHECKING:
    import polars as pl

    from trustgauge.reports.document_model import RatingEntry, RunDocument, RunEntry


MOST_QUOTATIONS = 3
MOST_NAMED = 4  # services in a heading
COVERAGE = ("planned", "answered", "refused", "empty", "unread", "unreadable", "failed", "not_applicable")


def report(
    document: RunDocument,
    rows: pl.DataFrame | None = None,
    *,
    today: date | None = None,
    limits: Limits | None = None,
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
    shown = collect(ratings, rows, limits or Limits())
    if any(view.has_offensive_names(ratings) for view in views_of(ratings)):
        shown = replace(shown, offensive=True)
    content: dict[str, object] = {
        "run": document["run"],
        "ratings": ratings,
        "apart": views.distinctions(ratings),
        "groups": _groups(document),
        "evidence": shown,
        "evidence_words": views.evidence_words(ratings),
        "services": views.by_service(list(enumerate(ratings, start=1))),
        "quotations": [_quotations(rating, rows) for rating in ratings],
        "pairs": _pairs(ratings, rows, shown) if rows is not None else None,
        "anchors_line": sentences.controls(document["run"]["anchors"], at_length=True),
        "limits": views.limits(document),
        "check_facts": views.check_facts(document),
        "block_names": views.block_names(ratings),
        "options": views.options(ratings),
        "other_rules": views.other_rules(ratings),
        "control_words": views.control_words(ratings),
        "coverage_names": COVERAGE,
        "coverage": _coverage(document),
        "stale": today is not None and is_expired(document, today),
        "today": today,
        "page_title": _title(document),
        "heading": _heading(document),
        "policy": policy(),
        "style": Markup(style()),  # our own file
        "script": Markup(script()),  # our own file
    }
    return environment().get_template("report.html.j2").render(content)


def _quotations(rating: RatingEntry, rows: pl.DataFrame | None) -> Sequence[Quotation]:
    """Exchanges that show what the verdict of a rating says; none without evidence."""
    if rows is None or rows.is_empty() or not sentences.has_direction(rating):
        return []
    mine = rows.filter(rows["service"] == rating["service"]["key"])
    return list(islice(view_of(rating).quotations(rating, mine), MOST_QUOTATIONS))


def _pairs(ratings: Sequence[RatingEntry], rows: pl.DataFrame, shown: Evidence) -> list[Piece]:
    """What stands above the evidence: its most telling rows."""
    pieces: list[Piece] = []
    if "score" in rows.columns:
        from trustgauge.reports.score_pairs import table

        pieces += table(rows, shown, views.block_names(ratings))
    pieces += [piece for view in views_of(ratings) for piece in view.evidence_examples(ratings, rows, shown)]
    if views.AUDITED in rows.columns or any(map(views.recognition, ratings)):
        from trustgauge.reports.reader_sections import audit_examples, recognition_examples

        pieces += [*audit_examples(rows), *recognition_examples(ratings, rows)]
    return pieces


def _sections(rating: RatingEntry, run: RunEntry, alone: bool) -> list[Section]:
    """The sections of a rating: of its method, how answers were read, and what a disguise showed."""
    found = list(view_of(rating).sections(rating, run, alone=alone))
    if views.instrument(rating) is not None or views.recognition(rating) is not None:
        from trustgauge.reports.reader_sections import reading_section, recognition_section

        found += [*reading_section(rating), *recognition_section(rating)]
    return found


@cache
def style() -> str:
    """The style sheet of every page, with the tokens of both colour schemes."""
    dark = f"@media (prefers-color-scheme:dark){{:root{{{style_tokens(DARK)}}}}}"
    light = f"@media print{{:root{{{style_tokens(LIGHT)}}}}}"
    return f":root{{{style_tokens(LIGHT)}}}{dark}{light}\n{components.file('page.css')}"


@cache
def script() -> str:
    """The script of the page. It only moves, filters and opens what the page already holds."""
    return components.file("page.js")


@cache
def policy() -> str:
    """The content policy of the page."""
    return components.policy(style(), script())


def _title(document: RunDocument) -> str:
    ratings = document["ratings"]
    if len(ratings) == 1:
        return (
            f"{label.service(ratings[0])}: {label.outcome(ratings[0])} · trustgauge {document['run']['id']}"
        )
    return f"{sentences.name(_heading(document))} · trustgauge {document['run']['id']}"


def _heading(document: RunDocument) -> str:
    """The title of the plan; of a plan without one what is rated: "a, b and 3 more"."""
    title = document["run"]["name"]
    if title != UNNAMED:
        return title
    named = list(dict.fromkeys(str(one["service"]["name"]) for one in document["ratings"]))
    if len(named) > MOST_NAMED:
        named[MOST_NAMED - 1 :] = [f"{len(named) - MOST_NAMED + 1} more"]
    return listing(named)


def _groups(document: RunDocument) -> list[dict[str, Any]]:
    """The tables of services; where a method has several, each is named with its first columns."""
    groups = [_group(group, document["run"]) for group in views.by_table(document["ratings"])]
    methods = [group["method"] for group in groups]
    for group in groups:
        if methods.count(group["method"]) > 1:
            group["method"] = f"{group['method']} ({', '.join(group['heads'].before)})"
    return groups


def _group(ratings: Sequence[tuple[int, RatingEntry]], run: RunEntry) -> dict[str, Any]:
    """The ratings of one table, and what is shown of them together."""
    members = [rating for _, rating in ratings]
    view = view_of(members[0])
    sections = view.overview(members, run)
    services = views.by_service(ratings)
    columns = list(dict.fromkeys(views.column(rating) for rating in members))
    return {
        "method": sentences.name(members[0]["method"]["name"]),
        "heads": view.heads(members),
        "columns_note": view.columns_note(members),
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
    # Several ratings of a service, as for several profiles, count the same texts.
    return [row for place, row in enumerate(rows) if row not in rows[:place]]


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
    made = components.environment()
    made.globals["caret"] = _drawn(svg.caret)
    made.filters |= {
        "label": _drawn(lambda rating, today: label.label(rating, today=today)),
        "mark": _drawn(svg.mark),
        "share_of_level": lambda one: sentences.share_of_level(one.level, one.state, one.certainty),
        "shares": sentences.shares,
        "strip": _drawn(lambda certainty, rating: svg.strip(rating, certainty)),
        "swatch": _drawn(svg.swatch),
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
        "pill_words": views.pill_words,
        "standing": views.standing,
        "masked": sentences.mask_text,
        "of": lambda index: f", rating {index}" if index != "" else "",
        "overall_notes": views.overall_notes,
        "part_reasons": views.part_reasons,
        "part_table": lambda rating: view_of(rating).part_table(rating),
        "rule_words": views.rule,
        "sections": _sections,
        "shown": lambda text: visible(str(text)),
        "tiles": views.tiles,
        "tone": views.tone,
        "finding": sentences.finding,
        "what_to_do": sentences.what_to_do,
        "headline": sentences.headline,
    }
    return made


INLINE = 10_000
FIRST = 100
PACKED = 100_000
SAMPLE = 10_000
SHOWN_LETTERS = 280
"""Characters of a text before "show more"."""

ANSWERS, KINDS = COMMON.table("answers"), COMMON.table("kinds")
STATUS = {name: name[0] for name in ANSWERS} | {"unread": "n"}
"""The letter of each status in the marks of a row."""

_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")
_SPACE = re.compile(r"(\s+)")


@dataclass(frozen=True, slots=True)
class Limits:
    """From how many rows on the page changes its way of carrying them."""

    inline: int = INLINE
    packed: int = PACKED
    sample: int = SAMPLE


@dataclass(frozen=True, slots=True)
class Places:
    """Where each service, part and block stands in the filters."""

    service: Mapping[str, int]
    part: Mapping[str, int]
    block: Mapping[str, int]
    facets: Sequence[Facet] = ()


def collect(ratings: Sequence[RatingEntry], frame: pl.DataFrame | None, limits: Limits) -> Evidence:
    """The rows of a frame as the page shows them.

    Args:
        ratings: the ratings of the document; they name services and parts.
        frame: columns `service, part, id, block, sent, trail, back, status, values_in, values_out,
            kinds, changed`; a column `offensive` masks the texts of a row; `span_start` and
            `span_end` are the place of what decided in what came back, -1 for none; rows about
            groups can be filtered by the columns of their facets. A column `of_rows` tells that the
            frame is a sample, evenly spread, of so many rows.
        limits: how many rows stand where.
    """
    if frame is None or frame.is_empty():
        return Evidence()
    total = int(frame["of_rows"][0]) if "of_rows" in frame.columns else frame.height
    sampled = total > min(limits.packed, frame.height)
    used = frame.gather_every(-(-frame.height // limits.sample)) if sampled else frame
    inline = used.height <= limits.inline and not sampled
    services = {one["service"]["key"]: one["service"]["name"] for one in ratings}
    service, part, block = (_places(frame, name) for name in ("service", "part", "block"))
    offered = [facet for view in views_of(ratings) for facet in view.facets(ratings, frame)]
    places = Places(service, part, block, offered)
    titles = {part["key"]: sentences.title(part) for one in ratings for part in one["parts"]}
    language = _source(ratings)
    page = used if inline else used.head(FIRST)
    return Evidence(
        language=language,
        rows=list(_rows(page, places, language)),
        packed="" if inline else pack(_rows(used, places, language)),
        packed_rows=0 if inline else used.height,
        total=total,
        sampled=sampled,
        services={key: sentences.name(services.get(key, key)) for key in places.service},
        parts={key: titles.get(key) or sentences.name(key or "whole service") for key in places.part},
        blocks=list(places.block),
        facets=places.facets,
        trail=any(_trail(value) for value in page["trail"].to_list()),
        offensive="offensive" in frame.columns and bool(frame["offensive"].any()),
    )


def _source(ratings: Sequence[RatingEntry]) -> str:
    for one in ratings:
        language = one["method"]["options"].get("language")
        if isinstance(language, str) and _LANGUAGE.fullmatch(language):
            return language
    return "en"


def _places(frame: pl.DataFrame, column: str) -> dict[str, int]:
    return {key: index for index, key in enumerate(frame[column].unique(maintain_order=True))}


def _rows(frame: pl.DataFrame, places: Places, language: str) -> Iterator[EvidenceRow]:
    """The rows of a frame; an anchor that occurs again (another experiment) gets a number."""
    seen: Counter[str] = Counter()
    for exchange in exchanges(frame):
        made = row(exchange, places, language)
        seen[made.anchor] += 1
        again = seen[made.anchor]
        yield made if again == 1 else replace(made, anchor=f"{made.anchor}--{again}")


def row(facts: EvidenceExchange, places: Places, language: str = "en") -> EvidenceRow:
    """One row of the evidence as the page shows it."""
    sent, back = facts["sent"] or "", facts["back"]
    changed = bool(facts["changed"])
    span = _span(facts, back or "")
    # neither a score nor an answer repeats what was sent, so there are no words to compare
    compared = changed and facts.get("score") is None and "span_start" not in facts
    offensive = bool(facts.get("offensive", False))
    tongues = legs(facts["part"])
    trail = _trail(facts["trail"])
    kinds = [kind for kind in facts["kinds"] or [] if kind and kind != "kept"]
    shown = back if back is not None else ""
    where = [places.service[facts["service"]], places.part[facts["part"]], places.block[facts["block"]]]
    attributes = marks(places.facets, facts)
    place = f"{where[0] + 1}-{facts['part']}-{facts['id']}"
    return EvidenceRow(
        anchor="e" + re.sub(r"[^A-Za-z0-9-]", "_", place),
        name=short(visible(str(facts["id"])), 60),
        service=facts["service"],
        part=facts["part"],
        marks=",".join(
            [*map(str, (*where, STATUS.get(facts["status"] or "", "x"), int(changed))), *attributes]
        ),
        sent=text(sent, language, offensive=offensive),
        trail=tuple(
            text(step, tongues[index] if index < len(tongues) else "", offensive=offensive)
            for index, step in enumerate(trail)
        ),
        back=text(
            shown,
            language,
            marks=differences(sent[:KEPT], shown[:KEPT]) if compared else (),
            span=span,
            offensive=offensive,
        ),
        values=f"{_values(facts['values_in'])} → {_values(facts['values_out'])}",
        lost="; ".join(dict.fromkeys(_gone(facts["status"], kinds))),
    )


def _gone(status: str | None, kinds: Sequence[str]) -> Iterator[str]:
    if status is None:
        yield "not asked"
        return
    if status != "answered":
        yield ANSWERS.get(status, sentences.name(status))
        return
    for kind in kinds:
        yield KINDS.get(kind, sentences.name(str(kind)))


def _values(values: Sequence[str | None] | None) -> str:
    return (
        " ".join("–" if value is None else sentences.name(str(value)) for value in values) if values else "–"
    )


def legs(part: str) -> list[str]:
    """Languages of the intermediate texts of a round trip: "es>it" passes es, it, es."""
    way = part.split(">")
    if not part or not all(_LANGUAGE.fullmatch(step) for step in way):
        return []
    return way + way[-2::-1] if len(way) > 1 else way


def _trail(value: str | Sequence[str] | None) -> list[str]:
    if not value:
        return []
    if isinstance(value, str):
        try:
            data = json.loads(value)
        except ValueError:
            return [value]
        return [str(step) for step in data] if isinstance(data, list) else [str(data)]
    return [str(step) for step in value]


def _span(facts: EvidenceExchange, back: str) -> tuple[int, int] | None:
    """Where the deciding words stand once control characters are visible; None if nothing decided."""
    start, end = facts.get("span_start"), facts.get("span_end")
    if start is None or end is None or not 0 <= start < end <= len(back):
        return None
    first = len(visible(back[:start], lines=True))
    return first, first + len(visible(back[start:end], lines=True))


def text(
    raw: str,
    language: str = "",
    *,
    marks: Sequence[int] = (),
    span: tuple[int, int] | None = None,
    offensive: bool = False,
) -> Text:
    """A text ready to show: control characters made visible, cut, changed words or a span marked."""
    kept = visible(raw[:KEPT], lines=True)
    head, rest = (kept, "") if len(kept) <= SHOWN_LETTERS else (kept[:SHOWN_LETTERS], kept[SHOWN_LETTERS:])
    marked = frozenset(marks)
    pieces: list[tuple[str, bool]] = []
    words: Sequence[str] = _SPACE.split(head) if marked else (head,)
    if span is not None:
        start, end = span
        words, marked = (head[:start], head[start:end], head[end:]), frozenset({1})
    for index, word in enumerate(words):
        flag = index in marked
        if pieces and pieces[-1][1] == flag:
            pieces[-1] = (pieces[-1][0] + word, flag)
        elif word:
            pieces.append((word, flag))
    return Text(tuple(pieces), rest, len(raw), language, offensive)


@lru_cache(maxsize=4096)
def differences(sent: str, back: str) -> tuple[int, ...]:
    """Places of the words of `back` that differ from `sent`, counted among words and blanks."""
    before, after = _SPACE.split(sent), _SPACE.split(back)
    if len(before) == len(after):
        return tuple(
            index
            for index, pair in enumerate(zip(before, after, strict=True))
            if pair[0] != pair[1] and pair[1].strip()
        )
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    return tuple(
        index
        for kind, _, _, start, stop in matcher.get_opcodes()
        if kind != "equal"
        for index in range(start, stop)
        if after[index].strip()
    )


def pack(rows: Iterator[EvidenceRow]) -> str:
    """Rows as gzip in base64 of JSON: what the page's script opens when a reader asks for it."""
    packed = [_packed(one) for one in rows]
    data = json.dumps(packed, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return base64.b64encode(gzip.compress(data, compresslevel=6, mtime=0)).decode("ascii")


def _packed(one: EvidenceRow) -> list[Any]:
    def words(shown: Text) -> list[Any]:
        pieces = [[word, int(flag)] for word, flag in shown.words]
        return [pieces, shown.rest, shown.length, shown.language, int(shown.offensive)]

    return [
        one.anchor,
        one.name,
        one.marks,
        words(one.sent),
        [words(step) for step in one.trail],
        words(one.back),
        one.values,
        one.lost,
    ]
