"""Surveys of what matters to people: one row a person, with an order of issues (trust 4.3).

The order stands in a column `order` ("IL > AL > B", "abuse, bias", or a list in JSON lines), or as a rank in
a column for each issue, where equal ranks are ties and a blank cell leaves the issue out. Columns `person`,
`profile` (which profile the person was shown) and `agrees` (yes or no, to that profile's order) may stand
beside it; further columns are named, and not read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from trustgauge.data.tables import SUFFIXES, fault, read_table, short
from trustgauge.errors import Fault, PlanError
from trustgauge.methods.trust.preference_parsing import Places, places, spellings
from trustgauge.records import json_or_none

PLACE = "FILE"
COLUMNS = ("person", "order", "profile", "agrees")
YES_NO = {
    "yes": True,
    "y": True,
    "true": True,
    "1": True,
    "no": False,
    "n": False,
    "false": False,
    "0": False,
}
FAULTS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Respondent:
    """What one person said.

    Attributes:
        row: of the file, where a header is row 1.
        person: "" if the table does not tell.
        places: the order; None if the person gave none.
        profile: that the person was shown, "" if none.
        agrees: to the order of that profile; None if the person was not asked.
    """

    row: int
    person: str
    places: Places | None
    profile: str = ""
    agrees: bool | None = None


@dataclass(frozen=True, slots=True)
class Survey:
    """A table of answers.

    Attributes:
        answers: of those who said something, in the order of rows.
        rows: of the table.
        blank: rows that say nothing.
        repeated: rows that say again what the same person said before; they count once.
        faults: rows that were left out, if that was wanted.
        ignored: columns that are not read.
    """

    answers: tuple[Respondent, ...]
    rows: int
    blank: int
    repeated: int
    faults: tuple[Fault, ...]
    ignored: tuple[str, ...] = ()


def read_survey(
    file: Path,
    known: Sequence[str],
    misfit: Callable[[Respondent], Fault | None] = lambda one: None,
    *,
    skip: bool = False,
) -> Survey:
    """Read a survey from CSV, TSV or JSON lines.

    Args:
        file: the table.
        known: names of issues that may occur; the paper's letters may stand for them.
        misfit: what is wrong with what a row says; None if nothing is.
        skip: leave out rows that are wrong and tell them, instead of refusing the file.

    Raises:
        PlanError: the file is no survey, or rows of it are wrong: an issue is unknown or stands twice, a
            rank is no number, a person gave two answers.
    """
    table = read_table(file, PLACE)
    table = _named(file, table)
    ranked = _rank_columns(file, table, known)
    if "profile" not in table.columns and "agrees" in table.columns:
        must, do = "a column profile: whose order each person was shown", "Add it, or leave out agrees"
        raise fault(file, PLACE, "the column agrees needs the column profile", must=must, do=do)
    answers: dict[str, Respondent] = {}
    faults: list[Fault] = []
    blank = repeated = 0
    first = 2 if SUFFIXES[file.suffix.lower()] else 1  # JSON lines have no header
    for number, row in enumerate(table.iter_rows(named=True), first):
        try:
            said = _answer(number, row, ranked, known)
        except ValueError as error:
            faults.append(Fault(f"row {number}", str(error)))
            continue
        if said.places is None and said.agrees is None:
            blank += 1
            continue
        if (wrong := misfit(said)) is not None:
            faults.append(wrong)
            continue
        before = answers.setdefault(said.person or f"\0{number}", said)
        if before is said:
            continue
        if (before.places, before.profile, before.agrees) == (said.places, said.profile, said.agrees):
            repeated += 1
        else:
            what = f"{short(said.person)} said something else in row {before.row}"
            faults.append(Fault(f"row {number}", what, must="one answer a person"))
    if faults and not skip:
        raise row_error(faults)
    if not answers:
        raise fault(file, PLACE, "no row contains an order", must="at least one row with an order of issues")
    ignored = tuple(name for name in table.columns if name not in COLUMNS and name not in ranked)
    return Survey(tuple(answers.values()), len(table), blank, repeated, tuple(faults), ignored)


def row_error(faults: Sequence[Fault]) -> PlanError:
    """The error for rows that are wrong: the first of them, and what to do."""
    more = len(faults) - FAULTS_SHOWN
    shown = list(faults[:FAULTS_SHOWN])
    if more > 0:
        shown.append(Fault("further rows", f"{more} more faults"))
    shown[-1] = replace(shown[-1], do="Correct these rows, or skip them with --skip-faults")
    return PlanError(tuple(shown))


def _named(file: Path, table: pl.DataFrame) -> pl.DataFrame:
    """The table with its columns in lower case, without spaces around."""
    names = [name.strip().lower() for name in table.columns]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise fault(file, PLACE, f"two columns are called {short(twice[0])}", must="a name for each column")
    return table.rename(dict(zip(table.columns, names, strict=True)))


def _rank_columns(file: Path, table: pl.DataFrame, known: Sequence[str]) -> dict[str, str]:
    """Columns of ranks and the issues they are of; {} if the orders are written."""
    meant = spellings(known)
    found = {name: meant[name] for name in table.columns if name in meant and name not in COLUMNS}
    if ("order" in table.columns) == bool(found):
        there = ", ".join(short(name) for name in table.columns)
        what = "orders are written in two ways" if found else "no orders"
        must = f"a column order, or columns of ranks named {', '.join(known)}"
        raise fault(file, PLACE, what, must=must, got=f"columns {there}")
    if len(set(found.values())) < len(found):
        raise fault(file, PLACE, "two columns rank one issue", must="a column for each issue")
    return found


def _answer(
    number: int, row: Mapping[str, str | None], ranked: Mapping[str, str], known: Sequence[str]
) -> Respondent:
    """One row. Raises ValueError with what is wrong in words."""
    facts = {name: (row.get(name) or "").strip() for name in COLUMNS}
    if ranked:
        found = _by_rank({issue: (row[column] or "").strip() for column, issue in ranked.items()})
    else:
        found = _written(facts["order"], known) if facts["order"] else None
    agrees = None
    if facts["agrees"]:
        if facts["agrees"].lower() not in YES_NO:
            raise ValueError(f"agrees must be yes or no, got {short(facts['agrees'])}")
        agrees = YES_NO[facts["agrees"].lower()]
        if not facts["profile"]:
            raise ValueError("agrees to no profile; the column profile must name one")
    return Respondent(number, facts["person"], found, facts["profile"], agrees)


def _written(text: str, known: Sequence[str]) -> Places:
    """An order as text, or as a JSON list of places, each a name or a list of names."""
    if not text.startswith("["):
        return places(text, known)
    listed = json_or_none(text) or []
    joined = ["=".join(one) if isinstance(one, list) and _texts(one) else one for one in listed]
    if not joined or not _texts(joined):
        raise ValueError(f"{short(text)} is not a list of issues")
    return places(joined, known)


def _texts(values: Sequence[object]) -> bool:
    return all(isinstance(one, str) for one in values)


def _by_rank(cells: Mapping[str, str]) -> Places | None:
    """The order that ranks give: 1 first, equal ones tied, blank ones left out."""
    ranks: dict[float, list[str]] = {}
    for issue, cell in cells.items():
        if not cell:
            continue
        try:
            rank = float(cell)
        except ValueError:
            rank = math.nan
        if not 0 < rank < math.inf:
            raise ValueError(f"the rank of {issue} must be a number above 0, got {short(cell)}")
        ranks.setdefault(rank, []).append(issue)
    return tuple(tuple(sorted(ranks[rank])) for rank in sorted(ranks)) or None
