"""Training the regression of perceived bias from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.apps.train.test_sentence_bias import write
from tests.cli.test_commands import trustgauge

pytest.importorskip("vaderSentiment", reason="vaderSentiment is not installed")


def test_one_command_fits_measures_and_writes(tmp_path: Path) -> None:
    write(tmp_path)
    options = ("--text", "said", "--score", "rating", "--range", "0:10")
    done = trustgauge("train", "sentence-bias", "rated.csv", "-o", "mine", *options, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    card = json.loads((tmp_path / "mine" / "card.json").read_text())
    result = done.stdout.splitlines()
    assert result[0] == f"trained  mine: 90 rows of rated.csv, penalty {card['penalty']:g} a row"
    assert f"R2 {card['held_out']['r2']['value']:.3f} (95 %: " in result[2]
    assert result[-1] == 'use      issues = [{ issue = "bias", model = "mine" }]'
    again = trustgauge("train", "sentence-bias", "rated.csv", "-o", "mine", *options, folder=tmp_path)
    assert again.returncode == 2
    assert "is in use" in again.stderr
