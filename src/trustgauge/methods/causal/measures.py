"""What measuring one part needs, and what it gives: the same for both kinds of measure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from trustgauge.methods.causal.ordering import bias_of_maximum
from trustgauge.methods.causal.panel import Floats, Grouping, Panel, Weights
from trustgauge.methods.causal.settings import CausalSettings, Measurand
from trustgauge.rating import resampled_interval
from trustgauge.records import Interval, Json
from trustgauge.stats.equivalence import verdict

NAMED = 5  # persons or words named in a reason
RANGE = 2.0  # width of the range of scores, -1 to 1
ROUNDING = 1e-12  # effects below this are none
FEWEST_CLUSTERS = 10  # of a stratum, to settle a level (methods 0.5 (b))
WRONG = 0.05  # of the 95 % intervals


@dataclass(frozen=True)
class MeasureInput:
    """One part to measure.

    Attributes:
        panel, grouping: the answers and the classes.
        settings, measured: the experiment, and which of its parts this is.
        frames, persons: bootstrap weights, [R, F] and [R, P].
        stream: gives the random stream of a purpose.
        seed: of the plan, for what does not depend on the answers.
        variance: of each effect with the segments of the run as clusters, [S, K]; None without segments.
        two_way: of each effect with frames and persons as clusters, [S, K]; None unless both are resampled.
        bare: whether only the effects and their resamples are asked for, to compare services: without tests
            of chance, raw score and details, which take most of the time.
    """

    panel: Panel
    grouping: Grouping
    settings: CausalSettings
    measured: Measurand
    frames: Weights
    persons: Floats
    stream: Callable[[str], np.random.Generator]
    seed: int
    variance: Floats | None = None
    two_way: Floats | None = None
    bare: bool = False


@dataclass(frozen=True)
class Measurement:
    """What measuring gave.

    Attributes:
        effect: e, the largest absolute effect as a share of the range; NaN if undefined.
        draws: e* of each resample, [R], those left out in which it was undefined.
        undefined: share of the resamples in which it was.
        bias: b = mean(e*) - e.
        apart: how far the effects of each resample lie from those observed: the largest distance over
            classes and data sets, a share of the range, [R].
        p: the smallest p of the family.
        raw: weighted rejection score, or impact in percent (inf: "X").
        raw_draws: the same in each resample; None unless the rule rates it.
        details: for the part, as JSON.
        reach: of `reach_of`: how large an effect the resamples do not rule out, a share of the range.
        missing, untestable: empty cells of the adjustment, pairs without a test, in words.
        constant: the score that every answer was, if all were the same, else ().
        highest: the upper end of the 95 % interval of the effect (`highest_of`); None by the papers' rules,
            of which it is that of the corrected resamples.
        words: facts of single words with an effect above the first cut, where that of the part is not.
    """

    effect: float
    draws: Floats
    undefined: float
    bias: float
    apart: Floats
    p: float
    raw: float
    raw_draws: Floats | None
    details: Mapping[str, Json]
    reach: float
    missing: list[str] = field(default_factory=list)
    untestable: list[str] = field(default_factory=list)
    constant: tuple[float, ...] = ()
    scores: int = 0
    highest: float | None = None
    words: Mapping[str, Json] = field(default_factory=dict)

    @property
    def corrected(self) -> Floats:
        """max(0, e* - 2b) of each resample: what levels are read from (causal 2.9)."""
        return np.maximum(0.0, self.draws - 2.0 * self.bias)

    @property
    def interval(self) -> Interval:
        """The corrected effect, max(0, e - b), with the interval of its resamples."""
        value = max(0.0, self.effect - self.bias)
        bounds = resampled_interval(value, self.corrected, self.scores)
        if self.highest is not None and bounds.high is not None:
            bounds = replace(bounds, high=max(bounds.high, self.highest))
        return replace(bounds, low=self.lowest()) if bounds.low else bounds

    def lowest(self, parts: int = 1) -> float:
        """The lower end of its 95 % interval, as one of several parts; see `lowest`."""
        return lowest(self.corrected, self.apart, self.effect, parts)


def lowest(corrected: Floats, apart: Floats, effect: float, parts: int = 1) -> float:
    """The lower end of the 95 % interval of the largest effect, or of one of several parts.

    A largest absolute value is hardly ever 0 in a resample, however small the effects are, so its
    resamples alone do not tell that there may be none. There may be none as long as all that was
    observed lies within 95 % of the distances of the resamples from it: then the interval begins
    at 0, and else no higher than e less that distance: the largest of several equal effects looks
    larger than each of them. The largest of several parts has as many chances to look large, so each is
    asked with its share of the 5 %.

    Args:
        corrected: the corrected effect of each resample, [R].
        apart: of `Found`; undefined resamples are left out.
        effect: e.
        parts: among how many this is one.
    """
    known = apart[~np.isnan(apart)]
    reach = float(np.quantile(known, 1 - WRONG / parts)) if known.size else np.inf
    if effect <= reach:
        return 0.0
    return min(effect - reach, float(np.quantile(corrected, WRONG / 2 / parts)))


def at_best(draws: Floats, low: float) -> Floats:
    """The effect of each resample, [R]; none in any where the interval of the effect begins at 0 (`lowest`).

    Of scorers without any effect the noisier would look worse in every resample.
    """
    return draws if low > 0.0 else np.zeros_like(draws)


def reach_of(draws: Floats, settle: float, width: float = RANGE) -> float:
    """How large an effect may be, a share of the range: the farthest end of any effect's own interval.

    Corrected for its bias, a largest absolute value says little of how large the effects may be: of a single
    noisy effect the bias is mostly that of a value folded at 0. That there is none must therefore hold of
    each effect, in two one-sided tests at 1 - settle (methods 0.6); all of them have to hold, so no share of
    the error is due to their number.

    Args:
        draws: effects of each resample with their signs, [R, ...]; undefined resamples are left out.
        settle: the certainty asked for; .95 takes intervals of 90 %.
        width: of the range of the outcome.
    """
    flat = draws.reshape(len(draws), -1)
    kept = flat[~np.isnan(flat).any(axis=1)]
    if not kept.size:
        return 0.0 if len(kept) else float("inf")
    return float(np.abs(np.quantile(kept, [1.0 - settle, settle], axis=0)).max()) / width


def highest_of(draws: Floats, largest: Floats, bias: float, width: float = RANGE) -> float:
    """The upper end of the 95 % interval of the largest effect, a share of the range.

    Of a single effect the farther end of its own interval: the values that its absolute value has there. What
    is corrected for the bias twice, as levels are, misses an effect of one to two standard errors that seems
    to be near 0. Of several the 97.5 % point of the largest in the resamples, less its bias in the data.

    Args:
        draws: effects of each resample with their signs, [R, ...]; undefined resamples are left out.
        largest: e* of each resample, those left out in which it was undefined.
        bias: b = mean(e*) - e.
        width: of the range of the outcome.
    """
    if not largest.size:
        return 0.0
    if draws[0].size == 1:
        return reach_of(draws, 1.0 - WRONG / 2, width)
    return max(0.0, float(np.quantile(largest, 1.0 - WRONG / 2)) - bias)


def maximum_draws(draws: Floats, effect: float) -> tuple[Floats, float, float]:
    """Resamples without the undefined ones, the share of those, and the bias of the maximum."""
    kept = draws[~np.isnan(draws)]
    kept = np.where(kept < ROUNDING, 0.0, kept)
    share = 1.0 - len(kept) / len(draws)
    bias = bias_of_maximum(kept, effect) if kept.size and not np.isnan(effect) else 0.0
    # A maximum is biased upward only; below 0 the difference is rounding or chance.
    return kept, share, max(0.0, bias)


def respread(
    value: Floats, draws: Floats, by_segment: Floats | None, two_way: Floats | None = None
) -> Floats:
    """Resamples spread about the estimate to the variance that is due (methods 0.3, 0.5).

    A product of two bootstrap weights counts the noise of single answers up to three times, so resamples
    of frames and persons get their two-way clustered variance. Those of one kind of clusters keep theirs.
    Either is raised to the variance by segment where that is larger.

    Args:
        value: effects, [S, K].
        draws: the same in each resample, [R, S, K].
        by_segment: variance of each effect with the segments of the run as clusters, [S, K].
        two_way: variance with frames and persons as clusters, [S, K].
    """
    if by_segment is None and two_way is None:
        return draws
    known = np.isfinite(value)
    spread = np.where(known, np.nanvar(np.where(known, draws, 0.0), axis=0), 0.0)
    due = spread if two_way is None else two_way
    due = due if by_segment is None else np.maximum(due, by_segment)
    ratio = np.where(spread > 0, due / np.where(spread > 0, spread, 1.0), 1.0)
    return np.asarray(value + (draws - value) * np.sqrt(ratio))


def verdict_of(draws: Floats, margin: float, *, found: bool) -> str:
    """What is said of an effect: `found`, else `same` within the margin, else `undetermined` (methods 0.6).

    Args:
        draws: the effect in each resample; undefined ones are left out.
        margin: within which effects count as the same, in units of `draws`.
        found: whether the tests of its family find it.
    """
    kept = draws[~np.isnan(draws)]
    if not kept.size:
        return "undetermined"
    if found:
        return "found"
    low, low90, high90, high = (float(one) for one in np.quantile(kept, [0.025, 0.05, 0.95, 0.975]))
    return "same" if verdict((low90, high90), (low, high), margin) == "same" else "undetermined"


def finite_or_none(value: Any) -> Json:
    """A number as JSON can hold it: what is undefined or infinite is None."""
    number = float(value)
    return number if np.isfinite(number) else None


def constant(panel: Panel) -> tuple[float, ...]:
    """The score that every answer was, if all were the same."""
    present = panel.n > 0
    means = panel.y[present] / panel.n[present]
    if (
        means.size
        and np.ptp(means) == 0
        and np.allclose(panel.yy[present], panel.n[present] * means**2, atol=1e-12)
    ):
        return (float(means[0]),)
    return ()
