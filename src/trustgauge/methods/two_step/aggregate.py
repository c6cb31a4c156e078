"""The parts of a service together: worst, vote, and without some of them (two-step 1.8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trustgauge.methods.two_step.settings import BY_RULE, TwoStepSettings
from trustgauge.methods.two_step.transition_model import LEVELS, level_shares
from trustgauge.records import Interval, Json, Part, Rating, Reason, State
from trustgauge.stats.intervals import wilson

Levels = NDArray[np.int8]

UNSETTLING = frozenset({"too-few-clusters", "unread-matters", "changed-during-the-run"})
"""Reasons for which a level is not settled, however the draws agree (methods 0.3, 0.5, 0.10)."""


@dataclass(frozen=True)
class Judgement:
    """A part, its levels draw by draw (None if incomplete), and its mentions: unchanged, all."""

    part: Part
    levels: Levels | None
    same: int
    mentions: int


@dataclass(frozen=True)
class Verdict:
    """What some parts amount to together."""

    level: str | None
    state: State
    certainty: dict[str, float]


def together(service: str, judgements: Sequence[Judgement], settings: TwoStepSettings, items: int) -> Rating:
    """The rating of a service from its parts.

    Certainty aggregates independent draws of the parts, so that many half-certain parts honestly
    add up to `not settled`. Parts without a level take no part in it; the rating says so.
    """
    parts = tuple(judgement.part for judgement in judgements)
    verdict = aggregate(judgements, settings)
    leading = [part for part in parts if part.level is not None and part.level == verdict.level]
    unchanged = _unchanged(judgements)
    details: dict[str, Json] = {}
    reasons = list(_reasons(parts, leading, verdict, settings))
    without = _without(judgements, settings)
    if without is not None:
        details["without"] = dict(without.facts)
        reasons.append(without)
    return Rating(
        service=service,
        method=settings.name,
        version=settings.version,
        rule=settings.rule,
        attribute=settings.table.name,
        scale=settings.scale,
        state=verdict.state,
        level=verdict.level,
        certainty=verdict.certainty,
        parts=parts,
        score=max(
            (part.score for part in leading if part.score),
            key=lambda score: score.value or 0.0,
            default=None,
        ),
        unchanged=unchanged,
        worst=tuple(part.key for part in leading),
        reasons=tuple(reasons),
        limits=limits(parts, verdict.level, unchanged, settings, items),
        options=options(settings),
        details=details,
    )


def aggregate(judgements: Sequence[Judgement], settings: TwoStepSettings) -> Verdict:
    """The level of several parts, with the share of the joint draws that give it.

    `worst`: the worst level; `vote`: the most frequent, ties to the worse. Under `sound` the level
    is that of most joint draws; under the other rules it follows from the levels of the parts.
    """
    able = [one for one in judgements if one.levels is not None]
    missing = sum(one.part.state == "incomplete" for one in judgements)
    if not able or (missing and not _stands(able, missing, settings)):
        return Verdict(None, "incomplete", {})
    if len(able) == 1:
        part = able[0].part
        return Verdict(part.level, part.state, dict(part.certainty))
    drawn = np.stack([one.levels for one in able if one.levels is not None])
    shares = level_shares(_joined(drawn, settings.aggregate))
    if settings.rule == "sound":
        place = len(LEVELS) - 1 - int(np.argmax(shares[::-1]))
    else:
        given = np.array([[LEVELS.index(str(one.part.level))] for one in able], dtype=np.int8)
        place = int(_joined(given, settings.aggregate)[0])
    settled = shares[place] >= settings.settle and _holds(able, place, settings)
    certainty = dict(zip(LEVELS, shares.tolist(), strict=True))
    return Verdict(LEVELS[place], "rated" if settled else "not settled", certainty)


def _stands(able: Sequence[Judgement], missing: int, settings: TwoStepSettings) -> bool:
    """Whether the overall level is the same whatever the parts that could not be rated are.

    Else a language that loses its answers would leave the others to be rated without it.
    """
    given = [LEVELS.index(str(one.part.level)) for one in able]
    filled = [[*given, *[level] * missing] for level in range(len(LEVELS))]
    places = {int(_joined(np.array([one], dtype=np.int8).T, settings.aggregate)[0]) for one in filled}
    return len(places) == 1


def _holds(able: Sequence[Judgement], place: int, settings: TwoStepSettings) -> bool:
    """Whether the level is as sure whatever the parts are whose own level something leaves open."""
    is_open = np.array([any(one.code in UNSETTLING for one in judged.part.reasons) for judged in able])
    if not is_open.any():
        return True
    drawn = np.stack([one.levels for one in able if one.levels is not None])
    for level in range(len(LEVELS)):
        drawn[is_open] = level
        if level_shares(_joined(drawn, settings.aggregate))[place] < settings.settle:
            return False
    return True


def _joined(levels: Levels, how: str) -> Levels:
    """Levels of parts [parts, T] as one level a draw, [T]."""
    if how == "worst":
        return np.asarray(levels.max(axis=0))
    votes = np.stack([(levels == place).sum(axis=0) for place in reversed(range(len(LEVELS)))])
    return np.asarray(len(LEVELS) - 1 - votes.argmax(axis=0), dtype=np.int8)


def _reasons(
    parts: tuple[Part, ...], leading: list[Part], verdict: Verdict, settings: TwoStepSettings
) -> list[Reason]:
    """How the overall level follows from the parts; a single part's own reasons are its own."""
    if len(parts) == 1:
        return list(parts[0].reasons)
    able = [part for part in parts if part.level is not None]
    if verdict.level is None:
        return [reason for part in parts if part.level is None for reason in part.reasons][:1]
    keys = [part.key for part in leading]
    facts: dict[str, Json] = {"level": verdict.level, "of": len(able), "tested": len(able), "parts": keys}
    facts["planned"] = len(parts)
    told = []
    if able and settings.aggregate == "worst":
        told.append(Reason("overall.worst-part", facts))
    elif able:
        told.append(Reason("overall.vote", {**facts, "votes": len(keys)}))
    if verdict.state == "not settled" and verdict.level:
        share = verdict.certainty[verdict.level]
        if share < settings.settle:
            facts = {"certainty": share, "level": verdict.level, "settle": settings.settle}
            told.append(Reason("not-settled", facts))
        is_open = {
            reason.code: reason for part in able for reason in part.reasons if reason.code in UNSETTLING
        }
        told += is_open.values()
    return told


