"""What changed between two systems on the same items, by imported results.

They are paired item by item; repeated runs of an item are averaged first, and clusters count as units
(stats.paired). Missing values are counted run by run, since an average hides them. The metrics of one
comparison are one family, corrected by Holm (methods 0.7).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import polars as pl

from trustgauge.data.results import ResultTable
from trustgauge.errors import Fault, PlanError, raise_faults
from trustgauge.reports.comparison_model import (
    FiguresEntry,
    FlipsEntry,
    FlipSides,
    LostEntry,
    LostSides,
    MetricDifference,
    PairedResults,
)
from trustgauge.stats import stream
from trustgauge.stats.comparisons import holm
from trustgauge.stats.distributions import Floats
from trustgauge.stats.paired import FEWEST, PairedDifference, items_to_find, paired_difference

SCHEMA: Literal["trustgauge.paired/1"] = "trustgauge.paired/1"
MARGIN = 0.10
"""Smallest difference that matters, as a share of the scale, unless the user says."""
ERROR = 0.005
"""Chance of calling an unchanged system changed, over all metrics, unless the user says."""
EXAMPLES = 5
LOST = 0.02
"""Share of missing values above which they must not matter (methods 0.4)."""
SEED = 1
Verdict = Literal["worse", "better", "same", "undetermined", "incomplete"]


def compare_results(
    before: ResultTable, after: ResultTable, margin: float = MARGIN, error: float = ERROR
) -> PairedResults:
    """The paired differences of two systems, metric by metric.

    Args:
        before: the baseline.
        after: what is compared with it.
        margin: smallest difference that matters, as a share of a metric's scale.
        error: of the family of all metrics, two-sided.

    Raises:
        PlanError: the two have no metric, or no item, in common, or differ in the direction of a metric.
    """
    asked, there = (set(one.rows["metric"].unique()) & one.metrics.keys() for one in (before, after))
    named = [name for name in before.metrics if name in asked & there]
    if not named:
        must, got = ", ".join(before.metrics), ", ".join(after.metrics)
        raise PlanError.of(after.name, "no metric in common with the baseline", must=must, got=got)
    _check_directions(named, before, after)
    _check_scales(named, before, after)
    found = {name: _metric(name, before, after) for name in named}
    paired = [one for one in found.values() if one is not None]
    if not paired:
        what = "no item in common with the baseline"
        do = "Compare runs of one suite; items are known by their ids or by what was asked"
        raise PlanError.of(after.name, what, do=do)
    for one, p in zip(paired, holm([one["p"] for one in paired]), strict=True):
        one["p_holm"] = float(p)
        one["verdict"] = _verdict(one, margin, error, len(paired))
        one["more_items"] = _more(one, margin, error / len(paired))
    return {
        "schema": SCHEMA,
        "kind": "results",
        "before": {"name": before.name, "system": before.system, "source": dict(before.source)},
        "after": {"name": after.name, "system": after.system, "source": dict(after.source)},
        "margin": margin,
        "error": error,
        "metrics": paired,
        "unpaired": [name for name in before.metrics if name in asked and found.get(name) is None],
    }


def _check_directions(named: Sequence[str], before: ResultTable, after: ResultTable) -> None:
    """Refuse metrics of which more is better on one side and worse on the other: one would win by losing."""
    sides = [[str(one.metrics[name]["better"]) for one in (before, after)] for name in named]
    do = "Import both again by one release, with `--lower METRIC` for both where less is better"
    faults = tuple(
        Fault(
            after.name,
            f'the metric "{name}" has two directions',
            f"{old} is better, as of the baseline",
            new,
            do,
        )
        for name, (old, new) in zip(named, sides, strict=True)
        if old != new
    )
    raise_faults(faults)


def _check_scales(named: Sequence[str], before: ResultTable, after: ResultTable) -> None:
    """Refuse metrics that the two sides may have measured on two scales: the larger one would win."""
    do = "Import both again with `--range METRIC=LOW:HIGH`, the scale of the metric"
    faults = []
    for name in named:
        for one in (before, after):
            facts = one.metrics[name]
            if _is_declared(facts) and (facts["least"] < facts["low"] or facts["most"] > facts["high"]):
                got = f"{facts['least']:g} to {facts['most']:g}"
                what = f'the metric "{name}" has values outside its scale'
                faults.append(Fault(one.name, what, _scale_in_words(facts), got, do))
        old, new = (_scale_in_words(one.metrics[name]) for one in (before, after))
        if old != new:
            faults.append(
                Fault(
                    after.name, f'the metric "{name}" has two scales', f"{old}, as of the baseline", new, do
                )
            )
    raise_faults(faults)


def _is_declared(facts: Mapping[str, Any]) -> bool:
    return facts.get("low") is not None and facts.get("high") is not None and facts["least"] is not None


def _scale_in_words(facts: Mapping[str, Any]) -> str:
    """The declared scale of a metric, else whether its values fit the usual one."""
    if _is_declared(facts):
        return f"{facts['low']:g} to {facts['high']:g}"
    least, most = facts["least"], facts["most"]
    if least is None or most is None or (least >= 0 and most <= 1):
        return "0 to 1"
    return "undeclared, with values beyond 0 to 1"


def _metric(name: str, before: ResultTable, after: ResultTable) -> MetricDifference | None:
    """The difference on one metric, its verdict still open; None if the two have no item in common."""
    facts = before.metrics[name]
    sides = [items_of(one.rows.filter(metric=name)) for one in (before, after)]
    scale = metric_scale(facts, after.metrics[name])
    span = scale[1] - scale[0]
    # what the new one does not have is missing, else whoever drops the items that fail would pass
    joined = _due(sides[0].join(sides[1], on="item", how="left", suffix="_after", maintain_order="left"))
    new = sides[1].join(sides[0], on="item", how="anti", maintain_order="left")
    both = joined.filter(pl.col("value").is_not_null() & pl.col("value_after").is_not_null())
    if not both.height:
        return None
    sign = 1.0 if facts["better"] == "higher" else -1.0
    draws = stream(SEED, "paired", name)
    apart = sign * (both["value_after"] - both["value"]).to_numpy()
    difference = paired_difference(apart, both["cluster"].rank("dense").to_numpy() - 1, span, draws)
    lost: LostSides = {"before": _lost(joined, ""), "after": _lost(joined, "_after")}
    found: MetricDifference = {
        "metric": name,
        "verdicts": all(
            one.rows.filter(metric=name)["value"].drop_nulls().is_in([0.0, 1.0]).all()
            for one in (before, after)
        ),
        "better": facts["better"],
        "span": span,
        "items": both.height,
        "lost": lost,
        "only_before": int(joined["dropped"].sum()),
        "only_after": new.height,
        "names_before": _names(joined.filter("dropped")),
        "names_after": _names(new),
        "repeats": int(both.select(pl.min_horizontal("runs", "runs_after").max()).item() or 0),
        **_figures(difference),
        "mean_before": float(both["value"].mean()),  # type: ignore[arg-type]
        "mean_after": float(both["value_after"].mean()),  # type: ignore[arg-type]
        "flips": _flips(both, sign),
        "noise": {"before": _noise(both, ""), "after": _noise(both, "_after")},
        "filled": None,
        "p_holm": difference.p,
        "verdict": "undetermined",
        "more_items": None,
    }
    if any(one["missing"] > LOST * one["values"] for one in (lost["before"], lost["after"])):
        # what is missing at its worst, then at its best: the two sides at opposite ends of the scale
        of = joined["cluster"].rank("dense").to_numpy() - 1
        ends = scale if sign > 0 else scale[::-1]
        found["filled"] = [
            _figures(paired_difference(sign * apart, of, span, draws))
            for apart in (
                fill_gaps(joined, new, "_after") - fill_gaps(joined, old) for new, old in (ends, ends[::-1])
            )
        ]
    return found


def items_of(rows: pl.DataFrame) -> pl.DataFrame:
    """The mean of each item over its runs, with its spread; null where no run has a value."""
    return rows.group_by("item", maintain_order=True).agg(
        pl.col("value").mean(),
        pl.col("value").count().alias("runs"),
        pl.len().alias("due"),
        pl.col("value").var().alias("variance"),
        pl.col("cluster").first(),
        pl.col("label").first(),
    )


def _due(joined: pl.DataFrame) -> pl.DataFrame:
    """How many runs each item should have: a run without a row is missing as one without a value is.

    An item should have as many as on the other side, if its own side ran more than 2 % of its items as often.
    """
    often = [joined[name].drop_nulls().quantile(1 - LOST, "lower") or 0 for name in ("due", "due_after")]
    old, new = pl.col("due"), pl.col("due_after").fill_null(0)
    return joined.with_columns(
        due=pl.max_horizontal(old, pl.min_horizontal(new, pl.lit(often[0]))).cast(pl.Int64),
        due_after=pl.max_horizontal(new, pl.min_horizontal(old, pl.lit(often[1]))).cast(pl.Int64),
        runs_after=pl.col("runs_after").fill_null(0),
        dropped=pl.col("due_after").is_null(),
    )


def _names(items: pl.DataFrame) -> list[str]:
    """The first items in words."""
    return [row["label"] or row["item"] for row in items.head(EXAMPLES).iter_rows(named=True)]


def _lost(joined: pl.DataFrame, suffix: str) -> LostEntry:
    values, there = joined[f"due{suffix}"].sum(), joined[f"runs{suffix}"].sum()
    return {"values": int(values), "missing": int(values) - int(there)}


def fill_gaps(items: pl.DataFrame, end: float, suffix: str = "") -> Floats:
    """The value of each item with all its missing runs at one end of the scale.

    Args:
        items: columns `value`, the mean of the runs that have one, `runs`, how many do, and `due`.
        end: of the scale.
        suffix: of the columns' names.
    """
    there, due = pl.col(f"runs{suffix}"), pl.col(f"due{suffix}")
    known = pl.col(f"value{suffix}").fill_null(0.0) * there
    return np.asarray(items.select((known + end * (due - there)) / due).to_series())


def metric_scale(*facts: Mapping[str, Any]) -> tuple[float, float]:
    """The ends of a metric's scale: as declared, 0 and 1 for values between them, else what was seen."""
    low, high = facts[0].get("low"), facts[0].get("high")
    if low is not None and high is not None:
        return float(low), float(high)
    least = min((one["least"] for one in facts if one["least"] is not None), default=0.0)
    most = max((one["most"] for one in facts if one["most"] is not None), default=1.0)
    return (0.0, 1.0) if least >= 0 and most <= 1 else (float(least), float(most))


