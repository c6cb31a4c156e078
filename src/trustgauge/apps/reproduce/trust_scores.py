"""Scores and levels of the trust paper: Tables I and II, figure 4, sizes (trust 4.1, 4.7)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl

from trustgauge.apps.reproduce.paper_tables import PaperTable, PrintedFigure, paper_table, reasons
from trustgauge.apps.reproduce.verdicts import NEAR, as_constant, compare, judge, unavailable, unit
from trustgauge.methods.trust.abuse_checkers import WORTH
from trustgauge.methods.trust.issues.abuse import SOUND_CUTS
from trustgauge.methods.trust.issues.complexity import dialog_complexity
from trustgauge.methods.trust.issues.issue import LEVELS, PUBLISHED_CUTS
from trustgauge.methods.trust.issues.leakage_trial import assess_trial, trial_cells
from trustgauge.methods.trust.levels import levels
from trustgauge.methods.trust.resampling import Resampling
from trustgauge.records import Rule

Printed = Mapping[str, Any]
METHOD = "trust"
CODES = {"B": "bias", "AL": "abuse", "CC": "complexity", "IL": "leakage"}
"""The paper's letters of issues -> our names."""
CLASSES = ("hate", "offensive", "neither")
EPOCHS, PAIRS = 40, 10
"""Of the paper's trial of a small model: epochs, and secrets added to its training data."""
WHY = reasons(METHOD)
REASON_OF = {"B": "bias", "B_sd": "bias", "C_utt": "terms", "C_turn": "terms", "IL": "leakage"}
"""Columns of Table II -> the reason why their scores are not recomputed."""
PRIVATE = ("HR",)
"""Corpora that are not public."""


def scores(printed: Printed) -> list[PaperTable]:
    """Tables I and II with what they rest on, figure 4, the trial's map, and the sizes of the corpora."""
    return [
        _table_1(printed),
        _table_2(printed),
        paper_table(METHOD, "table-2-scores", _table_2_scores(printed)),
        paper_table(METHOD, "figure-4", _figure_4(printed)),
        paper_table(METHOD, "leakage", _trial_map(printed), secrets=PAIRS, epochs=EPOCHS),
        paper_table(METHOD, "sizes", _sizes(printed)),
    ]


def _table_1(printed: Printed) -> PaperTable:
    cells = [
        unavailable((f"{issue}, {corpus}", place), value, WHY["scored"])
        for issue, row in printed["table_I_scores"].items()
        for corpus, ends in row.items()
        for place, value in zip(("high example", "low example"), ends, strict=True)
        if value is not None
    ]
    hateful = printed["table_II"]["HR"]["hate"]
    most = printed["table_I_scores"]["Abuse"]["HR"][0]
    return paper_table(METHOD, "table-1", cells, most=most, hateful=hateful)


def level_of(score: float, cuts: tuple[float, float] = PUBLISHED_CUTS) -> str:
    """The level of one score."""
    return LEVELS[int(levels(np.array(score), cuts))]


def _table_2(printed: Printed) -> PaperTable:
    cells = []
    for corpus, row in printed["table_II"].items():
        for code, level in row["levels"].items():
            found = level_of(row[code])
            cells.append(compare((corpus, code), level, found, sound=_sound_level(code, row[code])))
    low, high = SOUND_CUTS
    return paper_table(METHOD, "table-2", cells, low=low, high=high)


