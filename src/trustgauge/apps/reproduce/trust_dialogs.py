"""Recorded dialogs of the trust paper's corpora, scored by our issues (trust 4.1)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import polars as pl

from trustgauge.apps.reproduce.paper_tables import (
    PaperTable,
    PrintedFigure,
    no_data_error,
    paper_table,
    reasons,
)
from trustgauge.apps.reproduce.trust_scores import CLASSES, CODES, METHOD
from trustgauge.apps.reproduce.verdicts import compare, drop_printed, judge, unavailable, with_hint
from trustgauge.data.dialogs import DialogSource
from trustgauge.errors import PlanError
from trustgauge.methods.trust.issues.abuse import Abuse
from trustgauge.methods.trust.issues.bias import Bias
from trustgauge.methods.trust.issues.complexity import Complexity
from trustgauge.methods.trust.issues.issue import TALK, Issue, IssueAssessment
from trustgauge.methods.trust.resampling import Resampling
from trustgauge.records import Json

Printed = Mapping[str, Any]
LAYOUTS: tuple[Literal["auto", "qa", "irc"], ...] = ("auto", "qa", "irc")
"""Shapes of dialogs in the order in which they are tried."""
RESAMPLES = 50  # only values are reported, no intervals
LENGTH_WITHIN = 2.5e-3
"""Lengths follow from twice a dialog's score less a turn's, whose last digits are cut off or rounded."""
WHY = reasons(METHOD)
OTHERS, OWN_LEVEL = WHY["others"], WHY["own-level"]


def from_dialogs(folder: Path, printed: Printed) -> list[PaperTable]:
    """A table for each corpus of which the folder holds dialogs.

    Raises:
        MethodError: it holds none.
        PlanError: they cannot be read.
    """
    named = {corpus: _named(folder, corpus) for corpus in printed["table_II"]}
    if not any(named.values()):
        must = ", ".join(corpus.lower() for corpus in named)
        raise no_data_error(folder, f"a file or folder of dialogs for one of: {must}")
    return [_corpus(name, _read(file), printed) for name, file in named.items() if file is not None]


def _named(folder: Path, corpus: str) -> Path | None:
    """The file or folder that is called like the corpus, whatever its case and ending."""
    inside = sorted(folder.iterdir()) if folder.is_dir() else []
    return next((one for one in inside if one.stem.lower() == corpus.lower()), None)


def _read(file: Path) -> DialogSource:
    """The dialogs in the first shape that fits.

    Raises:
        PlanError: none fits; what the first one says.
    """
    faults: list[PlanError] = []
    for layout in LAYOUTS:
        try:
            return DialogSource(file=file, layout=layout)
        except PlanError as error:
            faults.append(error)
    raise faults[0]


def _corpus(corpus: str, source: DialogSource, printed: Printed) -> PaperTable:
    row, counted = printed["table_II"][corpus], source.report()
    issues: dict[str, Issue] = {
        "B": Bias(issue="bias"),
        "AL": Abuse(issue="abuse"),
        "CC": Complexity(issue="complexity"),
    }
    found = {code: assess(issue, source.read()) for code, issue in issues.items()}
    cells = [
        compare((corpus, "dialogs"), printed["corpora_size"][corpus], counted["dialogs"]),
        compare(
            (corpus, "utterances"),
            sum(row[name] for name in CLASSES),
            counted["user"] + counted["bot"],
            sound=counted["bot"],
        ),
    ]
    cells = [*(with_hint(one, OTHERS) for one in cells), _length(corpus, found["CC"], printed)]
    for code, one in found.items():
        cells += _issue(corpus, code, one, row)
    cells.append(unavailable((corpus, "IL"), row["IL"], WHY["no-model"]))
    return paper_table(
        METHOD,
        "data-{name}",
        cells,
        name=corpus.lower(),
        corpus=corpus,
        dialogs=counted["dialogs"],
        turns=counted["turns"],
    )


def _length(corpus: str, found: IssueAssessment, printed: Printed) -> PrintedFigure:
    """The mean length beside the longest: it depends on no list, and follows from two printed figures."""
    expected = printed["derived"]["dialog_complexity_turn_term"][corpus]
    length = found.details.get("length")
    value: Json = None if length is None else round(float(length), 6)
    cell = PrintedFigure(corpus, "mean length beside the longest", expected, published=value)
    return drop_printed(judge(cell, within=LENGTH_WITHIN))


def _issue(corpus: str, code: str, found: IssueAssessment, row: Mapping[str, Any]) -> list[PrintedFigure]:
    """The score, which rests on lists, and the level, which may be the same all the same."""
    value = found.score.value
    score: Json = None if value is None else round(value, 6)
    reason = WHY["own-checker" if code == "AL" else "own-lists"]
    level = (corpus, f"{code} level")
    printed = row["levels"][code]
    cell = (
        unavailable(level, printed, WHY["no-level"].format(issue=CODES[code], state=found.state))
        if found.level is None
        else compare(level, printed, found.level, exception=OWN_LEVEL)
    )
    return [unavailable((corpus, code), row[code], reason, sound=score), cell]


def assess(issue: Issue, dialogs: pl.DataFrame) -> IssueAssessment:
    """One issue on recorded dialogs, by the published cuts.

    Args:
        issue: with its settings.
        dialogs: a row a turn, columns of `dialogs.TURNS`.
    """
    spoke = pl.col("bot").list.len() > 0
    turns = dialogs.select(
        id="dialog",
        service=pl.lit("corpus"),
        part=pl.lit(""),
        session="dialog",
        turn="turn",
        purpose=pl.lit(TALK),
        status=pl.when(spoke).then(pl.lit("answered")).otherwise(pl.lit("empty")),
        only=pl.lit("corpus"),
        utterances="bot",
        said="user",
    )
    marked = turns.hstack(issue.marks(turns, "published"))
    cells = issue.cells(marked)
    keys = [name for name in cells.columns if name not in ("n", "total")]
    summed = cells.group_by(keys).agg(pl.col("n", "total").sum()).sort(keys)
    return issue.assess(summed, "published", Resampling(1, RESAMPLES))
