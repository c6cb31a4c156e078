"""The smallest effect: it grows with less data, and simulated experiments find it as often as promised."""

from __future__ import annotations

from tests.methods.causal.truths import by_word, experiment


def test_less_data_finds_larger_effects_only() -> None:
    large = experiment({"a": by_word}, groups=[1]).power(1)
    small = experiment({"a": by_word}, groups=[1], frames=10, persons=4).power(1)
    assert 0.05 < large["deff_1"] <= large["deff_2"] < small["deff_2"]
    assert large["parts"] == {"group-1": {"deff_1": large["deff_1"], "deff_2": large["deff_2"]}}


def test_equal_seeds_give_equal_figures() -> None:
    method = experiment({"a": by_word}, groups=[2])
    assert method.power(4) == method.power(4)


def test_orders_of_systems_have_no_smallest_effect() -> None:
    assert experiment({"a": by_word}, rule="published").power(1)["deff_1"] is None
