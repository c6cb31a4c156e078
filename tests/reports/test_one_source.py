"""All views of one `rating.json` show the same level, certainty, state and date."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.reports import fixtures
from trustgauge.records import State
from trustgauge.reports import exports, html, label, notebook, terminal
from trustgauge.reports.document import document


def rated(behaviour: str, share: float) -> Any:
    state: State = "rated" if share >= 0.95 else "not settled"
    one = fixtures.rating(
        "LinguaBridge", [fixtures.part("tr", behaviour, state=state, certainty=share, title="Turkish")]
    )
    return document(fixtures.run([one]), [one])


def _csv(told: Any) -> str:
    (row,) = csv.DictReader(io.StringIO(exports.csv(told).decode()))
    return f"{row['level']} {round(100 * float(row['certainty']))}% {row['state']} {row['expires']}"


VIEWS: dict[str, Callable[[Any], str]] = {
    "page": html.report,
    "label": lambda told: label.label(told["ratings"][0]),
    "terminal": lambda told: terminal.plain(terminal.show(told)),
    "markdown": lambda told: exports.markdown(told).decode(),
    "json-ld": lambda told: exports.jsonld(told).decode(),
    "csv": _csv,
    "json": lambda told: json.dumps(told),
    "notebook": lambda told: notebook.html(told),
}


@pytest.mark.parametrize("view", sorted(VIEWS))
@pytest.mark.parametrize(("behaviour", "level"), [("mostly he", "BS"), ("faithful", "DSBS"), ("coin", "UCS")])
@pytest.mark.parametrize("share", [0.97, 0.84])
def test_view_shows_level_certainty_state_and_date(
    view: str, behaviour: str, level: str, share: float
) -> None:
    shown = VIEWS[view](rated(behaviour, share)).replace(" %", "%").replace("\\", "")
    assert level in shown
    assert f"{round(100 * share)}%" in shown or str(share) in shown
    assert ("not settled" in shown.lower()) is (share < 0.95)
    assert "21 Feb 2027" in shown or "2027-02-21" in shown
