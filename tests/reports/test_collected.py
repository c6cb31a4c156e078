"""A rating of answers that people imported says so: report, label and terminal."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.reports import social_fixtures
from trustgauge.reports import label, sentences, terminal
from trustgauge.reports.document import document
from trustgauge.reports.html import report

ONE = social_fixtures.rating()
WHOLE = "Answers were imported by hand"
SOME = "Some answers of this run were imported by hand"


def rating_collected(collected: str) -> Any:
    found: Any = document(replace(social_fixtures.run([ONE]), collected=collected), [ONE])
    return found


def views(collected: str) -> dict[str, str]:
    whole = rating_collected(collected)
    (rating,) = whole["ratings"]
    lines = terminal.result(whole)
    return {
        "report": report(whole),
        "label": label.label(rating),
        "terminal": "\n".join("".join(part for part, _ in line) for line in lines),
    }


@pytest.mark.parametrize(("collected", "sentence"), [("by hand", WHOLE), ("by API, by hand", SOME)])
def test_every_view_says_it(collected: str, sentence: str) -> None:
    for name, view in views(collected).items():
        assert sentence in view, name


@pytest.mark.parametrize("collected", ["by API", "from a log", "by API, from a log"])
def test_no_view_says_it_of_others(collected: str) -> None:
    for name, view in views(collected).items():
        assert "imported by hand" not in view, name
    assert sentences.import_note(rating_collected(collected)["ratings"][0]) == ""


def test_the_label_counts_answers_where_nobody_was_called() -> None:
    by_hand, asked = (
        label.label(rating_collected(how)["ratings"][0]) for how in ("by hand", "by API, by hand")
    )
    assert ">by hand<" in by_hand
    assert ">calls<" not in by_hand
    assert ">calls<" in asked
