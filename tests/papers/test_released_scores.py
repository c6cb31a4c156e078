"""Rejection scores from tables in the shape of the released ones, against SciPy and the printed figures."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from tests.papers import released
from trustgauge.errors import MethodError
from trustgauge.papers.cells import Cell
from trustgauge.papers.released_scores import rejection_score, table, wanted


def _cells(folder: Path) -> dict[tuple[str, str], Cell]:
    return {(one.row, one.column): one for one in table(folder).cells}


def test_a_system_that_favours_women_gets_every_printed_score_of_theirs(tmp_path: Path) -> None:
    """23.0, 69.0, 2.4 and 4.6: what constant classes that differ give in 24 rows of both tables."""
    cells = _cells(released.write(tmp_path, "biased"))
    mine = [cell for (_, system), cell in cells.items() if system == "b"]
    assert len(mine) == 24
    assert {cell.verdict for cell in mine} == {"agrees"}
    assert {cell.printed for cell in mine} == {23.0, 69.0, 2.4, 4.6}
    assert len(cells) == 144


def test_what_is_not_there_cannot_be_recomputed_and_only_people_are_documented(tmp_path: Path) -> None:
    cells = _cells(released.write(tmp_path, "bf"))
    lost = {key: cell for key, cell in cells.items() if key[1] != "b"}
    assert {cell.verdict for cell in lost.values()} == {"cannot be recomputed"}
    assert {system for (_, system), cell in lost.items() if cell.documented} == {"h"}
    assert cells["SD Group-1", "g"].reason == "0 files of 5 in data/results/group1"
    assert cells["HD2_SR User", "d"].reason == "0 files of 1 in data_rt_spanish/results/real-world/unibot"


@pytest.mark.parametrize(
    ("code", "left", "told"),
    [
        (2, 0, "has 0 scores of Gender 2"),
        (2, 1, "has 1 scores of Gender 2"),
        (0, 0, "has 0 scores of Gender 0"),
    ],
)
def test_a_score_without_anything_to_compare_is_none(tmp_path: Path, code: int, left: int, told: str) -> None:
    """The printed score is 0, which is also what comparisons that cannot be made add up to."""
    file = released.write(tmp_path, "textblob") / "data/results/group1/textblob/e3_textblob.csv"
    frame = pl.read_csv(file)
    one = frame.filter(pl.col("Gender") == code).head(left)
    pl.concat([frame.filter(pl.col("Gender") != code), one]).write_csv(file)
    cell = _cells(tmp_path)["SD Group-1", "t"]
    assert (cell.printed, cell.released, cell.verdict) == (0.0, None, "cannot be recomputed")
    assert cell.reason.startswith(f"{file.name} {told}")
    assert not cell.documented


def test_classes_of_other_codes_are_no_agreement(tmp_path: Path) -> None:
    folder = released.write(tmp_path, "textblob")
    for file in folder.rglob("*.csv"):
        frame = pl.read_csv(file)
        names = [name for name in ("Gender", "Race", "RG", "User_gender") if name in frame.columns]
        frame.with_columns(pl.format("class {}", pl.col(name)).alias(name) for name in names).write_csv(file)
    mine = [cell for (_, system), cell in _cells(folder).items() if system == "t"]
    assert {(cell.verdict, cell.documented) for cell in mine} == {("cannot be recomputed", False)}


def test_a_score_that_differs_is_documented_only_where_the_row_repeats_another(tmp_path: Path) -> None:
    cells = _cells(released.write(tmp_path, "gru"))  # which does not favour women in the paper
    mine = {key[0]: cell for key, cell in cells.items() if key[1] == "g"}
    differs = {name for name, cell in mine.items() if cell.verdict == "differs"}
    assert "SD Group-1" in differs
    assert not mine["SD Group-1"].documented
    documented = {name for name, cell in mine.items() if cell.documented}
    assert documented == {"SD_SR Group-3_R", "SD_SR Group-3_G", "SD_SR Group-3_RG"}
    assert all("repeats the row of Danish" in mine[name].reason for name in documented)
    assert mine["HD2_SR User"].verdict == "agrees"  # 4.6, as of the system that favours women


def _by_scipy(sets: list[pl.DataFrame], classes: tuple[str, ...], weights: tuple[float, ...]) -> float:
    """The released rule written out: t with n - 2 degrees of freedom and 1e-4 added to the error."""
    score = 0.0
    for frame in sets:
        for one, other in itertools.combinations(classes, 2):
            a, b = (frame.filter(pl.col("class") == code)["score"].to_numpy() for code in (one, other))
            se = math.hypot(stats.sem(a), stats.sem(b)) + 1e-4
            t, df = abs(a.mean() - b.mean()) / se, len(a) + len(b) - 2
            for weight, alpha in zip(weights, (0.025, 0.15, 0.20), strict=True):
                score += weight * bool(t > stats.t.ppf(1 - alpha / 2, df))
    return score


@pytest.mark.parametrize("group", ["Group-1", "Group-3_R", "Group-3_RG"])
@pytest.mark.parametrize("seed", range(5))
def test_random_scores_against_scipy(group: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    row: dict[str, Any] = {"group": group, "dataset": "SD", "pairs": 15, "weights_that_fit": [1, 0.7, 0.6]}
    given = wanted(row)
    sets = []
    for size in (24, 24, 48, 72, 72):
        classes = np.array(given.classes)[np.arange(size) % len(given.classes)]
        sets.append(pl.DataFrame({"class": classes, "score": rng.integers(0, 2, size).astype(float)}))
    expected = _by_scipy(sets, given.classes, given.weights)
    assert rejection_score(sets, given) == pytest.approx(expected, abs=1e-9)


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MethodError, match="holds no released scores") as caught:
        table(tmp_path)
    assert "data_rt_danish/results" in caught.value.must


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("Gender,Emotion\n1,1\n", "no Sentiment"),
        ("Gender,Sentiment\n1,good\n", "a number in every cell"),
        ("Gender,Sentiment\n1,\n", "a number in every cell"),
        ("Gender,Sentiment\n1,inf\n", "a number in every cell"),
        ("Gender,Sentiment\n", "no rows"),
    ],
)
def test_a_table_of_another_shape_is_refused_by_name(tmp_path: Path, content: str, told: str) -> None:
    file = released.write(tmp_path, "biased") / "data/results/group1/biased/e3_biased.csv"
    file.write_text(content)
    with pytest.raises(MethodError) as caught:
        table(tmp_path)
    assert told in str(caught.value)
    assert file.name in str(caught.value)
