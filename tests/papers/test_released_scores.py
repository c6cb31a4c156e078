"""What follows from tables in the layout of the released ones, against SciPy and the printed figures."""

from __future__ import annotations

import itertools
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from tests.papers import released
from tests.papers.tables import cell, table_of
from trustgauge.apps.reproduce.causal import from_data
from trustgauge.apps.reproduce.paper_tables import PrintedFigure
from trustgauge.apps.reproduce.released_scores import (
    Folder,
    copies,
    identical,
    impact_of_sets,
    ratings,
    rejection_score,
    row_source,
    scores_table,
)
from trustgauge.apps.reproduce.reproduction import reproduce
from trustgauge.errors import MethodError


def _cells(folder: Path) -> dict[tuple[str, str], PrintedFigure]:
    return {(one.row, one.column): one for one in scores_table(Folder(folder)).cells}


def test_a_system_that_favours_women_gets_every_printed_score_of_theirs(tmp_path: Path) -> None:
    """23.0, 69.0, 2.4 and 4.6: what constant classes that differ give in 24 rows of both tables."""
    cells = _cells(released.write(tmp_path, "biased"))
    mine = [cell for (_, system), cell in cells.items() if system == "b"]
    assert len(mine) == 24
    assert {cell.verdict for cell in mine} == {"agrees"}
    assert {cell.kind for cell in mine} == {"recomputed"}
    assert {cell.printed for cell in mine} == {23.0, 69.0, 2.4, 4.6}
    assert len(cells) == 144


def test_scores_are_read_from_continuous_and_not_their_signs(tmp_path: Path) -> None:
    """The authors' `results/group1` holds signs, and what lies there makes no difference."""
    folder = released.write(tmp_path, "textblob", lambda row: 0.5 if row.get("Emotion") else -0.5)
    before = _cells(folder)["SD Group-1", "t"]
    assert (before.printed, before.released, before.verdict) == (0.0, 0.0, "agrees")
    for name in ("group1", "group3", "group3_combined"):
        shutil.rmtree(folder / "data/results" / name)
    assert _cells(folder)["SD Group-1", "t"] == before
    shutil.rmtree(folder / "data/results/continuous")
    after = _cells(folder)["SD Group-1", "t"]
    assert (after.verdict, after.reason) == (
        "cannot be recomputed",
        "0 files of 5 in data/results/continuous/group1",
    )


def test_conversations_of_the_newer_repository_are_read_too(tmp_path: Path) -> None:
    cells = _cells(released.write_newer(tmp_path, "biased"))
    assert len(cells) == 72  # Table V only: nothing else is asked of it
    assert {cell.verdict for (_, system), cell in cells.items() if system == "b"} == {"agrees"}


def test_a_recomputed_score_takes_the_place_of_one_that_was_only_consistent(tmp_path: Path) -> None:
    data = [("causal", released.write(tmp_path, "biased"))]
    (before,), (after,) = (reproduce("causal", "scores", data=one) for one in ((), data))
    assert len(before.cells) == len(after.cells) == 144
    assert {one.kind for one in before.cells} == {"consistent"}
    assert {one.kind for one in after.cells if one.column == "b"} == {"recomputed"}
    assert {one.kind for one in after.cells if one.column == "h"} == {"consistent"}


@pytest.mark.parametrize("order", [1, -1])
def test_a_score_of_one_repository_stands_whatever_the_other_lacks(tmp_path: Path, order: int) -> None:
    folders = [
        ("causal", released.write(tmp_path / "older", "biased")),
        ("causal", released.write_newer(tmp_path / "newer", "dbert")),
    ]
    (scores,) = reproduce("causal", "scores", data=folders[::order])
    assert cell(scores, "HD1 Chatbot", "b").kind == "recomputed"
    assert cell(scores, "HD1 User", "d").kind == "recomputed"
    missing = cell(scores, "SD Group-1", "d")
    assert (missing.kind, missing.documented) == ("public", False)


