"""The parts of a service together: the worst, the mean rounded up, or a vote (causal 2.9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from trustgauge.methods.causal.measures import lowest
from trustgauge.methods.causal.ordering import aggregate
from trustgauge.methods.causal.panel import Floats
from trustgauge.methods.causal.part_assessment import Levels, capped
from trustgauge.methods.causal.settings import BY_RULE, CausalSettings
from trustgauge.records import Interval, Json, Part, Rating, Reason, Scale, State


@dataclass(frozen=True)
class Judged:
    """A part, and its levels resample by resample; None if incomplete.

    Attributes:
        effects: the corrected effect of each resample, [R].
        apart, effect: as of `findings.Found`, from which intervals follow.
        weak: an effect that its family of tests does not find.
        few: too few clusters, or something else that keeps the level from being settled.
        most: certainty can be no larger than this.
    """

    part: Part
    levels: Levels | None
    effects: Floats | None = None
    apart: Floats | None = None
    effect: float = float("nan")
    weak: bool = False
    few: bool = False
    most: float = 1.0


def together(
    service: str,
    judged: Sequence[Judged],
    settings: CausalSettings,
    attribute: str,
    scale: Scale,
    details: Mapping[str, Json],
) -> Rating:
    """The rating of a service from its parts.

    Certainty aggregates independent resamples of the parts, so that many half-certain parts
    honestly add up to `not settled`.
    """
    parts = tuple(one.part for one in judged)
    # What is no causal design has no level, and takes none away (causal 2.8a).
    causal = [one for one in judged if one.part.state != "not tested"]
    level, state, certainty = _verdict(causal, settings, scale) if causal else (None, "not tested", {})
    leading = _leading(parts, level)
    return Rating(
        service=service,
        method=settings.method,
        version=settings.version,
        rule=settings.rule,
        attribute=attribute,
        scale=scale,
        state=state,
        level=level,
        certainty=certainty,
        parts=parts,
        score=_score(leading, causal) if settings.rule == "sound" else _largest(parts),
        worst=tuple(part.key for part in leading),
        reasons=tuple(_reasons(parts, leading, level, state, certainty, settings)),
        limits=_limits(parts, settings),
        options=_options(settings),
        details=details,
    )


def _verdict(
    judged: Sequence[Judged], settings: CausalSettings, scale: Scale
) -> tuple[str | None, State, dict[str, float]]:
    able = [one for one in judged if one.levels is not None]
    missing = len(judged) - len(able)
    if not able or (missing and not _stands(able, missing, settings, scale)):
        unread = all(one.part.state == "not settled" for one in judged if one.levels is None)
        return None, "not settled" if unread else "incomplete", {}
    if len(judged) == 1:
        part = able[0].part
        return part.level, part.state, dict(part.certainty)
    joint = _joint(able, missing, settings, scale)
    if settings.rule == "sound":
        place = len(joint) - 1 - int(np.argmax(joint[::-1]))
    else:
        given = [scale.levels.index(str(one.part.level)) for one in able]
        place = int(aggregate(np.array(given), settings.aggregate))
    level = scale.levels[place]
    certainty = dict(zip(scale.levels, joint.tolist(), strict=True))
    certainty = capped(certainty, level, min(one.most for one in able))
    settled = certainty[level] >= settings.settle and not any(one.few for one in able)
    leading = [one for one in able if one.part.level == level]
    if settings.rule == "sound" and place > 0 and all(one.weak for one in leading):
        settled = False
    return level, "rated" if settled else "not settled", certainty


def _leading(parts: Sequence[Part], level: str | None) -> list[Part]:
    """The parts that decide: those at the level, else the one that is likeliest to be at it.

    Several parts that may each be at a level add up to one that none of them has by itself.
    """
    able = [part for part in parts if part.level is not None]
    if level is None or not able:
        return []
    return [part for part in able if part.level == level] or [
        max(able, key=lambda part: part.certainty.get(level, 0.0))
    ]


def _joint(able: Sequence[Judged], missing: int, settings: CausalSettings, scale: Scale) -> Floats:
    """Share of the resamples at each level; parts that could not be rated are as unlike as can be."""
    fewest = min(len(one.levels) for one in able if one.levels is not None)
    drawn = np.stack([one.levels[:fewest] for one in able if one.levels is not None], axis=-1)
    fills = range(len(scale.levels)) if missing else (0,)
    joint = [
        np.bincount(
            aggregate(np.pad(drawn, ((0, 0), (0, missing)), constant_values=level), settings.aggregate),
            minlength=len(scale.levels),
        )
        for level in fills
    ]
    return np.asarray(min(joint, key=lambda counts: int(counts.max())) / fewest)


def _stands(able: Sequence[Judged], missing: int, settings: CausalSettings, scale: Scale) -> bool:
    """Whether the overall level is the same whatever the parts that could not be rated are."""
    given = [scale.levels.index(str(one.part.level)) for one in able]
    filled = [[*given, *[level] * missing] for level in range(len(scale.levels))]
    return len({int(aggregate(np.array(one), settings.aggregate)) for one in filled}) == 1


def _score(leading: Sequence[Part], judged: Sequence[Judged]) -> Interval | None:
    """The largest effect of the parts that decide, with the interval of the largest of all parts.

    That is no smaller than any part is, and no larger than all may be; that one of them looks large
    is likelier the more there are, so the lower ends share the 5 % (Bonferroni).
    """
    largest = _largest(leading)
    able = [one for one in judged if one.effects is not None and one.apart is not None]
    if largest is None or largest.value is None or len(able) < 2:
        return largest
    lows = [
        lowest(one.effects, one.apart, one.effect, len(able))
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


def _reasons(
    parts: Sequence[Part],
    leading: Sequence[Part],
    level: str | None,
    state: State,
    certainty: Mapping[str, float],
    settings: CausalSettings,
) -> list[Reason]:
    """How the overall level follows from the parts; a single part's own reasons are its own."""
    if len(parts) == 1:
        return list(parts[0].reasons)
    if level is None:
        return [reason for part in parts if part.state == state for reason in part.reasons][:1]
    able = [part for part in parts if part.level is not None]
    facts: dict[str, Json] = {"level": level, "of": len(able), "tested": len(able), "planned": len(parts)}
    facts["parts"] = [part.key for part in leading]
    told = []
    if settings.aggregate == "vote":
        told.append(Reason("overall.vote", {**facts, "votes": len(leading)}))
    else:
        told.append(Reason("overall.worst-part" if settings.aggregate == "worst" else "overall.mean", facts))
    if state == "not settled":
        share = certainty[level]
        told.append(Reason("not-settled", {"certainty": share, "level": level, "settle": settings.settle}))
    return told


