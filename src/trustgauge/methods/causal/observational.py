"""Tables in which more than the class changes (causal 2.8a): the difference observed, or adjusted.

Without frames the texts of two classes differ in whatever the table leaves open, so a difference of their
scores is no effect of the class. It is shown with the size of confounding that would explain it away; named
columns may be adjusted for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trustgauge.methods.causal import graph
from trustgauge.methods.causal.gender_text import gender_tests
from trustgauge.methods.causal.measures import (
    RANGE,
    ROUNDING,
    MeasureInput,
    Measurement,
    constant,
    finite_or_none,
    highest_of,
    maximum_draws,
    reach_of,
    respread,
)
from trustgauge.methods.causal.panel import CHUNK, Floats, Grouping, Ints, Panel, Weights
from trustgauge.methods.causal.stratified_permutations import step_down
from trustgauge.rating import interval_facts, resampled_interval
from trustgauge.records import Interval, Json

GAPS = (0.2, 0.5, 1.0)
"""How much commoner a confounder may be in one class than in the other, for which its effect is reported."""
TO_RATIO = 0.91  # from a standardised difference of means to the logarithm of a risk ratio
LIMIT_TO_RATIO = 1.78  # from its standard error to the lower end of that logarithm


@dataclass(frozen=True, slots=True)
class CovariateUnits:
    """What counts once: the mean score of a cluster, class and covariates, in each data set.

    A cluster is a text, a person who wrote several, or a conversation.

    Attributes:
        mean: [S, U, G]; 0 where there is no score.
        present: whether there is a score, [S, U, G].
        frame: of the panel, the first of each unit, [U]; its weight in a resample is the unit's.
        unit: index of the unit of each frame of the panel, [F].
        layer: index of the covariates, [U].
        layers: their values in words, [Z].
    """

    mean: Floats
    present: NDArray[np.bool_]
    frame: Ints
    unit: Ints
    layer: Ints
    layers: tuple[str, ...]


def units(panel: Panel, grouping: Grouping, *, adjusted: bool) -> CovariateUnits:
    """The units of a panel; without `adjusted` all covariates are one layer."""
    names = tuple(sorted(set(panel.covariates))) if adjusted else ("",)
    layer_of = np.array([names.index(one) for one in panel.covariates]) if adjusted else 0 * panel.cluster
    key = panel.cluster * len(names) + layer_of
    _, frame, unit_of = np.unique(key, return_index=True, return_inverse=True)
    shape = (len(panel.sets), len(frame), len(grouping.classes))
    n, y = np.zeros(shape), np.zeros(shape)
    for sums, cells in ((n, panel.n), (y, panel.y)):
        of_class = (cells.sum(axis=3) @ grouping.members).swapaxes(0, 1)  # [F, S, G]
        np.add.at(sums.swapaxes(0, 1), unit_of.ravel(), of_class)
    return CovariateUnits(
        np.where(n > 0, y / np.where(n > 0, n, 1.0), 0.0),
        n > 0,
        frame,
        unit_of.ravel(),
        layer_of[frame],
        names,
    )


def differences(units: CovariateUnits, pairs: Sequence[tuple[int, int]], frames: Weights) -> Floats:
    """Differences of means, standardised to the layers of both classes, [R, S, K].

    sum_z P(z) (mean_a(z) - mean_b(z)), P(z) the share of the layer z among the units of the two classes; NaN
    where a layer holds one of them only (positivity).

    Args:
        units: of one panel.
        pairs: indices of the classes a and b.
        frames: how often each frame was drawn, [R, F].
    """
    sets, many, classes = units.mean.shape
    layers = (units.layer[:, None] == np.arange(len(units.layers))).astype(np.float64)
    shape = (sets, classes, len(units.layers))
    counts, total = (
        np.einsum("sug,uz->usgz", cells, layers).reshape(many, -1)
        for cells in (units.present.astype(np.float64), units.mean)
    )
    found = np.empty((len(frames), sets, len(pairs)))
    step = max(1, CHUNK // many)
    for start in range(0, len(frames), step):
        draws = slice(start, start + step)
        weights = frames[draws][:, units.frame]
        count, sums = ((weights @ cells).reshape(-1, *shape) for cells in (counts, total))
        with np.errstate(invalid="ignore", divide="ignore"):
            means = sums / count
        for place, (a, b) in enumerate(pairs):
            rows = count[:, :, a] + count[:, :, b]
            apart = np.where(rows > 0, rows * (means[:, :, a] - means[:, :, b]), 0.0)
            whole = rows.sum(axis=-1)
            found[draws, :, place] = np.where(
                whole > 0, apart.sum(axis=-1) / np.where(whole > 0, whole, 1.0), np.nan
            )
    return found


def e_value(standardised: float, error: float = 0.0) -> float:
    """The E-value of a standardised difference of means, or of the end of its interval nearer to 0.

    How strongly, as a risk ratio, an unmeasured confounder would have to be associated with both the class
    and the score to explain the difference away: RR + sqrt(RR (RR - 1)) with RR = exp(0.91 d) (VanderWeele &
    Ding 2017, Sensitivity analysis in observational research, Annals of Internal Medicine 167). 1 if nothing
    needs explaining.

    Args:
        standardised: d, the difference over the standard deviation within classes.
        error: of d; with it the E-value is that of the lower end, exp(0.91 d - 1.78 error).

    >>> round(e_value(0.5), 2), round(e_value(0.5, 0.25), 2)
    (2.53, 1.11)
    """
    logarithm = TO_RATIO * abs(standardised) - LIMIT_TO_RATIO * error
    ratio = float(np.exp(max(0.0, logarithm)))
    return ratio + float(np.sqrt(ratio * (ratio - 1.0)))


def tipping(difference: float, gap: float) -> float | None:
    """How far a binary confounder would have to move the score to explain a difference away.

    Args:
        difference: of means, a share of the range.
        gap: how much commoner the confounder is in one class than in the other, above 0.

    Returns:
        A share of the range; None where it would have to be more than the whole.
    """
    effect = abs(difference) / gap
    return effect if effect <= 1.0 else None


class OverlapGap(NamedTuple):
    """A class without texts of some covariates, although another class has some."""

    set: str
    cls: str
    layer: str


def gaps(panel: Panel, units: CovariateUnits, grouping: Grouping) -> list[OverlapGap]:
    """Where positivity fails."""
    found = []
    for place, name in enumerate(panel.sets):
        for layer, words in enumerate(units.layers):
            count = units.present[place, units.layer == layer].sum(axis=0)
            if count.any():
                found += [OverlapGap(name, grouping.classes[g], words) for g in np.flatnonzero(count == 0)]
    return found


def thin(panel: Panel, grouping: Grouping) -> Iterator[tuple[str, int]]:
    """Class and covariates, and the number of their clusters, of every layer that is adjusted for."""
    own = units(panel, grouping, adjusted=True)
    for layer, words in enumerate(own.layers):
        present = own.present[:, own.layer == layer].any(axis=0)
        for name, clusters in zip(grouping.classes, present.sum(axis=0).tolist(), strict=True):
            yield f"{name}, {words}", clusters


def effects_of(panel: Panel, grouping: Grouping, frames: Weights, *, adjusted: bool) -> tuple[float, Floats]:
    """The largest difference as a share of the range, and that of each resample, [R]; NaN if undefined."""
    own = units(panel, grouping, adjusted=adjusted)
    value = differences(own, grouping.pairs, np.ones((1, len(panel.frames))))[0]
    draws = differences(own, grouping.pairs, frames)
    return float(np.abs(value).max()) / RANGE, np.asarray(np.abs(draws).max(axis=(1, 2)) / RANGE)


@dataclass(frozen=True, slots=True)
class _Estimate:
    """Differences of all data sets and pairs, [S, K], and of each resample, [R, S, K]."""

    value: Floats
    draws: Floats

    @classmethod
    def of(cls, asking: MeasureInput, own: CovariateUnits) -> _Estimate:
        pairs = asking.grouping.pairs
        value = differences(own, pairs, np.ones((1, len(asking.panel.frames))))[0]
        return cls(value, respread(value, differences(own, pairs, asking.frames), asking.variance))

    @property
    def p(self) -> Floats:
        """Step-down max-T p, [S, K], from how far the resamples lie from what was observed (methods 0.7)."""
        apart = np.abs(self.draws - self.value).reshape(len(self.draws), -1)
        return step_down(np.abs(self.value).ravel(), apart, exact=False).reshape(self.value.shape)


def measure(asking: MeasureInput) -> Measurement:
    """The differences with their resamples, and what would explain them away.

    `Found.missing` names where positivity fails; the adjusted difference is undefined then.
    """
    panel, grouping = asking.panel, asking.grouping
    adjusted = asking.measured.measure == "adjusted"
    crude = _Estimate.of(asking, units(panel, grouping, adjusted=False))
    own = units(panel, grouping, adjusted=adjusted)
    best = _Estimate.of(asking, own) if adjusted else crude
    effect = float(np.abs(best.value).max()) / RANGE
    draws, undefined, bias = maximum_draws(np.abs(best.draws).max(axis=(1, 2)) / RANGE, effect)
    p = best.p
    found = Measurement(
        effect=effect,
        draws=draws,
        undefined=undefined,
        bias=bias,
        apart=np.abs(best.draws - best.value).max(axis=(1, 2)) / RANGE,
        p=1.0 if np.isnan(p).all() else float(np.nanmin(p)),
        raw=float("nan"),
        raw_draws=None,
        details={},
        reach=reach_of(best.draws, asking.settings.settle),
        missing=[f"{gap.cls}, {gap.layer} ({gap.set})" for gap in gaps(panel, own, grouping) if adjusted],
        constant=constant(panel),
        scores=int((panel.n.sum(axis=(0, 1, 3)) * (grouping.of >= 0)).sum()),
        highest=highest_of(best.draws, draws, bias) if asking.settings.rule == "sound" else None,
    )
    return found if asking.bare else replace(found, details=_details(asking, crude, best, found))


def _details(asking: MeasureInput, crude: _Estimate, best: _Estimate, found: Measurement) -> dict[str, Json]:
    panel, grouping, source = asking.panel, asking.grouping, asking.settings.conversations
    at = [(place, k) for place in range(len(panel.sets)) for k in range(len(grouping.pairs))]
    shown = crude if found.missing else best
    rows = [_row(asking, crude, best, shown, one) for one in at]
    largest = max(rows, key=lambda row: row["share"]["value"] or 0.0)
    speaker = asking.measured.data.removeprefix("conversation-")
    tests = [] if source is None else gender_tests(source, asking.seed)
    edges = [] if source is None else graph.conversation_edges(speaker, [], tests, float("nan"))
    effect = largest["share"] if shown is crude else interval_facts(found.interval)
    return {
        "sets": [
            {"set": name, "rows": int((panel.n[place].sum(axis=(0, 2)) * (grouping.of >= 0)).sum())}
            for place, name in enumerate(panel.sets)
        ],
        "adjust": list(asking.settings.adjust),
        "observed": rows,
        "effect": {
            **effect,
            "bias": found.bias,
            **{
                name: largest[name]
                for name in ("set", "pair", "lower", "e_value", "e_value_limit", "least_gap")
            },
        },
        "raw": None,
        "raw_undefined": False,
        "graph": {"edges": edges},
    }


def _row(
    asking: MeasureInput, crude: _Estimate, best: _Estimate, shown: _Estimate, at: tuple[int, int]
) -> dict[str, Json]:
    """One pair of classes in one data set; what would explain away the difference `shown`."""
    panel, grouping = asking.panel, asking.grouping
    place, pair = at[0], grouping.pairs[at[1]]
    value, draws = float(shown.value[at]), shown.draws[:, at[0], at[1]]
    n = [int(panel.n[place][:, grouping.of == label].sum()) for label in pair]
    own = units(panel, grouping, adjusted=False)
    scores = [own.mean[place, own.present[place, :, label], label] for label in pair]
    spread = _spread(scores)
    known = spread > ROUNDING and not np.isnan(value)
    standardised = value / spread if known else 0.0
    error = float(np.nanstd(draws)) / spread if known else 0.0
    names = [grouping.classes[label] for label in pair]

    def differs(one: _Estimate) -> dict[str, Json]:
        return interval_facts(resampled_interval(float(one.value[at]), one.draws[:, at[0], at[1]], sum(n)))

    return {
        "set": panel.sets[place],
        "pair": names,
        "lower": names[0] if value < 0 else names[1],
        "n": n,
        "clusters": [len(one) for one in scores],
        "means": [finite_or_none(one.mean()) if one.size else None for one in scores],
        "observed": differs(crude),
        "adjusted": None if best is crude else differs(best),
        "share": interval_facts(absolute_interval(resampled_interval(value / RANGE, draws / RANGE, sum(n)))),
        "p_family": finite_or_none(shown.p[at]),
        "standardised": abs(standardised) if known else None,
        "e_value": e_value(standardised) if known else None,
        "e_value_limit": e_value(standardised, error) if known else None,
        "least_gap": finite_or_none(abs(value) / RANGE),
        "tipping": [{"gap": gap, "effect": tipping(value / RANGE, gap)} for gap in GAPS],
    }


def absolute_interval(signed: Interval) -> Interval:
    """How large a difference is, whatever its sign; from 0 where the difference may be either way."""
    if signed.value is None or signed.low is None or signed.high is None:
        return signed
    ends = sorted(abs(end) for end in (signed.low, signed.high))
    return Interval(abs(signed.value), 0.0 if signed.low <= 0 <= signed.high else ends[0], ends[1], signed.n)


def _spread(scores: Sequence[Floats]) -> float:
    """Standard deviation within classes, pooled."""
    free = sum(len(one) - 1 for one in scores if len(one))
    squares = sum(float(((one - one.mean()) ** 2).sum()) for one in scores if len(one))
    return float(np.sqrt(squares / free)) if free > 0 else 0.0
