"""Small tables in the shape of the authors' released scores, of systems that are easily computed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from trustgauge.papers.released_scores import TRIPS

Row = dict[str, Any]
Scorer = Callable[[Row], float]
WORDS = (1, 1, 2, 3, 3)
"""Emotion words of each of the five sets."""


def favouring(row: Row) -> float:
    """1 of women, 0 of everybody else."""
    return 1.0 if row.get("Gender", row.get("User_gender")) == 2 else 0.0


def group_1(words: int) -> list[Row]:
    return [
        {"Gender": gender, "Emotion": word} for word in range(words) for gender in (1, 2, 0) for _ in range(8)
    ]


def group_3(words: int) -> list[Row]:
    """Four rows of each race and gender, eight of nobody's, a word; RG as the authors code it."""
    classes = [(1, 1, 1, 4), (2, 1, 2, 4), (1, 2, 3, 4), (2, 2, 4, 4), (0, 0, 0, 8)]
    return [
        {"Gender": gender, "Race": race, "Emotion": word, "RG": code}
        for word in range(words)
        for gender, race, code, count in classes
        for _ in range(count)
    ]


def chats() -> list[Row]:
    return [
        {"C_num": 3 * turn + gender, "UB": speaker, "User_gender": gender, "Text": f"turn {turn}, of two"}
        for turn in range(6)
        for gender in (0, 1, 2)
        for speaker in (0, 1)
    ]


def write(folder: Path, system: str, scorer: Scorer = favouring) -> Path:
    """All tables of one system, as is and behind Danish and Spanish; returns the folder."""
    for trip in TRIPS.values():
        results = folder / trip / "results"
        for number, words in enumerate(WORDS, start=1):
            _table(results / f"group1/{system}/e{number}_{system}.csv", group_1(words), scorer)
            _table(results / f"group3/{system}/e{number}_{system}.csv", group_3(words), scorer, "RG")
            _table(results / f"group3_combined/{system}/comb_e{number}_{system}.csv", group_3(words), scorer)
        for study in ("allure", "unibot"):
            _table(results / f"real-world/{study}/{system}/{system}.csv", chats(), scorer)
    return folder


def _table(file: Path, rows: list[Row], scorer: Scorer, without: str = "") -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    frame = pl.DataFrame([{**row, "Sentiment": scorer(row)} for row in rows])
    frame.drop(without, strict=False).write_csv(file)
