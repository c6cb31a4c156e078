"""Rates that differ between groups, and what they may be in a group that nobody has seen.

The rate of a group has log-odds m + s z, z standard normal: a random effect, as between studies of a
diagnostic test (Chu and Cole 2006, Bivariate meta-analysis of sensitivity and specificity with sparse data: a
generalized linear mixed model approach, Journal of Clinical Epidemiology 59). Each stratum has its own m; the
spread s is common to all of them, since the groups of a single one are few.

Both are drawn from their posterior, on a grid. Beforehand s is half-normal of scale 1 (Roever et al. 2021, On
weakly informative prior distributions for the heterogeneity parameter in Bayesian random-effects
meta-analysis, Research Synthesis Methods 12), and expit(m) is Beta(1/2, 1/2): without spread a rate is drawn
from Beta(k + 1/2, n - k + 1/2), as where all groups are alike.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit, ndtri

from trustgauge.stats.distributions import Floats, Ints

SCALE = 1.0  # of the spread beforehand
WIDEST = 4.0  # spread: four times that scale
SPREAD_STEP = 0.1
SPREADS = np.arange(SPREAD_STEP / 2, WIDEST, SPREAD_STEP)
MEANS = 160
ANGLE = np.pi / 2 / MEANS  # between means: Beta(1/2, 1/2) is even in the angle whose sine squared is the rate
LOG_ODDS = np.arange(-12.0, 12.001, 0.06)  # of groups; rates below a hundred-thousandth make no difference

Counts = tuple[tuple[int, int], ...]
"""Of each group of a stratum: items that have what is counted, and items."""


class Place(NamedTuple):
    """A group that nobody has seen, in R draws, [R] each; what it has in common in all strata.

    Attributes:
        spread: between groups.
        effect: of this group, z.
    """

    spread: Floats
    effect: Floats


def draw_place(strata: tuple[Counts, ...], count: int, rng: np.random.Generator) -> Place:
    """Where a group that nobody has seen may stand among those that were counted.

    Args:
        strata: the groups of each.
        count: of draws.
        rng: of the draws.
    """
    below = spread_weights(strata).cumsum()
    at = np.minimum(np.searchsorted(below, _evenly(count, rng)), len(SPREADS) - 1)
    spread = SPREADS[at] + SPREAD_STEP * (rng.random(count) - 0.5)
    return Place(spread, draw_effect(count, rng))


def draw_effect(count: int, rng: np.random.Generator) -> Floats:
    """Standard normal, one from each of as many equal shares, [R]: few draws tell rare groups."""
    return np.asarray(ndtri(_evenly(count, rng)))


def _evenly(count: int, rng: np.random.Generator) -> Floats:
    return np.asarray((rng.permutation(count) + rng.uniform(1e-9, 1.0, count)) / count)


def draw_rates(groups: Counts, place: Place, rng: np.random.Generator) -> Floats:
    """The rate of such a group in a stratum, [R].

    Args:
        groups: of this stratum.
        place: of the group.
        rng: of the mean.
    """
    below, shares = _below(groups), rng.random(len(place.spread))
    spreads = np.minimum((place.spread / SPREAD_STEP).astype(np.int64), len(SPREADS) - 1)
    at: Ints = np.empty(len(shares), dtype=np.int64)
    for spread in np.unique(spreads):
        mine = spreads == spread
        at[mine] = np.searchsorted(below[spread], shares[mine])
    angle = (np.minimum(at, MEANS - 1) + rng.random(len(shares))) * ANGLE
    return _shift(np.sin(angle) ** 2, place)


def draw_rates_of_many(found: int, n: int, place: Place, rng: np.random.Generator) -> Floats:
    """The same where groups were not told apart, and are taken to be so many that their mean is known, [R].

    Args:
        found: items that have what is counted.
        n: items.
        place: of the group.
        rng: of the mean.
    """
    return _shift(rng.beta(found + 0.5, n - found + 0.5, len(place.effect)), place)


def _shift(mean: Floats, place: Place) -> Floats:
    return np.asarray(expit(logit(np.clip(mean, 1e-12, 1 - 1e-12)) + place.spread * place.effect))


@lru_cache(maxsize=64)
def spread_weights(strata: tuple[Counts, ...]) -> Floats:
    """The posterior of the spread on SPREADS."""
    logs = -((SPREADS / SCALE) ** 2) / 2
    for groups in strata:
        likelihood = _log_likelihood(groups)
        top = likelihood.max()
        logs = logs + np.log(np.exp(likelihood - top).mean(axis=1)) + top
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


@lru_cache(maxsize=256)
def _below(groups: Counts) -> Floats:
    """The posterior of the mean for each spread, added up, [SPREADS, MEANS]."""
    likelihood = _log_likelihood(groups)
    weights = np.exp(likelihood - likelihood.max(axis=1, keepdims=True)).cumsum(axis=1)
    return np.asarray(weights / weights[:, -1:])


@lru_cache(maxsize=256)
def _log_likelihood(groups: Counts) -> Floats:
    """Of the groups of a stratum, up to a constant, for each spread and mean, [SPREADS, MEANS]."""
    found, n = np.array(groups).reshape(-1, 2).T[..., None]
    of_rate = -found * np.logaddexp(0, -LOG_ODDS) - (n - found) * np.logaddexp(0, LOG_ODDS)
    weights = np.exp(of_rate - of_rate.max(axis=1, keepdims=True))
    # all groups at once: the table is read from memory once, which is what takes time
    logs = np.log(_shares().reshape(-1, len(LOG_ODDS)) @ weights.T + np.finfo(np.float64).tiny)
    return np.asarray(logs.sum(axis=1).reshape(len(SPREADS), MEANS))


@lru_cache(maxsize=1)
def _shares() -> Floats:
    """How the log-odds of groups are spread for each spread and mean, [SPREADS, MEANS, LOG_ODDS]."""
    means = logit(np.sin((np.arange(MEANS) + 0.5) * ANGLE) ** 2)
    apart = (LOG_ODDS - means[:, None]) / SPREADS[:, None, None]
    shares = np.exp(-(apart**2) / 2)
    return np.asarray(shares / shares.sum(axis=2, keepdims=True))
