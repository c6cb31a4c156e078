"""The tables of the papers as a whole: what agrees, what is documented, and what a wrong figure does."""

from __future__ import annotations

import copy
import json
import math
import tomllib
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from trustgauge.apps.reproduce import causal as causal_paper
from trustgauge.apps.reproduce import causal_claims, causal_scores, paper_tables, social_bias_rates
from trustgauge.apps.reproduce import two_step as two_step_paper
from trustgauge.apps.reproduce.paper_tables import LOST, Kind, PaperTable, PrintedFigure, figures
from trustgauge.apps.reproduce.reproduction import (
    PAPERS,
    all_agree,
    document,
    fill_from_data,
    folders,
    reproduce,
)
from trustgauge.apps.reproduce.verdicts import alike, judge, unavailable
from trustgauge.errors import PlanError

Tables = dict[str, PaperTable]


@cache
def _tables(method: str) -> tuple[PaperTable, ...]:
    return tuple(reproduce(method))


def _named(method: str) -> Tables:
    return {one.name: one for one in _tables(method)}


@pytest.fixture(scope="module")
def causal() -> Tables:
    return _named("causal")


@pytest.fixture(scope="module")
def two_step() -> Tables:
    return _named("two-step")


def _odd(table: PaperTable) -> dict[tuple[str, str], PrintedFigure]:
    return {(one.row, one.column): one for one in table.cells if one.verdict == "differs"}


@pytest.mark.parametrize("method", PAPERS)
def test_every_paper_agrees_but_for_documented_exceptions(method: str) -> None:
    tables = _tables(method)
    assert all_agree(tables)
    assert {one.method for one in tables} == {method}
    assert len({one.name for one in tables}) == len(tables)
    for table in tables:
        places = [(one.row, one.column) for one in table.cells]
        assert len(set(places)) == len(places), table.name
        for cell in table.cells:
            assert bool(cell.reason) == (cell.verdict != "agrees"), (table.name, cell)


def test_the_two_step_paper_contradicts_itself_in_one_cell(two_step: Tables) -> None:
    (cell,) = _odd(two_step["table-2"]).values()
    assert (cell.row, cell.column, cell.printed, cell.sound) == ("UCS", "DSBS", ["DSBS"], ["UCS"])
    others = [table for name, table in two_step.items() if name != "table-2"]
    assert not any(_odd(table) for table in others)
    assert two_step["table-1-overall"].agreeing == 4
    assert two_step["table-1-overall"].notes[0].endswith("G DSBS, Y DSBS.")
    assert all(one.verdict == "cannot be recomputed" for one in two_step["table-1"].cells)
    total = next(one for one in two_step["effort"].cells if one.row == "translations total")
    assert (total.printed, total.published) == (1920, 1920)


def test_only_the_named_contradiction_of_chains_is_documented() -> None:
    """And a power is compared at its two printed decimals."""
    given = copy.deepcopy(figures("two_step"))
    changed = {("BS", "UCS"): "DSBS", ("DSBS", "BS"): "UCS", ("UCS", "UCS"): "BS"}
    for (first, second), level in changed.items():
        given["table_2"][first][second] = [level]
    given["power_unbiased_block_She_to_He"]["n_50"]["0.2"] = [0.11, 0.43, 0.95]
    tables = {one.name: one for one in two_step_paper.tables(given)}
    odd = _odd(tables["table-2"])
    assert set(odd) == {("UCS", "DSBS"), *changed}
    assert [place for place, cell in odd.items() if cell.documented] == [("UCS", "DSBS")]
    assert list(_odd(tables["power"])) == [("50 texts, She becomes He 0.2", "exact multinomial")]


def test_an_order_is_documented_only_for_the_reason_it_is_given() -> None:
    rows = copy.deepcopy(figures("causal_tables")["rows"])
    changed = {
        ("SD_SR Group-4", "partial"): "rtdhgb",  # t is better than r, and neither has a score of X
        ("SD Group-2", "complete"): "rgthdb",  # the ratings of this row stand at the right names
    }
    for (name, kind), order in changed.items():
        next(one for one in rows if causal_paper.name_of(one) == name)[f"order_printed_{kind}"] = order
    odd = _odd(next(one for one in causal_paper.tables(rows) if one.name == "orders"))
    for (name, kind), order in changed.items():
        cell = odd[name, f"{kind} order"]
        assert (cell.printed, cell.documented) == (order, False)
    assert odd["HD1_SR Chatbot", "complete order"].documented


