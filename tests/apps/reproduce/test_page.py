"""What comes of published tables in words, whatever their cells hold."""

from __future__ import annotations

import re
from typing import Any

import pytest

from trustgauge.apps.reproduce.page import counts, figure, page, sentence
from trustgauge.apps.reproduce.page import text as lines
from trustgauge.apps.reproduce.paper_tables import LOST, PaperTable, PrintedFigure
from trustgauge.apps.reproduce.reproduction import document
from trustgauge.apps.reproduce.verdicts import consistent, unavailable
from trustgauge.reports import terminal

ATTACK = '<script>alert(1)</script>\x1b[2J\u202e"'


def _document(*cells: PrintedFigure, notes: tuple[str, ...] = ()) -> dict[str, Any]:
    return document([PaperTable("causal", "table-v", "A table", "figures", cells, notes)])


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "–"),
        (1, "1"),
        (0.6000000001, "0.6"),
        (67.7966, "67.7966"),
        (float("inf"), "X"),
        ([0.16, 99.8, "X"], "0.16, 99.8, X"),
        ([], "none"),
        (True, "yes"),
        ({"low": 1, "high": None}, "low 1, high –"),
        ("DSBS", "DSBS"),
    ],
)
def test_figures(value: Any, shown: str) -> None:
    assert figure(value) == shown


def test_sentences_of_reasons() -> None:
    assert sentence("it is so") == "It is so."
    assert sentence("It is so.") == "It is so."
    assert sentence("") == ""


def test_counts_tell_kinds_apart_and_what_is_documented() -> None:
    good, known = (
        PrintedFigure("a", "x", 1, 1),
        PrintedFigure("b", "x", 1, 2, verdict="differs", reason="r", documented=True),
    )
    wrong = PrintedFigure("c", "x", 1, 2, verdict="differs", reason="no reason is known")
    some = [consistent(PrintedFigure("d", str(share), 1, 1), share) for share in (0.01, 0.31)]
    ours = PrintedFigure("e", "x", None, 1, kind="constant")
    lost = [unavailable(("f", kind), 1, "why", kind=kind) for kind in LOST]
    assert counts(_document(good)["totals"]) == "recomputed: agrees 1"
    result = counts(_document(good, known, *some, ours, *lost)["totals"])
    assert result == (
        "recomputed: agrees 1, differs 1 (documented); consistent: agrees 2, of all values 16 % would; "
        "constant of ours: agrees 1; cannot be recomputed: 3 (with --data 1, with effort 1, not published 1)"
    )
    result = counts(_document(good, known, wrong)["totals"])
    assert result == "recomputed: agrees 1, differs 2; 1 without a documented reason"


def test_every_cell_tells_what_it_rests_on() -> None:
    result = _document(
        consistent(PrintedFigure("a", "x", 1, 1), 0.25), unavailable(("b", "x"), 1, "why", kind="public")
    )
    plain = terminal.plain(lines(result, every=True))
    assert "consistent, of all values 25 % would  agrees" in plain
    assert "with --data" in plain
    assert "<td>consistent, of all values 25 % would</td>" in page(result)


def test_the_columns_of_the_page_add_up_to_all_cells() -> None:
    """What is inconsistent, for a known reason, stood in no column."""
    odd = PrintedFigure("b", "x", 1, 2, verdict="differs", reason="r", documented=True)
    result = _document(PrintedFigure("a", "x", 1, 1), consistent(odd, 0.3), unavailable(("c", "x"), 1, "why"))
    overview = page(result).partition("</table>")[0]
    assert "Consistent: differs" in overview
    assert sum(map(int, re.findall(r'<td class="num">(\d+)', overview))) == result["totals"]["cells"] == 3


def test_a_verdict_without_a_reason_stands_out() -> None:
    wrong = PrintedFigure("c", "x", 1, 2, verdict="differs", reason="no reason is known")
    result = _document(PrintedFigure("a", "x", 1, 1), wrong)
    styles = {style for line in lines(result) for _, style in line}
    assert "bad" in styles
    assert "bad" not in {
        style for line in lines(_document(PrintedFigure("a", "x", 1, 1))) for _, style in line
    }
    assert '<span class="pill l3">differs</span>' in page(result)
    assert "1 without a reason" in page(result)


def test_foreign_words_stay_words() -> None:
    result = _document(
        PrintedFigure(ATTACK, ATTACK, ATTACK, ATTACK, verdict="differs", reason=ATTACK), notes=(ATTACK,)
    )
    written = page(result)
    assert "<script" not in written
    assert "\x1b" not in written
    for every in (False, True):
        plain = terminal.plain(lines(result, every=every))
        assert "\x1b" not in plain
        assert "\u202e" not in plain
