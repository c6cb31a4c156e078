"""The verb train as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.apps.train.tables import write_csv
from tests.cli.test_commands import last, trustgauge
from tests.services.asking import outputs
from trustgauge.apps.train import kinds, labelled
from trustgauge.apps.train.verb import LAYOUTS, MODELS
from trustgauge.services.gru import Gru

HOW = ("--text", "review", "--score", "stars", "--range", "1:5", "--epochs", "4")


def test_the_command_offers_what_there_is() -> None:
    assert tuple(kinds.KINDS) == MODELS
    assert tuple(labelled.LAYOUTS) == LAYOUTS


def test_one_command_trains_measures_and_writes(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    write_csv(tmp_path)
    done = trustgauge("train", "sentiment-gru", "rated.csv", "-o", "mine", *HOW, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    result = done.stdout.splitlines()
    card = json.loads((tmp_path / "mine" / "card.json").read_text())
    tested = card["held_out"]
    assert result[0] == f"trained  mine: {card['training']['rows']} rows of rated.csv, seed 1"
    assert result[1] == f"held out {tested['n']} rows of {tested['groups']} groups unseen in training"
    assert f"correlation with the labels {tested['correlation']['value']:.3f} (95 %: " in result[2]
    assert result[-1] == 'use      use = "gru", folder = "mine"'
    assert [line for line in done.stderr.splitlines() if "epoch" in line][-1].startswith(
        "train    epoch 4 of 4: mean squared error in training 0."
    )
    good, bad = outputs(Gru(folder=tmp_path / "mine"), "the film was superb", "the film was awful")
    assert float(good) > 0 > float(bad)
    again = trustgauge("train", "sentiment-gru", "rated.csv", "-o", "mine", *HOW, folder=tmp_path)
    assert again.returncode == 2
    assert "is in use" in again.stderr


def test_json_is_the_card_alone(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    write_csv(tmp_path)
    options = (*HOW, "--json", "--quiet", "--seed", "7")
    done = trustgauge("train", "sentiment-gru", "rated.csv", "-o", "a/mine", *options, folder=tmp_path)
    assert json.loads(done.stdout) == json.loads((tmp_path / "a" / "mine" / "card.json").read_text())
    assert json.loads(done.stdout)["training"]["seed"] == 7
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("sentiment-gru", "rated.csv", "-o", "mine"), '--text: no column "text" in rated.csv'),
        (("sentiment-gru", "none.csv", "-o", "mine"), "none.csv: the file cannot be read"),
        (
            ("sentiment-gru", "rated.csv", "-o", "mine", "--text", "review", "--score", "stars"),
            'Must be a number from -1 to 1. Got "2" in row 5, and',
        ),
        (("sentiment-gru", "rated.csv", "-o", "mine", "--range", "5:1"), "the smaller first, such as 1:5"),
        (("sentiment-gru", "rated.csv", "-o", "mine", "--range", "five"), "the smaller first, such as 1:5"),
        (("sentiment-gru", "rated.csv", "-o", "mine", "--label", "good"), "WORD=SCORE"),
        (("sentiment-gru", "rated.csv", "-o", "mine", "--label", "good=2"), "WORD=SCORE"),
        (("sentiment-gru", "rated.csv"), "Missing option '-o'"),
        (("sentiment", "rated.csv", "-o", "mine"), "sentiment-gru"),
    ],
)
def test_wrong_calls_say_so_and_write_nothing(arguments: tuple[str, ...], said: str, tmp_path: Path) -> None:
    write_csv(tmp_path)
    done = trustgauge("train", *arguments, folder=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert last(done).startswith("exit 2: ")
    assert [one.name for one in tmp_path.iterdir()] == ["rated.csv"]


def test_words_may_be_labels(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    file = write_csv(tmp_path)
    words = {"1": "awful", "2": "bad", "3": "so-so", "4": "good", "5": "great"}
    lines = file.read_text().splitlines()
    rows = [line.rpartition(",") for line in lines[1:]]
    file.write_text("\n".join(["text,score", *(f"{text},{words[stars]}" for text, _, stars in rows)]))
    pairs = zip(words.values(), (-1, -0.5, 0, 0.5, 1), strict=True)
    given = [part for word, score in pairs for part in ("--label", f"{word}={score}")]
    done = trustgauge("train", "sentiment-gru", "rated.csv", "-o", "mine", *given, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "mine" / "card.json").read_text())["held_out"]["correlation"]["low"] > 0.8