def test_chance_is_simulated_for_classes_of_the_size_that_is_told(causal: Tables) -> None:
    """95 of 100 scores are below the point; with rows of nobody's twice as many there are more above it."""
    one_size, released = (causal_scores.null_point(50, nobody=times) for times in (1, 2))
    assert one_size + 0.3 < released
    cell = next(one for one in causal["chance"].cells if "95 %" in one.column and one.row == "50 comparisons")
    assert (cell.released, cell.verdict) == (one_size, "agrees")
    assert causal["chance"].notes[-1].endswith(f"is {released:g}.")


def test_ratings_of_the_causal_paper_agree_in_177_of_180_cells(causal: Tables) -> None:
    ratings = [causal["table-iv"], causal["table-v"]]
    assert sum(len(one.cells) for one in ratings) == 180
    assert sum(one.agreeing for one in ratings) == 177
    odd = _odd(causal["table-v"])
    assert set(odd) == {("HD1_SR Chatbot", system) for system in "tbr"}
    assert {cell.documented for cell in odd.values()} == {True}


def test_scores_and_weights_of_the_causal_paper(causal: Tables) -> None:
    assert (len(causal["scores"].cells), causal["scores"].agreeing) == (144, 143)
    assert list(_odd(causal["scores"])) == [("HD2_SR User", "d")]
    assert causal["weights"].agreeing == 5
    by_text = {one.row for one in causal["weights"].cells if one.verdict == "agrees"}
    assert {row.split()[0] for row in by_text} == {"HD1", "HD1_DR", "SD"}


def test_what_the_causal_paper_claims(causal: Tables) -> None:
    (cell,) = _odd(causal["claims"]).values()
    assert (cell.row, cell.published) == ("largest fall, both languages", 100.0)
    fall = next(one for one in causal["claims"].cells if one.row == "largest fall, behind Danish")
    assert fall.published == pytest.approx(67.7966, abs=1e-4)
    assert causal["one-less"].agreeing == 3
    rows = {causal_paper.name_of(row): row["raw"] for row in figures("causal_tables")["rows"]}
    assert causal["die"].notes[1:] == ("SD_DR Group-4: scores of r and b look exchanged.",)
    assert rows["SD_DR Group-4"]["r"] == rows["SD Group-4"]["b"] == rows["SD_SR Group-4"]["b"] == 105.4


@pytest.mark.parametrize("system", ["g", "t", "d"])
def test_a_wrong_printed_score_is_noticed(system: str) -> None:
    """Another score of one system changes counts of round trips, and no reason is known for that."""
    rows, other = copy.deepcopy(figures("causal_tables")["rows"]), figures("causal_other")
    row = next(one for one in rows if one["dataset"] == "HD2" and one["group"] == "Chatbot")
    row["raw"][system] = 3.3 if row["raw"][system] > 3.3 else 5.3
    tables = [*causal_claims.tables(rows, other), *causal_scores.tables(rows, other)]
    assert not all_agree(tables)


def test_a_score_that_no_rejections_give_is_noticed() -> None:
    rows, other = copy.deepcopy(figures("causal_tables")["rows"]), figures("causal_other")
    rows[0]["raw"]["r"] = 1.8  # three rejections at the weakest level; nothing gives 1.5
    assert causal_scores.tables(rows, other)[0].as_expected
    rows[0]["raw"]["r"] = 1.5
    assert _odd(causal_scores.tables(rows, other)[0]).keys() == {
        ("SD Group-1", "r"),
        ("HD2_SR User", "d"),
    }
    assert not causal_scores.tables(rows, other)[0].as_expected


