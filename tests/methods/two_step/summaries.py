"""Summaries of made-up services of known rates, for the tests of rating."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trustgauge.methods.two_step.method import TwoStep
from trustgauge.methods.two_step.score import ABSTAINS, GONE, merge
from trustgauge.stats import stream

HE, SHE, OTHER = np.eye(3)


def settings(**options: Any) -> TwoStep:
    """A two-step experiment on gender."""
    return TwoStep(method="two-step", services=("it",), **{"texts": 60, **options})


def shifted(share: float) -> NDArray[np.float64]:
    """P(out | in) of a service that turns She into He with probability `share`."""
    return np.array([HE, share * HE + (1 - share) * SHE, OTHER])


def summary(
    method: TwoStep,
    rates: NDArray[np.float64] | Sequence[NDArray[np.float64]],
    *,
    service: str = "it",
    part: str = "",
    failed: Sequence[int] = (),
    unread: Sequence[int] = (),
    shared: bool = False,
    seed: int = 1,
) -> pl.DataFrame:
    """The summary of a service with known rates.

    Args:
        method: The experiment.
        rates: P(out | in), [C, C]; or one for each block.
        service: Its name.
        part: Key of the part.
        failed: Numbers of texts that failed, counted over all blocks.
        unread: Numbers of texts that were answered and cannot be read.
        shared: A deterministic service: equal texts get one answer.
        seed: Of the answers.
    """
    spec = method.spec
    mentions = _mentions(method.model_dump_json(), shared=shared)
    # Each mention as `Generator.choice` draws it, but all of them in one call.
    tables = [rates] * len(spec.blocks) if isinstance(rates, np.ndarray) else rates
    edges = np.cumsum(tables, axis=-1)
    edges = (edges / edges[..., -1:])[mentions["place"].to_numpy(), mentions["value_in"].to_numpy()]
    chance = stream(seed, "answers", service, part).random((mentions.height, 1))
    drawn = (edges <= chance).sum(axis=1)[mentions["said"].to_numpy()]
    frame = mentions.with_columns(
        service=pl.lit(service),
        part=pl.lit(part),
        value_out=pl.Series(drawn, dtype=pl.Int8),
        kind=pl.Series(np.where(drawn == len(spec.values) - 1, "none", "kept")),
        status=pl.lit("answered"),
    ).filter("counts")
    gaps = {"unread": (unread, ABSTAINS, "unread"), "failed": (failed, GONE, "missing")}
    for status, (numbers, value, kind) in gaps.items():
        told = {"value_out": pl.lit(value, pl.Int8), "kind": pl.lit(kind), "status": pl.lit(status)}
        gone = pl.col("number").is_in(list(numbers))
        frame = frame.with_columns(
            pl.when(gone).then(one).otherwise(name).alias(name) for name, one in told.items()
        )
    return merge([frame])


@cache
def _mentions(method: str, *, shared: bool) -> pl.DataFrame:
    """What the summaries of an experiment have in common: a row for each mention.

    `said` is the row of the answer: of equal texts of a deterministic service that of the first one. It
    `counts` once in a block, and is `pooled` once.
    """
    experiment = TwoStep.model_validate_json(method)
    asked = pl.concat(list(experiment.design(7, "translate"))).with_row_index("number")
    key = ["message", pl.lit(0) if shared else pl.col("draw")]
    counts = pl.col("first_in_block") if shared else pl.lit(value=True)
    asked = asked.with_columns(
        place=pl.col("block").replace_strict(
            {name: place for place, name in enumerate(experiment.spec.blocks)}, return_dtype=pl.Int64
        ),
        first=pl.col("number").first().over(key),
        counts=counts,
        pooled=(pl.col("number").filter(counts).first().over(key) == pl.col("number")).cast(pl.Int64)
        if shared
        else pl.lit(1),
        slot=pl.int_ranges(pl.col("values").list.len()),
    )
    mentions = asked.explode("items", "values", "slot").with_row_index("row")
    first = mentions.select(first="number", slot="slot", said="row")
    return mentions.join(first, on=["first", "slot"], how="left", maintain_order="left").select(
        "number",
        "place",
        "said",
        "counts",
        "block",
        segment=pl.lit(0, pl.Int64),
        text="message",
        item="items",
        value_in="values",
        n=pl.lit(1, pl.Int64),
        pooled=pl.col("pooled").cast(pl.Int64),
        texts=(pl.col("slot") == 0).cast(pl.Int64),
    )