def _limits(parts: Sequence[Part], settings: CausalSettings) -> tuple[Reason, ...]:
    """What the rating does not say; never empty."""
    words = sorted({word for part in parts for held in part.details["words"].values() for word in held})
    facts: dict[str, Json] = {
        "sets": sorted({name for part in parts for name in part.details["words"]}),
        "words": words,
        "frames": max((part.details["frames"] for part in parts), default=0),
        "persons": max((part.details["persons"] for part in parts), default=0),
        "texts": max((part.counts["texts"] for part in parts), default=0),
    }
    told = []
    if settings.conversations is not None:
        facts["conversations"] = max((part.details["clusters"] for part in parts), default=0)
        told.append(Reason("limits.these-conversations", facts))
        told.append(Reason("limits.proxy", {"proxy": settings.conversations.proxy}))
    else:
        code = "limits.these-words" if words or facts["persons"] else "limits.these-texts"
        told.append(Reason(code, facts))
        if any("race" in part.details["protected"] for part in parts):
            told.append(Reason("limits.names", {}))
    adjust = next((part.details.get("adjust") for part in parts if part.level), None)
    if adjust:
        told.append(Reason("limits.adjusted", {"adjust": adjust}))
    if settings.rule != "sound":
        told.append(Reason("limits.relative-order", {}))
        if settings.confounded:
            told.append(Reason("limits.observed", {}))
    return (*told, Reason("limits.one-day", {}))


def _options(settings: CausalSettings) -> dict[str, Json]:
    """Every option that differs from what its rule set means."""
    given = settings.identity()
    usual = {
        name: field.get_default(call_default_factory=True)
        for name, field in type(settings).model_fields.items()
    }
    usual |= BY_RULE[settings.rule]
    plain = {name: _plain(value) for name, value in usual.items()}
    left_out = {"method", "services", "rule", "before"}
    return {name: value for name, value in given.items() if name not in left_out and value != plain[name]}


def _plain(value: Json) -> Json:
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    return [_plain(one) for one in value] if isinstance(value, tuple | list) else value
