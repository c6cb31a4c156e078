"""The smallest effect: it grows with less data, and simulated experiments find it as often as promised."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from tests.methods.causal.truths import Scorer, by_word, experiment, rated, shifted
from trustgauge.methods.causal.power import SPREAD

ONE_WORD: dict[str, Any] = {"groups": [1], "words": {"one": ["grim"]}}


TWO_WORDS: dict[str, Any] = {"groups": [2], "words": {"one": ["grim", "happy"]}, "frames": 10}


@cache
def _found(settings: str) -> Mapping[str, Any]:
    return experiment({"a": by_word}, **json.loads(settings)).power(1)


def power(**settings: Any) -> Mapping[str, Any]:
    """What a plan finds; simulated once for all tests that ask."""
    return _found(json.dumps(settings))


def test_less_data_finds_larger_effects_only() -> None:
    large = power(groups=[1])
    small = power(frames=10, persons=10, **ONE_WORD)
    assert 0.05 < large["deff_1"] <= large["deff_2"] < small["deff_2"]
    assert large["deff_2"] < large["deff_5"]
    assert large["parts"] == {"group-1": {f"deff_{deff}": large[f"deff_{deff}"] for deff in (1, 2, 5)}}


def test_equal_seeds_give_equal_figures() -> None:
    method = experiment({"a": by_word}, **TWO_WORDS)
    assert method.power(4) == method.power(4)


def test_orders_of_systems_have_no_smallest_effect() -> None:
    assert experiment({"a": by_word}, rule="published").power(1)["deff_1"] is None


@pytest.mark.parametrize("sizes", [{"frames": 9}, {"persons": 9}])
def test_too_few_clusters_settle_no_effect(sizes: dict[str, int]) -> None:
    """As the rule never rates what has fewer than 10 frames or persons (methods 0.5 (b))."""
    assert experiment({"a": by_word}, groups=[1], **sizes).power(1)["deff_1"] is None


@pytest.mark.parametrize(("frames", "settle"), [(17, 0.95), (18, 0.95), (10, 0.9), (10, 0.95)])
def test_a_plan_says_before_it_is_run_that_no_effect_cannot_be_settled(frames: int, settle: float) -> None:
    settings: dict[str, Any] = {**ONE_WORD, "frames": frames, "settle": settle, "permutations": 99}
    why = experiment({"a": by_word}, **settings).best_case(1)
    found = rated({"a": by_word}, **settings)["a"]
    after = [one for one in found.parts[0].reasons if one.code == "causal.too-few-without-spread"]
    assert found.level == "1"
    assert (found.state == "rated") == (why is None) == (not after)
    if why is not None:
        assert why.code == "causal.plan-too-small"
        assert after[0].facts == {"where": "frames", "clusters": frames, "needed": 18}
        assert why.facts == {**after[0].facts, "with_spread": 10}


def test_a_plan_of_an_order_of_systems_promises_no_settled_level() -> None:
    assert experiment({"a": by_word}, frames=10, rule="published").best_case(1) is None


def test_an_upper_cut_that_no_effect_settles_on_does_not_hide_the_smaller_effects() -> None:
    """Effects near .09 settle below no cut: the search must not stop there, nor start behind it."""
    near = power(cuts=(0.05, 0.09), **ONE_WORD)["deff_1"]
    far = power(cuts=(0.05, 0.60), **ONE_WORD)["deff_1"]
    assert far < 0.09 < near
    assert power(cuts=(0.05, 0.60), groups=[1])["deff_1"] < far


@pytest.mark.parametrize("settings", [ONE_WORD, TWO_WORDS], ids=["difference", "confounding"])
def test_the_whole_rule_settles_the_promised_effect_as_often_as_promised(settings: dict[str, Any]) -> None:
    """Real ratings of services with the assumed spread: .80, give or take three standard errors of 30."""
    promised = power(**settings)["deff_1"]
    # A shift of one gender moves delta by the share of rows that the confounder takes from it: .5 - .1.
    shift = 2.0 * promised / (0.4 if settings["groups"] == [2] else 1.0)
    services: dict[str, Scorer] = {str(place): shifted(shift, 2.0 * SPREAD) for place in range(30)}
    ratings = rated(services, resamples=1000, permutations=199, **settings).values()
    settled = [one.state == "rated" and one.level != "1" for one in ratings]
    assert 0.80 - 3 * 0.073 <= sum(settled) / len(settled) <= 0.80 + 3 * 0.073


def test_smaller_spread_of_weights_without_persons(tmp_path: Any) -> None:
    """Whole conversations weigh once, not as products: equal texts find smaller effects."""
    lines = ["conversation,speaker,gender,text"]
    for place, turn in itertools.product(range(200), range(2)):
        lines.append(f"{place},user,{('male', 'female')[place % 2]},text {place} {turn}")
        lines.append(f"{place},bot,{('male', 'female')[place % 2]},answer {place} {turn}")
    file = tmp_path / "talks.csv"
    file.write_text("\n".join(lines))
    source = {"file": str(file), "speakers": ["user"]}
    whole = experiment({"a": by_word}, conversations=source).power(1)["deff_1"]
    crossed = power(**ONE_WORD)["deff_1"]
    assert 0.05 < whole < crossed