def test_one_planted_figure_makes_a_table_unexpected(causal: Tables) -> None:
    table = causal["table-iv"]
    wrong = judge(replace(table.cells[0], printed=3))
    planted = replace(table, cells=(wrong, *table.cells[1:]))
    assert table.as_expected
    assert (wrong.verdict, wrong.documented) == ("differs", False)
    assert not all_agree([table, planted])


def test_the_document_adds_up(causal: Tables) -> None:
    tables = list(causal.values())
    data = json.loads(json.dumps(document(tables)))
    assert data["schema"] == "trustgauge.reproduction/2"
    totals = data["totals"]
    for key in ("recomputed", "consistent", "constant", "cannot_be_recomputed"):
        for inner, count in totals[key].items():
            assert count == sum(one["counts"][key][inner] for one in data["tables"])
    assert totals["unexplained"] == {}
    assert totals["cells"] == sum(len(one["cells"]) for one in data["tables"])
    counted = [n for kind in ("recomputed", "consistent", "constant") for n in totals[kind].values()]
    assert totals["cells"] == sum(counted) + sum(totals["cannot_be_recomputed"].values())
    shares = [cell["share"] for one in data["tables"] for cell in one["cells"] if cell["share"] is not None]
    assert len(shares) == sum(totals["consistent"].values())
    assert totals["share"] == pytest.approx(sum(shares) / len(shares))
    assert data["as_expected"] is True
    planted = replace(tables[0], cells=(PrintedFigure("a", "b", 1, 2, verdict="differs", reason="none"),))
    assert document([planted])["totals"]["unexplained"] == {"recomputed": 1}
    assert document([planted])["as_expected"] is False


@pytest.mark.parametrize(
    ("method", "table", "told"),
    [
        ("causl", None, 'Did you mean "causal"?'),
        ("two-step", "tabel-2", 'Did you mean "table-2"?'),
        ("causal", "table-2", "table-ii"),
    ],
)
def test_unknown_names_are_refused_with_what_there_is(method: str, table: str | None, told: str) -> None:
    with pytest.raises(PlanError, match=r"no (method|table)") as caught:
        reproduce(method, table)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("method", "given", "told"),
    [
        ("all", ".", "the files belong to only one paper"),
        ("causal", "trust=.", "files of trust, but the paper asked for is causal"),
        ("causal", "nowhere", "no folder nowhere"),
        ("all", "causl=.", "no folder causl=."),
    ],
)
def test_folders_say_whose_they_are(method: str, given: str, told: str) -> None:
    with pytest.raises(PlanError, match=told):
        folders(method, [given])


def test_folders_of_one_paper_and_of_several(tmp_path: Path) -> None:
    (tmp_path / "two-step=x").mkdir()
    one, odd = str(tmp_path), str(tmp_path / "two-step=x")
    assert folders("causal", [one]) == [("causal", tmp_path)]
    assert folders("all", [f"causal={one}", f"trust={one}"]) == [("causal", tmp_path), ("trust", tmp_path)]
    assert folders("causal", [f"causal={odd}"]) == [("causal", Path(odd))]


# -- what a verdict rests on ------------------------------------------------------------------


@pytest.fixture(scope="module")
def cells() -> list[PrintedFigure]:
    return [cell for method in PAPERS for table in _tables(method) for cell in table.cells]


def test_no_figure_of_ours_passes_for_a_recomputed_one(cells: list[PrintedFigure]) -> None:
    """Of 819 figures that agreed in the first release 208 had no printed figure."""
    agreeing = [one for one in cells if one.verdict == "agrees"]
    assert {one.kind for one in agreeing if one.printed is None} == {"constant"}
    assert sum(one.printed is None for one in agreeing) == 208
    assert all(one.printed is not None for one in cells if one.kind in ("recomputed", "consistent"))


def test_a_verdict_and_its_kind_belong_together(cells: list[PrintedFigure]) -> None:
    for one in cells:
        assert (one.verdict == "cannot be recomputed") == (one.kind in LOST)
        assert (one.share is not None) == (one.kind == "consistent")
        assert one.share is None or 0 < one.share <= 1


