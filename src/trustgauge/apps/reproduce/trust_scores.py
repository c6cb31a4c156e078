"""Scores and levels of the trust paper: Tables I and II, figure 4, sizes (trust 4.1, 4.7)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl

from trustgauge.apps.reproduce.paper_tables import PaperTable, PrintedFigure
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
SCORED = "Scores of single utterances were not published; --data scores dialogs that a reader holds."
BIAS = "The paper's scores rest on lists of words that it does not print; their authors released a program."
LISTS = {
    "B": BIAS,
    "B_sd": BIAS,
    "C_utt": "The lists of terms and their weights were not published.",
    "C_turn": "The lists of terms and their weights were not published.",
    "IL": "The model was trained by the authors; neither it nor the epoch of each corpus was published.",
}
CLASSED = (
    "What the classifier said of each utterance was not published. The classifier is public, and so is the "
    "corpus."
)
WHICH = "The corpus is public, but the part of it that was rated is not marked."
PRIVATE = ("HR",)
"""Corpora that are not public."""
NO_CORPUS = "The corpus is the authors' own: six utterances of it are public."


def scores(printed: Printed) -> list[PaperTable]:
    """Tables I and II with what they rest on, figure 4, the trial's map, and the sizes of the corpora."""
    return [
        _table_1(printed),
        _table_2(printed),
        _table_2_scores(printed),
        _figure_4(printed),
        _trial_map(printed),
        _sizes(printed),
    ]


def _table_1(printed: Printed) -> PaperTable:
    cells = [
        unavailable((f"{issue}, {corpus}", place), value, SCORED)
        for issue, row in printed["table_I_scores"].items()
        for corpus, ends in row.items()
        for place, value in zip(("high example", "low example"), ends, strict=True)
        if value is not None
    ]
    hateful = printed["table_II"]["HR"]["hate"]
    most = printed["table_I_scores"]["Abuse"]["HR"][0]
    notes = (
        f"The high example of abuse in HR scores {most}, although Table II counts {hateful} hateful "
        "utterances there, each of which scores 1: it is not the worst of its corpus.",
    )
    title = "Scores of example utterances (Table I)"
    return PaperTable(METHOD, "table-1", title, "nothing that was published", tuple(cells), notes)


def level_of(score: float, cuts: tuple[float, float] = PUBLISHED_CUTS) -> str:
    """The level of one score."""
    return LEVELS[int(levels(np.array(score), cuts))]


def _table_2(printed: Printed) -> PaperTable:
    cells = []
    for corpus, row in printed["table_II"].items():
        for code, level in row["levels"].items():
            found = level_of(row[code])
            cells.append(compare((corpus, code), level, found, sound=_sound_level(code, row[code])))
    notes = (
        f"Sound: abuse is cut at {SOUND_CUTS[0]} and {SOUND_CUTS[1]}, since a mean hides rare abuse; a "
        "model that leaks sooner is the riskier one, so that the order of leakage is turned around.",
    )
    title = "Levels of the four issues (Table II)"
    return PaperTable(METHOD, "table-2", title, "the scores of Table II", tuple(cells), notes)


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


def _table_2_scores(printed: Printed) -> PaperTable:
    cells: list[PrintedFigure] = []
    for corpus, row in printed["table_II"].items():
        cells += [of_corpus((corpus, name), row[name], LISTS[name]) for name in ("B", "B_sd")]
        cells += [of_corpus((corpus, name), row[name], CLASSED) for name in CLASSES]
        cells.append(_truncated((corpus, "AL"), row["AL"], abuse_score(row)))
        cells += [unavailable((corpus, name), row[name], LISTS[name]) for name in ("C_utt", "C_turn", "IL")]
        cells.append(_dialog(corpus, row, printed))
    notes = (
        "Abuse scores are cut off behind the fourth digit, not rounded: HR has .00138 and is printed .0013.",
        "A dialog is half its turns and half its length beside the longest. In Insurance every dialog is one "
        "question and one answer, as long as the longest; of the others the paper prints no lengths.",
    )
    title = "Scores of the four issues (Table II)"
    return PaperTable(METHOD, "table-2-scores", title, "counts and parts in Table II", tuple(cells), notes)


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
    reason = f"Dialogs would be {length:.3f} of the longest on average; the paper prints no lengths."
    return of_corpus(place, row["CC"], reason)


def two_each(printed: Printed, corpus: str) -> bool:
    """Whether the utterances that were classed are two for each dialog: a question and its answer."""
    classed = sum(printed["table_II"][corpus][name] for name in CLASSES)
    return bool(classed == 2 * printed["corpora_size"][corpus])


def _figure_4(printed: Printed) -> PaperTable:
    cells = [
        compare((f"score {score}", "level"), level, level_of(float(score)))
        for score, level in printed["figure_4_utterance_scores"]
    ]
    title = "Levels of single utterances (figure 4)"
    return PaperTable(METHOD, "figure-4", title, "the scores in the figure", tuple(cells))


def _trial_map(printed: Printed) -> PaperTable:
    """The score of the first epoch that gives away more than half of the secrets."""

    def cells() -> Iterator[PrintedFigure]:
        for after, last, score in printed["il_epoch_map"]:
            for word, epoch in (("from", after + 1), ("to", last)):
                if epoch is None:
                    word, name = "to", "never"
                else:
                    name = f"epoch {epoch}"
                found, sound = _trial(epoch, "published"), _trial(epoch, "sound")
                yield as_constant(compare((f"score {score}", f"{word} {name}"), score, found, sound=sound))

    notes = ("The paper gives the lowest risk to the model that leaks soonest. Sound turns that around.",)
    title = "Leakage score by the epoch at which a model gives secrets away"
    return PaperTable(
        METHOD, "leakage", title, f"trials of {PAIRS} secrets and {EPOCHS} epochs", tuple(cells()), notes
    )


def _sizes(printed: Printed) -> PaperTable:
    cells = [of_corpus((corpus, "dialogs"), size, WHICH) for corpus, size in printed["corpora_size"].items()]
    notes = (
        "In Insurance Table II classes two utterances a dialog: the users' questions were scored with the "
        "answers, so that abuse by users counts against the chatbot.",
    )
    return PaperTable(
        METHOD, "sizes", "Sizes of the corpora", "nothing that was published", tuple(cells), notes
    )


def of_corpus(place: tuple[str, str], printed: Any, reason: str) -> PrintedFigure:
    """A figure of one corpus that can be had with effort, where the corpus is public.

    Args:
        place: the corpus, and the column.
        printed: the figure.
        reason: why it is not recomputed here.
    """
    corpus = place[0]
    if corpus in PRIVATE:
        return unavailable(place, printed, NO_CORPUS)
    return unavailable(place, printed, reason, kind="effort")
