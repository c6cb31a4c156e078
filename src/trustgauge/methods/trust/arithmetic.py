"""The arithmetic of one combined level, as facts: a reader can do it again by hand (trust 4.4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from trustgauge.methods.trust import combine
from trustgauge.methods.trust.combine import MISSING, THIRDS, Combination, IssueValue
from trustgauge.methods.trust.issues.issue import LEVELS
from trustgauge.methods.trust.profiles import IssueOrder
from trustgauge.methods.trust.resampling import Floats, Ints
from trustgauge.records import Json

if TYPE_CHECKING:
    from trustgauge.methods.trust.profile_model import Arithmetic


def explain(order: IssueOrder, measured: Mapping[str, IssueValue], settings: Combination) -> Arithmetic:
    """How one row came to its level.

    Args:
        order: of the issues.
        measured: what each came to; an issue of the order that is not there is missing.
        settings: the rule.

    Returns:
        `rule`, `order` (written places), `levels` (the possible ones; one if it is settled), `missing`, and
        `issues`: for each its `issue`, `rank` (Imp), `level` (None if missing), and what the rule gives
        it. Unless an issue is missing, also what the rule did:

        - count: `points` of each level, `tied` levels and how `ties` were broken; each issue has `points`,
          and those that got none stand in `not_counted`: the last issue always does.
        - sound, raw-weighted: `mean` and its `cuts`; each issue has `weight`, `share` of all weights,
          and `risk` or `score`. sound: `mean_level`, `bounds` (`by` "first" or "worst", the `issues`, the
          `level` that the outcome cannot be better than) and `bound` (which of them raised the level; "" if
          none).
        - worst-of: `looked_at`; lexicographic: `looked_at` and `sequence` (the levels place by place,
          which order services of one level).
    """
    levels, risks, scores = combine.row_of(order, measured)
    ranks = np.array(order.ranks)[None, :]
    issues: list[dict[str, Json]] = [
        {"issue": name, "rank": rank, "level": None if level == MISSING else LEVELS[level]}
        for name, rank, level in zip(order.issues, order.ranks, levels[0].tolist(), strict=True)
    ]
    facts: Any = {
        "rule": settings.rule,
        "order": list(order.written),
        "levels": list(combine.outcome(order, measured, settings)),
        "missing": [one["issue"] for one in issues if one["level"] is None],
        "issues": issues,
    }
    match settings.rule:
        case "count":
            facts |= _counted(ranks, levels, settings, issues)
        case "raw-weighted":
            weights = combine.place_weights(ranks, settings.weights)
            facts |= _averaged(weights, scores, issues, settings.cuts, "score")
        case "sound":
            mean = _averaged(combine.place_weights(ranks, ()), risks, issues, THIRDS, "risk")
            facts |= mean | _bounds(order, levels, mean)
        case _:
            facts |= _looked_at(order, issues, settings)
    found: Arithmetic = facts
    return found


def _looked_at(order: IssueOrder, issues: list[dict[str, Json]], settings: Combination) -> dict[str, Json]:
    """What the rules say that look at the first issues only."""
    if settings.rule == "worst-of":
        # Tied issues are looked at together: each has as many before it as the first of them.
        before = [sum(other["rank"] < one["rank"] for other in issues) for one in issues]
        seen = [one["issue"] for one, n in zip(issues, before, strict=True) if n < settings.first]
        return {"looked_at": seen, "first": settings.first}
    found = {one["issue"]: one["level"] for one in issues}
    sequence = [[found[name] for name in place] for place in order.places]
    return {"looked_at": list(order.places[0]), "sequence": sequence}


def _counted(
    ranks: Floats, levels: Ints, settings: Combination, issues: list[dict[str, Json]]
) -> dict[str, Json]:
    each = (levels.shape[-1] - ranks)[0]
    for one, value in zip(issues, each.tolist(), strict=True):
        one["points"] = value
    facts: dict[str, Json] = {
        "ties": settings.ties,
        "not_counted": [one["issue"] for one in issues if one["points"] == 0],
    }
    if (levels == MISSING).any():
        return facts
    counted = combine.points(ranks, levels)
    most = combine.top_levels(counted, levels)[0]
    tied = [name for name, one in zip(LEVELS, most, strict=True) if one]
    return facts | {
        "points": dict(zip(LEVELS, counted[0].tolist(), strict=True)),
        "tied": tied if len(tied) > 1 else [],
    }


def _averaged(
    weights: Floats, values: Floats, issues: list[dict[str, Json]], cuts: tuple[float, float], name: str
) -> dict[str, Json]:
    total = float(weights.sum())
    for one, weight, value in zip(issues, weights[0].tolist(), values[0].tolist(), strict=True):
        one |= {"weight": weight, "share": weight / total, name: None if one["level"] is None else value}
    facts: dict[str, Json] = {"cuts": list(cuts)}
    if any(one["level"] is None for one in issues):
        return facts
    mean = combine.mean_of(weights, values)
    return facts | {"mean": float(mean[0]), "mean_level": LEVELS[int(combine.cut(mean, cuts)[0])]}


def _bounds(order: IssueOrder, levels: Ints, mean: Mapping[str, Json]) -> dict[str, Json]:
    """What the sound rule never goes below: the first issue's level, and one better than the worst."""
    if (levels == MISSING).any():
        return {}
    found = dict(zip(order.issues, levels[0].tolist(), strict=True))
    first = max(found[name] for name in order.places[0])
    worst = max(found.values())
    bounds = [
        {
            "by": "first",
            "issues": [name for name in order.places[0] if found[name] == first],
            "level": LEVELS[first],
        },
        {
            "by": "worst",
            "issues": [name for name, level in found.items() if level == worst],
            "level": LEVELS[max(0, worst - 1)],
        },
    ]
    reached = LEVELS.index(mean["mean_level"])
    raising = [one["by"] for one, place in zip(bounds, (first, worst - 1), strict=True) if place > reached]
    strongest = "first" if first >= worst - 1 else "worst"
    return {"bounds": bounds, "bound": strongest if raising else ""}
