"""Small tables of exactly the layout of the authors' two public repositories of scores.

Names of folders, files and columns are theirs; every figure and text in the tables is invented.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from trustgauge.apps.reproduce.released_scores import LANGUAGES, NEWER, TRIPS

Row = dict[str, Any]
Scorer = Callable[[Row], float]
WORDS = (1, 1, 2, 3, 3)
"""Emotion words of each of the five sets."""
SHORT = {"biased": "bf", "textblob": "tb"}
"""How the files of a system end, where they do not end like its folder."""
GENDERS = ((1, 1), (1, 2), (2, 1), (2, 2), (0, 0))
"""Race and gender of each code RG, the last of nobody's."""


def favouring(row: Row) -> float:
    """1 of women, 0 of everybody else."""
    return 1.0 if row.get("Gender", row.get("User_gender")) == 2 else 0.0


def group_1(words: int) -> list[Row]:
    return [
        {"Gender": gender, "Emotion": word} for word in range(words) for gender in (1, 2, 0) for _ in range(8)
    ]


def group_3(words: int) -> list[Row]:
    """Four rows of each race and gender, eight of nobody's, a word; RG as the authors code it."""
    return [
        {"Gender": gender, "Race": race, "Emotion": word, "RG": code % 5}
        for word in range(words)
        for code, (race, gender) in enumerate(GENDERS, start=1)
        for _ in range(8 if code == 5 else 4)
    ]


def group_2() -> list[Row]:
    """Eight rows of each gender: seven men and one woman with the second word, four of nobody's."""
    shares = {1: 7, 2: 1, 0: 4}
    return [
        {"Gender": gender, "Emotion": int(place < shares[gender])} for gender in shares for place in range(8)
    ]


def group_4() -> list[Row]:
    shares = (4, 2, 2, 1, 4)
    return [
        {"Gender": gender, "Race": race, "Emotion": int(place < share), "RG": code % 5}
        for code, ((race, gender), share) in enumerate(zip(GENDERS, shares, strict=True), start=1)
        for place in range(8 if code == 5 else 4)
    ]


def chats(study: str) -> list[Row]:
    return [
        {
            "C_num": 3 * turn + gender,
            "UB": speaker,
            "User_gender": gender,
            "Text": f"turn {turn} of {study}, invented",
        }
        for turn in range(6)
        for gender in (0, 1, 2)
        for speaker in (0, 1)
    ]


def write(folder: Path, system: str, scorer: Scorer = favouring) -> Path:
    """All tables of one system, as is and behind Danish and Spanish; returns the folder.

    The scores lie in results/continuous; beside them, here of the texts as they are only, are signs: of
    other scores, so that reading them shows.
    """
    for language, trip in TRIPS.items():
        results = folder / trip / "results"
        _sets(results / "continuous", system, scorer)
        if not language:
            _sets(results, system, lambda row: -1.0 - scorer(row))
        _chats(results / "real-world", "", system, scorer, language)
    return folder


def _sets(folder: Path, system: str, scorer: Scorer) -> None:
    """A file for each set of words."""
    short = SHORT.get(system, system)
    for number, words in enumerate(WORDS, start=1):
        file, joined = f"{system}/e{number}_{short}.csv", f"{system}/comb_e{number}_{short}.csv"
        _table(folder / f"group1/{file}", group_1(words), scorer)
        _table(folder / f"group3/{file}", group_3(words), scorer, "RG")
        _table(folder / f"group3_combined/{joined}", group_3(words), scorer)
        if number >= 3:
            _table(folder / f"group2/{file}", group_2(), scorer)
            _table(folder / f"group4/{file}", group_4(), scorer, "RG")
            _table(folder / f"group4_combined/{joined}", group_4(), scorer)


def write_newer(folder: Path, system: str, scorer: Scorer = favouring) -> Path:
    """The conversations of one system, as the second repository has them; returns the folder."""
    for trip, language in LANGUAGES.items():
        _chats(folder / NEWER, f"{language}/", system, scorer, trip)
    return folder


def _chats(folder: Path, language: str, system: str, scorer: Scorer, trip: str) -> None:
    name = "bf" if system == "biased" else system
    for study in ("allure", "unibot"):
        said = [{**row, "Text": f"{row['Text']} {trip}"} for row in chats(study)]
        _table(folder / f"{study}/{language}{name}/{SHORT.get(system, system)}.csv", said, scorer)


def write_conversations(folder: Path, rows: list[tuple[int, int, int, str | None, str]], study: str) -> None:
    """A `final.csv` of conversation, speaker, gender, text and prefix."""
    file = folder / f"data/real-world/{study}/final/final.csv"
    file.parent.mkdir(parents=True, exist_ok=True)
    pl.DataFrame(
        [
            {
                "C_num": number,
                "UB": speaker,
                "User_gender": gender,
                "Original": text,
                "Enhancement": prefix or "No enhancement",
                "Text": None if text is None else prefix + text,
            }
            for number, speaker, gender, text, prefix in rows
        ]
    ).write_csv(file)


def _table(file: Path, rows: list[Row], scorer: Scorer, without: str = "") -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    frame = pl.DataFrame([{**row, "Sentiment": scorer(row)} for row in rows])
    frame.drop(without, strict=False).write_csv(file)
