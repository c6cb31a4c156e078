"""Tables in the layout of the trust paper's released ones; every utterance and figure in them is invented."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from tests.papers.tables import cell, table_of
from trustgauge.apps.reproduce import trust_records
from trustgauge.apps.reproduce.reproduction import fill_from_data
from trustgauge.apps.reproduce.trust import from_data, tables
from trustgauge.errors import MethodError, PlanError

HEAD = (
    ",row_id,dialog_ID,speaker,utterance,bias_rating,abusive_language_rating,dialog_complexity_rating,"
    "privacy_rating,abusive_language_discrete,dialog_complexity_discrete,bias_rating_discrete\n"
)
RESTAURANT = """0,0,1,machine,Which dish?,0.1,0.0,0.45,M,L,M,L
1,1,1,user,The "soup, please",0.7,0.0,0.45,M,L,M,H
2,2,1,machine,It is invented.,0.33,0.5,0.45,M,M,M,M
"""


def write(folder: Path, name: str, rows: str) -> Path:
    file = folder / f"ChatbotRatingShare/OfflineChatRating/combined/output/combined_discrete_{name}.csv"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(HEAD + rows, encoding="utf-8")
    return folder


def test_doctests() -> None:
    found = doctest.testmod(trust_records)
    assert (found.attempted, found.failed) == (2, 0)


def test_levels_of_released_utterances_follow_from_their_scores(tmp_path: Path) -> None:
    """The first release read no such table: it wanted dialogs named after the corpora."""
    rows = RESTAURANT.replace('The "soup, please"', '"The ""soup, please"""')
    levels = from_data(write(tmp_path, "restaurant", rows))[0]
    bias = cell(levels, "Restaurant", "B, levels of utterances")
    assert (bias.printed, bias.published, bias.verdict, bias.kind) == (
        "L, H, M",
        "L, H, M",
        "agrees",
        "recomputed",
    )
    assert cell(levels, "Restaurant", "AL, levels of utterances").published == "L, L, M"
    leakage = cell(levels, "Restaurant", "IL, level of every utterance")
    assert (leakage.printed, leakage.released, leakage.verdict, leakage.documented) == (
        "H",
        "M",
        "differs",
        True,
    )


def test_a_wrong_level_is_not_documented(tmp_path: Path) -> None:
    rows = "0,0,1,machine,Which dish?,0.1,0.0,0.45,M,L,L,L\n"
    levels = from_data(write(tmp_path, "ubuntu", rows))[0]
    odd = cell(levels, "Ubuntu", "CC, levels of utterances")
    assert (odd.printed, odd.published, odd.documented) == ("L", "M", False)


def test_a_few_rows_recompute_no_figure_of_a_corpus(tmp_path: Path) -> None:
    """But what they give is told; a corpus that is not public stays so."""
    folder = write(tmp_path, "restaurant", "0,0,1,machine,Which dish?,0.25,0.0,0.45,M,L,M,L\n")
    write(folder, "HRbot", "0,0,1,person,Which form?,0.5,0.0,0.1,0.0,L,L,M\n")
    scores = table_of("table-2-scores", fill_from_data(tables(), from_data(folder)))
    bias = cell(scores, "Restaurant", "B")
    assert (bias.verdict, bias.kind) == ("cannot be recomputed", "effort")
    assert bias.reason == (
        "Only 1 of 31,012 utterances were released with their scores; released: a mean of 0.25."
    )
    assert cell(scores, "HR", "B").kind == "unpublished"
    assert cell(scores, "HR", "AL").verdict == "agrees"
    assert len(scores.cells) == 40


def test_the_released_rule_goes_utterance_by_utterance(tmp_path: Path) -> None:
    """Points L 2, M 4 for conversation (CC first), L 3 and M 3 for abuse, where the worse of equals wins."""
    folder = write(tmp_path, "restaurant", "0,0,1,machine,Which dish?,0.4,0.0,0.45,M,L,M,M\n")
    rated = table_of("records-table-3", from_data(folder))
    reasons = {one.column: one.reason.partition("released: ")[2] for one in rated.cells}
    assert reasons["P_CU, released rows"].startswith("M,")
    assert reasons["P_AU, released rows"].startswith("M,")
    low = write(tmp_path, "restaurant", "0,0,1,machine,Which dish?,0.1,0.0,0.1,H,L,L,L\n")
    rated = table_of("records-table-3", from_data(low))
    reasons = {one.column: one.reason.partition("released: ")[2] for one in rated.cells}
    assert reasons["P_CU, released rows"].startswith("L,")
    assert reasons["P_PU, released rows"].startswith("H,")  # leakage counts 3, the others 2, 1 and 0
    assert {one.verdict for one in rated.cells} == {"cannot be recomputed"}


def test_a_table_with_a_header_only_is_left_out(tmp_path: Path) -> None:
    """As the released one of Insurance is."""
    folder = write(tmp_path, "insurance", "")
    write(folder, "restaurant", RESTAURANT.replace('"', "").replace("soup, please", "soup"))
    assert {one.row for one in from_data(folder)[0].cells} == {"Restaurant"}


@pytest.mark.parametrize(
    ("rows", "told"), [("0,0,1,machine,Which dish?,good,0.0,0.4,M,L,M,L\n", "a score is not a number")]
)
def test_a_table_of_another_shape_is_refused(tmp_path: Path, rows: str, told: str) -> None:
    with pytest.raises(PlanError, match=told):
        from_data(write(tmp_path, "restaurant", rows))
    file = next(tmp_path.rglob("*.csv"))
    file.write_text("bias_rating,utterance\n0.1,Which dish?\n", "utf-8")
    with pytest.raises(PlanError, match="no column"):
        from_data(tmp_path)


def test_a_folder_without_tables_and_dialogs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MethodError, match="ubuntu, insurance, hr, restaurant"):
        from_data(tmp_path)