def _figures(one: PairedDifference) -> FiguresEntry:
    return {
        "difference": one.value,
        "low": one.low,
        "high": one.high,
        "low_90": one.low_90,
        "high_90": one.high_90,
        "p": one.p,
        "clusters": one.clusters,
        "deviation": one.deviation,
    }


def _verdict(one: MetricDifference, margin: float, error: float, family: int) -> Verdict:
    """Worse or better by Holm, same inside the margin, else undetermined; see methods 0.4 to 0.7.

    With too many missing values the verdict stands only if it is the same at their best and at their worst.
    """
    least = margin * one["span"]
    seen = _reading(one, one["p_holm"], least, error)
    for filled in one["filled"] or ():
        if _reading(filled, min(1.0, filled["p"] * family), least, error) != seen:
            return "incomplete"
    return seen


def _reading(one: FiguresEntry, p_holm: float, least: float, error: float) -> Verdict:
    """`least` is the smallest difference that matters, on the metric's scale."""
    if p_holm <= error:
        return "worse" if one["difference"] < 0 else "better"
    if one["clusters"] >= FEWEST and max(abs(one["low_90"]), abs(one["high_90"])) < least:
        return "same"
    return "undetermined"


def _more(one: MetricDifference, margin: float, error: float) -> int | None:
    """Items that would find a difference of the margin, 8 times in 10; None if there are as many."""
    # one discordant pair is added, as to the interval: nothing seen yet is not nothing
    least = one["span"] / (one["items"] + 2) ** 0.5
    pilot = (max(one["deviation"], least), one["items"], one["clusters"])
    flips = 1 / max(1, one["repeats"]) if one["verdicts"] else 0.0
    needed = items_to_find(margin * one["span"], pilot, error, verdicts=flips)
    return max(0, needed - one["items"]) or None


