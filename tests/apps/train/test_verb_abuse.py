"""`train abuse` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.apps.train.abusive import write_csv
from tests.cli.test_commands import last, trustgauge
from trustgauge.methods.trust.abuse_checkers import checker

pytest.importorskip("sklearn", reason="scikit-learn is not installed")


def test_one_command_trains_measures_and_writes(tmp_path: Path) -> None:
    write_csv(tmp_path)
    done = trustgauge("train", "abuse", "said.csv", "-o", "mine", "--held-out", "0.2", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    result = done.stdout.splitlines()
    card = json.loads((tmp_path / "mine" / "card.json").read_text())
    tested = card["held_out"]
    assert result[0] == f"trained  mine: {card['training']['rows']} rows of said.csv, seed 1"
    assert result[1] == f"held out {tested['n']} rows unseen in training"
    assert f"right class {tested['accuracy']['value']:.3f} (95 %: " in result[2]
    for name in ("hate", "offensive", "neither"):
        figures = [line.split()[1:2] for line in result if line.startswith(f"         {name}: ")]
        assert figures == [["precision"], ["recall"], ["f1"], ["of"]]
    assert any(line.startswith("groups   flags ") and "of 6,620 neutral sentences" in line for line in result)
    assert result[-1] == 'use      issue = "abuse", checker = "mine"'
    assert checker(str(tmp_path / "mine")).classify(["what a blarg they are"]) == ["offensive"]


def test_labels_may_have_other_names(tmp_path: Path) -> None:
    file = write_csv(tmp_path)
    other = {"hate": "0", "offensive": "1", "neither": "2"}
    lines = [line.rpartition(",") for line in file.read_text().splitlines()[1:]]
    file.write_text("\n".join(["text,score", *(f"{text},{other[kind]}" for text, _, kind in lines)]))
    named = [part for label in ("0=1", "1=0.5", "2=0") for part in ("--label", label)]
    arguments = ("abuse", "said.csv", "-o", "mine", "--held-out", "0.2", "--json", "--quiet", *named)
    done = trustgauge("train", *arguments, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["data"]["classes"] == {"hate": 60, "offensive": 60, "neither": 60}


def test_votes_of_several_people_are_a_layout(tmp_path: Path) -> None:
    file = write_csv(tmp_path)
    votes = {"hate": "2,1,0", "offensive": "0,3,0", "neither": "0,1,2"}
    lines = [line.rpartition(",") for line in file.read_text().splitlines()[1:]]
    rows = [f"{votes[kind]},{text}" for text, _, kind in lines]
    head = "hate_speech,offensive_language,neither,tweet"
    file.write_text("\n".join([head, *rows, "1,1,1,nobody agrees"]))
    how = ("--layout", "davidson", "--held-out", "0.2", "--json", "--quiet")
    done = trustgauge("train", "abuse", "said.csv", "-o", "mine", *how, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)["data"]
    assert data["classes"] == {"hate": 60, "offensive": 60, "neither": 60}
    assert data["left_out"] == 1
    file.write_text("\n".join([head, "1,x,0,words"]))
    broken = trustgauge("train", "abuse", "said.csv", "-o", "more", *how, folder=tmp_path)
    assert broken.returncode == 2
    assert "votes that are no whole number. Must be whole numbers in hate_speech, off" in broken.stderr
    assert "Got row 1" in broken.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("--label", "hate=1", "--label", "offensive=0.5"),
            'unknown label. Must be one of: "hate", "offensive"',
        ),
        (
            ("--label", "hate=1", "--label", "offensive=0.7", "--label", "neither=0"),
            "a label is no class of abusive language",
        ),
        (("--score", "class"), 'no column "class"'),
    ],
)
def test_wrong_labels_say_so_and_write_nothing(arguments: tuple[str, ...], said: str, tmp_path: Path) -> None:
    write_csv(tmp_path)
    done = trustgauge("train", "abuse", "said.csv", "-o", "mine", *arguments, folder=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert last(done).startswith("exit 2: ")
    assert [one.name for one in tmp_path.iterdir()] == ["said.csv"]
