"""The summary of one part of one service as the counts that the rules judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from trustgauge.methods.two_step.score import ABSTAINS, GONE, MISSING, SURPLUS, UNREAD
from trustgauge.methods.two_step.transition_model import TextTypes, TransitionCounts, sent_values
from trustgauge.rating.missing_data import coverage
from trustgauge.records import Coverage
from trustgauge.stats.distributions import Ints

RESAMPLES = 2_000  # of texts or occupations (methods 0.5)


@dataclass(frozen=True)
class PartCounts:
    """The counts of a part.

    Attributes:
        inputs: Places of the values that were sent, [G].
        counts: Of the mentions that were read, with a leading axis of one run.
        sent: Mentions sent by block, missing ones included, [B, C].
        came: What came back by block, [B, C]; words of a released tally beyond the mentions
            sent are counted here and nowhere else.
        missing: Missing mentions by block and value in, [B, C].
        unread: Likewise those of answers that came and that the reader does not understand.
        kinds: Mentions by what became of them.
        coverage: Responses by what became of them.
    """

    inputs: Ints
    counts: TransitionCounts
    sent: Ints
    came: Ints
    missing: Ints
    unread: Ints
    kinds: dict[str, int]
    coverage: Coverage

    @property
    def matrix(self) -> Ints:
        """Pooled mentions by value in and value out, [C, C]."""
        return self._square(self.counts.pooled[0])

    @property
    def block_matrices(self) -> list[Ints]:
        """Each block's own mentions by value in and value out, [C, C] each."""
        return [self._square(block) for block in self.counts.own[0]]

    def _square(self, rows: Ints) -> Ints:
        square = np.zeros((rows.shape[1], rows.shape[1]), dtype=np.int64)
        square[self.inputs] = rows
        return square

    @property
    def contents(self) -> Ints:
        """Number of different texts that hold each value sent, [G]."""
        return np.asarray((self.counts.texts[0].sum(axis=-1) > 0).sum(axis=0))


def part_counts(frame: pl.DataFrame, spec: Any) -> PartCounts:
    """Count the summary of one part.

    Args:
        frame: Its rows of the summary.
        spec: The specification (settings.Spec).
    """
    inputs = sent_values(spec.distributions)
    coded = _coded(frame, spec)
    proper = coded.filter(pl.col("kind") != SURPLUS)
    read = coded.filter(pl.col("value_out") >= 0)
    missing, unread = (proper.filter(pl.col("value_out") == gap) for gap in (GONE, ABSTAINS))
    blocks, cells = len(spec.distributions), len(spec.values)
    return PartCounts(
        inputs=inputs,
        counts=_counts(read.filter(pl.col("kind") != SURPLUS), read, inputs, (blocks, cells)),
        sent=_sums(proper, ("block", "value_in"), (blocks, cells)),
        came=_sums(read, ("block", "value_out"), (blocks, cells)),
        missing=_sums(missing, ("block", "value_in"), (blocks, cells)),
        unread=_sums(unread, ("block", "value_in"), (blocks, cells)),
        kinds=_kinds(proper),
        coverage=coverage(frame.select("status", n="texts")),
    )


def fill(frame: pl.DataFrame, value: int | None, gaps: Sequence[int] = (GONE, ABSTAINS)) -> pl.DataFrame:
    """The summary with every missing or unread mention read: as `value`, or unchanged (methods 0.4, 0.10).

    Args:
        frame: rows of a summary.
        value: the reading; None for unchanged.
        gaps: which mentions: missing ones (`GONE`), unread ones (`ABSTAINS`).
    """
    reading = pl.col("value_in") if value is None else pl.lit(value, dtype=pl.Int8)
    gone = pl.col("value_out").is_in(gaps)
    return frame.with_columns(
        pl.when(gone).then(reading).otherwise("value_out").alias("value_out"),
        pl.when(gone).then(pl.lit("kept")).otherwise("kind").alias("kind"),
    )