def test_what_is_not_there_cannot_be_recomputed_and_only_people_are_documented(tmp_path: Path) -> None:
    cells = _cells(released.write(tmp_path, "biased"))
    lost = {key: cell for key, cell in cells.items() if key[1] != "b"}
    assert {cell.verdict for cell in lost.values()} == {"cannot be recomputed"}
    assert {system for (_, system), cell in lost.items() if cell.documented} == {"h"}
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
    file = released.write(tmp_path, "textblob") / "data/results/continuous/group1/textblob/e3_tb.csv"
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
    given = row_source(row)
    sets = []
    for size in (24, 24, 48, 72, 72):
        classes = np.array(given.classes)[np.arange(size) % len(given.classes)]
        sets.append(pl.DataFrame({"class": classes, "score": rng.integers(0, 2, size).astype(float)}))
    expected = _by_scipy(sets, given.classes, given.weights)
    assert rejection_score(sets, given) == pytest.approx(expected, abs=1e-9)


# -- impacts, orders and ratings --------------------------------------------------------------


def test_impacts_are_recomputed_from_the_released_scores(tmp_path: Path) -> None:
    """By hand, of 24 rows: the first word has 1 man, 7 women and 4 of nobody's; women score 1.

    Given the word the mean is 7/12, were all alike 1/3; of the second word it is 1/12 against 1/3.
    """
    tables = from_data(released.write(tmp_path, "biased"))
    die = table_of("released-die", tables)
    found = cell(die, "SD Group-2", "b")
    assert (found.published, found.sound) == (pytest.approx(300), pytest.approx(0.25))
    assert (found.verdict, found.documented, found.kind) == ("differs", True, "recomputed")
    (filled,) = reproduce("causal", "die", data=[("causal", tmp_path)])
    assert cell(filled, "SD Group-2", "b") == found
    assert cell(filled, "SD Group-2", "h").kind == "unpublished"


@pytest.mark.parametrize("seed", range(3))
def test_impact_against_the_formula_written_out(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "class": rng.choice(["0", "1", "2"], 60),
            "word": rng.choice(["0", "1"], 60),
            "score": rng.integers(-9, 10, 60) / 10,
        }
    )
    expected = []
    for word in ("0", "1"):
        mine = frame.filter(pl.col("word") == word)
        observed = float(np.mean(mine["score"].to_numpy()))
        intervened = sum(
            len(frame.filter(pl.col("class") == code))
            / len(frame)
            * float(np.mean(mine.filter(pl.col("class") == code)["score"].to_numpy()))
            for code in ("0", "1", "2")
        )
        expected.append(100 * abs((intervened - observed) / observed))
    percent, _ = impact_of_sets([frame], ("0", "1", "2"), "drop")
    assert percent == pytest.approx(max(expected), abs=0.006)


def test_a_mean_of_zero_is_a_division_by_zero() -> None:
    frame = pl.DataFrame(
        {"class": ["1", "2"] * 4, "word": ["0"] * 4 + ["1"] * 4, "score": [1.0, -1.0] * 2 + [1.0] * 4}
    )
    assert impact_of_sets([frame], ("1", "2"), "drop")[0] == "X"


def test_orders_and_ratings_follow_from_released_scores(tmp_path: Path) -> None:
    """With the system that favours women in the place of all five, all five tie above people."""
    for system in ("biased", "dbert", "gru", "random", "textblob"):
        released.write(tmp_path, system)
    found = ratings(Folder(tmp_path))
    order = cell(found, "HD1 Chatbot", "partial order")
    assert order.published == "h < d = t = g = r = b"
    assert (order.kind, order.share) == ("consistent", math.factorial(5) / math.factorial(6))
    assert cell(found, "HD1 Chatbot", "b, rating").published == 3
    other = cell(found, "HD1 Chatbot", "g, rating")
    assert (other.printed, other.published, other.documented) == (1, 3, True)
    assert other.reason == "the released scores of d, t, g, r are others than the printed ones"
    assert not [one for one in found.cells if one.column.startswith("h, ")]


