"""Missing answers: when too many are missing to rate (methods 0.4); what unread ones mean (methods 0.10)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from trustgauge.methods.two_step.counts import PartCounts
from trustgauge.rating.missing_data import (
    MissingCell,
    cell_reasons,
    class_reasons,
    overall_reasons,
    unread_facts,
)
from trustgauge.records import Reason
from trustgauge.stats.distributions import Ints


def missing_reasons(tallied: PartCounts, spec: Any) -> tuple[Reason, ...]:
    """Why the part is incomplete: every rule of methods 0.4 that is broken, none if it is not.

    More than 2 % of the responses are missing overall, more than 5 % of the mentions of a cell
    (block x value in), or the mentions of two values differ: Fisher p < .01 and more than
    2 points. Missing are `failed` responses. Cells and values count mentions, so that a text
    which loses two of them weighs twice: this errs towards `incomplete`.
    """
    whole = MissingCell("all texts", tallied.coverage.failed, tallied.coverage.planned)
    cells = (
        MissingCell(
            f"{spec.values[value]} in {name}",
            int(tallied.missing[block, value]),
            int(tallied.sent[block, value]),
        )
        for block, name in enumerate(spec.blocks)
        for value in tallied.inputs
    )
    return (*overall_reasons(whole), *cell_reasons(cells), *_classes(tallied.missing, tallied.sent, spec))


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
    facts = unread_facts(gone, planned)
    if to_read == 0:
        return (Reason("unread-does-not-matter", facts),)
    told = Reason("unread-matters", facts | ({"to_read": to_read} if to_read else {}))
    return (told, *_classes(tallied.unread, tallied.sent, spec, "unread-differs"))


def _classes(gone: Ints, sent: Ints, spec: Any, code: str = "incomplete-loss") -> Iterator[Reason]:
    """Pairs of values of which one lost more mentions than the other, of [B, C] each."""
    sums = zip(spec.values, gone.sum(axis=0).tolist(), sent.sum(axis=0).tolist(), strict=True)
    for one, other in combinations([MissingCell(*each) for each in sums if each[-1]], 2):
        yield from class_reasons(one, other, code)
