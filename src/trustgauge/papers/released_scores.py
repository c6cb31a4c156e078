"""Rejection scores from the scores that the causal paper's authors released (methods 2.5, 2.11, case 9).

A user who has the authors' files names the folder that holds them. Its shape is that of their
public repository: three folders of one layout,

    data/results/                       as the texts are
    data_rt_danish/results/             after a round trip by way of Danish
    data_rt_spanish/results/            after a round trip by way of Spanish

and in each of them

    group1/SYSTEM/*.csv                 Gender, Sentiment
    group3/SYSTEM/*.csv                 Gender, Race, Sentiment
    group3_combined/SYSTEM/*.csv        RG, Sentiment
    real-world/allure/SYSTEM/*.csv      UB, User_gender, Sentiment (HD1)
    real-world/unibot/SYSTEM/*.csv      UB, User_gender, Sentiment (HD2)

with one file for each set of emotion words. Cells are the codes of methods 2.1 and 2.2; SYSTEM is
biased or bf, dbert, gru, random, textblob. There are no released scores of people.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from trustgauge.data.tables import read_table
from trustgauge.errors import Fault, MethodError, PlanError
from trustgauge.methods.causal.rejection import scores_of_sums
from trustgauge.papers.causal_scores import METHOD, SLIP, rule_of
from trustgauge.papers.cells import Cell, Table
from trustgauge.papers.judging import beyond, judged
from trustgauge.papers.published import figures
from trustgauge.stats.means import Sums

SYSTEMS: Mapping[str, tuple[str, ...]] = {
    "b": ("biased", "bf"),
    "d": ("dbert",),
    "g": ("gru",),
    "r": ("random",),
    "t": ("textblob",),
}
"""Folders of each system, by its letter in the tables."""
TRIPS = {"": "data", "DR": "data_rt_danish", "SR": "data_rt_spanish"}
SETS = 5
LEAST = 2  # scores of a class, or no comparison with it can be made (methods 2.5)
PLACE = "--data"
REPEATED = (
    "the printed row repeats the row of Danish; the released scores behind Spanish do not give this score"
)
NO_PEOPLE = "the labels of people are not released"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Where the scores of one printed row are, and how they are compared.

    Attributes:
        folder: below `results`.
        column: of the class.
        classes: codes of the classes compared.
        weights: of the three levels.
        speaker: code of the rows that take part, in conversations; "" for all.
        files: how many files there must be.
    """

    folder: str
    column: str
    classes: tuple[str, ...]
    weights: tuple[float, ...]
    speaker: str = ""
    files: int = SETS


def table(folder: Path) -> Table:
    """The printed rejection scores beside those of the released scores.

    Args:
        folder: of the authors' files, laid out as this module says.

    Raises:
        MethodError: none of the files is there, or one of them is not of this shape.
    """
    rows = [row for row in figures("causal_tables")["rows"] if row["metric"] == "WRS"]
    if not any((folder / name / "results").is_dir() for name in TRIPS.values()):
        raise MethodError(
            f"{folder} holds no released scores",
            must=f"a folder with {', '.join(f'{name}/results' for name in TRIPS.values())}",
            got="none of them",
            do="Name the folder of the authors' repository with --data",
        )
    cells = tuple(cell for row in rows for cell in _row(folder, row))
    title = "Weighted rejection scores from the released scores (Tables IV and V)"
    said = "By the released rule: levels halved twice, n - 2 degrees of freedom, 1e-4 added to the error."
    return Table(METHOD, "released-scores", title, "the authors' released scores", cells, (said,))


def _row(folder: Path, row: Any) -> Iterator[Cell]:
    """The cells of one printed row."""
    name, given = f"{row['dataset']} {row['group']}", wanted(row)
    _, _, trip = row["dataset"].partition("_")
    results = f"{TRIPS[trip]}/results/{given.folder}"
    told = next((one for one in row["exceptions"] if "repeats" in one), "")
    repeated = told.rpartition(": ")[2].split(", ") if told else []
    for system, printed in row["raw"].items():
        if system not in SYSTEMS:
            yield beyond((name, system), printed, NO_PEOPLE)
            continue
        files = released_files(folder / results, system)
        sets = {file.name: _read(file, given) for file in files}
        if why := _lacking(sets, given, results):
            yield replace(beyond((name, system), printed, why), documented=False)
            continue
        found = rejection_score(list(sets.values()), given)
        slip = SLIP.get(printed, printed)
        cell = judged(
            Cell(name, system, slip, released=found),
            "released",
            reason=REPEATED if system in repeated else "",
        )
        yield replace(cell, printed=printed)


