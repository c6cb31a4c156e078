"""What labels are worth."""

from __future__ import annotations

import pytest

from trustgauge.errors import PlanError
from trustgauge.services.huggingface import values_of


@pytest.mark.parametrize(
    ("names", "values"),
    [
        (["NEGATIVE", "POSITIVE"], [-1, 1]),
        (["positive", "negative", "neutral"], [1, -1, 0]),
        (["NEG", "NEU", "POS"], [-1, 0, 1]),
        (["Very Negative", "negative", "Neutral", "positive", "very_positive"], [-1, -0.5, 0, 0.5, 1]),
        (["1 star", "2 stars", "3 stars", "4 stars", "5 stars"], [-1, -0.5, 0, 0.5, 1]),
        (["LABEL_0", "LABEL_1"], [-1, 1]),
        (["LABEL_2", "LABEL_0", "LABEL_1"], [1, -1, 0]),
        (["0", "1", "2"], [-1, 0, 1]),
    ],
)
def test_common_labels_are_known(names: list[str], values: list[float]) -> None:
    assert values_of(names, {}) == values


@pytest.mark.parametrize(
    "names",
    [
        ["joy", "anger"],
        ["positive", "joy"],
        ["LABEL_0", "LABEL_2"],
        ["LABEL_1", "label 1"],
        ["positive", "positive "],
        ["pos", "positive"],
        ["1 star", "neutral"],
    ],
)
def test_others_are_asked_for(names: list[str]) -> None:
    with pytest.raises(PlanError, match="no known values") as caught:
        values_of(names, {})
    assert f'"{names[0]}" = ...' in str(caught.value)


def test_given_values_win_and_must_fit_the_labels() -> None:
    assert values_of(["LABEL_0", "LABEL_1"], {"LABEL_1": -1.0, "LABEL_0": 1.0}) == [1, -1]
    with pytest.raises(PlanError) as caught:
        values_of(["joy", "anger"], {"joy": 1.0, "angr": -1.0})
    text = str(caught.value)
    assert 'the label "anger" has no value' in text
    assert 'no label "angr"' in text
    assert 'Did you mean "anger"?' in text
