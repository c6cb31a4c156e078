"""Which issues of a rating may change its level, from what the rating says (trust 4.4)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from trustgauge.methods.trust.combine import (
    ANYTHING,
    PUBLISHED_RULE,
    Combination,
    IssueValue,
    pivotal_issues,
)
from trustgauge.methods.trust.issues.issue import LEVELS
from trustgauge.methods.trust.order_sensitivity import issue_at_score
from trustgauge.methods.trust.profiles import IssueOrder
from trustgauge.methods.trust.view_sentences import by_rule

if TYPE_CHECKING:
    from trustgauge.reports.document_model import PartEntry, RatingEntry


def pivotal(rating: RatingEntry, possible: Mapping[str, Collection[str]]) -> list[str]:
    """The issues of the order that may change the level for some levels of the others.

    Args:
        rating: for one profile.
        possible: the levels that each issue may turn out to have.
    """
    order = IssueOrder(tuple(tuple(place) for place in rating["details"]["order"]))
    if rating["details"].get("mode") == "per-utterance":  # levels of issues are not what is combined
        return list(order.issues)
    values = {
        str(part["key"]): tuple(_values(part, possible[str(part["key"])]))
        for part in rating["parts"]
        if part["level"] in LEVELS and part["state"] != "assumed"
    }
    return pivotal_issues(order, values, _rule(rating).among(len(order.issues)))


def _rule(rating: RatingEntry) -> Combination:
    given = rating["method"]["options"].get("combination")
    if given is not None:
        return Combination.model_validate(given)
    return Combination() if rating["method"]["rule"] == "sound" else PUBLISHED_RULE


def _values(part: PartEntry, levels: Collection[str]) -> Iterator[IssueValue]:
    """What an issue may turn out to be: of its own level its score, of any level of an open one both ends."""
    if set(levels) == set(LEVELS):
        yield from ANYTHING
        return
    cuts: Any = part["details"].get("cuts")
    own = None if by_rule(part) or not cuts else (cuts[0], cuts[1])
    if part["state"] != "not settled":
        at = LEVELS.index(str(part["level"]))
        score = float(part["score"] or 0.0)
        yield replace(IssueValue.at(at), score=score) if own is None else issue_at_score(score, own)
        return
    for level in map(LEVELS.index, levels):
        if own is None:
            yield IssueValue.at(level)
            continue
        low, high = own
        ends = ((0.0, np.nextafter(low, 0)), (low, high), (np.nextafter(high, 1), 1.0))[level]
        yield from (issue_at_score(float(end), own) for end in ends)