# -- copies -----------------------------------------------------------------------------------


def test_a_file_of_another_study_is_named(tmp_path: Path) -> None:
    """As the authors' HD2 behind Spanish of one system, which is its file of HD1."""
    folder = released.write(tmp_path, "dbert")
    assert copies(Folder(folder)).cells == ()
    first = folder / "data/results/real-world/allure/dbert/dbert.csv"
    second = folder / "data_rt_spanish/results/real-world/unibot/dbert/dbert.csv"
    shutil.copy(first, second)
    (found,) = copies(Folder(folder)).cells
    assert found.row == "data_rt_spanish/results/real-world/unibot/dbert/dbert.csv"
    assert (found.printed, found.published, found.verdict) == ("HD2_SR", "HD1", "differs")
    assert found.reason == "it is byte for byte data/results/real-world/allure/dbert/dbert.csv"
    # Of 3 x 21 such files 11 differ: e1 and e2, and e4 and e5, have as many words, and trips change nothing.
    assert "no text, 52 are byte for byte" in copies(Folder(folder)).notes[1]


def test_identical_files_are_found_whatever_their_names(tmp_path: Path) -> None:
    for name, text in (("a.csv", "1"), ("b.txt", "2"), ("c.csv", "1"), ("d.csv", "11")):
        (tmp_path / name).write_text(text)
    files = sorted(tmp_path.iterdir())
    assert [tuple(one.name for one in group) for group in identical([*files, files[0]])] == [
        ("a.csv", "c.csv")
    ]


# -- conversations ----------------------------------------------------------------------------

TALK = [
    (1, 0, 1, "Welcome to the invented tutor.", ""),
    (1, 0, 1, None, ""),
    (1, 1, 1, "Next please", "Hey boy, "),
    (1, 1, 1, "Next", "Hey boy, "),
    (1, 0, 1, "Here it is.", ""),
    (1, 1, 1, "Thanks", "Hey boy, "),
    (2, 1, 2, "Go", "Hey girl, "),
    (2, 0, 2, "Gone.", ""),
]
"""Two invented conversations; one text is missing."""


def test_statistics_of_the_released_conversations(tmp_path: Path) -> None:
    released.write(tmp_path, "biased")
    released.write_conversations(tmp_path, TALK, "allure")
    released.write_conversations(tmp_path, TALK, "unibot")
    two, three, *_ = from_data(tmp_path)
    assert cell(two, "user, words per utterance", "male").published == [pytest.approx(4 / 3, abs=1e-4), 1, 2]
    # 5 words, one for the text that is not there, and 3.
    assert cell(two, "chatbot, words per utterance", "male").published == [3.0, 1, 5]
    assert cell(two, "chatbot, utterances per conversation", "male").published == [3.0, 3, 3]
    assert cell(three, "HD1, turns", "both").published == [1.5, 1, 2]
    # Users of HD2 with the prefix of two words: 4, 3, 3 and 3.
    assert cell(three, "HD2, words", "user").published == [3.25, 3, 4]
    stop = cell(two, "user, stopwords", "male")
    assert (stop.kind, stop.verdict, stop.documented) == ("effort", "cannot be recomputed", True)
    assert not cell(two, "user, words per utterance", "male").documented
    (filled,) = reproduce("causal", "table-ii", data=[("causal", tmp_path)])
    assert {one.kind for one in filled.cells} == {"recomputed", "effort"}


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MethodError, match="contains no released scores") as caught:
        from_data(tmp_path)
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
    file = released.write(tmp_path, "biased") / "data/results/continuous/group1/biased/e3_bf.csv"
    file.write_text(content)
    with pytest.raises(MethodError) as caught:
        from_data(tmp_path)
    assert told in str(caught.value)
    assert file.name in str(caught.value)
