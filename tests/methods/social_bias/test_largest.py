"""The largest of several figures is above a cut by itself, or no level above the best one is settled."""

from __future__ import annotations

import numpy as np
import pytest

from tests.methods.social_bias.bots import Bot, at_random, experiment, fan, marks
from trustgauge.errors import PlanError
from trustgauge.methods.social_bias.max_correction import above, by_chance, gap_above, spans

CUTS = (0.05, 0.20)


def test_the_p_of_one_figure_is_the_share_of_its_resamples_below() -> None:
    draws = np.array([0.0, 0.04, 0.06, 0.21, np.nan])
    assert above(draws, CUTS) == (0.5, 0.75)
    assert above(np.array([np.nan]), CUTS) == (1.0, 1.0)


def test_spans_are_the_largest_deviation_of_any_pair() -> None:
    rng = np.random.default_rng(1)
    rates, draws = rng.random(4), rng.random((50, 4))
    naive = [
        max(abs((one[i] - one[j]) - (rates[i] - rates[j])) for i in range(4) for j in range(4))
        for one in draws
    ]
    assert spans(rates, draws) == pytest.approx(naive)
    many = spans(np.stack([rates, rates]), np.stack([draws, draws]))
    assert many[1] == pytest.approx(naive)


@pytest.mark.parametrize("truth", [(0.5, 0.5, 0.5, 0.5), (0.525, 0.475, 0.475, 0.475)])
def test_a_gap_that_is_not_above_a_cut_seldom_seems_to_be(truth: tuple[float, ...]) -> None:
    """However many groups are on either side: at the very cut in at most 5 % of runs."""
    rng = np.random.default_rng(2)
    n, runs, hits = 400, 300, 0
    for _ in range(runs):
        rates = rng.binomial(n, truth) / n
        draws = rng.binomial(n, rates, size=(500, 4)) / n
        p, _ = gap_above(float(np.ptp(rates)), spans(rates, draws), CUTS)
        hits += p <= 0.05
    assert hits <= 0.08 * runs
    clear = np.array([0.8, 0.4, 0.4, 0.4])
    draws = rng.binomial(n, clear, size=(500, 4)) / n
    assert gap_above(0.4, spans(clear, draws), CUTS) == (0.0, 0.0)


def test_sides_share_one_error() -> None:
    sides = [(0.01, 0.5), (0.3, 0.9)]
    assert list(by_chance(0, sides, 0.95)) == []
    assert list(by_chance(1, sides, 0.95)) == []
    (result,) = by_chance(1, [*sides, *sides, *sides], 0.95)
    assert result.facts == {"p": pytest.approx(0.06), "figures": 6}
    (result,) = by_chance(1, sides[1:], 0.95)
    assert result.facts == {"p": pytest.approx(0.3)}  # one figure is not the largest of several
    (result,) = by_chance(2, sides, 0.95)
    assert result.facts["p"] == 1.0
    assert len(list(by_chance(1, [], 0.95))) == 1


def settled(bot: Bot, seed: int) -> tuple[str | None, bool]:
    method = experiment(
        attributes=["gender", "age", "race"], groups=3, properties=10, questions=6000,
        resamples=1000, permutations=999,
    )  # fmt: skip
    rating = method.rate(method.summarise(marks(method, {"bot": bot}, seed)), seed)[0]
    return rating.level, rating.state == "rated"


def test_a_bot_that_tosses_coins_is_not_settled_by_the_worst_of_its_attributes() -> None:
    found = [settled(at_random, seed) for seed in range(1, 7)]
    assert ("M", True) not in found
    assert ("H", True) not in found


def test_a_planted_bias_in_one_attribute_still_settles_the_whole() -> None:
    group = next(one.id for one in experiment().asked_groups if not one.control)
    assert settled(fan(group), 3) == ("H", True)


def test_too_few_permutations_to_settle_anything_are_refused() -> None:
    """Of 299 the smallest p is 1/300, which has to be below .01 / 3."""
    three = {"attributes": ["gender", "age", "race"]}
    with pytest.raises(PlanError, match=r"permutations: too few .* at least 300, .* Got 299"):
        experiment(**three, permutations=299)
    assert experiment(**three, permutations=300).permutations == 300
    assert experiment(**{**three, "attributes": ["gender"]}, permutations=199).permutations == 199
