"""The sample of an audit: which answers of a service are labelled, and in what order (methods 0.10 (4)).

It follows from the plan, the answers and the size alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from trustgauge.rating.audit import (
    ALIKE,
    CARRIES,
    COARSE,
    ELEMENT,
    FEWEST_ITEMS,
    FINE,
    LABELS_OF_EACH,
    LARGEST_DEFAULT,
    PER_STRATUM,
    READER,
    SAMPLE,
    UNREAD,
    Choice,
)
from trustgauge.records import digest
from trustgauge.stats.two_phase import allocate

STEP = 20
"""Answers by which a default sample grows until each kind has enough items."""
TOGETHER = 40  # answers among which those of one pair of groups are scattered
LOT = "lot"
"""Column: whether a sample that was drawn by lot holds an answer."""
DRAW = "draw"
"""Column: which of the samples that were drawn one after the other holds an answer first; -1 if none does."""
DUE = "due"
"""Column: whether people must read an answer for want of a reader that can."""


@dataclass(frozen=True, slots=True)
class AuditItem:
    """One answer to be labelled. Neither the service nor the judge's verdict is in it."""

    key: str
    kind: str
    question: str
    answer: str
    a: str
    b: str
    place: tuple[str, str]  # part and id of the probe
    by_lot: bool = True  # whether it was drawn by lot, and not only because it is unread
    reader: str = ""  # what read it: the items of each are a sample of their own


@dataclass(frozen=True)
class AuditSample:
    """What was drawn of one service.

    Attributes:
        experiment: its place in the plan.
        service: whose answers they are.
        items: in the order in which they are shown.
        choices: labels by kind.
        population: answers that could have been drawn.
    """

    experiment: int
    service: str
    items: tuple[AuditItem, ...]
    choices: Mapping[str, Sequence[Choice]]
    population: int


def default_size(frame: pl.DataFrame, seed: int) -> int:
    """How many answers to draw: 200, or what 30 items and a fifth of each kind that carries it take.

    Where a method has several readers, the most that one of them takes.

    Args:
        frame: all answers that can be labelled.
        seed: of the plan.
    """
    return max((_enough(_elements(rows, seed)) for rows in frame.partition_by(READER)), default=SAMPLE)


def _enough(elements: pl.DataFrame) -> int:
    """The size at which each kind that carries the level has its items, as far as the default goes.

    What they take by themselves is where to begin: other strata are drawn from as well.
    """
    carrying = elements.filter(CARRIES).with_columns(_kind=pl.col(COARSE).str.replace("/[^/]*$", ""))
    kinds = carrying.group_by("_kind").agg(pl.len(), pl.col("answers").mean())
    needed = {kind: min(n, math.ceil(1.2 * FEWEST_ITEMS)) for kind, n, _ in kinds.iter_rows()}
    size: int = max(SAMPLE, math.ceil(sum(needed[kind] * answers for kind, _, answers in kinds.iter_rows())))
    while size < LARGEST_DEFAULT:
        drawn = carrying.filter(pl.col(ELEMENT).is_in(_drawn(elements, size)))
        counts = dict(drawn["_kind"].value_counts().iter_rows())
        if all(counts.get(kind, 0) >= need for kind, need in needed.items()):
            break
        size += STEP
    return min(LARGEST_DEFAULT, size)


def ordered_items(
    frame: pl.DataFrame, wanted: pl.Expr, place: tuple[int, str], seed: int
) -> tuple[AuditItem, ...]:
    """The wanted answers in the order in which they are labelled.

    Those of a later sample come after those of an earlier one, so that any beginning is a sample by lot.

    Args:
        frame: all answers that can be labelled, with the columns `LOT` and `DRAW`.
        wanted: which of them.
        place: experiment and service.
        seed: of the plan.
    """
    by_lot = drawn_order(frame, seed)
    order = sorted(by_lot, key=lambda one: (by_lot[one], one))
    places = {one: number for number, one in enumerate(order)}
    rows = frame.filter(wanted).with_columns(
        _order=pl.col(ELEMENT).replace_strict(places or {"": 0}, default=0, return_dtype=pl.Int64)
    )
    scattered: list[AuditItem] = []
    last = pl.when(pl.col(DRAW) < 0).then(None).otherwise(DRAW).alias(DRAW)  # what no lot holds
    for _, drawn in rows.with_columns(last).sort(DRAW, nulls_last=True).group_by(DRAW, maintain_order=True):
        items = [_item(row, place) for row in drawn.sort("_order", "id").iter_rows(named=True)]
        for start in range(0, len(items), TOGETHER):
            scattered += sorted(items[start : start + TOGETHER], key=lambda one: one.key)
    return tuple(scattered)


