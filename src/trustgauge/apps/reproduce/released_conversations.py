"""Tables II and III of the causal paper from the released conversations (causal 2.2)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from trustgauge.apps.reproduce.causal_scores import METHOD
from trustgauge.apps.reproduce.paper_tables import PaperTable, PrintedFigure, figures, paper_table, reasons
from trustgauge.apps.reproduce.released_scores import PLACE, STUDIES
from trustgauge.apps.reproduce.verdicts import Within, judge, unavailable
from trustgauge.data.dialog_statistics import with_word_counts
from trustgauge.data.tables import need_columns, read_table
from trustgauge.records import Json

FILE = "data/real-world/{}/final/final.csv"
COLUMNS = ("C_num", "UB", "User_gender", "Original", "Text")
CODES = {"0": "chatbot", "1": "user"}
GENDERS = {"male": "1", "female": "2"}
WHY = reasons(METHOD)
EMPTY = "nan"
"""What the released code makes of a text that is not there: one word."""


def tables(folder: Path) -> list[PaperTable]:
    """Tables II and III, of the studies whose conversations are in the folder.

    Raises:
        PlanError: a file of conversations cannot be read.
    """
    files = {study: folder / FILE.format(name) for study, name in STUDIES.items()}
    said = {study: _read(file) for study, file in files.items() if file.is_file()}
    other = figures("causal_other")
    made = []
    if "HD1" in said:
        men_and_women = _by_gender(said["HD1"], other["table_II"])
        made.append(paper_table(METHOD, "released-ii", men_and_women, fills="table-ii"))
    cells = tuple(cell for study in said for cell in _of_study(study, said[study], other["table_III"]))
    if cells:
        made.append(paper_table(METHOD, "released-iii", cells, fills="table-iii"))
    return made


def _read(file: Path) -> pl.DataFrame:
    """Utterances in order, with words and stop words without (`words`) and with prefix (`behind`)."""
    table = read_table(file, PLACE)
    need_columns(file, table, {f"{PLACE}, {name}": name for name in COLUMNS})
    frame = table.select(
        pl.col("C_num").alias("conversation"),
        pl.col("UB").replace_strict(CODES, default=None).alias("speaker"),
        pl.col("User_gender").alias("gender"),
        pl.col("Original").fill_null(EMPTY).alias("text"),
        pl.col("Text").fill_null(EMPTY).alias("prefixed"),
    )
    return with_word_counts(frame).with_columns(
        behind=pl.col("prefixed").str.count_matches(r"\S+").cast(pl.Int64)
    )


def _by_gender(said: pl.DataFrame, printed: Any) -> Iterator[PrintedFigure]:
    for speaker in ("user", "chatbot"):
        for what, row in printed[speaker].items():
            for gender, figure in row.items():
                mine = said.filter(pl.col("speaker") == speaker, pl.col("gender") == GENDERS[gender])
                yield _statistic((f"{speaker}, {what.replace('_', ' ')}", gender), figure, mine, what)


def _of_study(study: str, said: pl.DataFrame, printed: Any) -> Iterator[PrintedFigure]:
    for what, row in printed[study].items():
        place = f"{study}, {what.replace('_', ' ')}"
        if what == "turns":
            yield _turns((place, "both"), row, said)
            continue
        for speaker, figure in row.items():
            mine = said.filter(pl.col("speaker") == speaker)
            is_prefixed = (study, speaker, what) == ("HD2", "user", "words")
            yield _statistic((place, speaker), figure, mine, "behind" if is_prefixed else what)


def _statistic(place: tuple[str, str], printed: list[Json], mine: pl.DataFrame, what: str) -> PrintedFigure:
    """Mean, least and most of one statistic of some utterances."""
    if mine.is_empty():
        return unavailable(place, printed, WHY["nobody"])
    if what.startswith("stopwords"):
        return unavailable(place, printed, WHY["stop-words"], sound=_spread(mine["stopwords"]), kind="effort")
    if what.startswith("utterances"):
        return _judged(place, printed, _spread(mine.group_by("conversation").len()["len"]))
    cell = _judged(place, printed, _spread(mine["behind" if what == "behind" else "words"]))
    if cell.verdict == "agrees":
        return cell
    return _judged(place, printed, cell.published, _known(printed, cell.published, mine))


def _known(printed: Any, found: Any, mine: pl.DataFrame) -> str:
    """Why a count of words differs, where that is known."""
    if printed[1:] != found[1:]:
        return ""
    if 0 < found[0] - printed[0] < 0.01:
        return WHY["cut-off"]
    behind = float(mine["behind"].to_numpy().mean())
    return (
        WHY["two-counts"].format(mean=behind) if abs(behind - printed[0]) < abs(found[0] - printed[0]) else ""
    )


def _turns(place: tuple[str, str], printed: list[Any], said: pl.DataFrame) -> PrintedFigure:
    """Runs of utterances of the user in each conversation."""
    starts = (pl.col("speaker") != pl.col("speaker").shift().over("conversation")).fill_null(value=True)
    runs = said.with_columns(starts=starts & (pl.col("speaker") == "user"))
    each = runs.group_by("conversation").agg(pl.col("starts").sum())["starts"]
    fewer = int(each.sum()) - round(printed[0] * len(each))
    text = WHY["turns"].format(turns=each.sum(), longest=each.max(), fewer=fewer)
    return _judged(place, printed, _spread(each), text if fewer > 0 else "")


def _judged(place: tuple[str, str], printed: list[Any], found: Json, reason: str = "") -> PrintedFigure:
    digits = 10.0 ** -len(repr(float(printed[0])).partition(".")[2])
    within: Within = [digits / 2 + 1e-4, 0.0, 0.0]
    return judge(PrintedFigure(*place, printed, found), within=within, reason=reason)


def _spread(values: pl.Series) -> list[Json]:
    """Mean, least and most of a column of counts."""
    counts = values.to_numpy()
    return [round(float(counts.mean()), 4), int(counts.min()), int(counts.max())]
