"""Settings of the two-step method and the specification they amount to."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from trustgauge.errors import PlanError
from trustgauge.methods.two_step.settings import TwoStepSettings

TEA = {
    "name": "drink",
    "values": ["Tea", "Coffee", "Milk", "Other"],
    "words": {"Tea": "tea", "Coffee": "coffee", "Milk": "milk"},
    "patterns": ["The {item} drinks {word}."],
}


def settings(**changes: Any) -> TwoStepSettings:
    return TwoStepSettings.model_validate({"method": "two-step", "services": ["a"], **changes})


def test_the_default_is_the_papers_specification() -> None:
    spec = settings().spec
    assert spec.values == ("He", "She", "Other")
    assert spec.mentions == 2
    assert spec.blocks == ("u1", "b1", "b2")
    np.testing.assert_allclose(spec.distributions, [[0.5, 0.5, 0], [0.1, 0.9, 0], [0.9, 0.1, 0]])


@pytest.mark.parametrize(
    ("rule", "counts", "reader"),
    [("sound", "exact", "sound"), ("published", "sampled", "sound"), ("released", "sampled", "released")],
)
def test_a_rule_is_a_bundle_of_options(rule: str, counts: str, reader: str) -> None:
    one = settings(rule=rule)
    assert (one.counts, one.reader) == (counts, reader)
    assert settings(rule=rule, counts="exact", reader="sound").counts == "exact"


def test_the_released_tally_takes_only_sentences_whose_word_it_counts() -> None:
    assert settings(rule="released").fitting == ("subject", "object")
    assert len(settings().fitting) >= 4
    assert settings(patterns=["object", "subject"]).fitting == ("subject", "object")


def test_mentions_follow_the_values_with_a_share() -> None:
    assert settings(attribute="worship").spec.mentions == 4
    assert settings(attribute="valence").spec.mentions == 1
    unbiased, biased = [{"He": 0.4, "She": 0.4, "Other": 0.2}], [{"He": 1.0}]
    three = settings(unbiased=unbiased, biased=biased).spec
    assert three.mentions == 3
    assert three.blocks == ("u1", "b1")


def test_an_inline_attribute_has_default_distributions_and_survives_json() -> None:
    one = settings(attribute=TEA)
    np.testing.assert_allclose(one.spec.unbiased, [[1 / 3, 1 / 3, 1 / 3, 0]])
    np.testing.assert_allclose(one.spec.biased.sum(axis=1), 1)
    np.testing.assert_allclose(one.spec.biased.max(axis=1), 0.7)
    again = TwoStepSettings.model_validate(json.loads(one.model_dump_json()))
    assert again == one


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"unbiased": [{"He": 0.5, "Sh": 0.5}]}, "unbiased[0]"),
        ({"biased": [{"He": 0.7, "She": 0.4}]}, "biased[0]"),
        ({"biased": [{"He": 0.9, "She": 0.1}, {"He": 0.6, "She": 0.4}]}, "biased[1]"),
        ({"patterns": ["subjct"]}, "patterns"),
        ({"test": "ks"}, "test"),
        ({"rule": "released", "attribute": "worship", "patterns": ["near"]}, None),
    ],
)
def test_faults_of_a_plan(changes: dict[str, Any], place: str | None) -> None:
    if place is None:
        assert settings(**changes).fitting == ("near",)
        return
    with pytest.raises(PlanError) as caught:
        settings(**changes)
    assert [fault.place for fault in caught.value.faults] == [place]


def test_all_faults_at_once_with_the_nearest_word() -> None:
    with pytest.raises(PlanError) as caught:
        settings(unbiased=[{"Hee": 1.0}], biased=[{"He": 0.2}], patterns=["objet"], test="ks")
    text = str(caught.value)
    assert len(caught.value.faults) == 4
    assert 'Did you mean "He"?' in text
    assert 'Did you mean "object"?' in text


def test_an_unknown_attribute_is_a_fault_of_its_field() -> None:
    with pytest.raises(ValidationError) as caught:
        settings(attribute="gendre", texts=0)
    found = {error["loc"]: error["msg"] for error in caught.value.errors()}
    assert set(found) == {("attribute",), ("texts",)}
    assert 'Did you mean "gender"' in found["attribute",]


def test_a_residual_with_a_share_needs_words() -> None:
    unbiased = [{"Tea": 0.4, "Coffee": 0.4, "Other": 0.2}]
    with pytest.raises(PlanError, match="Other has a share but no word"):
        settings(attribute=TEA, unbiased=unbiased, biased=[{"Tea": 1.0}])


def test_kolmogorov_smirnov_with_an_order() -> None:
    assert settings(attribute={**TEA, "ordered": True}, test="ks").spec.ordered


def test_a_balanced_distribution_of_the_residual_alone_cannot_be_judged_with_loss_apart() -> None:
    given = {"method": "two-step", "services": ("one",), "unbiased": ({"Other": 1.0},), "loss": "apart"}
    with pytest.raises(PlanError, match="nothing is left of it"):
        TwoStepSettings.model_validate(given)


def test_levels_have_no_mean() -> None:
    with pytest.raises(PlanError, match="two-step has no mean of levels") as caught:
        settings(aggregate="mean")
    assert "worst or vote" in str(caught.value)
    assert settings(aggregate="vote").aggregate == "vote"
