"""`reproduce trust`: what agrees, what is documented, and that a changed figure is seen."""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.papers.tables import cell, table_of
from trustgauge.apps.reproduce.paper_tables import PaperTable, figures
from trustgauge.apps.reproduce.trust import from_data, tables
from trustgauge.apps.reproduce.trust_dialogs import OTHERS, OWN_LEVEL
from trustgauge.errors import MethodError, PlanError

FIGURES: dict[str, Any] = figures("chatbot_trust")
as_it_is = cache(tables)
"""The tables of the paper, made once and when a test asks for them."""
COUNTS = {
    # table: cells, agreeing, documented
    "table-1": (23, 0, 23),
    "table-2": (16, 16, 0),
    "table-2-scores": (40, 5, 35),
    "figure-4": (2, 2, 0),
    "leakage": (6, 6, 0),
    "sizes": (4, 0, 4),
    "profiles": (4, 4, 0),
    "example": (5, 5, 0),
    "table-3": (16, 13, 3),
    "table-3-cuts": (18, 18, 0),
    "orders": (12, 12, 0),
    "sound": (32, 32, 0),
    "survey": (7, 7, 0),
    "type": (4, 4, 0),
}


def named(name: str, made: list[PaperTable] | None = None) -> PaperTable:
    return table_of(name, made or as_it_is())


def test_every_table_has_so_many_that_agree_and_so_many_documented() -> None:
    found = {one.name: (len(one.cells), one.agreeing, one.documented) for one in as_it_is()}
    assert found == COUNTS
    assert all(one.as_expected and one.method == "trust" for one in as_it_is())


def test_whatever_does_not_agree_says_why() -> None:
    for table in as_it_is():
        for one in table.cells:
            assert bool(one.reason) == (one.verdict != "agrees")


def test_three_cells_of_table_3_are_not_by_its_cuts() -> None:
    differing = [one for one in named("table-3").cells if one.verdict == "differs"]
    assert [(one.row, one.column, one.printed, one.published) for one in differing] == [
        ("Ubuntu", "P_CU", "L", "M"),
        ("Insurance", "P_CU", "M", "H"),
        ("HR", "P_CU", "L", "M"),
    ]


def test_sound_levels_of_abuse_and_leakage() -> None:
    """A mean hides rare abuse; sooner leaks are the riskier ones."""
    found = named("table-2")
    assert [cell(found, name, "AL").sound for name in FIGURES["table_II"]] == ["M", "L", "M", "L"]
    assert [cell(found, name, "IL").sound for name in FIGURES["table_II"]] == ["M", "H", "L", "L"]


def test_abuse_is_cut_off_and_one_dialog_form_can_be_had() -> None:
    found = named("table-2-scores")
    assert cell(found, "HR", "AL").published == pytest.approx(0.001382)
    assert cell(found, "Insurance", "CC").published == pytest.approx(0.8945)
    assert cell(found, "HR", "CC").verdict == "cannot be recomputed"


@pytest.mark.parametrize(
    ("path", "value", "table", "place"),
    [
        (("table_II", "HR", "AL"), 0.0014, "table-2-scores", ("HR", "AL")),
        (("table_II", "HR", "offensive"), 3, "table-2-scores", ("HR", "AL")),
        (("table_II", "Insurance", "CC"), 0.892, "table-2-scores", ("Insurance", "CC")),
        (("table_II", "Ubuntu", "B"), 0.33, "table-2", ("Ubuntu", "B")),
        (("table_II", "HR", "levels", "IL"), "M", "table-2", ("HR", "IL")),
        (("il_epoch_map", 1, 2), 0.6, "leakage", ("score 0.6", "to epoch 30")),
        (("il_epoch_map", 0, 1), 16, "leakage", ("score 0", "to epoch 16")),
        (("profiles", "P_AU"), ["AL", "B", "CC", "IL"], "profiles", ("P_AU", "order")),
        (("worked_example", "counts", "M"), 4, "example", ("M", "points")),
        (("table_III", "HR", "P_PU"), "M", "table-3", ("HR", "P_PU")),
        (("table_III", "HR", "P_PU"), "M", "table-3-cuts", ("t1", "range")),
        (("derived", "all_24_orders_printed_bins", "HR", "H"), 7, "orders", ("HR", "H")),
        (("survey", "counts_percent", 1, 1), 26, "survey", ("13 of 51", "percent, figure 2")),
        (("user_sensitive_type",), "Type-3", "type", ("HR", "type")),
        (("figure_4_utterance_scores", 1, 1), "H", "figure-4", ("score 0.5", "level")),
    ],
)
def test_a_changed_figure_differs(
    path: tuple[str | int, ...], value: Any, table: str, place: tuple[str, str]
) -> None:
    other = copy.deepcopy(FIGURES)
    inner: Any = other
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    one = cell(named(table, tables(other)), *place)
    assert (one.verdict, one.documented) == ("differs", False)


