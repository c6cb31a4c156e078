"""The regression of perceived bias: by hand, and on the sentences that people rated."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from trustgauge.errors import PlanError
from trustgauge.methods.trust.sentence_bias import (
    CARD,
    FEATURES,
    MODEL,
    PUBLISHED,
    default_regression,
    load_regression,
    sentence_features,
)

pytest.importorskip("vaderSentiment", reason="vaderSentiment is not installed")

BESIDE = Path(__file__).resolve().parents[4] / "shared" / "data"
THEIRS = (
    *("vader_sentiment", "opinion_rto", "modality", "liwc_3pp_rto", "liwc_tent_rto", "liwc_achiev_rto"),
    *("liwc_discr_rto", "bias_rto", "liwc_work_rto", "factive_rto", "hedge_rto", "assertive_rto"),
    *("subj_strong_rto", "subj_weak_rto"),
)
"""The authors' features, in the order of ours."""


def rated() -> pl.DataFrame:
    """The 41 rated sentences with their authors' features."""
    place = Path(os.environ.get("TRUSTGAUGE_SHARED_DATA", BESIDE)) / "rated_bias_sentences"
    file = place / "collapsedData.csv"
    if not file.is_file():
        pytest.skip("the rated sentences are not in TRUSTGAUGE_SHARED_DATA (rated_bias_sentences)")
    with file.open(encoding="utf-8-sig") as opened:
        rows = list(csv.DictReader(opened))
    return pl.DataFrame(
        {"text": [row["text"] for row in rows]}
        | {name: [float(row[name]) for row in rows] for name in ("avgBias", *THEIRS)}
    )


def r_squared(ratings: np.ndarray[Any, Any], scores: np.ndarray[Any, Any]) -> float:
    return 1 - float(np.var(ratings - scores) + np.mean(ratings - scores) ** 2) / float(np.var(ratings))


def features(**given: float) -> pl.DataFrame:
    return pl.DataFrame({name: [given.get(name, 0.0)] for name in FEATURES})


def test_the_printed_equation_by_hand() -> None:
    one = features(modality=1.0, third_person=0.1, work=0.05, sentiment=-0.5)
    assert PUBLISHED.scores(one)[0] == pytest.approx((-0.558 + 0.516 + 0.8355 + 0.4906 - 0.174) / 3)
    assert PUBLISHED.scores(features(modality=1.0))[0] == 0  # cut at 0
    assert PUBLISHED.scores(features(work=0.5))[0] == 1  # and at 3
    nothing = features().with_columns(work=pl.lit(None, pl.Float64))
    assert np.isnan(PUBLISHED.scores(nothing)[0])


def test_a_sentence_from_its_words_to_its_score() -> None:
    """8 words: he, they; might. Sentiment of plain words is 0."""
    found = sentence_features(["He and the others said they might come"])
    row = found.row(0, named=True)
    assert (row["words"], row["third_person"], row["modality"], row["sentiment"]) == (8, 0.25, -0.5, 0.0)
    by_hand = -0.558 + 0.516 * -0.5 + 8.355 / 4 + 4.597 / 8 + 3.060 / 8 - 3.577 / 8
    assert PUBLISHED.scores(found)[0] == pytest.approx(by_hand / 3)


def test_the_printed_coefficients_reproduce_the_printed_fit() -> None:
    """R² .859 with the authors' own features (trust 4.1); .63 where each sentence is left out."""
    table = rated()
    ratings = table["avgBias"].to_numpy()
    theirs = table.select(pl.col(one).alias(name) for one, name in zip(THEIRS, FEATURES, strict=True))
    weights = np.array([PUBLISHED.coefficients[name] for name in FEATURES])
    assert r_squared(ratings, PUBLISHED.intercept + theirs.to_numpy() @ weights) == pytest.approx(
        0.859, abs=5e-4
    )
    design = np.column_stack([np.ones(len(table)), theirs.to_numpy()])
    left_out = [
        design[row] @ np.linalg.lstsq(np.delete(design, row, 0), np.delete(ratings, row), rcond=None)[0]
        for row in range(len(table))
    ]
    assert r_squared(ratings, np.array(left_out)) == pytest.approx(0.63, abs=0.005)


