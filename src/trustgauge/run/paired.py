"""What changed between two systems on the same items: imported results, or ratings of our own.

Imported results are paired item by item; repeated runs of an item are averaged first, and clusters count as
units (stats.paired). Missing values are counted run by run, since an average hides them. Ratings are paired
by their methods: the same resamples of both give the difference, as in `compare`. The metrics of one
comparison are one family, corrected by Holm (methods 0.7).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from trustgauge.data.results import ResultTable
from trustgauge.errors import Fault, PlanError, raise_faults
from trustgauge.methods import GapBounder, Growth, GrowthFinder, ServiceComparer
from trustgauge.reports.comparison_model import (
    NO_DIFFERENCE,
    OTHER_TEXTS,
    DifferenceEntry,
    FiguresEntry,
    FlipsEntry,
    FlipSides,
    LostEntry,
    LostSides,
    MetricDifference,
    PairedRatings,
    PairedResults,
    RatingDifference,
)
from trustgauge.reports.document_model import PartEntry
from trustgauge.run.comparison import GroupDraws, gaps_of, group_draws, pair_difference
from trustgauge.run.rating_diff import diff_ratings
from trustgauge.run.rating_verdict import (
    SIDES,
    compare_issues,
    comparison_obstacle,
    decide,
    is_same_scale,
)
from trustgauge.run.stored_ratings import RowBuilder, StoredRating, select_runs, stored_ratings
from trustgauge.run.targets import experiment_seed
from trustgauge.stats import stream
from trustgauge.stats.comparisons import holm
from trustgauge.stats.distributions import Floats
from trustgauge.stats.paired import FEWEST, PairedDifference, items_to_find, paired_difference
from trustgauge.stats.ranking import EQUAL

SCHEMA: Literal["trustgauge.paired/1"] = "trustgauge.paired/1"
MARGIN = 0.10
"""Smallest difference that matters, as a share of the scale, unless the user says."""
ERROR = 0.005
"""Chance of calling an unchanged system changed, over all metrics, unless the user says."""
EXAMPLES = 5
LOST = 0.02
"""Share of missing values above which they must not matter (methods 0.4)."""
SEED = 1
DRAWN = 4
"""Draws that a small p needs, times the tests over their error. With none against it 2 would do."""
Pair: TypeAlias = tuple[StoredRating, StoredRating]
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


def compare_ratings(
    ratings: Path, before: str, after: str, today: date, error: float = ERROR, margin: float = MARGIN
) -> PairedRatings:
    """The paired differences of the ratings of two runs.

    Ratings are pairs if they are of one method, rule and attribute, and of one service, or if each run has
    only one service. They can be subtracted only if the same was asked of both; settled levels are compared
    whatever was asked, see `rating_verdict`.

    Args:
        ratings: folder of all runs.
        before: id of a run or rating, the baseline.
        after: id of what is compared with it.
        today: for what has expired.
        error: of the family of all ratings, two-sided.
        margin: how much higher the score of an issue may be, of a method that gives no difference.

    Raises:
        PlanError: there is no such rating, or no two can be paired.
    """
    sides = [_stored(ratings, name) for name in (before, after)]
    single = all(len({one.service for one in side}) == 1 for side in sides)
    pairs = _pairs(sides[0], sides[1], single=single)
    if not pairs:
        what = "no rating is of the same method, rule, attribute and service as one of the other run"
        raise PlanError.of(after, what, must=f"a run like {before}")
    rows = RowBuilder(None, today)
    found = [_rating_pair(one, other, rows, error) for one, other in pairs]
    same_scale = [is_same_scale(*pair) for pair in pairs]
    _add_growth(pairs, found)
    _correct(pairs, found, error)
    for one in found:
        if one["p_holm"] is not None and one["p_holm"] <= error:
            one["basis"] = "growth" if one["growth"] else "figure"
            one["verdict"] = "worse" if one["growth"] or (one["difference"] or 0.0) > 0 else "better"
    for one, (old, new), same in zip(found, pairs, same_scale, strict=True):
        doubted = not (old.why or new.why) and bool(comparison_obstacle(old, new))
        if same and one["why"] == NO_DIFFERENCE:
            one["issues"] = compare_issues(old.rating, new.rating, margin)
        decided = decide(one, same_scale=same, error=error, doubted=doubted)
        one["verdict"], one["basis"] = decided.verdict, decided.basis
    return {
        "schema": SCHEMA,
        "kind": "ratings",
        "before": {"name": before},
        "after": {"name": after},
        "error": error,
        "ratings": found,
    }


def _add_growth(pairs: Sequence[Pair], found: Sequence[RatingDifference]) -> None:
    """Add to ratings without a difference what is recognised more often."""
    known: dict[tuple[int, str], Growth | None] = {}
    for pair, one in zip(pairs, found, strict=True):
        if one["why"] == NO_DIFFERENCE:
            name = _service(pair)
            if name not in known:
                known[name] = _growth(*pair)
            _note_growth(one, known[name])
            if one["growth"]:
                one["labels"] = sum(side.labels for side in pair)


def _service(pair: Pair) -> tuple[int, str]:
    return pair[1].experiment, pair[1].service


def _correct(pairs: Sequence[Pair], found: Sequence[RatingDifference], error: float) -> None:
    """Correct the p of all tests: what the ratings of one service for several profiles share is one.

    A p is no smaller than its draws allow. Where it might do alone, but not among so many tests, as many are
    drawn as it takes.
    """
    tests: dict[Hashable, list[int]] = {}
    ps: dict[Hashable, float] = {}
    for place, (pair, one) in enumerate(zip(pairs, found, strict=True)):
        if one["p"] is not None:
            test: Hashable = _service(pair) if one["growth"] else place
            tests.setdefault(test, []).append(place)
            ps[test] = one["p"]
    for test, (place, *_) in tests.items():
        if ps[test] <= error < ps[test] * len(tests):
            ps[test] = _p_of_more(pairs[place], found[place], math.ceil(DRAWN * len(tests) / error))
    for test, p_holm in zip(ps, holm(list(ps.values())) if ps else (), strict=True):
        for place in tests[test]:
            found[place]["p"], found[place]["p_holm"] = ps[test], float(p_holm)


def _p_of_more(pair: Pair, one: RatingDifference, least: int) -> float:
    """The p of at least so many draws."""
    if one["growth"]:
        growth = _growth(*pair, least)
        return 1.0 if growth is None else _p_of_growth(growth)
    return _two_sided(*_apart(*pair, group_draws(pair, least)))


def _growth(before: StoredRating, after: StoredRating, least: int = 0) -> Growth | None:
    """What is recognised more often of the same texts, where next to nothing of either run is missing."""
    method = after.method
    if before.key != after.key or not isinstance(method, GrowthFinder):
        return None
    if any(map(_lacks_much, (before, after))):
        return None
    then, now = (after.method.summarise(one.marks) for one in (before, after))
    seed = experiment_seed(after.run.plan.seed, after.experiment)
    found = method.growth(then, now, seed)
    while found is not None and 0 < len(found.draws) < least:
        seed += 1
        more = method.growth(then, now, seed)
        found = more and found._replace(draws=np.concatenate([found.draws, more.draws]))
    return found


def _p_of_growth(growth: Growth) -> float:
    """Two-sided, of no growth; 1 if there seems to be none."""
    return min(1.0, 2 * (1 + int((growth.draws <= 0).sum())) / (1 + len(growth.draws)))


def _note_growth(one: RatingDifference, growth: Growth | None) -> None:
    """Add a growth to two ratings that rest on its part."""
    rating = one["after"]["rating"]
    if growth is None or all(growth.part not in place for place in rating["details"].get("order", ())):
        return
    part = next(part for part in rating["parts"] if part["key"] == growth.part)
    if _is_denied(part, growth):
        return
    (before, n_before), (after, n) = growth.before, growth.after
    one["growth"] = {"title": part["title"], "before": before, "n_before": n_before, "after": after, "n": n}
    one["p"] = _p_of_growth(growth)


def _is_denied(part: PartEntry, growth: Growth) -> bool:
    """Whether people who labelled the later run do not find more than was recognised in the earlier one."""
    audited = any(one["code"] == "instrument-audited" for one in part["reasons"])
    return audited and (part["low"] is None or part["low"] <= growth.score_before)


def _stored(ratings: Path, name: str) -> list[StoredRating]:
    return [one for run in select_runs(ratings, (name,)) for one in stored_ratings(run)]


def _pairs(first: Sequence[StoredRating], second: Sequence[StoredRating], *, single: bool) -> list[Pair]:
    def identity(one: StoredRating) -> tuple[object, ...]:
        method, issue = one.rating["method"], one.rating["issue"]["attribute"]
        return (method["name"], method["rule"], str(issue), one.experiment, "" if single else one.service)

    known = {identity(one): one for one in first}
    return [(known[identity(one)], one) for one in second if identity(one) in known]


def _rating_pair(
    before: StoredRating, after: StoredRating, rows: RowBuilder, error: float
) -> RatingDifference:
    """Two ratings: their levels, the difference of badness (after minus before), and the flipped rows."""
    difference: DifferenceEntry | None = None
    draws = GroupDraws({})
    why = before.why or after.why
    if not why and before.key != after.key:
        # The texts of a method without differences need not be the same: no others would give one.
        alike = before.settings == after.settings and not isinstance(after.method, ServiceComparer)
        why = NO_DIFFERENCE if alike else OTHER_TEXTS
    why = why or comparison_obstacle(before, after)
    if not why:
        draws = group_draws([before, after])
        difference = pair_difference(after, before, draws)
        why = "" if difference else _why_no_difference(before, after, draws)
    diff = diff_ratings(before, after, rows.row, difference) if not (before.why or after.why) else None
    found: RatingDifference = {
        "before": rows.row(before),
        "after": rows.row(after),
        "why": why,
        "verdict": "undetermined",
        "basis": "figure",
        "issues": None,
        "growth": None,
        "readings": diff["readings"] if diff else None,
        "difference": None,
        "low": None,
        "high": None,
        "p": None,
        "p_holm": None,
        "labels": 0,
    }
    if difference is not None:
        found["labels"] = before.labels + after.labels
        found["difference"], found["low"], found["high"] = (
            difference["difference"],
            difference["low"],
            difference["high"],
        )
        figure = _figure(before, after, draws, error)
        found["p"], found["verdict"], found["basis"] = figure.p, figure.verdict, figure.basis
    return found


@dataclass(frozen=True, slots=True)
class _Figure:
    """What the figure of a pair says by itself."""

    p: float
    verdict: str
    basis: Literal["figure", "gaps"]


def _figure(before: StoredRating, after: StoredRating, draws: GroupDraws, error: float) -> _Figure:
    """The p of the difference, and whether it is the same; both whatever missing and unread answers say.

    Where a method cannot bound them, more than 2 % of a side leave everything open.
    """
    if not isinstance(after.method, GapBounder) and any(map(_lacks_much, (before, after))):
        return _Figure(1.0, "undetermined", "gaps")
    bounded, as_read = (
        (_two_sided(*_apart(before, after, one)), pair_difference(after, before, one))
        for one in (draws, replace(draws, ends={}))
    )
    p, same, seen_same = (
        bounded[0],
        *(one is not None and one["verdict"] == "same" for _, one in (bounded, as_read)),
    )
    if same:
        return _Figure(p, "same", "figure")
    seen = seen_same or as_read[0] <= error
    return _Figure(p, "undetermined", "gaps" if seen and p > error else "figure")


def _lacks_much(one: StoredRating) -> bool:
    return gaps_of(one) > LOST * one.rating["coverage"]["planned"]


def _apart(before: StoredRating, after: StoredRating, draws: GroupDraws) -> tuple[Floats, Floats]:
    """The least and the largest that the later badness exceeds the earlier one by, [R] each."""
    (best, worst), (best_before, worst_before) = draws.ends_of(after), draws.ends_of(before)
    return best - worst_before, worst - best_before


def _two_sided(least: Floats, largest: Floats) -> float:
    """The p of a difference that lies between two ends in each resample."""
    known = ~(np.isnan(least) | np.isnan(largest))
    least, largest = least[known], largest[known]
    tails = min(int((least <= EQUAL).sum()), int((largest >= -EQUAL).sum()))
    return float(min(1.0, 2 * (1 + tails) / (1 + len(least))))


def _why_no_difference(before: StoredRating, after: StoredRating, draws: GroupDraws) -> str:
    """Why two ratings of the same texts have no difference."""
    if not isinstance(after.method, ServiceComparer):
        return NO_DIFFERENCE
    for run, one in zip(SIDES, (before, after), strict=True):
        if draws.of(one) is None:
            return (
                f"{run} has no rating" if one.rating["overall"]["level"] is None else f"{run} has no figure"
            )
    return NO_DIFFERENCE
