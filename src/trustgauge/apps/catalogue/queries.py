"""What a list of the catalogue shows, and how the database finds it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import date, timedelta
from typing import Any

from sqlalchemy import CTE, ColumnElement, FromClause, Select, and_, bindparam, or_, select, text

from trustgauge.apps.catalogue.method_words import level_marks
from trustgauge.apps.catalogue.schema import RATINGS, SERVICES

UNKNOWN = 99
"""The badness of a rating without a level."""
TIMES = ("tested", "ended", "received")
"""When a rating was made: the day, the end of its run, and when it came in. These decide which is newer."""
NEWEST = (*(RATINGS.c[one].desc() for one in TIMES), RATINGS.c.id.desc())
"""Order of ratings with the newest first."""
LIST_ORDER = ("sound", *TIMES, "run", "place")
"""Columns of the order of lists, all but the last descending: those by our rule first, then by the others,
the newest first; the ratings of a run stand in their order."""
FORBIDDEN = "testing forbidden"
STATES = ("in force", "not settled", "incomplete", "expired", "withdrawn", FORBIDDEN)
"""What a list can be filtered by: what the document says, what the date makes of it, and what people say."""
LANGUAGE_CODE = re.compile(r"[a-z]{2,3}")


@dataclass(frozen=True, slots=True)
class RatingQuery:
    """What a list shows; empty fields filter nothing.

    Attributes:
        q: words that all must occur, the last one perhaps unfinished.
        certainty: the least, in per cent.
        age: days since it was tested, at most.
        state: one of STATES.
        order: "newest" or "best"; the best stand first within one method only.
        earlier: whether earlier ratings of a series are listed too.
        after: the cursor of the page before.
    """

    q: str = ""
    task: str = ""
    language: str = ""
    method: str = ""
    dimension: str = ""
    rule: str = ""
    level: str = ""
    certainty: str = ""
    age: str = ""
    assessor: str = ""
    state: str = ""
    service: str = ""
    order: str = ""
    earlier: str = ""
    after: str = ""

    @classmethod
    def of(cls, given: Mapping[str, str]) -> RatingQuery:
        """The query of an address; what is not known is passed over, and nothing is longer than 200."""
        return cls(**{one.name: given.get(one.name, "")[:200].strip() for one in fields(cls)})

    def to_parameters(self) -> dict[str, str]:
        """The fields that are set, as parameters of an address."""
        return {name: value for name, value in asdict(self).items() if value}

    def selection(self, today: date, *columns: Any, is_postgresql: bool) -> Select[Any]:
        """Its select, from no more tables than it asks for.

        Args:
            today: the date by which ratings are expired.
            columns: what is selected.
            is_postgresql: whether the database is PostgreSQL, else SQLite.
        """
        source: FromClause = RATINGS
        if words := re.findall(r"\w+", self.q):
            known = _with_words(words[:20], is_postgresql=is_postgresql)
            source = known.join(RATINGS, RATINGS.c.number == known.c.number)
        if self.state == FORBIDDEN:
            source = source.join(SERVICES, SERVICES.c.slug == RATINGS.c.service)
        return select(*columns).select_from(source).where(*self._conditions(today))

    def _conditions(self, today: date) -> list[ColumnElement[bool]]:
        wanted: list[ColumnElement[bool]] = []
        if not self.earlier and not self.service:
            wanted.append(RATINGS.c.latest)
        for name in ("task", "method", "dimension", "rule", "assessor", "service"):
            if value := getattr(self, name):
                wanted.append(RATINGS.c[name] == value)
        if self.level:
            wanted.append(_has_level(self.level))
        if LANGUAGE_CODE.fullmatch(self.language):
            wanted.append(RATINGS.c.languages.contains(f" {self.language} "))
        if self.certainty.isdigit():
            wanted.append(RATINGS.c.certainty >= int(self.certainty) / 100)
        if self.age.isdigit() and len(self.age) < 6:
            wanted.append(RATINGS.c.tested >= (today - timedelta(days=int(self.age))).isoformat())
        return wanted + _state(self.state, today)


def _with_words(words: Sequence[str], *, is_postgresql: bool) -> CTE:
    """Numbers of the texts that hold all words; the last one may be the beginning of a word."""
    if is_postgresql:
        asked = " & ".join([*words[:-1], f"{words[-1]}:*"])
        found = text("SELECT number FROM search WHERE words @@ to_tsquery('simple', :asked)")
    else:
        asked = " ".join(f'"{word}"' for word in words) + "*"
        found = text("SELECT rowid AS number FROM search WHERE search MATCH :asked")
    named = found.bindparams(bindparam("asked", asked)).columns(RATINGS.c.number).cte("known")
    return named.prefix_with("MATERIALIZED")  # looked up once, not once for every rating


def _has_level(level: str) -> ColumnElement[bool]:
    """Of the level as lists write it, or as its method calls it: "2" also of a place in an order."""
    known = RATINGS.c.level.in_(sorted(level_marks(level)))
    return or_(known, RATINGS.c.level.startswith(f"{level} ")) if level.isdigit() else known


def rows_after(cursor: str, *, by_level: bool) -> ColumnElement[bool]:
    """What comes after a row of the list, by its cursor."""
    first, _, rest = cursor.partition("|")
    if by_level:
        badness = int(first) if first.isdigit() and len(first) < 9 else UNKNOWN
        return or_(RATINGS.c.badness > badness, and_(RATINGS.c.badness == badness, RATINGS.c.id > rest))
    *values, last = [int(first == "1"), *rest.split("|")]
    place = int(last) if last.isdigit() and len(last) < 9 else 0
    equal = list[ColumnElement[bool]]()
    behind = list[ColumnElement[bool]]()
    for name, value in zip(LIST_ORDER, values, strict=False):
        behind.append(and_(*equal, RATINGS.c[name] < value))
        equal.append(RATINGS.c[name] == value)
    return or_(*behind, and_(*equal, RATINGS.c.place > place))


def _state(state: str, today: date) -> list[ColumnElement[bool]]:
    day = today.isoformat()
    if state == "expired":
        return [RATINGS.c.expires < day, RATINGS.c.withdrawn == ""]
    if state == "withdrawn":
        return [RATINGS.c.withdrawn != ""]
    if state == FORBIDDEN:
        return [SERVICES.c.testing != ""]
    if state == "in force":
        return [RATINGS.c.state == "rated", RATINGS.c.expires >= day, RATINGS.c.withdrawn == ""]
    return [RATINGS.c.state == state] if state in STATES else []
