"""The kit that proves that a view keeps its contract (`components.MethodView`); for outsiders too.

    check_view(MyView(), document)

The document is one that its method has made, with ratings in as many states as can be had.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from trustgauge.errors import MethodError
from trustgauge.reports.components import Cells, Heads, MethodView, PartTable

if TYPE_CHECKING:
    from trustgauge.reports.document_model import RunDocument


def check_view(view: MethodView, document: RunDocument) -> None:
    """Check a view on the ratings of a document.

    Args:
        view: the view.
        document: a `rating.json` whose ratings are all of the view's method.

    Raises:
        MethodError: the first thing that does not conform: what, what it must be, what was got.
    """
    ratings, run = document["ratings"], document["run"]
    name = type(view).__name__
    _hold(isinstance(view, MethodView), f"{name} lacks a member", must="every member of MethodView")
    _hold(bool(ratings), f"{name} has nothing to show", must="a document with ratings of the method")
    heads = view.heads(ratings)
    for rating in ratings:
        for part in (None, *rating["parts"]):
            cells = view.cells(rating, part)
            fits = (len(cells.before), len(cells.after)) == (len(heads.before), len(heads.after))
            _hold(fits, f"{name}.cells do not fit the heads", must=_columns(heads), got=_columns(cells))
        _check_table(name, view.part_table(rating), len(rating["parts"]))
        keys = [section.key for section in view.sections(rating, run, alone=True)]
        _hold(len(keys) == len(set(keys)), f"{name}.sections have one key twice", must="a key each", got=keys)
        for entry in rating["overall"]["scale"]:
            words = (view.mark(rating, entry["level"]), view.level_line(rating, entry["level"]))
            _hold(all(isinstance(one, str) for one in words), f"{name}: a level is no text", must="words")
        template, facts = view.direction_words(rating)
        fits = _fills(template, facts)
        _hold(fits, f"{name}.direction_words lacks a fact", must=template, got=sorted(facts))
        again = (view.summary_tile(rating), view.label_fact(rating), view.cautions(rating))
        same = again == (view.summary_tile(rating), view.label_fact(rating), view.cautions(rating))
        _hold(same, f"{name} shows one rating in two ways", must="pure functions")
    for code, templates in view.messages.reasons.items():
        last = templates[-1] if templates else ""
        _hold(bool(last), f"the reason {code} has no sentence", must="a last template without facts")


def _fills(words: str, facts: Mapping[str, str]) -> bool:
    """Whether a template has all the facts that it names."""
    try:
        words.format(**facts)
    except (KeyError, IndexError, ValueError):
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
