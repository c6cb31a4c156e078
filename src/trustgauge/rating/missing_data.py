"""Missing and unread answers: when they are too many to rate, and what is said of them (methods 0.4, 0.10).

Missing answers never came; unread ones came and could not be understood.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from trustgauge.records import Coverage, Json, Reason
from trustgauge.stats.comparisons import fisher_exact

OVERALL = 0.02  # share of all answers that may be missing
CELL = 0.05  # of a cell of the design
BETWEEN_CLASSES = 0.02  # difference of two classes, in shares, if it is
CLASS_P = 0.01  # significant by Fisher's exact test


@dataclass(frozen=True)
class MissingCell:
    """Missing (or unread) and planned answers of one cell or class of the design."""

    where: str
    missing: int
    planned: int

    @property
    def share(self) -> float:
        """Share of the planned answers that is missing."""
        return self.missing / self.planned

    def reason(self, code: str = "incomplete-loss", **more: Json) -> Reason:
        """This cell as a reason."""
        facts = {"share": self.share, "where": self.where, "missing": self.missing, "planned": self.planned}
        return Reason(code, {**facts, **more})


def coverage(statuses: pl.DataFrame) -> Coverage:
    """What became of the planned answers.

    Args:
        statuses: columns `status` and `n`, any number of rows for each status.
    """
    sums = dict(statuses.group_by("status").agg(pl.col("n").sum()).iter_rows())
    return Coverage(planned=int(sum(sums.values())), **{status: int(n) for status, n in sums.items()})


def missing_answer_reasons(whole: MissingCell) -> Iterator[Reason]:
    """That more than 2 % of all answers are missing, if they are."""
    if whole.missing > OVERALL * whole.planned:
        yield whole.reason()


def cell_reasons(cells: Iterable[MissingCell]) -> Iterator[Reason]:
    """The cell that lost most, if more than 5 %; its `cells` counts those that lost as much."""
    broken = [one for one in cells if one.missing > CELL * one.planned]
    if broken:
        yield max(broken, key=lambda one: one.share).reason(cells=len(broken))


def class_reasons(one: MissingCell, other: MissingCell, code: str = "incomplete-loss") -> Iterator[Reason]:
    """The class that lost more than another: by more than 2 points, and Fisher's p < .01."""
    if abs(one.share - other.share) <= BETWEEN_CLASSES:
        return
    counts = [[cell.missing, cell.planned - cell.missing] for cell in (one, other)]
    p = fisher_exact(np.array(counts))
    if p < CLASS_P:
        worse, better = (one, other) if one.share >= other.share else (other, one)
        yield worse.reason(code, against=better.where, p=p)


def does_not_matter(missing: int, planned: int) -> Reason:
    """That too many answers are missing, and the level is the same whatever they were."""
    return Reason("loss-does-not-matter", {"share": missing / max(1, planned), "planned": planned})


def unread_facts(unread: int, planned: int) -> dict[str, Json]:
    """Facts of the reasons `unread-matters` and `unread-does-not-matter`."""
    return {"share": unread / planned, "unread": unread, "planned": planned}
