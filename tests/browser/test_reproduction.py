"""The page of recomputed tables in the browser: accessible, narrow, silent, and readable."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.browser.chromium import Chromium
from tests.browser.test_report import LOOKS
from trustgauge.apps.reproduce.page import page
from trustgauge.apps.reproduce.reproduction import document, reproduce
from trustgauge.apps.reproduce.verdicts import judge


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    known = {one.name: one for one in reproduce("causal")}
    ratings = known["table-v"]
    wrong = judge(replace(ratings.cells[0], printed=3))
    planted = replace(ratings, cells=(wrong, *ratings.cells[48:60]))
    tables = [known["agreement"], planted, known["claims"], known["die-exact"]]
    written = tmp_path_factory.mktemp("reproduction") / "reproduction.html"
    written.write_text(page(document(tables)), "utf-8")
    return written


@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_nothing(browser: Chromium, file: Path, axe: str, look: dict[str, Any]) -> None:
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
def test_verdicts_can_be_read(browser: Chromium, file: Path, look: dict[str, Any]) -> None:
    browser.open(file, **look)
    seen = browser.run("new Set([...document.querySelectorAll('.pill')].map(one => one.textContent)).size")
    assert seen == 2  # agrees, differs
    reasons = browser.run("document.querySelectorAll('.pill.l3').length")
    assert reasons == 1
