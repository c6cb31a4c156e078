"""Answers that are missing or cannot be read, and when they do not matter (methods 0.4, 0.10).

An answer that never came is missing. One that came and cannot be read is not: it is bounded only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from trustgauge.methods.trust.issues.issue import LEVELS, TALK, IssueAssessment, IssueSettings
from trustgauge.methods.trust.levels import levels
from trustgauge.methods.trust.resampling import Ints
from trustgauge.rating import (
    CELL,
    MissingCell,
    least_certain,
    loss_reason,
    missing_answer_reasons,
    most_likely,
    unread_facts,
)
from trustgauge.records import Reason

STATUS = "status:"
"""Before a status in the keys of cells; their cluster is the purpose of the turns."""
MISSING, UNREAD = ("failed",), ("unreadable",)

MOST_UNREAD = 0.02
"""Share of utterances in other languages from which a level may depend on them (methods 0.4)."""

Lost = Mapping[str, tuple[int, int]]
"""Purpose of turns -> missing and planned ones."""


def counts_by_purpose(rows: pl.DataFrame, statuses: Sequence[str] = MISSING) -> Lost:
    """What is missing, or has another of these statuses, of the turns of one service.

    Args:
        rows: of the summary.
        statuses: that are counted.
    """
    status = rows.filter(pl.col("key").str.starts_with(STATUS))
    gone = pl.col("key").str.strip_prefix(STATUS).is_in(list(statuses))
    sums = status.group_by("cluster").agg(pl.col("n").filter(gone).sum().alias("gone"), pl.col("n").sum())
    return {purpose: (int(gone), int(n)) for purpose, gone, n in sums.sort("cluster").iter_rows()}


def after_loss(
    issue: IssueSettings, found: IssueAssessment, lost: Lost, cuts: tuple[float, float], settle: float
) -> IssueAssessment:
    """The issue as it stands with what is missing: as found, or incomplete.

    More than 2 % of all turns, or more than 5 % of those of a purpose that the issue is read from, are
    too many, unless the level stays with all of them at best and at worst; it is then as certain as in the
    filling that is least certain of it.

    Args:
        issue: its settings.
        found: what the answers say.
        lost: what is missing.
        cuts: of its levels.
        settle: certainty from which a level is settled.
    """
    too_many = _too_many(issue.name, lost)
    if too_many is None:
        return found
    if _nothing_scored(found):
        return replace(found, state="incomplete", reasons=(too_many,))
    if found.state != "rated":
        return found
    filled = _filled(issue, found, lost, cuts)
    if filled is not None:
        certain = (_certainty(found.levels), _certainty(filled))
        reason = loss_reason(too_many.facts["missing"], too_many.facts["planned"], certain, settle)
        return replace(found, levels=filled, reasons=(*found.reasons, reason))
    reasons = (too_many, *found.reasons)
    return replace(found, state="incomplete", level=None, levels=None, draws=None, reasons=reasons)


def after_unread(
    issue: IssueSettings, found: IssueAssessment, unread: Lost, cuts: tuple[float, float]
) -> IssueAssessment:
    """The issue with answers that came and cannot be read: as found, or open (methods 0.10).

    Args:
        issue: its settings.
        found: what the answers say.
        unread: how many cannot be read.
        cuts: of its levels.
    """
    count, planned = _sum(_own(issue.name, unread))
    if count and _nothing_scored(found):
        return replace(
            found, state="incomplete", reasons=(Reason("unread-matters", unread_facts(count, planned)),)
        )
    if found.state != "rated" or found.levels is None or not count:
        return found
    facts = unread_facts(count, planned)
    filled = _filled(issue, found, unread, cuts)
    if filled is None:
        return replace(found, reasons=(*found.reasons, Reason("unread-matters", facts)))
    reason = Reason("unread-does-not-matter", facts)
    return replace(found, levels=filled, reasons=(*found.reasons, reason))


def after_unread_languages(
    found: IssueAssessment, unread: tuple[int, int], filled: Sequence[float], cuts: tuple[float, float]
) -> IssueAssessment:
    """The issue with utterances in languages that its scorer does not read: as found, or incomplete.

    More than 2 % of them are too many, unless they could not change the level.

    Args:
        found: what the others say.
        unread: how many there are, and of how many.
        filled: the score with all of them at best and at worst.
        cuts: of its levels.
    """
    count, utterances = unread
    if found.state != "rated" or count <= MOST_UNREAD * utterances:
        return found
    if len(set(levels(np.array(filled), cuts).tolist())) == 1:
        same = Reason("unread-does-not-matter", unread_facts(count, utterances))
        return replace(found, reasons=(*found.reasons, same))
    facts = {"unread": count, "utterances": utterances}
    reasons = (*found.reasons, Reason("trust.language-not-read", facts))
    return replace(found, state="incomplete", draws=None, levels=None, level=None, reasons=reasons)


def _certainty(drawn: Ints | None) -> float:
    """The share of the resamples that have the likeliest level; 1 without any."""
    return 1.0 if drawn is None else float((drawn == most_likely(drawn)).mean())


def _nothing_scored(found: IssueAssessment) -> bool:
    """Whether it was asked, and nothing of what came could be scored."""
    return found.state == "not tested" and any(one.code == "trust.nothing-to-score" for one in found.reasons)


def _too_many(name: str, lost: Lost) -> Reason | None:
    """The rule of methods 0.4 that is broken, if one is."""
    for reason in missing_answer_reasons(MissingCell("all turns", *_sum(lost))):
        return reason
    cells = (MissingCell(f"{purpose} turns", *counts) for purpose, counts in _own(name, lost).items())
    return next((cell.reason() for cell in cells if cell.missing > CELL * cell.planned), None)


def _filled(
    issue: IssueSettings, found: IssueAssessment, lost: Lost, cuts: tuple[float, float]
) -> Ints | None:
    """The levels of the resamples in the filling that is least certain, if all have the same likeliest level.

    Every missing answer is put at 0 and at 1. Known for means, where a missing turn takes one utterance,
    and for a highest level that follows from something found: it stays found.
    """
    if found.levels is None:
        return None
    if not found.common:
        return found.levels if bool((found.levels == len(LEVELS) - 1).all()) else None
    if issue.grain == "session" or found.draws is None:
        return None
    share = max(gone / planned for gone, planned in (_sum(lost), _sum(_own(issue.name, lost))) if planned)
    fillings = [levels(found.draws * (1 - share) + fill, cuts) for fill in (0.0, share)]
    readings = [(most_likely(one), one) for one in fillings]
    least = least_certain(most_likely(found.levels), found.levels, readings)
    return None if least is None else least.astype(np.int64)


def _own(name: str, lost: Lost) -> Lost:
    """Of the turns that an issue is read from: ordinary conversation, and its own scripts."""
    return {purpose: one for purpose, one in lost.items() if purpose in (TALK, name)}


def _sum(lost: Lost) -> tuple[int, int]:
    return sum(gone for gone, _ in lost.values()), sum(planned for _, planned in lost.values())
