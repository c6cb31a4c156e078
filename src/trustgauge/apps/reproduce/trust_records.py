"""Tables of dialogs and scores that the trust paper's authors released (trust 4.2, 4.4).

A user who has the authors' files names the folder that holds them, a checkout of `ethics-share` or a
plain folder. Somewhere below it lie `combined/output/combined_discrete_ubuntu.csv` and its fellows of
insurance, HRbot and restaurant, with a row for each utterance: scores (`bias_rating`,
`abusive_language_rating`, `dialog_complexity_rating`), their levels (`bias_rating_discrete` and so on)
and `privacy_rating`, the level of leakage. Only the first rows of each corpus were released.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from trustgauge.apps.reproduce.paper_tables import PaperTable, PrintedFigure, paper_table, reasons
from trustgauge.apps.reproduce.trust_scores import CLASSES, METHOD, level_of, of_corpus
from trustgauge.apps.reproduce.verdicts import judge, unavailable
from trustgauge.data.tables import fault, read_table, read_text
from trustgauge.methods.trust.issues.issue import LEVELS

Printed = Mapping[str, Any]
Row = Mapping[str, str]
FILES = {
    "Ubuntu": "combined_discrete_ubuntu.csv",
    "Insurance": "combined_discrete_insurance.csv",
    "HR": "combined_discrete_HRbot.csv",
    "Restaurant": "combined_discrete_restaurant.csv",
}
COLUMNS = {"B": "bias", "AL": "abusive_language", "CC": "dialog_complexity"}
LEAKAGE = "privacy_rating"
WHY = reasons(METHOD)
PATTERNS = "the level that most of them have"


def is_here(folder: Path) -> bool:
    """Whether any of the released tables lies below a folder."""
    return any(True for name in FILES.values() for _ in folder.rglob(name))


def tables(folder: Path, printed: Printed) -> list[PaperTable]:
    """What the released rows say of Tables II and III.

    Raises:
        PlanError: a table cannot be read, or lacks a column.
    """
    found = {corpus: _rows(file) for corpus, name in FILES.items() for file in folder.rglob(name)}
    rows = {corpus: one for corpus, one in found.items() if one}
    inputs = ", ".join(f"{len(one)} rows of {corpus}" for corpus, one in rows.items())
    return [
        paper_table(METHOD, "records-levels", _levels(rows, printed, inputs), inputs=inputs),
        paper_table(METHOD, "records-scores", _scores(rows, printed), fills="table-2-scores", inputs=inputs),
        paper_table(METHOD, "records-table-3", _ratings(rows, printed, inputs), inputs=inputs),
    ]


def _rows(file: Path) -> list[Row]:
    """The rows of a released table; none if it has a header only, as one of them has.

    Raises:
        PlanError: it cannot be read, or lacks a column.
    """
    text, _ = read_text(file, "--data")
    if len(text.strip().splitlines()) < 2:
        return []
    table = read_table(file, "--data")
    names = [f"{name}_rating" for name in COLUMNS.values()]
    needed = [
        *names,
        "bias_rating_discrete",
        "abusive_language_discrete",
        "dialog_complexity_discrete",
        LEAKAGE,
    ]
    missing = [name for name in needed if name not in table.columns]
    if missing:
        raise fault(file, "--data", f"no column {missing[0]}", must=", ".join(needed))
    scores = table.select(pl.col(names).cast(pl.Float64, strict=False))
    if any(scores.null_count().row(0)):
        raise fault(file, "--data", "a score is not a number", must=f"numbers in {', '.join(names)}")
    rows: list[Row] = list(table.select(needed).fill_null("").iter_rows(named=True))
    return rows


def _score(row: Row, issue: str) -> float:
    return float(row[f"{COLUMNS[issue]}_rating"])


def _letter(row: Row, issue: str) -> str:
    name = COLUMNS[issue]
    return row["bias_rating_discrete" if issue == "B" else f"{name}_discrete"]


def _levels(rows: Mapping[str, Sequence[Row]], printed: Printed, inputs: str) -> Iterator[PrintedFigure]:
    """Levels of utterances, which follow from their scores, and the leakage beside them."""
    for corpus, mine in rows.items():
        for issue in COLUMNS:
            given = ", ".join(_letter(row, issue) for row in mine)
            found = ", ".join(level_of(_score(row, issue)) for row in mine)
            yield judge(PrintedFigure(corpus, f"{issue}, levels of utterances", given, found))
        constants = {row[LEAKAGE] for row in mine}
        level = printed["table_II"][corpus]["levels"]["IL"]
        cell = PrintedFigure(
            corpus, "IL, level of every utterance", level, released=" or ".join(sorted(constants))
        )
        yield judge(cell, "released", reason=WHY["constant"] if len(constants) == 1 else "")


def _scores(rows: Mapping[str, Sequence[Row]], printed: Printed) -> Iterator[PrintedFigure]:
    """Table II's figures that rest on all utterances, beside the mean of the released ones."""
    for corpus, mine in rows.items():
        row = printed["table_II"][corpus]
        of = sum(row[name] for name in CLASSES)
        for issue in ("B", "CC"):
            mean = round(sum(_score(one, issue) for one in mine) / len(mine), 3)
            yield of_corpus((corpus, issue), row[issue], _sample(mine, of, f"a mean of {mean}"))


def _sample(mine: Sequence[Row], of: int, found: str) -> str:
    return WHY["sample"].format(rows=len(mine), of=of, found=found)


def _ratings(rows: Mapping[str, Sequence[Row]], printed: Printed, inputs: str) -> Iterator[PrintedFigure]:
    """Table III by the released rule, utterance by utterance, on the released rows."""
    for corpus, mine in rows.items():
        of = sum(printed["table_II"][corpus][name] for name in CLASSES)
        for profile, order in printed["profiles"].items():
            level = majority_level(combine(row, order) for row in mine)
            reason = _sample(mine, of, f"{level}, {PATTERNS}")
            yield unavailable(
                (corpus, f"{profile}, released rows"), printed["table_III"][corpus][profile], reason
            )


def combine(row: Row, order: Sequence[str]) -> str:
    """The level of one utterance by the released rule; an issue without a level counts for none.

    >>> row = {"bias_rating_discrete": "H", "abusive_language_discrete": "L",
    ...        "dialog_complexity_discrete": "M", "privacy_rating": "0"}
    >>> combine(row, ["B", "AL", "CC", "IL"]), combine(row, ["CC", "AL", "B", "IL"])
    ('H', 'M')
    """
    points = dict.fromkeys(LEVELS, 0)
    for place, issue in enumerate(order, start=1):
        letter = row[LEAKAGE] if issue == "IL" else _letter(row, issue)
        if letter in points:
            points[letter] += len(order) - place
    return max(LEVELS, key=lambda level: (points[level], LEVELS.index(level)))


def majority_level(levels: Iterable[str]) -> str:
    """The level that most have, the worse of equals."""
    counts = Counter(levels)
    return max(LEVELS, key=lambda level: (counts[level], LEVELS.index(level)))
