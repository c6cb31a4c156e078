"""Summaries of made-up services of known rates, for the tests of rating."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trustgauge.methods.two_step.method import TwoStep
from trustgauge.methods.two_step.score import ABSTAINS, GONE, SUMMARY, merge
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
    tables = [rates] * len(spec.blocks) if isinstance(rates, np.ndarray) else list(rates)
    rng = stream(seed, "answers", service, part)
    rows: list[tuple[Any, ...]] = []
    said: dict[tuple[str, int], list[int]] = {}
    blocks_of: dict[tuple[str, int], str] = {}
    probes = pl.concat(list(method.design(7, "translate")))
    for number, probe in enumerate(probes.iter_rows(named=True)):
        table = tables[spec.blocks.index(probe["block"])]
        drawn = [int(rng.choice(len(spec.values), p=table[value])) for value in probe["values"]]
        key = (probe["message"], probe["draw"] if not shared else 0)
        outputs = said.setdefault(key, drawn)
        if shared and not probe["first_in_block"]:
            continue
        new = not shared or key not in blocks_of
        blocks_of[key] = probe["block"]
        gone = number in failed
        for slot, (item, value) in enumerate(zip(probe["items"], probe["values"], strict=True)):
            kind = "none" if outputs[slot] == len(spec.values) - 1 else "kept"
            read, status = outputs[slot], "answered"
            if gone:
                kind, read, status = "missing", GONE, "failed"
            elif number in unread:
                kind, read, status = "unread", ABSTAINS, "unread"
            keys = (service, part, probe["block"], 0, probe["message"], item, value, read, kind, status)
            rows.append((*keys, 1, int(new), int(slot == 0)))
    frame = pl.DataFrame(rows, schema=dict(SUMMARY), orient="row")
    return merge([frame])