def corpora(folder: Path) -> None:
    """Dialogs of each corpus in a shape that such corpora come in."""
    (folder / "insurance.csv").write_text(
        "question,answer\nIs hail covered?,Hail damage is covered by most policies.\n"
        "Can I insure a boat?,You can insure a boat for liability.\n",
        encoding="utf-8",
    )
    (folder / "ubuntu").mkdir()
    (folder / "ubuntu" / "1.tsv").write_text(
        "2011-05-01T10:00:00\tann\t\thow do I mount a disk?\n"
        "2011-05-01T10:01:00\tbob\tann\tthe command mount shows what is mounted\n"
        "2011-05-01T10:02:00\tann\tbob\tthank you\n",
        encoding="utf-8",
    )
    turns = [("USER", "A table for two, please."), ("SYSTEM", "The table is booked for two people.")]
    dialog = [{"speaker": who, "utterance": text} for who, text in turns]
    made = [{"dialogue_id": str(number), "turns": dialog * (number + 1)} for number in range(2)]
    (folder / "Restaurant.json").write_text(json.dumps(made), encoding="utf-8")


def test_dialogs_at_hand(tmp_path: Path) -> None:
    corpora(tmp_path)
    other = copy.deepcopy(FIGURES)
    other["corpora_size"]["Insurance"] = 2
    other["table_II"]["Insurance"] |= {"hate": 0, "offensive": 0, "neither": 4}
    other["derived"]["dialog_complexity_turn_term"]["Restaurant"] = 0.75
    ubuntu, insurance, restaurant = from_data(tmp_path, other)
    assert [one.name for one in (ubuntu, insurance, restaurant)] == [
        "data-ubuntu",
        "data-insurance",
        "data-restaurant",
    ]
    assert cell(insurance, "Insurance", "dialogs").verdict == "agrees"
    both = cell(insurance, "Insurance", "utterances")
    assert (both.verdict, both.published, both.sound) == ("agrees", 4, 2)
    # One dialog of two turns, one half as long: three quarters of the longest on average.
    length = cell(restaurant, "Restaurant", "mean length beside the longest")
    assert (length.verdict, length.published) == ("agrees", 0.75)
    assert cell(ubuntu, "Ubuntu", "dialogs").published == 1
    assert cell(ubuntu, "Ubuntu", "utterances").sound == 1


def test_levels_of_dialogs_are_by_our_lists_and_scores_stand_beside(tmp_path: Path) -> None:
    corpora(tmp_path)
    table = named("data-restaurant", from_data(tmp_path))
    abuse = cell(table, "Restaurant", "AL")
    assert (abuse.verdict, abuse.published, abuse.sound) == ("cannot be recomputed", None, 0)
    assert cell(table, "Restaurant", "AL level").published == "L"
    bound = cell(table, "Restaurant", "CC").sound
    assert 0 < bound < 1
    assert cell(table, "Restaurant", "IL").documented


def test_another_level_by_our_own_lists_is_documented(tmp_path: Path) -> None:
    corpora(tmp_path)
    other = copy.deepcopy(FIGURES)
    other["table_II"]["Insurance"]["levels"]["AL"] = "H"
    one = cell(named("data-insurance", from_data(tmp_path, other)), "Insurance", "AL level")
    assert (one.verdict, one.published, one.reason, one.documented) == ("differs", "L", OWN_LEVEL, True)


def test_other_dialogs_differ(tmp_path: Path) -> None:
    corpora(tmp_path)
    table = named("data-insurance", from_data(tmp_path))
    one = cell(table, "Insurance", "dialogs")
    assert (one.verdict, one.published, one.reason, one.documented) == ("differs", 2, OTHERS, False)
    assert not table.as_expected


def test_a_folder_without_dialogs(tmp_path: Path) -> None:
    with pytest.raises(MethodError, match="ubuntu, insurance, hr, restaurant"):
        from_data(tmp_path)
    (tmp_path / "hr.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(PlanError, match=r"hr\.csv"):
        from_data(tmp_path)