def _sound_level(code: str, score: float) -> str:
    """The level by the sound cuts, and for leakage by the sound map of the same epoch."""
    if code == "IL":
        epochs = {_trial(epoch, "published"): epoch for epoch in (1, EPOCHS // 2, None)}
        return level_of(_trial(epochs[score], "sound")) if score in epochs else ""
    return level_of(score, SOUND_CUTS if code == "AL" else PUBLISHED_CUTS)


def _trial(epoch: int | None, rule: Rule) -> float:
    """The leakage score of a model that gives all secrets away from an epoch on; None is never."""
    signs = ["1" * PAIRS if epoch is not None and at >= epoch else "0" * PAIRS for at in range(1, EPOCHS + 1)]
    trial = pl.DataFrame({"service": ["it"], "part": [""], "leakage_trial": [signs]})
    found = assess_trial(trial_cells(trial), rule, Resampling(1, 10)).score.value
    return math.nan if found is None else found


def abuse_score(counts: Mapping[str, int]) -> float:
    """Hate counts 1, offence one half, over all utterances (trust 4.1)."""
    return sum(WORTH[name] * counts[name] for name in CLASSES) / sum(counts[name] for name in CLASSES)


def _table_2_scores(printed: Printed) -> list[PrintedFigure]:
    cells: list[PrintedFigure] = []
    for corpus, row in printed["table_II"].items():
        cells += [of_corpus((corpus, name), row[name], WHY[REASON_OF[name]]) for name in ("B", "B_sd")]
        cells += [of_corpus((corpus, name), row[name], WHY["classed"]) for name in CLASSES]
        cells.append(_truncated((corpus, "AL"), row["AL"], abuse_score(row)))
        others = ("C_utt", "C_turn", "IL")
        cells += [unavailable((corpus, name), row[name], WHY[REASON_OF[name]]) for name in others]
        cells.append(_dialog(corpus, row, printed))
    return cells


def _truncated(place: tuple[str, str], printed: float, found: float) -> PrintedFigure:
    """A figure whose last digit was cut off: it agrees if the printed one is less than a unit below."""
    step = 1e-4
    cut_off = math.floor(found / step + NEAR) * step
    cell = judge(PrintedFigure(*place, printed, published=round(cut_off, 4)), within=NEAR)
    return PrintedFigure(
        *place, printed, round(found, 6), None, None, cell.verdict, cell.reason, cell.documented
    )


def _dialog(corpus: str, row: Mapping[str, Any], printed: Printed) -> PrintedFigure:
    place, turn = (corpus, "CC"), row["C_turn"]
    if two_each(printed, corpus):
        # Half a unit of the printed parts may be lost in each of the two figures.
        found = round(dialog_complexity(turn, 1, 1), 6)
        return judge(PrintedFigure(*place, row["CC"], published=found), within=unit(row["CC"]) + NEAR)
    length = 2 * row["CC"] - turn
    return of_corpus(place, row["CC"], WHY["no-lengths"].format(length=length))


def two_each(printed: Printed, corpus: str) -> bool:
    """Whether the utterances that were classed are two for each dialog: a question and its answer."""
    classed = sum(printed["table_II"][corpus][name] for name in CLASSES)
    return bool(classed == 2 * printed["corpora_size"][corpus])


def _figure_4(printed: Printed) -> list[PrintedFigure]:
    return [
        compare((f"score {score}", "level"), level, level_of(float(score)))
        for score, level in printed["figure_4_utterance_scores"]
    ]


def _trial_map(printed: Printed) -> Iterator[PrintedFigure]:
    """The score of the first epoch that gives away more than half of the secrets."""
    for after, last, score in printed["il_epoch_map"]:
        for word, epoch in (("from", after + 1), ("to", last)):
            if epoch is None:
                word, name = "to", "never"
            else:
                name = f"epoch {epoch}"
            found, sound = _trial(epoch, "published"), _trial(epoch, "sound")
            yield as_constant(compare((f"score {score}", f"{word} {name}"), score, found, sound=sound))


def _sizes(printed: Printed) -> list[PrintedFigure]:
    return [
        of_corpus((corpus, "dialogs"), size, WHY["which"]) for corpus, size in printed["corpora_size"].items()
    ]


def of_corpus(place: tuple[str, str], printed: Any, reason: str) -> PrintedFigure:
    """A figure of one corpus that can be had with effort, where the corpus is public.

    Args:
        place: the corpus, and the column.
        printed: the figure.
        reason: why it is not recomputed here.
    """
    corpus = place[0]
    if corpus in PRIVATE:
        return unavailable(place, printed, WHY["no-corpus"])
    return unavailable(place, printed, reason, kind="effort")
