"""What the causal paper says of its tables, compared with them (causal 2.9, 2.10, reference case 11)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from trustgauge.apps.reproduce.causal_scores import METHOD, number
from trustgauge.apps.reproduce.paper_tables import PaperTable, PrintedFigure, paper_table, reasons
from trustgauge.apps.reproduce.verdicts import consistent, judge, judge_unprinted
from trustgauge.methods.causal.ordering import complete_order
from trustgauge.records import Json

SYSTEMS = "hdtrgb"
SCORERS = "gtd"
"""The systems of which the paper asks what a round trip does."""
SAME = 1e-9


def tables(rows: Sequence[Any], other: Any) -> list[PaperTable]:
    """Round trips, what one system less would change, and the claims of the text."""
    return [
        paper_table(METHOD, "round-trips", _round_trips(rows, other)),
        paper_table(METHOD, "one-less", _one_less(rows, other)),
        paper_table(METHOD, "claims", _claims(rows, other)),
    ]


def changes(rows: Sequence[Any], systems: str) -> dict[tuple[str, str, str], tuple[float, float]]:
    """Score before and after every printed round trip, by (data set, group, system)."""
    by_cell = {(row["dataset"], row["group"]): row for row in rows}
    return {
        (dataset, group, system): (
            number(by_cell[dataset.split("_")[0], group]["raw"][system]),
            number(row["raw"][system]),
        )
        for (dataset, group), row in by_cell.items()
        if "_" in dataset
        for system in systems
    }


def percents(rows: Sequence[Any], systems: str) -> dict[tuple[str, str, str], float]:
    """Changes in percent of the score before; a score of 0 before has none."""
    found = changes(rows, systems).items()
    return {cell: 100 * (after - before) / before for cell, (before, after) in found if before}


def _round_trips(rows: Sequence[Any], other: Any) -> Iterator[PrintedFigure]:
    given = other["round_trip_counts_printed_g_t_d"]
    metric = {(row["dataset"], row["group"]): row["metric"] for row in rows}
    for systems, expected in ((SCORERS, given), (SYSTEMS, given["all_six_systems"])):
        found = {key: [0, 0, 0] for key in ("HD_WRS", "SD_WRS", "SD_DIE")}
        for (dataset, group, _), (before, after) in changes(rows, systems).items():
            key = f"{dataset[:2]}_{metric[dataset, group].removesuffix('_percent')}"
            found[key][0 if after < before - SAME else 1 if after > before + SAME else 2] += 1
        for key, counts in found.items():
            named: list[Json] = list(counts)
            column = ", ".join(systems) if systems == SCORERS else "all six"
            yield judge_unprinted(PrintedFigure(key.replace("_", " "), column, expected[key], named))


def _one_less(rows: Sequence[Any], other: Any) -> tuple[PrintedFigure, ...]:
    """How many ratings change if one of the six systems is not rated."""
    given = other["leave_one_system_out"]
    changed, compared, touched = 0, 0, 0
    for row in rows:
        raw = {system: number(printed) for system, printed in row["raw"].items()}
        whole = complete_order(raw, 3, "published")
        moved = 0
        for left_out in raw:
            rest = {name: value for name, value in raw.items() if name != left_out}
            ratings = complete_order(rest, 3, "published")
            compared += len(ratings)
            moved += sum(rating != whole[name] for name, rating in ratings.items())
        changed += moved
        touched += moved > 0
    return (
        judge_unprinted(PrintedFigure("ratings compared", "count", given["of"], compared)),
        judge_unprinted(PrintedFigure("ratings that change", "count", given["ratings_changed"], changed)),
        judge_unprinted(PrintedFigure("rows with a change", "count", given["rows_with_a_change"], touched)),
    )


def _claims(rows: Sequence[Any], other: Any) -> Iterator[PrintedFigure]:
    claim = other["claims"]
    (dataset, group, system, before), (after_set, _, _, after) = claim["highest_difference_cells"]
    change = abs(100 * (after - before) / before)
    chats = {cell: value for cell, value in percents(rows, SCORERS).items() if cell[0].startswith("HD")}
    printed = chats[after_set, group, system]
    danish = min(value for (name, *_), value in chats.items() if name.endswith("_DR"))
    highest = claim["highest_difference_percent"]
    row = f"{dataset} {group}, {system}: {before} to {after}"
    yield judge(PrintedFigure(row, "percent", highest, round(change, 4)), within=0.005)
    yield judge(PrintedFigure(row, "percent, by Table V", highest, round(-printed, 4)), within=0.005)
    yield judge(
        PrintedFigure("largest fall, behind Danish", "percent", highest, round(-danish, 4)), within=0.005
    )
    found = round(-min(chats.values()), 4)
    cell = PrintedFigure("largest fall, both languages", "percent", highest, found)
    yield judge(cell, within=0.005, reason=reasons(METHOD)["danish-only"])
    whole = claim["abstract_reduction_percent"]
    yield judge(PrintedFigure("the abstract: up to", "percent", whole, round(change)), within=0.5)
    yield from _users(other)


def _users(other: Any) -> Iterator[PrintedFigure]:
    """Table III's mean of HD1 is that of Table II, with one conversation of 18 utterances without gender."""
    study, by_gender = other["studies"]["HD1"], other["table_II"]["user"]["utterances_per_conversation"]
    total = study["male"] * by_gender["male"][0] + study["female"] * by_gender["female"][0]
    everybody = other["table_III"]["HD1"]["utterances_per_conversation"]["user"][0]
    users = study["male"] + study["female"] + study["undisclosed"]
    yield judge(PrintedFigure("HD1, users", "count", study["users"], users))
    missing = round(everybody * users - total)
    cell = PrintedFigure(
        "HD1, user utterances", "mean, Table III", everybody, round((total + missing) / users, 4)
    )
    yield consistent(judge(cell, within=0.005), users * 0.01)
    yield judge_unprinted(PrintedFigure("HD1, user without gender", "utterances, a whole number", missing,
                      round(everybody * users - total, 4)), within=0.1)  # fmt: skip
