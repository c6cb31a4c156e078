"""The tables of the causal paper, recomputed from its printed scores (reference cases 7 to 11).

Scores become orders and ratings; rejection scores are taken apart in `causal_scores`; what the
texts claim of them is in `causal_claims`; the authors' released scores, for users who have them,
are read by `released_scores`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trustgauge.apps.reproduce import causal_claims, causal_scores, released_conversations
from trustgauge.apps.reproduce.causal_scores import METHOD, ScoreOrder, number
from trustgauge.apps.reproduce.paper_tables import PaperTable, PrintedFigure, figures, paper_table, reasons
from trustgauge.apps.reproduce.released_scores import Folder, copies, impacts, scores_table
from trustgauge.apps.reproduce.released_scores import ratings as released_ratings
from trustgauge.apps.reproduce.verdicts import judge, judge_unprinted, unavailable
from trustgauge.methods.causal.deconfounding import impact_of_sums
from trustgauge.methods.causal.ordering import complete_order
from trustgauge.records import Json

LEVELS = 3
WHY = reasons(METHOD)
CLASSES: Mapping[str, tuple[tuple[int, int, bool], ...]] = {
    "group_2": ((20, 18, False), (20, 2, True), (20, 10, False)),
    "group_4": ((20, 18, False), (20, 10, True), (20, 10, False), (20, 2, True), (40, 10 * 2, False)),
}
"""Rows, rows with a positive word, and whether female, of each class with exact shares; NA is last."""


def tables(given: Sequence[Any] | None = None) -> list[PaperTable]:
    """All tables, in the order of the paper.

    Args:
        given: the rows of Tables IV and V; by default those that travel with the package.
    """
    rows = figures("causal_tables")["rows"] if given is None else given
    other = figures("causal_other")
    return [
        *_chats(other),
        _ratings(rows, "IV"),
        _ratings(rows, "V"),
        paper_table(METHOD, "orders", _orders(rows)),
        *causal_scores.tables(rows, other),
        _impacts(rows),
        paper_table(METHOD, "die-exact", _exact_design(other)),
        *causal_claims.tables(rows, other),
    ]


def from_data(folder: Path) -> list[PaperTable]:
    """What the authors' released scores and conversations give (causal 2.11).

    Args:
        folder: of one of their two repositories, see `released_scores`.

    Raises:
        MethodError: no such file is there, or one cannot be read.
        PlanError: a file of conversations cannot be read.
    """
    scores = Folder(folder)
    return [
        *released_conversations.tables(folder),
        scores_table(scores),
        impacts(scores),
        released_ratings(scores),
        copies(scores),
    ]


def name_of(row: Any) -> str:
    """The name of a printed row: its data set and group."""
    return f"{row['dataset']} {row['group']}"


def _scored(row: Any) -> dict[str, float]:
    return {system: number(printed) for system, printed in row["raw"].items()}


def _ratings(rows: Sequence[Any], table: str) -> PaperTable:
    def cells() -> Iterator[PrintedFigure]:
        for row in (one for one in rows if one["table"] == table):
            raw = _scored(row)
            by_rule = complete_order(raw, LEVELS, "published")
            released = complete_order(raw, LEVELS, "released")
            for system, printed in row["rating"].items():
                cell = PrintedFigure(name_of(row), system, printed, by_rule[system], released[system])
                yield judge(cell, reason=WHY["permuted"] if _permuted(row, by_rule) else "")

    fits = sum(complete_order(_scored(row), LEVELS, "released") == row["rating"] for row in rows)
    return paper_table(METHOD, f"table-{table.lower()}", cells(), fits=fits, rows=len(rows))


def _permuted(row: Any, by_rule: Mapping[str, int]) -> bool:
    """Whether the ratings, taken by position instead of by name, are those of the rule."""
    by_position = [row["rating"][system] for system in row["order_printed_complete"]]
    return by_position == [by_rule[system] for system in row["order_printed_partial"]]


def _orders(rows: Sequence[Any]) -> Iterator[PrintedFigure]:
    """Printed orders name the systems by ascending score; ties may stand in any order."""
    for row in rows:
        order = ScoreOrder(_scored(row))
        for kind in ("partial", "complete"):
            printed = row[f"order_printed_{kind}"]
            whole = sorted(printed) == sorted(order.place)
            yield order.judge(name_of(row), kind, printed, _odd(row, kind, order) if whole else "")


def _odd(row: Any, kind: str, order: ScoreOrder) -> str:
    """Why a printed order does not ascend, where that is known."""
    if kind == "complete":
        by_rule = complete_order(_scored(row), LEVELS, "published")
        return WHY["permuted"] if row["rating"] != by_rule and _permuted(row, by_rule) else ""
    several = {name for name, printed in row["raw"].items() if isinstance(printed, list)}
    others = [name for name in row["order_printed_partial"] if name not in several]
    return WHY["placed"] if several and order.ascends(others) else ""


def _impacts(rows: Sequence[Any]) -> PaperTable:
    cells = tuple(
        unavailable(
            (name_of(row), system),
            printed,
            WHY["no-labels"] if system == "h" else WHY["unseeded"].format(none=0.9**8),
            kind="unpublished" if system == "h" else "public",
        )
        for row in rows
        if row["metric"] == "DIE_percent"
        for system, printed in row["raw"].items()
    )
    odd = (
        f"{name_of(row)}: {exception}."
        for row in rows
        if row["metric"] == "DIE_percent"
        for exception in row["exceptions"]
    )
    return paper_table(METHOD, "die", cells, odd=odd)


def _exact_design(other: Any) -> Iterator[PrintedFigure]:
    """The female-biased system on Groups 2 and 4, had the shares been exact."""
    given = {key: row for key, row in other["die_exact_design_female_biased"].items() if key != "note"}
    for key, row in given.items():
        with_na = key.endswith("with_NA")
        group = key[: len("group_2")]
        for lowest, name in ((-1.0, "scores_-1_1"), (0.0, "scores_0_1")):
            percent, effect = exact_impact(group, lowest, with_na=with_na)
            column = f"percent, scores {lowest:g} and 1"
            yield judge_unprinted(PrintedFigure(_design(key), column, row[name], percent), within=5e-5)
            if lowest:
                yield judge_unprinted(
                    PrintedFigure(_design(key), "effect", row["effect_on_-1_1"], effect, sound=effect),
                    within=5e-7,
                )


def _design(key: str) -> str:
    return key.replace("group_", "Group ").replace("_with_", ", with ").replace("_without_", ", without ")


def exact_impact(group: str, lowest: float, *, with_na: bool) -> tuple[list[Json], float]:
    """Impact in percent (negative, positive word) and effect of a scorer that says 1 of women, else `lowest`.

    Args:
        group: "group_2" or "group_4", with exact shares of positive words in every class.
        lowest: the score of everybody else, -1 or 0.
        with_na: whether persons without a class take part.
    """
    classes = CLASSES[group] if with_na else CLASSES[group][:-1]
    n = np.array([(size - positive, positive) for size, positive, _ in classes], dtype=np.float64)
    score = np.array([1.0 if female else lowest for *_, female in classes])
    adjusted = impact_of_sums(n, n * score[:, None], "refuse")
    percent = 100.0 * np.abs(adjusted.delta) / np.abs(adjusted.observed)
    return [float(one) for one in percent], float(np.abs(adjusted.delta).max())


def _chats(other: Any) -> list[PaperTable]:
    """What would need the texts of the conversations, or the labels of the annotators."""
    labels = [
        *(
            unavailable((dataset, "agreement, percent"), printed, WHY["no-labels"])
            for dataset, printed in other["annotator_agreement_percent"].items()
        ),
        unavailable(
            ("SD", "random tie breaks, percent"), other["random_tie_break_percent_SD"], WHY["no-labels"]
        ),
    ]
    return [
        paper_table(METHOD, "table-ii", _of_chats(other["table_II"])),
        paper_table(METHOD, "table-iii", _of_chats(other["table_III"])),
        paper_table(METHOD, "agreement", labels),
    ]


def _of_chats(given: Mapping[str, Any]) -> Iterator[PrintedFigure]:
    """The cells of Table II (speaker, statistic, gender) or III (study, statistic, speaker)."""
    for who, rows in given.items():
        if who == "fields":
            continue
        for what, value in rows.items():
            parts = value if isinstance(value, dict) else {"both": value}
            for part, printed in parts.items():
                row = (f"{who}, {what.replace('_', ' ')}", part)
                yield unavailable(row, printed, WHY["not-carried"], kind="public")
