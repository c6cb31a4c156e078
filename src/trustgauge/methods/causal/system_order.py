"""Systems beside each other: partial and complete order, ranks with intervals (causal 2.9).

The order is relative: it depends on who else is rated. It is told beside the absolute level, and
is the level itself under the rules `published` and `released`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trustgauge.methods.causal.measures import finite_or_none
from trustgauge.methods.causal.ordering import complete_order
from trustgauge.methods.causal.panel import Floats
from trustgauge.methods.causal.part_assessment import Assessment
from trustgauge.methods.causal.settings import CausalSettings
from trustgauge.rating.levels import Levels
from trustgauge.records import Json
from trustgauge.stats.ranking import ranks


@dataclass(frozen=True)
class Relative:
    """The complete order of systems: rating of each, and in each resample; 0 is the best level."""

    level: Mapping[str, int]
    levels: Mapping[str, Levels]


def relative(assessments: Sequence[Assessment], settings: CausalSettings) -> Relative:
    """Relative ratings by the raw scores; every resample ranks all systems anew (causal 2.9)."""
    able = [one for one in assessments if one.defined and not np.isnan(one.raw)]
    given = complete_order({one.service: one.raw for one in able}, settings.levels, settings.rule)
    drawn = {one.service: one.raw_draws for one in able if one.raw_draws is not None}
    if len(drawn) < len(able) or not able:
        return Relative({name: level - 1 for name, level in given.items()}, {})
    table = np.stack(list(drawn.values()), axis=1)
    table = table[~np.isnan(table).any(axis=1)]
    # Equal rows have equal orders, and raw scores take few values.
    rows, place = np.unique(table, axis=0, return_inverse=True)
    orders = np.array(
        [
            [
                complete_order(dict(zip(drawn, row, strict=True)), settings.levels, settings.rule)[name]
                for name in drawn
            ]
            for row in rows.tolist()
        ],
        dtype=np.int64,
    )
    levels = orders[place.ravel()] - 1
    return Relative(
        {name: level - 1 for name, level in given.items()},
        {name: levels[:, column] for column, name in enumerate(drawn)},
    )


def order(
    effects: Mapping[str, Floats], raw: Mapping[str, float], settings: CausalSettings
) -> dict[str, dict[str, Json]]:
    """What is told of the order of systems, by service; {} of fewer than two.

    Args:
        effects: corrected effects of each service, resample by resample [R], by the same draws.
        raw: weighted rejection score or impact in percent of each (inf: "X", NaN: undefined).
        settings: the experiment.
    """
    names = list(effects)
    if len(names) < 2:
        return {}
    fewest = min(len(one) for one in effects.values())
    table = np.stack([effects[name][:fewest] for name in names], axis=1)
    found = ranks(table, beyond_doubt=settings.worse)
    complete = complete_order(
        {name: value for name, value in raw.items() if not np.isnan(value)}, settings.levels, settings.rule
    )
    systems: list[dict[str, Json]] = [
        {
            "service": name,
            "raw": finite_or_none(raw[name]) if name in raw else None,
            "raw_undefined": bool(np.isinf(raw[name])) if name in raw else False,
            "effect": float(np.median(table[:, place])),
            "rank": [int(found.low[place]), int(found.high[place])],
            "place": found.printed(place),
            "complete": complete.get(name),
        }
        for place, name in enumerate(names)
    ]
    return {
        name: {
            "rank": [int(found.low[place]), int(found.high[place])],
            "place": found.printed(place),
            "of": len(names),
            "complete": complete.get(name),
            "tied_with": [
                other for one, other in enumerate(names) if one != place and found.tied[place, one]
            ],
            "systems": systems,
        }
        for place, name in enumerate(names)
    }
