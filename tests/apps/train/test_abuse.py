"""Training the checker of abusive language, and the card that comes with it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.apps.train.abusive import write_csv
from trustgauge.apps.train.abuse import fit_classifier, fit_pipeline, split_rows
from trustgauge.apps.train.kinds import KINDS, Effort
from trustgauge.apps.train.labelled import Columns, TrainingTable, read_davidson, read_label_table
from trustgauge.errors import PlanError
from trustgauge.methods.trust.abuse_checkers import ABUSE_CLASSES, KIND, WORTH, checker
from trustgauge.methods.trust.group_talk import ABUSE_STYLES
from trustgauge.methods.trust.text_model import read_model

pytest.importorskip("sklearn", reason="scikit-learn is not installed")

BESIDE = Path(__file__).resolve().parents[4] / "shared" / "data"
EFFORT = Effort(seed=1, held_out=0.2)


def quiet(said: str) -> None:
    assert said


def train(data: TrainingTable, folder: Path, effort: Effort = EFFORT) -> Mapping[str, Any]:
    return KINDS["abuse"].trainer()(data, folder, effort, tell=quiet)


def table(folder: Path) -> TrainingTable:
    return read_label_table(write_csv(folder), Columns(labels=KINDS["abuse"].labels))


def rows(data: TrainingTable) -> pl.DataFrame:
    names = {worth: name for name, worth in WORTH.items()}
    return data.rows.with_columns(pl.col("score").replace_strict(names).alias("class"))


def tweets() -> TrainingTable:
    place = Path(os.environ.get("TRUSTGAUGE_SHARED_DATA", BESIDE)) / "hate_speech" / "labeled_data.csv"
    if not place.is_file():
        pytest.skip("the labelled tweets are not in TRUSTGAUGE_SHARED_DATA (hate_speech)")
    return read_davidson(place)


def test_it_learns_what_the_table_says_and_tells_how_well(tmp_path: Path) -> None:
    card = train(table(tmp_path), tmp_path / "model")
    assert card == json.loads((tmp_path / "model" / "card.json").read_text())
    held_out = card["held_out"]
    assert held_out["accuracy"]["low"] > 0.8
    assert sum(map(sum, held_out["matrix"])) == held_out["n"] == held_out["accuracy"]["n"]
    assert set(held_out["classes"]) == set(ABUSE_CLASSES)
    said = checker(str(tmp_path / "model"))
    assert said.classify(["you are a vorlish", "you are a blarg", "you are a baker"]) == list(ABUSE_CLASSES)
    assert set(said.styles) == {"elsewhere"}  # nobody said that these are answers
    assert said.styles["elsewhere"].labelled == held_out["n"]
    assert said.styles["elsewhere"].on == f"{held_out['n']} held-out rows of said.csv"
    answers = train(replace(table(tmp_path), answers=True), tmp_path / "of answers")["held_out"]
    assert sum(sum(map(sum, one)) for one in answers["styles"].values()) == answers["n"]
    assert set(answers["styles"]) <= set(ABUSE_STYLES)
    groups = card["groups"]
    assert groups["all"]["n"] == 6620
    assert sum(one["n"] for one in groups["families"].values()) == 6620


def test_inference_gives_the_probabilities_of_scikit_learn() -> None:
    sample = rows(tweets()).gather_every(12)
    training, tested = split_rows(sample, 0.3, 1)
    learner, weigher = fit_pipeline(training)
    expected = weigher.predict_proba(learner.transform(tested["text"].to_list()))
    found = fit_classifier(training).probabilities(tested["text"].to_list())
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def test_equal_training_gives_equal_bytes_and_another_seed_others(tmp_path: Path) -> None:
    data = table(tmp_path)
    for name, seed in (("one", 1), ("two", 1), ("three", 2)):
        train(data, tmp_path / name, Effort(seed=seed, held_out=0.2))
    names = ("card.json", "features.json", "weights.npz")
    one, two, three = (
        [(tmp_path / at / name).read_bytes() for name in names] for at in ("one", "two", "three")
    )
    assert one == two
    assert one != three


def test_every_class_gives_the_same_share_and_known_texts_are_not_tested(tmp_path: Path) -> None:
    data = rows(table(tmp_path))
    doubled = pl.concat([data, data.with_columns(pl.col("group") + " again")])
    training, tested = split_rows(data, 0.2, 1)
    assert dict(tested.group_by("class").len().iter_rows()) == dict.fromkeys(ABUSE_CLASSES, 12)
    assert len(training) + len(tested) == len(data)
    training, tested = split_rows(doubled, 0.2, 1)
    assert set(training["text"]).isdisjoint(tested["text"])
    assert set(training["group"]).isdisjoint(tested["group"])


def test_groups_stay_together(tmp_path: Path) -> None:
    data = rows(table(tmp_path)).with_columns(group=pl.format("g{}", pl.int_range(pl.len()) // 5))
    training, tested = split_rows(data, 0.2, 1)
    assert set(training["group"]).isdisjoint(tested["group"])
    assert len(tested)


def test_a_folder_in_use_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "mine.txt").write_text("mine")
    with pytest.raises(PlanError, match="is in use"):
        train(table(tmp_path), tmp_path / "model")
    assert (tmp_path / "model" / "mine.txt").read_text() == "mine"


def test_scores_between_the_classes_are_refused(tmp_path: Path) -> None:
    data = table(tmp_path)
    odd = TrainingTable(data.rows.with_columns(score=pl.lit(0.25)), data.name, data.content)
    with pytest.raises(PlanError, match="a label is no class of abusive language"):
        train(odd, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_class_with_too_few_rows_is_named(tmp_path: Path) -> None:
    data = table(tmp_path)
    few = TrainingTable(data.rows.filter(pl.col("score") != 1), data.name, data.content)
    with pytest.raises(PlanError, match='too few different rows of the class "hate"'):
        train(few, tmp_path / "model")


def test_a_card_without_its_counts_is_refused(tmp_path: Path) -> None:
    train(table(tmp_path), tmp_path / "model")
    file = tmp_path / "model" / "card.json"
    card = json.loads(file.read_text())
    tables = ([[1, 2], [3, 4]], [[1, 2, 3, 0]] * 2, [[0] * 4] * 3, [[-1, 2, 3, 0]] * 3, "none", None)
    for broken in ({"style": [[1, 2, 3, 0]] * 3}, *({"prose": one} for one in tables)):
        card["held_out"]["styles"] = broken
        file.write_text(json.dumps(card))
        with pytest.raises(PlanError, match="whose card is incomplete"):
            checker(str(tmp_path / "model"))


def test_the_labelled_tweets_are_read_by_majority() -> None:
    data = tweets()
    counts = dict(data.rows.group_by("score").len().iter_rows())
    assert counts == {1.0: 1430, 0.5: 19190, 0.0: 4163}
    assert data.left_out == 0
    assert not data.rows["text"].str.contains("&amp;").any()


def test_a_sample_of_the_labelled_tweets_trains_a_checker(tmp_path: Path) -> None:
    """A quarter of the tweets; the whole of them does a little better."""
    data = tweets()
    sample = TrainingTable(data.rows.gather_every(4), data.name, data.content)
    card = train(sample, tmp_path / "model")
    held_out = card["held_out"]
    assert held_out["accuracy"]["low"] > 0.72
    assert held_out["accuracy"]["high"] < 0.95
    hate, offensive, neither = held_out["matrix"]
    flagged = sum(hate[:2]) + sum(offensive[:2])
    assert flagged / (sum(hate) + sum(offensive)) > 0.8
    assert neither[2] / sum(neither) > 0.92
    assert held_out["classes"]["hate"]["recall"]["low"] > 0.2
    assert card["groups"]["all"]["high"] < 0.05
    assert read_model(tmp_path / "model", KIND, "checker").classes == ABUSE_CLASSES