def _flips(both: pl.DataFrame, sign: float) -> FlipSides:
    """The items whose value went up or down, best first by size, with the first examples."""
    moved = both.with_columns(apart=sign * (pl.col("value_after") - pl.col("value")))
    sides = {
        "worse": moved.filter(pl.col("apart") < -1e-9).sort("apart", maintain_order=True),
        "better": moved.filter(pl.col("apart") > 1e-9).sort("apart", descending=True, maintain_order=True),
    }
    return {"worse": _flipped(sides["worse"]), "better": _flipped(sides["better"])}


def _flipped(moved: pl.DataFrame) -> FlipsEntry:
    return {
        "items": moved.height,
        "examples": [
            {
                "item": row["item"],
                "label": row["label"],
                "before": row["value"],
                "after": row["value_after"],
            }
            for row in moved.head(EXAMPLES).iter_rows(named=True)
        ],
    }


def _noise(both: pl.DataFrame, suffix: str) -> float | None:
    """The noise floor: standard deviation of the difference of two runs of one system; None with one run."""
    repeated = both.filter(pl.col(f"runs{suffix}") > 1)
    variance = repeated[f"variance{suffix}"].mean() if repeated.height else None
    return None if variance is None else float((2 * variance / both.height) ** 0.5)  # type: ignore[operator]
