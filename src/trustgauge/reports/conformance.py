"""The kits that prove that a view (`components.MethodView`) and an export keep their contract; for everybody.

    check_view(MyView(), document, rows)
    check_export(my_export, document, rows)

The document is one that its method has made, with ratings in as many states as can be had. Both kits add
the same ratings without a level, and with hostile names.
"""

from __future__ import annotations

import copy
import re
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from trustgauge.errors import MethodError
from trustgauge.records import canonical
from trustgauge.reports import html, label, sentences, terminal
from trustgauge.reports.components import (
    Cells,
    Fold,
    Heads,
    MethodView,
    PartTable,
    Section,
    Table,
    shown_by,
)

if TYPE_CHECKING:
    import polars as pl

    from trustgauge.reports.document_model import OverallEntry, PartEntry, RatingEntry, RunDocument

_HOSTILE = "<hostile"
"""What no page may hold: a tag that came in by a name."""
_NAME = f'{_HOSTILE} a="1">&\'\x1b[31m</script>'
_KEY = re.compile(r"[A-Za-z0-9-]+")
_TODAY = date(2000, 1, 1)


def check_view(view: MethodView, document: RunDocument, rows: pl.DataFrame | None = None) -> None:
    """Check a view on the ratings of a document: by its members, and by a whole page, terminal and labels.

    Args:
        view: the view.
        document: a `rating.json` whose ratings are all of the view's method.
        rows: its evidence (`run.verify.evidence_of_run`); without it quotations and facets are not tried.

    Raises:
        MethodError: the first thing that does not conform: what, what it must be, what was got.
    """
    ratings = document["ratings"]
    name = type(view).__name__
    _hold(isinstance(view, MethodView), f"{name} lacks a member", must="every member of MethodView")
    _hold(bool(ratings), f"{name} has nothing to show", must="a document with ratings of the method")
    for code, templates in view.messages.reasons.items():
        last = templates[-1] if templates else ""
        _hold(bool(last), f"the reason {code} has no sentence", must="a template at least")
    with shown_by(view, ratings[0]["method"]["name"]):
        for case, shown in _cases(document):
            before = canonical(shown)
            try:
                _check_members(view, shown)
                _check_pages(name, case, shown, rows)
            except MethodError:
                raise
            except Exception as error:
                must = "shown, whatever a rating of the method holds"
                raise MethodError(f"{name} cannot show {case}", must=must, got=_told(error)) from error
            same = canonical(shown) == before
            _hold(same, f"{name} changes the document", must="pure functions")


def check_export(
    export: Callable[..., bytes], document: RunDocument, rows: pl.DataFrame | None = None
) -> None:
    """Check an export on a document: bytes, the same each time, for ratings without a level too.

    Args:
        export: a function from document and evidence to bytes. It may refuse with a MethodError.
        document: a `rating.json`.
        rows: its evidence, for an export of the evidence.

    Raises:
        MethodError: the first thing that does not conform: what, what it must be, what was got.
    """
    name = getattr(export, "__name__", type(export).__name__)
    _hold(bool(export.__doc__), f"the export {name} says nothing", must="a docstring with what it loses")
    for case, shown in _cases(document):
        before = canonical(shown)
        for evidence in (None, rows):
            made = [_exported(name, case, export, shown, evidence)]
            same = canonical(shown) == before
            _hold(same, f"the export {name} changes the document", must="a pure function")
            made.append(_exported(name, case, export, shown, evidence))
            is_bytes = all(one is None or isinstance(one, bytes) for one in made)
            _hold(is_bytes, f"the export {name} gives no bytes", must="bytes", got=type(made[0]).__name__)
            _hold(made[0] == made[1], f"the export {name} differs each time", must="a pure function")


def _exported(
    name: str, case: str, export: Callable[..., bytes], shown: RunDocument, rows: pl.DataFrame | None
) -> bytes | None:
    """What an export makes; None if it refuses."""
    try:
        return export(shown, rows)
    except MethodError:
        return None
    except Exception as error:
        must = "bytes, or a MethodError that says why not"
        raise MethodError(f"the export {name} fails on {case}", must=must, got=_told(error)) from error


