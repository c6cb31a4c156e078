"""Agreement against independent computations, and by its properties."""

from __future__ import annotations

import math

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from statsmodels.stats.inter_rater import fleiss_kappa as reference_kappa

from trustgauge.stats import stream
from trustgauge.stats.agreement import (
    Level,
    alpha_interval,
    equal_share,
    fleiss_kappa,
    krippendorff_alpha,
    pairwise_agreement,
)

VALUES = (-1.0, 0.0, 1.0)
LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval")
COUNTS = arrays(np.int64, st.tuples(st.integers(1, 12), st.just(3)), elements=st.integers(0, 4))
FULL = st.lists(
    st.sampled_from([(3, 0, 0), (2, 1, 0), (1, 1, 1), (0, 3, 0), (0, 1, 2)]), min_size=2, max_size=15
)


def close(one: float, other: float) -> bool:
    return math.isclose(one, other, abs_tol=1e-9) or (math.isnan(one) and math.isnan(other))


def test_three_people_two_items() -> None:
    # One item with equal labels, one with 2 against 1: pairs agree in 1 and in 1/3 of the cases.
    counts = [[3, 0, 0], [2, 0, 1]]
    assert equal_share(counts) == 0.5
    assert pairwise_agreement(counts) == pytest.approx(2 / 3)
    # Shares 5/6 and 1/6 give 26/36 by chance.
    assert fleiss_kappa(counts) == pytest.approx((2 / 3 - 26 / 36) / (1 - 26 / 36))
    # Two unequal ordered pairs weighing 1/2 each on both sides: observed 2 of 6; expected 2*5*1 of 6*5.
    assert krippendorff_alpha(counts, VALUES, "nominal") == pytest.approx(1 - (2 / 6) / (10 / 30))


@given(FULL)
def test_kappa_is_that_of_statsmodels(rows: list[tuple[int, ...]]) -> None:
    counts = np.array(rows)
    if np.count_nonzero(counts.sum(axis=0)) > 1:
        assert close(fleiss_kappa(counts), float(reference_kappa(counts)))
    else:
        assert math.isnan(fleiss_kappa(counts))


@settings(deadline=None)
@given(COUNTS, st.sampled_from(LEVELS))
def test_alpha_is_that_of_the_package_krippendorff(counts: np.ndarray, level: Level) -> None:
    paired = counts[counts.sum(axis=1) >= 2]
    ours = krippendorff_alpha(counts, VALUES, level)
    if np.count_nonzero(paired.sum(axis=0)) < 2:
        assert math.isnan(ours)
        return
    theirs = krippendorff.alpha(
        value_counts=paired, value_domain=np.array(VALUES), level_of_measurement=level
    )
    assert close(ours, float(theirs))


@given(COUNTS, st.sampled_from(LEVELS))
def test_the_order_of_items_and_categories_does_not_matter(counts: np.ndarray, level: Level) -> None:
    turned, values = counts[::-1, ::-1], VALUES[::-1]
    assert close(krippendorff_alpha(counts, VALUES, level), krippendorff_alpha(turned, values, level))
    shuffled = counts[:, [1, 2, 0]], (0.0, 1.0, -1.0)
    assert close(krippendorff_alpha(counts, VALUES, level), krippendorff_alpha(*shuffled, level))
    assert close(fleiss_kappa(counts), fleiss_kappa(turned))


@given(COUNTS)
def test_bounds(counts: np.ndarray) -> None:
    equal, pairs = equal_share(counts), pairwise_agreement(counts)
    if (counts.sum(axis=1) >= 2).any():
        assert 0 <= equal <= pairs <= 1
        # Chance correction never adds to what is seen, and full agreement stays full.
        kappa = fleiss_kappa(counts)
        assert math.isnan(kappa) or kappa <= pairs + 1e-12
        assert (equal == 1) == math.isclose(pairs, 1.0)
    else:
        assert math.isnan(equal)
        assert math.isnan(pairs)


@given(COUNTS, st.lists(st.sampled_from([(0, 0, 0), (1, 0, 0), (0, 0, 1)]), max_size=5))
def test_items_with_fewer_than_two_labels_change_nothing(
    counts: np.ndarray, lonely: list[tuple[int, int, int]]
) -> None:
    more = np.vstack([counts, np.array(lonely, dtype=np.int64).reshape(-1, 3)])
    for measure in (equal_share, pairwise_agreement, fleiss_kappa):
        assert close(measure(counts), measure(more))
    assert close(krippendorff_alpha(counts, VALUES), krippendorff_alpha(more, VALUES))


@pytest.mark.parametrize("counts", [[[3, 0, 0], [3, 0, 0]], [[0, 2, 0]], [[1, 0, 0], [0, 1, 0]]])
def test_one_label_or_no_pair_is_undefined(counts: list[list[int]]) -> None:
    assert math.isnan(fleiss_kappa(counts))
    assert math.isnan(krippendorff_alpha(counts, VALUES))
    assert all(map(math.isnan, alpha_interval(counts, VALUES, rng=stream(1, "test"))))


def test_chance_alone_gives_nothing() -> None:
    rng = stream(5, "labels at random")
    counts = rng.multinomial(3, [0.2, 0.3, 0.5], size=4_000)
    assert abs(fleiss_kappa(counts)) < 0.03
    assert abs(krippendorff_alpha(counts, VALUES)) < 0.03


def test_of_several_kinds_chance_is_that_within_each() -> None:
    rng = stream(6, "two kinds of questions")
    kinds = [rng.multinomial(2, shares, size=3_000) for shares in ([0.9, 0.1], [0.2, 0.8])]
    assert abs(fleiss_kappa(*kinds)) < 0.03
    assert fleiss_kappa(np.vstack(kinds)) > 0.2  # together they seem to agree
    # Pairs agree in 3 of 4 items; chance gives 10/16 in the first kind and 1/2 in the second.
    assert fleiss_kappa([[2, 0], [1, 1]], [[0, 2], [2, 0]]) == pytest.approx((3 / 4 - 9 / 16) / (1 - 9 / 16))
    assert close(fleiss_kappa(kinds[0], np.zeros((0, 2))), fleiss_kappa(kinds[0]))


def test_the_interval_is_that_of_a_plain_bootstrap() -> None:
    rng = stream(7, "items")
    shares = rng.dirichlet((0.6, 0.6, 0.6), size=60)
    counts = np.array([rng.multinomial(3, one) for one in shares])
    low, high = alpha_interval(counts, VALUES, rng=stream(1, "fast"), draws=4_000)
    plain = stream(2, "plain")
    alphas = [krippendorff_alpha(counts[plain.integers(60, size=60)], VALUES) for _ in range(2_000)]
    assert low == pytest.approx(np.quantile(alphas, 0.025), abs=0.03)
    assert high == pytest.approx(np.quantile(alphas, 0.975), abs=0.03)
    assert low < krippendorff_alpha(counts, VALUES) < high
    again = alpha_interval(counts, VALUES, rng=stream(1, "fast"), draws=4_000)
    assert again == (low, high)
