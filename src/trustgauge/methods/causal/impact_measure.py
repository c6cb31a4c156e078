"""Measuring a part whose words depend on the class: the deconfounding impact (causal 2.6)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trustgauge.methods.causal import deconfounding, graph
from trustgauge.methods.causal.deconfounding import VALENCES, Impact
from trustgauge.methods.causal.measures import (
    MeasureInput,
    Measurement,
    constant,
    finite_or_none,
    highest_of,
    maximum_draws,
    reach_of,
    respread,
    verdict_of,
)
from trustgauge.methods.causal.panel import Floats, Grouping, Panel, Weights
from trustgauge.methods.causal.settings import CausalSettings
from trustgauge.rating import interval_facts, resampled_interval
from trustgauge.records import Json


def effects_of(
    panel: Panel,
    grouping: Grouping,
    settings: CausalSettings,
    weights: tuple[Weights, Floats],
    two_way: Floats | None = None,
) -> tuple[float, Floats]:
    """The largest |delta| as a share of the range of the outcome, and that of each resample, [R].

    Under weights of frames [R, F] and persons [R, P], with the variance `two_way` [S, 2] where given; NaN
    where undefined.
    """
    impact = _impact(panel, grouping, settings)
    deltas = deconfounding.resample_deltas(
        panel, grouping, *weights, outcome=settings.outcome, positivity=settings.positivity
    )
    deltas = respread(impact.delta, deltas, None, two_way)
    return impact.effect, np.asarray(np.abs(deltas).max(axis=(1, 2)) / impact.width)


def _impact(panel: Panel, grouping: Grouping, settings: CausalSettings) -> Impact:
    return deconfounding.impact(panel, grouping, outcome=settings.outcome, positivity=settings.positivity)


def measure(asking: MeasureInput) -> Measurement:
    """Impact, its resamples and its permutations."""
    settings, panel = asking.settings, asking.panel
    impact = _impact(panel, asking.grouping, settings)
    n, y = deconfounding.resample_sums(
        panel,
        asking.grouping,
        asking.frames,
        asking.persons,
        outcome=settings.outcome,
        rng=asking.stream("labels"),
    )
    adjusted = deconfounding.impact_of_sums(n, y, settings.positivity)
    # A ratio needs both of its sums from one resample: stretched numerators would spread it for nothing.
    percents = _percents(adjusted) if settings.rule != "sound" else None
    delta = respread(impact.delta, adjusted.delta, asking.variance, asking.two_way)
    adjusted = adjusted._replace(delta=delta, intervened=adjusted.observed + delta)
    found = _measured(asking, impact, delta)
    if asking.bare:
        return found
    permuted = deconfounding.permute_deltas(
        panel,
        asking.grouping,
        outcome=settings.outcome,
        positivity=settings.positivity,
        permutations=settings.permutations,
        rng=asking.stream("permutations"),
    )
    sets = [_set(asking, impact, adjusted, permuted.p, place) for place in range(len(panel.sets))]
    found = replace(found, p=1.0 if permuted.smallest is None else permuted.smallest, raw_draws=percents)
    return replace(found, details=_details(asking, impact, adjusted, sets, found))


def _measured(asking: MeasureInput, impact: Impact, delta: Floats) -> Measurement:
    """What follows from the impacts and their resamples, [R, S, 2], alone."""
    settings = asking.settings
    effects = np.abs(delta).max(axis=(1, 2)) / impact.width
    draws, undefined, bias = maximum_draws(effects, impact.effect)
    return Measurement(
        effect=impact.effect,
        draws=draws,
        undefined=undefined,
        bias=bias,
        apart=np.abs(delta - impact.delta).max(axis=(1, 2)) / impact.width,
        p=1.0,
        # The percentage moves with the zero of the score, the share of the range does not (causal 2.6).
        raw=impact.effect if settings.rule == "sound" else impact.worst_percent,
        raw_draws=None,
        details={},
        reach=reach_of(delta, settings.settle, impact.width),
        missing=[f"{cell.cls}, {cell.valence} ({cell.set})" for cell in impact.missing],
        constant=constant(asking.panel),
        scores=int((asking.panel.n.sum(axis=(0, 1, 3)) * (asking.grouping.of >= 0)).sum()),
        highest=highest_of(delta, draws, bias, impact.width) if settings.rule == "sound" else None,
    )


def _details(
    asking: MeasureInput,
    impact: Impact,
    adjusted: deconfounding.ClassAdjustment,
    sets: list[dict[str, Json]],
    found: Measurement,
) -> dict[str, Json]:
    """The whole as details tell it; `sets` are there already."""
    where = _largest(impact)
    word = adjusted.intervened[..., 1] - adjusted.intervened[..., 0]
    words = _word(impact.word_effects, word)
    return {
        "sets": sets,
        "die": {
            "percent": finite_or_none(impact.worst_percent),
            "undefined": bool(np.isinf(impact.worst_percent)),
            "shown": _is_shown(sets, impact.worst_percent),
            "delta": finite_or_none(float("nan") if where is None else float(impact.delta[where])),
        },
        "effect": {**interval_facts(found.interval), "bias": found.bias, **_place(impact, where)},
        "raw": finite_or_none(found.raw),
        "raw_undefined": bool(np.isinf(found.raw)),
        "bounds": [finite_or_none(one) for one in impact.effect_bounds],
        "graph": {"edges": graph.deconfounding_edges(asking.measured.grouping, sets, words)},
    }


def _is_shown(sets: list[dict[str, Json]], percent: float) -> bool:
    """Whether the observed means that a percentage is of are away from 0 (causal 2.6)."""
    rows = [row for data in sets for row in data["impacts"]]
    return all(row["percent_shown"] for row in rows if row["percent"] == percent)


def _set(
    asking: MeasureInput, impact: Impact, adjusted: deconfounding.ClassAdjustment, p: Floats, place: int
) -> dict[str, Json]:
    """One data set as details tell it."""
    settings, rows = asking.settings, []
    for x, valence in enumerate(VALENCES):
        draws = adjusted.delta[:, place, x]
        delta = resampled_interval(float(impact.delta[place, x]), draws, int(impact.rows[place, :, x].sum()))
        kept = adjusted.observed[:, place, x]
        kept = kept[~np.isnan(kept)]
        shown = bool(kept.size and (np.quantile(kept, 0.025) > 0 or np.quantile(kept, 0.975) < 0))
        percent = impact.percent[place, x]
        rows.append(
            {
                "valence": valence,
                "observed": finite_or_none(impact.observed[place, x]),
                "intervened": finite_or_none(impact.intervened[place, x]),
                "delta": interval_facts(delta),
                "bounds": [finite_or_none(impact.low[place, x]), finite_or_none(impact.high[place, x])],
                "percent": finite_or_none(percent),
                "percent_undefined": bool(np.isinf(percent)),
                "percent_shown": shown or settings.rule != "sound",
                "p_family": finite_or_none(p[place, x]),
                "verdict": _verdict(draws, settings.margin * impact.width),
            }
        )
    name = impact.sets[place]
    return {
        "set": name,
        "rows": int(impact.rows[place].sum()),
        "impacts": rows,
        "missing": [[cell.cls, cell.valence] for cell in impact.missing if cell.set == name],
        "shares": dict(
            zip(impact.classes, [finite_or_none(one) for one in impact.share[place]], strict=True)
        ),
    }


def _verdict(draws: Floats, margin: float) -> str:
    """Found if the 95 % interval excludes 0."""
    kept = draws[~np.isnan(draws)]
    low, high = np.quantile(kept, [0.025, 0.975]) if kept.size else (0.0, 0.0)
    return verdict_of(draws, margin, found=bool(low > 0 or high < 0))


def _percents(adjusted: deconfounding.ClassAdjustment) -> Floats:
    """The impact in percent of each resample, [R]: the largest of all data sets and valences."""
    with np.errstate(divide="ignore", invalid="ignore"):
        percent = 100.0 * np.abs(adjusted.delta) / np.abs(adjusted.observed)
    percent = np.where(np.abs(adjusted.observed) < deconfounding.NOTHING, np.inf, percent)
    return np.asarray(percent.max(axis=(1, 2)))


def _largest(impact: Impact) -> tuple[int, int] | None:
    if np.isnan(impact.effects).all():
        return None
    place, x = np.unravel_index(int(np.nanargmax(impact.effects)), impact.effects.shape)
    return int(place), int(x)


def _place(impact: Impact, where: tuple[int, int] | None) -> dict[str, Json]:
    """Where the largest effect stands."""
    if where is None:
        return {"set": None, "valence": None}
    return {"set": impact.sets[where[0]], "valence": VALENCES[where[1]]}


def _word(effects: Floats, draws: Floats) -> dict[str, Json]:
    """The word's own effect: the smallest over the data sets, as each of them must show it."""
    if np.isnan(effects).all():
        return {"value": None, "low": None, "high": None}
    place = int(np.nanargmin(np.abs(effects)))
    return interval_facts(resampled_interval(float(effects[place]), draws[:, place], 0))
