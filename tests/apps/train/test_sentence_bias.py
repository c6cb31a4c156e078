"""Fitting perceived bias: planted weights come back, and what was left out was not seen."""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path

import numpy as np
import pytest

from trustgauge.apps.train.kinds import KINDS, Effort
from trustgauge.apps.train.labelled import Columns, read_hutto_bias, read_label_table
from trustgauge.apps.train.sentence_bias import (
    MOST_FOLDS,
    PENALTIES,
    best_penalty,
    card_lines,
    cross_predictions,
    r_squared,
    ridge,
    train,
)
from trustgauge.errors import PlanError
from trustgauge.methods.trust.sentence_bias import CARD, FEATURES, MODEL, default_regression, load_regression

pytest.importorskip("vaderSentiment", reason="vaderSentiment is not installed")

BESIDE = Path(__file__).resolve().parents[4] / "shared" / "data"
SUBJECTS = ("the bus", "he", "she", "the road", "they", "it")
VERBS = ("came", "might go", "stood there", "ran perhaps", "was seen")
PLACES = ("by the river", "in the north", "on monday")


def write(folder: Path) -> Path:
    """90 sentences whose rating from 0 to 10 follows from pronouns and doubt, with noise of ±0.5."""
    rng = np.random.default_rng(3)
    rows = []
    for subject, verb, place in itertools.product(SUBJECTS, VERBS, PLACES):
        loaded = 5.0 * (subject in ("he", "she", "they")) + 3.0 * ("might" in verb or "perhaps" in verb)
        rows.append(f"{subject} {verb} {place},{np.clip(loaded + rng.uniform(-0.5, 0.5), 0, 10):.3f}")
    file = folder / "rated.csv"
    file.write_text("\n".join(["said,rating", *rows]) + "\n", encoding="utf-8")
    return file


COLUMNS = Columns("said", "rating", span=(0, 10))


def test_planted_weights_come_back(tmp_path: Path) -> None:
    lines: list[str] = []
    data = read_label_table(write(tmp_path), COLUMNS, KINDS["sentence-bias"].fewest)
    card = train(data, tmp_path / "made", Effort(seed=4), tell=lines.append)
    assert card["held_out"]["r2"]["low"] > 0.8
    assert card["held_out"]["n"] == card["held_out"]["groups"] == 90
    assert card["printed"]["all"]["r2"]["value"] < card["held_out"]["r2"]["value"]
    model = load_regression(tmp_path / "made", "model")
    assert model.coefficients["third_person"] > 1
    doubts = ("tentative", "hedge", "modality")  # which say the same of these sentences, and share the effect
    assert all(model.coefficients[name] * (-1 if name == "modality" else 1) > 0.05 for name in doubts)
    assert model.coefficients["work"] == 0  # no sentence has it
    assert model.card == json.loads(json.dumps(card))
    assert lines == ["90 rows of 90 groups, 14 features"]
    said = card_lines(card, tmp_path / "made")
    assert said[2][1].startswith(f"R2 {card['held_out']['r2']['value']:.3f} (95 %: ")
    assert said[-1] == ("use", f'issues = [{{ issue = "bias", model = "{tmp_path / "made"}" }}]')


def test_the_same_table_gives_the_same_bytes(tmp_path: Path) -> None:
    data = read_label_table(write(tmp_path), COLUMNS, 30)
    for name in ("a", "b"):
        train(data, tmp_path / name, Effort(seed=4), tell=lambda line: None)
    for file in (MODEL, CARD):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_bad_input(tmp_path: Path) -> None:
    file = write(tmp_path)
    with pytest.raises(PlanError, match="at least 100"):
        read_label_table(file, COLUMNS)
    one_group = file.read_text(encoding="utf-8").replace("said,", "text,").splitlines()
    grouped = tmp_path / "grouped.csv"
    grouped.write_text(
        "\n".join([one_group[0] + ",g", *(f"{line},{row % 5}" for row, line in enumerate(one_group[1:]))])
    )
    data = read_label_table(grouped, Columns("text", "rating", "g", (0, 10)), 30)
    with pytest.raises(PlanError, match="too few groups"):
        train(data, tmp_path / "made", Effort(), tell=lambda line: None)
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "file").touch()
    with pytest.raises(PlanError, match="is in use"):
        train(data, tmp_path / "used", Effort(), tell=lambda line: None)
    assert not (tmp_path / "made").exists()


