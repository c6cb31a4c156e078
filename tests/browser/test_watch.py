"""The page of ratings over time in the browser: accessible, narrow, silent, and readable."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.apps.watch.watches import BETWEEN, HIGH, LOW, rating, run, watched
from tests.browser.chromium import Chromium
from tests.browser.test_report import CONTRAST, LOOKS
from trustgauge.apps.watch.page import page
from trustgauge.apps.watch.state import add_look, document


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    state = watched(24)
    for number, certainty in enumerate([LOW, BETWEEN, LOW, {}, HIGH, HIGH] * 5, 1):
        more: Any = {} if certainty else {"level": "L", "state": "incomplete"}
        add_look(state, run(number, rating(certainty, version=f"2026.{number // 7}", **more)))
    state.failed = "the log cannot be read"
    written = tmp_path_factory.mktemp("watch") / "watch.html"
    written.write_text(page([document(state), document(watched())]), "utf-8")
    return written


@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_nothing(browser: Chromium, file: Path, axe: str, look: Any) -> None:
    browser.open(file, **look)
    assert browser.violations(axe) == []


@pytest.mark.parametrize("width", [1180, 390])
def test_nothing_leaves_the_file_and_the_page_never_scrolls_sideways(
    browser: Chromium, file: Path, width: int
) -> None:
    browser.open(file, width=width)
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert browser.requests == [file.as_uri()]
    assert browser.complaints == []


@pytest.mark.parametrize("look", LOOKS)
def test_text_in_the_figure_can_be_read(browser: Chromium, file: Path, look: Any) -> None:
    browser.open(file, **look)
    result = browser.run(CONTRAST)
    assert result["seen"] > 10
    assert result["weak"] == []