def _told(error: Exception) -> str:
    """An error and the function that it comes from."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{error!r:.150} in {place.name}, line {place.lineno}"


def _cases(document: RunDocument) -> Iterator[tuple[str, RunDocument]]:
    """The document; with its ratings as they are where answers are missing; with names that are hostile."""
    yield "the document", document
    without = copy.deepcopy(document)
    for rating in without["ratings"]:
        rating["state"] = "incomplete"
        rating["overall"]["worst"] = []
        _empty(rating["overall"])
        rating["overall"]["ordinal"] = None
        rating["reasons"] = [{"code": "not-finished", "facts": {"missing": 1, "planned": 2}, "evidence": []}]
        for part in rating["parts"]:
            _empty(part)
            part["state"] = "incomplete"
            part["reasons"] = copy.deepcopy(rating["reasons"])
    yield "ratings without a level", without
    hostile = copy.deepcopy(document)
    for rating in hostile["ratings"]:
        service = rating["service"]
        service["name"] = service["version"] = service["provider"] = service["kind"] = _NAME
        rating["issue"]["attribute"] = _NAME
    yield "hostile names", hostile


def _empty(one: OverallEntry | PartEntry) -> None:
    """Take away what a rating or part has no longer without a level."""
    one["level"] = one["words"] = one["score"] = one["low"] = one["high"] = one["unchanged"] = None
    one["certainty"], one["n"] = {}, 0


def _check_members(view: MethodView, document: RunDocument) -> None:
    ratings, run, name = document["ratings"], document["run"], type(view).__name__
    heads = view.heads(ratings)
    for rating in ratings:
        for part in (None, *rating["parts"]):
            cells = view.cells(rating, part)
            fits = (len(cells.before), len(cells.after)) == (len(heads.before), len(heads.after))
            _hold(fits, f"{name}.cells do not fit the heads", must=_columns(heads), got=_columns(cells))
        _check_table(name, view.part_table(rating), len(rating["parts"]))
        _check_sections(name, view.sections(rating, run, alone=True))
        _check_levels(view, rating)
        template, facts = view.direction_words(rating)
        fits = _fills(template, facts)
        _hold(fits, f"{name}.direction_words lacks a fact", must=template, got=sorted(facts))
        again = (view.summary_tile(rating), view.label_fact(rating), view.cautions(rating))
        same = again == (view.summary_tile(rating), view.label_fact(rating), view.cautions(rating))
        _hold(same, f"{name} shows one rating in two ways", must="pure functions")


def _check_sections(name: str, sections: Sequence[Section]) -> None:
    keys = [section.key for section in sections]
    _hold(len(keys) == len(set(keys)), f"{name}.sections have one key twice", must="a key each", got=keys)
    odd = [key for key in keys if not _KEY.fullmatch(key)]
    _hold(not odd, f"{name}.sections have a key that is no word", must="letters, digits and -", got=odd)
    pieces = [piece for section in sections for piece in section.pieces]
    pieces += [inner for piece in pieces if isinstance(piece, Fold) for inner in piece.pieces]
    for table in (piece for piece in pieces if isinstance(piece, Table)):
        fits = all(len(row) == len(table.heads) for row in table.rows)
        _hold(fits, f"rows of the table {table.label} do not fit its heads", must="a cell a column")


def _check_levels(view: MethodView, rating: RatingEntry) -> None:
    """Every level has words and a drawing; the one that a rating has, a sentence that is whole."""
    name, scale = type(view).__name__, rating["overall"]["scale"]
    for place, entry in enumerate(scale):
        level = entry["level"]
        words = (view.mark(rating, level), view.level_line(rating, level))
        _hold(all(isinstance(one, str) for one in words), f"{name}: a level is no text", must="words")
        drawing = f"<svg>{view.pictogram(level, place, len(scale))}</svg>"
        _hold(_is_xml(drawing), f"{name}.pictogram of {level} is no drawing", must="SVG", got=drawing)
    reasons = [*rating["reasons"], *rating["limits"]]
    for one in (*reasons, *(each for part in rating["parts"] for each in part["reasons"])):
        said = sentences.reason(one, rating)
        known = said != sentences.unknown(one["code"], one["facts"])
        _hold(known, f"{name} has no sentence for a reason", must=f"`messages` with {one['code']}", got=said)
    if rating["overall"]["level"] is not None:
        verdict = sentences.verdict(rating)
        _hold("{" not in verdict, f"{name}: the sentence of a level lacks a fact", must="words", got=verdict)


def _check_pages(name: str, case: str, document: RunDocument, rows: pl.DataFrame | None) -> None:
    """The page and the labels hold nobody's markup, and are the same each time."""
    page = html.report(document, rows, today=_TODAY)
    _hold(_HOSTILE not in page, f"{name} puts a name into the page as markup", must="Markup of escaped text")
    same = page == html.report(document, rows, today=_TODAY)
    _hold(same, f"{name} shows one rating in two ways", must="pure functions")
    text = terminal.plain(terminal.show(document))
    _hold("\x1b" not in text, f"{name} sends control characters to the terminal", must="`sanitize.name`")
    for rating in document["ratings"]:
        drawn = label.label(rating, today=_TODAY)
        got = drawn[max(0, drawn.find(_HOSTILE)) :]
        safe = _HOSTILE not in drawn and _is_xml(drawn)
        _hold(safe, f"{name}: the label of {case} is no drawing", must="SVG with escaped texts", got=got)


def _is_xml(text: str) -> bool:
    try:
        ElementTree.fromstring(text)
    except ElementTree.ParseError:
        return False
    return True


def _fills(words: str, facts: Mapping[str, Any]) -> bool:
    """Whether a template has all the facts that it names."""
    try:
        words.format(**facts)
    except (KeyError, IndexError, ValueError, AttributeError):
        return False
    return True


def _check_table(name: str, table: PartTable, parts: int) -> None:
    _hold(len(table.rows) == parts, f"{name}.part_table lacks parts", must=parts, got=len(table.rows))
    for row in table.rows:
        fits = (len(row.before), len(row.after)) == (len(table.before), len(table.after))
        _hold(
            fits, f"the row {row.title} does not fit the heads of {name}.part_table", must="a cell a column"
        )


def _columns(row: Heads | Cells) -> str:
    return f"{len(row.before)} before the certainty and {len(row.after)} after it"


def _hold(holds: bool, what: str, *, must: object, got: object = "") -> None:
    if not holds:
        raise MethodError(what, must=str(must), got=str(got)[:200])