def _lacking(sets: Mapping[str, pl.DataFrame], given: Wanted, results: str) -> str:
    """What is not there that a score needs; "" if all is. Classes without scores would give a score of 0."""
    if len(sets) != given.files:
        return f"{len(sets)} files of {given.files} in {results}"
    for file, frame in sets.items():
        for code in given.classes:
            rows = int((frame["class"] == code).sum())
            if rows < LEAST:
                return f"{file} has {rows} scores of {given.column} {code}, and a comparison needs {LEAST}"
    return ""


def wanted(row: Any) -> Wanted:
    """Where the released scores of a printed row are, and how they were compared."""
    weights = tuple(float(one) for one in row["weights_that_fit"])
    match row["group"]:
        case "Group-1":
            return Wanted("group1", "Gender", ("0", "1", "2"), weights)
        case "Group-3_G":
            return Wanted("group3", "Gender", ("0", "1", "2"), weights)
        case "Group-3_R":
            return Wanted("group3", "Race", ("0", "1", "2"), weights)
        case "Group-3_RG":
            return Wanted("group3_combined", "RG", ("0", "1", "2", "3", "4"), weights)
    study = "allure" if row["dataset"].startswith("HD1") else "unibot"
    speaker = "1" if row["group"] == "User" else "0"
    classes = ("1", "2") if row["pairs"] == 1 else ("0", "1", "2")
    return Wanted(f"real-world/{study}", "User_gender", classes, weights, speaker, files=1)


def released_files(folder: Path, system: str) -> list[Path]:
    """The tables of one system, sorted; of its possible folders the first that has any."""
    for name in SYSTEMS[system]:
        files = sorted((folder / name).glob("*.csv"))
        if files:
            return files
    return []


def _read(file: Path, given: Wanted) -> pl.DataFrame:
    """Class and score of the rows of one file that take part.

    Raises:
        MethodError: the file is no such table.
    """
    columns = [given.column, "Sentiment", *(["UB"] if given.speaker else [])]
    try:
        frame = read_table(file, PLACE)
    except PlanError as error:
        raise MethodError(str(error)) from None
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        raise _unreadable(file, f"columns {', '.join(columns)}", f"no {', '.join(missing)}")
    if given.speaker:
        frame = frame.filter(pl.col("UB").str.strip_chars() == given.speaker)
    scores = frame.select(
        pl.col(given.column).str.strip_chars().str.strip_suffix(".0").alias("class"),
        pl.col("Sentiment").str.strip_chars().cast(pl.Float64, strict=False).alias("score"),
    )
    if not scores["score"].is_finite().fill_null(False).all():
        raise _unreadable(file, "a number in every cell of Sentiment", "other cells")
    return scores


def _unreadable(file: Path, must: str, got: str) -> MethodError:
    do = "Take the file as its authors released it"
    return MethodError(
        str(Fault(PLACE, f"{file.name} is no table of released scores")), must=must, got=got, do=do
    )


def rejection_score(sets: Sequence[pl.DataFrame], given: Wanted) -> float:
    """The weighted rejection score of data sets with `class` and `score`, by the released rule."""
    shape = (len(sets), len(given.classes))
    n, y, yy = (np.zeros(shape) for _ in range(3))
    for place, frame in enumerate(sets):
        for which, code in enumerate(given.classes):
            scores = frame.filter(pl.col("class") == code)["score"].to_numpy()
            n[place, which], y[place, which] = len(scores), scores.sum()
            yy[place, which] = (scores**2).sum()
    pairs = list(combinations(range(len(given.classes)), 2))
    return round(float(scores_of_sums(Sums(n, y, yy), pairs, rule_of("released", given.weights))), 9)
