"""Counts of classes and their shares, against scikit-learn and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from trustgauge.stats.classification import Hits, confusion_matrix, f1, figures, gaps, share

CLASSES = ("a", "b", "c")


def drawn(count: int = 500) -> tuple[list[str], list[str]]:
    random = np.random.default_rng(3)
    truth = random.choice(CLASSES, count, p=[0.2, 0.5, 0.3])
    given = np.where(random.random(count) < 0.7, truth, random.choice(CLASSES, count))
    return truth.tolist(), given.tolist()


def test_counts_are_those_of_a_naive_loop() -> None:
    truth, given = drawn()
    table = confusion_matrix(truth, given, CLASSES)
    for row, one in enumerate(CLASSES):
        for column, other in enumerate(CLASSES):
            pairs = sum(t == one and g == other for t, g in zip(truth, given, strict=True))
            assert table[row][column] == pairs
    assert confusion_matrix([], [], CLASSES) == [[0] * 3] * 3


def test_an_unknown_class_is_an_error() -> None:
    with pytest.raises(ValueError, match="must be one of a, b, c"):
        confusion_matrix(["a"], ["d"], CLASSES)


def test_figures_are_those_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    truth, given = drawn()
    found = figures(confusion_matrix(truth, given, CLASSES), CLASSES)
    precision, recall, score, _ = metrics.precision_recall_fscore_support(truth, given, labels=CLASSES)
    of = found["classes"]
    assert isinstance(of, dict)
    for place, name in enumerate(CLASSES):
        assert of[name]["precision"]["value"] == pytest.approx(precision[place], abs=1e-12)
        assert of[name]["recall"]["value"] == pytest.approx(recall[place], abs=1e-12)
        assert of[name]["f1"]["value"] == pytest.approx(score[place], abs=1e-12)
    accuracy, commonest = found["accuracy"], found["commonest"]
    assert isinstance(accuracy, dict)
    assert isinstance(commonest, dict)
    assert accuracy["value"] == pytest.approx(metrics.accuracy_score(truth, given), abs=1e-12)
    assert commonest["value"] == max(truth.count(name) for name in CLASSES) / 500


def test_shares_have_wilsons_interval_and_undefined_ones_none() -> None:
    low, high = proportion_confint(7, 40, method="wilson")
    found = share(7, 40)
    assert (found["low"], found["high"]) == pytest.approx((low, high), abs=1e-9)
    assert share(0, 0) == {"value": None, "low": None, "high": None, "n": 0}
    assert f1(0, 0, 0)["value"] is None


def test_the_interval_of_f1_covers_the_truth_as_often_as_it_says() -> None:
    """1,000 tables of 300 texts whose true F1 is known; a 95 % interval misses about 50 of them."""
    random = np.random.default_rng(11)
    chances = np.array([0.2, 0.1, 0.08, 0.62])  # hits, false alarms, misses, the rest
    true = 2 * chances[0] / (2 * chances[0] + chances[1] + chances[2])
    inside = 0
    for hits, alarms, misses, _ in random.multinomial(300, chances, 1000).tolist():
        found = f1(hits, alarms, misses)
        assert found["low"] is not None
        assert found["high"] is not None
        inside += found["low"] <= true <= found["high"]
    assert 930 <= inside <= 970


def test_the_widest_gap_is_found_within_a_family() -> None:
    rows = [
        Hits(family="age", member="old", hits=6, n=10),
        Hits(family="age", member="young", hits=1, n=10),
        Hits(family="trade", member="baker", hits=9, n=10),
        Hits(family="trade", member="cook", hits=9, n=10),
        Hits(family="alone", member="one", hits=10, n=10),
        Hits(family="age", member="unasked", hits=0, n=0),
    ]
    found = gaps(rows)
    largest, families, every = found["largest"], found["families"], found["all"]
    assert isinstance(largest, dict)
    assert isinstance(families, dict)
    assert isinstance(every, dict)
    assert (largest["family"], largest["highest"]["name"], largest["lowest"]["name"]) == (
        "age",
        "old",
        "young",
    )
    assert largest["value"] == pytest.approx(0.5)
    assert 0 < largest["low"] < 0.5 < largest["high"] < 1
    assert families["alone"]["gap"] is None
    assert families["trade"]["gap"]["value"] == 0
    assert families["age"]["members"] == 3
    assert (every["value"], every["n"]) == (35 / 50, 50)
    assert gaps([])["largest"] is None
