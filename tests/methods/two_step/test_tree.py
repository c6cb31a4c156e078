"""The published tree: its traps, its options, and agreement with a tree written out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from tests.methods.two_step.summaries import settings
from trustgauge.errors import MethodError, PlanError
from trustgauge.methods.two_step.published_rule import DecisionTree
from trustgauge.methods.two_step.transition_model import LEVELS

SPECS = np.array([[0.5, 0.5, 0.0], [0.1, 0.9, 0.0], [0.9, 0.1, 0.0]])
ROW = st.lists(st.integers(0, 40), min_size=3, max_size=3).filter(any)


def tree(**options: Any) -> DecisionTree:
    return DecisionTree(SPECS, 1, 2, **options)


def level(outputs: list[list[int]], **options: Any) -> str:
    return LEVELS[tree(**options).decide(np.array(outputs), ("u1", "b1", "b2")).level]


def _by_hand(outputs: list[list[int]]) -> str:
    def similar(row: list[int], shares: list[float]) -> bool:
        table = np.array([row, sum(row) * np.array(shares)])
        table = table[:, table.any(axis=0)]
        if table.shape[1] == 1:
            return True
        return bool(scipy.stats.chi2_contingency(table, correction=False).pvalue >= 0.05)

    u1, b1, b2 = outputs
    if similar(u1, [0.1, 0.9, 0]) or similar(u1, [0.9, 0.1, 0]):
        return "BS"
    return "UCS" if similar(b1, [0.5, 0.5, 0]) or similar(b2, [0.5, 0.5, 0]) else "DSBS"


@given(st.lists(ROW, min_size=3, max_size=3))
def test_agrees_with_the_tree_by_hand(outputs: list[list[int]]) -> None:
    assert level(outputs) == _by_hand(outputs)


@given(st.lists(st.lists(ROW, min_size=3, max_size=3), min_size=1, max_size=6))
def test_many_outcomes_at_once_are_the_same_as_one_by_one(many: list[list[list[int]]]) -> None:
    together = tree().levels(tree().measures(np.array(many))[2])
    assert [LEVELS[place] for place in together] == [level(outputs) for outputs in many]


@pytest.mark.parametrize(
    ("options", "expected"), [({}, "DSBS"), ({"empty": "keep"}, "BS"), ({"base": "texts"}, "BS")]
)
def test_all_to_he_hangs_on_an_option(options: dict[str, Any], expected: str) -> None:
    assert level([[40, 0, 0]] * 3, **options) == expected


def test_heavy_loss_is_like_nothing() -> None:
    walk = tree().decide(np.array([[0, 0, 40]] * 3), ("u1", "b1", "b2"))
    assert LEVELS[walk.level] == "DSBS"
    assert walk.fits_neither == ("u1", "b1", "b2")
    assert walk.block(0)["resembles"] == []
    assert level([[0, 0, 40]] * 3, step1="unlike-unbiased") == "BS"


def test_what_fits_neither_at_n_20() -> None:
    names = ("u1", "b1", "b2")
    fits = {he: tree().decide(np.array([[he, 40 - he, 0]] * 3), names).fits_neither for he in range(20, 41)}
    assert [he for he, blocks in fits.items() if blocks] == [29, 40]


def test_step_2_is_any_or_all() -> None:
    outputs = [[20, 20, 0], [20, 20, 0], [36, 4, 0]]
    assert level(outputs) == "UCS"
    assert level(outputs, step2="all") == "DSBS"


def test_step_2_is_run_for_a_service_that_adds_bias_too() -> None:
    walk = tree().decide(np.array([[36, 4, 0], [20, 20, 0], [36, 4, 0]]), ("u1", "b1", "b2"))
    assert LEVELS[walk.level] == "BS"
    assert walk.steps() == [
        {"step": 1, "blocks": ["u1"], "biased": ["u1"]},
        {"step": 2, "blocks": ["b1", "b2"], "balanced": ["b1"]},
    ]


def test_texts_as_base_round_half_up() -> None:
    statistic, _, _ = tree(base="texts").measures(np.array([40, 0, 0]))
    assert statistic[2] == pytest.approx(2.105263, abs=1e-6)
    found, p, _ = tree(base="texts").measures(np.array([25, 25, 0]))
    # 25 texts: 12.5 become 13, of the output and of the spec alike.
    assert (found[0], p[0]) == (0.0, 1.0)


def test_exact_test_rejects_what_was_not_declared() -> None:
    statistic, p, similar = tree(test="exact").measures(np.array([[20, 20, 0], [20, 19, 1]]))
    assert p[0, 0] == pytest.approx(1)
    assert similar[:, 0].tolist() == [True, False]
    assert statistic[1].tolist() == [0.0, 0.0, 0.0]


def test_exact_test_agrees_with_scipy() -> None:
    _, p, _ = tree(test="exact").measures(np.array([27, 13, 0]))
    assert p[0] == pytest.approx(scipy.stats.binomtest(27, 40).pvalue)
    assert p[2] == pytest.approx(scipy.stats.binomtest(27, 40, 0.9).pvalue)


def test_divergence_has_no_p() -> None:
    statistic, p, similar = tree(test="kl").measures(np.array([[100, 100, 0], [150, 50, 0]]))
    assert np.isnan(p).all()
    assert similar[:, 0].tolist() == [True, False]
    assert statistic[0, 0] == 0.0


def test_kolmogorov_smirnov_draws_the_same_for_the_same_counts() -> None:
    outputs = np.array([[25, 15, 0], [25, 15, 0], [10, 30, 0]])
    first, again = tree(test="ks").measures(outputs), tree(test="ks").measures(outputs[:1])
    assert first[1][0].tolist() == first[1][1].tolist() == again[1][0].tolist()
    assert first[0][0, 0] == pytest.approx(0.125)


def test_kolmogorov_smirnov_needs_an_order() -> None:
    with pytest.raises((MethodError, PlanError), match="order"):
        DecisionTree.of(settings(test="ks", rule="published"), 1)


def test_several_unbiased_distributions() -> None:
    specs = np.array([[0.5, 0.5], [0.4, 0.6], [0.05, 0.95], [0.95, 0.05]])
    two = DecisionTree(specs, 2, 2)
    balanced = np.array([[100, 100], [80, 120], [10, 190], [190, 10]])
    assert LEVELS[two.decide(balanced, ("u1", "u2", "b1", "b2")).level] == "DSBS"
    skewed = np.array([[100, 100], [10, 190], [10, 190], [190, 10]])
    assert LEVELS[two.decide(skewed, ("u1", "u2", "b1", "b2")).level] == "BS"
