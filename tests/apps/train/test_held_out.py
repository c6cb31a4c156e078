"""Held-out rows and figures, against naive and independent calculations."""

from __future__ import annotations

import numpy as np
import polars as pl
from scipy import stats

from trustgauge.apps.train.held_out import by_source, measure, split_groups


def rows(scores: list[float], per_group: int = 1) -> pl.DataFrame:
    count = len(scores)
    return pl.DataFrame(
        {
            "text": [f"text {n}" for n in range(count)],
            "score": scores,
            "group": [f"g{n // per_group}" for n in range(count)],
            "source": ["a" if n < count / 2 else "b" for n in range(count)],
        }
    )


def noisy(count: int = 400, seed: int = 0) -> tuple[pl.DataFrame, np.ndarray]:
    random = np.random.default_rng(seed)
    truth = random.uniform(-1, 1, count)
    return rows(truth.tolist()), np.clip(0.6 * truth + random.normal(0, 0.3, count), -1, 1)


def test_figures_are_those_of_the_textbook() -> None:
    table, scores = noisy()
    truth = table["score"].to_numpy()
    found = measure(table, scores, 1)
    signed = np.abs(truth) >= 0.05
    assert found["correlation"]["value"] == round(float(stats.pearsonr(truth, scores).statistic), 4)
    assert found["error"]["value"] == round(float(np.mean(np.abs(truth - scores))), 4)
    right = np.sign(truth[signed]) == np.sign(scores[signed])
    assert found["sign"]["value"] == round(float(np.mean(right)), 4)
    assert found["sign"]["n"] == int(signed.sum())
    assert (found["n"], found["groups"]) == (400, 400)
    positive = float(np.mean(truth[signed] > 0))
    assert abs(found["commoner_sign"] - max(positive, 1 - positive)) < 1e-12


def test_intervals_agree_with_theory_where_rows_are_independent() -> None:
    table, scores = noisy()
    found = measure(table, scores, 1)["correlation"]
    theory = stats.pearsonr(table["score"].to_numpy(), scores).confidence_interval(0.95)
    assert abs(found["low"] - theory.low) < 0.02
    assert abs(found["high"] - theory.high) < 0.02


def test_copies_of_a_row_in_one_group_do_not_narrow_the_interval() -> None:
    table, scores = noisy(100)
    copied = pl.concat([table] * 5)
    alone, many = measure(table, scores, 1), measure(copied, np.tile(scores, 5), 1)
    assert (many["n"], many["groups"]) == (500, 100)
    assert many["correlation"] | {"n": 100} == alone["correlation"]


def test_figures_that_are_undefined_say_so() -> None:
    table, _ = noisy(60)
    constant = measure(table, np.zeros(60), 1)
    assert constant["correlation"] == {"value": None, "low": None, "high": None, "n": 60}
    assert constant["sign"]["value"] == 0.0
    neutral = measure(rows([0.0, 0.01] * 30), np.linspace(-1, 1, 60), 1)
    assert neutral["sign"]["value"] is None
    assert neutral["commoner_sign"] is None


def test_sources_are_measured_apart_if_there_are_several() -> None:
    table, scores = noisy()
    found = by_source(table, scores, 1)
    assert {name: one["n"] for name, one in found.items()} == {"a": 200, "b": 200}
    first = stats.pearsonr(table["score"].to_numpy()[:200], scores[:200]).statistic
    assert found["a"]["correlation"]["value"] == round(float(first), 4)
    assert by_source(table.with_columns(source=pl.lit("one")), scores, 1) == {}


def test_whole_groups_are_held_out() -> None:
    table = rows(np.linspace(-1, 1, 1000).tolist(), per_group=7)
    training, tested = split_groups(table, 0.1, 1)
    assert set(training["group"]).isdisjoint(tested["group"])
    assert len(training) + len(tested) == 1000
    assert 100 <= len(tested) <= 107
    again = split_groups(table.sample(fraction=1, shuffle=True, seed=3), 0.1, 1)[1]
    assert set(again["text"]) == set(tested["text"])
    assert set(split_groups(table, 0.1, 2)[1]["text"]) != set(tested["text"])


def test_texts_that_training_knows_are_not_held_out() -> None:
    table = rows([0.5, -0.5] * 100).with_columns(
        text=pl.Series([f"Same  TEXT {n % 50}" if n % 2 else f"same text {n % 50 + 1}" for n in range(200)])
    )
    training, tested = split_groups(table, 0.3, 1)
    assert len(training) == 140
    assert set(training["text"].str.to_lowercase().str.replace("  ", " ")).isdisjoint(
        tested["text"].str.to_lowercase().str.replace("  ", " ")
    )
    assert len(tested) < 60
