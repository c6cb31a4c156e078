"""Rates that differ between groups, against SciPy's integrals and optimiser and against drawn groups."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import beta, binom, norm

from trustgauge.stats.heterogeneity import (
    SPREADS,
    Counts,
    Place,
    draw_place,
    draw_rates,
    draw_rates_of_many,
    spread_weights,
)

APART: Counts = ((2, 80), (18, 90), (5, 100), (30, 95), (9, 60), (1, 70), (12, 85))
ALIKE: Counts = ((8, 80), (9, 90), (10, 100), (10, 95), (6, 60), (7, 70), (8, 85))
CHANCES = (0.025, 0.5, 0.975)


def drawn(groups: Counts, strata: tuple[Counts, ...], count: int = 100_000) -> np.ndarray:
    rng = np.random.default_rng(1)
    return draw_rates(groups, draw_place(strata, count, rng), rng)


def marginal(groups: Counts, mean: float, spread: float) -> float:
    """The likelihood of mean and spread by SciPy, each group integrated by itself."""

    def density(z: float, found: int, n: int) -> float:
        odds = mean + spread * z
        fall = -found * math.log1p(math.exp(-odds)) - (n - found) * math.log1p(math.exp(odds))
        return math.comb(n, found) * math.exp(fall - z * z / 2) / math.sqrt(2 * math.pi)

    total = 1.0
    for found, n in groups:
        peak = float(np.clip((math.log((found + 0.5) / (n - found + 0.5)) - mean) / spread, -7, 7))
        total *= quad(density, -8, 8, args=(found, n), points=[peak], epsrel=1e-6, limit=100)[0]
    return total


def test_the_likeliest_spread_is_that_of_an_optimiser() -> None:
    for groups in (APART, ((2, 30), (3, 40), (9, 50))):
        best = minimize(
            lambda x, g=groups: -np.log(marginal(g, x[0], np.exp(x[1]))), [-2.0, -0.5], method="Nelder-Mead"
        )
        posterior = spread_weights((groups,)) / np.exp(-(SPREADS**2) / 2)
        # The mean is integrated out here, so few groups look a little further apart.
        assert SPREADS[posterior.argmax()] == pytest.approx(np.exp(best.x[1]), abs=0.25)


def test_the_posterior_is_that_of_plain_integration() -> None:
    groups: Counts = ((1, 20), (9, 30), (4, 25))
    angles = (np.arange(60) + 0.5) / 60 * np.pi / 2
    means = np.log(np.tan(angles) ** 2)
    some = SPREADS[2::6]
    found = np.array([np.mean([marginal(groups, mean, one) for mean in means]) for one in some])
    found *= norm.pdf(some)
    expected = spread_weights((groups,))[2::6]
    assert found / found.sum() == pytest.approx(expected / expected.sum(), abs=0.005)


def test_groups_that_are_alike_leave_what_the_sum_of_them_tells() -> None:
    """Many equal groups: a new one is hardly wider than Beta of all, and never narrower."""
    many = ALIKE * 8
    found, n = map(sum, zip(*many, strict=True))
    ends, plain = np.quantile(drawn(many, (many,)), CHANCES), beta.ppf(CHANCES, found + 0.5, n - found + 0.5)
    assert ends[1] == pytest.approx(plain[1], abs=0.005)
    assert 1 <= (ends[2] - ends[0]) / (plain[2] - plain[0]) < 2.2


def test_without_spread_a_rate_is_drawn_from_beta() -> None:
    place = Place(np.full(100_000, 0.02), np.random.default_rng(2).standard_normal(100_000))
    for found, n in ((0, 40), (7, 60), (90, 100)):
        plain = beta.ppf(CHANCES, found + 0.5, n - found + 0.5)
        assert np.quantile(
            draw_rates(((found, n),), place, np.random.default_rng(3)), CHANCES
        ) == pytest.approx(plain, abs=0.01)
        many = draw_rates_of_many(found, n, place, np.random.default_rng(3))
        assert np.quantile(many, CHANCES) == pytest.approx(plain, abs=0.01)


def test_strata_lend_each_other_their_spread_and_not_their_mean() -> None:
    few: Counts = ((10, 100), (12, 100))
    alone, apart, alike = (np.diff(np.quantile(drawn(few, one), [0.025, 0.975]))[0] for one in (
        (few,), (few, APART), (few, ALIKE * 3)
    ))  # fmt: skip
    assert alike < apart
    assert alike < alone
    assert np.median(drawn(few, (few, ((60, 100),) * 6))) < 0.2


@pytest.mark.parametrize("how", ["logit-normal 0", "logit-normal 0.8", "beta-binomial 0.05"])
def test_the_next_group_is_within_the_interval(how: str) -> None:
    """Nine groups in two strata; the tenth is above the upper end in at most about one of forty."""
    rng, above, below, runs = np.random.default_rng(20261130), 0, 0, 100
    kind, size = how.split()
    for _ in range(runs):
        if kind == "beta-binomial":
            scale = (1 - float(size)) / float(size)
            one, two = rng.beta(0.1 * scale, 0.9 * scale, 10), rng.beta(0.05 * scale, 0.95 * scale, 10)
        else:
            effects = float(size) * rng.standard_normal(10)
            one, two = expit(-2.2 + effects), expit(-2.9 + effects)
        sizes = rng.integers(20, 100, size=(2, 9))
        strata: tuple[Counts, ...] = tuple(
            tuple((int(rng.binomial(n, p)), int(n)) for n, p in zip(ns, rates[:9], strict=True))
            for ns, rates in zip(sizes, (one, two), strict=True)
        )
        low, high = np.quantile(draw_rates(strata[0], draw_place(strata, 2_000, rng), rng), [0.025, 0.975])
        above, below = above + (one[9] > high), below + (one[9] < low)
    allowed = int(binom.ppf(0.999, runs, 0.025))
    assert above <= allowed
    # Beta puts much of its mass near nothing, which no normal effect does; fewer alarms settle no level.
    assert below <= (allowed if kind == "logit-normal" else 0.1 * runs)
