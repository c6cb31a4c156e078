"""The parts of a service together: the worst, the mean rounded up, or a vote (causal 2.9)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from trustgauge.methods.causal.measures import lowest
from trustgauge.methods.causal.panel import Floats
from trustgauge.methods.causal.settings import BY_RULE, CausalSettings
from trustgauge.rating import (
    Aggregation,
    Overall,
    PartResult,
    aggregate_parts,
    leading_parts,
    least_share,
    not_settled_reason,
    options_of,
    overall_reasons,
    rating_of,
)
from trustgauge.records import Interval, Json, Part, Rating, Reason

CHANGED = "changed-during-the-run"
"""A reason of one part that says of the service that it was not the same throughout."""


@dataclass(frozen=True)
class CausalPart(PartResult):
    """A part result.

    Attributes:
        effects: the corrected effect of each resample, [R].
        apart, effect: as of `measures.Measurement`, from which intervals follow.
        weak: an effect that its family of tests does not find.
        possible: no effect, though an effect is not ruled out.
        few: too few clusters, or something else that keeps the level from being settled.
        guessed: another level is the likeliest with other readings of what was not read.
        least: the lower end of the interval of the effect where unread answers matter.
    """

    effects: Floats | None = None
    apart: Floats | None = None
    effect: float = float("nan")
    weak: bool = False
    possible: bool = False
    few: bool = False
    guessed: bool = False
    least: float | None = None


def rate_parts(
    service: str,
    results: Sequence[CausalPart],
    settings: CausalSettings,
    attribute: str,
    details: Mapping[str, Json],
) -> Rating:
    """The rating of a service from its parts (causal 2.9)."""
    parts = tuple(one.part for one in results)
    sound = settings.rule == "sound"
    rule = Aggregation(settings.scale_in_use.levels, settings.aggregate, settings.settle, by_resamples=sound)
    # What is no causal design has no level, and takes none away (causal 2.8a).
    causal = [one for one in results if one.part.state != "not tested"]
    overall = _overall(causal, rule) if causal else Overall(None, "not tested")
    leading = leading_parts(parts, overall.level)
    reasons = overall_reasons(parts, leading, overall, rule)
    certain = bool(overall.certainty) and overall.share >= rule.settle
    if len(parts) > 1 and overall.state == "not settled" and overall.level and certain:
        reasons.append(not_settled_reason(overall.share, overall.level, rule.settle))
    return rating_of(
        service,
        settings,
        attribute,
        parts,
        overall,
        leading,
        score=_score(leading, causal) if sound else _largest(parts),
        reasons=tuple(reasons),
        limits=_limits(parts, settings),
        options=options_of(settings, ("before",), BY_RULE[settings.rule]),
        details=details,
    )


def _overall(results: Sequence[CausalPart], rule: Aggregation) -> Overall:
    def is_open(place: int) -> bool:
        if any(reason.code == CHANGED for one in results for reason in one.part.reasons):
            return True
        leads = any(one.part.level == rule.names[place] for one in results)
        if place and rule.by_resamples and rule.how == "worst" and not leads:
            return True  # several that may each be chance
        share = least_share(results, rule, place, lambda one: _may_be(one, place, rule))
        return share < rule.settle

    overall = aggregate_parts(results, rule, is_open)
    if overall.state == "not settled" and any(one.guessed for one in results):
        overall = replace(overall, certainty={})  # of a level that depends on what was not read
    unread = all(one.part.state == "not settled" for one in results if one.levels is None)
    return Overall(None, "not settled") if overall.level is None and unread else overall


def _may_be(one: CausalPart, place: int, rule: Aggregation) -> Collection[int]:
    """The levels that an open part may have, where it is asked whether a place on the scale is settled.

    An effect that is not ruled out speaks against none alone; one that is not found may be none.
    """
    if one.few or (one.possible and place == 0 and rule.by_resamples):
        return range(len(rule.names))
    if one.weak and rule.by_resamples:
        return range(rule.names.index(str(one.part.level)) + 1)
    return ()


def _score(leading: Sequence[Part], results: Sequence[CausalPart]) -> Interval | None:
    """The largest effect of the parts that decide, with the interval of the largest of all parts.

    That is no smaller than any part is, and no larger than all may be; that one of them looks large
    is likelier the more there are, so the lower ends share the 5 % (Bonferroni).
    """
    largest = _largest(leading)
    able = [one for one in results if one.effects is not None and one.apart is not None]
    if largest is None or largest.value is None or len(able) < 2:
        return largest
    lows = [
        lowest(one.effects, one.apart, one.effect, len(able)) if one.least is None else one.least
        for one in able
        if one.effects is not None and one.apart is not None
    ]
    highs = [one.part.score.high for one in able if one.part.score and one.part.score.high is not None]
    return replace(largest, low=min(largest.value, max(lows)), high=max(largest.value, *highs))


def _largest(parts: Sequence[Part]) -> Interval | None:
    """The largest effect of some parts.

    Of all parts where the level is relative: the part at the worst place may have a small effect, and
    by the largest systems are ordered and compared.
    """
    scores = [part.score for part in parts if part.score and part.score.value is not None]
    return max(scores, key=lambda one: one.value or 0.0, default=None)


def _limits(parts: Sequence[Part], settings: CausalSettings) -> tuple[Reason, ...]:
    """What the rating does not say; never empty."""
    words = sorted({word for part in parts for group in part.details["words"].values() for word in group})
    facts: dict[str, Json] = {
        "sets": sorted({name for part in parts for name in part.details["words"]}),
        "words": words,
        "frames": max((part.details["frames"] for part in parts), default=0),
        "persons": max((part.details["persons"] for part in parts), default=0),
        "texts": max((part.counts["texts"] for part in parts), default=0),
    }
    limits = []
    if settings.conversations is not None:
        facts["conversations"] = max((part.details["clusters"] for part in parts), default=0)
        limits.append(Reason("limits.these-conversations", facts))
        limits.append(Reason("limits.proxy", {"proxy": settings.conversations.proxy}))
    else:
        source = settings.sentences
        generated = source is None
        # Frames and persons of a table that turned out to be no design say nothing.
        undone = source is not None and source.matched and not settings.matched
        by_words = generated or words or facts["persons"]
        code = "limits.these-words" if by_words and not undone else "limits.these-texts"
        limits.append(Reason(code, facts if words or not generated else {}))  # {}: no answer could be used
        if any("race" in part.details["protected"] for part in parts):
            limits.append(Reason("limits.names", {}))
    adjust = next((part.details.get("adjust") for part in parts if part.level), None)
    if adjust:
        limits.append(Reason("limits.adjusted", {"adjust": adjust}))
    if settings.rule != "sound":
        limits.append(Reason("limits.relative-order", {}))
        if settings.confounded:
            limits.append(Reason("limits.observed", {}))
    return (*limits, Reason("limits.one-day", {}))