def _without(judgements: Sequence[Judgement], settings: TwoStepSettings) -> Reason | None:
    """What the overall level would be without the parts that the plan names."""
    rest = [one for one in judgements if one.part.key not in settings.excluding]
    if not settings.excluding or not rest or len(rest) == len(judgements):
        return None
    verdict = aggregate(rest, settings)
    excluded = [one.part.key for one in judgements if one.part.key in settings.excluding]
    facts = {
        "excluded": excluded,
        "level": verdict.level,
        "state": verdict.state,
        "certainty": verdict.certainty,
    }
    return Reason("overall.without", facts)


def _unchanged(judgements: Sequence[Judgement]) -> Interval | None:
    """Share of all mentions of all parts that came back unchanged.

    Wilson's interval, over the mentions divided by the largest design effect of a part.
    """
    known = [one for one in judgements if one.mentions and one.part.unchanged is not None]
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
    given = settings.model_dump(mode="json", exclude={"method", "services", "attribute", "rule"})
    usual = {
        name: field.get_default(call_default_factory=True)
        for name, field in type(settings).model_fields.items()
    }
    usual |= BY_RULE[settings.rule]
    return {
        name: value
        for name, value in given.items()
        if name == "texts" or value != (list(usual[name]) if isinstance(usual[name], tuple) else usual[name])
    }