def _item(row: Mapping[str, Any], place: tuple[int, str]) -> AuditItem:
    about = [*place, row["part"], row["id"], row["question"], row["answer"]]
    key = "a" + digest("audit", about)[:16]
    return AuditItem(
        key,
        row["kind"],
        row["question"],
        row["answer"],
        row["a"],
        row["b"],
        (row["part"], row["id"]),
        row[LOT],
        row[READER],
    )


def _elements(frame: pl.DataFrame, seed: int) -> pl.DataFrame:
    """What is drawn together, with its stratum, the answers it has, and its place in the order of the lot."""
    found = frame.group_by(ELEMENT, maintain_order=True).agg(
        pl.col(FINE, COARSE).first(), pl.col(CARRIES, UNREAD).any(), pl.len().alias("answers")
    )
    lot = [digest("audit lot", [seed, one]) for one in found[ELEMENT]]
    return found.with_columns(_lot=pl.Series(lot, dtype=pl.String)).sort("_lot")


def drawn_order(frame: pl.DataFrame, seed: int) -> Mapping[str, float]:
    """Element -> its place within its stratum, from 0 to 1: in this order any beginning is a fair sample."""
    found = _elements(frame, seed).with_columns(
        ((pl.int_range(pl.len()).over(FINE) + 0.5) / pl.len().over(FINE).sqrt()).alias("_at")
    )
    return dict(found.select(ELEMENT, "_at").iter_rows())


def drawn_elements(frame: pl.DataFrame, size: int, seed: int) -> list[str]:
    """The elements of a sample of so many answers, random within strata."""
    return _drawn(_elements(frame, seed), size)


def _drawn(found: pl.DataFrame, size: int) -> list[str]:
    strata = (
        found.group_by(FINE)
        .agg(
            pl.len().alias("n"),
            pl.col("answers").mean(),
            # unread ones first, then those that carry the level
            (2 - pl.col(CARRIES).any().cast(pl.Int64) * (1 + pl.col(UNREAD).any().cast(pl.Int64)))
            .first()
            .alias("rank"),
        )
        .sort(FINE)
    )
    counts = allocate(
        strata["n"].to_list(), strata["answers"].to_list(), strata["rank"].to_list(), size, PER_STRATUM
    )
    take = dict(zip(strata[FINE].to_list(), counts.tolist(), strict=True))
    limit = pl.col(FINE).replace_strict(take, return_dtype=pl.Int64)
    return found.filter(pl.int_range(pl.len()).over(FINE) < limit)[ELEMENT].to_list()


def due(frame: pl.DataFrame, labels: Mapping[tuple[str, str], str], seed: int) -> pl.Series:
    """Whether people must read each answer for want of a reader that can.

    That are all that it abstained from. Of answers that are read together it is the first `LABELS_OF_EACH` of
    the lot; the labels of these may show that each must be read for itself.

    Args:
        frame: all answers that can be labelled.
        labels: of these, by part and id.
        seed: of the plan.
    """
    rows = frame.select("part", "id", ALIKE, UNREAD).with_row_index("_row")
    together = rows.filter(pl.col(ALIKE) != "")
    lot = [digest("audit wording", [seed, *place]) for place in together.select("part", "id").iter_rows()]
    said = [labels.get(place, "") for place in together.select("part", "id").iter_rows()]
    given = pl.col("_said").filter(pl.col("_said") != "")
    drawn = (
        together.with_columns(_lot=pl.Series(lot, dtype=pl.String), _said=pl.Series(said, dtype=pl.String))
        .sort(ALIKE, "_lot")
        .with_columns(
            _first=pl.int_range(pl.len()).over(ALIKE) < LABELS_OF_EACH,
            _apart=(given.n_unique().over(ALIKE) > 1) | given.str.starts_with("chooses").any().over(ALIKE),
        )
    )
    wanted = drawn.filter(pl.col("_first") | (pl.col("_apart") & pl.col(UNREAD)))["_row"].to_list()
    alone = (pl.col(ALIKE) == "") & pl.col(UNREAD)
    return rows.select(alone | pl.col("_row").is_in(wanted)).to_series()