@pytest.mark.parametrize("matching", ["all", "released"])
def test_the_card_tells_what_the_printed_coefficients_are_worth_with_our_lists(matching: str) -> None:
    table = rated()
    found = sentence_features(table["text"].to_list(), "released" if matching == "released" else "all")
    scores = PUBLISHED.scores(found) * 3
    entry = default_regression().card["printed"][matching]
    ratings = table["avgBias"].to_numpy()
    assert r_squared(ratings, scores) == pytest.approx(entry["r2"]["value"], abs=1e-4)
    assert np.corrcoef(ratings, scores)[0, 1] == pytest.approx(entry["correlation"]["value"], abs=1e-4)


def test_the_shipped_coefficients_do_better_than_the_printed_ones() -> None:
    """Which is why `sound` uses them; and the card hides neither how little that is, nor the interval."""
    card = default_regression().card
    assert card["held_out"]["r2"]["value"] > card["printed"]["all"]["r2"]["value"]
    assert card["held_out"]["r2"]["low"] < card["held_out"]["r2"]["value"] < card["held_out"]["r2"]["high"]
    table = rated()
    fitted = default_regression().scores(sentence_features(table["text"].to_list())) * 3
    assert r_squared(table["avgBias"].to_numpy(), fitted) == pytest.approx(card["fitted_r2"], abs=1e-3)


def written(folder: Path, **changed: Any) -> Path:
    """A model in a folder, with some of its parts changed."""
    held = {
        "kind": "sentence-bias",
        "top": 3.0,
        "intercept": PUBLISHED.intercept,
        "coefficients": dict(PUBLISHED.coefficients),
    }
    (folder / MODEL).write_text(json.dumps({**held, **changed}), encoding="utf-8")
    (folder / CARD).write_text('{"held_out": {}}', encoding="utf-8")
    return folder


def test_a_folder_is_read(tmp_path: Path) -> None:
    read = load_regression(written(tmp_path), "model")
    assert (read.intercept, read.coefficients, read.top) == (-0.558, PUBLISHED.coefficients, 3.0)
    assert read.card == {"held_out": {}}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"kind": "sentiment-gru"}, "not of kind"),
        ({"top": 0}, "top is not above 0"),
        ({"top": True}, "top is no finite number"),
        ({"intercept": "x"}, "intercept is no finite number"),
        ({"intercept": float("nan")}, "intercept is no finite number"),
        ({"coefficients": {"work": 1}}, "no 'sentiment'"),
        ({"coefficients": None}, "regression of perceived bias"),
    ],
)
def test_what_is_no_such_model(tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    with pytest.raises(PlanError, match=said):
        load_regression(written(tmp_path, **changed), "model")


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000])
def test_files_that_hold_something_else(tmp_path: Path, text: str) -> None:
    written(tmp_path)
    (tmp_path / MODEL).write_text(text, encoding="utf-8")
    with pytest.raises(PlanError, match="regression of perceived bias"):
        load_regression(tmp_path, "model")
    (tmp_path / CARD).write_text(text, encoding="utf-8")
    with pytest.raises(PlanError, match="card of the model"):
        load_regression(tmp_path, "model")


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="cannot be read"):
        load_regression(tmp_path / "nowhere", "model")


def test_without_the_sentiment_scorer_it_says_what_to_install() -> None:
    """In a Python that cannot find the library: settings and scoring both say so."""
    code = """if True:
        import sys
        sys.modules["vaderSentiment"] = None
        from trustgauge.methods.trust.sentence_bias import sentence_features
        from trustgauge.errors import TrustgaugeError
        from trustgauge.methods.trust.issues.bias import Bias
        for asked in (lambda: sentence_features(["a"]), lambda: Bias(issue="bias")):
            try:
                asked()
            except TrustgaugeError as error:
                print(error.code, error)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    first, second = done.stdout.splitlines()
    assert first.startswith("service.part-missing ")
    assert second.startswith("plan.invalid ")
    assert all("pip install 'trustgauge[demo]'" in line for line in (first, second))
