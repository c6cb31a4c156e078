"""The parts of a service together: worst, vote, and without some of them (two-step 1.8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trustgauge.methods.two_step.settings import BY_RULE, TwoStepSettings
from trustgauge.methods.two_step.transition_model import LEVELS
from trustgauge.rating import (
    Aggregation,
    Overall,
    PartResult,
    aggregate_parts,
    joint_shares,
    largest_score,
    leading_parts,
    options_of,
    overall_reasons,
    rating_of,
)
from trustgauge.records import Interval, Json, Part, Rating, Reason
from trustgauge.stats.distributions import wilson

UNSETTLING = frozenset({"too-few-clusters", "unread-matters", "changed-during-the-run"})
"""Reasons for which a level is not settled, however the draws agree (methods 0.3, 0.5, 0.10)."""


@dataclass(frozen=True)
class TwoStepPart(PartResult):
    """A part result, and its mentions: unchanged, all."""

    same: int = 0
    mentions: int = 0

    @property
    def is_open(self) -> bool:
        """Whether something other than certainty keeps its own level from being settled."""
        return any(reason.code in UNSETTLING for reason in self.part.reasons)


def rate_parts(service: str, results: Sequence[TwoStepPart], settings: TwoStepSettings, items: int) -> Rating:
    """The rating of a service from its parts (two-step 1.8)."""
    parts = tuple(one.part for one in results)
    rule = aggregation(settings)
    overall = aggregate(results, settings)
    leading = leading_parts(parts, overall.level, or_nearest=False)
    unchanged = _unchanged(results)
    details: dict[str, Json] = {}
    reasons = overall_reasons(parts, leading, overall, rule)
    if len(parts) > 1 and overall.state == "not settled":
        is_open = {one.code: one for part in parts if part.level for one in part.reasons}
        reasons += [one for code, one in is_open.items() if code in UNSETTLING]
    without = _without(results, settings)
    if without is not None:
        details["without"] = dict(without.facts)
        reasons.append(without)
    return rating_of(
        service,
        settings,
        settings.table.name,
        parts,
        overall,
        leading,
        score=largest_score(leading),
        unchanged=unchanged,
        reasons=tuple(reasons),
        limits=limits(parts, overall.level, unchanged, settings, items),
        options=options(settings),
        details=details,
    )


def aggregation(settings: TwoStepSettings) -> Aggregation:
    """How the parts of a service become one level; two-step levels have no mean (two-step 1.8)."""
    return Aggregation(LEVELS, settings.aggregate, settings.settle, by_resamples=settings.rule == "sound")


def aggregate(results: Sequence[TwoStepPart], settings: TwoStepSettings) -> Overall:
    """The level of several parts; a part that is open must not change it, whatever its level is."""
    rule = aggregation(settings)
    able = [(one.levels, one.is_open) for one in results if one.levels is not None]

    def hangs_on_open(place: int) -> bool:
        if not any(is_open for _, is_open in able):
            return False
        filled = (
            [np.full_like(levels, level) if is_open else levels for levels, is_open in able]
            for level in range(len(LEVELS))
        )
        return any(joint_shares(one, rule)[place] < settings.settle for one in filled)

    return aggregate_parts(results, rule, hangs_on_open)


def _without(results: Sequence[TwoStepPart], settings: TwoStepSettings) -> Reason | None:
    """What the overall level would be without the parts that the plan names."""
    rest = [one for one in results if one.part.key not in settings.excluding]
    if not settings.excluding or not rest or len(rest) == len(results):
        return None
    overall = aggregate(rest, settings)
    excluded = [one.part.key for one in results if one.part.key in settings.excluding]
    facts = {
        "excluded": excluded,
        "level": overall.level,
        "state": overall.state,
        "certainty": dict(overall.certainty),
    }
    return Reason("overall.without", facts)


def _unchanged(results: Sequence[TwoStepPart]) -> Interval | None:
    """Share of all mentions of all parts that came back unchanged.

    Wilson's interval, over the mentions divided by the largest design effect of a part.
    """
    known = [one for one in results if one.mentions and one.part.unchanged is not None]
    if not known:
        return None
    if len(known) == 1:
        return known[0].part.unchanged
    same, total = sum(one.same for one in known), sum(one.mentions for one in known)
    deff = max(max(one.part.details["deff"]) for one in known)
    low, high = wilson(same / deff, total / deff)
    return Interval(same / total, low, high, total)


def limits(
    parts: tuple[Part, ...],
    level: str | None,
    unchanged: Interval | None,
    settings: TwoStepSettings,
    items: int,
) -> tuple[Reason, ...]:
    """What the rating does not say; never empty."""
    facts = {
        "texts": settings.texts,
        "patterns": len(settings.fitting),
        "pattern_names": list(settings.fitting),
        "items": items,
    }
    told = [Reason("limits.only-these-texts", facts)]
    told.append(Reason("limits.one-attribute", {"attribute": settings.table.name}))
    if level == "UCS" and unchanged is not None and unchanged.value is not None:
        told.append(Reason("limits.ucs-not-accurate", {"unchanged": unchanged.value, "n": unchanged.n}))
    pooled = np.array([part.details["matrix"] for part in parts]).sum(axis=0)
    sent = pooled[:-1]
    if sent[:, -1].sum() and settings.loss == "category":
        share = float(sent[:, -1].sum() / sent.sum())
        told.append(Reason("limits.loss", {"share": share, "n": int(sent.sum())}))
    told.append(Reason("limits.one-day", {}))
    return tuple(told)


def options(settings: TwoStepSettings) -> dict[str, Json]:
    """The size of the experiment, and every option that differs from what its rule set means."""
    return options_of(settings, ("attribute",), BY_RULE[settings.rule], always=("texts",))