def test_shares_against_all_values_tried_out(causal: Tables) -> None:
    """Every tenth up to the largest score, and every hundredth of a per cent, by the check itself."""
    tried = [round(0.1 * step, 1) for step in range(73)]  # 3 comparisons, at most 7.2
    weights = (1.0, 0.8, 0.6)
    passing = [one for one in tried if causal_scores.decodings(one, 3, weights)]
    assert causal_scores.decodable(3, weights) == pytest.approx(len(passing) / len(tried))
    assert causal_scores.decodable(3, weights) == pytest.approx(20 / 73)
    rates = [step / 100 for step in range(10_001)]
    for asked in (116, 696):
        share = sum(social_bias_rates.whole(one, asked) is not None for one in rates) / len(rates)
        assert social_bias_rates.printable(asked) == pytest.approx(share)
    order = next(one for one in causal["orders"].cells if one.row == "SD Group-1")
    assert order.share == pytest.approx(math.factorial(3) / math.factorial(6))  # h, d and t are tied


def test_a_check_that_anything_passes_says_so(causal: Tables) -> None:
    by_row = {one.row: one.share for one in causal["scores"].cells if one.column == "h"}
    assert (by_row["SD Group-3_RG"] or 0) > 0.9  # any score of 50 comparisons will do
    assert by_row["HD1 User"] == pytest.approx(4 / 25)  # 0, .6, 1.4 and 2.4 of 0 to 2.4


def test_public_cells_take_the_place_of_those_at_hand() -> None:
    base = PaperTable(
        "causal", "a", "", "x", (PrintedFigure("r", "1", 1, 1), lost("r", "2", "public"), lost("s", "3"))
    )
    found = PaperTable(
        "causal",
        "b",
        "",
        "y",
        (
            lost("r", "1"),
            PrintedFigure("r", "2", 1, 2, verdict="differs", reason="why"),
            PrintedFigure("t", "4", 1, 1),
        ),
        ("note",),
        fills="a",
    )
    first, second = fill_from_data([base], [found, found])
    assert [(one.row, one.column, one.verdict) for one in first.cells] == [
        ("r", "1", "agrees"),  # what could be checked stays, if public data cannot
        ("r", "2", "differs"),
        ("s", "3", "cannot be recomputed"),
    ]
    assert (first.notes, first.inputs) == (("note",), "x, y")
    assert [(second.name, one.row) for one in second.cells] == [("b", "t")]


def test_every_message_is_used() -> None:
    """A reason or a table that no module names would be a sentence that nobody reads."""
    folder = Path(paper_tables.__file__).parent
    code = "".join(file.read_text("utf-8") for file in folder.glob("*.py"))
    messages = tomllib.loads((folder / "messages.toml").read_text("utf-8"))
    assert set(messages) == set(PAPERS)
    named = [name for one in messages.values() for kind in one.values() for name in kind]
    computed = {"table-iv", "table-v", "terms", "leakage", "bias"}  # named by what stands in a table
    assert [name for name in named if f'"{name}"' not in code and name not in computed] == []


def lost(row: str, column: str, kind: Kind = "unpublished") -> PrintedFigure:
    return unavailable((row, column), 1, "why", kind=kind)


@pytest.mark.parametrize(
    ("printed", "found", "within", "same"),
    [
        (1.9, 1.9000000001, 1e-6, True),
        (1.9, 1.8, 1e-6, False),
        (67.8, 67.7966, 0.005, True),
        ([1, 2.0], [1, 2.0], 1e-6, True),
        ([1, 2], [1], 1e-6, False),
        ([10.0, 50.0], [11.0, 58.0], [1.5, 9.0], True),
        ([10.0, 50.0], [12.0, 58.0], [1.5, 9.0], False),
        ("X", "X", 1e-6, True),
        ("BS", "DSBS", 1e-6, False),
        (1, True, 1e-6, False),
        (None, 0.0, 1e-6, False),
        (0, None, 1e-6, False),
    ],
)
def test_figures_that_are_alike(printed: Any, found: Any, within: Any, same: bool) -> None:
    assert alike(printed, found, within) is same