def test_the_public_table_is_read_with_its_pairs(tmp_path: Path) -> None:
    """Two wordings of one sentence form a group; ratings from 0 to 3 become scores."""
    rows = [f'{row},F{row},"A plain sentence, number {row}",{row % 4}' for row in range(1, 31)]
    rows += ['31,T7e,"They said so",3', '32,T7i,"He said so",1.5']
    file = tmp_path / "collapsedData.csv"
    file.write_text("\n".join(["id,tID,text,avgBias", *rows]), encoding="utf-8")
    data = read_hutto_bias(file, 30)
    assert (len(data.rows), data.rows["group"].n_unique()) == (32, 31)
    assert data.rows["score"].to_list()[-2:] == [1.0, 0.0]
    with pytest.raises(PlanError, match="at least 100"):
        read_hutto_bias(file)
    file.write_text(file.read_text(encoding="utf-8").replace(",3\n", ",4\n", 1), encoding="utf-8")
    with pytest.raises(PlanError, match="no number of the scale"):
        read_hutto_bias(file, 30)


def test_ridge_solves_its_equation() -> None:
    rng = np.random.default_rng(1)
    values, ratings = rng.normal(size=(30, 4)) * [1, 5, 0.1, 0], rng.normal(size=30)
    intercept, weights = ridge(values, ratings, 0.3)
    standard = (values[:, :3] - values[:, :3].mean(0)) / values[:, :3].std(0)
    design = np.vstack([np.column_stack([np.ones(30), standard]), np.sqrt(0.3 * 30) * np.eye(4)[1:]])
    reference = np.linalg.lstsq(design, np.concatenate([ratings, np.zeros(3)]), rcond=None)[0]
    fitted = intercept + values @ weights
    np.testing.assert_allclose(fitted, np.column_stack([np.ones(30), standard]) @ reference, atol=1e-12)
    assert weights[3] == 0


def test_the_penalty_is_the_one_of_left_out_rows() -> None:
    """The short formula against fits that really leave each row out, in fixed units of spread."""
    rng = np.random.default_rng(2)
    values = rng.normal(size=(25, 6))
    ratings = values[:, 0] + rng.normal(size=25) * 2
    standard = (values - values.mean(0)) / values.std(0)

    def loss(penalty: float) -> float:
        total = 0.0
        for row in range(25):
            a, y = np.delete(standard, row, 0), np.delete(ratings, row)
            design = np.column_stack([np.ones(24), a])
            gram = design.T @ design + penalty * 25 * np.diag([0, *np.ones(6)])
            weights = np.linalg.solve(gram, design.T @ y)
            total += float((ratings[row] - np.array([1, *standard[row]]) @ weights) ** 2)
        return total

    assert best_penalty(values, ratings) == min(PENALTIES, key=loss)


def test_a_left_out_group_is_not_seen() -> None:
    """A wild rating moves every prediction but those of its own group."""
    rng = np.random.default_rng(5)
    values, groups = rng.normal(size=(24, 3)), np.repeat(np.arange(8), 3)
    ratings = np.clip(0.5 + 0.1 * values[:, 0] + rng.normal(size=24) * 0.05, 0, 1)
    wild = ratings.copy()
    wild[4] = 1 - wild[4] / 2
    before, after = cross_predictions(values, ratings, groups), cross_predictions(values, wild, groups)
    np.testing.assert_array_equal(before[3:6], after[3:6])
    assert (np.delete(before, [3, 4, 5]) != np.delete(after, [3, 4, 5])).all()


def test_many_groups_are_left_out_together() -> None:
    rng = np.random.default_rng(6)
    rows = MOST_FOLDS * 2
    values = rng.normal(size=(rows, 2))
    ratings = np.clip(0.5 + 0.2 * values[:, 0], 0, 1)
    assert r_squared(ratings, cross_predictions(values, ratings, np.arange(rows))) > 0.95


def test_the_shipped_model_comes_from_the_rated_sentences(tmp_path: Path) -> None:
    place = Path(os.environ.get("TRUSTGAUGE_SHARED_DATA", BESIDE)) / "rated_bias_sentences"
    file = place / "collapsedData.csv"
    if not file.is_file():
        pytest.skip("the rated sentences are not in TRUSTGAUGE_SHARED_DATA (rated_bias_sentences)")
    data = read_hutto_bias(file, KINDS["sentence-bias"].fewest)
    assert (len(data.rows), data.rows["group"].n_unique()) == (41, 36)
    card = train(data, tmp_path / "made", Effort(), tell=lambda line: None)
    again = load_regression(tmp_path / "made", "model")
    for name in FEATURES:
        assert again.coefficients[name] == pytest.approx(default_regression().coefficients[name], abs=1e-5), (
            name
        )
    for figure in ("r2", "correlation", "error"):
        assert card["held_out"][figure]["value"] == pytest.approx(
            default_regression().card["held_out"][figure]["value"], abs=1e-3
        )
