"""Missing answers: when too many are missing to rate, and when they do not matter (methods 0.4)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np

from trustgauge.methods.two_step.tallies import Tallies
from trustgauge.records import Reason
from trustgauge.stats.comparisons import fisher_exact

OVERALL = 0.02
CELL = 0.05
BETWEEN_CLASSES = 0.02
CLASS_P = 0.01


def losses(tallied: Tallies, spec: Any) -> tuple[Reason, ...]:
    """Why the part is incomplete: every rule of methods 0.4 that is broken, none if it is not.

    More than 2 % of the responses are missing overall, more than 5 % of the mentions of a cell
    (block x value in), or the mentions of two values differ: Fisher p < .01 and more than
    2 points. Missing are `failed` and `unreadable` responses. Cells and values count mentions,
    so that a text which loses two of them weighs twice: this errs towards `incomplete`.
    """
    coverage = tallied.coverage
    gone = coverage.failed + coverage.unreadable
    found = []
    if coverage.planned and gone > OVERALL * coverage.planned:
        found.append(_reason("all texts", gone, coverage.planned))
    return (*found, *_cells(tallied, spec), *_classes(tallied, spec))


def _cells(tallied: Tallies, spec: Any) -> Iterator[Reason]:
    """The cell that lost most, if too much; `cells` says how many lost too much."""
    broken = []
    for block, name in enumerate(spec.blocks):
        for value in tallied.inputs:
            gone, sent = int(tallied.missing[block, value]), int(tallied.sent[block, value])
            if gone > CELL * sent:
                broken.append((gone / sent, f"{spec.values[value]} in {name}", gone, sent))
    if broken:
        _, where, gone, sent = max(broken, key=lambda cell: cell[0])
        yield _reason(where, gone, sent, {"cells": len(broken)})


def _classes(tallied: Tallies, spec: Any) -> Iterator[Reason]:
    gone, sent = tallied.missing.sum(axis=0), tallied.sent.sum(axis=0)
    for one, other in combinations(tallied.inputs.tolist(), 2):
        if not sent[one] or not sent[other]:
            continue
        apart = abs(gone[one] / sent[one] - gone[other] / sent[other])
        p = fisher_exact(
            np.array([[gone[one], sent[one] - gone[one]], [gone[other], sent[other] - gone[other]]])
        )
        if p < CLASS_P and apart > BETWEEN_CLASSES:
            worse = max((one, other), key=lambda value: gone[value] / sent[value])
            facts = {"against": spec.values[other if worse == one else one], "p": p}
            yield _reason(spec.values[worse], int(gone[worse]), int(sent[worse]), facts)


def _reason(where: str, gone: int, planned: int, more: dict[str, Any] | None = None) -> Reason:
    facts = {"share": gone / planned, "where": where, "missing": gone, "planned": planned, **(more or {})}
    return Reason("incomplete-loss", facts)
