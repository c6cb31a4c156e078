"""Turns as an issue sees them, written down in short."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from trustgauge.methods.trust.issues.issue import CELLS, Issue, IssueAssessment
from trustgauge.methods.trust.resampling import Resampling
from trustgauge.records import Rule

Said = Sequence[str]
SCHEMA = {
    "service": pl.String(),
    "part": pl.String(),
    "session": pl.String(),
    "turn": pl.Int64(),
    "purpose": pl.String(),
    "status": pl.String(),
    "only": pl.String(),
    "utterances": pl.List(pl.String),
    "said": pl.List(pl.String),
}


def turns(dialogs: Mapping[str, Sequence[Said]], *, only: str = "log", purpose: str = "talk") -> pl.DataFrame:
    """A row a turn: dialog -> what the bot said in each turn; the user says "Hello there" each time."""
    rows = [
        (
            "bot",
            "",
            dialog,
            place,
            purpose,
            "answered" if said else "empty",
            only,
            list(said),
            ["Hello there"],
        )
        for dialog, each in dialogs.items()
        for place, said in enumerate(each)
    ]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def marked(issue: Issue, rows: pl.DataFrame, rule: Rule = "sound") -> pl.DataFrame:
    """Turns with the marks of an issue, checked against the contract."""
    marks = issue.marks(rows, rule)
    assert len(marks) == len(rows)
    assert all(name.startswith(f"{issue.name}_") for name in marks.columns)
    return rows.hstack(marks)


def cells(issue: Issue, frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Cells of shards, added up and sorted."""
    every = pl.concat([issue.cells(one) for one in frames])
    assert tuple(every.columns) == CELLS
    keys = list(CELLS[:4])
    return every.group_by(keys).agg(pl.col("n", "total").sum()).sort(keys)


def assessed(issue: Issue, rows: pl.DataFrame, rule: Rule = "sound") -> IssueAssessment:
    """The way of rows through an issue, in one shard."""
    return issue.assess(cells(issue, [marked(issue, rows, rule)]), rule, Resampling(1, 1000))
