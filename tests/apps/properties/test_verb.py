"""The verb build-properties as a user meets it."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import get_args

import pytest

from tests.cli.test_commands import own_process, trustgauge
from trustgauge.apps.properties.raw_statements import Shape
from trustgauge.apps.properties.verb import SHAPES

RAW = """text,ann,bob,first,second
women can't juggle,Skill,Ability,不会杂耍,不会杂耍
are men noisy?,,,,
Zorbians are lazy,Personality,Crime,懒惰,懒
"""
HOW = ("--column", "statement=text", "--column", "zh_first=first", "--column", "zh_second=second")
LABELS = ("--label", "ann", "--label", "bob", "--recode", "Skill=competence")


def test_the_shapes_are_those_that_can_be_read() -> None:
    assert get_args(Shape) == SHAPES


def test_one_command_builds_and_tells_what_a_person_has_to_do(tmp_path: Path) -> None:
    (tmp_path / "raw.csv").write_text(RAW, encoding="utf-8")
    done = trustgauge("build-properties", "raw.csv", "-o", "out/set.csv", *HOW, *LABELS, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    result = done.stdout.splitlines()
    assert result[0].startswith("read     3 read, 0 discarded, 0 empty, 1 question,")
    assert result[-1] == "written  out/set.csv: 2 properties, 2 wait for a person"
    assert any("1 subject: nobody knows whether" in line for line in result)
    rows = list(csv.DictReader(io.StringIO((tmp_path / "out" / "set.csv").read_text(encoding="utf-8"))))
    assert [(row["predicate"], row["categories"], row["zh"]) for row in rows] == [
        ("can not juggle", "competence", "不会杂耍"),
        ("are lazy", "", ""),
    ]
    report = json.loads((tmp_path / "out" / "set.report.json").read_text(encoding="utf-8"))
    assert report["labels"]["agreement"]["competence"]["labels"] == 2
    again = trustgauge("build-properties", "out/set.csv", "-o", "out/set.csv", folder=tmp_path)
    assert again.returncode == 2
    assert "already exists" in again.stderr
    further = trustgauge("build-properties", "out/set.csv", "-o", "two.csv", "--json", folder=tmp_path)
    assert json.loads(further.stdout)["shape"] == "ours"


def test_an_embedding_of_ones_own_can_be_named(tmp_path: Path) -> None:
    (tmp_path / "raw.csv").write_text(RAW, encoding="utf-8")
    (tmp_path / "mine.py").write_text("def alike(pairs):\n    return [1.0] * len(pairs)\n", encoding="utf-8")
    done = own_process(
        "build-properties",
        "raw.csv",
        "-o",
        "set.csv",
        *HOW,
        "--similarity",
        "mine:alike",
        "--json",
        folder=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["translations"]["alike"] == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("none.csv", "-o", "set.csv"), "no file none.csv"),
        (("raw.csv",), "Missing option '-o'"),
        (("raw.csv", "-o", "set.csv"), 'no column "statement" in raw.csv'),
        (("raw.csv", "-o", "set.csv", "--column", "text"), "must be ROLE=COLUMN"),
        (("raw.csv", "-o", "set.csv", "--column", "colour=text"), "must be ROLE=COLUMN"),
        (("raw.csv", "-o", "set.csv", "--recode", "Skill=colour"), "must be LABEL=CATEGORY"),
        (("raw.csv", "-o", "set.csv", "--similarity", "none:alike"), "must be MODULE:FUNCTION"),
        (("raw.csv", "-o", "set.csv", "--similarity", "json"), "must be MODULE:FUNCTION"),
        (("raw.csv", "-o", "set.csv", "--shape", "round"), "Invalid value for '--shape'"),
    ],
)
def test_wrong_use_is_told_before_anything_is_written(
    tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    (tmp_path / "raw.csv").write_text(RAW, encoding="utf-8")
    done = trustgauge("build-properties", *arguments, folder=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert [one.name for one in tmp_path.iterdir()] == ["raw.csv"]