def _coded(frame: pl.DataFrame, spec: Any) -> pl.DataFrame:
    """Blocks, texts and occupations as numbers."""
    places = {name: place for place, name in enumerate(spec.blocks)}
    return frame.filter(pl.col("value_in").is_not_null()).with_columns(
        pl.col("block").replace_strict(places, return_dtype=pl.Int64),
        pl.col("text").rank("dense").cast(pl.Int64) - 1,
        pl.col("item").rank("dense").cast(pl.Int64) - 1,
        pl.col("value_in", "value_out").cast(pl.Int64),
    )


def _sums(frame: pl.DataFrame, keys: tuple[str, ...], shape: tuple[int, ...], weight: str = "n") -> Ints:
    """Sums of a column over cells of integer keys."""
    flat = np.ravel_multi_index(tuple(frame[key].to_numpy() for key in keys), shape)
    sums = np.bincount(flat, weights=frame[weight].to_numpy(), minlength=int(np.prod(shape)))
    return np.rint(sums).astype(np.int64).reshape(shape)


def _counts(read: pl.DataFrame, came: pl.DataFrame, inputs: Ints, shape: tuple[int, int]) -> TransitionCounts:
    """Counts with one run of the mentions `read`, of values that are sent."""
    blocks, cells = shape
    rows = {int(value): row for row, value in enumerate(inputs)}
    read = read.filter(pl.col("value_in").is_in(list(rows))).with_columns(
        row=pl.col("value_in").replace_strict(rows, return_dtype=pl.Int64)
    )
    texts, items, segments = (int(read[key].max() or 0) + 1 for key in ("text", "item", "segment"))  # type: ignore[arg-type]
    by_value = [read.filter(pl.col("row") == row) for row in range(len(inputs))]
    pair, size = ("row", "value_out"), (len(inputs), cells)
    by_item = _sums(read, ("block", "item", *pair), (blocks, items, *size))
    return TransitionCounts(
        own=by_item.sum(axis=1)[None],
        pooled=_sums(read, pair, size, "pooled")[None],
        texts=_sums(read, ("text", *pair), (texts, *size), "pooled")[None],
        items=_sums(read, ("item", *pair), (items, *size), "pooled")[None],
        segments=_sums(read, ("segment", *pair), (segments, *size), "pooled")[None],
        items_own=by_item[None],
        segments_own=_sums(read, ("block", "segment", *pair), (blocks, segments, *size))[None],
        units=tuple(_units(one, "block", (blocks, texts, cells)) for one in by_value),
        times=tuple(_units(one, "segment", (segments, texts, cells)) for one in by_value),
        answers=_units(came, "block", (blocks, int(came["text"].max() or 0) + 1, cells)),  # type: ignore[arg-type]
    )


def _units(read: pl.DataFrame, within: str, shape: tuple[int, int, int]) -> TextTypes:
    """Texts of each block or segment by type: the number of mentions that came out as each value."""
    groups, texts, cells = shape
    keys = read[within].to_numpy() * texts + read["text"].to_numpy()
    held, place = np.unique(keys, return_inverse=True)
    cell = place.reshape(-1) * cells + read["value_out"].to_numpy()
    each = np.bincount(cell, weights=read["n"].to_numpy(), minlength=len(held) * cells).reshape(-1, cells)
    types, kind = np.unique(np.rint(each).astype(np.int64), axis=0, return_inverse=True)
    flat = held // texts * len(types) + kind.reshape(-1)
    table = np.bincount(flat, minlength=groups * len(types)).reshape(1, groups, len(types))
    return TextTypes(table, types)


def _kinds(frame: pl.DataFrame) -> dict[str, int]:
    sums = frame.group_by("kind").agg(pl.col("n").sum()).sort("kind")
    return {kind: int(count) for kind, count in sums.iter_rows() if kind not in (MISSING, UNREAD) and count}
