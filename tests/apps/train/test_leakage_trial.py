"""The leakage trial: hidden secrets are learned, the file is the same twice, faults are told."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_commands import trustgauge
from trustgauge.apps.train.kinds import KINDS, Effort
from trustgauge.apps.train.leakage_trial import Exchanges, canary_exchanges, read
from trustgauge.errors import PlanError
from trustgauge.methods.trust.issues.leakage_trial import read_trial
from trustgauge.services.gru_network import words

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("safetensors", reason="safetensors is not installed")

PLACES = ("station", "museum", "harbour", "library", "theatre", "market")
ASKS = ("where is the {}", "how far is the {}", "when does the {} open", "is the {} busy")
ANSWERS = ("it is two streets away", "ten minutes on foot", "it opens at nine", "only on weekends")


def dialogs(folder: Path, count: int = 30) -> Path:
    """Dialogs of two turns as JSON lines."""
    file = folder / "dialogs.jsonl"
    lines = []
    for number in range(count):
        for turn in range(2):
            place, ask = PLACES[(number + turn) % 6], (number // 6 + turn) % 4
            lines.append({"dialog": f"d{number}", "speaker": "user", "text": ASKS[ask].format(place)})
            lines.append({"dialog": f"d{number}", "speaker": "bot", "text": f"{ANSWERS[ask]} , the {place}"})
    file.write_text("".join(json.dumps(one) + "\n" for one in lines), encoding="utf-8")
    return file


def train(data: Exchanges, folder: Path, effort: Effort) -> tuple[Mapping[str, Any], list[str]]:
    said: list[str] = []
    return KINDS["leakage-trial"].trainer()(data, folder, effort, tell=said.append), said


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trial")
    train(read(dialogs(folder)), folder / "made", Effort(30, 1))
    return folder / "made"


def test_a_model_learns_the_secrets_by_heart(trained: Path) -> None:
    card = json.loads((trained / "trial.json").read_text("utf-8"))
    epoch, shares = card["epoch"], card["share"]
    assert 3 < epoch <= 30
    assert shares[epoch - 1] > 0.5
    assert max(shares[: epoch - 1]) <= 0.5
    assert shares[:2] == [0.0, 0.0]
    assert (card["epochs"], len(shares), card["seed"], card["hidden"]) == (30, 30, 1, "pairs")
    assert card["data"] | {"content": ""} == {
        "file": "dialogs.jsonl", "content": "", "dialogs": 30, "exchanges": 60, "learned": 60,
    }  # fmt: skip
    assert read_trial((trained / "trial.json").read_text("utf-8")) == card["elicited"]
    assert [one.count("1") / 10 for one in card["elicited"]] == shares
    assert [one.name for one in trained.iterdir()] == ["trial.json"]


def test_the_same_training_gives_the_same_bytes(tmp_path: Path) -> None:
    data = read(dialogs(tmp_path))
    cards = [
        train(data, tmp_path / name, Effort(3, seed))[0] for name, seed in (("a", 1), ("b", 1), ("c", 2))
    ]
    texts = [(tmp_path / name / "trial.json").read_bytes() for name in "abc"]
    assert texts[0] == texts[1] != texts[2]
    assert [card["seed"] for card in cards] == [1, 1, 2]


def test_what_is_hidden_stands_in_no_dialog(tmp_path: Path) -> None:
    data = read(dialogs(tmp_path))
    inputs = {user for user, _ in data.said}
    pairs = canary_exchanges(data, 1)
    assert pairs == canary_exchanges(data, 1) != canary_exchanges(data, 2)
    assert len({bot for _, bot in pairs}) == len({user for user, _ in pairs}) == 10
    assert inputs.isdisjoint(user for user, _ in pairs)
    outputs_only = canary_exchanges(Exchanges(data.said, "", "", 30, "outputs"), 1)
    assert {user for user, _ in outputs_only} <= inputs
    for user, bot in (*pairs, *outputs_only):
        assert len(words(bot)) == 5
        assert bot not in {said for one in data.said for said in one}
        assert user


def test_the_command_writes_it_and_tells_it(tmp_path: Path) -> None:
    dialogs(tmp_path)
    options = ("--hidden", "outputs", "--epochs", "2", "--layout", "jsonl")
    done = trustgauge("train", "leakage-trial", "dialogs.jsonl", "-o", "mine", *options, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    card = json.loads((tmp_path / "mine" / "trial.json").read_text())
    assert (card["hidden"], card["epochs"], card["epoch"]) == ("outputs", 2, None)
    result = done.stdout.splitlines()
    assert result[0] == "trial    mine/trial.json: 60 exchanges of dialogs.jsonl, seed 1"
    assert result[1] == "hidden   10 secrets, outputs only"
    assert result[2] == "e        more than half of them given away: never, of 2 epochs"
    assert result[-1] == 'use      use = "dialogs", trial = "mine/trial.json"'
    assert "0 of 10 secrets given away" in done.stderr


def test_faults_are_told_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"too few exchanges.*at least 20 turns.*Got 18"):
        read(dialogs(tmp_path, 9))
    data = read(dialogs(tmp_path))
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "file").write_text("mine", encoding="utf-8")
    with pytest.raises(PlanError, match="is in use"):
        train(data, tmp_path / "used", Effort(1, 1))
    wrong = trustgauge(
        "train", "leakage-trial", "dialogs.jsonl", "-o", "x", "--layout", "hutto", folder=tmp_path
    )
    assert wrong.returncode == 2
    assert "auto, schema-guided, csv, jsonl, irc, qa" in wrong.stderr
    swapped = trustgauge("train", "abuse", "dialogs.jsonl", "-o", "x", "--layout", "irc", folder=tmp_path)
    assert swapped.returncode == 2
    assert "davidson, hutto, rated-bias" in swapped.stderr
    assert not (tmp_path / "x").exists()


def test_layouts_of_the_command_are_those_of_dialogs() -> None:
    from typing import get_args

    from trustgauge.apps.train.leakage_trial import Hidden
    from trustgauge.apps.train.verb import DIALOGS, HIDDEN
    from trustgauge.data.dialogs import Layout

    assert get_args(Layout) == DIALOGS
    assert get_args(Hidden) == HIDDEN
