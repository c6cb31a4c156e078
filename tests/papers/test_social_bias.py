"""The printed tables of the social-bias paper, recomputed from their own rows (social-bias 3.8, 3.9)."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
import polars as pl
import pytest

from trustgauge.apps.reproduce.paper_tables import figures
from trustgauge.methods.social_bias import absolute, relative

TABLE: dict[str, Any] = figures("social_bias_tables")
SYSTEMS = TABLE["systems"]
ATTRIBUTES = list(TABLE["table_6"]["groups_with"])
WITH_API = set(TABLE["with_api"])


def pairs(system: str) -> dict[str, int]:
    """Pairs of groups of each attribute that a system was asked about."""
    sizes = TABLE["table_6"]["groups_with" if system in WITH_API else "groups_without"]
    return {attribute: comb(size, 2) for attribute, size in sizes.items()}


def weighted(system: str) -> float:
    """The overall rate as the mean of the rows of Table 7, weighted by pairs."""
    column = SYSTEMS.index(system)
    rows, weights = TABLE["table_7"]["rows"], pairs(system)
    return float(sum(rows[one][column] * weights[one] for one in ATTRIBUTES) / sum(weights.values()))


def test_pairs_and_groups_are_those_of_table_6() -> None:
    assert sum(pairs("GPT-3").values()) == TABLE["derived"]["pairs_with"] == 73
    assert sum(pairs("ChatGPT").values()) == TABLE["derived"]["pairs_without"] == 13
    full = TABLE["table_1"]["groups_per_attribute"].values()
    assert sum(comb(size, 2) for size in full) == TABLE["derived"]["full_product"]["pairs"]
    assert sum(full) == TABLE["table_1"]["total"]


@pytest.mark.parametrize("system", SYSTEMS)
def test_table_7_overall_is_the_weighted_mean_but_for_three_systems(system: str) -> None:
    """Jovi, Oppo and XiaoAi divide label-exploded hits by unexploded questions (social-bias 3.9)."""
    printed = TABLE["table_7"]["overall"][SYSTEMS.index(system)]
    consistent = TABLE["derived"]["table_7_overall_consistent"].get(system)
    if consistent is None:
        assert weighted(system) == pytest.approx(printed, abs=0.02)
    else:
        assert weighted(system) == pytest.approx(consistent, abs=0.015)
        assert abs(printed - weighted(system)) > 10


@pytest.mark.parametrize("system", ["Jovi", "Breeno(Oppo)", "XiaoAi"])
def test_the_three_divide_by_another_base(system: str) -> None:
    """Hits of 13 x 116 = 1,508 label questions over 780 questions are what was printed."""
    hits = TABLE["derived"]["table_7_hits_of_1508"][system]
    printed = TABLE["table_7"]["overall"][SYSTEMS.index(system)]
    assert 100 * hits / 780 == pytest.approx(printed, abs=0.01)
    assert 100 * hits / 1508 == pytest.approx(weighted(system), abs=0.02)


def test_the_largest_consistent_rate_is_that_of_another_system() -> None:
    overall = {system: weighted(system) for system in SYSTEMS}
    assert max(overall, key=lambda one: overall[one]) == "GPT-3"
    assert overall["GPT-3"] == pytest.approx(TABLE["derived"]["table_7_max_consistent"], abs=0.01)
    assert max(overall.values()) < TABLE["claims"]["abstract_max_percent"]


@pytest.mark.parametrize("system", SYSTEMS)
def test_table_8_averages_are_plain_means(system: str) -> None:
    column = SYSTEMS.index(system)
    mean = np.mean([row[column] for row in TABLE["table_8"]["rows"].values()])
    assert mean == pytest.approx(TABLE["table_8"]["average"][column], abs=0.0051)


def test_who_is_highest_on_gender() -> None:
    """Not whom the text names (social-bias 3.9, slips)."""
    absolute_gender = dict(zip(SYSTEMS, TABLE["table_7"]["rows"]["Gender"], strict=True))
    relative_gender = dict(zip(SYSTEMS, TABLE["table_8"]["rows"]["Gender"], strict=True))
    assert max(absolute_gender, key=lambda one: absolute_gender[one]) == "GPT-3"
    assert max(relative_gender, key=lambda one: relative_gender[one]) == "XiaoAi"
    assert TABLE["claims"]["highest_absolute_gender_claim"] == "Jovi"
    assert TABLE["claims"]["highest_relative_gender_claim"] == "DialoGPT"


def test_worked_advantage() -> None:
    won = [("i", "j", 2), ("j", "i", 3)]
    found = absolute.advantages(won, ["i", "j", "k"])
    worked = TABLE["worked"]["advantage"]
    assert found["values"][0][1] == worked["a_ij"]
    assert found["values"][1][0] == worked["a_ji"]
    assert found["values"][0][2] == worked["neither"]
    assert found["n"][0][1] == 5


def test_worked_preference_and_spread() -> None:
    favoured, asked = TABLE["worked"]["preference"]["favoured"], TABLE["worked"]["preference"]["asked"]
    rated = pl.DataFrame(
        {
            "property": [str(place) for place in range(asked)],
            "form": ["g"] * asked,
            "group_a": ["a"] * asked,
            "good": [place < favoured for place in range(asked)],
            "bad": [False] * asked,
            "n": [1] * asked,
        }
    )
    assert (
        relative.balance(rated, ("a",), by_polarity=False).rates[0] == TABLE["worked"]["preference"]["rate"]
    )
    figure_2 = [hits / of for hits, of in TABLE["worked"]["figure_2_affirmations"].values()]
    assert relative.spread(np.array(figure_2)) == pytest.approx(0.1111, abs=1e-4)
    table_9 = [hits / of for hits, of in TABLE["worked"]["table_9_affirmations"].values()]
    assert relative.spread(np.array(table_9)) == pytest.approx(0.0278, abs=1e-4)
