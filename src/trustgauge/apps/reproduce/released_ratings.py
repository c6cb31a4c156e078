"""What follows from the causal paper's released scores: impacts, orders and ratings (causal 2.6, 2.9)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from trustgauge.apps.reproduce.causal_scores import METHOD, ScoreOrder, number
from trustgauge.apps.reproduce.paper_tables import PaperTable, PrintedFigure, figures, paper_table, reasons
from trustgauge.apps.reproduce.released_scores import (
    SYSTEMS,
    Folder,
    ReleasedScores,
    compare_systems,
    rejection_score,
    row_source,
    rows_of,
)
from trustgauge.apps.reproduce.verdicts import judge
from trustgauge.methods.causal.deconfounding import NOTHING, impact_of_sums
from trustgauge.methods.causal.ordering import complete_order
from trustgauge.methods.causal.panel import Floats
from trustgauge.methods.causal.settings import Positivity
from trustgauge.records import Json

LEVELS = 3
SHOWN = 0.005  # impacts are printed to two decimals
WHY = reasons(METHOD)


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
