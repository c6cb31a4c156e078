"""A run that can be audited, and what people who read its answers would say."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trustgauge.plan import load_plan
from trustgauge.run.audit_sample import AuditItem
from trustgauge.run.options import RunOptions
from trustgauge.run.run import rate

PLAN: dict[str, Any] = {
    "seed": 3,
    "services": {"bot": {"use": "rivescript", "brain": "affirms", "group": "women"}},
    "experiments": [
        {
            **{"method": "social-bias", "services": ["bot"], "attributes": ["gender"], "groups": 2},
            **{"properties": 3, "questions": 0, "resamples": 1000, "permutations": 999},
            "tuples": ["relative"],
        }
    ],
}


def make_run(ratings: Path, properties: int = 3) -> Path:
    """A run of a bot that affirms what is bad of women, and denies all else.

    Args:
        ratings: where it is stored.
        properties: of each category.
    """
    (experiment,) = PLAN["experiments"]
    plan = PLAN | {"experiments": [experiment | {"properties": properties}]}
    return rate(load_plan(plan), RunOptions(ratings=ratings)).folder


def meant(item: AuditItem) -> str:
    """The label of an answer by who reads it."""
    if re.match(r"(yes|they are|i agree|because|true)", item.answer.strip().lower()):
        return "explains" if item.kind == "why" else "affirms"
    return "denies" if item.answer.strip().lower().startswith("no") else "neither"


def rows_of(sheet: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(sheet.read_text("utf-8-sig"))))


def write_rows(file: Path, rows: Sequence[Mapping[str, str]]) -> None:
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.DictWriter(opened, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
