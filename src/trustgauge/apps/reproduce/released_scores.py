"""Scores that the causal paper's authors released, and what follows from them (causal 2.5, 2.6, 2.9, 2.11).

A user who has the authors' files names the folder that holds them, a checkout or a plain folder. It
has the layout of one of their two public repositories. The first, `causal-sas-rating`, has three
folders of one shape,

    data/results/                       as the texts are
    data_rt_danish/results/             after a round trip by way of Danish
    data_rt_spanish/results/            after a round trip by way of Spanish

and in each of them, one file for each set of emotion words (what lies in `group1` beside `continuous`
are the signs of these scores),

    continuous/group1/SYSTEM/*.csv      Gender, Emotion, Sentiment
    continuous/group2/SYSTEM/*.csv      Gender, Emotion, Sentiment
    continuous/group3/SYSTEM/*.csv      Gender, Race, Emotion, Sentiment
    continuous/group3_combined/SYSTEM/  Gender, Race, Emotion, Sentiment, RG
    continuous/group4_combined/SYSTEM/  Gender, Race, Emotion, Sentiment, RG
    real-world/allure/SYSTEM/*.csv      C_num, UB, User_gender, Text, Sentiment (HD1)
    real-world/unibot/SYSTEM/*.csv      the same of HD2

The second, `composite-rating-rddl`, is newer and has the conversations only, as
`data/input/real_world/allure/eng/SYSTEM/*.csv`, and so on with unibot, dan and spa.

Cells are the codes of causal 2.1 and 2.2; SYSTEM is biased or bf, dbert, gru, random, textblob.
There are no released scores of people.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from trustgauge.apps.reproduce.causal_scores import METHOD, SLIP, ScoreOrder, number, rule_of
from trustgauge.apps.reproduce.paper_tables import PaperTable, PrintedFigure, figures, paper_table, reasons
from trustgauge.apps.reproduce.verdicts import judge, unavailable
from trustgauge.data.tables import read_table
from trustgauge.errors import Fault, MethodError, PlanError
from trustgauge.methods.causal.deconfounding import NOTHING, impact_of_sums
from trustgauge.methods.causal.ordering import complete_order
from trustgauge.methods.causal.panel import Floats
from trustgauge.methods.causal.rejection import scores_of_sums
from trustgauge.methods.causal.settings import Positivity
from trustgauge.records import Json
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
STUDIES = {"HD1": "allure", "HD2": "unibot"}
NEWER = "data/input/real_world"
LANGUAGES = {"": "eng", "DR": "dan", "SR": "spa"}
"""Round trips as the second repository calls them."""
SETS, SETS_OF_IMPACTS = 5, 3
LEAST = 2  # scores of a class, or no comparison with it can be made (causal 2.5)
PLACE = "--data"
WHY = reasons(METHOD)


@dataclass(frozen=True, slots=True)
class RowSource:
    """Where the scores of one printed row are, and how they are compared.

    Attributes:
        folder: below `results`.
        column: of the class.
        classes: codes of the classes compared.
        weights: of the three levels; () for an impact.
        speaker: code of the rows that take part, in conversations; "" for all.
        files: how many files there must be.
    """

    folder: str
    column: str
    classes: tuple[str, ...]
    weights: tuple[float, ...] = ()
    speaker: str = ""
    files: int = SETS


@dataclass(frozen=True, slots=True)
class ReleasedScores:
    """The released scores of one system in one row.

    Attributes:
        files: that were read, in order.
        sets: rows of each file that take part: `class`, `score` and, of an impact, `word`.
        lacking: what is not there that a figure needs; "" if all is.
    """

    files: tuple[Path, ...]
    sets: tuple[pl.DataFrame, ...]
    lacking: str


class Folder:
    """The authors' files: which scores are there, each file read once.

    Args:
        folder: laid out as this module says.

    Raises:
        MethodError: it has neither layout.
    """

    def __init__(self, folder: Path) -> None:
        self.root = folder
        self.newer = (folder / NEWER).is_dir()
        self._known: dict[tuple[str, str], ReleasedScores] = {}
        older = [f"{name}/results" for name in TRIPS.values()]
        if not self.newer and not any((folder / name).is_dir() for name in older):
            raise MethodError(
                f"{folder} contains no released scores",
                must=f"a folder with {', '.join(older)} or {NEWER}",
                got="none of them",
                do="Name the folder of the authors' repository with --data",
            )

    def covers(self, row: Any) -> bool:
        """Whether the repository has scores of such a row at all: the newer one of conversations only."""
        return not self.newer or row["table"] == "V"

    def scores_of(self, row: Any, system: str) -> ReleasedScores:
        """The scores of one system in one printed row. Raises MethodError for a file of another shape."""
        key = (f"{row['dataset']} {row['group']}", system)
        if key not in self._known:
            self._known[key] = self._read(row, system)
        return self._known[key]

    def _read(self, row: Any, system: str) -> ReleasedScores:
        given, results = row_source(row), self._results(row)
        files = tuple(score_files(self.root / results, system))
        sets = tuple(_scores(file, given) for file in files)
        return ReleasedScores(files, sets, _lacking(files, sets, given, results))

    def _results(self, row: Any) -> str:
        folder, (_, _, trip) = row_source(row).folder, row["dataset"].partition("_")
        if self.newer:
            return f"{NEWER}/{folder.removeprefix('real-world/')}/{LANGUAGES[trip]}"
        return f"{TRIPS[trip]}/results/{folder}"

    def relative_name(self, file: Path) -> str:
        """The name of a file below the folder."""
        return file.relative_to(self.root).as_posix()


def scores_table(folder: Folder) -> PaperTable:
    """The printed rejection scores beside those of the released scores.

    Raises:
        MethodError: a file is not of the shape this module says.
    """
    rows = [row for row in rows_of("WRS") if folder.covers(row)]
    cells = tuple(cell for row in rows for cell in _row(folder, row))
    return paper_table(METHOD, "released-scores", cells, fills="scores")


def rows_of(metric: str) -> list[Any]:
    """The printed rows of Tables IV and V with rejection scores ("WRS") or impacts ("DIE_percent")."""
    return [row for row in figures("causal_tables")["rows"] if row["metric"] == metric]


def compare_systems(
    folder: Folder, row: Any, judged: Callable[[PrintedFigure, ReleasedScores], PrintedFigure]
) -> Iterator[PrintedFigure]:
    """The cells of a printed row: `judged` by their scores, where these were released and are here."""
    for system, printed in row["raw"].items():
        place = (f"{row['dataset']} {row['group']}", system)
        if system not in SYSTEMS:
            yield unavailable(place, printed, WHY["no-people"])
            continue
        found = folder.scores_of(row, system)
        if found.lacking:
            yield replace(unavailable(place, printed, found.lacking, kind="public"), documented=False)
        else:
            yield replace(judged(PrintedFigure(*place, printed), found), printed=printed)


def _row(folder: Folder, row: Any) -> Iterator[PrintedFigure]:
    """The cells of one printed row."""
    repeated = irreproducible_systems(row)

    def judged(cell: PrintedFigure, found: ReleasedScores) -> PrintedFigure:
        slip, score = SLIP.get(cell.printed, cell.printed), rejection_score(found.sets, row_source(row))
        reason = WHY["repeated"] if cell.column in repeated else ""
        return judge(replace(cell, printed=slip, released=score), "released", reason=reason)

    return compare_systems(folder, row, judged)


def irreproducible_systems(row: Any) -> list[str]:
    """Systems whose printed score in a row is known not to follow from the released scores (causal 2.11)."""
    exception = next((one for one in row["exceptions"] if "repeats" in one), "")
    return exception.rpartition(": ")[2].split(", ") if exception else []


def _lacking(files: Sequence[Path], sets: Sequence[pl.DataFrame], given: RowSource, results: str) -> str:
    """What is not there that a score needs; "" if all is. Classes without scores would give a score of 0."""
    if len(sets) != given.files:
        return f"{len(sets)} files of {given.files} in {results}"
    for file, frame in zip(files, sets, strict=True):
        for code in given.classes if given.weights else ():
            rows = int((frame["class"] == code).sum())
            if rows < LEAST:
                return (
                    f"{file.name} has {rows} scores of {given.column} {code}, and a comparison needs {LEAST}"
                )
    return ""


def row_source(row: Any) -> RowSource:
    """Where the released scores of a printed row are, and how they were compared."""
    weights = tuple(float(one) for one in row.get("weights_that_fit") or ())
    three, five = ("0", "1", "2"), ("0", "1", "2", "3", "4")
    match row["group"]:
        case "Group-1":
            return RowSource("continuous/group1", "Gender", three, weights)
        case "Group-2":
            return RowSource("continuous/group2", "Gender", three, files=SETS_OF_IMPACTS)
        case "Group-3_G":
            return RowSource("continuous/group3", "Gender", three, weights)
        case "Group-3_R":
            return RowSource("continuous/group3", "Race", three, weights)
        case "Group-3_RG":
            return RowSource("continuous/group3_combined", "RG", five, weights)
        case "Group-4":
            return RowSource("continuous/group4_combined", "RG", five, files=SETS_OF_IMPACTS)
    speaker = "1" if row["group"] == "User" else "0"
    classes = ("1", "2") if row["pairs"] == 1 else three
    study = STUDIES[row["dataset"][:3]]
    return RowSource(f"real-world/{study}", "User_gender", classes, weights, speaker, files=1)


def score_files(folder: Path, system: str) -> list[Path]:
    """The tables of one system, sorted; of its possible folders the first that has any."""
    for name in SYSTEMS[system]:
        files = sorted((folder / name).glob("*.csv"))
        if files:
            return files
    return []


def _scores(file: Path, given: RowSource) -> pl.DataFrame:
    """Class, score and, of an impact, code of the word of the rows of one file that take part.

    Raises:
        MethodError: the file is no such table.
    """
    word = [] if given.weights else ["Emotion"]
    columns = [given.column, "Sentiment", *(["UB"] if given.speaker else []), *word]
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
        *(pl.col(name).str.strip_chars().alias("word") for name in word),
    )
    if not scores["score"].is_finite().fill_null(False).all():
        raise _unreadable(file, "a number in every cell of Sentiment", "other cells")
    return scores


def _unreadable(file: Path, must: str, got: str) -> MethodError:
    do = "Take the file as its authors released it"
    return MethodError(
        str(Fault(PLACE, f"{file.name} is not a table of released scores")), must=must, got=got, do=do
    )


def rejection_score(sets: Sequence[pl.DataFrame], given: RowSource) -> float:
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


def identical(files: Iterable[Path]) -> list[tuple[Path, ...]]:
    """Files that are byte for byte the same, in the order they are given; only groups of two or more."""
    groups: dict[str, list[Path]] = {}
    for file in dict.fromkeys(files):
        groups.setdefault(hashlib.sha256(file.read_bytes()).hexdigest(), []).append(file)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def copies(folder: Folder) -> PaperTable:
    """Files that stand for different data and are byte for byte the same.

    A file of conversations holds their texts, so that a copy shows scores of other texts than its place
    says. Files of sentences hold codes and scores only, which may be equal by right.
    """
    stands: dict[Path, str] = {}
    for row in (*rows_of("WRS"), *rows_of("DIE_percent")):
        for system in SYSTEMS if folder.covers(row) else ():
            for file in folder.scores_of(row, system).files:
                stands[file] = f"{row['dataset']}" if row["table"] == "V" else ""
    groups = identical(stands)
    cells = tuple(
        PrintedFigure(
            folder.relative_name(copy),
            "texts and scores of",
            stands[copy],
            stands[group[0]],
            verdict="differs",
            reason=f"it is byte for byte {folder.relative_name(group[0])}",
            documented=True,
        )
        for group in groups
        for copy in group[1:]
        if stands[copy]
    )
    equal = sum(len(group) - 1 for group in groups if not stands[group[0]])
    return paper_table(METHOD, "copies", cells, equal=equal)


LEVELS = 3
SHOWN = 0.005  # impacts are printed to two decimals


def impacts(folder: Folder) -> PaperTable:
    """The printed deconfounding impacts beside those of the released scores."""

    def cells(row: Any) -> Iterator[PrintedFigure]:
        classes = row_source(row).classes

        def judged(cell: PrintedFigure, found: ReleasedScores) -> PrintedFigure:
            percent, _ = impact_of_sets(found.sets, classes, "drop")
            _, sound = impact_of_sets(found.sets, classes, "renormalise")
            worst = "X" if math.isinf(number(cell.printed)) else cell.printed
            cell = replace(cell, printed=worst, published=percent, sound=sound)
            return judge(cell, within=SHOWN, reason=WHY["other-draw"])

        return compare_systems(folder, row, judged)

    made = [] if folder.newer else [cell for row in rows_of("DIE_percent") for cell in cells(row)]
    return paper_table(METHOD, "released-die", made, fills="die")


def impact_of_sets(
    sets: Sequence[pl.DataFrame], classes: Sequence[str], positivity: Positivity
) -> tuple[Json, float]:
    """The impact in percent and the effect of data sets with `class`, `word` and `score`: the largest each.

    Args:
        sets: rows of a data set each; `word` has two codes, of negative and positive words.
        classes: codes of the classes.
        positivity: what a class without sentences of one kind means.

    Returns:
        The percentage, "X" for a division by zero; and |delta|.
    """
    percents, effects = [], []
    for frame in sets:
        words = frame["word"].unique().sort()
        shape = (len(classes), len(words))
        n, y = np.zeros(shape), np.zeros(shape)
        for place, code in enumerate(classes):
            for kind, word in enumerate(words):
                scores = frame.filter((pl.col("class") == code) & (pl.col("word") == word))["score"]
                n[place, kind], y[place, kind] = len(scores), scores.sum()
        found = impact_of_sums(n, y, positivity)
        percents.append(_percent(found.delta, found.observed))
        effects.append(np.abs(found.delta))
    worst = float(np.max(percents))
    return "X" if math.isinf(worst) else round(worst, 2), round(float(np.max(effects)), 6)


def _percent(delta: Floats, observed: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.abs(observed) < NOTHING, np.inf, 100 * np.abs(delta) / np.abs(observed))


def ratings(folder: Folder) -> PaperTable:
    """Orders and ratings of Tables IV and V from the released scores, and of people from the printed ones."""

    def cells() -> Iterator[PrintedFigure]:
        for row in figures("causal_tables")["rows"]:
            if folder.covers(row) and (raw := _scored(folder, row)):
                yield from _rated(row, raw)

    return paper_table(METHOD, "released-ratings", cells())


def _scored(folder: Folder, row: Any) -> dict[str, float]:
    """The score of each system in a row from the released scores; {} if one is lacking."""
    raw = {}
    for system, printed in row["raw"].items():
        if system not in SYSTEMS:
            raw[system] = number(printed)
            continue
        found = folder.scores_of(row, system)
        if found.lacking:
            return {}
        if row["metric"] == "WRS":
            raw[system] = rejection_score(found.sets, row_source(row))
        else:
            percent, _ = impact_of_sets(found.sets, row_source(row).classes, "drop")
            raw[system] = math.inf if percent == "X" else float(str(percent))
    return raw


def _rated(row: Any, raw: Mapping[str, float]) -> Iterator[PrintedFigure]:
    name, rated = f"{row['dataset']} {row['group']}", complete_order(raw, LEVELS, "published")
    reason = _reason(row, raw)
    for system in (one for one in raw if one in SYSTEMS):
        cell = PrintedFigure(name, f"{system}, rating", row["rating"][system], rated[system])
        yield judge(cell, reason=reason)
    yield ScoreOrder(raw).judge(name, "partial", row["order_printed_partial"], reason)


def _reason(row: Any, raw: Mapping[str, float]) -> str:
    """Why orders and ratings of a row may differ: scores that do, or labels at wrong names."""
    differ = [one for one, score in raw.items() if abs(score - number(row["raw"][one])) > SHOWN]
    if differ:
        return f"the released scores of {', '.join(differ)} are others than the printed ones"
    return WHY["permuted-row"] if any("permuted" in one for one in row["exceptions"]) else ""
