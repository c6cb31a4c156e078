"""Evidence rows for the report: every text sent and received, ready to show.

Rows stand in the page up to 10,000; above that they are packed (gzip, base64) and the first 100
stand in the page; above 100,000 a sample is packed, and the page says so.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from trustgauge.reports import sentences
from trustgauge.reports.components import KEPT, Evidence, EvidenceRow, Facet, Text, marks
from trustgauge.reports.method_view import COMMON, views_of
from trustgauge.reports.sanitize import short, visible

if TYPE_CHECKING:
    import polars as pl

    from trustgauge.reports.document_model import RatingEntry

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
        told = one["method"]["options"].get("language")
        if isinstance(told, str) and _LANGUAGE.fullmatch(told):
            return told
    return "en"


def _places(frame: pl.DataFrame, column: str) -> dict[str, int]:
    return {key: index for index, key in enumerate(frame[column].unique(maintain_order=True))}


def _rows(frame: pl.DataFrame, places: Places, language: str) -> Iterator[EvidenceRow]:
    """The rows of a frame; an anchor that occurs again (another experiment) gets a number."""
    seen: Counter[str] = Counter()
    for facts in frame.iter_rows(named=True):
        made = row(facts, places, language)
        seen[made.anchor] += 1
        again = seen[made.anchor]
        yield made if again == 1 else replace(made, anchor=f"{made.anchor}--{again}")


def row(facts: Mapping[str, Any], places: Places, language: str = "en") -> EvidenceRow:
    """One row from the facts of the frame."""
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
    told = marks(places.facets, facts)
    place = f"{where[0] + 1}-{facts['part']}-{facts['id']}"
    return EvidenceRow(
        anchor="e" + re.sub(r"[^A-Za-z0-9-]", "_", place),
        name=short(visible(str(facts["id"])), 60),
        service=facts["service"],
        part=facts["part"],
        marks=",".join([*map(str, (*where, STATUS.get(facts["status"], "x"), int(changed))), *told]),
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


def _values(values: Sequence[Any] | None) -> str:
    return (
        " ".join("–" if value is None else sentences.name(str(value)) for value in values) if values else "–"
    )


def legs(part: str) -> list[str]:
    """Languages of the intermediate texts of a round trip: "es>it" passes es, it, es."""
    way = part.split(">")
    if not part or not all(_LANGUAGE.fullmatch(step) for step in way):
        return []
    return way + way[-2::-1] if len(way) > 1 else way


def _trail(value: Any) -> list[str]:
    if value is None or value == "":
        return []
    if isinstance(value, str):
        try:
            told = json.loads(value)
        except ValueError:
            return [value]
        return [str(step) for step in told] if isinstance(told, list) else [str(told)]
    return [str(step) for step in value]


def _span(facts: Mapping[str, Any], back: str) -> tuple[int, int] | None:
    """Where the deciding words stand once control characters are visible; None if nothing decided."""
    start, end = (facts.get(name) for name in ("span_start", "span_end"))
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
    told = [_packed(one) for one in rows]
    data = json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
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
