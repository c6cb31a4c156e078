"""Missing answers: when too many are missing to rate (methods 0.4); what unread ones mean (methods 0.10)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np

from trustgauge.methods.two_step.counts import PartCounts
from trustgauge.records import Reason
from trustgauge.stats.comparisons import fisher_exact
from trustgauge.stats.distributions import Ints

OVERALL = 0.02
CELL = 0.05
BETWEEN_CLASSES = 0.02
CLASS_P = 0.01


def missing_reasons(tallied: PartCounts, spec: Any) -> tuple[Reason, ...]:
    """Why the part is incomplete: every rule of methods 0.4 that is broken, none if it is not.

    More than 2 % of the responses are missing overall, more than 5 % of the mentions of a cell
    (block x value in), or the mentions of two values differ: Fisher p < .01 and more than
    2 points. Missing are `failed` responses. Cells and values count mentions, so that a text
    which loses two of them weighs twice: this errs towards `incomplete`.
    """
    coverage = tallied.coverage
    gone = coverage.failed
    found = []
    if coverage.planned and gone > OVERALL * coverage.planned:
        found.append(_reason("all texts", gone, coverage.planned))
    return (*found, *_cells(tallied, spec), *_classes(tallied.missing, tallied.sent, spec, "incomplete-loss"))


def unread_reasons(tallied: PartCounts, spec: Any, to_read: int | None) -> tuple[Reason, ...]:
    """What is told of mentions that the reader does not understand (methods 0.10); nothing without any.

    Args:
        tallied: The counts of a part.
        spec: The specification.
        to_read: How many of them must be read to settle the level; 0 if they do not matter, None if
            reading all of them would not settle it.
    """
    gone, planned = int(tallied.unread.sum()), int(tallied.sent.sum())
    if not gone:
        return ()
    facts: dict[str, Any] = {"share": gone / planned, "unread": gone, "planned": planned}
    if to_read == 0:
        return (Reason("unread-does-not-matter", facts),)
    told = Reason("unread-matters", facts | ({"to_read": to_read} if to_read else {}))
    return (told, *_classes(tallied.unread, tallied.sent, spec, "unread-differs"))


def _cells(tallied: PartCounts, spec: Any) -> Iterator[Reason]:
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


def _classes(by_block: Ints, sent_by_block: Ints, spec: Any, code: str) -> Iterator[Reason]:
    """Pairs of values of which one lost more mentions than the other, of [B, C] each."""
    gone, sent = by_block.sum(axis=0), sent_by_block.sum(axis=0)
    for one, other in combinations(range(len(sent)), 2):
        if not sent[one] or not sent[other]:
            continue
        apart = abs(gone[one] / sent[one] - gone[other] / sent[other])
        p = fisher_exact(
            np.array([[gone[one], sent[one] - gone[one]], [gone[other], sent[other] - gone[other]]])
        )
        if p < CLASS_P and apart > BETWEEN_CLASSES:
            worse = max((one, other), key=lambda value: gone[value] / sent[value])
            facts = {"against": spec.values[other if worse == one else one], "p": p}
            yield _reason(spec.values[worse], int(gone[worse]), int(sent[worse]), facts, code)


def _reason(
    where: str, gone: int, planned: int, more: dict[str, Any] | None = None, code: str = "incomplete-loss"
) -> Reason:
    facts = {"share": gone / planned, "where": where, "missing": gone, "planned": planned, **(more or {})}
    return Reason(code, facts)
