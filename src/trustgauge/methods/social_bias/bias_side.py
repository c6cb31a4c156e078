"""What a side of an attribute comes to: its figure, and its level in each resample (methods 0.5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

from trustgauge.methods.social_bias.max_correction import Above
from trustgauge.rating import most_likely
from trustgauge.records import Interval, Json, Reason

Floats = NDArray[np.float64]
Levels = NDArray[np.int64]
LEVELS = ("L", "M", "H")
ROUNDING = 1e-9


@dataclass(frozen=True)
class BiasSide:
    """One side of the bias of an attribute: excess, direction or gap.

    Attributes:
        value: its figure with its interval.
        levels: level in each resample, [R]; None where nothing could be measured.
        details: as JSON.
        reasons: what a reader must know.
        weak: not enough to settle a level above the best: what chance alone gives too, or a rate without that
            of invented groups.
        draws: the figure in each resample; shared by services, to compare them.
        above: the p that it is not above each of its cuts (`largest`).
        few: too few properties that its figure rests on, which settles no level.
        evidence: levels that the figure has whatever an instrument did that was not measured, [R].
        low: whether its interval agrees with the best level.
        facts: what its sentence says: whom it names, and how.
    """

    value: Interval
    levels: Levels | None
    details: Mapping[str, Json] = field(default_factory=dict)
    reasons: tuple[Reason, ...] = ()
    weak: bool = False
    draws: Floats | None = None
    above: Above = (1.0, 1.0)
    few: tuple[Reason, ...] = ()
    evidence: Levels | None = None
    low: bool = True
    facts: Mapping[str, Json] = field(default_factory=dict)


def kind_of(side: str) -> str:
    """The kind of tuples that a side is read from."""
    return "relative" if side == "relative" else "absolute"


@dataclass(frozen=True)
class Largest:
    """The largest of several figures of equal standing, such as the differences between groups.

    Attributes:
        value: as measured.
        stars: in each resample, [R]; NaN where it is undefined.
        apart: how far the figures deviate in each resample, the largest of them (`largest.spans`).
        n: answers or comparisons.
        clusters: properties that they rest on.
    """

    value: float
    stars: Floats
    apart: Floats
    n: int
    clusters: int

    @property
    def bias(self) -> float:
        """By how much the largest of noisy figures is too large (causal 2.9)."""
        return max(0.0, float(self.stars.mean() - self.value)) if self.stars.size else 0.0

    def without_spread(self, chances: Floats, most: float) -> Largest:
        """The same; where no resample differs, drawn from what so many properties allow (methods 0.5 (c)).

        Args:
            chances: uniform in (0, 1), [R].
            most: how large the figure can be.
        """
        if not self.stars.size or self.apart.max() > ROUNDING:
            return self
        k = self.clusters * min(1.0, self.value / most)
        drawn = most * special.betaincinv(k + 0.5, self.clusters - k + 0.5, chances[: self.stars.size])
        return replace(self, stars=drawn, apart=np.abs(drawn - self.value))

    @property
    def interval(self) -> Interval:
        """Less the bias, with an interval that allows for it.

        Quantiles of resampled maxima begin above 0 where there is no difference at all. The interval begins
        where all figures are accounted for at once, 95 % one-sided, and ends at the 97.5 % quantile of the
        resampled maxima less their bias.
        """
        if np.isnan(self.value) or not self.stars.size:
            return Interval(None, None, None, self.n)
        bias = self.bias if self.value > ROUNDING else 0.0
        value = max(0.0, self.value - bias)
        low = min(value, max(0.0, self.value - float(np.quantile(self.apart, 0.95))))
        high = max(value, float(np.quantile(self.stars, 0.975)) - bias)
        return Interval(value, low, high, self.n)

    @property
    def corrected(self) -> Floats:
        """The resamples less twice the bias (causal 2.9); as they are where nothing was found at all."""
        twice = 2 * self.bias if self.value > ROUNDING else 0.0
        return np.maximum(0.0, self.stars - twice)

    def with_unseen(self, errors: Floats) -> Largest:
        """The same, with the reading errors that an audit allows and did not show, [R]."""
        errors = errors[: self.stars.size]
        return replace(self, stars=self.stars + errors, apart=self.apart + errors)


def within_range(value: Interval, most: float) -> Interval:
    """A figure and its interval, none of it above what the figure can be: corrections may lead there."""
    low, high = (None if one is None else min(most, one) for one in (value.low, value.high))
    return replace(value, value=None if value.value is None else min(most, value.value), low=low, high=high)


def bound_levels(levels: Levels, clusters: int) -> Levels:
    """Levels whose likeliest has a share of at most (K + 1) / (K + 2) over K properties (methods 0.5)."""
    if not clusters:
        return levels
    mode = most_likely(levels)
    places = np.flatnonzero(levels == mode)
    others = int(np.ceil(len(levels) / (clusters + 2))) - (len(levels) - len(places))
    bounded = levels.copy()
    bounded[places[: max(0, others)]] = 1 if mode != 1 else 2
    return bounded


def levels_of(draws: Floats, cuts: tuple[float, float]) -> Levels:
    """0 low, 1 medium, 2 high of each resample; a value on a cut has the level above it."""
    kept = draws[~np.isnan(draws)]
    return np.asarray(np.searchsorted(np.array(cuts), kept + 1e-9, side="right"), dtype=np.int64)
