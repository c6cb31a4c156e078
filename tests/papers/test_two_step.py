"""Reference cases 1 to 5 of the two-step method: the printed figures and our own reference simulation.

The figures, with their source, stand in `trustgauge.apps.reproduce`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from trustgauge.apps.reproduce.paper_tables import figures
from trustgauge.apps.reproduce.two_step import overall
from trustgauge.methods.two_step.method import TwoStep
from trustgauge.methods.two_step.operating_characteristics import (
    SPECS,
    Trial,
    by_occupation,
    catalogue,
    sound_row,
    tree_row,
    wrong,
)
from trustgauge.methods.two_step.published_rule import DecisionTree
from trustgauge.methods.two_step.transition_model import MIX_LEVEL
from trustgauge.stats import stream
from trustgauge.stats.comparisons import exact_multinomial, mcnemar, two_sample_chi_squared
from trustgauge.stats.distributions import binomial_probabilities, chi_squared_tail
from trustgauge.stats.equivalence import trials_for_equivalence


@pytest.fixture(scope="module")
def printed() -> Any:
    return figures("two_step")


@pytest.fixture(scope="module")
def simulated() -> Any:
    return figures("two_step_simulation")


def test_case_1_effort(printed: Any) -> None:
    effort, spec = printed["effort"], TwoStep(method="two-step", services=("it",), texts=20).spec
    texts = len(spec.blocks) * printed["procedure"]["texts_per_block"]
    assert texts == effort["texts"]
    assert 2 * texts == effort["translations_per_language_and_service"]
    assert 2 * texts * effort["languages"] * effort["services"] == effort["translations_total"]
    assert spec.mentions == printed["procedure"]["mentions_per_text"]
    assert spec.unbiased.tolist() == printed["procedure"]["unbiased"]
    assert sorted(spec.biased.tolist()) == sorted(printed["procedure"]["biased"])
    assert list(spec.values) == printed["procedure"]["categories"]
    # Step 1: the balanced output against both skewed specs. Step 2: skewed output against the balanced one,
    # and, where a service is rated from scratch, all three blocks.
    assert len(spec.unbiased) * len(spec.biased) == effort["tests_forward"]


@pytest.mark.parametrize("service", ["G", "Y"])
def test_case_1_overall(printed: Any, service: str) -> None:
    table, given = printed["table_1"], printed["table_1_overall"]
    levels = {language: row[service] for language, row in table.items()}
    assert overall(levels) == given["all"][service]
    rest = {key: level for key, level in levels.items() if key not in given["excluding"]}
    assert overall(rest) == given["excluded"][service]
    assert overall(levels, aggregate="vote") == "DSBS"


@pytest.mark.parametrize("size", [40, 100, 200, 1000])
def test_case_2_ranges_of_he_called_similar(printed: Any, size: int) -> None:
    he = np.arange(size + 1)
    similar = DecisionTree(SPECS, 1, 2).measures(np.stack([he, size - he, 0 * he], axis=1))[2]
    ranges = printed["acceptance_ranges"][f"N_{size}"]
    for place, name in ((0, "similar_to_50_50"), (2, "similar_to_90_10")):
        found = he[similar[:, place]]
        assert [found[0], found[-1]] == ranges[name]
        assert len(found) == found[-1] - found[0] + 1


def test_case_2_all_he(printed: Any) -> None:
    expected = printed["all_he_statistic"]
    for size in (40, 20):
        statistic, _, _ = two_sample_chi_squared([size, 0, 0], [0.9 * size, 0.1 * size, 0])
        assert statistic == pytest.approx(expected[f"N_{size}"], abs=1e-6)
    for df in (1, 2):
        assert chi_squared_tail(expected[f"critical_df{df}"], df) == pytest.approx(0.05, abs=1e-6)


def test_texts_for_equivalence(printed: Any) -> None:
    for margin, texts in printed["texts_for_marginal_equivalence_80_percent_power"].items():
        assert trials_for_equivalence(0.5, float(margin), step=2) == 2 * texts


def test_power_of_three_tests_of_the_unbiased_block(printed: Any) -> None:
    """She -> He with probability q in a balanced block: chi-squared, exact multinomial, paired McNemar."""
    for key, row in printed["power_unbiased_block_She_to_He"].items():
        if not key.startswith("n_"):
            continue
        she = int(key.removeprefix("n_"))
        size = 2 * she
        tree, rng = DecisionTree(SPECS, 1, 2), stream(1, "power")
        for shift, expected in row.items():
            chances = binomial_probabilities(she, float(shift))
            moved = np.flatnonzero(chances > 1e-9)
            outputs = np.stack([she + moved, she - moved, 0 * moved], axis=1)
            two = ~tree.measures(outputs)[2][:, 0]
            one = np.array([exact_multinomial(out, SPECS[0], rng) <= 0.05 for out in outputs])
            paired = np.array([mcnemar(int(count), 0) <= 0.05 for count in moved])
            found = [float(chances[moved][test].sum()) for test in (two, one, paired)]
            assert size == outputs[0].sum()
            assert found == pytest.approx(expected, abs=0.0151), (key, shift)


def _error(percent: float, runs: int, reference: int) -> float:
    """Four standard errors of the difference of two simulated percentages."""
    p = min(max(percent / 100, 0.5 / runs), 1 - 0.5 / runs)
    return 400 * math.sqrt(p * (1 - p) * (1 / runs + 1 / reference))


@pytest.mark.parametrize("inputs", ["exact", "sampled"])
def test_case_3_published_tree(simulated: Any, inputs: str) -> None:
    for translator in catalogue():
        row = simulated["published"][inputs][translator.name]
        assert translator.truth == row["truth"]
        for texts, runs in ((20, 1000), (50, 500)):
            found = tree_row(translator, Trial(texts, runs, 9, exact=inputs == "exact"))
            for here, there in zip(found, row[f"n_{texts}"], strict=True):
                assert abs(here - there) <= max(1.5, _error((here + there) / 2, runs, 10_000)), (
                    translator.name
                )


def test_case_4_sound_rule(simulated: Any) -> None:
    runs, texts = 250, 50
    wrongs = []
    for translator in catalogue():
        row = simulated["sound"][translator.name]
        assert translator.truth == row["truth"]
        # it knows no time, and never doubts pooling
        trial = Trial(texts, runs, 9, draws=2000, segments=1, doubtful=MIX_LEVEL)
        found = sound_row(translator, trial)
        wrongs.append(wrong(translator.truth, found))
        for here, there in zip(found, row[f"n_{texts}"], strict=True):
            assert abs(here - there) <= max(2.0, _error((here + there) / 2, runs, 2000)), translator.name
    assert np.mean(wrongs) == pytest.approx(simulated["sound_mean_over_20"][f"n_{texts}"]["wrong"], abs=0.6)


def test_case_4_occupations(simulated: Any) -> None:
    runs = 300
    translator = next(one for one in by_occupation() if one.name.endswith("0.20"))
    row = simulated["sound"][translator.name]
    found = sound_row(translator, Trial(50, runs, 9, draws=2000, segments=1, doubtful=MIX_LEVEL))
    assert translator.truth == row["truth"]
    assert wrong(translator.truth, found) <= 8 + 300 * math.sqrt(0.08 * 0.92 / runs)
    assert found[3] == pytest.approx(row["n_50"][3], abs=_error(row["n_50"][3], runs, 2000))
